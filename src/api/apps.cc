#include "api/apps.h"

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(PodTemplate, (), (metadata, spec, unknown))
BOOST_DESCRIBE_STRUCT(DeploymentSpec, (), (replicas, selector, template_, strategy, unknown))
BOOST_DESCRIBE_STRUCT(DeploymentStatus, (),
                      (observedGeneration, replicas, updatedReplicas, readyReplicas,
                       availableReplicas, unknown))
BOOST_DESCRIBE_STRUCT(Deployment, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(ScaleSpec, (), (replicas, unknown))
BOOST_DESCRIBE_STRUCT(ScaleStatus, (), (replicas, selector, unknown))
BOOST_DESCRIBE_STRUCT(Scale, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(ControllerRevision, (), (metadata, data, revision, unknown))
BOOST_DESCRIBE_STRUCT(LeaseSpec, (),
                      (holderIdentity, leaseDurationSeconds, acquireTime, renewTime,
                       leaseTransitions, unknown))
BOOST_DESCRIBE_STRUCT(Lease, (), (metadata, spec, unknown))

const TypeInfo& type_of(const PodTemplate*) {
  static const TypeInfo kType = describe_view<PodTemplate>();
  return kType;
}

const TypeInfo& type_of(const DeploymentSpec*) {
  static const TypeInfo kType = describe_view<DeploymentSpec>();
  return kType;
}

const TypeInfo& type_of(const DeploymentStatus*) {
  static const TypeInfo kType = describe_view<DeploymentStatus>();
  return kType;
}

const TypeInfo& type_of(const Deployment*) {
  static const TypeInfo kType = describe_kind_view<Deployment>();
  return kType;
}

const TypeInfo& type_of(const ScaleSpec*) {
  static const TypeInfo kType = describe_view<ScaleSpec>();
  return kType;
}

const TypeInfo& type_of(const ScaleStatus*) {
  static const TypeInfo kType = describe_view<ScaleStatus>();
  return kType;
}

const TypeInfo& type_of(const Scale*) {
  static const TypeInfo kType = describe_kind_view<Scale>();
  return kType;
}

const TypeInfo& type_of(const ControllerRevision*) {
  static const TypeInfo kType = describe_kind_view<ControllerRevision>();
  return kType;
}

const TypeInfo& type_of(const LeaseSpec*) {
  static const TypeInfo kType = describe_view<LeaseSpec>();
  return kType;
}

const TypeInfo& type_of(const Lease*) {
  static const TypeInfo kType = describe_kind_view<Lease>();
  return kType;
}

}  // namespace fairlead::api
