// ExternalModelProvider: an API outside the cluster that serves models.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"

namespace fairlead::api {

enum class ProviderType : uint8_t { OpenAI, Anthropic };
enum class AuthScheme : uint8_t { Bearer, APIKey };

struct SecretKeySelector {
  std::string name;
  std::string key;
  std::optional<bool> optional;
};

struct ProviderAuth {
  std::optional<AuthScheme> scheme;  // by default the provider type's own
  SecretKeySelector secretRef;
};

struct ExternalModelProviderSpec {
  ProviderType providerType = ProviderType::OpenAI;
  std::string model;
  std::string baseURL;
  bool insecureSkipVerify = false;
  std::optional<ProviderAuth> auth;
  std::map<std::string, std::string> headers;
};

struct ExternalModelProviderStatus {
  std::optional<int64_t> observedGeneration;
  std::vector<Condition> conditions;
};

struct ExternalModelProvider {
  static constexpr Kind kKind{"networking.serving.volcano.sh", "v1alpha1", "ExternalModelProvider",
                              "externalmodelproviders"};
  ObjectMeta metadata;
  ExternalModelProviderSpec spec;
  ExternalModelProviderStatus status;
};

const TypeInfo& type_of(const ProviderType*);
const TypeInfo& type_of(const AuthScheme*);
const TypeInfo& type_of(const SecretKeySelector*);
const TypeInfo& type_of(const ProviderAuth*);
const TypeInfo& type_of(const ExternalModelProviderSpec*);
const TypeInfo& type_of(const ExternalModelProviderStatus*);
const TypeInfo& type_of(const ExternalModelProvider*);

}  // namespace fairlead::api
