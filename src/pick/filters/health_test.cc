#include "pick/filters/health.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

std::vector<Slot> filtered(std::vector<Health> states) {
  testing::World world(static_cast<uint32_t>(states.size()));
  for (size_t i = 0; i < states.size(); ++i) {
    world.columns.set_health(static_cast<Slot>(i), states[i]);
  }
  HealthFilter().apply(world.context());
  return world.scratch.candidates;
}

constexpr Health kReady = Health::kReady;
constexpr Health kSuspect = Health::kSuspect;
constexpr Health kEjected = Health::kEjected;
constexpr Health kDown = Health::kDown;

TEST(HealthFilter, KeepsWhatIsReady) {
  EXPECT_EQ(filtered({kReady, kReady}), (std::vector<Slot>{0, 1}));
  EXPECT_EQ(filtered({kSuspect, kReady, kDown, kReady}), (std::vector<Slot>{1, 3}));
}

TEST(HealthFilter, KeepsSuspectsIfNothingIsReady) {
  EXPECT_EQ(filtered({kSuspect, kDown, kSuspect}), (std::vector<Slot>{0, 2}));
}

TEST(HealthFilter, KeepsWhatIsEjectedIfNothingIsReady) {
  EXPECT_EQ(filtered({kEjected, kReady}), (std::vector<Slot>{1}));
  EXPECT_EQ(filtered({kEjected, kDown, kSuspect}), (std::vector<Slot>{0, 2}));
}

TEST(HealthFilter, NeverKeepsWhatIsDown) { EXPECT_TRUE(filtered({kDown, kDown}).empty()); }

}  // namespace
}  // namespace fairlead::pick
