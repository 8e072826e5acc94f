// What a pick is made of. Filters take candidates away, scorers fill one column each, a picker asks
// for the columns it chooses by: for all candidates, or only for those that matter to it, so that a
// pick among a thousand replicas need not score a thousand. Plugins are immutable and shared by all
// shards; what a pick needs for itself lies in the shard's Scratch. None of them allocates once the
// scratch is warm.
//
// To add one: pick/<filters|scorers|pickers>/<name>.h, .cc and _test.cc, and a line in register.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cache_index/prefix_index.h"
#include "pick/columns.h"
#include "pick/table.h"

namespace fairlead::pick {

// A request as far as the choice of a replica is concerned.
struct Query {
  const Model* model = nullptr;
  std::span<const uint64_t> blocks;  // of the prompt, see cache_index/prefix_hasher.h
  uint32_t prompt_tokens = 0;        // an estimate will do
  std::optional<uint64_t> session;   // hash of the session's name
  uint32_t block_tokens = 16;        // what one of the blocks stands for
  std::span<const Slot> tried;       // replicas where this request has failed already
  uint32_t in_flight_max = 0;        // at one replica; 0: no bound
  bool in_line = false;              // it may take room that others wait for: its turn has come
  base::TimePoint now{};             // for the age of what is known
};

// One score for each slot; entries of slots that were not scored mean nothing. Starts at zero, and
// only the scorer whose column it is writes to it.
using Scores = std::vector<float>;

inline constexpr size_t kScorersMax = 6;

// What the expected-ttft scorer went by for a slot.
struct Expected {
  float ms = 0;          // to the first token
  float prompt_ms = 0;   // of those, what its own uncached tokens take
  float context_ms = 0;  // and what the context in flight adds to a step
  TtftLoad load;
  uint32_t uncached_tokens = 0;  // of the prompt
  uint32_t hashed_tokens = 0;    // what the index could know of
  uint32_t held_tokens = 0;      // what it does
};

struct Scratch {
  explicit Scratch(uint32_t slots);

  std::vector<Slot> candidates;
  std::vector<Scores> scores;      // one for each scorer of the policy, in its picker's order
  std::vector<Slot> shortlist;     // free for the plugin at work; `prefix` leaves it to the picker
  cache_index::Depths depths;      // set by the prefix scorer
  std::vector<Expected> expected;  // by slot, set by the expected-ttft scorer
};

class Scorer;

enum class PluginKind : uint8_t { kFilter, kScorer };

// Told of each plugin's work in a pick that is timed; the clock is the caller's.
class PluginWatch {
 public:
  virtual ~PluginWatch() = default;
  virtual void begins() = 0;
  virtual void ended(PluginKind kind, std::string_view plugin) = 0;
};

struct Context {
  const Query& query;
  const Columns& columns;
  const cache_index::PrefixIndex& index;
  base::Random& random;
  Scratch& scratch;
  std::span<const Scorer* const> scorers;  // of the policy's picker
  PluginWatch* watch = nullptr;            // of this pick, if any

  // Has the picker's i-th scorer score these slots in scratch.scores[i].
  void score(size_t i, std::span<const Slot> slots) const;
};

// Why the picker chose as it did.
enum class Reason : uint8_t {
  kTurn,         // round-robin
  kDrawn,        // random
  kLeastLoaded,  // no better reason applied
  kHoldsPrefix,
  kPrefixCold,     // least loaded, because nobody holds enough of the prompt
  kHolderTooBusy,  // least loaded, because every holder is past the load bound
  kLessLoadedOfTwo,
  kSession,         // where the session belongs
  kSessionTooBusy,  // the next in the session's order, because that one is past the load bound
  kBestScore,       // weighted
};
std::string_view to_string(Reason reason);

struct Pick {
  Slot slot = 0;
  Reason reason = Reason::kLeastLoaded;
};

class Filter {
 public:
  virtual ~Filter() = default;
  virtual std::string_view name() const = 0;
  // Removes from scratch.candidates, keeping their order.
  virtual void apply(const Context& context) const = 0;
  // Why it takes the slot away, in a word for the explanation; empty where it keeps it. Where a
  // draw decides: why it may.
  virtual std::string_view why(const Context& context, Slot slot) const = 0;
};

class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::string_view name() const = 0;
  // Sets the entry of each of `slots`, perhaps of more.
  virtual void score(const Context& context, std::span<const Slot> slots, Scores& scores) const = 0;
};

class Picker {
 public:
  virtual ~Picker() = default;
  virtual std::string_view name() const = 0;
  // The columns it may ask for, in order. At most kScorersMax.
  virtual std::span<const std::string_view> scorers() const = 0;
  // In how many of its columns, from the first on, it scores all candidates anyway: an explanation
  // has them scored in the others.
  virtual size_t columns_of_all() const { return 0; }
  // At least one candidate is there. The slot it picks is scored in every column afterwards.
  virtual Pick pick(const Context& context) const = 0;
  // Whether it would rather have `a` than `b`, both scored, for the explanation's list of others.
  virtual bool prefers(const Context& context, Slot a, Slot b) const = 0;
};

}  // namespace fairlead::pick
