#include "bench/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "bench/config.h"
#include "rt/task_group.h"
#include "rt/waiter.h"

namespace fairlead::bench {

using base::Nanos;
using base::TimePoint;
using workload::Outcome;
using workload::Sample;

// One request and what came of it.
struct LoadTarget::Attempt {
  TimePoint from;
  TimePoint deadline;
  workload::Prompt prompt;
  std::string head;
  std::string body;
  Sample sample;
  AnswerReader answer;
  bool connected = false;
  bool fresh = false;     // its connection was made for it
  bool answered = false;  // a head came
};

namespace {

// A connection that served before may close just as it is used again; nothing was lost by then.
bool worth_another(base::ErrorCode code) {
  return code == base::ErrorCode::kClosed || code == base::ErrorCode::kConnectionReset;
}

Outcome outcome_of(base::ErrorCode code, Outcome otherwise) {
  switch (code) {
    case base::ErrorCode::kDeadlineExceeded:
      return Outcome::kTimeout;
    case base::ErrorCode::kProtocol:
      return Outcome::kProtocol;
    default:
      return otherwise;
  }
}

uint32_t clamp32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

}  // namespace

LoadTarget::LoadTarget(net::Network& network, Endpoint endpoint, LoadOptions options)
    : network_(network),
      endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      pool_(network, endpoint_.address, {.idle_max = kConcurrencyMax}),
      prompts_(options_.prompts),
      began_(network.loop().now()) {}

workload::PoissonArrivals& LoadTarget::arrivals(double rate) {
  if (!arrivals_) {
    arrivals_.emplace(rate, base::Random(base::mix64(options_.prompts.seed)));
  }
  return *arrivals_;
}

rt::Task<void> LoadTarget::send_one(TimePoint from) {
  Attempt attempt;
  attempt.from = from;
  attempt.deadline = base::after(from, options_.timeout);
  prompts_.next(attempt.prompt);
  write_body(options_.shape, attempt.prompt, attempt.body);
  attempt.head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}"
      "\r\n",
      path_of(options_.shape.api), endpoint_.host, attempt.body.size(), options_.extra_fields);
  attempt.sample.prefix = attempt.prompt.prefix;
  attempt.sample.started = from - began_;
  ++under_way_;
  const base::Result<> ended = co_await attempt_or_again(attempt);
  --under_way_;
  record(attempt, ended);
}

void LoadTarget::record_not_sent(TimePoint from) {
  ++errors_;
  log_.samples.push_back({.outcome = Outcome::kNotSent, .started = from - began_});
}

rt::Task<base::Result<>> LoadTarget::attempt_or_again(Attempt& attempt) {
  base::Result<> ended = co_await attempt_once(attempt);
  while (!ended && !attempt.fresh && !attempt.answered && attempt.connected &&
         worth_another(ended.error().code())) {
    ended = co_await attempt_once(attempt);
  }
  co_return ended;
}

rt::Task<base::Result<>> LoadTarget::attempt_once(Attempt& attempt) {
  std::unique_ptr<net::ClientConnection> connection = pool_.take_idle();
  attempt.fresh = connection == nullptr;
  if (attempt.fresh) {
    auto made = co_await pool_.connect(attempt.deadline);
    if (!made) co_return made.error();
    connection = std::move(*made);
  }
  attempt.connected = true;
  base::Result<> ended = co_await exchange(attempt, *connection);
  if (ended) pool_.give_back(std::move(connection));
  co_return ended;
}

rt::Task<base::Result<>> LoadTarget::exchange(Attempt& attempt, net::ClientConnection& connection) {
  std::array<iovec, 2> pieces = {
      {{attempt.head.data(), attempt.head.size()}, {attempt.body.data(), attempt.body.size()}}};
  base::Result<> sent = co_await connection.send(pieces, attempt.deadline);
  if (!sent) co_return sent;
  base::Result<> head = co_await connection.read_head(net::AnswerTo::kOther, attempt.deadline);
  if (!head) co_return head;
  attempt.answered = true;
  attempt.sample.status = static_cast<uint16_t>(connection.response().status);
  attempt.sample.replica = replica_of_answer(connection.response());
  attempt.answer.begin(options_.shape.streaming, connection.response().status, log_.gaps);
  for (;;) {
    const auto piece = co_await connection.read_body(attempt.deadline);
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    const Nanos at = loop().clock().now() - attempt.from;
    if (!attempt.answer.feed(*piece, at)) {
      co_return base::Error(base::ErrorCode::kProtocol, "the answer is no event stream");
    }
  }
  attempt.answer.end();
  co_return base::Result<>();
}

