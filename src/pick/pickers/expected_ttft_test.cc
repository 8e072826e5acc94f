#include "pick/pickers/expected_ttft.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "pick/scorers/expected_ttft.h"
#include "pick/scorers/prefix.h"
#include "pick/testing.h"

namespace fairlead::pick {
namespace {

class ExpectedTtftPickerTest : public ::testing::Test {
 protected:
  static constexpr size_t kBlocks = 96;

  explicit ExpectedTtftPickerTest(uint32_t replicas = 4) : world_(replicas) {
    world_.query.blocks = prompt_;
    world_.query.prompt_tokens = kBlocks * 16;
  }
  Pick pick(ExpectedTtftOptions options = {}) {
    const std::array<const Scorer*, 2> scorers{&prefix_, &ttft_};
    return ExpectedTtftPicker(options).pick(world_.context(scorers));
  }
  // Somebody else's prompts wait there, or have had their first token.
  void queue(Slot slot, uint32_t tokens) {
    world_.columns.ttft_model(slot).begin({.prompt_tokens = tokens, .uncached_tokens = tokens});
  }
  void decode(Slot slot, uint32_t tokens) {
    world_.columns.ttft_model(slot).begin({.prompt_tokens = tokens, .uncached_tokens = 0});
  }

  testing::World world_;
  const testing::Blocks prompt_ = testing::chain(1, kBlocks);
  PrefixScorer prefix_;
  ExpectedTtftScorer ttft_;
};

TEST_F(ExpectedTtftPickerTest, PrefersTheHolder) {
  world_.hold(2, prompt_);
  EXPECT_EQ(pick().slot, 2);
  EXPECT_EQ(pick().reason, Reason::kHoldsPrefix);
}

TEST_F(ExpectedTtftPickerTest, WaitsForTheHolderUpToWhatTheMissCosts) {
  // With a price of 1 a miss costs its 1,536 tokens twice.
  constexpr ExpectedTtftOptions kOptions{.miss_price = 1, .decode_price = 0};
  world_.hold(2, prompt_);
  queue(2, 2 * 1'536 - 200);
  EXPECT_EQ(pick(kOptions).slot, 2);
  queue(2, 400);
  const Pick left = pick(kOptions);
  EXPECT_NE(left.slot, 2);
  EXPECT_EQ(left.reason, Reason::kHolderTooBusy);
  EXPECT_EQ(pick({.miss_price = 2, .decode_price = 0}).slot, 2);
}

TEST_F(ExpectedTtftPickerTest, TheMoreHoldersTheCheaperIsAnotherCopy) {
  // A miss costs 1,536 tokens and as many times the price: 76.8 ms each.
  constexpr ExpectedTtftOptions kOptions{.miss_price = 4, .decode_price = 0, .load_factor = 10};
  constexpr uint32_t kWait = 4'300;  // 2.8 times as many
  world_.hold(0, prompt_);
  queue(0, kWait);
  EXPECT_EQ(pick(kOptions).slot, 0) << "4 + 1 are more";
  world_.hold(1, prompt_);
  queue(1, kWait);
  EXPECT_LT(pick(kOptions).slot, 2) << "and so are 4/2 + 1";
  world_.hold(2, prompt_);
  queue(2, kWait);
  EXPECT_EQ(pick(kOptions).slot, 3) << "4/3 + 1 are not";
}

TEST_F(ExpectedTtftPickerTest, ContextInFlightCostsMoreThanItDelaysTheFirstToken) {
  world_.query.prompt_tokens = 20;
  world_.query.blocks = {};
  decode(0, 20'000);  // 2 ms
  queue(1, 200);      // 10 ms
  queue(2, 5'000);
  queue(3, 5'000);
  EXPECT_EQ(pick({.decode_price = 0, .load_factor = 100}).slot, 0);
  EXPECT_EQ(pick({.decode_price = 10, .load_factor = 100}).slot, 1);
}

TEST_F(ExpectedTtftPickerTest, TakesTheHolderOfLessWhereThatOfMoreIsBusy) {
  world_.hold(1, testing::Blocks(prompt_.begin(), prompt_.begin() + 64));
  world_.hold(2, prompt_);
  queue(2, 9'000);
  EXPECT_EQ(pick().slot, 1);
}

TEST_F(ExpectedTtftPickerTest, AHolderPastTheBoundIsLeftHoweverQuickItWouldBe) {
  world_.hold(2, prompt_);
  constexpr ExpectedTtftOptions kOptions{.load_factor = 1.25, .slack_requests = 2};
  constexpr uint32_t kBound = 5'585;  // where c = 1.25 * (c / 4 + 2 x 1,536)
  decode(2, kBound - 20);
  EXPECT_EQ(pick(kOptions).slot, 2);
  decode(2, 40);
  EXPECT_NE(pick(kOptions).slot, 2);
  EXPECT_EQ(pick({.load_factor = 2, .slack_requests = 2}).slot, 2);
  EXPECT_EQ(pick({.load_factor = 1.25, .slack_requests = 3}).slot, 2);
}

TEST_F(ExpectedTtftPickerTest, TiesGoToTheFewestComputedTokensThenTheLowestSlot) {
  std::set<Slot> picked;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    world_.random = base::Random(seed);
    picked.insert(pick().slot);
  }
  EXPECT_EQ(picked, std::set<Slot>{0});
  for (const Slot slot : std::array<Slot, 3>{0, 1, 3}) {
    const PromptWork past{.prompt_tokens = 100, .uncached_tokens = 100};
    world_.columns.ttft_model(slot).begin(past);
    world_.columns.ttft_model(slot).first_byte(past);
    world_.columns.ttft_model(slot).end(past);
  }
  EXPECT_EQ(pick().slot, 2);
}

TEST_F(ExpectedTtftPickerTest, APromptOfNothingIsPickedForAsWell) {
  world_.query.blocks = {};
  world_.query.prompt_tokens = 0;
  EXPECT_EQ(pick().reason, Reason::kPrefixCold);
}

TEST_F(ExpectedTtftPickerTest, OptionsAreBounded) {
  EXPECT_TRUE(ExpectedTtftOptions{}.validate());
  EXPECT_TRUE((
      ExpectedTtftOptions{.miss_price = 0, .decode_price = 0, .load_factor = 1, .slack_requests = 1}
          .validate()));
  EXPECT_FALSE(ExpectedTtftOptions{.miss_price = -0.1}.validate());
  EXPECT_FALSE(ExpectedTtftOptions{.decode_price = 100.1}.validate());
  EXPECT_FALSE(ExpectedTtftOptions{.load_factor = 0.99}.validate());
  EXPECT_FALSE(ExpectedTtftOptions{.slack_requests = 0.9}.validate());
  EXPECT_FALSE(ExpectedTtftOptions{.miss_price = std::nan("")}.validate());
}

class ManyReplicas : public ExpectedTtftPickerTest {
 protected:
  ManyReplicas() : ExpectedTtftPickerTest(500) {}
};

TEST_F(ManyReplicas, LooksAtTheHoldersAndASampleOnly) {
  for (const Slot slot : std::array<Slot, 3>{17, 400, 499}) world_.hold(slot, prompt_);
  const Pick first = pick();
  EXPECT_EQ(first.slot, 17);
  EXPECT_LE(world_.scratch.shortlist.size(), ExpectedTtftPicker::kSample + 3);
  const std::set<Slot> once(world_.scratch.shortlist.begin(), world_.scratch.shortlist.end());
  EXPECT_EQ(once.size(), world_.scratch.shortlist.size()) << "no slot twice";
}

TEST_F(ManyReplicas, AHolderThatIsNoCandidateIsNotPicked) {
  world_.hold(17, prompt_);
  std::erase(world_.scratch.candidates, 17);
  EXPECT_NE(pick().slot, 17);
}

TEST_F(ManyReplicas, ColdPromptsGoEverywhere) {
  std::set<Slot> picked;
  for (int i = 0; i < 2'000; ++i) {
    const Slot slot = pick().slot;
    picked.insert(slot);
    queue(slot, 1'536);
  }
  EXPECT_EQ(picked.size(), 500u);
}

}  // namespace
}  // namespace fairlead::pick
