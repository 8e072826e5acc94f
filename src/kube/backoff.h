// How long to wait before the next try: longer after each failure in a row, up to a bound, and
// never the same for all clients of a server that came back. Pure: time and randomness are
// arguments.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"

namespace fairlead::kube {

struct BackoffOptions {
  base::Nanos first = std::chrono::milliseconds(200);
  base::Nanos max = std::chrono::seconds(30);
};

class Backoff {
 public:
  explicit Backoff(BackoffOptions options) : options_(options), next_(options.first) {}

  // Between a half and the whole of what is due; each call doubles what is due next.
  base::Nanos next(base::Random& random) {
    const base::Nanos whole = next_;
    next_ = std::min(options_.max, whole * 2);
    return whole / 2 + base::Nanos(static_cast<int64_t>(random.uniform() *
                                                        static_cast<double>(whole.count()) / 2));
  }
  void reset() { next_ = options_.first; }

 private:
  BackoffOptions options_;
  base::Nanos next_;
};

}  // namespace fairlead::kube
