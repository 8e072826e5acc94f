// Services, endpoints, configuration, nodes, namespaces and events: partial views that keep what
// they do not name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/int_or_string.h"
#include "api/meta.h"
#include "api/quantity.h"
#include "api/time.h"

namespace fairlead::api {

struct ServicePort {
  std::string name;
  std::string protocol;
  int32_t port = 0;
  std::optional<IntOrString> targetPort;
  std::optional<int32_t> nodePort;
  Unknown unknown;
};

struct ServiceSpec {
  std::string type;
  std::string clusterIP;
  std::map<std::string, std::string> selector;
  std::vector<ServicePort> ports;
  std::optional<bool> publishNotReadyAddresses;
  Unknown unknown;
};

struct Service {
  static constexpr Kind kKind{"", "v1", "Service", "services"};
  ObjectMeta metadata;
  ServiceSpec spec;
  Json status;
  Unknown unknown;
};

struct EndpointConditions {
  std::optional<bool> ready;
  std::optional<bool> serving;
  std::optional<bool> terminating;
  Unknown unknown;
};

struct Endpoint {
  std::vector<std::string> addresses;
  EndpointConditions conditions;
  std::string hostname;
  std::string nodeName;
  std::string zone;
  std::optional<ObjectReference> targetRef;
  Unknown unknown;
};

struct EndpointPort {
  std::string name;
  std::string protocol;
  std::optional<int32_t> port;
  Unknown unknown;
};

struct EndpointSlice {
  static constexpr Kind kKind{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"};
  ObjectMeta metadata;
  std::string addressType;
  std::vector<Endpoint> endpoints;
  std::vector<EndpointPort> ports;
  Unknown unknown;
};

struct ConfigMap {
  static constexpr Kind kKind{"", "v1", "ConfigMap", "configmaps"};
  ObjectMeta metadata;
  std::map<std::string, std::string> data;
  std::map<std::string, std::string> binaryData;
  std::optional<bool> immutable;
  Unknown unknown;
};

struct Secret {
  static constexpr Kind kKind{"", "v1", "Secret", "secrets"};
  ObjectMeta metadata;
  std::string type;
  std::map<std::string, std::string> data;
  std::map<std::string, std::string> stringData;
  std::optional<bool> immutable;
  Unknown unknown;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  Unknown unknown;
};

struct NodeSpec {
  std::optional<bool> unschedulable;
  std::vector<Taint> taints;
  Unknown unknown;
};

struct NodeAddress {
  std::string type;
  std::string address;
  Unknown unknown;
};

struct NodeCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::optional<Time> lastHeartbeatTime;
  std::optional<Time> lastTransitionTime;
  Unknown unknown;
};

struct NodeStatus {
  std::map<std::string, Quantity> capacity;
  std::map<std::string, Quantity> allocatable;
  std::vector<NodeCondition> conditions;
  std::vector<NodeAddress> addresses;
  Unknown unknown;
};

struct Node {
  static constexpr Kind kKind{"", "v1", "Node", "nodes", Scope::kCluster};
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
  Unknown unknown;
};

struct Namespace {
  static constexpr Kind kKind{"", "v1", "Namespace", "namespaces", Scope::kCluster};
  ObjectMeta metadata;
  Unknown unknown;
};

struct EventSource {
  std::string component;
  std::string host;
  Unknown unknown;
};

struct EventSeries {
  std::optional<int32_t> count;
  MicroTime lastObservedTime;
  Unknown unknown;
};

struct Event {
  static constexpr Kind kKind{"", "v1", "Event", "events"};
  ObjectMeta metadata;
  ObjectReference involvedObject;
  std::string type;
  std::string reason;
  std::string message;
  std::string action;
  std::optional<int32_t> count;
  Time firstTimestamp;
  Time lastTimestamp;
  MicroTime eventTime;
  EventSource source;
  std::optional<EventSeries> series;
  std::string reportingComponent;
  std::string reportingInstance;
  Unknown unknown;
};

const TypeInfo& type_of(const ServicePort*);
const TypeInfo& type_of(const ServiceSpec*);
const TypeInfo& type_of(const Service*);
const TypeInfo& type_of(const EndpointConditions*);
const TypeInfo& type_of(const Endpoint*);
const TypeInfo& type_of(const EndpointPort*);
const TypeInfo& type_of(const EndpointSlice*);
const TypeInfo& type_of(const ConfigMap*);
const TypeInfo& type_of(const Secret*);
const TypeInfo& type_of(const Taint*);
const TypeInfo& type_of(const NodeSpec*);
const TypeInfo& type_of(const NodeAddress*);
const TypeInfo& type_of(const NodeCondition*);
const TypeInfo& type_of(const NodeStatus*);
const TypeInfo& type_of(const Node*);
const TypeInfo& type_of(const Namespace*);
const TypeInfo& type_of(const EventSource*);
const TypeInfo& type_of(const EventSeries*);
const TypeInfo& type_of(const Event*);

}  // namespace fairlead::api
