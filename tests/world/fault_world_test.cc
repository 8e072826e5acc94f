// Faults of simulated engines and what is left behind after many rounds of them.
#include <gmock/gmock.h>

#include "base/random.h"
#include "engine_world.h"

namespace fairlead {
namespace {

using router::Ask;
using router::chat;
using router::Reply;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using End = Reply::End;

const std::string kStreaming = R"("max_tokens":50,"stream":true)";
const std::string kDone = "data: [DONE]\n\n";

class FaultWorld : public EngineWorld {
 protected:
  void start_two(const std::string& args = "") {
    for (int n = 1; n <= 2; ++n) add_engine(n, args);
    start_router({.policy = "round-robin"});
  }
};

TEST_F(FaultWorld, StreamsArriveWholeAndLeaveNothingBehind) {
  start_two();
  for (int i = 0; i < 40; ++i) send({.body = chat(std::to_string(i), kStreaming)});
  run_for(milliseconds(200));
  EXPECT_GT(blocks_used(), 0U);
  run_for(seconds(60));
  for (const Reply& reply : replies_) {
    EXPECT_TRUE(reply.whole());
    EXPECT_THAT(reply.body, EndsWith(kDone));
    EXPECT_THAT(reply.body, Not(HasSubstr("prompt_tokens"))) << "usage was not asked for";
  }
  EXPECT_GT(metric("fairlead_output_tokens_total{model=\"llama\"}"), 40 * 10);
  expect_nothing_left();
}

TEST_F(FaultWorld, ClientsThatLeaveFreeBlocksAtTheNextStep) {
  start_two();
  const base::TimePoint leave = now() + seconds(1);
  for (int i = 0; i < 10; ++i) {
    send(
        {.body = chat(std::to_string(i), R"("max_tokens":2000,"stream":true)"), .leave_at = leave});
  }
  run_for(milliseconds(990));
  EXPECT_GT(blocks_used(), 0U);
  run_for(milliseconds(200));
  EXPECT_EQ(blocks_used(), 0U);
  EXPECT_EQ(requests_at_engines(), 0U);
}

TEST_F(FaultWorld, RequestsLeaveAnEngineThatHangs) {
  start_two();
  inject(1, R"({"hang":true})");
  const base::TimePoint hung_at = now();
  for (int i = 0; i < 8; ++i) send({.body = chat(std::to_string(i), R"("max_tokens":10)")});
  run_for(seconds(5));
  for (const Reply& reply : replies_) {
    EXPECT_EQ(reply.status, 200);
    EXPECT_LE(reply.done_at - hung_at, milliseconds(3'500)) << "3 s to move, then the answer";
  }
  inject(1, R"({"hang":false})");
  run_for(seconds(3));
  expect_nothing_left();
}

TEST_F(FaultWorld, AnEngineWhoseRequestsFailIsRetriedThenRested) {
  start_two();
  inject(1, R"({"error_rate":1})");
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(ask(chat(std::to_string(i), R"("max_tokens":2)")).status, 200) << i;
  }
  EXPECT_LE(metric("fairlead_retries_total{reason=\"status\"}"), 20);
}

TEST_F(FaultWorld, AStreamThatTheEngineResetsEndsWithAnError) {
  start_two();
  inject(1, R"({"reset_after_chunks":5})");
  inject(2, R"({"reset_after_chunks":5})");
  const Reply& reply = ask(chat("hi", kStreaming));
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.whole());
  EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  EXPECT_THAT(reply.body, EndsWith(kDone));
}

TEST_F(FaultWorld, AfterAThousandRoundsNothingIsLeft) {
  start_two("--sim-speed 20");
  base::Random random(5);
  const char* faults[] = {R"({"hang":true})", R"({"reset_after_chunks":3})",
                          R"({"error_rate":0.5})", R"({"slow_factor":20})"};
  for (int round = 0; round < 1'000; ++round) {
    const int broken = 1 + static_cast<int>(random.below(2));
    if (round % 50 == 10) inject(broken, faults[random.below(4)]);
    if (round % 50 == 20) {
      for (int n = 1; n <= 2; ++n) {
        inject(n, R"({"hang":false,"reset_after_chunks":0,"error_rate":0,"slow_factor":1})");
      }
    }
    Ask ask;
    ask.body = chat(fmt::format("round {}", random.below(50)),
                    random.below(2) == 0 ? kStreaming : R"("max_tokens":20)");
    if (random.below(4) == 0) ask.leave_at = now() + base::from_seconds(random.exponential(0.1));
    send(std::move(ask));
    run_for(milliseconds(50));
  }
  run_for(seconds(10));
  EXPECT_EQ(unanswered(), 0U);
  size_t good = 0;
  for (const Reply& reply : replies_) {
    EXPECT_NE(reply.end, End::kPending);
    if (reply.whole() && reply.status == 200) ++good;
  }
  EXPECT_GT(good, 600U);
  run_for(seconds(5));
  expect_nothing_left();
}

}  // namespace
}  // namespace fairlead
