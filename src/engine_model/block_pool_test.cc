#include "engine_model/block_pool.h"

#include <map>

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::engine_model {
namespace {

TEST(BlockPool, HandsOutTheBlockThatIsFreeLongest) {
  BlockPool pool(4, nullptr);
  EXPECT_EQ(pool.usable(), 3u);
  const BlockId a = pool.take();
  const BlockId b = pool.take();
  const BlockId c = pool.take();
  EXPECT_EQ(pool.free_count(), 0u);
  const BlockId chain[] = {a, b};
  pool.release_all(std::span(&c, 1));
  pool.release_all(chain);
  EXPECT_EQ(pool.take(), c);
  EXPECT_EQ(pool.take(), b) << "the tail of a chain goes before its head";
  EXPECT_EQ(pool.take(), a);
}

TEST(BlockPool, KeepsAFreedBlockFindableUntilItIsTaken) {
  EventLog log;
  BlockPool pool(3, &log);
  const BlockId a = pool.take();
  pool.cache(a, 77);
  pool.release_all(std::span(&a, 1));
  EXPECT_EQ(pool.find(77), a);
  pool.retain(a);
  EXPECT_EQ(pool.used_count(), 1u);
  pool.release_all(std::span(&a, 1));
  EXPECT_NE(pool.take(), a);
  EXPECT_TRUE(log.events().empty());
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.find(77), 0u);
  ASSERT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.hashes(log.events()[0])[0], 77u);
}

TEST(BlockPool, KeepsCopiesOfOneHashApart) {
  BlockPool pool(3, nullptr);
  const BlockId first = pool.take();
  const BlockId second = pool.take();
  pool.cache(first, 5);
  pool.cache(second, 5);
  EXPECT_EQ(pool.find(5), first);
  pool.release_all(std::span(&first, 1));
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.find(5), second);
}

TEST(BlockPool, ResetsOnlyWhenNothingIsInUse) {
  EventLog log;
  BlockPool pool(3, &log);
  const BlockId a = pool.take();
  pool.cache(a, 9);
  EXPECT_FALSE(pool.reset());
  EXPECT_EQ(pool.find(9), a);
  pool.release_all(std::span(&a, 1));
  EXPECT_TRUE(pool.reset());
  EXPECT_EQ(pool.find(9), 0u);
  ASSERT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.events()[0].kind, BlockEvent::Kind::kCleared);
  pool.take();
  pool.take();
  EXPECT_EQ(log.events().size(), 1u) << "a forgotten block is not announced as removed";
}

// Hashes are chosen to collide in the index, which holds the table's closing of gaps to account.
TEST(BlockPool, AgreesWithANaiveIndexUnderCollisions) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    BlockPool pool(16, nullptr);
    std::multimap<uint64_t, BlockId> naive;
    std::vector<BlockId> used;
    for (int step = 0; step < 400; ++step) {
      if (pool.free_count() > 0 && random.below(2) == 0) {
        const BlockId block = pool.take();
        std::erase_if(naive, [&](const auto& entry) { return entry.second == block; });
        const uint64_t hash = random.below(4) + 32 * random.below(3);
        pool.cache(block, hash);
        naive.emplace(hash, block);
        used.push_back(block);
      } else if (!used.empty()) {
        const size_t i = random.below(used.size());
        pool.release_all(std::span(&used[i], 1));
        used.erase(used.begin() + static_cast<std::ptrdiff_t>(i));
      }
      for (uint64_t hash = 0; hash < 100; ++hash) {
        const BlockId found = pool.find(hash);
        const auto expected = naive.find(hash);
        if (expected == naive.end()) {
          ASSERT_EQ(found, 0u) << "seed " << seed << " step " << step << " hash " << hash;
        } else {
          ASSERT_EQ(found, expected->second) << "seed " << seed << " step " << step;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::engine_model
