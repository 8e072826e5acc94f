#include "api/meta.h"

#include <algorithm>

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(OwnerReference, (),
                      (apiVersion, kind, name, uid, controller, blockOwnerDeletion))
BOOST_DESCRIBE_STRUCT(ObjectMeta, (),
                      (name, generateName, namespace_, labels, annotations, uid, resourceVersion,
                       generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds,
                       ownerReferences, finalizers, unknown))
BOOST_DESCRIBE_STRUCT(TemplateMeta, (), (labels, annotations))
BOOST_DESCRIBE_ENUM(ConditionStatus, True, False, Unknown)
BOOST_DESCRIBE_STRUCT(Condition, (),
                      (type, status, observedGeneration, lastTransitionTime, reason, message))
BOOST_DESCRIBE_STRUCT(ObjectReference, (),
                      (apiVersion, kind, namespace_, name, uid, resourceVersion, fieldPath))

std::string Kind::api_version() const {
  std::string text(group);
  if (!text.empty()) text += '/';
  return text.append(version);
}

const OwnerReference* ObjectMeta::controller() const {
  const auto it =
      std::find_if(ownerReferences.begin(), ownerReferences.end(),
                   [](const OwnerReference& o) { return o.controller.value_or(false); });
  return it == ownerReferences.end() ? nullptr : &*it;
}

const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& c) { return c.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

bool set_condition(std::vector<Condition>& conditions, Condition condition) {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& c) { return c.type == condition.type; });
  if (it == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (it->status == condition.status) condition.lastTransitionTime = it->lastTransitionTime;
  const bool changed = *it != condition;
  *it = std::move(condition);
  return changed;
}

const TypeInfo& type_of(const OwnerReference*) {
  using T = OwnerReference;
  static const TypeInfo kType = describe<T>(
      {.doc = "The object that this one belongs to."},
      {field<&T::apiVersion>({.doc = "Group and version of the owner."}),
       field<&T::kind>({.doc = "Kind of the owner."}), field<&T::name>({.doc = "Its name."}),
       field<&T::uid>({.doc = "Its UID."}),
       field<&T::controller>({.doc = "Whether the owner manages this object."}),
       field<&T::blockOwnerDeletion>({.doc = "Whether the owner waits for this object's end."})});
  return kType;
}

const TypeInfo& type_of(const ObjectMeta*) {
  using T = ObjectMeta;
  static const TypeInfo kType =
      describe<T>({.doc = "Standard metadata."},
                  {field<&T::name>({.doc = "Unique in its namespace."}),
                   field<&T::generateName>({.doc = "Prefix of a name that the server completes."}),
                   field<&T::namespace_>({.doc = "The namespace."}),
                   field<&T::labels>({.doc = "What selectors see."}),
                   field<&T::annotations>({.doc = "What tools keep here."}),
                   field<&T::uid>({.doc = "Unique for all time."}),
                   field<&T::resourceVersion>({.doc = "Changes with every write; opaque."}),
                   field<&T::generation>({.doc = "Changes with every write to spec."}),
                   field<&T::creationTimestamp>({.doc = "When it was made."}),
                   field<&T::deletionTimestamp>({.doc = "When it is to be gone."}),
                   field<&T::deletionGracePeriodSeconds>({.doc = "How long it may take to end."}),
                   field<&T::ownerReferences>({.doc = "What it belongs to."}),
                   field<&T::finalizers>({.doc = "What must happen before it is gone."}),
                   unknown<&T::unknown>()});
  return kType;
}

const TypeInfo& type_of(const TemplateMeta*) {
  using T = TemplateMeta;
  static const TypeInfo kType =
      describe<T>({.doc = "Labels and annotations of the objects made from this template."},
                  {field<&T::labels>({.doc = "Labels to add."}),
                   field<&T::annotations>({.doc = "Annotations to add."})});
  return kType;
}

const TypeInfo& type_of(const ConditionStatus*) {
  static const TypeInfo kType = describe_enum<ConditionStatus>();
  return kType;
}

const TypeInfo& type_of(const Condition*) {
  using T = Condition;
  static const TypeInfo kType = describe<T>(
      {.doc = "One aspect of the current state."},
      {field<&T::type>(
           {.doc = "Which aspect.",
            .required = true,
            .max_length = 316,
            .pattern =
                R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)"}),
       field<&T::status>({.doc = "Whether it holds.", .required = true}),
       field<&T::observedGeneration>(
           {.doc = "The metadata.generation this was judged by.", .min = 0}),
       field<&T::lastTransitionTime>({.doc = "When the status last changed.", .required = true}),
       field<&T::reason>({.doc = "Why, in one word for programs.",
                          .required = true,
                          .min_length = 1,
                          .max_length = 1024,
                          .pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}),
       field<&T::message>(
           {.doc = "Why, in words for people.", .required = true, .max_length = 32768})});
  return kType;
}

const TypeInfo& type_of(const ObjectReference*) {
  using T = ObjectReference;
  static const TypeInfo kType = describe<T>(
      {.doc = "Names another object.", .map_type = "atomic"},
      {field<&T::apiVersion>({.doc = "Group and version."}), field<&T::kind>({.doc = "Kind."}),
       field<&T::namespace_>({.doc = "Namespace; where it is empty, the referrer's."}),
       field<&T::name>({.doc = "Name."}), field<&T::uid>({.doc = "UID."}),
       field<&T::resourceVersion>({.doc = "One version of the object."}),
       field<&T::fieldPath>({.doc = "A part of the object."})});
  return kType;
}

}  // namespace fairlead::api
