// ModelServer: which pods serve a model, on which port, with which engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/meta.h"
#include "api/time.h"

namespace fairlead::api {

enum class InferenceEngine : uint8_t { vLLM, SGLang };
enum class ServerProtocol : uint8_t { http, https };
enum class KvConnectorType : uint8_t { http, lmcache, nixl, mooncake };

struct PdGroup {
  std::string groupKey;
  std::map<std::string, std::string> prefillLabels;
  std::map<std::string, std::string> decodeLabels;
};

struct WorkloadSelector {
  std::map<std::string, std::string> matchLabels;
  std::optional<PdGroup> pdGroup;  // there: prefill and decode are separate
};

struct WorkloadPort {
  int32_t port = 0;
  ServerProtocol protocol = ServerProtocol::http;
};

struct RetryPolicy {
  std::optional<int32_t> attempts;
  Duration retryInterval{std::chrono::milliseconds(100)};
};

struct TrafficPolicy {
  std::optional<Duration> timeout;
  std::optional<RetryPolicy> retry;
};

struct KvConnector {
  KvConnectorType type = KvConnectorType::http;
};

struct ModelServerSpec {
  std::string model;
  InferenceEngine inferenceEngine = InferenceEngine::vLLM;
  WorkloadSelector workloadSelector;
  WorkloadPort workloadPort;
  std::optional<TrafficPolicy> trafficPolicy;
  std::optional<KvConnector> kvConnector;
};

struct ModelServerStatus {};

struct ModelServer {
  static constexpr Kind kKind{"networking.serving.volcano.sh", "v1alpha1", "ModelServer",
                              "modelservers"};
  ObjectMeta metadata;
  ModelServerSpec spec;
  ModelServerStatus status;
};

const TypeInfo& type_of(const InferenceEngine*);
const TypeInfo& type_of(const ServerProtocol*);
const TypeInfo& type_of(const KvConnectorType*);
const TypeInfo& type_of(const PdGroup*);
const TypeInfo& type_of(const WorkloadSelector*);
const TypeInfo& type_of(const WorkloadPort*);
const TypeInfo& type_of(const RetryPolicy*);
const TypeInfo& type_of(const TrafficPolicy*);
const TypeInfo& type_of(const KvConnector*);
const TypeInfo& type_of(const ModelServerSpec*);
const TypeInfo& type_of(const ModelServerStatus*);
const TypeInfo& type_of(const ModelServer*);

}  // namespace fairlead::api
