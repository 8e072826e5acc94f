// TtftModel: what one replica has to do before it gives a new request its first token, in tokens,
// and how long that takes it, in milliseconds.
//
// Load, counted at pick time, by every shard: `queued` are the prompt tokens that have to be
// computed for requests which still wait for their first byte; `context` are all prompt tokens of
// requests in flight, whose KV every step reads; `computed` are those ever given to compute.
//
// Learned, from each first token: a line
//
//   ms = base + work * thousands of tokens to compute, the request's own included
//             + context * thousands of tokens of context in flight
//
// by least squares over about the last hundred samples, each weighted by the inverse square of its
// size (a long prompt is not worth more than a short one), coefficients not below zero. An answer
// that came in one piece is a sample too: its n tokens took n steps, so it counts n times base and
// context and once the work; the coefficients are the same, and an engine whose answers are never
// streamed is known as well. A weak
// prior keeps it sane while little is known. Beside it two shares, from what engines report: how
// much of what the index believes to be cached really was (`trust`; zero for an engine without
// prefix caching), and, where a prompt is longer than what is hashed and its hashed part is held,
// how much of the rest was cached too (`tail`).
//
// What is known ages: `confidence` falls to zero when nothing was learned for kForgottenAfter, so
// that a replica that was slow once is not shunned for ever. Callers put the mean of the others in
// its place.
//
// Why a line and not a table of rates: queue, prefill and decode load come out in one unit, and a
// replica on a slower device is seen as such from its first dozen answers. Rejected: a mean of past
// TTFTs (says nothing about a longer prompt or a longer queue); a neural or quantile model (more
// data than a replica yields before it changes).
//
// Threads: any. Values are relaxed atomics; while one thread learns, samples of others are dropped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/cache_line.h"
#include "base/clock.h"

namespace fairlead::pick {

// Of one request: what of its prompt has to be computed, and all of it.
struct PromptWork {
  uint32_t prompt_tokens = 0;
  uint32_t uncached_tokens = 0;
};

// What a first token has to wait for, in tokens.
struct TtftLoad {
  float work = 0;     // prompt tokens to compute before it, its own included
  float context = 0;  // in flight beside it
};

struct TtftLine {
  float base_ms = 10;
  float work_ms = 50;       // a thousand tokens
  float context_ms = 0.1F;  // a thousand tokens

  float ms(const TtftLoad& load) const {
    return base_ms + work_ms * load.work * 1e-3F + context_ms * load.context * 1e-3F;
  }
};

// What an answer, or its beginning, took.
struct TtftSample {
  TtftLoad load;        // when it was picked
  uint32_t tokens = 1;  // that came
  base::Nanos took{};   // since the pick
};

class TtftModel {
 public:
  static constexpr base::Nanos kFreshFor = std::chrono::seconds(10);
  static constexpr base::Nanos kForgottenAfter = std::chrono::seconds(30);
  // Of a sample, for each of its tokens; what takes longer counts as this.
  static constexpr base::Nanos kTookMax = std::chrono::seconds(60);

  // As for a new replica: idle, and nothing known.
  void reset();

  void begin(const PromptWork& work);
  void first_byte(const PromptWork& work);
  void end(const PromptWork& work);
  void take_back(const PromptWork& work);  // it computed nothing

  uint64_t queued() const { return queued_.load(kRelaxed); }
  uint64_t context() const { return context_.load(kRelaxed); }
  uint64_t computed() const { return computed_.load(kRelaxed); }

  void learn(const TtftSample& sample, base::TimePoint now);
  TtftLine line() const;
  // Between 0 and 1.
  float confidence(base::TimePoint now) const;

  // An answer said how much of its prompt was cached. `held` of the `hashed` leading tokens were
  // believed to be; an engine that has never said anything is not taken to mean zero.
  struct CacheReport {
    uint32_t prompt_tokens = 0;  // as the engine counts
    std::optional<uint32_t> cached_tokens;
    uint32_t predicted_prompt_tokens = 0;
    uint32_t hashed_tokens = 0;
    uint32_t held_tokens = 0;
  };
  void learn_cached(const CacheReport& report);
  // Of a prompt of which `held_tokens` of the `hashed_tokens` leading ones are believed to be held.
  uint32_t cached_tokens(uint32_t prompt_tokens, uint32_t hashed_tokens,
                         uint32_t held_tokens) const;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr size_t kTerms = 3;

  void solve();

  // What a pick reads: one cache line, because all but the replicas that are busy are cold there.
  alignas(base::kCacheLine) std::atomic<uint64_t> queued_{0};
  std::atomic<uint64_t> context_{0};
  std::atomic<uint64_t> computed_{0};
  std::atomic<int64_t> learned_at_{0};
  std::array<std::atomic<float>, kTerms> line_{};
  std::atomic<float> samples_{0};  // after decay
  std::atomic<float> trust_{1};
  std::atomic<float> tail_{0.5F};
  std::atomic<bool> reports_cached_{false};
  // Sums over the samples, of the thread that learns.
  alignas(base::kCacheLine) std::atomic_flag learning_;
  std::array<std::atomic<double>, kTerms * kTerms> products_{};
  std::array<std::atomic<double>, kTerms> targets_{};
};

}  // namespace fairlead::pick
