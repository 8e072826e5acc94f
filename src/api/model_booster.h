// ModelBooster: a model as a whole, from which ModelServing, ModelServer and ModelRoute are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/meta.h"
#include "api/model_route.h"

namespace fairlead::api {

enum class BackendType : uint8_t { vLLM, vLLMDisaggregated };
enum class WorkerType : uint8_t { server, prefill, decode, controller, coordinator };

struct ModelWorker {
  WorkerType type = WorkerType::server;
  std::string image;
  std::optional<int32_t> replicas;
  std::optional<int32_t> pods;
  Json resources;
  Json affinity;
  std::vector<Json> tolerations;
  Json config;  // the engine's flags
};

struct ModelBackend {
  std::string name;
  BackendType type = BackendType::vLLM;
  std::string modelURI;
  std::string cacheURI;
  std::vector<Json> envFrom;
  std::vector<Json> env;
  int32_t replicas = 0;
  std::vector<ModelWorker> workers;
  std::string schedulerName;
  std::string runtimeClassName;
};

struct ModelBoosterSpec {
  std::string name;
  std::string owner;
  std::optional<ModelMatch> modelMatch;
  ModelBackend backend;
};

struct ModelBoosterStatus {
  std::optional<int64_t> observedGeneration;
  std::vector<Condition> conditions;
};

struct ModelBooster {
  static constexpr Kind kKind{"workload.serving.volcano.sh", "v1alpha1", "ModelBooster",
                              "modelboosters"};
  ObjectMeta metadata;
  ModelBoosterSpec spec;
  ModelBoosterStatus status;
};

const TypeInfo& type_of(const BackendType*);
const TypeInfo& type_of(const WorkerType*);
const TypeInfo& type_of(const ModelWorker*);
const TypeInfo& type_of(const ModelBackend*);
const TypeInfo& type_of(const ModelBoosterSpec*);
const TypeInfo& type_of(const ModelBoosterStatus*);
const TypeInfo& type_of(const ModelBooster*);

}  // namespace fairlead::api
