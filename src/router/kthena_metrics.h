// The metrics that dashboards and alerts of the Kthena router read: names, labels and buckets are
// its, so that they go on working. Of its list, those that have something to say here.
//
// A static back end is no object with a name: its model_route and backend_name are "none". Before a
// replica is picked a request's backend_type is "unresolved".
#pragma once

#include <string_view>

#include "obs/metrics.h"
#include "pick/plugin.h"

namespace fairlead::router {

enum class Destination : uint8_t { kUnresolved, kStatic };
// The value of backend_type, in metrics and in the access log.
std::string_view to_string(Destination destination);

// Families; one a process, shared by all shards.
class KthenaMetrics {
 public:
  explicit KthenaMetrics(obs::Registry& registry);

  // The labels of one kind of request.
  struct Labels {
    std::string_view model, path, status_code, error_type;
    Destination destination = Destination::kUnresolved;
  };
  obs::Counter requests(size_t shard, const Labels& labels);
  obs::Histogram duration(size_t shard, const Labels& labels);
  obs::Histogram prefill(size_t shard, const Labels& labels);
  obs::Histogram decode(size_t shard, const Labels& labels);
  obs::Counter tokens(size_t shard, const Labels& labels, std::string_view token_type);
  obs::Gauge active(size_t shard) { return active_.gauge(shard); }
  obs::Gauge active_downstream(size_t shard, std::string_view model) {
    return active_downstream_.gauge(shard, {model});
  }
  obs::Gauge active_upstream(size_t shard, std::string_view model);
  obs::Histogram plugin_duration(size_t shard, std::string_view model, std::string_view plugin,
                                 pick::PluginKind kind);
  obs::Histogram prefix_match(size_t shard, std::string_view model) {
    return prefix_match_.histogram(shard, {model});
  }

 private:
  obs::Family& requests_;
  obs::Family& duration_;
  obs::Family& prefill_;
  obs::Family& decode_;
  obs::Family& tokens_;
  obs::Family& active_;
  obs::Family& active_downstream_;
  obs::Family& active_upstream_;
  obs::Family& plugin_duration_;
  obs::Family& prefix_match_;
};

}  // namespace fairlead::router
