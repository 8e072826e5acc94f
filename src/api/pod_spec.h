// PodSpec: JSON with typed accessors, so that a field that Kubernetes adds tomorrow survives.
//
//   for (const Json& container : spec.containers()) text_at(container, "image");
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "api/type_info.h"

namespace fairlead::api {

// A string member of an object; empty where it is none.
std::string_view text_at(const Json& object, std::string_view name);

struct PodSpec {
  Json json;  // an object, or null where there is none

  std::span<const Json> containers() const { return list("containers"); }
  std::span<const Json> init_containers() const { return list("initContainers"); }
  std::span<const Json> volumes() const { return list("volumes"); }
  std::span<const Json> tolerations() const { return list("tolerations"); }
  std::string_view node_name() const { return text_at(json, "nodeName"); }
  std::string_view scheduler_name() const { return text_at(json, "schedulerName"); }
  std::string_view service_account() const { return text_at(json, "serviceAccountName"); }
  std::string_view restart_policy() const { return text_at(json, "restartPolicy"); }
  std::string_view hostname() const { return text_at(json, "hostname"); }
  std::string_view subdomain() const { return text_at(json, "subdomain"); }
  std::optional<int64_t> termination_grace_period_seconds() const;
  // The same with one member set, or removed where `value` is null; the order of the rest stays.
  PodSpec with(std::string_view name, Json value) const;

  bool operator==(const PodSpec&) const = default;

 private:
  std::span<const Json> list(std::string_view name) const;
};

struct PodTemplateSpec {
  TemplateMeta metadata;
  PodSpec spec;
};

const TypeInfo& type_of(const PodSpec*);
const TypeInfo& type_of(const PodTemplateSpec*);

}  // namespace fairlead::api