uint32_t LoadTarget::replica_of_answer(const net::ResponseHead& head) {
  if (const net::Field* replica = head.find("x-fairlead-replica")) {
    return log_.replica_index(replica->value);
  }
  const net::Field* explanation = head.find("x-fairlead-explain");
  if (explanation == nullptr) return workload::kNoReplica;
  const std::string replica = replica_of(explanation->value);
  return replica.empty() ? workload::kNoReplica : log_.replica_index(replica);
}

void LoadTarget::record(Attempt& attempt, const base::Result<>& ended) {
  if (!ended && ended.error().code() == base::ErrorCode::kCancelled) return;
  Sample& sample = attempt.sample;
  sample.whole = loop().clock().now() - attempt.from;
  if (attempt.answered) {
    sample.first_token = attempt.answer.first_token();
    sample.output_tokens = clamp32(attempt.answer.output_tokens());
    if (const auto& usage = attempt.answer.usage()) {
      sample.prompt_tokens = clamp32(usage->prompt_tokens);
      if (usage->cached_tokens) sample.cached_tokens = clamp32(*usage->cached_tokens);
    }
  }
  if (ended) {
    sample.outcome = attempt.answer.outcome();
  } else {
    sample.outcome =
        outcome_of(ended.error().code(), attempt.connected ? Outcome::kReset : Outcome::kConnect);
  }
  errors_ += sample.outcome == Outcome::kOk ? 0 : 1;
  log_.samples.push_back(sample);
}

namespace {

// What the clients of a slice share.
struct Slice {
  LoadTarget& target;
  SliceOptions options;
  TimePoint begin;
  uint64_t sent = 0;

  bool may_send(TimePoint at) {
    if (options.duration && at - begin >= *options.duration) return false;
    if (options.requests && sent >= *options.requests) return false;
    if (target.log().samples.size() + target.under_way() >= workload::RunLog::kSamplesMax) {
      return false;
    }
    ++sent;
    return true;
  }
};

rt::Task<void> closed_loop_client(Slice& slice) {
  rt::Scope& scope = co_await rt::current_scope();
  rt::Loop& loop = slice.target.loop();
  while (!scope.cancelled() && slice.may_send(loop.clock().now())) {
    co_await slice.target.send_one(loop.clock().now());
  }
}

// Arrivals go on where the slice before stopped: time between slices does not count.
rt::Task<void> open_loop(Slice& slice, rt::TaskGroup& group) {
  auto& arrivals = slice.target.arrivals(*slice.options.rate);
  TimePoint at = slice.begin;
  Nanos last{-1};
  for (;;) {
    const Nanos next = arrivals.next();
    if (last >= Nanos(0)) at += next - last;
    last = next;
    if (!slice.may_send(at)) co_return;
    if (at > slice.target.loop().now()) {
      const rt::WaitStatus status = co_await rt::sleep_until(at);
      if (status == rt::WaitStatus::kCancelled) co_return;
    }
    if (slice.target.under_way() >= kConcurrencyMax) {
      slice.target.record_not_sent(at);
    } else {
      group.spawn(slice.target.send_one(at));
    }
  }
}

}  // namespace

rt::Task<void> run_slice(LoadTarget& target, SliceOptions options) {
  rt::Scope& scope = co_await rt::current_scope();
  Slice slice{.target = target, .options = options, .begin = target.loop().clock().now()};
  rt::TaskGroup group(scope);
  if (options.rate) {
    co_await open_loop(slice, group).in(group.scope());
  } else {
    for (uint32_t i = 0; i < options.concurrency; ++i) group.spawn(closed_loop_client(slice));
  }
  std::ignore = co_await group.join();
  target.log().busy += target.loop().clock().now() - slice.begin;
}

}  // namespace fairlead::bench
