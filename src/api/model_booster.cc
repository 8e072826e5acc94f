#include "api/model_booster.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_ENUM(BackendType, vLLM, vLLMDisaggregated)
BOOST_DESCRIBE_ENUM(WorkerType, server, prefill, decode, controller, coordinator)
BOOST_DESCRIBE_STRUCT(ModelWorker, (),
                      (type, image, replicas, pods, resources, affinity, tolerations, config))
BOOST_DESCRIBE_STRUCT(ModelBackend, (),
                      (name, type, modelURI, cacheURI, envFrom, env, replicas, workers,
                       schedulerName, runtimeClassName))
BOOST_DESCRIBE_STRUCT(ModelBoosterSpec, (), (name, owner, modelMatch, backend))
BOOST_DESCRIBE_STRUCT(ModelBoosterStatus, (), (observedGeneration, conditions))
BOOST_DESCRIBE_STRUCT(ModelBooster, (), (metadata, spec, status))

namespace {

constexpr std::string_view kName = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
constexpr double kBoosterReplicasMax = 1'000'000;

}  // namespace

const TypeInfo& type_of(const BackendType*) {
  static const TypeInfo kType = describe_enum<BackendType>();
  return kType;
}

const TypeInfo& type_of(const WorkerType*) {
  static const TypeInfo kType = describe_enum<WorkerType>();
  return kType;
}

const TypeInfo& type_of(const ModelWorker*) {
  using T = ModelWorker;
  static const TypeInfo kType = describe<T>(
      {.doc = "One part of the back end."},
      {field<&T::type>({.doc = "Which part.",
                        .default_json = R"("server")",
                        .webhook = {{"", rule_texts::kWorkerType}, {"", rule_texts::kWorkerOnce}}}),
       field<&T::image>(
           {.doc = "The engine's image.", .webhook = {{"", rule_texts::kNoWhiteSpace}}}),
       field<&T::replicas>(
           {.doc = "How many of it a group has.", .min = 0, .max = kBoosterReplicasMax}),
       field<&T::pods>({.doc = "Pods of each, for a model that spans machines.",
                        .min = 0,
                        .max = kBoosterReplicasMax}),
       field<&T::resources>({.doc = "What each pod asks for.", .core = "ResourceRequirements"}),
       field<&T::affinity>({.doc = "Where the pods may be.", .core = "Affinity"}),
       field<&T::tolerations>(
           {.doc = "Taints that they bear.", .list_type = "atomic", .core = "Toleration"}),
       field<&T::config>({.doc = "The engine's flags, by name.",
                          .webhook = {{".port", rule_texts::kPort},
                                      {".port", rule_texts::kSamePort},
                                      {".kv-transfer-config", rule_texts::kConnectorJson},
                                      {".kv-transfer-config", rule_texts::kConnectorRole},
                                      {".kv-transfer-config", rule_texts::kSameConnector}}})});
  return kType;
}

const TypeInfo& type_of(const ModelBackend*) {
  using T = ModelBackend;
  static const TypeInfo kType = describe<T>(
      {.doc = "The pods that serve the model."},
      {field<&T::name>(
           {.doc = "Part of the names of what is made.", .required = true, .pattern = kName}),
       field<&T::type>({.doc = "The engine, and whether prefill is separate.", .required = true}),
       field<&T::modelURI>({.doc = "Where the model comes from.",
                            .required = true,
                            .pattern = "^(hf://|s3://|obs://|pvc://|ms://).+",
                            .webhook = {{"", rule_texts::kModelFolder}}}),
       field<&T::cacheURI>({.doc = "Where it is kept.",
                            .pattern = "^(hostpath://|pvc://).+",
                            .webhook = {{"", rule_texts::kCacheClaim}}}),
       field<&T::envFrom>({.doc = "Environment from ConfigMaps and Secrets.",
                           .list_type = "atomic",
                           .core = "EnvFromSource"}),
       field<&T::env>({.doc = "Environment of engine and downloader.",
                       .list_type = "map",
                       .list_map_key = "name",
                       .core = "EnvVar"}),
       field<&T::replicas>(
           {.doc = "How many groups.", .required = true, .min = 0, .max = kBoosterReplicasMax}),
       field<&T::workers>({.doc = "The parts of a group.",
                           .required = true,
                           .min_items = 1,
                           .max_items = 1000,
                           .webhook = {{"", rule_texts::kWorkers}}}),
       field<&T::schedulerName>({.doc = "The pods' scheduler; volcano by default."}),
       field<&T::runtimeClassName>({.doc = "The pods' runtime class."})});
  return kType;
}

const TypeInfo& type_of(const ModelBoosterSpec*) {
  using T = ModelBoosterSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "The model, its back end and its route."},
      {field<&T::name>({.doc = "The name that clients ask for; the object's by default.",
                        .max_length = 64,
                        .pattern = kName}),
       field<&T::owner>({.doc = "For people."}),
       field<&T::modelMatch>({.doc = "Conditions on requests."}),
       field<&T::backend>({.doc = "The pods that serve the model.", .required = true})});
  return kType;
}

const TypeInfo& type_of(const ModelBoosterStatus*) {
  using T = ModelBoosterStatus;
  static const TypeInfo kType =
      describe<T>({.doc = "What became of it."},
                  {field<&T::observedGeneration>({.doc = "The metadata.generation this is about."}),
                   field<&T::conditions>({.doc = "Initialized, Active and Failed.",
                                          .list_type = "map",
                                          .list_map_key = "type"})});
  return kType;
}

const TypeInfo& type_of(const ModelBooster*) {
  using T = ModelBooster;
  static const TypeInfo kType =
      describe_kind<T>({.doc = "A model with its pods and its route in one object."},
                       {field<&T::metadata>({.webhook = {{".name", rule_texts::kPodNames}}}),
                        field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
