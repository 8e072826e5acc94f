// The model in time: runs one step after the other on a loop, real or virtual, and hands each token
// to the job it belongs to. One timer for the whole engine; a step costs no more than its tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/adapters.h"
#include "engine/config.h"
#include "engine/generation.h"
#include "engine/metrics.h"
#include "engine_model/model.h"
#include "rt/loop.h"
#include "rt/waiter.h"

namespace fairlead::engine {

class Core;
class Job;

// Whoever waits for a job.
class JobOwner {
 public:
  // Within a step: the job has one token more, has ended or was aborted. Must not destroy the job.
  virtual void on_news(Job& job) = 0;

 protected:
  ~JobOwner() = default;
};

// One prompt's one answer on its way through the model. Lives with the request that owns it; gone
// from the model when it is destroyed.
class Job {
 public:
  Job(Core& core, const protocol::Tokenizer& tokenizer, Plan plan);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  bool ended() const { return aborted || generation.ended(); }

  Generation generation;
  bool aborted = false;  // by the engine: paused or asleep
  uint32_t cached_tokens = 0;
  uint32_t index = 0;  // the owner's

 private:
  friend class Core;
  Core& core_;
  JobOwner* owner_ = nullptr;
  std::shared_ptr<const Adapter> adapter_;
  bool every_token_ = false;
  bool in_model_ = false;
  uint32_t output_tokens_max_ = 0;
  size_t position_ = 0;  // in the core's list
  engine_model::RequestId id_{};
  base::TimePoint last_token_{};
};

class Core final : private engine_model::TokenSource, private rt::TimerNode {
 public:
  Core(rt::Loop& loop, const EngineConfig& config, EngineMetrics& metrics);
  ~Core() override;

  struct Submission {
    std::vector<engine_model::Token> prompt;
    uint32_t output_tokens_max = 1;
    bool pooling = false;  // ends with its prompt, without a token
    uint64_t cache_seed = 0;
    std::shared_ptr<const Adapter> adapter;  // null: none
    JobOwner* owner = nullptr;
    bool every_token = false;  // else the owner hears of the end only
  };
  base::Result<> submit(Job& job, Submission submission);

  // Steps take `factor` times their time from the next one on.
  void set_slow_factor(double factor);
  // Between steps, for as long as it is stopped, nothing happens.
  enum class Stop : uint8_t { kHang, kPause, kSleep };
  void stop(Stop why);
  void go_on(Stop why);
  bool stopped(Stop why) const { return (stops_ & bit(why)) != 0; }
  // vLLM knows one way of not scheduling, which is both paused and asleep.
  bool halted() const { return stopped(Stop::kPause) || stopped(Stop::kSleep); }
  // Ends all jobs with finish reason "abort".
  void abort_all();
  // Told when the model has become empty, and when a step has ended that none follows.
  rt::WaitList& idle() { return idle_; }
  bool is_idle() const { return !model_.has_work(); }
  bool in_step() const { return model_.in_step(); }
  bool reset_prefix_cache() { return model_.reset_prefix_cache(); }

  const engine_model::EngineModel& model() const { return model_; }

 private:
  friend class Job;
  static uint8_t bit(Stop why) { return static_cast<uint8_t>(1u << static_cast<unsigned>(why)); }
  static Job& job_of(uint64_t user) { return *reinterpret_cast<Job*>(user); }

  engine_model::TokenSource::Next next_token(uint64_t user) override {
    return job_of(user).generation.next();
  }
  void on_timer() override;
  void deliver(const engine_model::Output& output, base::TimePoint now);
  void begin_step(base::TimePoint start, base::TimePoint now);
  // Of the jobs in the model, sorted, joined by commas.
  std::string adapters_in_use() const;
  void wake(base::TimePoint at) { loop_.timers().arm(*this, at); }
  void leave(Job& job);

  rt::Loop& loop_;
  const EngineConfig& config_;
  EngineMetrics& metrics_;
  engine_model::EngineModel model_;
  std::vector<Job*> jobs_;  // in the model
  uint8_t stops_ = 0;
  // When the current step ends by the profile. Steps follow each other without a gap, so that
  // timers which fire late do not slow the engine.
  base::TimePoint step_end_{};
  uint32_t step_tokens_ = 0;
  rt::WaitList idle_;
};

}  // namespace fairlead::engine
