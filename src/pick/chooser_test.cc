#include "pick/chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

using testing::chain;
using testing::World;

std::unique_ptr<const Policy> policy(std::string_view name) {
  return std::move(*Policy::make(name, {}));
}

std::unique_ptr<const Policy> weighted(std::vector<WeightedScore> weights) {
  return std::move(*Policy::make_weighted({}, {.weights = std::move(weights)}));
}

TEST(Chooser, ABurstOfSiblingsSeesItself) {
  World world(4);
  const auto prefix_cache = policy("prefix-cache");
  // Two choosers, as of two shards.
  Chooser a(*prefix_cache, world.columns, world.index);
  Chooser b(*prefix_cache, world.columns, world.index);
  const auto blocks = chain(1, 20);
  world.query.blocks = blocks;
  world.query.prompt_tokens = 100;
  const auto first = a.pick(world.query, world.random);
  const auto second = b.pick(world.query, world.random);
  EXPECT_EQ(first->reason, Reason::kPrefixCold);
  EXPECT_EQ(second->reason, Reason::kHoldsPrefix);
  EXPECT_EQ(second->slot(), first->slot());
  EXPECT_EQ(second->held_blocks, cache_index::PrefixIndex::depth_kept(20));
  EXPECT_EQ(world.columns.in_flight(first->slot()), 2u);
}

TEST(Chooser, UndoLeavesNothingBehind) {
  World world(1);
  const auto prefix_cache = policy("prefix-cache");
  Chooser chooser(*prefix_cache, world.columns, world.index);
  const auto blocks = chain(1, 20);
  world.query.blocks = blocks;
  world.query.prompt_tokens = 100;
  auto pick = chooser.pick(world.query, world.random);
  EXPECT_GT(world.index.stats().entries, 0u);
  chooser.undo(*pick, blocks);
  EXPECT_EQ(world.columns.in_flight(0), 0u);
  EXPECT_EQ(world.columns.prompt_tokens_given(0), 0u);
  EXPECT_EQ(world.index.stats().entries, 0u);
}

TEST(Chooser, FinishKeepsTheRecordAndTheTokensGiven) {
  World world(1);
  const auto prefix_cache = policy("prefix-cache");
  Chooser chooser(*prefix_cache, world.columns, world.index);
  const auto blocks = chain(1, 20);
  world.query.blocks = blocks;
  world.query.prompt_tokens = 100;
  auto pick = chooser.pick(world.query, world.random);
  chooser.first_byte(*pick);
  chooser.first_byte(*pick);
  EXPECT_EQ(world.columns.in_flight(0), 1u);
  chooser.finish(*pick);
  EXPECT_EQ(world.columns.in_flight(0), 0u);
  EXPECT_EQ(world.columns.prompt_tokens_given(0), 100u);
  EXPECT_EQ(world.index.stats().entries, cache_index::PrefixIndex::entries_for(20));
}

TEST(Chooser, EndingAReservationTwiceIsNoticedAndHarmless) {
  World world(1);
  const auto random = policy("random");
  Chooser chooser(*random, world.columns, world.index);
  auto kept = chooser.pick(world.query, world.random);
  auto pick = chooser.pick(world.query, world.random);
  const uint64_t bugs = base::soft_checks_failed();
  chooser.finish(*pick);
  chooser.undo(*pick, {});
  EXPECT_EQ(base::soft_checks_failed(), bugs + 1);
  EXPECT_EQ(world.columns.in_flight(0), 1u);
  chooser.finish(*kept);
}

TEST(Chooser, PoliciesThatIgnorePrefixesDoNotFillTheIndex) {
  for (const std::string_view name : {"round-robin", "random", "least-request"}) {
    World world(2);
    const auto without = policy(name);
    Chooser chooser(*without, world.columns, world.index);
    const auto blocks = chain(1, 20);
    world.query.blocks = blocks;
    auto pick = chooser.pick(world.query, world.random);
    chooser.finish(*pick);
    EXPECT_EQ(world.index.stats().entries, 0u) << name;
  }
}

