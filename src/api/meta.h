// What every Kubernetes object carries: kind, metadata, owners, conditions, references.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/time.h"
#include "api/type_info.h"

namespace fairlead::api {

enum class Scope : uint8_t { kNamespaced, kCluster };

// Each object type has one as `kKind`.
struct Kind {
  std::string_view group;  // empty for the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  Scope scope = Scope::kNamespaced;

  std::string api_version() const;  // "apps/v1", "v1"
  bool operator==(const Kind&) const = default;
};

struct OwnerReference {
  std::string apiVersion;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::optional<bool> blockOwnerDeletion;
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  std::string name;
  std::string generateName;
  std::string namespace_;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string uid;
  std::string resourceVersion;  // opaque
  std::optional<int64_t> generation;
  Time creationTimestamp;
  std::optional<Time> deletionTimestamp;
  std::optional<int64_t> deletionGracePeriodSeconds;
  std::vector<OwnerReference> ownerReferences;
  std::vector<std::string> finalizers;
  Unknown unknown;

  // The owner that manages the object, or nullptr.
  const OwnerReference* controller() const;
};

// Labels and annotations of objects made from a template.
struct TemplateMeta {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

enum class ConditionStatus : uint8_t { True, False, Unknown };

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::Unknown;
  std::optional<int64_t> observedGeneration;
  Time lastTransitionTime;
  std::string reason;
  std::string message;
  bool operator==(const Condition&) const = default;
};

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);
// Adds the condition or replaces the one of its type; the transition time stays where the status
// does. Whether anything but the time changed.
bool set_condition(std::vector<Condition>& conditions, Condition condition);

struct ObjectReference {
  std::string apiVersion;
  std::string kind;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string resourceVersion;
  std::string fieldPath;
  bool operator==(const ObjectReference&) const = default;
};

const TypeInfo& type_of(const OwnerReference*);
const TypeInfo& type_of(const ObjectMeta*);
const TypeInfo& type_of(const TemplateMeta*);
const TypeInfo& type_of(const ConditionStatus*);
const TypeInfo& type_of(const Condition*);
const TypeInfo& type_of(const ObjectReference*);

}  // namespace fairlead::api
