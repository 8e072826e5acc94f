#include "api/volcano.h"

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(PodGroupTopology, (), (mode, highestTierAllowed, highestTierName, unknown))
BOOST_DESCRIBE_STRUCT(SubGroupPolicy, (),
                      (name, labelSelector, matchLabelKeys, subGroupSize, minSubGroups,
                       networkTopology, unknown))
BOOST_DESCRIBE_STRUCT(PodGroupSpec, (),
                      (minMember, minTaskMember, minResources, queue, priorityClassName,
                       networkTopology, subGroupPolicy, unknown))
BOOST_DESCRIBE_STRUCT(PodGroupCondition, (),
                      (type, status, reason, message, transitionID, lastTransitionTime, unknown))
BOOST_DESCRIBE_STRUCT(PodGroupStatus, (), (phase, running, succeeded, failed, conditions, unknown))
BOOST_DESCRIBE_STRUCT(PodGroup, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(QueueSpec, (), (weight, capability, reclaimable, parent, unknown))
BOOST_DESCRIBE_STRUCT(QueueStatus, (), (state, allocated, unknown))
BOOST_DESCRIBE_STRUCT(Queue, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(HyperNodeSelector, (), (exactMatch, regexMatch, labelMatch, unknown))
BOOST_DESCRIBE_STRUCT(HyperNodeMember, (), (type, selector, unknown))
BOOST_DESCRIBE_STRUCT(HyperNodeSpec, (), (tier, tierName, members, unknown))
BOOST_DESCRIBE_STRUCT(HyperNode, (), (metadata, spec, status, unknown))

const TypeInfo& type_of(const PodGroupTopology*) {
  static const TypeInfo kType = describe_view<PodGroupTopology>();
  return kType;
}

const TypeInfo& type_of(const SubGroupPolicy*) {
  static const TypeInfo kType = describe_view<SubGroupPolicy>();
  return kType;
}

const TypeInfo& type_of(const PodGroupSpec*) {
  static const TypeInfo kType = describe_view<PodGroupSpec>();
  return kType;
}

const TypeInfo& type_of(const PodGroupCondition*) {
  static const TypeInfo kType = describe_view<PodGroupCondition>();
  return kType;
}

const TypeInfo& type_of(const PodGroupStatus*) {
  static const TypeInfo kType = describe_view<PodGroupStatus>();
  return kType;
}

const TypeInfo& type_of(const PodGroup*) {
  static const TypeInfo kType = describe_kind_view<PodGroup>();
  return kType;
}

const TypeInfo& type_of(const QueueSpec*) {
  static const TypeInfo kType = describe_view<QueueSpec>();
  return kType;
}

const TypeInfo& type_of(const QueueStatus*) {
  static const TypeInfo kType = describe_view<QueueStatus>();
  return kType;
}

const TypeInfo& type_of(const Queue*) {
  static const TypeInfo kType = describe_kind_view<Queue>();
  return kType;
}

const TypeInfo& type_of(const HyperNodeSelector*) {
  static const TypeInfo kType = describe_view<HyperNodeSelector>();
  return kType;
}

const TypeInfo& type_of(const HyperNodeMember*) {
  static const TypeInfo kType = describe_view<HyperNodeMember>();
  return kType;
}

const TypeInfo& type_of(const HyperNodeSpec*) {
  static const TypeInfo kType = describe_view<HyperNodeSpec>();
  return kType;
}

const TypeInfo& type_of(const HyperNode*) {
  static const TypeInfo kType = describe_kind_view<HyperNode>();
  return kType;
}

}  // namespace fairlead::api
