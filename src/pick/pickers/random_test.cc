#include "pick/pickers/random.h"

#include <gtest/gtest.h>

#include <array>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(RandomPicker, DrawsEachAboutAsOften) {
  testing::World world(4);
  std::array<int, 4> count{};
  for (int i = 0; i < 4'000; ++i) ++count[RandomPicker().pick(world.context()).slot];
  for (const int n : count) EXPECT_NEAR(n, 1'000, 120);
}

}  // namespace
}  // namespace fairlead::pick
