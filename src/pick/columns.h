// What changes about replicas all the time: load, what was scraped, health. One flat column of
// relaxed atomics for each, indexed by slot, shared by all shards; a pick reads a column from front
// to back and tolerates values that are a moment old. Load is what shards write for each request;
// it shares no cache line with what they only read.
//
// Threads: any. A slot belongs to one replica from open() until the owner of the replicas hands it
// to another one, which it may do only when nothing is in flight there and no table names it.
// Traffic functions are called by way of Chooser, which pairs them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/cache_line.h"
#include "base/clock.h"
#include "cache_index/prefix_index.h"
#include "pick/ttft_model.h"

namespace fairlead::pick {

using cache_index::Slot;

enum class Health : uint8_t {
  kReady,
  kSuspect,  // something failed or fell silent: used only if nothing is ready
  kEjected,  // its answers fail: used only if nothing is ready
  kDown,     // known not to serve: not used
};

// Means of what an engine measured of late; zero where it measured nothing.
struct Latency {
  base::Nanos ttft{};  // to a request's first token
  base::Nanos tpot{};  // an output token
};

struct Scraped {
  uint32_t running = 0;
  uint32_t waiting = 0;
  float kv_usage = 0;  // 0 to 1
  Latency latency{};
  base::TimePoint at{};
};

class Columns {
 public:
  explicit Columns(uint32_t slots);

  uint32_t slots() const { return slots_; }
  // Clears the slot for a new replica: ready, idle, with a whole share, and as if it had been given
  // as many prompt tokens as the replica of `peers` that was given fewest, so that it is not
  // flooded to catch up. `identity` is a hash of what the replica is called everywhere, the same in
  // all routers.
  void open(Slot slot, std::span<const Slot> peers, uint64_t identity);

  // Traffic.
  void begin(Slot slot, uint32_t prompt_tokens);
  // The same, unless `in_flight_max` requests are there: then false, and nothing is changed.
  bool try_begin(Slot slot, uint32_t prompt_tokens, uint32_t in_flight_max);
  void end(Slot slot);
  void take_back_given(Slot slot, uint32_t prompt_tokens);

  uint32_t in_flight(Slot slot) const { return read(in_flight_, slot); }
  uint64_t prompt_tokens_given(Slot slot) const { return read(given_, slot); }

  // Requests of this router and, as far as scraping tells, of others.
  uint32_t load(Slot slot) const { return in_flight(slot) + foreign(slot); }

  // Has the processor fetch, while something else is done, what a pick reads of the replica and
  // what it writes if it takes it.
  void prefetch(Slot slot) const {
    __builtin_prefetch(&ttft_models_[slot], 1);
    __builtin_prefetch(&in_flight_[slot], 1);
    __builtin_prefetch(&given_[slot], 1);
    __builtin_prefetch(&foreign_[slot]);
  }

  // What expected-ttft counts and learns.
  TtftModel& ttft_model(Slot slot) { return ttft_models_[slot]; }
  const TtftModel& ttft_model(Slot slot) const { return ttft_models_[slot]; }

  // Requests of other routers, as far as scraping tells.
  uint32_t foreign(Slot slot) const { return read(foreign_, slot); }
  // `in_flight_max` is the most that was in flight here while the sample was taken: what the engine
  // has beyond it came from elsewhere.
  void set_scraped(Slot slot, const Scraped& sample, uint32_t in_flight_max);
  // The sample is too old to act upon; it stays readable.
  void set_stale(Slot slot);
  bool fresh(Slot slot) const { return read(fresh_, slot); }
  Scraped scraped(Slot slot) const;
  // Of the last sample, whatever its age: how much of the KV cache is free, in whole percent.
  float kv_free_percent(Slot slot) const { return read(kv_free_percent_, slot); }
  // Of a fresh sample, in a form that costs a pick little. Without one nobody is known to wait,
  // neither there nor beyond what runs, and both times are NaN, which minima and maxima pass over;
  // as where one of them is not measured.
  uint32_t waiting(Slot slot) const { return read(waiting_, slot); }
  int64_t beyond_running(Slot slot, uint32_t load) const {
    return std::max<int64_t>(int64_t{load} - read(running_, slot), 0);
  }
  double ttft_ns(Slot slot) const { return read(ttft_ns_, slot); }
  double tpot_ns(Slot slot) const { return read(tpot_ns_, slot); }

  // How many lines of requests wait for room at the replica (router/waiting_lines.h). It is theirs
  // alone: open() leaves it.
  void add_line(Slot slot) { lines_[slot].fetch_add(1, std::memory_order_relaxed); }
  void remove_line(Slot slot);
  uint32_t lines(Slot slot) const { return read(lines_, slot); }

  uint64_t identity(Slot slot) const { return read(identity_, slot); }

  Health health(Slot slot) const { return read(health_, slot); }
  void set_health(Slot slot, Health health);
  // How many slots are not ready: while it is zero nobody needs to look.
  uint32_t unready() const { return unready_.load(std::memory_order_relaxed); }

  // How much of its usual work the replica is to get: 1 as a rule, less while it comes back, 0
  // where a few requests are to try it.
  float share(Slot slot) const { return read(share_, slot); }
  void set_share(Slot slot, float share);
  // How many slots have a share below 1: while it is zero nobody needs to look.
  uint32_t returning() const { return returning_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kAllRunning = UINT32_MAX;
  // The last sample as it was taken, whatever its age.
  struct Sample {
    std::atomic<uint32_t> running{0};
    std::atomic<uint32_t> waiting{0};
    std::atomic<float> kv_usage{0};
    std::atomic<int64_t> ttft{0};
    std::atomic<int64_t> tpot{0};
    std::atomic<int64_t> at{0};
  };
  template <class T>
  using Column = base::LineArray<std::atomic<T>>;
  template <class T>
  static T read(const Column<T>& column, Slot slot) {
    return column[slot].load(std::memory_order_relaxed);
  }

  uint32_t slots_;
  Column<uint32_t> in_flight_;
  Column<uint32_t> foreign_;
  Column<uint32_t> lines_;
  Column<uint64_t> given_;
  Column<uint32_t> running_;  // kAllRunning without a fresh sample
  Column<uint32_t> waiting_;
  Column<float> kv_free_percent_;
  Column<double> ttft_ns_;
  Column<double> tpot_ns_;
  Column<bool> fresh_;
  base::LineArray<Sample> samples_;
  Column<uint64_t> identity_;
  Column<Health> health_;
  Column<float> share_;
  std::unique_ptr<TtftModel[]> ttft_models_;
  std::atomic<uint32_t> unready_{0};
  std::atomic<uint32_t> returning_{0};
};

}  // namespace fairlead::pick
