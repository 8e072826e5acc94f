#include "router/request_trace.h"

namespace fairlead::router {
namespace {

uint64_t new_id(base::Random& random) {
  uint64_t id = 0;
  while (id == 0) id = random.next();
  return id;
}

}  // namespace

RequestTrace::RequestTrace(const Options& options, const net::RequestHead& head,
                           base::Random& random)
    : options_(options) {
  if (options_.spans == nullptr) return;
  const std::optional<obs::TraceContext> caller = obs::parse_traceparent(head.value("traceparent"));
  if (caller) {
    own_ = *caller;
    parent_ = caller->span_id;
    passed_ = TraceFields::kDropParent;
  } else {
    own_.trace_high = new_id(random);
    own_.trace_low = random.next();
    own_.sampled = random.uniform() < options_.sample_ratio;
    passed_ = TraceFields::kDropAll;
  }
  own_.span_id = new_id(random);
  attempt_ = own_.span_id;
  obs::append_trace_id(trace_id_, own_);
}

void RequestTrace::append_fields(std::string& head) const {
  if (options_.spans == nullptr) return;
  obs::TraceContext context = own_;
  context.span_id = attempt_;
  head.append("traceparent: ");
  obs::append_traceparent(head, context);
  head.append("\r\n");
}

void RequestTrace::picked(const Pick& pick, base::Random& random) const {
  if (!recorded()) return;
  obs::TraceContext context = own_;
  context.span_id = new_id(random);
  const obs::Field attributes[] = {{"fairlead.replica", pick.replica},
                                   {"fairlead.pick.reason", pick.reason}};
  append({.context = context,
          .parent = own_.span_id,
          .name = "pick",
          .start = wall(pick.start),
          .end = wall(pick.end),
          .attributes = attributes});
}

void RequestTrace::begin_attempt(base::TimePoint now, base::Random& random) {
  if (!recorded()) return;
  attempt_ = new_id(random);
  attempt_began_ = now;
}

void RequestTrace::end_attempt(const Attempt& attempt) const {
  if (!recorded()) return;
  obs::TraceContext context = own_;
  context.span_id = attempt_;
  const obs::Field attributes[] = {{"fairlead.replica", attempt.replica},
                                   {"http.response.status_code", attempt.status}};
  const size_t known = attempt.status == 0 ? 1 : 2;
  append({.context = context,
          .parent = own_.span_id,
          .name = "attempt",
          .kind = obs::SpanKind::kClient,
          .start = wall(attempt_began_),
          .end = wall(attempt.end),
          .attributes = std::span(attributes).first(known),
          .error = attempt.error});
}

void RequestTrace::ended(const Request& request) const {
  if (!recorded()) return;
  const obs::Field attributes[] = {{"http.request.method", request.method},
                                   {"url.path", request.path},
                                   {"http.response.status_code", request.status},
                                   {"gen_ai.request.model", request.model},
                                   {"gen_ai.usage.input_tokens", request.input_tokens},
                                   {"gen_ai.usage.cached_tokens", request.cached_tokens},
                                   {"gen_ai.usage.output_tokens", request.output_tokens}};
  append({.context = own_,
          .parent = parent_,
          .name = "request",
          .kind = obs::SpanKind::kServer,
          .start = options_.began_wall,
          .end = wall(request.end),
          .attributes = attributes,
          .error = request.error});
}

}  // namespace fairlead::router
