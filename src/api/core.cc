#include "api/core.h"

#include "api/describe.h"

namespace fairlead::api {

BOOST_DESCRIBE_STRUCT(ServicePort, (), (name, protocol, port, targetPort, nodePort, unknown))
BOOST_DESCRIBE_STRUCT(ServiceSpec, (),
                      (type, clusterIP, selector, ports, publishNotReadyAddresses, unknown))
BOOST_DESCRIBE_STRUCT(Service, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(EndpointConditions, (), (ready, serving, terminating, unknown))
BOOST_DESCRIBE_STRUCT(Endpoint, (),
                      (addresses, conditions, hostname, nodeName, zone, targetRef, unknown))
BOOST_DESCRIBE_STRUCT(EndpointPort, (), (name, protocol, port, unknown))
BOOST_DESCRIBE_STRUCT(EndpointSlice, (), (metadata, addressType, endpoints, ports, unknown))
BOOST_DESCRIBE_STRUCT(ConfigMap, (), (metadata, data, binaryData, immutable, unknown))
BOOST_DESCRIBE_STRUCT(Secret, (), (metadata, type, data, stringData, immutable, unknown))
BOOST_DESCRIBE_STRUCT(Taint, (), (key, value, effect, unknown))
BOOST_DESCRIBE_STRUCT(NodeSpec, (), (unschedulable, taints, unknown))
BOOST_DESCRIBE_STRUCT(NodeAddress, (), (type, address, unknown))
BOOST_DESCRIBE_STRUCT(NodeCondition, (),
                      (type, status, reason, message, lastHeartbeatTime, lastTransitionTime,
                       unknown))
BOOST_DESCRIBE_STRUCT(NodeStatus, (), (capacity, allocatable, conditions, addresses, unknown))
BOOST_DESCRIBE_STRUCT(Node, (), (metadata, spec, status, unknown))
BOOST_DESCRIBE_STRUCT(Namespace, (), (metadata, unknown))
BOOST_DESCRIBE_STRUCT(EventSource, (), (component, host, unknown))
BOOST_DESCRIBE_STRUCT(EventSeries, (), (count, lastObservedTime, unknown))
BOOST_DESCRIBE_STRUCT(Event, (),
                      (metadata, involvedObject, type, reason, message, action, count,
                       firstTimestamp, lastTimestamp, eventTime, source, series, reportingComponent,
                       reportingInstance, unknown))

const TypeInfo& type_of(const ServicePort*) {
  static const TypeInfo kType = describe_view<ServicePort>();
  return kType;
}

const TypeInfo& type_of(const ServiceSpec*) {
  static const TypeInfo kType = describe_view<ServiceSpec>();
  return kType;
}

const TypeInfo& type_of(const Service*) {
  static const TypeInfo kType = describe_kind_view<Service>();
  return kType;
}

const TypeInfo& type_of(const EndpointConditions*) {
  static const TypeInfo kType = describe_view<EndpointConditions>();
  return kType;
}

const TypeInfo& type_of(const Endpoint*) {
  static const TypeInfo kType = describe_view<Endpoint>();
  return kType;
}

const TypeInfo& type_of(const EndpointPort*) {
  static const TypeInfo kType = describe_view<EndpointPort>();
  return kType;
}

const TypeInfo& type_of(const EndpointSlice*) {
  static const TypeInfo kType = describe_kind_view<EndpointSlice>();
  return kType;
}

const TypeInfo& type_of(const ConfigMap*) {
  static const TypeInfo kType = describe_kind_view<ConfigMap>();
  return kType;
}

const TypeInfo& type_of(const Secret*) {
  static const TypeInfo kType = describe_kind_view<Secret>();
  return kType;
}

const TypeInfo& type_of(const Taint*) {
  static const TypeInfo kType = describe_view<Taint>();
  return kType;
}

const TypeInfo& type_of(const NodeSpec*) {
  static const TypeInfo kType = describe_view<NodeSpec>();
  return kType;
}

const TypeInfo& type_of(const NodeAddress*) {
  static const TypeInfo kType = describe_view<NodeAddress>();
  return kType;
}

const TypeInfo& type_of(const NodeCondition*) {
  static const TypeInfo kType = describe_view<NodeCondition>();
  return kType;
}

const TypeInfo& type_of(const NodeStatus*) {
  static const TypeInfo kType = describe_view<NodeStatus>();
  return kType;
}

const TypeInfo& type_of(const Node*) {
  static const TypeInfo kType = describe_kind_view<Node>();
  return kType;
}

const TypeInfo& type_of(const Namespace*) {
  static const TypeInfo kType = describe_kind_view<Namespace>();
  return kType;
}

const TypeInfo& type_of(const EventSource*) {
  static const TypeInfo kType = describe_view<EventSource>();
  return kType;
}

const TypeInfo& type_of(const EventSeries*) {
  static const TypeInfo kType = describe_view<EventSeries>();
  return kType;
}

const TypeInfo& type_of(const Event*) {
  static const TypeInfo kType = describe_kind_view<Event>();
  return kType;
}

}  // namespace fairlead::api
