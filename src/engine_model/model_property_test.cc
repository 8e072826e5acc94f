// The model against a naive reference over random workloads: small caches, aborts at any moment,
// shared prefixes, resets.
#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/random.h"
#include "engine_model/model.h"

namespace fairlead::engine_model {
namespace {

class DrawnSource : public TokenSource {
 public:
  Next next_token(uint64_t user) override {
    const uint64_t draw = base::mix64(user * 1000 + counts_[user]++);
    return {.token = static_cast<Token>(draw % 7), .stop = draw % 29 == 0};
  }

 private:
  std::map<uint64_t, uint64_t> counts_;
};

struct World {
  ModelConfig config;
  std::vector<Request> requests;
};

World make_world(base::Random& random) {
  World world;
  world.config.block_size = static_cast<uint32_t>(1 + random.below(5));
  world.config.num_gpu_blocks = static_cast<uint32_t>(12 + random.below(30));
  world.config.max_num_seqs = static_cast<uint32_t>(1 + random.below(6));
  world.config.max_num_batched_tokens = static_cast<uint32_t>(1 + random.below(20));
  world.config.enable_prefix_caching = random.below(5) != 0;
  world.config.record_events = random.below(2) == 0;
  world.config.max_loras = static_cast<uint32_t>(random.below(3));
  const uint64_t room = uint64_t{world.config.num_gpu_blocks - 1} * world.config.block_size;
  for (uint64_t user = 0; user < 40; ++user) {
    Request request;
    request.user = user;
    request.cache_seed = random.below(2);
    const uint64_t length = 1 + random.below(room - 1);
    // Few distinct prompts, so that prefixes repeat.
    const uint64_t family = random.below(3);
    const uint64_t common = random.below(length + 1);
    for (uint64_t i = 0; i < length; ++i) {
      request.prompt.push_back(
          static_cast<Token>(i < common ? base::mix64(family * 100 + i) % 50 : random.below(50)));
    }
    request.output_tokens_max = static_cast<uint32_t>(1 + random.below(room - length));
    request.pooling = random.below(6) == 0;
    if (world.config.max_loras > 0) request.adapter = static_cast<uint32_t>(random.below(4));
    world.requests.push_back(std::move(request));
  }
  return world;
}

struct Trace {
  std::vector<uint64_t> words;  // everything that came out, in order
  uint64_t aborted = 0;
  bool operator==(const Trace&) const = default;
};

Trace play(uint64_t seed) {
  base::Random random(seed);
  const World world = make_world(random);
  const Profile& profile = *find_profile("h100-8b");
  DrawnSource source;
  EngineModel model(world.config, profile, source);
  Trace trace;
  base::TimePoint now{};
  std::map<uint64_t, RequestId> live;
  std::map<uint64_t, uint32_t> produced;
  size_t next = 0;
  uint64_t held = 0;  // blocks stored less blocks removed, from the events
  for (int steps = 0; next < world.requests.size() || model.has_work(); ++steps) {
    EXPECT_LT(steps, 200'000) << "no progress, seed " << seed;
    if (steps >= 200'000) return trace;
    while (next < world.requests.size() && random.below(3) == 0) {
      auto id = model.add(world.requests[next], now);
      EXPECT_TRUE(id.ok());
      live[world.requests[next].user] = *id;
      ++next;
    }
    auto maybe_abort = [&] {
      if (live.empty() || random.below(12) != 0) return;
      auto it = live.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(random.below(live.size())));
      model.abort(it->second);
      live.erase(it);
      ++trace.aborted;
    };
    maybe_abort();
    const StepPlan plan = model.plan_step(now);
    EXPECT_LE(plan.tokens, world.config.max_num_batched_tokens);
    EXPECT_LE(model.load().running, world.config.max_num_seqs);
    EXPECT_LE(model.load().blocks_used, world.config.num_gpu_blocks - 1);
    if (plan.requests == 0) {
      EXPECT_FALSE(model.has_work()) << "nothing planned though there is work, seed " << seed;
      continue;
    }
    EXPECT_GT(plan.duration.count(), 0);
    maybe_abort();
    now += plan.duration;
    for (const Output& out : model.finish_step(now)) {
      EXPECT_TRUE(live.contains(out.user)) << "a token for an aborted request, seed " << seed;
      const Request& request = world.requests[out.user];
      if (!request.pooling) ++produced[out.user];
      trace.words.insert(trace.words.end(), {out.user, out.token, uint64_t(out.finish),
                                             uint64_t(now.time_since_epoch().count())});
      if (out.finish == Finish::kNone) continue;
      EXPECT_EQ(out.stats->output_tokens, produced[out.user]);
      EXPECT_LT(out.stats->cached_tokens, request.prompt.size());
      EXPECT_EQ(out.stats->cached_tokens % world.config.block_size, 0u);
      if (out.finish == Finish::kLength) {
        EXPECT_EQ(produced[out.user], request.output_tokens_max);
      }
      live.erase(out.user);
    }
    for (const BlockEvent& e : model.events().events()) {
      if (e.kind == BlockEvent::Kind::kStored) {
        EXPECT_EQ(e.tokens_count, e.hashes_count * world.config.block_size);
        held += e.hashes_count;
      } else if (e.kind == BlockEvent::Kind::kRemoved) {
        EXPECT_GE(held, 1u);
        --held;
      }
    }
    EXPECT_LE(held, world.config.num_gpu_blocks - 1);
    model.events().clear();
  }
  EXPECT_TRUE(live.empty()) << "seed " << seed;
  EXPECT_EQ(model.load().blocks_used, 0u) << "seed " << seed;
  EXPECT_EQ(model.load().waiting, 0u);
  EXPECT_EQ(model.load().deferred, 0u);
  EXPECT_TRUE(model.reset_prefix_cache());
  return trace;
}

TEST(ModelProperties, ConservesBlocksAndFinishesEverythingUnderAborts) {
  uint64_t aborted = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    aborted += play(seed).aborted;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(aborted, 500u) << "the workload lost its aborts";
}

TEST(ModelProperties, RepeatsItselfFromTheSameSeed) {
  for (uint64_t seed : {3u, 17u, 99u}) EXPECT_EQ(play(seed), play(seed));
}

// The reference runs one request at a time, which keeps it obvious: a block is named by its whole
// prefix, and the free list is a list.
class NaiveEngine {
 public:
  explicit NaiveEngine(const ModelConfig& config)
      : block_size_(config.block_size), free_(config.num_gpu_blocks - 1) {}

  // Returns the cached tokens of the prompt. The last token of `all` is never computed.
  uint32_t run(const std::vector<Token>& all, size_t prompt_tokens, uint64_t seed) {
    std::list<Block> mine;
    size_t hits = 0;
    while ((hits + 1) * block_size_ <= prompt_tokens - 1) {
      const auto it = oldest(name(all, hits, seed));
      if (it == free_.end()) break;
      mine.splice(mine.end(), free_, it);
      ++hits;
    }
    const size_t computed = all.size() - 1;
    for (size_t i = hits; i * block_size_ < computed; ++i) {
      mine.splice(mine.end(), free_, free_.begin());
      mine.back() = Block{};
      if ((i + 1) * block_size_ <= computed) mine.back() = {name(all, i, seed), ++stored_};
    }
    mine.reverse();
    free_.splice(free_.end(), mine);
    return static_cast<uint32_t>(hits * block_size_);
  }

 private:
  using Name = std::pair<uint64_t, std::vector<Token>>;
  struct Block {
    std::optional<Name> name;
    uint64_t stored = 0;
  };

  Name name(const std::vector<Token>& all, size_t block, uint64_t seed) const {
    const auto end = static_cast<std::ptrdiff_t>((block + 1) * block_size_);
    return {seed, {all.begin(), all.begin() + end}};
  }
  std::list<Block>::iterator oldest(const Name& wanted) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->name == wanted && (best == free_.end() || it->stored < best->stored)) best = it;
    }
    return best;
  }

