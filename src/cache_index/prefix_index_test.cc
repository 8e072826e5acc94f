#include "cache_index/prefix_index.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/hash.h"
#include "base/random.h"

namespace fairlead::cache_index {
namespace {

using Blocks = std::vector<uint64_t>;

// A chain of `count` blocks that is `shared` blocks the same for all `leaf`s of one `root`.
Blocks chain(uint64_t root, size_t count, size_t shared = 0, uint64_t leaf = 0) {
  Blocks blocks;
  uint64_t parent = base::mix64(root);
  for (size_t i = 0; i < count; ++i) {
    parent = base::mix64(parent ^ (i < shared ? 0 : base::mix64(leaf + 987'654'321)));
    blocks.push_back(parent);
  }
  return blocks;
}

class PrefixIndexTest : public testing::Test {
 protected:
  void record(Slot slot, const Blocks& blocks) { index_.record(index_.holder(slot), blocks); }
  void undo(Slot slot, const Blocks& blocks) { index_.undo(index_.holder(slot), blocks); }
  void retire(Slot slot) { index_.retire(std::array{slot}); }
  size_t depth(Slot slot, const Blocks& blocks) {
    index_.lookup(blocks, depths_);
    return depths_.of(slot);
  }
  uint64_t entries() { return index_.stats().entries; }

  PrefixIndexOptions options_{.bytes_max = base::Bytes(4u << 20), .slots = 64};
  PrefixIndex index_{options_};
  Depths depths_{options_.slots};
};

TEST_F(PrefixIndexTest, TellsHowManyLeadingBlocksEachReplicaHolds) {
  record(3, chain(1, 10, 6, 1));
  record(5, chain(1, 8, 6, 2));
  EXPECT_EQ(depth(3, chain(1, 10, 6, 1)), 10u);
  EXPECT_EQ(depths_.of(5), 6u);
  EXPECT_EQ(depths_.holders().size(), 2u);
  EXPECT_EQ(depth(5, chain(1, 128, 6, 2)), 8u);
  EXPECT_EQ(depth(3, chain(2, 10)), 0u);
  EXPECT_TRUE(depths_.holders().empty());
  EXPECT_EQ(depth(3, {}), 0u);
}

TEST_F(PrefixIndexTest, KeepsDepthsWithinAnEighth) {
  for (size_t depth = 0; depth <= PrefixIndex::kBlocksMax; ++depth) {
    const size_t kept = PrefixIndex::depth_kept(depth);
    ASSERT_LE(kept, depth);
    ASSERT_GT((kept + 1) * 8, depth * 7) << depth;
    ASSERT_EQ(PrefixIndex::depth_kept(kept), kept);
    if (depth <= 16) {
      ASSERT_EQ(kept, depth);
    }
  }
  EXPECT_EQ(PrefixIndex::depth_kept(127), 120u);
  EXPECT_EQ(PrefixIndex::depth_kept(128), 128u);
  EXPECT_EQ(PrefixIndex::entries_for(128), 40u);
  for (const size_t length : {1u, 16u, 17u, 18u, 127u, 128u, 512u}) {
    record(1, chain(length, length));
    EXPECT_EQ(depth(1, chain(length, length)), PrefixIndex::depth_kept(length));
    EXPECT_EQ(entries(), PrefixIndex::entries_for(length));
    retire(1);
  }
}

TEST_F(PrefixIndexTest, UndoTakesBackOneRecordAndNoOther) {
  const Blocks blocks = chain(1, 20);
  record(1, blocks);
  record(1, blocks);
  undo(1, blocks);
  EXPECT_EQ(depth(1, blocks), 20u);
  undo(1, blocks);
  EXPECT_EQ(depth(1, blocks), 0u);
  EXPECT_EQ(entries(), 0u);
  undo(1, blocks);  // nothing left to take
  EXPECT_EQ(entries(), 0u);
}

TEST_F(PrefixIndexTest, UndoOfALongerPromptLeavesTheSharedPart) {
  record(1, chain(1, 6));
  record(1, chain(1, 20, 6, 9));
  undo(1, chain(1, 20, 6, 9));
  EXPECT_EQ(depth(1, chain(1, 20, 6, 9)), 0u);
  record(1, chain(7, 6, 6));
  record(1, chain(7, 20, 6, 9));
  undo(1, chain(7, 20, 6, 9));
  EXPECT_EQ(depth(1, chain(7, 20, 6, 9)), 6u);
}

TEST_F(PrefixIndexTest, ABlockRecordedVeryOftenSurvivesEveryUndo) {
  const Blocks blocks = chain(1, 1);
  for (uint32_t i = 0; i < PrefixIndex::kCountMax - 1; ++i) record(1, blocks);
  for (uint32_t i = 0; i < PrefixIndex::kCountMax - 1; ++i) undo(1, blocks);
  EXPECT_EQ(depth(1, blocks), 0u);
  for (uint32_t i = 0; i < PrefixIndex::kCountMax; ++i) record(1, blocks);
  for (uint32_t i = 0; i < PrefixIndex::kCountMax; ++i) undo(1, blocks);
  EXPECT_EQ(depth(1, blocks), 1u);
}

TEST_F(PrefixIndexTest, ASlotUsedAgainDoesNotInheritEntries) {
  const Blocks blocks = chain(1, 10);
  const Holder before = index_.holder(2);
  record(2, blocks);
  record(3, blocks);
  retire(2);
  EXPECT_EQ(depth(2, blocks), 0u);
  EXPECT_EQ(depths_.of(3), 10u);
  EXPECT_EQ(entries(), 10u);
  index_.record(before, blocks);  // a late pick of the old replica
  EXPECT_EQ(depth(2, blocks), 0u);
  EXPECT_EQ(entries(), 10u);
  record(2, blocks);
  index_.undo(before, blocks);  // a late failure of the old replica
  EXPECT_EQ(depth(2, blocks), 10u);
}

TEST_F(PrefixIndexTest, GenerationsMayWrapAround) {
  const Blocks blocks = chain(1, 4);
  PrefixIndex index({.bytes_max = base::Bytes(1 << 10), .slots = 8});
  Depths depths(8);
  for (int i = 0; i < 10'000; ++i) {
    index.lookup(blocks, depths);
    ASSERT_EQ(depths.of(7), 0u) << i;
    index.record(index.holder(7), blocks);
    index.lookup(blocks, depths);
    ASSERT_EQ(depths.of(7), 4u) << i;
    index.retire(std::array<Slot, 1>{7});
    ASSERT_EQ(index.stats().entries, 0u);
  }
}

TEST_F(PrefixIndexTest, RemembersTheLastReplicasOfABlockThatAllHold) {
  const Blocks blocks = chain(1, 30);
  for (Slot slot = 0; slot < 64; ++slot) record(slot, blocks);
  EXPECT_EQ(depth(63, blocks), 30u);
  EXPECT_EQ(depths_.of(0), 0u);
  EXPECT_GE(depths_.holders().size(), 8u);
  EXPECT_LE(entries(), PrefixIndex::entries_for(30) * PrefixIndex::kWaysPerBucket);
}

// What the index should say: how often each (block, replica) was recorded and not undone.
class Model {
 public:
  void add(Slot slot, const Blocks& blocks, int count) {
    for (const uint64_t hash : blocks) {
      int& now = counts_[{slot, hash}];
      now += count;
      if (now == 0) counts_.erase({slot, hash});
    }
  }
  void retire(Slot slot) {
    std::erase_if(counts_, [&](const auto& entry) { return entry.first.first == slot; });
  }
  size_t depth(Slot slot, const Blocks& blocks) const {
    size_t depth = 0;
    while (depth < blocks.size() && counts_.contains({slot, blocks[depth]})) ++depth;
    return PrefixIndex::depth_kept(depth);
  }

