#include "router/proxy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/append.h"
#include "codec/json.h"
#include "codec/prompt_pieces.h"

namespace fairlead::router {
namespace {

using base::ErrorCode;

constexpr auto kModelWait = std::chrono::seconds(5);
constexpr size_t kRequestIdBytesMax = 128;
constexpr size_t kExplainBytesMax = 2048;
// About four bytes of JSON text a token: good enough for load, engines report the truth.
constexpr size_t kBytesPerToken = 4;

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
  }
  return "connect";
}

bool usable_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kRequestIdBytesMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

iovec piece(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

// The fields of a client's head that are not for the engine: the router makes its own, or they are
// about this hop. Answers are not to be compressed, since their usage is read.
bool is_replaced(std::string_view name) {
  switch (name.size()) {
    case 4:
      return net::equals_ignoring_case(name, "host");
    case 6:
      return net::equals_ignoring_case(name, "expect");
    case 12:
      return net::equals_ignoring_case(name, "x-request-id");
    case 14:
      return net::equals_ignoring_case(name, "content-length");
    case 15:
      return net::equals_ignoring_case(name, "accept-encoding");
    case 18:
      return net::equals_ignoring_case(name, "x-fairlead-explain");
    default:
      return false;
  }
}

// Counts the request while it is handled.
class InFlight {
 public:
  explicit InFlight(const obs::Gauge& gauge) : gauge_(gauge) { gauge_.add(1); }
  ~InFlight() { gauge_.add(-1); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  const obs::Gauge& gauge_;
};

}  // namespace

Proxy::Proxy(Shard& shard, net::Exchange& exchange, const Endpoint& endpoint)
    : shard_(shard),
      exchange_(exchange),
      endpoint_(endpoint),
      began_(shard.loop().now()),
      began_wall_(shard.loop().clock().wall()),
      bytes_in_(exchange.body().size()) {
  const net::RequestHead& head = exchange_.request();
  const std::string_view id = head.value("x-request-id");
  request_id_ = usable_request_id(id) ? std::string(id) : shard_.new_request_id();
  explains_ = shard_.shared().config.allow_explain && head.value("x-fairlead-explain") == "1";
}

Proxy::~Proxy() { CHECK(!reservation_ || !reservation_->open, "every reservation is ended"); }

rt::Task<void> Proxy::run() {
  const InFlight counted(shard_.metrics().in_flight);
  const Progress progress = co_await understand();
  if (progress == Progress::kGo) {
    shard_.retry_budget().note_request(loop().now());
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

rt::Task<Proxy::Progress> Proxy::understand() {
  std::optional<protocol::ApiError> refused = read_body();
  if (refused) {
    co_await answer_error(std::move(*refused), std::nullopt);
    co_return Progress::kStop;
  }
  query_.model = co_await find_model();
  const rt::Scope& scope = co_await rt::current_scope();
  if (scope.cancelled()) co_return Progress::kStop;
  if (query_.model == nullptr) {
    co_await answer_error(protocol::model_not_found(model_name_), std::nullopt);
    model_name_.clear();  // not a label of metrics
    co_return Progress::kStop;
  }
  build_body();
  co_return Progress::kGo;
}

std::optional<protocol::ApiError> Proxy::read_body() {
  const std::string_view body = exchange_.body();
  if (endpoint_.kind == EndpointKind::kMultipart) {
    model_name_ = form_field(exchange_.request().value("content-type"), body, "model");
  } else {
    base::Result<codec::BodyScan> scan = codec::scan_body(body);
    if (!scan) return protocol::http_error(scan.error().wrap("The request body is not valid JSON"));
    scan_ = std::move(*scan);
    model_name_ = scan_.model;
  }
  if (model_name_.empty()) {
    protocol::ApiError error = protocol::http_error(base::invalid_argument(
        "The field 'model' must name a model, as a string that is not empty."));
    error.param = "model";
    return error;
  }
  return std::nullopt;
}

// Waits for back ends that have not said yet what they serve.
rt::Task<const pick::Model*> Proxy::find_model() {
  const base::TimePoint deadline = base::after(loop().now(), kModelWait);
  for (;;) {
    snapshot_ = shard_.snapshot();
    const pick::Model* model = snapshot_->table.find(model_name_);
    if (model != nullptr || snapshot_->settled) co_return model;
    const rt::WaitStatus status = co_await shard_.snapshot_changed().wait(deadline);
    if (status != rt::WaitStatus::kReady) co_return nullptr;
  }
}

// The blocks lie in the shard's hasher, so they are hashed again for each pick and each undo.
void Proxy::hash_prompt() {
  query_.blocks = {};
  if (!shard_.shared().policy.reads_prefixes() || endpoint_.kind != EndpointKind::kJson) return;
  cache_index::PrefixHasher& hasher = shard_.hasher();
  const std::string_view body = exchange_.body();
  hasher.reset(model_name_, scan_.cache_salt.in(body));
  codec::for_each_prompt_piece(body, scan_, [&hasher](const codec::PromptPiece& part) {
    hasher.add(part.raw);
    return !hasher.full();
  });
  query_.blocks = hasher.blocks();
}

void Proxy::build_body() {
  body_ = exchange_.body();
  query_.prompt_tokens = static_cast<uint32_t>(body_.size() / kBytesPerToken);
  if (!shard_.shared().config.ask_usage || !scan_.streams || scan_.include_usage) return;
  if (!endpoint_.has_usage_option) return;
  codec::BodyEdits edits(scan_);
  edits.request_usage(body_);
  splices_ = edits.splices();
  cut_usage_ = !splices_.empty();
}

// ---- attempts -----------------------------------------------------------------------------------

rt::Task<void> Proxy::attempt_until_answered() {
  std::optional<Failure> last;
  for (;;) {
    if (!pick_replica()) {
      if (last) {
        co_await answer_failure(*last);
      } else {
        co_await answer_error(
            {.status = 503,
             .message = fmt::format("No replica that serves '{}' is available.", model_name_),
             .type = "server_error",
             .code = "no_replica"},
            std::chrono::seconds(1));
      }
      co_return;
    }
    AttemptResult result = co_await attempt();
    if (result && result->stale_connection) {
      // The engine closed an idle connection as it was taken: the same replica, on a new one.
      result = co_await attempt();
    }
    if (!result) {
      shard_.chooser().finish(*reservation_);
      co_return;
    }
    hash_prompt();
    shard_.chooser().undo(*reservation_, query_.blocks);
    const rt::Scope& scope = co_await rt::current_scope();
    if (scope.cancelled()) co_return;
    shard_.shared().failures.report(backend_->slot, result->kind);
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

bool Proxy::pick_replica() {
  // Replicas come and go while a request is tried again.
  snapshot_ = shard_.snapshot();
  query_.model = snapshot_->table.find(model_name_);
  if (query_.model == nullptr) return false;
  hash_prompt();
  reservation_ = shard_.chooser().pick(query_, shard_.random());
  if (!reservation_) return false;
  ++attempts_;
  backend_ = snapshot_->by_slot[reservation_->slot()];
  shard_.metrics().count_pick(to_string(reservation_->reason));
  if (explains_) {
    explanation_ = explain_json(shard_.chooser().explain(query_, *reservation_, shard_.random()));
  }
  return true;
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
  if (!shard_.retry_budget().take_retry(loop().now())) return false;
  shard_.metrics().count_retry(kind_name(kind));
  return true;
}

Proxy::Failure Proxy::failure(FailureKind kind, const rt::Scope& scope, base::Error error) const {
  return {.kind = kind, .cancelled = scope.reason(), .error = std::move(error)};
}

rt::Task<Proxy::AttemptResult> Proxy::attempt() {
  const RouterConfig& config = shard_.shared().config;
  rt::Scope scope(co_await rt::current_scope());
  std::unique_ptr<net::ClientConnection> connection = shard_.take_connection(backend_);
  const bool reused = connection != nullptr;
  if (!reused) {
    const base::TimePoint deadline = base::after(loop().now(), config.connect_timeout);
    base::Result<std::unique_ptr<net::ByteStream>> stream =
        co_await shard_.network().connect(backend_->address, deadline).in(scope);
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
  shard_.chooser().first_byte(*reservation_);
  first_byte_ = loop().now();
  co_await relay(scope, *connection).in(scope);
  shard_.give_back(*backend_, std::move(connection));
  co_return std::nullopt;
}

rt::Task<Proxy::AttemptResult> Proxy::send_and_wait(rt::Scope& scope,
                                                    net::ClientConnection& connection,
                                                    bool reused) {
  scope.set_deadline(base::after(loop().now(), shard_.shared().config.first_byte_timeout));
  collect_request();
  base::Result<> done = co_await connection.send(pieces_, base::kNever);
  if (done || done.error().code() == ErrorCode::kConnectionReset) {
    // An engine that refuses early may have answered before it stopped reading.
    const base::Result<> answered =
        co_await connection.read_head(net::AnswerTo::kOther, base::kNever);
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
rt::Task<base::Result<>> Proxy::wait_for_first_byte(net::ClientConnection& connection) {
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
    std::string event;
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
  const std::string_view connection = head.value("connection");
  std::string_view target = head.target;
  target.remove_prefix(static_cast<size_t>(head.path.data() - target.data()));
  head_out_.clear();
  head_out_.append(head.method)
      .append(" ")
      .append(target)
      .append(" HTTP/1.1\r\nHost: ")
      .append(backend_->host)
      .append("\r\n");
  for (const net::Field& field : head.fields) {
    if (is_replaced(field.name) || net::is_hop_by_hop(field.name, connection)) continue;
    const bool secret =
        field.name.size() == 13 && net::equals_ignoring_case(field.name, "authorization");
    if (secret && (!shared.config.forward_authorization || !shared.backend_authorization.empty()))
      continue;
    head_out_.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (!shared.backend_authorization.empty()) {
    head_out_.append("Authorization: ").append(shared.backend_authorization).append("\r\n");
  }
  head_out_.append("X-Request-Id: ").append(request_id_).append("\r\n");
  head_out_ += "Content-Length: ";
  uint64_t length = body_.size();
  for (const codec::Splice& splice : splices_) length += splice.insert.size() - splice.remove;
  base::append_decimal(head_out_, length);
  head_out_ += "\r\n\r\n";
}

// Head and body, with what is spliced in between the parts of the body that stay.
void Proxy::collect_request() {
  build_head();
  pieces_.assign(1, piece(head_out_));
  size_t from = 0;
  for (const codec::Splice& splice : splices_) {
    pieces_.push_back(piece(body_.substr(from, splice.offset - from)));
    pieces_.push_back(piece(splice.insert));
    from = splice.offset + splice.remove;
  }
  if (from < body_.size()) pieces_.push_back(piece(body_.substr(from)));
}

// ---- the answer ---------------------------------------------------------------------------------

AnswerFilter::Options Proxy::begin_answer(const net::ResponseHead& head) {
  const net::RequestHead& request = exchange_.request();
  AnswerFilter::Options options;
  options.body = head.body;
  options.length = head.content_length;
  options.events = head.value("content-type").starts_with("text/event-stream");
  options.cut_usage = options.events && cut_usage_;
  const bool counted = head.body == net::BodyKind::kLength && !options.cut_usage;
  const bool chunks = !counted && head.body != net::BodyKind::kNone && request.minor_version == 1;
  options.client = chunks ? AnswerFilter::Client::kChunked : AnswerFilter::Client::kPlain;
  if (!counted && !chunks && head.body != net::BodyKind::kNone) exchange_.close_after();

  status_ = head.status;
  head_out_.clear();
  head_out_ += "HTTP/1.1 ";
  base::append_decimal(head_out_, static_cast<uint64_t>(head.status));
  head_out_.append(" ").append(net::reason_phrase(head.status)).append("\r\n");
  const std::string_view connection = head.value("connection");
  for (const net::Field& field : head.fields) {
    if (is_replaced(field.name) || net::is_hop_by_hop(field.name, connection)) continue;
    head_out_.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  head_out_.append("x-request-id: ").append(request_id_).append("\r\n");
  if (!explanation_.empty())
    head_out_.append("x-fairlead-explain: ").append(explanation_).append("\r\n");
  if (counted) {
    head_out_ += "content-length: ";
    base::append_decimal(head_out_, head.content_length);
    head_out_ += "\r\n";
  }
  if (chunks) head_out_ += "transfer-encoding: chunked\r\n";
  if (!exchange_.keep_alive()) {
    head_out_ += "connection: close\r\n";
  } else if (request.minor_version == 0) {
    head_out_ += "connection: keep-alive\r\n";
  }
  head_out_ += "\r\n";
  return options;
}

rt::Task<void> Proxy::relay(rt::Scope& scope, net::ClientConnection& connection) {
  AnswerFilter filter(begin_answer(connection.response()));
  exchange_.mark_started();
  const base::Result<> done = co_await relay_body(scope, connection, filter);
  usage_ = filter.usage();
  if (done) {
    exchange_.mark_finished();
    connection.mark_body_ended();
    co_return;
  }
  exchange_.close_after();
  const bool client_gone = client_failed_ || scope.reason() == rt::CancelReason::kClientGone;
  outcome_ = client_gone         ? "client_gone"
             : scope.cancelled() ? to_string(scope.reason())
                                 : "broken_off";
  if (client_gone) co_return;
  shard_.shared().failures.report(backend_->slot, FailureKind::kReset);
  shard_.metrics().count_cancel(outcome_);
  co_await broke_off(filter, done.error()).in(scope);
}

rt::Task<base::Result<>> Proxy::relay_body(rt::Scope& scope, net::ClientConnection& connection,
                                           AnswerFilter& filter) {
  const RouterConfig& config = shard_.shared().config;
  const base::TimePoint end = base::after(began_, config.request_timeout);
  net::Buffer& input = connection.input();
  // What came with the head and while the first event was awaited.
  pieces_.assign(1, piece(head_out_));
  AnswerFilter::Status status =
      filter.ended() ? AnswerFilter::Status::kEnd : AnswerFilter::Status::kMore;
  if (status == AnswerFilter::Status::kMore && !input.empty()) {
    const AnswerFilter::Taken taken = filter.take(input.data(), pieces_);
    status = taken.status;
    const bool sent = co_await send_to_client();
    if (!sent) co_return base::Error(ErrorCode::kCancelled, "the client is gone");
    input.consume(taken.consumed);
    if (status == AnswerFilter::Status::kMore) {
      carry_.assign(input.data());
      input.clear();
    }
  } else {
    const bool sent = co_await send_to_client();
    if (!sent) co_return base::Error(ErrorCode::kCancelled, "the client is gone");
  }
  // A stream may last for an hour: it holds no buffers but what a slow client has not taken.
  if (status == AnswerFilter::Status::kMore) {
    input.release();
    body_ = {};
    splices_ = {};
    exchange_.drop_request();
  }
  while (status == AnswerFilter::Status::kMore) {
    scope.set_deadline(std::min(end, base::after(loop().now(), config.chunk_timeout)));
    const rt::WaitStatus ready = co_await connection.stream().wait_readable();
    if (ready != rt::WaitStatus::kReady) co_return scope.error();
    std::span<char> room = shard_.read_room();
    std::copy(carry_.begin(), carry_.end(), room.begin());
    const net::IoResult io = connection.stream().try_read(room.subspan(carry_.size()));
    pieces_.clear();
    switch (io.kind) {
      case net::IoResult::Kind::kWouldBlock:
        continue;
      case net::IoResult::Kind::kReset:
        co_return net::reset_error("the engine reset the connection");
      case net::IoResult::Kind::kEof:
        status = filter.close(pieces_);
        break;
      case net::IoResult::Kind::kBytes: {
        shard_.own_traffic().heard(backend_->slot, loop().now());
        const std::string_view bytes(room.data(), carry_.size() + io.count);
        const AnswerFilter::Taken taken = filter.take(bytes, pieces_);
        status = taken.status;
        // Bytes past the end make the connection unfit for another request.
        if (status == AnswerFilter::Status::kEnd) {
          input.append(bytes.substr(taken.consumed));
        } else {
          carry_.assign(bytes.substr(taken.consumed));
        }
        break;
      }
    }
    const bool sent = co_await send_to_client();
    if (!sent) co_return base::Error(ErrorCode::kCancelled, "the client is gone");
  }
  if (status == AnswerFilter::Status::kEnd) co_return base::Result<>();
  co_return base::Error(ErrorCode::kProtocol, "the engine's answer broke off");
}

// False when the client is gone or does not read. The pieces point into room that is shared, so
// what the client does not take at once is copied before anything is waited for.
rt::Task<bool> Proxy::send_to_client() {
  size_t total = 0;
  for (const iovec& p : pieces_) total += p.iov_len;
  if (total == 0) co_return true;
  bytes_out_ += total;
  const net::IoResult io = exchange_.stream().try_write(pieces_);
  size_t taken = io.kind == net::IoResult::Kind::kBytes ? io.count : 0;
  if (taken == total) co_return true;
  client_failed_ = io.kind == net::IoResult::Kind::kReset;
  if (client_failed_) co_return false;
  unsent_.clear();
  for (const iovec& p : pieces_) {
    const size_t skip = std::min(taken, p.iov_len);
    taken -= skip;
    unsent_.append(static_cast<const char*>(p.iov_base) + skip, p.iov_len - skip);
  }
  // The engine's silence does not count while the client is what we wait for.
  rt::Scope& scope = co_await rt::current_scope();
  scope.set_deadline(base::kNever);
  const base::Result<> written =
      co_await net::write_all(exchange_.stream(), unsent_, exchange_.write_deadline());
  if (unsent_.capacity() > 64 * 1024) unsent_ = std::string();
  client_failed_ = !written.ok();
  co_return written.ok();
}

// A begun stream of events ends with an error event; anything else is cut off by the server, so
// that it does not look complete.
rt::Task<void> Proxy::broke_off(AnswerFilter& filter, const base::Error& error) {
  if (!filter.options().events) co_return;
  std::string json;
  protocol::append_error(
      json, {.status = 502,
             .message = fmt::format("The replica broke off its answer: {}.", error.message()),
             .type = "server_error",
             .code = "replica_failed"});
  pieces_.clear();
  filter.break_off(json, pieces_);
  unsent_.clear();
  for (const iovec& p : pieces_) unsent_.append(static_cast<const char*>(p.iov_base), p.iov_len);
  // The attempt's scope may be cancelled already; this last write has a scope and time of its own.
  rt::Scope last(loop());
  const base::Result<> written =
      co_await net::write_all(exchange_.stream(), unsent_, exchange_.write_deadline()).in(last);
  if (written) exchange_.mark_finished();
}

rt::Task<void> Proxy::answer_error(protocol::ApiError error,
                                   std::optional<std::chrono::seconds> retry_after) {
  status_ = error.status;
  outcome_ = "refused";
  std::string body;
  protocol::append_error(body, error);
  std::string fields = fmt::format("x-request-id: {}\r\n", request_id_);
  if (retry_after)
    fmt::format_to(std::back_inserter(fields), "Retry-After: {}\r\n", retry_after->count());
  bytes_out_ += body.size();
  static_cast<void>(co_await exchange_.respond({error.status, "application/json", fields}, body));
}

rt::Task<void> Proxy::answer_failure(const Failure& failure) {
  const bool late = failure.cancelled == rt::CancelReason::kDeadline ||
                    failure.error.code() == ErrorCode::kDeadlineExceeded;
  const bool unreachable =
      failure.kind == FailureKind::kConnect || failure.cancelled == rt::CancelReason::kReplicaDown;
  protocol::ApiError error{
      .status = unreachable ? 503
                : late      ? 504
                            : 502,
      .message = fmt::format("No replica of '{}' answered: the last of {} tried failed ({}).",
                             model_name_, attempts_, failure.error.describe()),
      .type = "server_error",
      .code = unreachable ? "no_replica"
              : late      ? "timeout"
                          : "replica_failed"};
  std::optional<std::chrono::seconds> retry_after;
  if (unreachable) retry_after = std::chrono::seconds(1);
  co_await answer_error(std::move(error), retry_after);
  outcome_ = late ? "deadline" : "replica_failed";
}

std::string Proxy::explain_json(const pick::Explanation& explanation) const {
  const auto write = [&](size_t others) {
    std::string json;
    codec::JsonWriter out(json);
    const auto row = [&](const pick::Explanation::Row& r) {
      out.key("replica").string(snapshot_->by_slot[r.slot]->name);
      for (size_t i = 0; i < explanation.scorer_count; ++i) {
        out.key(explanation.scorers[i]).number(static_cast<double>(r.scores[i]));
      }
    };
    out.begin_object();
    row(explanation.chosen);
    out.key("reason").string(to_string(explanation.reason));
    out.key("policy").string(explanation.policy);
    out.key("attempt").integer(attempts_);
    out.key("candidates").integer(explanation.candidates);
    out.key("filtered").integer(explanation.filtered);
    out.key("prompt_blocks").integer(explanation.blocks);
    out.key("held_blocks").integer(reservation_->held_blocks);
    out.key("others").begin_array();
    for (size_t i = 0; i < others; ++i) {
      out.begin_object();
      row(explanation.others[i]);
      out.end_object();
    }
    out.end_array();
    out.end_object();
    return json;
  };
  size_t others = explanation.other_count;
  std::string json = write(others);
  while (json.size() > kExplainBytesMax && others > 0) json = write(--others);
  return json;
}

void Proxy::account() {
  if (outcome_ == "client_gone") shard_.metrics().count_cancel(outcome_);
  const base::Nanos duration = loop().now() - began_;
  if (query_.model != nullptr) {
    ShardMetrics::Model& model = shard_.metrics().model(model_name_);
    shard_.metrics().requests(model, model_name_, status_).add();
    model.duration.observe(base::to_seconds(duration));
    if (first_byte_ != base::TimePoint{})
      model.first_byte.observe(base::to_seconds(first_byte_ - began_));
    if (usage_) {
      model.prompt_tokens.add(static_cast<double>(usage_->prompt_tokens));
      model.output_tokens.add(static_cast<double>(usage_->completion_tokens));
      model.cached_tokens.add(static_cast<double>(usage_->cached_tokens.value_or(0)));
    }
    if (reservation_) {
      const auto block_tokens = cache_index::PrefixHasherOptions{}.block_bytes / kBytesPerToken;
      model.predicted_tokens.add(static_cast<double>(reservation_->held_blocks * block_tokens));
    }
  } else {
    shard_.metrics().count_refused(status_);
  }
  if (shard_.shared().access_log == nullptr) return;
  obs::AccessRecord record;
  record.time = began_wall_;
  record.request_id = request_id_;
  record.method = endpoint_.method;
  record.path = endpoint_.path;
  record.model = model_name_;
  if (backend_ != nullptr) record.backend = backend_->name;
  record.status = status_;
  record.outcome = outcome_;
  record.duration = duration;
  if (first_byte_ != base::TimePoint{}) record.first_byte = first_byte_ - began_;
  record.bytes_in = bytes_in_;
  record.bytes_out = bytes_out_;
  if (usage_) {
    record.prompt_tokens = static_cast<uint32_t>(usage_->prompt_tokens);
    record.output_tokens = static_cast<uint32_t>(usage_->completion_tokens);
    record.cached_tokens = static_cast<uint32_t>(usage_->cached_tokens.value_or(0));
  }
  record.attempts = attempts_;
  shard_.shared().access_log->append(shard_.index(), record);
}

}  // namespace fairlead::router
