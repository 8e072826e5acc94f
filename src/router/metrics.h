// All metrics of the router, by name, and the handles that a shard writes through.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "obs/metrics.h"

namespace fairlead::router {

// Families; one a process, shared by all shards. docs/metrics.md lists them.
class RouterMetrics {
 public:
  RouterMetrics(obs::Registry& registry, std::string_view version, std::string_view policy);

  obs::Family& requests;
  obs::Family& duration;
  obs::Family& first_byte;
  obs::Family& prompt_tokens;
  obs::Family& cached_tokens;
  obs::Family& output_tokens;
  obs::Family& predicted_tokens;
  obs::Family& picks;
  obs::Family& retries;
  obs::Family& cancellations;
  obs::Family& upstream_failures;
  obs::Family& in_flight;
  obs::Family& connections;
  obs::Family& upstream_connects;
};

// One shard's handles. Handles of a model or a status are resolved when first met.
class ShardMetrics {
 public:
  ShardMetrics(RouterMetrics& families, size_t shard);

  struct Model {
    obs::Histogram duration;
    obs::Histogram first_byte;
    obs::Counter prompt_tokens;
    obs::Counter cached_tokens;
    obs::Counter output_tokens;
    obs::Counter predicted_tokens;
    std::map<int, obs::Counter> by_status;
  };
  // `model` must be one that exists: label values are bounded by the table of models.
  Model& model(std::string_view name);
  obs::Counter& requests(Model& model, std::string_view name, int status);
  void count_refused(int status);

  void count_pick(std::string_view reason) { named(picks_, families_.picks, reason).add(); }
  void count_retry(std::string_view reason) { named(retries_, families_.retries, reason).add(); }
  void count_cancel(std::string_view reason) {
    named(cancels_, families_.cancellations, reason).add();
  }
  void count_failure(std::string_view kind) {
    named(failures_, families_.upstream_failures, kind).add();
  }

  obs::Gauge in_flight;
  obs::Gauge connections;
  obs::Counter upstream_connects;

 private:
  using Named = std::map<std::string, obs::Counter, std::less<>>;
  obs::Counter& named(Named& counters, obs::Family& family, std::string_view label);

  RouterMetrics& families_;
  size_t shard_;
  std::map<std::string, Model, std::less<>> models_;
  std::map<int, obs::Counter> refused_;
  Named picks_;
  Named retries_;
  Named cancels_;
  Named failures_;
};

}  // namespace fairlead::router
