#include "api/model_server.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_ENUM(InferenceEngine, vLLM, SGLang)
BOOST_DESCRIBE_ENUM(ServerProtocol, http, https)
BOOST_DESCRIBE_ENUM(KvConnectorType, http, lmcache, nixl, mooncake)
BOOST_DESCRIBE_STRUCT(PdGroup, (), (groupKey, prefillLabels, decodeLabels))
BOOST_DESCRIBE_STRUCT(WorkloadSelector, (), (matchLabels, pdGroup))
BOOST_DESCRIBE_STRUCT(WorkloadPort, (), (port, protocol))
BOOST_DESCRIBE_STRUCT(RetryPolicy, (), (attempts, retryInterval))
BOOST_DESCRIBE_STRUCT(TrafficPolicy, (), (timeout, retry))
BOOST_DESCRIBE_STRUCT(KvConnector, (), (type))
BOOST_DESCRIBE_STRUCT(ModelServerSpec, (),
                      (model, inferenceEngine, workloadSelector, workloadPort, trafficPolicy,
                       kvConnector))
BOOST_DESCRIBE_STRUCT(ModelServerStatus, (), ())
BOOST_DESCRIBE_STRUCT(ModelServer, (), (metadata, spec, status))

namespace {

std::vector<WebhookRule> of_labels() {
  return {{"", rule_texts::kLabels}, {".*", rule_texts::kLabel}};
}

}  // namespace

const TypeInfo& type_of(const InferenceEngine*) {
  static const TypeInfo kType = describe_enum<InferenceEngine>();
  return kType;
}

const TypeInfo& type_of(const ServerProtocol*) {
  static const TypeInfo kType = describe_enum<ServerProtocol>();
  return kType;
}

const TypeInfo& type_of(const KvConnectorType*) {
  static const TypeInfo kType = describe_enum<KvConnectorType>();
  return kType;
}

const TypeInfo& type_of(const PdGroup*) {
  using T = PdGroup;
  static const TypeInfo kType = describe<T>(
      {.doc = "How prefill and decode pods are told apart and paired."},
      {field<&T::groupKey>({.doc =
                                "The label whose value names a group; a prefill and a decode pod "
                                "are paired within a group only.",
                            .required = true,
                            .webhook = {{"", rule_texts::kLabelKey}}}),
       field<&T::prefillLabels>(
           {.doc = "Further labels of prefill pods.", .required = true, .webhook = of_labels()}),
       field<&T::decodeLabels>(
           {.doc = "Further labels of decode pods.", .required = true, .webhook = of_labels()})});
  return kType;
}

const TypeInfo& type_of(const WorkloadSelector*) {
  using T = WorkloadSelector;
  static const TypeInfo kType = describe<T>(
      {.doc = "Chooses the pods of this server, in its namespace."},
      {field<&T::matchLabels>({.doc = "Labels that every pod has.", .webhook = of_labels()}),
       field<&T::pdGroup>({.doc = "Where it is there, prefill is separate from decode."})});
  return kType;
}

const TypeInfo& type_of(const WorkloadPort*) {
  using T = WorkloadPort;
  static const TypeInfo kType = describe<T>(
      {.doc = "Where the engines listen."},
      {field<&T::port>({.doc = "The port of every pod.", .required = true, .min = 1, .max = 65535}),
       field<&T::protocol>({.doc = "What it speaks.", .default_json = R"("http")"})});
  return kType;
}

const TypeInfo& type_of(const RetryPolicy*) {
  using T = RetryPolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "When a request is tried again."},
      {field<&T::attempts>({.doc = "How often at most."}),
       field<&T::retryInterval>({.doc = "Time between attempts.", .default_json = R"("100ms")"})});
  return kType;
}

const TypeInfo& type_of(const TrafficPolicy*) {
  using T = TrafficPolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "How requests reach the pods."},
      {field<&T::timeout>({.doc = "From the attempt's begin to the head of its answer; the body is "
                                  "not bounded. No limit by default."}),
       field<&T::retry>({.doc = "When a request is tried again."})});
  return kType;
}

const TypeInfo& type_of(const KvConnector*) {
  using T = KvConnector;
  static const TypeInfo kType =
      describe<T>({.doc = "How the KV cache gets from prefill to decode."},
                  {field<&T::type>({.doc = "The connector that the engines use.",
                                    .default_json = R"("http")"})});
  return kType;
}

const TypeInfo& type_of(const ModelServerSpec*) {
  using T = ModelServerSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "Which pods serve the model and how they are reached."},
      {field<&T::model>(
           {.doc = "The name the engines know the model by: it replaces the request's.",
            .max_length = 256}),
       field<&T::inferenceEngine>({.doc = "The engine in the pods.", .required = true}),
       field<&T::workloadSelector>({.doc = "Chooses the pods.", .required = true}),
       field<&T::workloadPort>({.doc = "Where the engines listen.", .required = true}),
       field<&T::trafficPolicy>({.doc = "How requests reach the pods."}),
       field<&T::kvConnector>({.doc = "How the KV cache gets from prefill to decode."})});
  return kType;
}

const TypeInfo& type_of(const ModelServerStatus*) {
  static const TypeInfo kType = describe<ModelServerStatus>({.doc = "Nothing so far."}, {});
  return kType;
}

const TypeInfo& type_of(const ModelServer*) {
  using T = ModelServer;
  static const TypeInfo kType = describe_kind<T>(
      {.doc = "A set of pods that serve one model."},
      {field<&T::metadata>({}), field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