  size_t block_size_;
  std::list<Block> free_;
  uint64_t stored_ = 0;
};

TEST(ModelProperties, HitsExactlyWhatANaiveReferenceHits) {
  uint64_t hits = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    base::Random random(seed);
    World world = make_world(random);
    world.config.enable_prefix_caching = true;
    world.config.max_num_batched_tokens = 10'000;
    DrawnSource source;
    EngineModel model(world.config, *find_profile("h100-8b"), source);
    NaiveEngine naive(world.config);
    base::TimePoint now{};
    for (const Request& request : world.requests) {
      ASSERT_TRUE(model.add(request, now).ok());
      std::vector<Token> all = request.prompt;
      uint32_t cached = 0;
      while (model.has_work()) {
        now += model.plan_step(now).duration;
        for (const Output& out : model.finish_step(now)) {
          all.push_back(out.token);
          cached = out.stats->cached_tokens;
        }
      }
      ASSERT_EQ(cached, naive.run(all, request.prompt.size(), request.cache_seed))
          << "seed " << seed << ", request " << request.user;
      hits += cached;
    }
    ASSERT_EQ(model.counters().prefix_cache_hits, model.counters().prompt_tokens_cached);
  }
  EXPECT_GT(hits, 5'000u) << "the workload lost its shared prefixes";
}

}  // namespace
}  // namespace fairlead::engine_model
