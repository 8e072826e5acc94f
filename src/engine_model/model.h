// One inference engine as a state machine: continuous batching under a token budget, chunked
// prefill, KV blocks with prefix caching, preemption with recomputation, and the time each step
// takes. Pure: time comes in as arguments, tokens from a TokenSource, so that the same object
// serves HTTP in real time and thousands of its kind run in virtual time. One thread.
//
//   EngineModel model(config, profile, source);
//   model.add({.prompt = tokens, .output_tokens_max = 128, .user = 7}, now);
//   while (model.has_work()) {
//     const StepPlan step = model.plan_step(now);
//     now += step.duration;                        // or a timer
//     for (const Output& out : model.finish_step(now)) ...
//   }
//
// The schedule is vLLM V1's: running requests first, in order of arrival, one token each or the
// next chunk of their prompt; then waiting ones, first come first served, while budget, seats
// (max_num_seqs) and blocks last; one whose adapter has no seat lets others pass. When blocks run
// out the youngest running request gives up its own, goes back to the head of the queue and
// computes everything again (from the prefix cache where it still can). A request that could not
// run alone is refused by add(), so there is always progress.
//
// In steady state a step allocates nothing: buffers grow to the largest request and batch seen.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "engine_model/adapter_seats.h"
#include "engine_model/block_pool.h"
#include "engine_model/event_log.h"
#include "engine_model/profile.h"
#include "engine_model/types.h"

namespace fairlead::engine_model {

class EngineModel {
 public:
  // Keeps references to `profile` and `source`.
  EngineModel(const ModelConfig& config, const Profile& profile, TokenSource& source);
  // The pool points at the log, so the model stays where it is.
  EngineModel(const EngineModel&) = delete;
  EngineModel& operator=(const EngineModel&) = delete;

  // Queues a request; kInvalidArgument where it could never run.
  base::Result<RequestId> add(Request request, base::TimePoint now);
  // The request produces no more output; its seat and blocks are free at once, or within a step
  // when that ends. Does nothing when the request is gone.
  void abort(RequestId id);

  bool has_work() const { return !running_.empty() || waiting_count_ != 0; }
  bool in_step() const { return in_step_; }
  // Chooses the next batch. Only between steps; a plan without requests starts no step.
  StepPlan plan_step(base::TimePoint now);
  // Ends the step: one Output for each request that got a token, in order of arrival. The span is
  // valid until the next call.
  std::span<const Output> finish_step(base::TimePoint now);

  // Forgets all cached prefixes; false, and nothing happens, while a block is in use.
  bool reset_prefix_cache() { return pool_.reset(); }
  // Steps planned from now on take 1/speed of the profile's time; speed > 0.
  void set_speed(double speed) { speed_ = speed; }

  const ModelConfig& config() const { return config_; }
  const Counters& counters() const { return counters_; }
  Load load() const;
  EventLog& events() { return events_; }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  enum class State : uint8_t { kFree, kWaiting, kRunning };
  struct Slot {
    State state = State::kFree;
    bool aborted = false;
    uint32_t generation = 1;
    uint32_t next = kNoSlot;  // waiting queue or list of free slots
    uint32_t previous = kNoSlot;
    uint32_t output_tokens_max = 0;
    bool pooling = false;
    uint32_t adapter = 0;
    uint32_t computed = 0;       // tokens whose KV is there
    uint32_t scheduled = 0;      // tokens in the current step
    uint32_t cached_blocks = 0;  // leading blocks that the pool knows by hash
    uint64_t user = 0;
    uint64_t cache_seed = 0;
    std::vector<Token> tokens;     // prompt and output
    std::vector<uint64_t> hashes;  // of each full block of tokens
    std::vector<BlockId> blocks;
    RequestStats stats;
  };

  uint32_t blocks_for(uint64_t tokens) const {
    return static_cast<uint32_t>((tokens + config_.block_size - 1) / config_.block_size);
  }
  void extend_hashes(Slot& slot);
  void queue_front(uint32_t index);
  void queue_back(uint32_t index);
  void unqueue(uint32_t index);
  void free_slot(uint32_t index);

  void drop_aborted();
  void schedule_running(StepPlan& plan, StepWork& work, uint32_t& budget);
  void schedule_waiting(StepPlan& plan, StepWork& work, uint32_t& budget, base::TimePoint now);
  bool admit(Slot& slot, uint32_t budget);
  uint32_t find_cached_prefix(const Slot& slot);
  void take_blocks(Slot& slot, uint32_t new_tokens);
  void preempt_youngest();
  void account(const Slot& slot, StepPlan& plan, StepWork& work, uint32_t& budget) const;
  void produce(Slot& slot, base::TimePoint now);
  void finish_pooling(Slot& slot, base::TimePoint now);
  Output& add_output(Slot& slot, base::TimePoint now);

  const ModelConfig config_;
  const Profile& profile_;
  TokenSource& source_;
  EventLog events_;
  BlockPool pool_;
  AdapterSeats seats_;
  double speed_ = 1;
  bool in_step_ = false;

  std::vector<Slot> slots_;
  uint32_t free_slots_ = kNoSlot;
  uint32_t waiting_head_ = kNoSlot;
  uint32_t waiting_tail_ = kNoSlot;
  uint32_t waiting_count_ = 0;
  uint32_t aborted_running_ = 0;
  std::vector<uint32_t> running_;  // in order of arrival
  std::vector<BlockId> prefix_;    // scratch of admit()
  std::vector<Output> outputs_;
  std::vector<uint32_t> finished_;  // slots that outputs_ still points into
  Counters counters_;
};

}  // namespace fairlead::engine_model
