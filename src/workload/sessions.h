// Sessions: what the users of a run do. A session is one request, or a conversation whose turns
// follow each other with time to think, each sent with all that was said before.
//
//   shared-prefix, prefix-groups, random   one prompt a session, see prompts.h
//   conversations   a system prompt drawn as in prefix-groups, then questions: as many as drawn
//                   evenly from 1 to 2 x turns - 1; thinking times are exponential
//   recorded        the sessions of a trace, in its order, until it ends
//
// Deterministic from the seed; texts of different seeds or salts differ from their first block on,
// those of a trace too: a Mooncake block is a text made of its id, a ShareGPT conversation begins
// with a short mark. Pure; one thread.
//
//   SessionSource source({.kind = SessionKind::kConversations, .turns = 4});
//   Session session;
//   while (source.next(session)) converse(session);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "workload/prompts.h"
#include "workload/trace.h"

namespace fairlead::workload {

enum class SessionKind : uint8_t { kPrompts, kConversations, kRecorded };

struct SessionOptions {
  static constexpr uint32_t kTurnsMax = 1000;

  SessionKind kind = SessionKind::kPrompts;
  PromptOptions prompts;  // kPrompts: all of it; else sizes, prefixes, zipf, seed and salt
  uint32_t turns = 5;     // conversations: the mean
  base::Nanos think_time = std::chrono::seconds(5);  // the mean; also between a trace's turns
  std::shared_ptr<const Trace> trace;                // kRecorded
};

// Names the field that is out of bounds and what is allowed.
base::Result<> validate(const SessionOptions& options);

struct Turn {
  std::string question;
  std::optional<uint32_t> output_tokens;  // else as the run says
  base::Nanos think{0};                   // between the answer before and this
};

struct Session {
  // What a repeat repeats: the system prompt; in conversations and traces the session itself, so
  // that every turn but the first is a repeat. kNoPrefix where nothing is known to be shared.
  uint32_t prefix = kNoPrefix;
  std::string system;             // may be empty
  std::vector<Turn> turns;        // at least one
  std::optional<base::Nanos> at;  // when it was recorded to begin, since the first
};

class SessionSource {
 public:
  // `options` must be valid.
  explicit SessionSource(const SessionOptions& options);

  // Fills `out`; false at the end of a trace. The other kinds never end.
  bool next(Session& out);
  // Requests of a run that ends by itself: every prefix `repeats` times, or all of a trace; 0 where
  // the workload has no natural end.
  uint64_t planned() const;
  // How many requests a session is, on average.
  double turns_mean() const;

 private:
  void next_conversation(Session& out);
  void next_recorded(Session& out);
  std::string recorded_text(const RecordedTurn& turn) const;

  SessionOptions options_;
  PromptSource prompts_;
  base::Random random_;
  uint64_t texts_;  // seed of all texts but those of `prompts_`
  uint32_t sessions_ = 0;
  uint64_t recorded_turns_ = 0;
  Prompt prompt_;
};

}  // namespace fairlead::workload
