// What vLLM's HTTP layer and its process say in /metrics: requests by handler, and process_*.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "obs/metrics.h"

namespace fairlead::engine {

class HttpMetrics {
 public:
  HttpMetrics(obs::Registry& registry, base::WallTime started);

  struct Request {
    std::string_view handler;  // the route's path; "none" where there was no route
    std::string_view method;
    int status = 0;
    size_t request_bytes = 0;
    size_t response_bytes = 0;  // 0 for a stream
    base::Nanos duration{0};
  };
  void observe(const Request& request);

  // The two summaries, which the registry has no type for.
  void expose(std::string& out) const;

 private:
  struct Sizes {
    std::string handler;
    double count = 0;
    double request_bytes = 0;
    double response_bytes = 0;
  };

  const double started_;
  obs::Family& requests_;
  obs::Family& duration_;
  obs::Histogram duration_highr_;
  std::vector<Sizes> sizes_;  // one a handler: as many as there are routes
};

// process_* families, read from /proc when asked.
void add_process_metrics(obs::Registry& registry, base::WallTime started);

}  // namespace fairlead::engine