TEST(Chooser, ExplainsWhyAndWhatTheOthersScored) {
  World world(12);
  const auto blocks = chain(1, 10);
  world.hold(3, blocks);
  world.hold(4, testing::Blocks(blocks.begin(), blocks.begin() + 5));
  for (Slot slot = 0; slot < 12; ++slot) world.load(slot, slot % 3);
  world.columns.set_health(0, Health::kDown);
  const auto prefix_cache = policy("prefix-cache");
  Chooser chooser(*prefix_cache, world.columns, world.index);
  world.query.blocks = blocks;
  auto pick = chooser.pick(world.query, world.random);
  const Explanation why = chooser.explain(world.query, *pick, world.random);
  EXPECT_EQ(why.policy, "prefix-cache");
  EXPECT_EQ(why.reason, Reason::kHoldsPrefix);
  EXPECT_EQ(why.candidates, 12u);
  EXPECT_EQ(why.filtered, 1u);
  EXPECT_EQ(why.blocks, 10u);
  ASSERT_EQ(why.scorer_count, 2u);
  EXPECT_EQ(why.scorers[0], "load");
  EXPECT_EQ(why.scorers[1], "prefix");
  EXPECT_EQ(why.chosen.slot, 3u);
  EXPECT_EQ(why.chosen.scores[0], 0.0F);
  EXPECT_EQ(why.chosen.scores[1], 1.0F);
  ASSERT_EQ(why.other_count, Explanation::kOthersMax);
  EXPECT_EQ(why.others[0].slot, 4u);
  EXPECT_EQ(why.others[0].scores[1], 0.5F);
  EXPECT_EQ(why.others[1].slot, 6u);
  chooser.finish(*pick);
}

TEST(Chooser, ExplainsWhyReplicasAreLeftOut) {
  World world(14);
  const auto random = policy("random");
  Chooser chooser(*random, world.columns, world.index);
  world.columns.set_health(1, Health::kDown);
  world.columns.set_health(2, Health::kSuspect);
  world.columns.set_health(3, Health::kEjected);
  world.columns.set_share(4, 0);
  world.load(4, 3);
  const std::array<Slot, 1> tried{5};
  world.query.tried = tried;
  auto pick = chooser.pick(world.query, world.random);
  const Explanation why = chooser.explain(world.query, *pick, world.random);
  EXPECT_EQ(why.filtered, 5u);
  ASSERT_EQ(why.left_out_count, 5u);
  const std::array<std::string_view, 5> reasons{"down", "suspect", "ejected", "on trial", "tried"};
  for (size_t i = 0; i < reasons.size(); ++i) {
    EXPECT_EQ(why.left_out[i].slot, i + 1);
    EXPECT_EQ(why.left_out[i].why, reasons[i]);
  }
  chooser.finish(*pick);
  for (Slot slot = 0; slot < 13; ++slot) world.columns.set_health(slot, Health::kDown);
  pick = chooser.pick(world.query, world.random);
  EXPECT_EQ(chooser.explain(world.query, *pick, world.random).left_out_count,
            Explanation::kLeftOutMax)
      << "of thirteen";
  chooser.finish(*pick);
}

TEST(Chooser, TellsAWatchOfEachPluginOfAPick) {
  struct Watch final : PluginWatch {
    void begins() override { ++begun; }
    void ended(PluginKind kind, std::string_view plugin) override {
      log += kind == PluginKind::kFilter ? "filter " : "score ";
      log.append(plugin).append(";");
    }
    int begun = 0;
    std::string log;
  };
  World world(2);
  const auto least = policy("least-request");
  Chooser chooser(*least, world.columns, world.index);
  Watch watch;
  auto pick = chooser.pick(world.query, world.random, &watch);
  EXPECT_EQ(watch.log, "filter tried;filter health;filter slow-start;score load;");
  EXPECT_EQ(watch.begun, 4);
  chooser.finish(*pick);
}

