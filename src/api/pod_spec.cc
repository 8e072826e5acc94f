#include "api/pod_spec.h"

#include <algorithm>

#include "api/core_schema.h"
#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(PodTemplateSpec, (), (metadata, spec))

std::string_view text_at(const Json& object, std::string_view name) {
  const Json* member = object.find(name);
  return member == nullptr ? std::string_view() : std::string_view(member->as_string());
}

std::span<const Json> PodSpec::list(std::string_view name) const {
  const Json* member = json.find(name);
  return member == nullptr ? std::span<const Json>() : member->items();
}

std::optional<int64_t> PodSpec::termination_grace_period_seconds() const {
  const Json* member = json.find("terminationGracePeriodSeconds");
  if (member == nullptr || !member->is_integer()) return std::nullopt;
  return member->as_int();
}

PodSpec PodSpec::with(std::string_view name, Json value) const {
  std::vector<Json::Member> members(json.members().begin(), json.members().end());
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const Json::Member& m) { return m.first == name; });
  if (value.is_null()) {
    if (it != members.end()) members.erase(it);
  } else if (it != members.end()) {
    it->second = std::move(value);
  } else {
    members.emplace_back(name, std::move(value));
  }
  return PodSpec{Json::object(std::move(members))};
}

const TypeInfo& type_of(const PodSpec*) {
  static const TypeInfo kType = [] {
    TypeInfo type = describe_detail::scalar("", "");
    type.schema = core_schema("PodSpec");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      static_cast<PodSpec*>(object)->json = value;
      return value.is_object() || value.is_null() || reader.fail(value, "must be a pod's spec");
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.value(static_cast<const PodSpec*>(object)->json);
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return static_cast<const PodSpec*>(object)->json.is_null();
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_of(const PodTemplateSpec*) {
  using T = PodTemplateSpec;
  static const TypeInfo kType =
      describe<T>({.doc = "What the pods look like."},
                  {field<&T::metadata>({.doc = "Labels and annotations of the pods."}),
                   field<&T::spec>({.doc = "The pods' spec, as Kubernetes defines it."})});
  return kType;
}

}  // namespace fairlead::api
