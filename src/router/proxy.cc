#include "router/proxy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/append.h"
#include "base/hash.h"
#include "router/answer_relay.h"
#include "router/explain.h"
#include "router/passed_fields.h"

namespace fairlead::router {
namespace {

using base::ErrorCode;

constexpr auto kModelWait = std::chrono::seconds(5);
constexpr size_t kRequestIdBytesMax = 128;
constexpr size_t kPiecesMax = 4;  // of a usual request: its head, and its body around one edit

std::string_view kind_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kConnect:
      return "connect";
    case FailureKind::kReset:
      return "reset";
    case FailureKind::kProtocol:
      return "protocol";
    case FailureKind::kStatus:
      return "status";
    case FailureKind::kBrokenOff:
      return "broken_off";
  }
  return "connect";
}

bool usable_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kRequestIdBytesMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

Proxy::Proxy(Shard& shard, net::Exchange& exchange, const Endpoint& endpoint)
    : shard_(shard),
      exchange_(exchange),
      endpoint_(endpoint),
      request_(endpoint, exchange.body()),
      began_(shard.loop().now()),
      began_wall_(shard.loop().clock().wall()),
      end_(base::after(began_, shard.shared().config.request_timeout)),
      trace_({.spans = shard.shared().spans,
              .shard = shard.index(),
              .sample_ratio = shard.shared().config.trace_sample_ratio,
              .began = began_,
              .began_wall = began_wall_},
             exchange.request(), shard.random()) {
  const net::RequestHead& head = exchange_.request();
  const std::string_view id = head.value("x-request-id");
  client_ = client_chain(shard_.shared().proxies, head).client();
  request_id_ = usable_request_id(id) ? rt::PooledString(id) : shard_.new_request_id();
  explains_ = shard_.shared().config.allow_explain && head.value("x-fairlead-explain") == "1";
}

Proxy::~Proxy() { CHECK(!reservation_ || !reservation_->open, "every reservation is ended"); }

// Tasks are not inlined: an inlined task's frame is part of its awaiter's for as long as that
// lives, and most of these end long before their request does.
rt::Task<void> Proxy::run() {
  const Counted in_flight(shard_.metrics().in_flight);
  const Counted active(shard_.metrics().active_of_kthena);
  const Progress progress = co_await understand();
  if (progress == Progress::kGo) {
    const Counted downstream(model_->active_downstream);
    shard_.shared().retry_budget.note_request(shard_.index(), loop().now());
    co_await attempt_until_answered();
  }
  const rt::Scope& scope = co_await rt::current_scope();
  if (scope.cancelled()) {
    outcome_ = to_string(scope.reason());
    if (!exchange_.started()) status_ = 499;
  }
  account();
}

// ---- before the first attempt -------------------------------------------------------------------

[[gnu::noinline]] rt::Task<Proxy::Progress> Proxy::understand() {
  std::optional<protocol::ApiError> refused =
      request_.read(exchange_.request().value("content-type"));
  if (refused) {
    error_type_ = "request_parsing";
    co_await answer_error(std::move(*refused), std::nullopt);
    co_return Progress::kStop;
  }
  query_.model = known_model();
  if (query_.model == nullptr) query_.model = co_await find_model();
  const rt::Scope& scope = co_await rt::current_scope();
  if (scope.cancelled()) co_return Progress::kStop;
  if (query_.model == nullptr) {
    error_type_ = "route_not_found";
    co_await answer_error(protocol::model_not_found(request_.model()), std::nullopt);
    co_return Progress::kStop;
  }
  model_ = &shard_.metrics().model(request_.model());
  prepare_query();
  cut_usage_ = shard_.shared().config.ask_usage && request_.ask_usage();
  co_return Progress::kGo;
}

const pick::Model* Proxy::known_model() {
  snapshot_ = shard_.snapshot();
  return snapshot_->table.find(request_.model());
}

// Waits for back ends that have not said yet what they serve.
[[gnu::noinline]] rt::Task<const pick::Model*> Proxy::find_model() {
  const base::TimePoint deadline = base::after(loop().now(), kModelWait);
  for (;;) {
    const pick::Model* model = known_model();
    if (model != nullptr || snapshot_->settled) co_return model;
    const rt::WaitStatus status = co_await shard_.snapshot_changed().wait(deadline);
    if (status != rt::WaitStatus::kReady) co_return nullptr;
  }
}

