// ModelRoute: from the name of a model to the servers and providers that answer for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"

namespace fairlead::api {

// At most one is set; none matches everything.
struct StringMatch {
  std::optional<std::string> exact;
  std::optional<std::string> prefix;
  std::optional<std::string> regex;  // RE2, found anywhere
};

struct BodyMatch {
  std::optional<std::string> model;
};

struct ModelMatch {
  std::map<std::string, StringMatch> headers;
  std::optional<StringMatch> uri;
  std::optional<BodyMatch> body;
};

struct TargetModel {
  std::string modelServerName;
  std::string externalModelProviderName;
  int32_t weight = 100;
};

struct RouteRule {
  std::string name;
  std::optional<ModelMatch> modelMatch;
  std::vector<TargetModel> targetModels;
};

struct ParentReference {
  std::string group = "gateway.networking.k8s.io";
  std::string kind = "Gateway";
  std::string namespace_;
  std::string name;
  std::string sectionName;
  std::optional<int32_t> port;
};

enum class RateLimitUnit : uint8_t { second, minute, hour, day, month };

struct RedisRateLimit {
  std::string address;
};

struct GlobalRateLimit {
  std::optional<RedisRateLimit> redis;
};

struct RateLimit {
  std::optional<int32_t> inputTokensPerUnit;
  std::optional<int32_t> outputTokensPerUnit;
  RateLimitUnit unit = RateLimitUnit::second;
  std::optional<GlobalRateLimit> global;
};

struct ModelRouteSpec {
  std::optional<std::string> modelName;
  std::vector<std::string> loraAdapters;
  std::vector<ParentReference> parentRefs;
  std::vector<RouteRule> rules;
  std::optional<RateLimit> rateLimit;
};

struct ModelRouteStatus {};

struct ModelRoute {
  static constexpr Kind kKind{"networking.serving.volcano.sh", "v1alpha1", "ModelRoute",
                              "modelroutes"};
  ObjectMeta metadata;
  ModelRouteSpec spec;
  ModelRouteStatus status;
};

const TypeInfo& type_of(const StringMatch*);
const TypeInfo& type_of(const BodyMatch*);
const TypeInfo& type_of(const ModelMatch*);
const TypeInfo& type_of(const TargetModel*);
const TypeInfo& type_of(const RouteRule*);
const TypeInfo& type_of(const ParentReference*);
const TypeInfo& type_of(const RateLimitUnit*);
const TypeInfo& type_of(const RedisRateLimit*);
const TypeInfo& type_of(const GlobalRateLimit*);
const TypeInfo& type_of(const RateLimit*);
const TypeInfo& type_of(const ModelRouteSpec*);
const TypeInfo& type_of(const ModelRouteStatus*);
const TypeInfo& type_of(const ModelRoute*);

}  // namespace fairlead::api
