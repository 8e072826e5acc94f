// Chooses a replica for a request, reserves it and records the prompt, in one step: the next pick,
// on whatever shard, sees the load and the prefix of this one.
//
// Threads: one chooser a shard; policy, columns and index are shared by all and outlive it. It
// allocates in its constructor only.
//
// Every Reservation is ended exactly once, by finish() or by undo():
//
//   Chooser chooser(policy, columns, index);
//   std::optional<Reservation> r = chooser.pick(query, random);
//   if (!r) ...                                   // nothing left to try: 503
//   ... send; at the first byte of the answer:
//   if (streamed) chooser.first_token(*r, now);   // what this took is learned
//   chooser.first_byte(*r);
//   if (!streamed) chooser.whole_answer(*r, usage.completion_tokens, when_it_came);
//   chooser.reported(*r, usage);                  // if the engine says how much was cached
//   chooser.finish(*r);                           // served, or ended after its first byte
//   chooser.undo(*r, query.blocks);               // it failed before, and may go elsewhere
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pick/plugin.h"
#include "pick/policy.h"

namespace fairlead::pick {

struct Reservation {
  cache_index::Holder holder;
  Reason reason = Reason::kLeastLoaded;
  uint16_t held_blocks = 0;  // predicted; 0 where the policy does not look
  uint32_t prompt_tokens = 0;
  // Where the policy predicts the time to the first token.
  PromptWork work;
  TtftLoad expected_load;
  uint32_t hashed_tokens = 0;
  uint32_t held_tokens = 0;
  base::TimePoint picked_at{};
  bool predicted = false;
  bool recorded = false;
  bool awaits_first_byte = false;
  bool open = false;

  Slot slot() const { return holder.slot; }
};

struct ReportedPrompt {
  uint32_t tokens = 0;
  std::optional<uint32_t> cached;
};

// The last pick in numbers, for x-fairlead-explain. A view of the policy's names, plain otherwise.
struct Explanation {
  static constexpr size_t kOthersMax = 8;
  static constexpr size_t kLeftOutMax = 8;
  struct Row {
    Slot slot = 0;
    std::array<float, kScorersMax> scores{};  // as picked, before the reservation
  };

  std::string_view policy;
  Reason reason = Reason::kLeastLoaded;
  uint32_t candidates = 0;  // replicas that serve the model
  uint32_t filtered = 0;    // of those taken away by filters
  uint32_t blocks = 0;      // of the prompt
  std::array<std::string_view, kScorersMax> scorers{};
  size_t scorer_count = 0;
  Row chosen;
  std::array<Row, kOthersMax> others{};  // what the picker would rather have first
  size_t other_count = 0;
  struct LeftOut {
    Slot slot = 0;
    std::string_view why;
  };
  std::array<LeftOut, kLeftOutMax> left_out{};  // the first of those that filters took away
  size_t left_out_count = 0;
};

class Chooser {
 public:
  Chooser(const Policy& policy, Columns& columns, cache_index::PrefixIndex& index);
  // From the next pick on; reservations stay good. Allocates.
  void use(const Policy& policy);

  // Nothing if no replica of the model is left after filtering, or none of those has room. `watch`
  // is told of each plugin's work.
  std::optional<Reservation> pick(const Query& query, base::Random& random,
                                  PluginWatch* watch = nullptr);
  // Whether the last pick found nothing for want of room alone.
  bool wants_room() const { return wants_room_; }
  // Explains the pick that has just been made, for the same query; not across a co_await.
  Explanation explain(const Query& query, const Reservation& pick, base::Random& random);

  // The prompt has been worked off. Calling it again does nothing.
  void first_byte(Reservation& reservation);
  // Before that, if the first byte is that of the first token: learns what it took since the pick.
  void first_token(const Reservation& reservation, base::TimePoint now);
  // The answer came in one piece of so many tokens: learns what it took since the pick.
  void whole_answer(const Reservation& reservation, uint32_t tokens, base::TimePoint at);
  // What the engine said at the end of its answer; absent where it did not say.
  void reported(const Reservation& reservation, const ReportedPrompt& prompt);
  void finish(Reservation& reservation);
  // As if it had never been picked: also the record of the prompt and of the tokens given is
  // undone.
  void undo(Reservation& reservation, std::span<const uint64_t> blocks);

 private:
  void explain_left_out(const Context& context, Explanation& explanation) const;
  std::string_view why_left_out(const Context& context, Slot slot) const;
  bool reserve(const Query& query, Slot slot);
  void leave_out_full(const Query& query);

  const Policy* policy_;
  Columns& columns_;
  cache_index::PrefixIndex& index_;
  Scratch scratch_;
  bool wants_room_ = false;
};

}  // namespace fairlead::pick
