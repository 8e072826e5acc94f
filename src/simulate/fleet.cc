#include "simulate/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <queue>

#include "cache_index/prefix_hasher.h"
#include "engine_model/model.h"
#include "pick/chooser.h"

namespace fairlead::simulate {
namespace {

using base::TimePoint;
using engine_model::EngineModel;
using engine_model::Token;

// Answers are texts too.
class Answers final : public engine_model::TokenSource {
 public:
  explicit Answers(const Traffic& traffic) : traffic_(traffic), told_(traffic.size(), 0) {}
  Next next_token(uint64_t user) override {
    return {.token = token_of(traffic_[user].answer, told_[user]++), .stop = false};
  }

 private:
  const Traffic& traffic_;
  std::vector<uint32_t> told_;
};

engine_model::ModelConfig engine_config(const engine_model::Profile& profile, uint32_t kv_blocks) {
  engine_model::ModelConfig config;
  config.num_gpu_blocks =
      kv_blocks != 0 ? kv_blocks : engine_model::num_gpu_blocks(profile, config.block_size);
  config.max_num_seqs = profile.max_num_seqs;
  config.max_num_batched_tokens = profile.max_num_batched_tokens;
  return config;
}

std::vector<pick::Table::Replica> table_of(uint32_t replicas) {
  std::vector<pick::Table::Replica> table;
  for (uint32_t slot = 0; slot < replicas; ++slot) {
    table.push_back({static_cast<pick::Slot>(slot), {"model"}});
  }
  return table;
}

class Fleet {
 public:
  Fleet(const Traffic& traffic, const pick::Policy& policy, const FleetOptions& options)
      : traffic_(traffic),
        options_(options),
        answers_(traffic),
        columns_(options.replicas),
        index_({.slots = options.replicas}),
        table_(table_of(options.replicas)),
        chooser_(policy, columns_, index_),
        random_(options.seed),
        hasher_(cache_index::PrefixHasherOptions{}),
        arrived_(traffic.size()),
        reservations_(traffic.size()),
        next_turn_(traffic.size(), kFollowsNone) {
    const engine_model::Profile* profile = engine_model::find_profile(options.profile);
    CHECK(profile != nullptr, "the profile exists");
    for (uint32_t slot = 0; slot < options.replicas; ++slot) {
      engines_.push_back(std::make_unique<EngineModel>(engine_config(*profile, options.kv_blocks),
                                                       *profile, answers_));
      log_.replica_index(fmt::format("replica {}", slot));
    }
  }

  workload::RunLog run() {
    for (uint32_t i = 0; i < traffic_.size(); ++i) {
      const PlannedRequest& request = traffic_[i];
      if (request.follows == kFollowsNone) {
        post(TimePoint(request.at), options_.replicas + i);
      } else {
        next_turn_[request.follows] = i;
      }
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.what < options_.replicas) {
        end_step(static_cast<pick::Slot>(event.what));
      } else {
        arrive(event.what - options_.replicas);
      }
    }
    log_.busy = now_.time_since_epoch();
    return std::move(log_);
  }

 private:
  // A replica whose step ends, or past those a request that arrives. Of one time, first come first.
  struct Event {
    TimePoint at;
    uint64_t order = 0;
    uint32_t what = 0;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void post(TimePoint at, uint32_t what) { events_.push({at, order_++, what}); }

  void arrive(uint32_t i) {
    if (options_.in_flight_max != 0 && in_flight_ == options_.in_flight_max) {
      held_.push_back(i);
    } else {
      send(i);
    }
  }

  void send(uint32_t i) {
    ++in_flight_;
    arrived_[i] = now_;
    std::vector<Token> tokens;
    for (const Text& text : traffic_[i].prompt) {
      for (uint32_t k = 0; k < text.tokens; ++k) tokens.push_back(token_of(text.id, k));
    }
    // Four bytes a token, as in English: a block of text is a block of tokens.
    hasher_.reset("model", "");
    hasher_.add({reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token)});
    const pick::Query query{.model = table_.find("model"),
                            .blocks = hasher_.blocks(),
                            .prompt_tokens = static_cast<uint32_t>(tokens.size()),
                            .now = now_};
    reservations_[i] = chooser_.pick(query, random_);
    CHECK(reservations_[i].has_value(), "every replica is healthy");
    const pick::Slot slot = reservations_[i]->slot();
    const auto added = engines_[slot]->add(
        {.prompt = std::move(tokens), .output_tokens_max = traffic_[i].output_tokens, .user = i},
        now_);
    CHECK(added.ok(), "every request fits into a replica");
    start_step(slot);
  }

  void start_step(pick::Slot slot) {
    EngineModel& engine = *engines_[slot];
    if (engine.in_step() || !engine.has_work()) return;
    const engine_model::StepPlan plan = engine.plan_step(now_);
    if (plan.requests > 0) post(now_ + plan.duration, slot);
  }

  void end_step(pick::Slot slot) {
    for (const engine_model::Output& out : engines_[slot]->finish_step(now_)) {
      const auto i = static_cast<uint32_t>(out.user);
      if (out.stats->output_tokens == 1) {
        chooser_.first_token(*reservations_[i], now_);
        chooser_.first_byte(*reservations_[i]);
      }
      if (out.finish != engine_model::Finish::kNone) end(i, slot, *out.stats);
    }
    // Between the outputs nothing was sent, because sending may touch this engine.
    std::vector<uint32_t> next;
    next.swap(released_);
    for (const uint32_t i : next) send(i);
    start_step(slot);
  }

  void end(uint32_t i, pick::Slot slot, const engine_model::RequestStats& stats) {
    pick::Reservation& reservation = *reservations_[i];
    chooser_.reported(reservation, {.tokens = stats.prompt_tokens, .cached = stats.cached_tokens});
    chooser_.finish(reservation);
    log_.samples.push_back({.replica = slot,
                            .started = arrived_[i].time_since_epoch(),
                            .first_token = stats.first_token - arrived_[i],
                            .whole = now_ - arrived_[i],
                            .prompt_tokens = stats.prompt_tokens,
                            .output_tokens = stats.output_tokens,
                            .cached_tokens = stats.cached_tokens});
    --in_flight_;
    if (!held_.empty()) {
      released_.push_back(held_.front());
      held_.pop_front();
    }
    if (const uint32_t next = next_turn_[i]; next != kFollowsNone) {
      post(now_ + traffic_[next].at, options_.replicas + next);
    }
  }

  const Traffic& traffic_;
  const FleetOptions options_;
  Answers answers_;
  pick::Columns columns_;
  cache_index::PrefixIndex index_;
  pick::Table table_;
  pick::Chooser chooser_;
  base::Random random_;
  cache_index::PrefixHasher hasher_;
  std::vector<std::unique_ptr<EngineModel>> engines_;

  TimePoint now_{};
  uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<TimePoint> arrived_;
  std::vector<std::optional<pick::Reservation>> reservations_;
  std::vector<uint32_t> next_turn_;
  uint32_t in_flight_ = 0;
  std::deque<uint32_t> held_;       // arrived, and not served yet
  std::vector<uint32_t> released_;  // to be sent when the step at hand has ended
  workload::RunLog log_;
};

}  // namespace

workload::RunLog run(const Traffic& traffic, const pick::Policy& policy,
                     const FleetOptions& options) {
  return Fleet(traffic, policy, options).run();
}

}  // namespace fairlead::simulate
