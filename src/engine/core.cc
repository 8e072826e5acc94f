#include "engine/core.h"

#include <set>

#include <fmt/format.h>

#include "base/check.h"

namespace fairlead::engine {

using engine_model::Finish;

Job::Job(Core& core, const protocol::Tokenizer& tokenizer, Plan plan)
    : generation(tokenizer, std::move(plan)), core_(core) {}

Job::~Job() { core_.leave(*this); }

Core::Core(rt::Loop& loop, const EngineConfig& config, EngineMetrics& metrics)
    : loop_(loop),
      config_(config),
      metrics_(metrics),
      model_(config.model_config, config.profile, *this) {
  set_slow_factor(config.faults.slow_factor);
}

Core::~Core() { CHECK(jobs_.empty(), "an engine outlives its jobs"); }

void Core::set_slow_factor(double factor) { model_.set_speed(config_.speed / factor); }

base::Result<> Core::submit(Job& job, Submission submission) {
  CHECK(!job.in_model_, "a job is submitted once");
  const base::TimePoint now = loop_.now();
  auto id = model_.add({.prompt = std::move(submission.prompt),
                        .output_tokens_max = submission.output_tokens_max,
                        .pooling = submission.pooling,
                        .adapter = submission.adapter ? submission.adapter->id : 0,
                        .cache_seed = submission.cache_seed,
                        .user = reinterpret_cast<uint64_t>(&job)},
                       now);
  if (!id) return id.error();
  job.id_ = *id;
  job.output_tokens_max_ = submission.pooling ? 0 : submission.output_tokens_max;
  job.adapter_ = std::move(submission.adapter);
  job.owner_ = submission.owner;
  job.every_token_ = submission.every_token;
  job.in_model_ = true;
  job.position_ = jobs_.size();
  jobs_.push_back(&job);
  metrics_.load(model_.load());
  // At the end of this turn, so that requests which came together start together.
  if (stops_ == 0 && !model_.in_step() && !armed()) wake(now);
  return {};
}

void Core::leave(Job& job) {
  if (!job.in_model_) return;
  job.in_model_ = false;
  jobs_[job.position_] = jobs_.back();
  jobs_[job.position_]->position_ = job.position_;
  jobs_.pop_back();
  if (job.generation.ended()) return;
  model_.abort(job.id_);
  metrics_.aborted();
  metrics_.load(model_.load());
}

void Core::abort_all() {
  while (!jobs_.empty()) {
    Job& job = *jobs_.back();
    leave(job);
    job.aborted = true;
    job.owner_->on_news(job);
  }
  if (is_idle()) idle_.notify_all();
}

void Core::stop(Stop why) { stops_ |= bit(why); }

void Core::go_on(Stop why) {
  stops_ &= static_cast<uint8_t>(~bit(why));
  if (stops_ != 0 || armed() || !model_.has_work()) return;
  wake(loop_.now());
}

void Core::on_timer() {
  if (stopped(Stop::kHang)) return;
  const base::TimePoint now = loop_.now();
  base::TimePoint start = now;
  if (model_.in_step()) {
    start = step_end_;
    const std::span<const engine_model::Output> outputs = model_.finish_step(now);
    for (const engine_model::Output& output : outputs) deliver(output, now);
    metrics_.step(step_tokens_, model_.counters());
  }
  if (stops_ == 0) begin_step(start, now);
  metrics_.load(model_.load());
  if (config_.enable_lora) metrics_.adapters(adapters_in_use(), loop_.clock().wall());
  if (is_idle() || stops_ != 0) idle_.notify_all();
}

std::string Core::adapters_in_use() const {
  std::set<std::string_view> names;
  for (const Job* job : jobs_) {
    if (job->adapter_ != nullptr) names.insert(job->adapter_->name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

void Core::begin_step(base::TimePoint start, base::TimePoint now) {
  const engine_model::StepPlan plan = model_.plan_step(now);
  if (plan.requests == 0) return;
  step_tokens_ = plan.tokens;
  // A whole step late is more than a timer's lateness: the machine cannot keep up.
  if (now - start >= plan.duration) start = now;
  step_end_ = start + plan.duration;
  wake(step_end_);
}

void Core::deliver(const engine_model::Output& output, base::TimePoint now) {
  Job& job = job_of(output.user);
  if (output.stats->output_tokens <= 1) {
    job.cached_tokens = output.stats->cached_tokens;
    metrics_.first_token(now - output.stats->added);
  } else {
    metrics_.inter_token(now - job.last_token_);
  }
  job.last_token_ = now;
  if (output.finish != Finish::kNone) {
    job.generation.end(output.finish);
    metrics_.finished(
        output.finish == Finish::kStop ? FinishedReason::kStop : FinishedReason::kLength,
        *output.stats, job.output_tokens_max_);
    leave(job);
  } else if (!job.every_token_) {
    return;
  }
  job.owner_->on_news(job);
}

}  // namespace fairlead::engine
