#include "engine_model/model.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"

namespace fairlead::engine_model {

namespace {

constexpr RequestId make_id(uint32_t slot, uint32_t generation) {
  return RequestId{(uint64_t{generation} << 32) | slot};
}

}  // namespace

EngineModel::EngineModel(const ModelConfig& config, const Profile& profile, TokenSource& source)
    : config_(config),
      profile_(profile),
      source_(source),
      pool_(config.num_gpu_blocks, config.record_events ? &events_ : nullptr),
      seats_(config.max_loras) {
  CHECK(config.block_size > 0 && config.max_num_seqs > 0 && config.max_num_batched_tokens > 0,
        "an engine without blocks, seats or budget");
  running_.reserve(config.max_num_seqs);
  outputs_.reserve(config.max_num_seqs);
  finished_.reserve(config.max_num_seqs);
}

base::Result<RequestId> EngineModel::add(Request request, base::TimePoint now) {
  const uint32_t output_max = request.pooling ? 0 : request.output_tokens_max;
  const uint64_t total = request.prompt.size() + uint64_t{output_max};
  if (request.prompt.empty()) return base::invalid_argument("the prompt has no tokens");
  if (output_max == 0 && !request.pooling) {
    return base::invalid_argument("no output tokens wanted");
  }
  if (request.adapter != 0 && config_.max_loras == 0) {
    return base::invalid_argument("an adapter, but no seats for adapters");
  }
  if (const uint64_t room = uint64_t{pool_.usable()} * config_.block_size; total > room) {
    return base::invalid_argument(
        fmt::format("{} tokens of prompt and output, the KV cache holds {}", total, room));
  }
  if (!config_.enable_chunked_prefill && total > config_.max_num_batched_tokens) {
    return base::invalid_argument(
        fmt::format("{} tokens of prompt and output without chunked prefill, a step takes {}",
                    total, config_.max_num_batched_tokens));
  }
  if (free_slots_ == kNoSlot) {
    slots_.emplace_back();
    free_slots_ = static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t index = free_slots_;
  Slot& slot = slots_[index];
  free_slots_ = slot.next;
  slot.aborted = false;
  slot.output_tokens_max = output_max;
  slot.pooling = request.pooling;
  slot.adapter = request.adapter;
  slot.computed = slot.scheduled = slot.cached_blocks = 0;
  slot.user = request.user;
  slot.cache_seed = request.cache_seed;
  slot.tokens = std::move(request.prompt);
  slot.hashes.clear();
  slot.stats = RequestStats{};
  slot.stats.added = now;
  slot.stats.prompt_tokens = static_cast<uint32_t>(slot.tokens.size());
  if (config_.enable_prefix_caching) extend_hashes(slot);
  queue_back(index);
  return make_id(index, slot.generation);
}

void EngineModel::abort(RequestId id) {
  const auto index = static_cast<uint32_t>(static_cast<uint64_t>(id));
  if (index >= slots_.size()) return;
  Slot& slot = slots_[index];
  if (make_id(index, slot.generation) != id || slot.aborted) return;
  if (slot.state == State::kWaiting) {
    unqueue(index);
    free_slot(index);
  } else if (slot.state == State::kRunning) {
    slot.aborted = true;
    ++aborted_running_;
    if (!in_step_) drop_aborted();
  }
}

StepPlan EngineModel::plan_step(base::TimePoint now) {
  CHECK(!in_step_, "plan_step() within a step");
  drop_aborted();
  StepPlan plan;
  StepWork work;
  uint32_t budget = config_.max_num_batched_tokens;
  const uint64_t preemptions = counters_.preemptions;
  schedule_running(plan, work, budget);
  if (counters_.preemptions == preemptions) schedule_waiting(plan, work, budget, now);
  if (plan.requests == 0) return plan;
  in_step_ = true;
  ++counters_.steps;
  plan.tokens = static_cast<uint32_t>(work.tokens);
  const base::Nanos full = step_time(profile_, work);
  plan.duration = base::Nanos(static_cast<int64_t>(static_cast<double>(full.count()) / speed_));
  return plan;
}

void EngineModel::schedule_running(StepPlan& plan, StepWork& work, uint32_t& budget) {
  for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const uint32_t index = running_[i];
    Slot& slot = slots_[index];
    const auto left = static_cast<uint32_t>(slot.tokens.size()) - slot.computed;
    const uint32_t tokens = std::min(left, budget);
    const uint32_t blocks_needed = blocks_for(uint64_t{slot.computed} + tokens);
    while (blocks_needed > slot.blocks.size() + pool_.free_count()) {
      preempt_youngest();
      if (i == running_.size()) return;  // that was this one
    }
    take_blocks(slot, tokens);
    account(slot, plan, work, budget);
  }
}

void EngineModel::schedule_waiting(StepPlan& plan, StepWork& work, uint32_t& budget,
                                   base::TimePoint now) {
  uint32_t next = waiting_head_;
  while (next != kNoSlot && budget > 0 && running_.size() < config_.max_num_seqs) {
    const uint32_t index = next;
    Slot& slot = slots_[index];
    next = slot.next;
    if (!seats_.may_run(slot.adapter)) continue;
    if (!admit(slot, budget)) return;
    unqueue(index);
    slot.state = State::kRunning;
    seats_.starts(slot.adapter);
    running_.push_back(index);
    if (slot.stats.preemptions == 0) slot.stats.scheduled = now;
    account(slot, plan, work, budget);
  }
}

bool EngineModel::admit(Slot& slot, uint32_t budget) {
  const uint32_t cached = find_cached_prefix(slot);
  const auto all = static_cast<uint32_t>(slot.tokens.size());
  uint32_t tokens = all - cached;
  if (tokens > budget) {
    if (!config_.enable_chunked_prefill) return false;
    tokens = budget;
  }
  const auto idle_hits = static_cast<uint32_t>(std::count_if(
      prefix_.begin(), prefix_.end(), [&](BlockId block) { return pool_.is_free(block); }));
  const auto hits = static_cast<uint32_t>(prefix_.size());
  if (blocks_for(uint64_t{cached} + tokens) - hits + idle_hits > pool_.free_count()) return false;

  for (BlockId block : prefix_) pool_.retain(block);
  slot.blocks.assign(prefix_.begin(), prefix_.end());
  slot.computed = cached;
  slot.cached_blocks = hits;
  if (slot.stats.preemptions == 0) {
    slot.stats.cached_tokens = cached;
    if (config_.enable_prefix_caching) counters_.prefix_cache_queries += all;
    counters_.prefix_cache_hits += cached;
  }
  take_blocks(slot, tokens);
  return true;
}

// Leading blocks that are cached, into prefix_; at least one token is left to compute, since only
// computing a token yields the next one.
uint32_t EngineModel::find_cached_prefix(const Slot& slot) {
  prefix_.clear();
  const size_t blocks_max = (slot.tokens.size() - 1) / config_.block_size;
  for (size_t i = 0; i < std::min(blocks_max, slot.hashes.size()); ++i) {
    const BlockId block = pool_.find(slot.hashes[i]);
    if (block == 0) break;
    prefix_.push_back(block);
  }
  return static_cast<uint32_t>(prefix_.size()) * config_.block_size;
}

// Gives the request the blocks for its next tokens and names those that become full; there are
// enough free blocks.
void EngineModel::take_blocks(Slot& slot, uint32_t new_tokens) {
  slot.scheduled = new_tokens;
  const uint32_t needed = blocks_for(uint64_t{slot.computed} + new_tokens);
  while (slot.blocks.size() < needed) slot.blocks.push_back(pool_.take());
  if (!config_.enable_prefix_caching) return;
  const uint32_t full = (slot.computed + new_tokens) / config_.block_size;
  const uint32_t first = slot.cached_blocks;
  if (full <= first) return;
  for (uint32_t i = first; i < full; ++i) pool_.cache(slot.blocks[i], slot.hashes[i]);
  slot.cached_blocks = full;
  if (!config_.record_events) return;
  const size_t size = config_.block_size;
  events_.stored({.hashes = std::span(slot.hashes).subspan(first, full - first),
                  .tokens = std::span(slot.tokens).subspan(first * size, (full - first) * size),
                  .has_parent = first > 0,
                  .parent = first > 0 ? slot.hashes[first - 1] : 0,
                  .user = slot.user});
}

void EngineModel::preempt_youngest() {
  const uint32_t index = running_.back();
  Slot& slot = slots_[index];
  running_.pop_back();
  pool_.release_all(slot.blocks);
  slot.blocks.clear();
  slot.computed = slot.scheduled = slot.cached_blocks = 0;
  ++slot.stats.preemptions;
  ++counters_.preemptions;
  seats_.ends(slot.adapter);
  queue_front(index);
}

void EngineModel::account(const Slot& slot, StepPlan& plan, StepWork& work,
                          uint32_t& budget) const {
  const uint32_t tokens = slot.scheduled;
  budget -= tokens;
  ++plan.requests;
  work.tokens += tokens;
  if (tokens == 1) {
    work.decode_context += slot.computed + 1;
  } else {
    const double n = tokens;
    work.prefill_context += n * (static_cast<double>(slot.computed) + n / 2);
  }
}

std::span<const Output> EngineModel::finish_step(base::TimePoint now) {
  CHECK(in_step_, "finish_step() without a step");
  in_step_ = false;
  outputs_.clear();
  size_t kept = 0;
  for (const uint32_t index : running_) {
    Slot& slot = slots_[index];
    slot.computed += slot.scheduled;
    const bool sampled = slot.scheduled > 0 && slot.computed == slot.tokens.size();
    slot.scheduled = 0;
    if (slot.aborted) {
      --aborted_running_;
      free_slot(index);
      continue;
    }
    if (sampled) {
      if (slot.pooling) {
        finish_pooling(slot, now);
      } else {
        produce(slot, now);
      }
      if (outputs_.back().finish != Finish::kNone) {
        finished_.push_back(index);
        continue;
      }
    }
    running_[kept++] = index;
  }
  running_.resize(kept);
  // The slots may be reused, but not before the caller has read the outputs.
  for (const uint32_t index : finished_) free_slot(index);
  finished_.clear();
  return outputs_;
}

Output& EngineModel::add_output(Slot& slot, base::TimePoint now) {
  RequestStats& stats = slot.stats;
  if (stats.output_tokens == 0) {
    stats.first_token = now;
    counters_.prompt_tokens += stats.prompt_tokens;
    counters_.prompt_tokens_cached += stats.cached_tokens;
  }
  stats.last_token = now;
  Output& out = outputs_.emplace_back();
  out.user = slot.user;
  out.stats = &stats;
  return out;
}

void EngineModel::finish_pooling(Slot& slot, base::TimePoint now) {
  add_output(slot, now).finish = Finish::kStop;
}

void EngineModel::produce(Slot& slot, base::TimePoint now) {
  const TokenSource::Next next = source_.next_token(slot.user);
  Output& out = add_output(slot, now);
  ++slot.stats.output_tokens;
  ++counters_.output_tokens;
  slot.tokens.push_back(next.token);
  out.token = next.token;
  if (next.stop) {
    out.finish = Finish::kStop;
  } else if (slot.stats.output_tokens == slot.output_tokens_max) {
    out.finish = Finish::kLength;
  } else if (config_.enable_prefix_caching) {
    extend_hashes(slot);
  }
}

void EngineModel::drop_aborted() {
  if (aborted_running_ == 0) return;
  size_t kept = 0;
  for (const uint32_t index : running_) {
    if (slots_[index].aborted) {
      free_slot(index);
    } else {
      running_[kept++] = index;
    }
  }
  running_.resize(kept);
  aborted_running_ = 0;
}

void EngineModel::extend_hashes(Slot& slot) {
  const size_t size = config_.block_size;
  const size_t full = slot.tokens.size() / size;
  while (slot.hashes.size() < full) {
    const uint64_t parent = slot.hashes.empty() ? slot.cache_seed : slot.hashes.back();
    const auto* block = reinterpret_cast<const char*>(&slot.tokens[slot.hashes.size() * size]);
    slot.hashes.push_back(base::hash64({block, size * sizeof(Token)}, parent));
  }
}

void EngineModel::queue_back(uint32_t index) {
  Slot& slot = slots_[index];
  slot.state = State::kWaiting;
  slot.previous = waiting_tail_;
  slot.next = kNoSlot;
  (waiting_tail_ == kNoSlot ? waiting_head_ : slots_[waiting_tail_].next) = index;
  waiting_tail_ = index;
  ++waiting_count_;
  seats_.waits(slot.adapter);
}

void EngineModel::queue_front(uint32_t index) {
  Slot& slot = slots_[index];
  slot.state = State::kWaiting;
  slot.next = waiting_head_;
  slot.previous = kNoSlot;
  (waiting_head_ == kNoSlot ? waiting_tail_ : slots_[waiting_head_].previous) = index;
  waiting_head_ = index;
  ++waiting_count_;
  seats_.waits(slot.adapter);
}

void EngineModel::unqueue(uint32_t index) {
  const Slot& slot = slots_[index];
  (slot.previous == kNoSlot ? waiting_head_ : slots_[slot.previous].next) = slot.next;
  (slot.next == kNoSlot ? waiting_tail_ : slots_[slot.next].previous) = slot.previous;
  --waiting_count_;
}

void EngineModel::free_slot(uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.state == State::kRunning) {
    seats_.ends(slot.adapter);
  } else {
    seats_.leaves(slot.adapter);
  }
  pool_.release_all(slot.blocks);
  slot.blocks.clear();
  slot.tokens = {};  // came with the request, may be large
  slot.state = State::kFree;
  ++slot.generation;
  slot.next = free_slots_;
  free_slots_ = index;
}

Load EngineModel::load() const {
  Load load;
  load.running = static_cast<uint32_t>(running_.size());
  load.waiting = waiting_count_;
  load.deferred = seats_.deferred();
  load.blocks_used = pool_.used_count();
  load.kv_cache_usage = static_cast<double>(load.blocks_used) / pool_.usable();
  return load;
}

}  // namespace fairlead::engine_model