// What a pick goes by, but for the prompt's blocks.
void Proxy::prepare_query() {
  const RouterConfig& config = shard_.shared().config;
  query_.prompt_tokens = request_.tokens();
  query_.in_flight_max = config.backend_requests_max;
  if (!shard_.policy().reads_sessions()) return;
  const std::string_view session = exchange_.request().value(config.session_header);
  if (!session.empty()) query_.session = base::hash64(session);
}

// The blocks lie in the shard's hasher, so they are hashed again for each pick and each undo.
void Proxy::hash_prompt() {
  query_.blocks = {};
  if (shard_.policy().reads_prefixes()) query_.blocks = request_.blocks(shard_.hasher());
}

// ---- attempts -----------------------------------------------------------------------------------

[[gnu::noinline]] rt::Task<void> Proxy::attempt_until_answered() {
  std::optional<Failure> last;
  for (;;) {
    Picked picked = pick_replica();
    if (picked == Picked::kNoRoom) picked = co_await wait_for_room();
    if (picked == Picked::kEnded) co_return;
    if (picked == Picked::kNobody) {
      if (last) {
        co_await answer_failure(*last);
      } else {
        error_type_ = "pod_discovery";
        co_await answer_error(
            {.status = 503,
             .message = fmt::format(
                 "No replica that serves '{}' is available (request to all pods failed).",
                 request_.model()),
             .type = "server_error",
             .code = "no_replica"},
            std::chrono::seconds(1));
      }
      co_return;
    }
    AttemptResult result = co_await attempt(Connect::kPooled);
    end_attempt_span(result);
    if (result && result->stale_connection) {
      // The engine closed an idle connection as it was taken: the same replica, on a new one, since
      // it may have closed all that idle.
      result = co_await attempt(Connect::kNew);
      end_attempt_span(result);
    }
    if (!result) {
      shard_.chooser().finish(*reservation_);
      shard_.shared().admission.released(reservation_->slot(), loop());
      co_return;
    }
    hash_prompt();
    shard_.chooser().undo(*reservation_, query_.blocks);
    shard_.shared().admission.released(reservation_->slot(), loop());
    const rt::Scope& scope = co_await rt::current_scope();
    if (scope.cancelled()) co_return;
    // Time that ran out, or a silence that the control loop has seen itself, says nothing more.
    if (result->cancelled == rt::CancelReason::kNone) {
      shard_.shared().failures.report(backend_->slot, result->kind);
    }
    shard_.metrics().count_failure(kind_name(result->kind));
    last = std::move(result);
    tried_.push_back(backend_->slot);
    query_.tried = tried_;
    const bool out_of_time = last->cancelled == rt::CancelReason::kDeadline;
    // A bad answer has taken its retry already, before it was dropped.
    const bool again =
        !out_of_time && (last->kind == FailureKind::kStatus || take_retry(last->kind));
    if (!again) {
      co_await answer_failure(*last);
      co_return;
    }
  }
}

Proxy::Picked Proxy::pick_replica() {
  // Replicas come and go while a request is tried again.
  query_.model = known_model();
  if (query_.model == nullptr) return Picked::kNobody;
  // The loop's time stands still within a turn.
  const base::Clock& clock = loop().clock();
  const base::TimePoint began = trace_.recorded() ? clock.now() : base::TimePoint{};
  hash_prompt();
  query_.block_tokens = static_cast<uint32_t>(shard_.policy().hashing().block_bytes /
                                              InferenceRequest::kBytesPerToken);
  query_.now = loop().now();
  reservation_ = shard_.chooser().pick(query_, shard_.random(), shard_.pick_timer().next(*model_));
  if (!reservation_) {
    return shard_.chooser().wants_room() ? Picked::kNoRoom : Picked::kNobody;
  }
  ++attempts_;
  if (attempts_ == 1) picked_ = loop().now();
  backend_ = shard_.backend(reservation_->slot());
  if (trace_.recorded()) {
    trace_.picked({.start = began,
                   .end = clock.now(),
                   .replica = backend_->name,
                   .reason = to_string(reservation_->reason)},
                  shard_.random());
  }
  if (!query_.blocks.empty()) {
    model_->prefix_match.observe(static_cast<double>(reservation_->held_blocks) /
                                 static_cast<double>(query_.blocks.size()));
  }
  shard_.metrics().count_pick(to_string(reservation_->reason));
  if (explains_) {
    explanation_ = explain_json(shard_.chooser().explain(query_, *reservation_, shard_.random()),
                                *reservation_, *snapshot_, attempts_);
  }
  return Picked::kReplica;
}

