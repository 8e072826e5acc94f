#include "net/byte_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace fairlead::net {
namespace {

TEST(ByteBudget, GivesAllOfItsLimitToOneLoop) {
  ByteBudget budget(base::Bytes(1'000), 1);
  EXPECT_TRUE(budget.try_take(0, 990));
  EXPECT_FALSE(budget.try_take(0, 11));
  EXPECT_FALSE(budget.has_room(0, 11));
  EXPECT_TRUE(budget.has_room(0, 10));
  EXPECT_TRUE(budget.try_take(0, 10));
  EXPECT_EQ(budget.used(), 1'000U);
  budget.give_back(0, 1'000);
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(budget.try_take(0, 1'000));
}

TEST(ByteBudget, ALoopKeepsLittleFromTheOthers) {
  ByteBudget budget(base::Bytes(64'000), 4);
  for (size_t loop = 0; loop < 4; ++loop) {
    EXPECT_TRUE(budget.try_take(loop, 16'000 - 1'000));
    budget.give_back(loop, 16'000 - 1'000);
  }
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(budget.try_take(0, 64'000 - 64'000 / 8));
}

TEST(ByteBudget, IsNeverOverdrawnByThreads) {
  ByteBudget budget(base::Bytes(10'000), 4);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> held{0};
  for (size_t loop = 0; loop < 4; ++loop) {
    threads.emplace_back([&, loop] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t bytes = 1 + (i * 977 + loop) % 4'000;
        if (!budget.try_take(loop, bytes)) continue;
        EXPECT_LE(held.fetch_add(bytes) + bytes, 10'000U);
        held.fetch_sub(bytes);
        budget.give_back(loop, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace fairlead::net
