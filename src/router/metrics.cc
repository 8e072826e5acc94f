#include "router/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fairlead::router {
namespace {

constexpr std::array kDurationBuckets = {0.001, 0.0025, 0.005, 0.01,  0.025, 0.05, 0.1,
                                         0.25,  0.5,    1.0,   2.5,   5.0,   10.0, 30.0,
                                         60.0,  120.0,  300.0, 600.0, 1800.0};
constexpr std::array kTokenGapBuckets = {0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05,
                                         0.075,  0.1,   0.15, 0.2,   0.3,  0.5,   1.0,  2.5,  10.0};

}  // namespace

RouterMetrics::RouterMetrics(obs::Registry& registry, std::string_view version,
                             std::string_view policy)
    : kthena(registry),
      requests(registry.counter("fairlead_requests_total",
                                "Requests answered, by model and status; the model is unknown "
                                "where none was found.",
                                {"model", "code"})),
      duration(registry.histogram("fairlead_request_duration_seconds",
                                  "From a request's head to the end of its answer.",
                                  kDurationBuckets, {"model"})),
      first_token(registry.histogram("fairlead_time_to_first_token_seconds",
                                     "Streams: from a request's head to the first event of its "
                                     "answer.",
                                     kDurationBuckets, {"model"})),
      token_gap(registry.histogram("fairlead_inter_token_latency_seconds",
                                   "Streams: from one event to the next, as the router reads them; "
                                   "events that come together share the time.",
                                   kTokenGapBuckets, {"model"})),
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
      retries_refused(registry.counter("fairlead_retries_refused_total",
                                       "Attempts that failed and might have moved, had the budget "
                                       "of retries not been used up.")),
      cancellations(registry.counter("fairlead_requests_cancelled_total",
                                     "Requests that ended before their answer was complete.",
                                     {"reason"})),
      shed(registry.counter("fairlead_requests_shed_total",
                            "Requests turned away because no replica had room, by the bound of the "
                            "queue that they met.",
                            {"reason"})),
      queue_wait(registry.histogram("fairlead_queue_wait_seconds",
                                    "How long requests waited for room at a replica, by how that "
                                    "ended.",
                                    kDurationBuckets, {"outcome"})),
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
      active_of_kthena(families.kthena.active(shard)),
      connections(families.connections.gauge(shard)),
      upstream_connects(families.upstream_connects.counter(shard)),
      retries_refused(families.retries_refused.counter(shard)),
      families_(families),
      shard_(shard) {}

ShardMetrics::Model& ShardMetrics::model(std::string_view name) {
  if (last_model_ != nullptr && last_model_->name == name) return *last_model_;
  auto found = models_.find(name);
  if (found != models_.end()) return *(last_model_ = &found->second);
  if (models_.size() >= kModelsMax && name != kOtherModels && name != kUnknownModel) {
    return model(kOtherModels);
  }
  Model made;
  made.name = name;
  made.active_downstream = families_.kthena.active_downstream(shard_, name);
  made.active_upstream = families_.kthena.active_upstream(shard_, name);
  made.token_gap = families_.token_gap.histogram(shard_, {name});
  made.prefix_match = families_.kthena.prefix_match(shard_, name);
  made.duration = families_.duration.histogram(shard_, {name});
  made.first_token = families_.first_token.histogram(shard_, {name});
  made.prompt_tokens = families_.prompt_tokens.counter(shard_, {name});
  made.cached_tokens = families_.cached_tokens.counter(shard_, {name});
  made.output_tokens = families_.output_tokens.counter(shard_, {name});
  made.predicted_tokens = families_.predicted_tokens.counter(shard_, {name});
  return models_.emplace(std::string(name), std::move(made)).first->second;
}

ShardMetrics::Model::End& ShardMetrics::end_of(Model& model, const RequestEnd& end) {
  for (Model::End& known : model.ends) {
    if (known.status == end.status && known.destination == end.destination &&
        known.path == end.path && known.error_type == end.error_type) {
      return known;
    }
  }
  const std::string status = fmt::to_string(end.status);
  KthenaMetrics& kthena = families_.kthena;
  const KthenaMetrics::Labels labels{
      .model = model.name,
      .path = end.path,
      .status_code = status,
      .error_type = end.error_type.empty() ? "successful_request" : end.error_type,
      .destination = end.destination};
  return model.ends.emplace_back(
      Model::End{.path = end.path,
                 .status = end.status,
                 .error_type = end.error_type,
                 .destination = end.destination,
                 .requests = families_.requests.counter(shard_, {model.name, status}),
                 .requests_of_kthena = kthena.requests(shard_, labels),
                 .input_tokens = kthena.tokens(shard_, labels, "input"),
                 .output_tokens = kthena.tokens(shard_, labels, "output"),
                 .duration_of_kthena = kthena.duration(shard_, labels),
                 .prefill = kthena.prefill(shard_, labels),
                 .decode = kthena.decode(shard_, labels)});
}

void ShardMetrics::count_end(Model& model, const RequestEnd& end) {
  const Model::End& kind = end_of(model, end);
  kind.requests.add();
  kind.requests_of_kthena.add();
  const double seconds = base::to_seconds(end.duration);
  model.duration.observe(seconds);
  kind.duration_of_kthena.observe(seconds);
  if (end.first_token) {
    model.first_token.observe(base::to_seconds(*end.first_token));
    kind.prefill.observe(base::to_seconds(*end.first_token - end.picked));
    kind.decode.observe(base::to_seconds(end.duration - *end.first_token));
  }
  kind.input_tokens.add(static_cast<double>(end.input_tokens()));
  model.predicted_tokens.add(static_cast<double>(end.predicted_cached_tokens));
  if (!end.usage) return;
  kind.output_tokens.add(static_cast<double>(end.usage->completion_tokens));
  model.prompt_tokens.add(static_cast<double>(end.usage->prompt_tokens));
  model.output_tokens.add(static_cast<double>(end.usage->completion_tokens));
  model.cached_tokens.add(static_cast<double>(end.usage->cached_tokens.value_or(0)));
}

void ShardMetrics::count_plugin(Model& model, pick::PluginKind kind, std::string_view plugin,
                                base::Nanos duration) {
  auto found = std::find_if(
      model.plugins.begin(), model.plugins.end(),
      [&](const Model::Plugin& one) { return one.kind == kind && one.name == plugin; });
  if (found == model.plugins.end()) {
    found = model.plugins.insert(
        found, {kind, plugin, families_.kthena.plugin_duration(shard_, model.name, plugin, kind)});
  }
  found->duration.observe(base::to_seconds(duration));
}

obs::Counter& ShardMetrics::named(Named& counters, obs::Family& family, std::string_view label) {
  for (auto& [known, counter] : counters) {
    if (known == label) return counter;
  }
  return counters.emplace_back(label, family.counter(shard_, {label})).second;
}

}  // namespace fairlead::router
