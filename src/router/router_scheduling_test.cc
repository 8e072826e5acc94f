// Which replica a router gives a request to, end to end in virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/random.h"
#include "codec/json.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// About 1 KiB that no other number shares.
std::string prefix(uint64_t number) {
  std::string text;
  base::Random random(number + 1);
  while (text.size() < 1024) text += fmt::format("{:016x} ", random.next());
  return text;
}

Script slow(base::Nanos wait) {
  Script script = answer(200, "{}");
  script.steps[0].wait = wait;
  return script;
}

class RouterScheduling : public RouterTest {
 protected:
  void start_engines(int count, RouterConfig config = {}) {
    for (int i = 1; i <= count; ++i) engine(i);
    start(std::move(config));
  }
  // Which engine answers; the other counts stay.
  size_t where(const std::string& body, size_t shard = 0) {
    std::vector<size_t> before;
    for (const FakeEngine& e : engines_) before.push_back(e.seen.size());
    EXPECT_EQ(ask({.body = body, .shard = shard}).status, 200);
    for (size_t i = 0; i < engines_.size(); ++i) {
      if (engines_[i].seen.size() > before[i]) return i;
    }
    ADD_FAILURE() << "no engine was asked";
    return engines_.size();
  }
  codec::Json explain(const std::string& body) {
    const Reply& reply = ask({.body = body, .fields = "x-fairlead-explain: 1\r\n"});
    auto json = codec::parse_json(reply.field("x-fairlead-explain"));
    EXPECT_TRUE(json) << reply.body;
    return json ? *json : codec::Json();
  }
  std::vector<size_t> counts() const {
    std::vector<size_t> out;
    for (const FakeEngine& e : engines_) out.push_back(e.seen.size());
    return out;
  }
};

TEST_F(RouterScheduling, RepeatsGoToTheReplicaThatHoldsTheirPrefix) {
  start_engines(3);
  std::vector<uint64_t> order;
  for (uint64_t i = 0; i < 200; ++i) order.push_back(i % 40);
  base::Random random(7);
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::map<uint64_t, size_t> holder;
  for (const uint64_t number : order) {
    // The question differs, the system prompt does not.
    const size_t at = where(chat(prefix(number) + fmt::format("question {}", random.next())));
    const auto [known, cold] = holder.emplace(number, at);
    EXPECT_EQ(known->second, at) << number << (cold ? "" : " moved");
  }
  const std::vector<size_t> shares = counts();
  EXPECT_LE(*std::max_element(shares.begin(), shares.end()), 200U * 45 / 100);
}

TEST_F(RouterScheduling, WhatOneShardHasPlacedTheOthersFind) {
  start_engines(3, {.loops = 2});
  for (uint64_t i = 0; i < 12; ++i) {
    const std::string body = chat(prefix(i));
    const size_t at = where(body, 0);
    EXPECT_EQ(where(body, 1), at) << i;
  }
}

TEST_F(RouterScheduling, AColdPrefixGoesToTheLessLoadedReplica) {
  start_engines(2);
  engines_[0].script = engines_[1].script = slow(seconds(30));
  send(post(chat(prefix(1))));
  run_for(milliseconds(10));
  const size_t busy = engines_[0].active() == 1 ? 0 : 1;
  for (uint64_t i = 2; i < 5; ++i) {
    send(post(chat(prefix(i))));
    run_for(milliseconds(10));
  }
  EXPECT_EQ(engines_[0].active(), 2U);
  EXPECT_EQ(engines_[1].active(), 2U);
  engines_[busy].script = engines_[1 - busy].script = answer(200, "{}");
}