bool Proxy::another_candidate() const {
  const pick::Columns& columns = shard_.shared().columns;
  return std::any_of(query_.model->slots.begin(), query_.model->slots.end(), [&](pick::Slot slot) {
    return slot != backend_->slot && columns.health(slot) != pick::Health::kDown &&
           std::find(tried_.begin(), tried_.end(), slot) == tried_.end();
  });
}

bool Proxy::take_retry(FailureKind kind) {
  if (attempts_ > RetryBudget::kRetriesMax || !another_candidate()) return false;
  if (!shard_.shared().retry_budget.take_retry(shard_.index(), loop().now())) {
    shard_.metrics().retries_refused.add();
    return false;
  }
  shard_.metrics().count_retry(kind_name(kind));
  return true;
}

Proxy::Failure Proxy::failure(FailureKind kind, const rt::Scope& scope, base::Error error) const {
  return {.kind = kind, .cancelled = scope.reason(), .error = std::move(error)};
}

[[gnu::noinline]] rt::Task<Proxy::AttemptResult> Proxy::attempt(Connect connect) {
  const RouterConfig& config = shard_.shared().config;
  const Counted upstream(model_->active_upstream);
  upstream_status_ = 0;
  trace_.begin_attempt(loop().now(), shard_.random());
  rt::Scope scope(co_await rt::current_scope());
  scope.set_deadline(end_);
  std::unique_ptr<net::ClientConnection> connection;
  if (connect == Connect::kPooled) connection = shard_.take_connection(backend_);
  const bool reused = connection != nullptr;
  if (!reused) {
    const base::TimePoint deadline = base::after(loop().now(), config.connect_timeout);
    base::Result<std::unique_ptr<net::ByteStream>> stream =
        co_await connect_to(shard_.network(), *backend_, deadline).in(scope);
    if (!stream) co_return failure(FailureKind::kConnect, scope, stream.error());
    shard_.metrics().upstream_connects.add();
    connection = std::make_unique<net::ClientConnection>(std::move(*stream));
  }
  AttemptResult result;
  {
    Waiting waiting(scope);
    shard_.waiting(backend_->slot).push_back(waiting);
    result = co_await send_and_wait(scope, *connection, reused).in(scope);
  }
  if (result) co_return result;
  first_byte_ = loop().now();
  // Nothing is picked any more, and a long stream must not hold on to back ends that went since.
  query_.model = nullptr;
  snapshot_.reset();
  shard_.give_back(std::move(head_out_));
  pieces_ = Pieces();
  status_ = connection->response().status;
  if (request_.streams() && status_ == 200)
    shard_.chooser().first_token(*reservation_, first_byte_);
  shard_.chooser().first_byte(*reservation_);
  AnswerRelay relay(shard_, exchange_,
                    {.request_id = request_id_,
                     .explanation = explanation_,
                     .cut_usage = cut_usage_,
                     .end = end_,
                     .slot = backend_->slot,
                     .token_gap = model_->token_gap});
  const AnswerRelay::End end = co_await relay.run(scope, *connection).in(scope);
  usage_ = relay.usage();
  if (usage_ && status_ == 200) learn_from(*usage_, end);
  bytes_out_ = relay.bytes_out();
  if (end == AnswerRelay::End::kClientGone) outcome_ = "client_gone";
  if (end == AnswerRelay::End::kBrokenOff) {
    outcome_ = scope.cancelled() ? to_string(scope.reason()) : "broken_off";
    // A drain and time that ran out are no failures of the replica.
    if (!scope.cancelled()) {
      shard_.shared().failures.report(backend_->slot, FailureKind::kBrokenOff);
      shard_.metrics().count_failure(kind_name(FailureKind::kBrokenOff));
    }
    shard_.metrics().count_cancel(outcome_);
  }
  shard_.give_back(*backend_, std::move(connection));
  co_return std::nullopt;
}

