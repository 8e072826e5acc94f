#include "router/backend_metrics.h"

namespace fairlead::router {
namespace {

using obs::MetricType;
using obs::Samples;

constexpr std::array kHealths = {pick::Health::kReady, pick::Health::kSuspect,
                                 pick::Health::kEjected, pick::Health::kDown};
constexpr std::array kBreakerStates = {BreakerState::kClosed, BreakerState::kHalfOpen,
                                       BreakerState::kOpen};

void register_ejection_metrics(obs::Registry& registry, const BackendControl& backends) {
  registry.callback(
      MetricType::kGauge, "fairlead_backend_breaker_state",
      "1 for the state that a replica's circuit breaker is in.", {"backend", "state"},
      [&backends](Samples& samples) {
        for (const BackendStatus& status : backends.status()) {
          for (const BreakerState state : kBreakerStates) {
            samples.add({status.name, to_string(state)}, status.breaker == state ? 1 : 0);
          }
        }
      });
  registry.callback(
      MetricType::kCounter, "fairlead_backend_ejections_total",
      "How often a replica's circuit breaker opened: after failures in a row, for its share of "
      "failures, as an outlier among its peers, or because a trial failed.",
      {"backend", "reason"}, [&backends](Samples& samples) {
        for (const BackendStatus& status : backends.status()) {
          for (size_t i = 0; i < kEjectReasons; ++i) {
            samples.add({status.name, to_string(static_cast<EjectReason>(i))},
                        static_cast<double>(status.ejections[i]));
          }
        }
      });
  registry.callback(MetricType::kGauge, "fairlead_backend_spared",
                    "1 where a replica's circuit breaker is open and it is used all the same, "
                    "because those of too many are.",
                    {"backend"}, [&backends](Samples& samples) {
                      for (const BackendStatus& status : backends.status()) {
                        samples.add({status.name}, status.spared ? 1 : 0);
                      }
                    });
  registry.callback(MetricType::kGauge, "fairlead_backend_share",
                    "Of the usual work of a replica what it gets now: less than 1 in its slow "
                    "start, 0 on trial.",
                    {"backend"}, [&backends](Samples& samples) {
                      for (const BackendStatus& status : backends.status()) {
                        samples.add({status.name}, status.share);
                      }
                    });
}

}  // namespace

void register_backend_metrics(obs::Registry& registry, const BackendControl& backends,
                              const pick::Columns& columns) {
  registry.callback(
      MetricType::kGauge, "fairlead_backend_state", "1 for the state that a replica is in.",
      {"backend", "state"}, [&backends](Samples& samples) {
        for (const BackendStatus& status : backends.status()) {
          for (const pick::Health health : kHealths) {
            samples.add({status.name, name_of(health)}, status.health == health ? 1 : 0);
          }
        }
      });
  registry.callback(MetricType::kGauge, "fairlead_backend_requests_in_flight",
                    "Requests at a replica.", {"backend"}, [&](Samples& samples) {
                      for (const BackendStatus& status : backends.status()) {
                        samples.add({status.name}, columns.in_flight(status.slot));
                      }
                    });
  registry.callback(MetricType::kGauge, "fairlead_backend_metrics_age_seconds",
                    "Since a replica's metrics last changed; absent where it has none.",
                    {"backend"}, [&backends](Samples& samples) {
                      for (const BackendStatus& status : backends.status()) {
                        if (!status.metrics_age) continue;
                        samples.add({status.name}, base::to_seconds(*status.metrics_age));
                      }
                    });
  register_ejection_metrics(registry, backends);
}

}  // namespace fairlead::router
