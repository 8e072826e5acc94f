#include "pick/pickers/session_affinity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "pick/scorers/load.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

const LoadScorer kSessionLoad;
const std::array<const Scorer*, 1> kSessionScorers{&kSessionLoad};

Pick pick(testing::World& world, std::optional<uint64_t> session) {
  world.query.session = session;
  return SessionAffinityPicker().pick(world.context(kSessionScorers));
}

void remove(testing::World& world, Slot slot) { std::erase(world.scratch.candidates, slot); }

TEST(SessionAffinityPicker, ASessionStaysAndSessionsSpread) {
  testing::World world(4);
  std::array<int, 4> count{};
  for (uint64_t i = 0; i < 4'000; ++i) {
    const Pick first = pick(world, base::mix64(i));
    EXPECT_EQ(first.reason, Reason::kSession);
    EXPECT_EQ(pick(world, base::mix64(i)).slot, first.slot);
    ++count[first.slot];
  }
  for (const int n : count) EXPECT_NEAR(n, 1'000, 120);
}

TEST(SessionAffinityPicker, OnlyTheSessionsOfAReplicaThatGoesMoveAndTheyReturn) {
  testing::World world(5);
  testing::World without(5);
  remove(without, 2);
  std::array<int, 5> moved{};
  for (uint64_t i = 0; i < 5'000; ++i) {
    const Slot before = pick(world, base::mix64(i)).slot;
    const Slot after = pick(without, base::mix64(i)).slot;
    if (before == 2) {
      ++moved[after];
    } else {
      EXPECT_EQ(after, before) << "session " << i;
    }
  }
  EXPECT_EQ(moved[2], 0);
  for (const Slot slot : std::array<Slot, 4>{0, 1, 3, 4}) EXPECT_NEAR(moved[slot], 250, 70);
}

TEST(SessionAffinityPicker, ItsHomeDoesNotDependOnSlots) {
  // Two routers that met the same replicas in another order.
  testing::World here(3);
  testing::World there(3);
  const std::array<uint64_t, 3> identities{base::mix64(70), base::mix64(71), base::mix64(72)};
  for (Slot slot = 0; slot < 3; ++slot) {
    here.columns.open(slot, {}, identities[slot]);
    there.columns.open(slot, {}, identities[2u - slot]);
  }
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pick(here, base::mix64(i)).slot, 2 - pick(there, base::mix64(i)).slot);
  }
}

TEST(SessionAffinityPicker, YieldsAtTheBoundAndReturnsBelowIt) {
  testing::World world(4);
  const Slot home = pick(world, 7).slot;
  world.load(home, 1);  // mean 0.25, bound 1.25 * 1.25 = 1.56
  EXPECT_EQ(pick(world, 7).slot, home);
  world.load(home, 1);  // mean 0.5, bound 1.875
  const Pick moved = pick(world, 7);
  EXPECT_NE(moved.slot, home);
  EXPECT_EQ(moved.reason, Reason::kSessionTooBusy);
  EXPECT_EQ(pick(world, 7).slot, moved.slot) << "the second place is the session's own, too";
  world.columns.end(home);
  EXPECT_EQ(pick(world, 7).slot, home);
}

TEST(SessionAffinityPicker, OneFloodingSessionStaysWithinTheBoundEverywhere) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    testing::World world(8);
    for (int i = 0; i < 400; ++i) world.load(pick(world, base::mix64(seed)).slot, 1);
    for (const Slot slot : world.scratch.candidates) {
      EXPECT_LE(world.columns.load(slot), 65u) << "seed " << seed;  // 1.25 * (50 + 1) + 1
    }
  }
}

TEST(SessionAffinityPicker, WithoutASessionTheLeastLoadedIsPicked) {
  testing::World world(3);
  world.load(0, 2);
  world.load(2, 1);
  const Pick free = pick(world, std::nullopt);
  EXPECT_EQ(free.slot, 1);
  EXPECT_EQ(free.reason, Reason::kLeastLoaded);
}

}  // namespace
}  // namespace fairlead::pick
