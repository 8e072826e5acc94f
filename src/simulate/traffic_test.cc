#include "simulate/traffic.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace fairlead::simulate {
namespace {

using std::chrono::seconds;

uint32_t tokens(const PlannedRequest& request) {
  uint32_t sum = 0;
  for (const Text& text : request.prompt) sum += text.tokens;
  return sum;
}

TEST(Traffic, IsTheSameFromASeedAndAnotherFromAnother) {
  for (const TrafficKind kind :
       {TrafficKind::kSharedPrompt, TrafficKind::kPrefixGroups, TrafficKind::kConversations,
        TrafficKind::kHotPrefix, TrafficKind::kRandom}) {
    const Traffic a = make_traffic(kind, 200, 1);
    const Traffic b = make_traffic(kind, 200, 1);
    const Traffic c = make_traffic(kind, 200, 2);
    ASSERT_EQ(a.size(), 200u);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].at, b[i].at);
      EXPECT_EQ(a[i].prompt[0].id, b[i].prompt[0].id);
      EXPECT_EQ(a[i].output_tokens, b[i].output_tokens);
    }
    EXPECT_NE(a[0].prompt[0].id, c[0].prompt[0].id) << to_string(kind);
  }
}

TEST(Traffic, ATurnBeginsWithAllThatWasSaid) {
  const Traffic traffic = make_traffic(TrafficKind::kConversations, 300, 3);
  size_t later = 0;
  for (size_t i = 0; i < traffic.size(); ++i) {
    const PlannedRequest& turn = traffic[i];
    if (turn.follows == kFollowsNone) continue;
    ++later;
    ASSERT_EQ(turn.follows, i - 1);
    const PlannedRequest& before = traffic[turn.follows];
    ASSERT_EQ(turn.prompt.size(), before.prompt.size() + 2);
    for (size_t t = 0; t < before.prompt.size(); ++t) {
      EXPECT_EQ(turn.prompt[t].id, before.prompt[t].id);
    }
    EXPECT_EQ(turn.prompt[before.prompt.size()].id, before.answer);
    EXPECT_EQ(turn.prompt[before.prompt.size()].tokens, before.output_tokens);
  }
  EXPECT_GT(later, 200u);
}

TEST(Traffic, OnePrefixIsHot) {
  std::map<uint64_t, int> count;
  for (const PlannedRequest& r : make_traffic(TrafficKind::kHotPrefix, 2'000, 1)) {
    ++count[r.prompt[0].id];
  }
  int most = 0;
  for (const auto& [id, n] : count) most = std::max(most, n);
  EXPECT_NEAR(most, 1'400, 80);
  EXPECT_GT(count.size(), 150u);
}

TEST(Traffic, RandomPromptsShareNothing) {
  std::set<uint64_t> ids;
  for (const PlannedRequest& r : make_traffic(TrafficKind::kRandom, 1'000, 1)) {
    ids.insert(r.prompt[0].id);
    EXPECT_GE(tokens(r), 16u);
    EXPECT_LE(tokens(r), 16'000u);
  }
  EXPECT_EQ(ids.size(), 1'000u);
}

TEST(Traffic, TheRateCountsLaterTurnsToo) {
  for (const TrafficKind kind : {TrafficKind::kRandom, TrafficKind::kConversations}) {
    Traffic traffic = make_traffic(kind, 1'000, 1);
    set_rate(traffic, 50);
    base::Nanos last{0};
    for (const PlannedRequest& r : traffic) {
      if (r.follows == kFollowsNone) last = std::max(last, r.at);
    }
    EXPECT_NEAR(base::to_seconds(last), 20, 0.01);
  }
}

TEST(Traffic, PressedNobodyWaits) {
  Traffic traffic = make_traffic(TrafficKind::kConversations, 100, 1);
  press(traffic);
  for (const PlannedRequest& r : traffic) EXPECT_EQ(r.at, base::Nanos(0));
}

TEST(Recorded, SharedIdsAreSharedTextsAndLengthsAreKept) {
  const workload::Trace trace{
      {.at = seconds(0), .turns = {{.blocks = {0, 1, 2}, .prompt_tokens = 1'100}}},
      {.at = seconds(3), .turns = {{.blocks = {0, 7}, .prompt_tokens = 700, .output_tokens = 5}}},
      {.at = seconds(6), .turns = {{.question = "no blocks"}}}};
  const Traffic traffic = make_recorded_traffic(trace, 1);
  ASSERT_EQ(traffic.size(), 2u);
  EXPECT_LT(traffic[0].at, seconds(3));
  EXPECT_GE(traffic[1].at, seconds(3));
  EXPECT_EQ(tokens(traffic[0]), 1'100u);
  EXPECT_EQ(tokens(traffic[1]), 700u);
  EXPECT_EQ(traffic[0].prompt[0].id, traffic[1].prompt[0].id);
  EXPECT_NE(traffic[0].prompt[1].id, traffic[1].prompt[1].id);
  EXPECT_EQ(traffic[0].output_tokens, 1u) << "an engine gives at least one";
  EXPECT_EQ(traffic[1].output_tokens, 5u);
}

TEST(Recorded, WhatIsWrittenIsReadAgain) {
  Traffic sent = make_traffic(TrafficKind::kPrefixGroups, 50, 1);
  set_rate(sent, 1'000);
  workload::TraceReader reader(workload::TraceFormat::kMooncake);
  ASSERT_TRUE(reader.feed(to_mooncake(sent)));
  const auto trace = reader.finish();
  ASSERT_TRUE(trace) << trace.error().describe();
  ASSERT_EQ(trace->size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    const workload::RecordedTurn& turn = (*trace)[i].turns[0];
    EXPECT_EQ(turn.prompt_tokens, tokens(sent[i]));
    EXPECT_EQ(turn.output_tokens, sent[i].output_tokens);
    EXPECT_EQ(turn.blocks.size(), 5u);
    const workload::RecordedTurn& first = (*trace)[0].turns[0];
    EXPECT_EQ(turn.blocks[3] == first.blocks[3], sent[i].prompt[0].id == sent[0].prompt[0].id);
    EXPECT_EQ(turn.blocks[4] == first.blocks[4], i == 0) << "a question of its own";
  }
}

TEST(Recorded, APromptIsCutToWhatAReplicaHolds) {
  const workload::Trace trace{
      {.turns = {{.blocks = std::vector<uint64_t>(1'000), .prompt_tokens = 512'000}}}};
  EXPECT_EQ(tokens(make_recorded_traffic(trace, 1)[0]), 400'000u);
}

TEST(Traffic, ASliceBeginsAtZero) {
  const Traffic traffic = make_traffic(TrafficKind::kRandom, 100, 1);
  const Traffic part = slice(traffic, 90, 50);
  ASSERT_EQ(part.size(), 10u);
  EXPECT_EQ(part[0].at, base::Nanos(0));
  EXPECT_EQ(part[9].at, traffic[99].at - traffic[90].at);
  EXPECT_TRUE(slice(traffic, 100, 1).empty());
}

}  // namespace
}  // namespace fairlead::simulate
