#include "workload/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "workload/text.h"

namespace fairlead::workload {
namespace {

// Conversations draw their system prompts as prefix-groups do.
PromptOptions prompts_of(const SessionOptions& options) {
  PromptOptions prompts = options.prompts;
  if (options.kind == SessionKind::kConversations) prompts.kind = PromptKind::kPrefixGroups;
  if (options.kind == SessionKind::kRecorded) prompts.kind = PromptKind::kRandom;
  return prompts;
}

}  // namespace

base::Result<> validate(const SessionOptions& o) {
  if (o.turns < 1 || o.turns > SessionOptions::kTurnsMax) {
    return base::invalid_argument(
        fmt::format("turns is {}: allowed are 1 to {}", o.turns, SessionOptions::kTurnsMax));
  }
  if (o.think_time < base::Nanos(0)) {
    return base::invalid_argument("think-time is negative");
  }
  if (o.kind == SessionKind::kRecorded && (o.trace == nullptr || o.trace->empty())) {
    return base::invalid_argument("a recorded workload needs a trace that is not empty");
  }
  return validate(prompts_of(o));
}

SessionSource::SessionSource(const SessionOptions& options)
    : options_(options),
      prompts_(prompts_of(options)),
      random_(base::mix64(options.prompts.seed + 1)),
      texts_(base::mix64(base::mix64(options.prompts.seed) ^ base::mix64(~options.prompts.salt))) {
  CHECK(validate(options).ok(), "session options must be validated first");
  if (options_.kind != SessionKind::kRecorded) return;
  for (const RecordedSession& session : *options_.trace) recorded_turns_ += session.turns.size();
}

uint64_t SessionSource::planned() const {
  return options_.kind == SessionKind::kPrompts ? prompts_.planned() : recorded_turns_;
}

double SessionSource::turns_mean() const {
  switch (options_.kind) {
    case SessionKind::kPrompts:
      return 1;
    case SessionKind::kConversations:
      return options_.turns;
    case SessionKind::kRecorded:
      break;
  }
  return static_cast<double>(recorded_turns_) / static_cast<double>(options_.trace->size());
}

bool SessionSource::next(Session& out) {
  out = Session();
  switch (options_.kind) {
    case SessionKind::kPrompts:
      prompts_.next(prompt_);
      out.prefix = prompt_.prefix;
      out.system = std::move(prompt_.system);
      out.turns.push_back({.question = std::move(prompt_.question)});
      break;
    case SessionKind::kConversations:
      next_conversation(out);
      break;
    case SessionKind::kRecorded:
      if (sessions_ >= options_.trace->size()) return false;
      next_recorded(out);
      break;
  }
  ++sessions_;
  return true;
}

void SessionSource::next_conversation(Session& out) {
  prompts_.next(prompt_);
  out.prefix = sessions_;
  out.system = std::move(prompt_.system);
  const uint64_t turns = 1 + random_.below(2 * uint64_t{options_.turns} - 1);
  out.turns.resize(turns);
  out.turns.front().question = std::move(prompt_.question);
  const uint64_t texts = base::mix64(texts_ + sessions_);
  for (uint64_t i = 1; i < turns; ++i) {
    Turn& turn = out.turns[i];
    make_text(turn.question, "Question", base::mix64(texts + i), options_.prompts.question_tokens);
    turn.think = base::from_seconds(random_.exponential(base::to_seconds(options_.think_time)));
  }
}

void SessionSource::next_recorded(Session& out) {
  const RecordedSession& recorded = (*options_.trace)[sessions_];
  out.at = recorded.at;
  out.system = recorded.system;
  if (recorded.turns.front().blocks.empty()) out.prefix = sessions_;
  for (const RecordedTurn& turn : recorded.turns) {
    const bool first = out.turns.empty();
    Turn& added = out.turns.emplace_back();
    added.question = recorded_text(turn);
    added.output_tokens = turn.output_tokens;
    if (first) continue;
    added.think = base::from_seconds(random_.exponential(base::to_seconds(options_.think_time)));
  }
  // The mark stands before everything, so that no cache of another run holds any of it.
  std::string& begin = out.system.empty() ? out.turns.front().question : out.system;
  if (out.prefix != kNoPrefix) begin.insert(0, fmt::format("[{:016x}] ", texts_ + sessions_));
}

std::string SessionSource::recorded_text(const RecordedTurn& turn) const {
  if (turn.blocks.empty()) return turn.question;
  std::string text;
  text.reserve(size_t{turn.prompt_tokens} * kBytesPerToken);
  uint32_t left = turn.prompt_tokens;
  for (const uint64_t block : turn.blocks) {
    const uint32_t tokens = std::min(left, kTraceBlockTokens);
    append_text(text, "Block", base::mix64(texts_ ^ base::mix64(block)), tokens);
    left -= tokens;
  }
  return text;
}

}  // namespace fairlead::workload
