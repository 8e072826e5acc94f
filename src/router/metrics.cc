#include "router/metrics.h"

#include <fmt/format.h>

#include <array>

namespace fairlead::router {
namespace {

constexpr std::array kDurationBuckets = {0.001, 0.0025, 0.005, 0.01,  0.025, 0.05, 0.1,
                                         0.25,  0.5,    1.0,   2.5,   5.0,   10.0, 30.0,
                                         60.0,  120.0,  300.0, 600.0, 1800.0};

}  // namespace

RouterMetrics::RouterMetrics(obs::Registry& registry, std::string_view version,
                             std::string_view policy)
    : requests(registry.counter(
          "fairlead_requests_total",
          "Requests answered, by model and status; model is empty where none was found.",
          {"model", "code"})),
      duration(registry.histogram("fairlead_request_duration_seconds",
                                  "From a request's head to the end of its answer.",
                                  kDurationBuckets, {"model"})),
      first_byte(registry.histogram("fairlead_time_to_first_byte_seconds",
                                    "From a request's head to the first body byte of its answer.",
                                    kDurationBuckets, {"model"})),
      prompt_tokens(registry.counter("fairlead_prompt_tokens_total",
                                     "Prompt tokens, as engines reported them.", {"model"})),
      cached_tokens(registry.counter(
          "fairlead_cached_prompt_tokens_total",
          "Prompt tokens that engines had in their KV cache, as they reported them.", {"model"})),
      output_tokens(registry.counter("fairlead_output_tokens_total",
                                     "Output tokens, as engines reported them.", {"model"})),
      predicted_tokens(registry.counter("fairlead_predicted_cached_prompt_tokens_total",
                                        "Prompt tokens that the prefix index expected in the "
                                        "picked replica's cache, estimated from bytes.",
                                        {"model"})),
      picks(
          registry.counter("fairlead_picks_total", "Replicas picked, by the reason.", {"reason"})),
      retries(registry.counter(
          "fairlead_retries_total",
          "Attempts that moved to another replica before their first byte, by what failed.",
          {"reason"})),
      cancellations(registry.counter("fairlead_requests_cancelled_total",
                                     "Requests that ended before their answer was complete.",
                                     {"reason"})),
      upstream_failures(registry.counter("fairlead_upstream_failures_total",
                                         "Attempts that failed, by kind.", {"kind"})),
      in_flight(registry.gauge("fairlead_requests_in_flight", "Requests being handled.")),
      connections(registry.gauge("fairlead_connections",
                                 "Open client connections, within the last second.")),
      upstream_connects(
          registry.counter("fairlead_upstream_connects_total", "Connections opened to engines.")) {
  obs::Family& build = registry.gauge(
      "fairlead_build_info", "Version and policy of this router; always 1.", {"version", "policy"});
  build.gauge(0, {version, policy}).set(1);
}

ShardMetrics::ShardMetrics(RouterMetrics& families, size_t shard)
    : in_flight(families.in_flight.gauge(shard)),
      connections(families.connections.gauge(shard)),
      upstream_connects(families.upstream_connects.counter(shard)),
      families_(families),
      shard_(shard) {}

ShardMetrics::Model& ShardMetrics::model(std::string_view name) {
  auto found = models_.find(name);
  if (found == models_.end()) {
    Model made{.duration = families_.duration.histogram(shard_, {name}),
               .first_byte = families_.first_byte.histogram(shard_, {name}),
               .prompt_tokens = families_.prompt_tokens.counter(shard_, {name}),
               .cached_tokens = families_.cached_tokens.counter(shard_, {name}),
               .output_tokens = families_.output_tokens.counter(shard_, {name}),
               .predicted_tokens = families_.predicted_tokens.counter(shard_, {name}),
               .by_status = {}};
    found = models_.emplace(std::string(name), std::move(made)).first;
  }
  return found->second;
}

obs::Counter& ShardMetrics::requests(Model& model, std::string_view name, int status) {
  auto found = model.by_status.find(status);
  if (found == model.by_status.end()) {
    found = model.by_status
                .emplace(status, families_.requests.counter(shard_, {name, fmt::to_string(status)}))
                .first;
  }
  return found->second;
}

void ShardMetrics::count_refused(int status) {
  auto found = refused_.find(status);
  if (found == refused_.end()) {
    found =
        refused_.emplace(status, families_.requests.counter(shard_, {"", fmt::to_string(status)}))
            .first;
  }
  found->second.add();
}

obs::Counter& ShardMetrics::named(Named& counters, obs::Family& family, std::string_view label) {
  auto found = counters.find(label);
  if (found == counters.end()) {
    found = counters.emplace(std::string(label), family.counter(shard_, {label})).first;
  }
  return found->second;
}

}  // namespace fairlead::router