void Proxy::learn_from(const codec::Usage& usage, AnswerRelay::End end) {
  const auto count = [](uint64_t tokens) {
    return static_cast<uint32_t>(std::min<uint64_t>(tokens, UINT32_MAX));
  };
  if (!request_.streams() && end == AnswerRelay::End::kComplete) {
    // The choices were made side by side.
    shard_.chooser().whole_answer(*reservation_,
                                  count(usage.completion_tokens / request_.choices()), first_byte_);
  }
  pick::ReportedPrompt prompt{.tokens = count(usage.prompt_tokens)};
  if (usage.cached_tokens) prompt.cached = count(*usage.cached_tokens);
  shard_.chooser().reported(*reservation_, prompt);
}

[[gnu::noinline]] rt::Task<Proxy::AttemptResult> Proxy::send_and_wait(
    rt::Scope& scope, net::ClientConnection& connection, bool reused) {
  scope.set_deadline(
      std::min(end_, base::after(loop().now(), shard_.shared().config.first_byte_timeout)));
  // All requests that came together are read and placed before the first of them is sent: the code
  // of either step stays in the processor's caches, and an engine is woken once.
  co_await rt::end_of_turn(loop());
  collect_request();
  base::Result<> done = co_await connection.send(pieces_, base::kNever);
  if (done || done.error().code() == ErrorCode::kConnectionReset) {
    // An engine that refuses early may have answered before it stopped reading.
    const base::Result<> answered =
        co_await connection.read_head(net::AnswerTo::kOther, base::kNever);
    if (answered) upstream_status_ = connection.response().status;
    if (done || answered) done = answered;
  }
  if (done) done = co_await wait_for_first_byte(connection);
  if (!done) {
    const ErrorCode code = done.error().code();
    const bool broken = code == ErrorCode::kProtocol;
    Failure failed =
        failure(broken ? FailureKind::kProtocol : FailureKind::kReset, scope, done.error());
    failed.stale_connection = reused &&
                              (code == ErrorCode::kClosed || code == ErrorCode::kConnectionReset) &&
                              connection.input().empty() && !scope.cancelled();
    co_return failed;
  }
  shard_.own_traffic().heard(backend_->slot, loop().now());
  if (is_bad_answer(connection.response())) {
    if (take_retry(FailureKind::kStatus)) {
      co_return failure(FailureKind::kStatus, scope,
                        base::Error(ErrorCode::kUnavailable, "the engine failed"));
    }
    shard_.shared().failures.report(backend_->slot, FailureKind::kStatus);
    shard_.metrics().count_failure(kind_name(FailureKind::kStatus));
  } else {
    shard_.own_traffic().answered(backend_->slot);
  }
  co_return std::nullopt;
}

// Until there is something to relay: of events a whole one, since an error as first event is a
// failure.
[[gnu::noinline]] rt::Task<base::Result<>> Proxy::wait_for_first_byte(
    net::ClientConnection& connection) {
  const net::ResponseHead& head = connection.response();
  const bool events = head.value("content-type").starts_with("text/event-stream");
  first_event_ = FirstEvent::kGood;
  if (head.body == net::BodyKind::kNone ||
      (head.body == net::BodyKind::kLength && head.content_length == 0)) {
    co_return base::Result<>();
  }
  constexpr size_t kReadBytes = 4096;
  for (;;) {
    // Decoded afresh each time: a first event comes in one piece, or is short.
    net::BodyDecoder decoder(head.body, head.content_length);
    rt::PooledString event;
    std::string_view rest = connection.input().data();
    net::BodyDecoder::Step step;
    bool any = false;
    do {
      step = decoder.step(rest);
      any = any || !step.data.empty();
      if (events) event += step.data;
      rest.remove_prefix(step.consumed);
    } while (step.status == net::BodyDecoder::Status::kMore);
    if (step.status == net::BodyDecoder::Status::kError) {
      co_return base::Error(ErrorCode::kProtocol, "invalid chunked body");
    }
    if (events) first_event_ = classify_first_event(event);
    const bool enough = events ? first_event_ != FirstEvent::kIncomplete : any;
    if (enough || step.status == net::BodyDecoder::Status::kEnd) co_return base::Result<>();
    const base::Result<size_t> n =
        co_await net::read_some(connection.stream(), connection.input().room(kReadBytes));
    if (!n) co_return n.error();
    if (*n == 0) {
      if (decoder.may_end_by_close()) co_return base::Result<>();
      co_return net::reset_error("the engine closed the connection before its answer");
    }
    connection.input().commit(*n);
  }
}