TEST_F(RouterScheduling, OfEquallyLoadedReplicasTheOneGivenFewerTokensGetsAColdPrefix) {
  start_engines(2);
  std::string large;
  for (uint64_t i = 100; i < 105; ++i) large += prefix(i);
  const size_t first = where(chat(large));
  for (uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(where(chat(prefix(i))), 1 - first) << i;
}

TEST_F(RouterScheduling, AHotPrefixSpreadsInsteadOfDrowningItsOwner) {
  start_engines(2);
  where(chat(prefix(1)));
  for (FakeEngine& e : engines_) {
    e.seen.clear();
    e.script = slow(seconds(5));
  }
  for (int i = 0; i < 64; ++i) send(post(chat(prefix(1) + std::to_string(i))));
  run_for(seconds(10));
  EXPECT_EQ(unanswered(), 0U);
  const std::vector<size_t> shares = counts();
  EXPECT_EQ(shares[0] + shares[1], 64U);
  EXPECT_LE(std::max(shares[0], shares[1]), 64U * 65 / 100);
}

TEST_F(RouterScheduling, APrefixBelongsToWhoeverAnsweredNotToWhoeverFailed) {
  start_engines(2);
  for (uint64_t i = 1; i <= 4; ++i) {
    engines_[0].next.assign(1, answer(500, "bad"));
    const Reply& reply = ask(chat(prefix(i)));
    ASSERT_EQ(reply.status, 200);
    engines_[0].next.clear();
    const size_t seen_by_first = engines_[0].seen.size();
    if (seen_by_first == 0) continue;
    EXPECT_EQ(where(chat(prefix(i))), 1U) << i;
    engines_[0].seen.clear();
  }
}

TEST_F(RouterScheduling, ExplainsThatItFoundAPrefix) {
  start_engines(3, {.allow_explain = true});
  const codec::Json cold = explain(chat(prefix(1)));
  EXPECT_EQ(cold.find("held_blocks")->as_int(), 0);
  EXPECT_GE(cold.find("prompt_blocks")->as_int(), 15);
  const codec::Json warm = explain(chat(prefix(1)));
  EXPECT_EQ(warm.find("held_blocks")->as_int(), warm.find("prompt_blocks")->as_int());
  EXPECT_EQ(warm.find("replica")->as_string(), cold.find("replica")->as_string());
  EXPECT_NE(warm.find("reason")->as_string(), cold.find("reason")->as_string());
}

TEST_F(RouterScheduling, SaltsAndModelsDoNotShareAPrefix) {
  for (int i = 1; i <= 2; ++i) engine(i, {"llama", "lora"});
  start({.allow_explain = true});
  const std::string salted = R"("cache_salt":"tenant-a")";
  explain(chat(prefix(1), salted));
  EXPECT_GT(explain(chat(prefix(1), salted)).find("held_blocks")->as_int(), 0);
  EXPECT_EQ(explain(chat(prefix(1))).find("held_blocks")->as_int(), 0);
  EXPECT_EQ(explain(chat(prefix(1), R"("cache_salt":"tenant-b")")).find("held_blocks")->as_int(),
            0);
  std::string lora = chat(prefix(1), salted);
  lora.replace(lora.find("llama"), 5, "lora");
  EXPECT_EQ(explain(lora).find("held_blocks")->as_int(), 0);
}

TEST_F(RouterScheduling, ARestartedReplicaHasAnEmptyCache) {
  start_engines(1, {.allow_explain = true});
  explain(chat(prefix(1)));
  EXPECT_GT(explain(chat(prefix(1))).find("held_blocks")->as_int(), 0);
  engines_[0].kill();
  run_for(seconds(3));
  engines_[0].start();
  run_for(seconds(3));
  EXPECT_EQ(explain(chat(prefix(1))).find("held_blocks")->as_int(), 0);
}

TEST_F(RouterScheduling, RoundRobinTakesTurns) {
  start_engines(3, {.policy = "round-robin"});
  for (int i = 0; i < 30; ++i) ask(chat("same"));
  EXPECT_THAT(counts(), testing::Each(10U));
}

TEST_F(RouterScheduling, RandomSpreads) {
  start_engines(3, {.policy = "random"});
  for (int i = 0; i < 300; ++i) ask(chat("same"));
  // Five standard deviations.
  for (const size_t count : counts()) EXPECT_NEAR(static_cast<double>(count), 100, 41);
}

TEST_F(RouterScheduling, LeastRequestAvoidsTheBusy) {
  start_engines(3, {.policy = "least-request"});
  engines_[0].script = slow(seconds(60));
  for (int i = 0; i < 30; ++i) {
    send(post(chat("same")));
    run_for(milliseconds(50));
  }
  EXPECT_EQ(engines_[0].seen.size(), 1U);
  EXPECT_NEAR(static_cast<double>(engines_[1].seen.size()), 14.5, 2);
}

TEST_F(RouterScheduling, AReplicaThatIsDownGetsNothingAndOneThatIsBackDoes) {
  start_engines(2, {.policy = "round-robin", .slow_start = seconds(0)});
  engines_[0].kill();
  run_for(seconds(3));
  const double connects = metric("fairlead_upstream_failures_total{kind=\"connect\"}");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(metric("fairlead_upstream_failures_total{kind=\"connect\"}"), connects);
  engines_[0].start();
  run_for(seconds(3));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(engines_[0].seen.size(), 5U);
}

TEST_F(RouterScheduling, AReplicaThatFailsHalfItsRequestsRests) {
  start_engines(2, {.policy = "round-robin"});
  engines_[0].script = answer(500, "bad");
  for (int i = 0; i < 40; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_LE(engines_[0].seen.size(), 8U);
}

TEST_F(RouterScheduling, ARemovedBackEndFinishesItsStreamsAndGetsNothingNew) {
  const std::string path = testing::TempDir() + "router_scheduling_backends.yaml";
  const auto write = [&path](const std::string& text) { std::ofstream(path) << text; };
  write(fmt::format("backends:\n  - {}\n  - {}\n", url(1), url(2)));
  start_engines(2, {.backends_file = path, .policy = "round-robin"});
  for (FakeEngine& e : engines_) {
    e.script = events(std::vector<std::string>(20, token_event("t")), seconds(1));
  }
  const Reply& one = send(post(kStreaming));
  const Reply& two = send(post(kStreaming));
  run_for(seconds(2));
  write(fmt::format("backends:\n  - {}\n", url(2)));
  run_for(seconds(3));
  engines_[1].script = answer(200, "{}");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(engines_[0].seen.size(), 1U);
  run_for(seconds(30));
  EXPECT_TRUE(one.whole() && two.whole());
  EXPECT_EQ(one.body.find("error"), std::string::npos);
  EXPECT_EQ(two.body.find("error"), std::string::npos);

  write(fmt::format("backends:\n  - {}\n  - {}\n", url(1), url(2)));
  run_for(seconds(3));
  engines_[0].script = answer(200, "{}");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(engines_[0].seen.size(), 3U) << "it may come back";
  std::remove(path.c_str());
}

TEST_F(RouterScheduling, AStreamKeepsNoSlotOfABackEndThatWent) {
  const std::string path = testing::TempDir() + "router_scheduling_slots.yaml";
  const auto write = [&path](const std::string& text) { std::ofstream(path) << text; };
  write(fmt::format("backends:\n  - {}\n  - {}\n", url(1), url(2)));
  start_engines(3, {.backends_file = path, .policy = "round-robin", .backends_max = 2});
  for (FakeEngine& e : engines_) {
    e.script = events(std::vector<std::string>(60, token_event("t")), seconds(1));
  }
  const Reply& stream = send(post(kStreaming));
  run_for(seconds(2));
  ASSERT_EQ(engines_[0].seen.size(), 1U);
  write(fmt::format("backends:\n  - {}\n", url(1)));
  run_for(seconds(3));
  write(fmt::format("backends:\n  - {}\n  - {}\n", url(1), url(3)));
  run_for(seconds(3));
  for (FakeEngine& e : engines_) e.script = answer(200, "{}");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(engines_[2].seen.size(), 2U);
  EXPECT_EQ(stream.end, Reply::End::kPending) << "it has not ended before";
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fairlead::router
