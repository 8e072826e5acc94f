#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/pattern.h"
#include "api/rule_texts.h"
#include "api/rules.h"

namespace fairlead::api {
namespace {

constexpr std::string_view kPvc = "pvc://";
constexpr int64_t kPortDefault = 8000;

// What an engine's connector is called in a ModelServer; empty: none that the router speaks to.
std::string_view connector_type(std::string_view connector) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
      {{"MooncakeConnector", "mooncake"},
       {"MooncakeConnectorV1", "mooncake"},
       {"NixlConnector", "nixl"},
       {"LMCacheConnectorV1", "lmcache"}}};
  for (const auto& [name, type] : kTypes) {
    if (name == connector) return type;
  }
  return "";
}

class BoosterRules {
 public:
  explicit BoosterRules(const ModelBooster& booster)
      : booster_(booster), backend_(booster.spec.backend) {}

  std::vector<FieldError> run() {
    kinds_of_workers();
    for (size_t i = 0; i < backend_.workers.size(); ++i) {
      if (pattern_found(R"(\s)", backend_.workers[i].image)) {
        fail(worker(i) + ".image", rule_texts::kNoWhiteSpace);
      }
      name(backend_.workers[i]);
    }
    places();
    ports();
    connectors();
    return std::move(errors_);
  }

 private:
  void fail(std::string field, std::string_view message) {
    errors_.push_back({std::move(field), std::string(message)});
  }
  static std::string worker(size_t i) { return fmt::format("spec.backend.workers[{}]", i); }

  // One server, or one each of prefill and decode.
  void kinds_of_workers() {
    const bool apart = backend_.type == BackendType::vLLMDisaggregated;
    std::array<int, 2> found{};
    for (size_t i = 0; i < backend_.workers.size(); ++i) {
      const WorkerType type = backend_.workers[i].type;
      const bool fits = apart ? type == WorkerType::prefill || type == WorkerType::decode
                              : type == WorkerType::server;
      if (!fits) {
        fail(worker(i) + ".type", rule_texts::kWorkerType);
      } else if (++found[type == WorkerType::decode ? 1 : 0] > 1) {
        fail(worker(i) + ".type", rule_texts::kWorkerOnce);
      }
    }
    if (found[0] == 0 || (apart && found[1] == 0)) {
      fail("spec.backend.workers", rule_texts::kWorkers);
    }
  }

  // Of the pods that will be made.
  void name(const ModelWorker& worker) {
    if (booster_.metadata.name.empty()) return;
    ModelServing serving;
    serving.metadata.name = booster_.metadata.name;
    if (!backend_.name.empty()) serving.metadata.name += '-' + backend_.name;
    serving.spec.replicas = backend_.replicas;
    Role role;
    role.name = worker.type == WorkerType::prefill  ? "prefill"
                : worker.type == WorkerType::decode ? "decode"
                                                    : "leader";
    role.replicas = worker.replicas.value_or(0);
    if (worker.type == WorkerType::server) {
      role.workerReplicas = std::max(worker.pods.value_or(1) - 1, 0);
    }
    const std::string longest = longest_child_name(serving, role);
    if (valid_dns_label(longest)) return;
    fail("metadata.name", fmt::format("gives '{}': {}", longest, rule_texts::kPodNames));
  }

  // A model in a volume is copied within that volume.
  void places() {
    const std::string_view cache = backend_.cacheURI;
    const bool volume = cache.starts_with(kPvc);
    const std::string claim(volume ? cache.substr(kPvc.size()) : "");
    if (!backend_.modelURI.starts_with(kPvc)) return;
    std::string_view from = std::string_view(backend_.modelURI).substr(kPvc.size());
    from.remove_prefix(std::min(from.find_first_not_of('/'), from.size()));
    if (!volume || !pattern_found("^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", claim) ||
        claim.find("..") != std::string::npos) {
      fail("spec.backend.cacheURI", rule_texts::kCacheClaim);
    } else if (!from.starts_with(claim + '/') || from.find("..") != std::string_view::npos ||
               from.find_first_not_of('/', claim.size()) == std::string_view::npos) {
      fail("spec.backend.modelURI",
           fmt::format("{}: {}{}/...", rule_texts::kModelFolder, kPvc, claim));
    }
  }

  static bool answers(const ModelWorker& worker) {
    return worker.type == WorkerType::server || worker.type == WorkerType::prefill ||
           worker.type == WorkerType::decode;
  }

  // All engines listen on one port, as a ModelServer has but one.
  void ports() {
    int64_t agreed = 0;
    for (size_t i = 0; i < backend_.workers.size(); ++i) {
      if (!answers(backend_.workers[i])) continue;
      const Json* given = backend_.workers[i].config.find("port");
      const int64_t port = given == nullptr ? kPortDefault : number(*given);
      const std::string at = worker(i) + ".config.port";
      if (port < 1 || port > 65535) {
        fail(at, fmt::format("is {}: {}", to_string(*given), rule_texts::kPort));
      } else if (agreed != 0 && port != agreed) {
        fail(at, fmt::format("is {}: {}, {}", port, rule_texts::kSamePort, agreed));
      } else {
        agreed = port;
      }
    }
  }
  // 0 if it is none.
  static int64_t number(const Json& value) {
    if (value.is_integer()) return value.as_int();
    if (value.is_number()) {
      const double whole = value.as_double();
      const auto port = static_cast<int64_t>(whole >= 1 && whole <= 65535 ? whole : 0);
      return static_cast<double>(port) == whole ? port : 0;
    }
    const std::string& text = value.as_string();
    int64_t out = 0;
    const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc() && stop == text.data() + text.size() ? out : 0;
  }

  void connectors() {
    if (backend_.type != BackendType::vLLMDisaggregated) return;
    std::optional<std::string> agreed;
    for (size_t i = 0; i < backend_.workers.size(); ++i) {
      const std::string at = worker(i) + ".config.kv-transfer-config";
      const std::optional<std::string> type = connector(backend_.workers[i], at);
      if (!type) continue;
      if (agreed && *agreed != *type) {
        fail(at, fmt::format("has the connector type '{}': {}, '{}'", *type,
                             rule_texts::kSameConnector, *agreed));
      }
      agreed = type;
    }
  }

  // Its type, empty without one; nothing after an error.
  std::optional<std::string> connector(const ModelWorker& worker, const std::string& at) {
    const Json* text = worker.config.find("kv-transfer-config");
    if (text == nullptr) return "";
    const auto config = codec::parse_json(text->as_string());
    if (!text->is_string() || !config || !config->is_object()) {
      fail(at, rule_texts::kConnectorJson);
      return std::nullopt;
    }
    const std::string type(connector_type(text_at(*config, "kv_connector")));
    if (type.empty()) return type;
    const std::string role(text_at(*config, "kv_role"));
    const std::string_view own = worker.type == WorkerType::prefill ? "kv_producer" : "kv_consumer";
    if (role != own && role != "kv_both") {
      fail(at, fmt::format("has the kv_role '{}': {}", role, rule_texts::kConnectorRole));
    }
    return type;
  }

  const ModelBooster& booster_;
  const ModelBackend& backend_;
  std::vector<FieldError> errors_;
};

}  // namespace

std::vector<FieldError> check_rules(const ModelBooster& booster, Operation) {
  return BoosterRules(booster).run();
}

}  // namespace fairlead::api
