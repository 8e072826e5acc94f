#include "api/pod.h"

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(PodCondition, (),
                      (type, status, reason, message, lastTransitionTime, unknown))
BOOST_DESCRIBE_STRUCT(ContainerStatus, (),
                      (name, ready, started, restartCount, image, state, lastState, unknown))
BOOST_DESCRIBE_STRUCT(PodStatus, (),
                      (phase, reason, message, podIP, hostIP, startTime, conditions,
                       initContainerStatuses, containerStatuses, unknown))
BOOST_DESCRIBE_STRUCT(Pod, (), (metadata, spec, status, unknown))

const TypeInfo& type_of(const PodCondition*) {
  static const TypeInfo kType = describe_view<PodCondition>();
  return kType;
}

const TypeInfo& type_of(const ContainerStatus*) {
  static const TypeInfo kType = describe_view<ContainerStatus>();
  return kType;
}

const TypeInfo& type_of(const PodStatus*) {
  static const TypeInfo kType = describe_view<PodStatus>();
  return kType;
}

const TypeInfo& type_of(const Pod*) {
  static const TypeInfo kType = describe_kind_view<Pod>();
  return kType;
}

}  // namespace fairlead::api