bool Proxy::is_bad_answer(const net::ResponseHead& head) const {
  if (head.status >= 500) return head.status != 501;
  return first_event_ == FirstEvent::kError;
}

void Proxy::build_head() {
  const SharedState& shared = shard_.shared();
  const net::RequestHead& head = exchange_.request();
  std::string_view target = head.target;
  target.remove_prefix(static_cast<size_t>(head.path.data() - target.data()));
  if (head_out_.empty()) head_out_ = shard_.take_text();
  head_out_.clear();
  head_out_.append(head.method)
      .append(" ")
      .append(target)
      .append(" HTTP/1.1\r\nHost: ")
      .append(backend_->host)
      .append("\r\n");
  const bool pass = shared.config.forward_authorization && shared.backend_authorization.empty();
  append_passed_fields(head_out_, head, pass ? Authorization::kPass : Authorization::kDrop,
                       trace_.passed());
  trace_.append_fields(head_out_);
  if (!shared.backend_authorization.empty()) {
    head_out_.append("Authorization: ").append(shared.backend_authorization).append("\r\n");
  }
  head_out_.append("X-Forwarded-For: ");
  append_chain(head_out_, client_chain(shared.proxies, head));
  head_out_.append("\r\nX-Request-Id: ").append(request_id_).append("\r\n");
  head_out_ += "Content-Length: ";
  base::append_decimal(head_out_, request_.length());
  head_out_ += "\r\n\r\n";
}

void Proxy::collect_request() {
  build_head();
  pieces_.reserve(kPiecesMax);
  pieces_.assign(1, net::iovec_of(head_out_));
  request_.append_to(pieces_);
}

// ---- where there is no answer to relay
// -----------------------------------------------------------

[[gnu::noinline]] rt::Task<void> Proxy::answer_error(
    protocol::ApiError error, std::optional<std::chrono::seconds> retry_after) {
  status_ = error.status;
  outcome_ = "refused";
  if (error_type_.empty()) error_type_ = "request_failed";
  error_message_ = error.message;
  std::string body;
  protocol::append_error(body, error);
  std::string fields = fmt::format("x-request-id: {}\r\n", request_id_);
  if (retry_after)
    fmt::format_to(std::back_inserter(fields), "Retry-After: {}\r\n", retry_after->count());
  // Other replicas have been tried already: clients that try again by themselves, as OpenAI's do,
  // would multiply that.
  if (status_ >= 500)
    fields += retry_after ? "x-should-retry: true\r\n" : "x-should-retry: false\r\n";
  bytes_out_ += body.size();
  static_cast<void>(co_await exchange_.respond({error.status, "application/json", fields}, body));
}

[[gnu::noinline]] rt::Task<void> Proxy::answer_failure(const Failure& failure) {
  const bool late = failure.cancelled == rt::CancelReason::kDeadline ||
                    failure.error.code() == ErrorCode::kDeadlineExceeded;
  const bool unreachable =
      failure.kind == FailureKind::kConnect || failure.cancelled == rt::CancelReason::kReplicaDown;
  protocol::ApiError error{
      .status = unreachable ? 503
                : late      ? 504
                            : 502,
      .message = fmt::format("No replica of '{}' answered (request to all pods failed): the last "
                             "of {} tried failed ({}).",
                             request_.model(), attempts_, failure.error.describe()),
      .type = "server_error",
      .code = unreachable ? "no_replica"
              : late      ? "timeout"
                          : "replica_failed"};
  std::optional<std::chrono::seconds> retry_after;
  if (unreachable) retry_after = std::chrono::seconds(1);
  error_type_ = "proxy";
  co_await answer_error(std::move(error), retry_after);
  outcome_ = late ? "deadline" : "replica_failed";
}

void Proxy::end_attempt_span(const AttemptResult& result) {
  if (!trace_.recorded()) return;
  std::string error;
  if (result) {
    error = result->error.describe();
  } else if (outcome_ != "ok") {
    error = outcome_;
  } else if (upstream_status_ >= 400) {
    error = fmt::format("the engine answered {}", upstream_status_);
  }
  trace_.end_attempt(
      {.end = loop().now(), .replica = backend_->name, .status = upstream_status_, .error = error});
}

}  // namespace fairlead::router
