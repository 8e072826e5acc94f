// All metrics of the router, by name, and the handles that a shard writes through. docs/metrics.md
// is generated from them (router_metrics_test.cc).
//
// Label values are bounded: models are those that exist, the first kModelsMax of them by name;
// paths are the router's endpoints; error types and reasons are literals of the program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "codec/sse.h"
#include "obs/metrics.h"
#include "pick/plugin.h"
#include "router/kthena_metrics.h"

namespace fairlead::router {

// Families; one a process, shared by all shards.
class RouterMetrics {
 public:
  RouterMetrics(obs::Registry& registry, std::string_view version, std::string_view policy);

  KthenaMetrics kthena;
  obs::Family& requests;
  obs::Family& duration;
  obs::Family& first_token;
  obs::Family& token_gap;
  obs::Family& prompt_tokens;
  obs::Family& cached_tokens;
  obs::Family& output_tokens;
  obs::Family& predicted_tokens;
  obs::Family& picks;
  obs::Family& retries;
  obs::Family& retries_refused;
  obs::Family& cancellations;
  obs::Family& shed;
  obs::Family& queue_wait;
  obs::Family& upstream_failures;
  obs::Family& in_flight;
  obs::Family& connections;
  obs::Family& upstream_connects;
};

// How a request ended. The views are literals, or paths of endpoints.
struct RequestEnd {
  std::string_view path;
  int status = 0;
  std::string_view error_type;  // empty: nothing failed
  Destination destination = Destination::kUnresolved;
  base::Nanos duration{};                  // from the request's head on, as are these two:
  base::Nanos picked{};                    // until the first replica was picked
  std::optional<base::Nanos> first_token;  // of a stream
  std::optional<codec::Usage> usage;       // as the engine reported it
  uint64_t input_tokens_estimate = 0;
  uint64_t predicted_cached_tokens = 0;

  uint64_t input_tokens() const { return usage ? usage->prompt_tokens : input_tokens_estimate; }
};

// Adds one to a gauge as long as it lives.
class Counted {
 public:
  explicit Counted(const obs::Gauge& gauge) : gauge_(gauge) { gauge_.add(1); }
  ~Counted() { gauge_.add(-1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  const obs::Gauge gauge_;
};

// One shard's handles. Those of a model, and of a kind of end, are resolved when first met.
class ShardMetrics {
 public:
  static constexpr size_t kModelsMax = 500;
  static constexpr std::string_view kUnknownModel = "unknown";  // none was named, or it is not here
  static constexpr std::string_view kOtherModels = "other";     // past kModelsMax
  static constexpr std::string_view kOtherPath = "other";       // no endpoint

  ShardMetrics(RouterMetrics& families, size_t shard);

  class Model {
   public:
    obs::Gauge active_downstream;
    obs::Gauge active_upstream;
    obs::Histogram token_gap;
    obs::Histogram prefix_match;

   private:
    friend class ShardMetrics;
    // What is counted of requests that end in one way.
    struct End {
      std::string_view path;
      int status;
      std::string_view error_type;
      Destination destination;
      obs::Counter requests, requests_of_kthena, input_tokens, output_tokens;
      obs::Histogram duration_of_kthena, prefill, decode;
    };
    std::string name;
    obs::Histogram duration;
    obs::Histogram first_token;
    obs::Counter prompt_tokens;
    obs::Counter cached_tokens;
    obs::Counter output_tokens;
    obs::Counter predicted_tokens;
    std::vector<End> ends;
    struct Plugin {
      pick::PluginKind kind;
      std::string_view name;
      obs::Histogram duration;
    };
    std::vector<Plugin> plugins;
  };
  // `name` must be a model that exists, or kUnknownModel. The reference stays valid.
  Model& model(std::string_view name);
  void count_end(Model& model, const RequestEnd& end);

  // `plugin` is a literal.
  void count_plugin(Model& model, pick::PluginKind kind, std::string_view plugin,
                    base::Nanos duration);
  void count_pick(std::string_view reason) { named(picks_, families_.picks, reason).add(); }
  void count_retry(std::string_view reason) { named(retries_, families_.retries, reason).add(); }
  void count_cancel(std::string_view reason) {
    named(cancels_, families_.cancellations, reason).add();
  }
  void count_shed(std::string_view reason) { named(sheds_, families_.shed, reason).add(); }
  // `outcome` is a literal.
  void waited(std::string_view outcome, base::Nanos time) {
    families_.queue_wait.histogram(shard_, {outcome}).observe(base::to_seconds(time));
  }
  void count_failure(std::string_view kind) {
    named(failures_, families_.upstream_failures, kind).add();
  }

  obs::Gauge in_flight;
  obs::Gauge active_of_kthena;
  obs::Gauge connections;
  obs::Counter upstream_connects;
  obs::Counter retries_refused;

 private:
  // By label; few, and all of them literals.
  using Named = std::vector<std::pair<std::string_view, obs::Counter>>;
  obs::Counter& named(Named& counters, obs::Family& family, std::string_view label);
  Model::End& end_of(Model& model, const RequestEnd& end);

  RouterMetrics& families_;
  size_t shard_;
  std::map<std::string, Model, std::less<>> models_;
  Model* last_model_ = nullptr;  // that was asked for: the next request often names it too
  Named picks_;
  Named retries_;
  Named cancels_;
  Named sheds_;
  Named failures_;
};

}  // namespace fairlead::router
