#include "pick/pickers/round_robin.h"

#include <gtest/gtest.h>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

TEST(RoundRobinPicker, TakesTurnsExactly) {
  testing::World world(3);
  std::vector<Slot> picks;
  for (int i = 0; i < 7; ++i) picks.push_back(RoundRobinPicker().pick(world.context()).slot);
  EXPECT_EQ(picks, (std::vector<Slot>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(RoundRobinPicker, EachModelHasItsOwnTurn) {
  // Requests that alternate between two models with one turn would starve a replica of each.
  const std::vector<Table::Replica> replicas{{0, {"a", "b"}}, {1, {"a", "b"}}};
  testing::World world(replicas, 2);
  for (int i = 0; i < 4; ++i) {
    for (const char* model : {"a", "b"}) {
      world.query.model = world.table.find(model);
      EXPECT_EQ(RoundRobinPicker().pick(world.context()).slot, i % 2) << model;
    }
  }
}

}  // namespace
}  // namespace fairlead::pick