TEST(Chooser, ExplainsSumsWithTheScoresOfThePick) {
  World world(3);
  world.load(1, 1);
  const auto policy = weighted({{"random", 1}});
  Chooser chooser(*policy, world.columns, world.index);
  auto pick = chooser.pick(world.query, world.random);
  const base::Random before = world.random;
  const Explanation why = chooser.explain(world.query, *pick, world.random);
  EXPECT_EQ(base::Random(before).next(), base::Random(world.random).next()) << "drawn again";
  ASSERT_EQ(why.scorer_count, 2u);
  EXPECT_EQ(why.scorers[0], "random");
  EXPECT_EQ(why.scorers[1], "load");
  ASSERT_EQ(why.other_count, 2u);
  EXPECT_GE(why.chosen.scores[0], why.others[0].scores[0]);
  EXPECT_GE(why.others[0].scores[0], why.others[1].scores[0]);
  chooser.finish(*pick);
}

TEST(Chooser, AnotherPolicyDecidesFromTheNextPickOn) {
  World world(3);
  const auto blocks = chain(1, 20);
  world.hold(2, blocks);
  world.query.blocks = blocks;
  const auto prefix = weighted({{"prefix-cache", 1}});
  const auto usage = weighted({{"gpu-usage", 1}});
  for (const Slot slot : world.scratch.candidates) {
    world.columns.set_scraped(slot, {.kv_usage = slot == 1 ? 0.1F : 0.9F}, 0);
  }
  Chooser chooser(*prefix, world.columns, world.index);
  auto first = chooser.pick(world.query, world.random);
  EXPECT_EQ(first->slot(), 2u);
  chooser.use(*usage);
  auto second = chooser.pick(world.query, world.random);
  EXPECT_EQ(second->slot(), 1u);
  EXPECT_FALSE(second->recorded);
  chooser.undo(*first, blocks);
  chooser.finish(*second);
  EXPECT_EQ(world.columns.in_flight(1) + world.columns.in_flight(2), 0u);
}

