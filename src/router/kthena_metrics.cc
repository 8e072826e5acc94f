#include "router/kthena_metrics.h"

#include <array>

namespace fairlead::router {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::array kKthenaDurationBuckets = {0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,
                                               1.0,   2.5,  5.0,   10.0, 30.0, 60.0};
constexpr std::array kPluginBuckets = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5};
constexpr std::array kRatioBuckets = {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0};

// The router names no model of its own to an engine: what the client asked for is passed on.
std::string_view upstream_model(const KthenaMetrics::Labels& labels) {
  return labels.destination == Destination::kUnresolved ? kNone : labels.model;
}

}  // namespace

std::string_view to_string(Destination destination) {
  return destination == Destination::kStatic ? "static" : "unresolved";
}

KthenaMetrics::KthenaMetrics(obs::Registry& registry)
    : requests_(registry.counter("kthena_router_requests_total",
                                 "Requests answered. error_type is successful_request where "
                                 "nothing failed.",
                                 {"model", "path", "status_code", "error_type", "model_route",
                                  "backend_type", "backend_name", "upstream_model"})),
      duration_(registry.histogram("kthena_router_request_duration_seconds",
                                   "From a request's head to the end of its answer.",
                                   kKthenaDurationBuckets,
                                   {"model", "path", "status_code", "model_route", "backend_type",
                                    "backend_name", "upstream_model"})),
      prefill_(registry.histogram("kthena_router_request_prefill_duration_seconds",
                                  "Streams: from the first attempt to the first event.",
                                  kKthenaDurationBuckets, {"model", "path", "status_code"})),
      decode_(registry.histogram("kthena_router_request_decode_duration_seconds",
                                 "Streams: from the first event to the end.",
                                 kKthenaDurationBuckets, {"model", "path", "status_code"})),
      tokens_(registry.counter("kthena_router_tokens_total",
                               "Tokens, input and output, as engines reported them; input is "
                               "estimated from bytes where they did not.",
                               {"model", "path", "token_type", "model_route", "backend_type",
                                "backend_name", "upstream_model"})),
      active_(registry.gauge("kthena_router_active_requests", "Requests being handled.")),
      active_downstream_(registry.gauge("kthena_router_active_downstream_requests",
                                        "Requests of clients being handled, once their model is "
                                        "known.",
                                        {"model"})),
      active_upstream_(registry.gauge(
          "kthena_router_active_upstream_requests", "Requests at replicas.",
          {"model_server", "model_route", "backend_type", "backend_name", "upstream_model"})),
      plugin_duration_(registry.histogram("kthena_router_scheduler_plugin_duration_seconds",
                                          "What a filter or scorer took in a pick; of one pick in "
                                          "64.",
                                          kPluginBuckets, {"model", "plugin", "type"})),
      prefix_match_(registry.histogram(
          "kthena_router_prefix_cache_match_ratio",
          "Share of a prompt's blocks that the prefix index expected in the picked replica's "
          "cache, at each pick that looked.",
          kRatioBuckets, {"model"})) {}

obs::Counter KthenaMetrics::requests(size_t shard, const Labels& labels) {
  return requests_.counter(shard,
                           {labels.model, labels.path, labels.status_code, labels.error_type, kNone,
                            to_string(labels.destination), kNone, upstream_model(labels)});
}

obs::Histogram KthenaMetrics::duration(size_t shard, const Labels& labels) {
  return duration_.histogram(shard, {labels.model, labels.path, labels.status_code, kNone,
                                     to_string(labels.destination), kNone, upstream_model(labels)});
}

obs::Histogram KthenaMetrics::prefill(size_t shard, const Labels& labels) {
  return prefill_.histogram(shard, {labels.model, labels.path, labels.status_code});
}

obs::Histogram KthenaMetrics::decode(size_t shard, const Labels& labels) {
  return decode_.histogram(shard, {labels.model, labels.path, labels.status_code});
}

obs::Counter KthenaMetrics::tokens(size_t shard, const Labels& labels,
                                   std::string_view token_type) {
  return tokens_.counter(shard, {labels.model, labels.path, token_type, kNone,
                                 to_string(labels.destination), kNone, upstream_model(labels)});
}

obs::Histogram KthenaMetrics::plugin_duration(size_t shard, std::string_view model,
                                              std::string_view plugin, pick::PluginKind kind) {
  const bool filters = kind == pick::PluginKind::kFilter;
  return plugin_duration_.histogram(shard, {model, plugin, filters ? "filter" : "score"});
}

obs::Gauge KthenaMetrics::active_upstream(size_t shard, std::string_view model) {
  return active_upstream_.gauge(shard,
                                {kNone, kNone, to_string(Destination::kStatic), kNone, model});
}

}  // namespace fairlead::router
