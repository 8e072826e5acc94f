#include "bench/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "bench/config.h"

namespace fairlead::bench {

using base::Nanos;
using base::TimePoint;
using workload::Outcome;
using workload::Sample;

// One request and what came of it.
struct LoadTarget::Attempt {
  TimePoint from;
  TimePoint deadline;
  std::string head;
  std::string body;
  std::string* text = nullptr;  // where the answer's words go, if a later turn repeats them
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
      sessions_(options_.sessions),
      began_(network.loop().now()) {}

workload::Arrivals& LoadTarget::arrivals(workload::ArrivalOptions options) {
  if (!arrivals_) {
    options.per_second /= sessions_.turns_mean();
    arrivals_.emplace(options, base::Random(base::mix64(options_.sessions.prompts.seed)));
  }
  return *arrivals_;
}

std::optional<Conversation> LoadTarget::next_conversation() {
  std::optional<Conversation> next;
  if (!put_back_.empty()) {
    next.emplace(std::move(put_back_.front()));
    put_back_.pop_front();
    return next;
  }
  next.emplace();
  if (!sessions_.next(next->session)) next.reset();
  return next;
}

void LoadTarget::put_back(Conversation conversation) {
  put_back_.push_front(std::move(conversation));
}

rt::Task<bool> LoadTarget::send_turn(Conversation& conversation, TimePoint from) {
  const workload::Session& session = conversation.session;
  const workload::Turn& turn = session.turns[conversation.turn];
  const bool last = conversation.turn + 1 == session.turns.size();
  std::string text;
  Attempt attempt;
  attempt.from = from;
  attempt.deadline = base::after(from, options_.timeout);
  attempt.text = last ? nullptr : &text;
  write_body(options_.shape,
             {.system = session.system,
              .history = conversation.history,
              .question = turn.question,
              .output_tokens = turn.output_tokens},
             attempt.body);
  attempt.head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}"
      "\r\n",
      path_of(options_.shape.api), endpoint_.host, attempt.body.size(), options_.extra_fields);
  attempt.sample.prefix = session.prefix;
  attempt.sample.started = from - began_;
  ++under_way_;
  const base::Result<> ended = co_await attempt_or_again(attempt);
  --under_way_;
  if (!record(attempt, ended) || attempt.sample.outcome != Outcome::kOk) co_return false;
  if (!last) {
    conversation.history.push_back(user_message(turn.question));
    conversation.history.push_back(assistant_message(text));
  }
  ++conversation.turn;
  co_return true;
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
  attempt.answer.begin(options_.shape.streaming, connection.response().status, log_.gaps,
                       attempt.text);
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

bool LoadTarget::record(Attempt& attempt, const base::Result<>& ended) {
  if (!ended && ended.error().code() == base::ErrorCode::kCancelled) return false;
  Sample& sample = attempt.sample;
  sample.whole = loop().clock().now() - attempt.from;
  if (attempt.answered) {
    sample.first_token = attempt.answer.first_token();
    sample.last_token = attempt.answer.last_token();
    sample.pause_max = attempt.answer.pause_max();
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
  return true;
}

}  // namespace fairlead::bench
