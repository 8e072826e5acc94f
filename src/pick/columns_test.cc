#include "pick/columns.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace fairlead::pick {
namespace {

TEST(Columns, CountARequestFromItsPickToItsEnd) {
  Columns columns(4);
  columns.begin(2, 100);
  columns.begin(2, 50);
  EXPECT_EQ(columns.in_flight(2), 2u);
  columns.end(2);
  EXPECT_EQ(columns.in_flight(2), 1u);
  EXPECT_EQ(columns.prompt_tokens_given(2), 150u);
  EXPECT_EQ(columns.in_flight(1), 0u);
}

TEST(Columns, ACounterNeverGoesBelowZero) {
  Columns columns(1);
  const uint64_t bugs = base::soft_checks_failed();
  columns.end(0);
  columns.begin(0, 5);
  columns.take_back_given(0, 9);
  EXPECT_EQ(columns.in_flight(0), 1u);
  EXPECT_EQ(columns.prompt_tokens_given(0), 0u);
  EXPECT_EQ(base::soft_checks_failed(), bugs + 2);
}

TEST(Columns, LoadHasWhatTheEngineHasBeyondOurs) {
  Columns columns(1);
  columns.begin(0, 0);
  columns.begin(0, 0);
  columns.set_scraped(0, {.running = 4, .waiting = 3, .kv_usage = 0.5F}, 2);
  EXPECT_EQ(columns.load(0), 7u);
  columns.end(0);
  EXPECT_EQ(columns.load(0), 6u);
  columns.set_scraped(0, {.running = 1}, 2);  // ours on the way: not negative
  EXPECT_EQ(columns.load(0), 1u);
}

TEST(Columns, AStaleSampleCountsForNothingButStaysReadable) {
  Columns columns(1);
  columns.set_scraped(0, {.running = 9, .kv_usage = 0.25F, .at = base::TimePoint(base::Nanos(7))},
                      0);
  columns.set_stale(0);
  EXPECT_EQ(columns.load(0), 0u);
  EXPECT_EQ(columns.scraped(0).running, 9u);
  EXPECT_EQ(columns.scraped(0).kv_usage, 0.25F);
  EXPECT_EQ(columns.scraped(0).at, base::TimePoint(base::Nanos(7)));
}

TEST(Columns, AStaleSampleStaysReadableButIsNotActedUpon) {
  Columns columns(2);
  EXPECT_FALSE(columns.fresh(0)) << "nothing was scraped yet";
  const Latency measured{.ttft = std::chrono::milliseconds(80),
                         .tpot = std::chrono::milliseconds(9)};
  columns.set_scraped(0, {.running = 3, .waiting = 2, .latency = measured}, 0);
  EXPECT_TRUE(columns.fresh(0));
  EXPECT_EQ(columns.ttft_ns(0), 80e6);
  EXPECT_EQ(columns.tpot_ns(0), 9e6);
  EXPECT_EQ(columns.waiting(0), 2u);
  EXPECT_EQ(columns.beyond_running(0, 5), 2);
  EXPECT_EQ(columns.beyond_running(0, 2), 0);
  columns.set_stale(0);
  EXPECT_FALSE(columns.fresh(0));
  EXPECT_TRUE(std::isnan(columns.ttft_ns(0)));
  EXPECT_TRUE(std::isnan(columns.tpot_ns(0)));
  EXPECT_EQ(columns.waiting(0), 0u);
  EXPECT_EQ(columns.beyond_running(0, 5), 0);
  EXPECT_EQ(columns.load(0), 0u);
  EXPECT_EQ(columns.scraped(0).waiting, 2u);
  EXPECT_EQ(columns.scraped(0).latency.tpot, measured.tpot);
}

TEST(Columns, ASlotIsKnownByItsReplicasIdentity) {
  Columns columns(2);
  EXPECT_NE(columns.identity(0), columns.identity(1));
  columns.set_scraped(1, {.waiting = 2}, 0);
  columns.open(1, {}, 4711);
  EXPECT_EQ(columns.identity(1), 4711u);
  EXPECT_FALSE(columns.fresh(1));
}

TEST(Columns, KnowWhetherAllAreReady) {
  Columns columns(3);
  EXPECT_EQ(columns.unready(), 0u);
  columns.set_health(0, Health::kSuspect);
  columns.set_health(0, Health::kDown);
  columns.set_health(1, Health::kDown);
  EXPECT_EQ(columns.unready(), 2u);
  columns.set_health(0, Health::kReady);
  columns.set_health(0, Health::kReady);
  EXPECT_EQ(columns.unready(), 1u);
  columns.open(1, {}, 1);
  EXPECT_EQ(columns.unready(), 0u);
}

TEST(Columns, KnowWhetherAllHaveTheirWholeShare) {
  Columns columns(2);
  EXPECT_EQ(columns.share(0), 1.0F);
  EXPECT_EQ(columns.returning(), 0u);
  columns.set_share(0, 0);
  columns.set_share(0, 0.5F);
  columns.set_share(1, 0.1F);
  EXPECT_EQ(columns.share(0), 0.5F);
  EXPECT_EQ(columns.returning(), 2u);
  columns.set_share(0, 1);
  columns.set_share(0, 1);
  EXPECT_EQ(columns.returning(), 1u);
  columns.open(1, {}, 1);
  EXPECT_EQ(columns.returning(), 0u) << "a new replica is not a returning one";
}

TEST(Columns, ANewReplicaStartsWithTheTokensOfTheOneGivenFewest) {
  Columns columns(3);
  columns.begin(0, 700);
  columns.begin(1, 300);
  columns.open(2, std::array<Slot, 2>{0, 1}, 2);
  EXPECT_EQ(columns.prompt_tokens_given(2), 300u);
  columns.begin(2, 50);
  columns.end(2);
  columns.open(2, {}, 2);
  EXPECT_EQ(columns.prompt_tokens_given(2), 0u);
}

}  // namespace
}  // namespace fairlead::pick