// Whatever the state of the world: a pick is a candidate that filters allow, and after all
// reservations have ended, the columns say so.
TEST(Chooser, RandomWorldsKeepTheRules) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    const auto slots = static_cast<uint32_t>(1 + random.below(40));
    World world(slots);
    std::vector<std::unique_ptr<const Policy>> policies;
    for (const std::string_view name : Policy::names()) policies.push_back(policy(name));
    policies.push_back(weighted(
        {{"least-request", 1}, {"gpu-usage", 0.5}, {"least-latency", 2}, {"prefix-cache", 1}}));
    Chooser chooser(*policies[random.below(policies.size())], world.columns, world.index);
    std::vector<std::pair<Reservation, testing::Blocks>> open;
    for (int step = 0; step < 100; ++step) {
      const auto touched = static_cast<Slot>(random.below(slots));
      if (random.below(4) == 0) {
        world.columns.set_health(touched, static_cast<Health>(random.below(4)));
      }
      if (random.below(8) == 0) {
        world.columns.set_share(touched, static_cast<float>(random.below(5)) / 4);
      }
      if (random.below(4) == 0) {
        world.columns.set_scraped(touched,
                                  {.running = static_cast<uint32_t>(random.below(20)),
                                   .waiting = static_cast<uint32_t>(random.below(20)),
                                   .kv_usage = static_cast<float>(random.below(101)) / 100,
                                   .latency = {.ttft = base::Nanos(random.below(1'000)),
                                               .tpot = base::Nanos(random.below(1'000))}},
                                  static_cast<uint32_t>(random.below(20)));
      }
      if (random.below(10) == 0) world.columns.set_stale(touched);
      if (random.below(30) == 0) chooser.use(*policies[random.below(policies.size())]);
      std::vector<Slot> tried;
      for (uint64_t n = random.below(4); n > 1; --n) {
        tried.push_back(static_cast<Slot>(random.below(slots)));
      }
      const auto blocks = chain(random.below(5), random.below(60), 8, random.below(3));
      world.query = {.model = world.table.find("m"),
                     .blocks = blocks,
                     .prompt_tokens = static_cast<uint32_t>(random.below(5'000)),
                     .session = random.below(100),
                     .tried = tried};
      bool ready = false;
      bool suspect = false;
      for (uint32_t i = 0; i < slots; ++i) {
        const auto slot = static_cast<Slot>(i);
        if (std::find(tried.begin(), tried.end(), slot) != tried.end()) continue;
        ready |= world.columns.health(slot) == Health::kReady;
        suspect |= world.columns.health(slot) == Health::kSuspect ||
                   world.columns.health(slot) == Health::kEjected;
      }
      const auto pick = chooser.pick(world.query, random);
      ASSERT_EQ(pick.has_value(), ready || suspect) << "seed " << seed;
      if (!pick) continue;
      ASSERT_LT(pick->slot(), slots);
      ASSERT_EQ(std::find(tried.begin(), tried.end(), pick->slot()), tried.end());
      const Health picked = world.columns.health(pick->slot());
      ASSERT_TRUE(ready ? picked == Health::kReady : picked != Health::kDown);
      open.emplace_back(*pick, blocks);
      while (open.size() > random.below(20)) {
        std::swap(open[random.below(open.size())], open.back());
        auto& [reservation, prompt] = open.back();
        if (random.below(2) == 0) chooser.first_byte(reservation);
        random.below(3) == 0 ? chooser.undo(reservation, prompt) : chooser.finish(reservation);
        open.pop_back();
      }
    }
    for (auto& [reservation, prompt] : open) chooser.finish(reservation);
    std::vector<Slot> all;
    for (uint32_t i = 0; i < slots; ++i) {
      all.push_back(static_cast<Slot>(i));
      ASSERT_EQ(world.columns.in_flight(all.back()), 0u) << "seed " << seed;
      ASSERT_EQ(world.columns.ttft_model(all.back()).queued(), 0u) << "seed " << seed;
      ASSERT_EQ(world.columns.ttft_model(all.back()).context(), 0u) << "seed " << seed;
    }
    world.index.retire(all);
    ASSERT_EQ(world.index.stats().entries, 0u) << "seed " << seed;
  }
}

// 500 requests with one prefix, all within one scrape interval, so that nothing tells the router
// about the engines: it has to know itself what it sent where.
TEST(Chooser, SiblingsWithinOneScrapeIntervalSpread) {
  constexpr uint32_t kReplicas = 8;
  constexpr uint32_t kSiblings = 500;
  for (const uint32_t loops : {1u, 4u}) {
    World world(kReplicas);
    const auto expected_ttft = policy("expected-ttft");
    // As the last scrape saw them: idle, but for one where another router has 20 requests.
    for (Slot slot = 0; slot < kReplicas; ++slot) {
      world.columns.set_scraped(slot, {.running = slot == 5 ? 20u : 0u}, 0);
    }
    std::vector<std::thread> shards;
    for (uint32_t loop = 0; loop < loops; ++loop) {
      shards.emplace_back([&, loop] {
        Chooser chooser(*expected_ttft, world.columns, world.index);
        base::Random random(loop);
        for (uint32_t i = loop; i < kSiblings; i += loops) {
          const auto blocks = chain(7, 100, 96, i);
          static_cast<void>(chooser.pick(
              {.model = world.table.find("m"), .blocks = blocks, .prompt_tokens = 1'600}, random));
        }
      });
    }
    for (std::thread& shard : shards) shard.join();
    // (500 + 20) / 8 = 65 each. Loops that pick at the same moment may both send the whole prompt
    // to one replica: it then gets fewer requests, but no more to compute than the others.
    constexpr double kMean = (kSiblings + 20.0) / kReplicas;
    double others_computed = 0;
    for (Slot slot = 0; slot < kReplicas; ++slot) {
      EXPECT_LE(world.columns.load(slot), 1.5 * kMean) << loops << " loops, slot " << slot;
      EXPECT_GE(world.columns.load(slot), kMean / 1.5) << loops << " loops, slot " << slot;
      if (slot != 5)
        others_computed += static_cast<double>(world.columns.ttft_model(slot).queued());
    }
    others_computed /= kReplicas - 1;
    for (Slot slot = 0; slot < kReplicas; ++slot) {
      const auto computed = static_cast<double>(world.columns.ttft_model(slot).queued());
      EXPECT_LE(computed, 1.25 * others_computed) << loops << " loops, slot " << slot;
    }
    // Others have 20 requests there; with more loops that may be less than what they collide by.
    if (loops == 1) EXPECT_LT(world.columns.ttft_model(5).queued(), others_computed);
  }
}

TEST(Chooser, LearnsFromFirstTokensAndReports) {
  World world(1);
  const auto expected_ttft = policy("expected-ttft");
  Chooser chooser(*expected_ttft, world.columns, world.index);
  const auto blocks = chain(1, 100);
  world.query.blocks = blocks;
  world.query.prompt_tokens = 1'600;
  TtftModel& model = world.columns.ttft_model(0);
  for (int i = 0; i < 100; ++i) {
    world.query.now += std::chrono::seconds(1);
    auto pick = chooser.pick(world.query, world.random);
    chooser.first_token(*pick, world.query.now + std::chrono::milliseconds(300));
    chooser.first_byte(*pick);
    chooser.first_token(*pick, world.query.now + std::chrono::hours(1));  // no second one
    chooser.reported(*pick, {.tokens = 1'600, .cached = 0});
    chooser.finish(*pick);
  }
  EXPECT_LT(model.cached_tokens(1'600, 1'600, 1'600), 10u) << "an engine without a prefix cache";
  EXPECT_NEAR(model.line().ms({.work = 1'600}), 300, 40);
}

TEST(Chooser, LearnsFromAnswersInOnePieceToo) {
  World world(1);
  const auto expected_ttft = policy("expected-ttft");
  Chooser chooser(*expected_ttft, world.columns, world.index);
  TtftModel& model = world.columns.ttft_model(0);
  for (uint32_t i = 0; i < 200; ++i) {
    world.query.now += std::chrono::seconds(1);
    world.query.prompt_tokens = 100 + i * 37 % 4'000;
    const uint32_t tokens = 1 + i * 13 % 60;
    auto pick = chooser.pick(world.query, world.random);
    const auto at = world.query.now + std::chrono::microseconds(50) * world.query.prompt_tokens +
                    std::chrono::milliseconds(20) * tokens;
    chooser.first_byte(*pick);
    chooser.whole_answer(*pick, tokens, at);
    chooser.finish(*pick);
    chooser.whole_answer(*pick, 1, at + std::chrono::hours(1));  // too late
  }
  EXPECT_NEAR(model.line().ms({.work = 1'000}), 70, 10);
}

TEST(Chooser, SameSeedSamePicks) {
  const auto picks = [](uint64_t seed) {
    World world(16);
    const auto prefix_cache = policy("prefix-cache");
    Chooser chooser(*prefix_cache, world.columns, world.index);
    base::Random random(seed);
    std::vector<Slot> out;
    for (int i = 0; i < 200; ++i) {
      const auto blocks = chain(random.below(20), 30);
      world.query.blocks = blocks;
      auto pick = chooser.pick(world.query, random);
      out.push_back(pick->slot());
      if (i % 3 != 0) chooser.finish(*pick);
    }
    return out;
  };
  EXPECT_EQ(picks(7), picks(7));
  EXPECT_NE(picks(7), picks(8));
}

TEST(Chooser, ShardsShareOneSetOfColumns) {
  World world(3);
  const auto prefix_cache = policy("prefix-cache");
  std::vector<std::thread> shards;
  for (uint64_t shard = 0; shard < 4; ++shard) {
    shards.emplace_back([&, shard] {
      Chooser chooser(*prefix_cache, world.columns, world.index);
      base::Random random(shard);
      for (int i = 0; i < 2'000; ++i) {
        const auto blocks = chain(random.below(3), 20);
        const Query query{.model = world.table.find("m"), .blocks = blocks, .prompt_tokens = 10};
        auto pick = chooser.pick(query, random);
        if (i % 2 == 0) {
          chooser.finish(*pick);
        } else {
          chooser.undo(*pick, blocks);
        }
      }
    });
  }
  for (std::thread& shard : shards) shard.join();
  uint64_t given = 0;
  for (Slot slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(world.columns.in_flight(slot), 0u);
    given += world.columns.prompt_tokens_given(slot);
  }
  EXPECT_EQ(given, 4u * 1'000 * 10);
}

TEST(Chooser, GivesAReplicaSoManyRequestsAndNoMore) {
  World world(2);
  const auto random = policy("random");
  Chooser chooser(*random, world.columns, world.index);
  world.query.in_flight_max = 2;
  std::vector<Reservation> picks;
  while (auto pick = chooser.pick(world.query, world.random)) picks.push_back(*pick);
  EXPECT_EQ(picks.size(), 4u);
  EXPECT_TRUE(chooser.wants_room());
  EXPECT_EQ(world.columns.in_flight(0), 2u);
  EXPECT_EQ(world.columns.in_flight(1), 2u);
  chooser.finish(picks[0]);
  EXPECT_TRUE(chooser.pick(world.query, world.random));
}

TEST(Chooser, TellsReplicasWithoutRoomFromNone) {
  World world(2);
  const auto random = policy("random");
  Chooser chooser(*random, world.columns, world.index);
  world.query.in_flight_max = 1;
  world.columns.set_health(0, Health::kDown);
  world.columns.set_health(1, Health::kDown);
  EXPECT_FALSE(chooser.pick(world.query, world.random));
  EXPECT_FALSE(chooser.wants_room()) << "nobody is there";
  world.columns.set_health(1, Health::kSuspect);
  EXPECT_TRUE(chooser.pick(world.query, world.random));
  EXPECT_FALSE(chooser.pick(world.query, world.random));
  EXPECT_TRUE(chooser.wants_room());
}

TEST(Chooser, LeavesRoomToThoseWhoWaitForIt) {
  World world(2);
  const auto random = policy("random");
  Chooser chooser(*random, world.columns, world.index);
  world.query.in_flight_max = 1;
  world.columns.add_line(0);
  EXPECT_EQ(chooser.pick(world.query, world.random)->slot(), 1);
  EXPECT_FALSE(chooser.pick(world.query, world.random));
  EXPECT_TRUE(chooser.wants_room());
  world.query.in_line = true;
  EXPECT_EQ(chooser.pick(world.query, world.random)->slot(), 0);
}

TEST(Chooser, ShardsDoNotExceedTheBoundTogether) {
  constexpr uint32_t kMax = 3;
  World world(2);
  const auto least_request = policy("least-request");
  std::atomic<uint32_t> most{0};
  std::vector<std::thread> shards;
  for (uint64_t shard = 0; shard < 4; ++shard) {
    shards.emplace_back([&, shard] {
      Chooser chooser(*least_request, world.columns, world.index);
      base::Random draws(shard);
      const Query query{.model = world.table.find("m"), .blocks = {}, .in_flight_max = kMax};
      std::vector<Reservation> held;
      for (int i = 0; i < 5'000; ++i) {
        if (auto pick = chooser.pick(query, draws)) {
          const uint32_t now = world.columns.in_flight(pick->slot());
          uint32_t seen = most.load();
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          held.push_back(*pick);
        }
        if (held.size() > 1 || i % 3 == 0) {
          for (Reservation& reservation : held) chooser.finish(reservation);
          held.clear();
        }
      }
      for (Reservation& reservation : held) chooser.finish(reservation);
    });
  }
  for (std::thread& shard : shards) shard.join();
  EXPECT_LE(most.load(), kMax);
  EXPECT_EQ(world.columns.in_flight(0) + world.columns.in_flight(1), 0u);
}

}  // namespace
}  // namespace fairlead::pick
