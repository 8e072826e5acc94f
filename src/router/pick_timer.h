// Times the plugins of every kEvery-th pick for kthena_router_scheduler_plugin_duration_seconds:
// two looks at the clock a plugin cost more than most plugins, so not every pick can afford them.
// One a shard.
//
//   chooser.pick(query, random, timer.next(model));
#pragma once

#include "base/clock.h"
#include "pick/plugin.h"
#include "router/metrics.h"

namespace fairlead::router {

class PickTimer final : public pick::PluginWatch {
 public:
  static constexpr uint32_t kEvery = 64;

  PickTimer(const base::Clock& clock, ShardMetrics& metrics) : clock_(clock), metrics_(metrics) {}

  // What to give to the next pick for `model`; nullptr: it is not timed. The first one is.
  pick::PluginWatch* next(ShardMetrics::Model& model) {
    if (picks_++ % kEvery != 0) return nullptr;
    model_ = &model;
    return this;
  }

  void begins() override { began_ = clock_.now(); }
  void ended(pick::PluginKind kind, std::string_view plugin) override {
    metrics_.count_plugin(*model_, kind, plugin, clock_.now() - began_);
  }

 private:
  const base::Clock& clock_;
  ShardMetrics& metrics_;
  ShardMetrics::Model* model_ = nullptr;
  base::TimePoint began_{};
  uint32_t picks_ = 0;
};

}  // namespace fairlead::router