 private:
  std::map<std::pair<Slot, uint64_t>, int> counts_;
};

TEST_F(PrefixIndexTest, AgreesWithAModelWhileNothingIsEvicted) {
  constexpr Slot kSlots = 6;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    base::Random random(seed);
    const auto prompt = [&] {
      return chain(seed * 1000 + random.below(3), 1 + random.below(128), random.below(4) * 32,
                   random.below(5));
    };
    Model model;
    std::vector<std::pair<Holder, Blocks>> open;
    for (int step = 0; step < 200; ++step) {
      const Slot slot = static_cast<Slot>(random.below(kSlots));
      if (const uint64_t dice = random.below(20); dice < 10) {
        open.emplace_back(index_.holder(slot), prompt());
        index_.record(open.back().first, open.back().second);
        model.add(slot, open.back().second, 1);
      } else if (dice < 15 && !open.empty()) {
        std::swap(open[random.below(open.size())], open.back());
        const auto& [holder, blocks] = open.back();
        if (holder.generation == index_.holder(holder.slot).generation) {
          model.add(holder.slot, blocks, -1);
        }
        index_.undo(holder, blocks);
        open.pop_back();
      } else if (dice == 15) {
        retire(slot);
        model.retire(slot);
      }
      const Blocks asked = prompt();
      index_.lookup(asked, depths_);
      for (Slot s = 0; s < kSlots; ++s) {
        ASSERT_EQ(depths_.of(s), model.depth(s, asked)) << "seed " << seed << " step " << step;
      }
    }
    for (Slot s = 0; s < kSlots; ++s) retire(s);
    ASSERT_EQ(entries(), 0u) << "seed " << seed;
  }
}

TEST_F(PrefixIndexTest, StaysWithinItsBytesAndClaimsNothingThatWasNotRecorded) {
  const PrefixIndexOptions options{.bytes_max = base::Bytes(64 << 10), .slots = 16};
  PrefixIndex index(options);
  const uint64_t entries_max = index.stats().entries_max;
  EXPECT_EQ(entries_max * PrefixIndex::kWordBytes, options.bytes_max.count);
  base::Random random(5);
  for (uint64_t i = 0; i < 3'000; ++i) {
    const Slot slot = static_cast<Slot>(i % 16);
    index.record(index.holder(slot), chain(i, 64));
    ASSERT_LE(index.stats().entries, entries_max);
    const uint64_t asked = i - random.below(std::min<uint64_t>(i + 1, 100));
    index.lookup(chain(asked, 64), depths_);
    for (const Slot holder : depths_.holders()) ASSERT_EQ(holder, asked % 16);
  }
  EXPECT_EQ(index.stats().entries, entries_max);
  EXPECT_GT(index.stats().evictions, 80'000u);
  for (Slot slot = 0; slot < 16; ++slot) index.retire(std::array{slot});
  EXPECT_EQ(index.stats().entries, 0u);
}

TEST_F(PrefixIndexTest, WhatIsUsedAgainOutlivesWhatIsNot) {
  PrefixIndex index({.bytes_max = base::Bytes(64 << 10), .slots = 4});
  const Blocks hot = chain(1'000'000, 64);
  size_t hot_depths = 0;
  size_t cold_depths = 0;
  for (uint64_t i = 0; i < 2'000; ++i) {
    index.record(index.holder(1), chain(i, 64));
    if (i % 10 == 0) {
      index.lookup(hot, depths_);
      hot_depths += depths_.of(1);
      index.record(index.holder(1), hot);
      index.lookup(chain(i > 400 ? i - 400 : 1'999'999, 64), depths_);
      cold_depths += depths_.of(1);
    }
  }
  EXPECT_GT(hot_depths, 199u * 60);
  EXPECT_LT(cold_depths, 199u * 20);
}

TEST_F(PrefixIndexTest, FindsNearlyEverythingWhenHalfFull) {
  PrefixIndex index({.bytes_max = base::Bytes(1 << 20), .slots = 4});
  const uint64_t prompts = index.stats().entries_max / 2 / PrefixIndex::entries_for(128);
  for (uint64_t i = 0; i < prompts; ++i) index.record(index.holder(2), chain(i, 128));
  uint64_t found = 0;
  for (uint64_t i = 0; i < prompts; ++i) {
    index.lookup(chain(i, 128), depths_);
    found += depths_.of(2);
  }
  EXPECT_GT(found, prompts * 128 * 99 / 100);
}

TEST_F(PrefixIndexTest, IsEmptyAgainAfterManyThreadsHaveGone) {
  static constexpr Slot kSlots = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      base::Random random(static_cast<uint64_t>(t));
      Depths depths(options_.slots);
      for (int i = 0; i < 3'000; ++i) {
        const Blocks blocks = chain(random.below(4), 1 + random.below(64), 32, random.below(4));
        const Holder holder = index_.holder(static_cast<Slot>(random.below(kSlots)));
        index_.record(holder, blocks);
        index_.lookup(blocks, depths);
        for (const Slot slot : depths.holders()) ASSERT_LT(slot, kSlots);
        if (random.below(2) == 0) index_.undo(holder, blocks);
        if (t == 0 && i % 50 == 0) index_.retire(std::array{holder.slot});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(entries(), 0u);
  const std::array<Slot, kSlots> all{0, 1, 2, 3, 4, 5, 6, 7};
  index_.retire(all);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(PrefixIndexTest, IsEmptyAgainWhenEveryThreadUndoesWhatItRecorded) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      base::Random random(static_cast<uint64_t>(t));
      for (int i = 0; i < 3'000; ++i) {
        const Blocks blocks = chain(random.below(2), 1 + random.below(64), 32, random.below(2));
        const Holder holder = index_.holder(static_cast<Slot>(random.below(3)));
        index_.record(holder, blocks);
        index_.undo(holder, blocks);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entries(), 0u);
}

TEST(PrefixIndexOptions, AreBounded) {
  using Options = PrefixIndexOptions;
  EXPECT_TRUE((Options{.bytes_max = base::Bytes(1 << 10), .slots = 1}.validate()));
  EXPECT_TRUE((Options{.bytes_max = base::Bytes(16ull << 30), .slots = 1 << 14}.validate()));
  EXPECT_FALSE((Options{.bytes_max = base::Bytes((1 << 10) - 1)}.validate()));
  EXPECT_FALSE((Options{.bytes_max = base::Bytes((16ull << 30) + 1)}.validate()));
  EXPECT_FALSE((Options{.slots = 0}.validate()));
  EXPECT_FALSE((Options{.slots = (1 << 14) + 1}.validate()));
}

}  // namespace
}  // namespace fairlead::cache_index
