// RequestTrace: one request's part of a distributed trace (W3C trace context): the spans `request`,
// `pick` and `attempt`, and what engines are told.
//
// Without a SpanBuffer the router takes no part: the client's fields pass as they are. With one, a
// request continues the client's trace, or begins one; an engine is told the span of its attempt.
// Spans are recorded where the client's sampled flag says so, or, for a trace begun here, for a
// share of the requests. A request that is not recorded costs its ids and no more.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "net/http_head.h"
#include "obs/trace.h"
#include "router/passed_fields.h"

namespace fairlead::router {

class RequestTrace {
 public:
  struct Options {
    obs::SpanBuffer* spans = nullptr;  // nullptr: tracing is off
    size_t shard = 0;
    double sample_ratio = 1;
    // When the request came, on both clocks.
    base::TimePoint began{};
    base::WallTime began_wall{};
  };
  RequestTrace(const Options& options, const net::RequestHead& head, base::Random& random);

  bool recorded() const { return own_.sampled; }
  // "" while tracing is off.
  const std::string& trace_id() const { return trace_id_; }

  // Which of the client's fields an engine gets, and what it gets instead.
  TraceFields passed() const { return passed_; }
  void append_fields(std::string& head) const;

  // Spans, each at its end; only where recorded().
  struct Pick {
    base::TimePoint start, end;
    std::string_view replica, reason;
  };
  void picked(const Pick& pick, base::Random& random) const;
  void begin_attempt(base::TimePoint now, base::Random& random);
  struct Attempt {
    base::TimePoint end;
    std::string_view replica;
    int status = 0;
    std::string_view error;
  };
  void end_attempt(const Attempt& attempt) const;
  struct Request {
    base::TimePoint end;
    std::string_view method, path, model;
    int status = 0;
    std::string_view error;
    uint64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0;
  };
  void ended(const Request& request) const;

 private:
  base::WallTime wall(base::TimePoint at) const {
    return options_.began_wall + (at - options_.began);
  }
  void append(const obs::Span& span) const { options_.spans->append(options_.shard, span); }

  Options options_;
  obs::TraceContext own_;  // of the request's span; not sampled while tracing is off
  uint64_t parent_ = 0;
  uint64_t attempt_ = 0;
  base::TimePoint attempt_began_{};
  TraceFields passed_ = TraceFields::kPass;
  std::string trace_id_;
};

}  // namespace fairlead::router
