// Control endpoints, faults and stopping, in virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/testing.h"

namespace fairlead::engine {
namespace {

using codec::Json;
using std::chrono::seconds;
using ::testing::HasSubstr;

// --- control ---

TEST(EngineControl, HidesControlOutsideOfDevelopmentMode) {
  TestEngine plain("");
  for (const char* path : {"/reset_prefix_cache", "/sleep", "/wake_up", "/pause", "/resume"}) {
    EXPECT_EQ(plain.post(path, "").status, 404) << path;
  }
  TestEngine dev("", {.server_dev_mode = true});
  EXPECT_EQ(dev.post("/reset_prefix_cache", "").status, 200);
  EXPECT_EQ(dev.get("/reset_prefix_cache").status, 405);
}

TEST(EngineControl, SleepEndsRequestsAndForgetsTheCache) {
  TestEngine engine("--enable-prompt-tokens-details", {.server_dev_mode = true});
  const std::string body =
      R"({"prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"max_tokens":1})";
  engine.post("/v1/completions", body);
  EXPECT_EQ(engine.post("/sleep?level=2", "").status, 200);
  EXPECT_EQ(engine.get("/is_sleeping").body, R"({"is_sleeping":true})");
  EXPECT_EQ(engine.metric("vllm:engine_sleep_state{engine=\"0\",model_name=\"Qwen/Qwen3-0.6B\","
                          "sleep_state=\"discard_all\"}"),
            1);
  const TestAnswer waiting =
      engine.ask({.path = "/v1/completions", .body = body, .leave_at = engine.now() + seconds(5)});
  EXPECT_EQ(waiting.status, 0);
  EXPECT_EQ(engine.post("/wake_up", "").status, 200);
  const Json answer = engine.post("/v1/completions", body).json();
  EXPECT_TRUE(answer.find("usage")->find("prompt_tokens_details")->is_null());
}

const std::string kAwake =
    "vllm:engine_sleep_state{engine=\"0\",model_name=\"Qwen/Qwen3-0.6B\",sleep_state=\"awake\"}";

TEST(EngineControl, WakesUpWhenEverythingIsBack) {
  TestEngine engine("", {.server_dev_mode = true});
  EXPECT_EQ(engine.metric(kAwake), 1);
  EXPECT_EQ(engine.post("/sleep", "").status, 200);
  EXPECT_EQ(engine.metric(kAwake), 0);
  EXPECT_EQ(engine.post("/wake_up?tags=weights", "").status, 200);
  EXPECT_EQ(engine.get("/is_sleeping").body, R"({"is_sleeping":true})");
  EXPECT_EQ(engine.post("/wake_up?tags=nothing&tags=kv_cache", "").status, 200);
  EXPECT_EQ(engine.get("/is_sleeping").body, R"({"is_sleeping":false})");
  EXPECT_EQ(engine.metric(kAwake), 1);
  EXPECT_EQ(engine.post("/sleep?level=2", "").status, 200);
  EXPECT_EQ(engine.post("/wake_up?tags=kv_cache&tags=weights", "").status, 200);
  EXPECT_EQ(engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":2)")).status, 200);
}

TEST(EngineControl, LevelZeroOnlyStopsTheSchedule) {
  TestEngine engine("--enable-prompt-tokens-details", {.server_dev_mode = true});
  const std::string body =
      R"({"prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"max_tokens":1})";
  engine.post("/v1/completions", body);
  EXPECT_EQ(engine.post("/sleep?level=0", "").status, 200);
  EXPECT_EQ(engine.get("/is_sleeping").body, R"({"is_sleeping":true})");
  EXPECT_EQ(engine.get("/is_paused").body, R"({"is_paused":true})");
  EXPECT_EQ(engine.post("/wake_up?tags=scheduling", "").status, 200);
  const Json answer = engine.post("/v1/completions", body).json();
  EXPECT_EQ(answer.find("usage")->find("prompt_tokens_details")->find("cached_tokens")->as_int(),
            16);
}

TEST(EngineControl, SleepTakesModesAndLevels) {
  TestEngine engine("", {.server_dev_mode = true});
  for (const char* query : {"?level=3", "?level=", "?level=10", "?mode=never"}) {
    EXPECT_EQ(engine.post(std::string("/sleep") + query, "").status, 400) << query;
  }
  EXPECT_EQ(engine.get("/is_sleeping").body, R"({"is_sleeping":false})");
  std::vector<TestRequest> requests = {{.body = chat("hi", R"("max_tokens":10)")},
                                       {.path = "/sleep?mode=wait", .body = ""}};
  EXPECT_EQ(finish(engine.ask_all(requests)[0].json()), "length");
  engine.post("/wake_up", "");
  requests[1].path = "/sleep?mode=keep";
  requests.push_back({.path = "/wake_up", .body = ""});
  EXPECT_EQ(finish(engine.ask_all(requests)[0].json()), "length");
}

TEST(EngineControl, SleepsThoughRequestsKeepComing) {
  TestEngine engine("", {.server_dev_mode = true});
  const base::TimePoint soon = engine.now() + seconds(30);
  const std::vector<TestAnswer> answers =
      engine.ask_all({{.body = chat("hi", R"("max_tokens":1000)")},
                      {.path = "/sleep", .body = ""},
                      {.body = chat("there", R"("max_tokens":1000)"), .leave_at = soon}});
  EXPECT_EQ(finish(answers[0].json()), "abort");
  EXPECT_EQ(answers[1].status, 200);
  EXPECT_EQ(answers[2].status, 0) << "it waited";
}

TEST(EngineControl, PauseAbortsWaitsOrKeeps) {
  TestEngine engine("", {.server_dev_mode = true});
  std::vector<TestRequest> requests = {{.body = chat("hi", R"("max_tokens":1000)")},
                                       {.path = "/pause", .body = ""}};
  const std::vector<TestAnswer> aborted = engine.ask_all(requests);
  EXPECT_EQ(finish(aborted[0].json()), "abort");
  EXPECT_EQ(aborted[1].body, R"({"status":"paused"})");
  EXPECT_EQ(engine.get("/is_paused").body, R"({"is_paused":true})");
  EXPECT_EQ(engine.post("/resume", "").body, R"({"status":"resumed"})");

  requests[0].body = chat("hi", R"("max_tokens":10)");
  requests[1].path = "/pause?mode=wait";
  EXPECT_EQ(finish(engine.ask_all(requests)[0].json()), "length");
  engine.post("/resume", "");

  requests[1].path = "/pause?mode=keep";
  requests.push_back({.path = "/resume", .body = ""});
  EXPECT_EQ(finish(engine.ask_all(requests)[0].json()), "length");
  EXPECT_EQ(engine.post("/pause?mode=never", "").status, 400);
}

// --- faults ---

TEST(EngineControl, RefusesConnectionsForAWhile) {
  TestEngine engine("--sim-refuse 30s");
  EXPECT_EQ(engine.get("/health").status, 0);
  engine.run_for(seconds(29));
  EXPECT_EQ(engine.get("/health").status, 0);
  engine.run_for(seconds(2));
  EXPECT_EQ(engine.get("/health").status, 200);
  EXPECT_EQ(engine.post("/sim/faults", R"({"refuse":"5s"})").status, 200);
  engine.run_for(seconds(1));
  EXPECT_EQ(engine.get("/health").status, 0);
  engine.run_for(seconds(5));
  EXPECT_EQ(engine.get("/health").status, 200);
}

TEST(EngineControl, HangsUntilItIsToldNotTo) {
  TestEngine engine("");
  EXPECT_EQ(engine.post("/sim/faults", R"({"hang":true})").status, 200);
  EXPECT_EQ(engine.ask({.method = "GET", .path = "/health", .leave_at = engine.now() + seconds(60)})
                .status,
            0);
  EXPECT_EQ(engine.post("/sim/faults", R"({"hang":false})").status, 200);
  EXPECT_EQ(engine.get("/health").status, 200);
}

TEST(EngineControl, StreamsStandStillWhileItHangs) {
  TestEngine engine("");
  std::vector<TestAnswer> answers =
      engine.ask_all({{.body = chat("hi", R"("max_tokens":1000,"stream":true)"),
                       .leave_at = engine.now() + seconds(20)},
                      {.path = "/sim/faults", .body = R"({"hang":true})"}});
  EXPECT_FALSE(answers[0].whole);
  EXPECT_LE(answers[0].pieces.size(), 2u);
}

TEST(EngineControl, ResetsStreamsInTheMiddle) {
  TestEngine engine("--sim-reset-after-chunks 3");
  const TestAnswer stream =
      engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":50,"stream":true)"));
  EXPECT_EQ(stream.status, 200);
  EXPECT_FALSE(stream.whole);
  EXPECT_THAT(stream.body, ::testing::Not(HasSubstr("[DONE]")));
  EXPECT_EQ(engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":5)")).status, 200);
}

TEST(EngineControl, FailsTheShareOfRequestsItWasAskedTo) {
  TestEngine engine("--sim-error-rate 0.3 --sim-error-status 503");
  int failed = 0;
  for (int i = 0; i < 200; ++i) {
    const TestAnswer a = engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":1)"));
    EXPECT_TRUE(a.status == 200 || a.status == 503);
    failed += a.status == 503 ? 1 : 0;
  }
  EXPECT_NEAR(failed, 60, 20);
  EXPECT_EQ(engine.get("/v1/models").status, 200);
}

TEST(EngineControl, SlowsDown) {
  TestEngine engine("");
  const std::string body = chat("hi", R"("max_tokens":20)");
  base::TimePoint start = engine.now();
  engine.post("/v1/chat/completions", body);
  const double normal = base::to_ms(engine.now() - start);
  engine.post("/sim/faults", R"({"slow_factor":5})");
  start = engine.now();
  engine.post("/v1/chat/completions", body);
  EXPECT_NEAR(base::to_ms(engine.now() - start) / normal, 5, 0.3);
}

TEST(EngineControl, FreezesItsMetrics) {
  TestEngine engine("--sim-freeze-metrics");
  const std::string first = engine.get("/metrics").body;
  engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":20)"));
  EXPECT_EQ(engine.get("/metrics").body, first);
  engine.post("/sim/faults", R"({"freeze_metrics":false})");
  EXPECT_EQ(engine.metric("vllm:generation_tokens_total"), 20);
}

TEST(EngineControl, LiesAboutItsLoad) {
  TestEngine engine("--sim-claim-running 7");
  EXPECT_EQ(engine.metric("vllm:num_requests_running"), 7);
  engine.post("/sim/faults", R"({"claim_running":0})");
  EXPECT_EQ(engine.metric("vllm:num_requests_running"), 0);
  engine.post("/sim/faults", R"({"claim_running":900})");
  EXPECT_EQ(engine.metric("vllm:num_requests_running"), 900);
  engine.post("/sim/faults", R"({"claim_running":-1})");
  EXPECT_EQ(engine.metric("vllm:num_requests_running"), 0);
}

TEST(EngineControl, RefusesAWrongFaultAndShowsWhatIsSet) {
  TestEngine engine("");
  const TestAnswer wrong = engine.post("/sim/faults", R"({"hung":true})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(error_message(wrong), HasSubstr("no fault is called hung"));
  EXPECT_EQ(engine.post("/sim/faults", "{").status, 400);
  EXPECT_EQ(engine.get("/sim/faults").json().find("slow_factor")->as_double(), 1);
}

class StopAt final : private rt::TimerNode {
 public:
  StopAt(TestEngine& engine, base::TimePoint at) : engine_(engine) {
    engine.loop.timers().arm(*this, at);
  }

 private:
  void on_timer() override { engine_.engine->stop(); }
  TestEngine& engine_;
};

TEST(EngineControl, FinishesWhatRunsWhenToldToStopAndCutsWhatTakesTooLong) {
  TestEngine engine("");
  const StopAt stop(engine, engine.now() + seconds(1));
  const base::TimePoint start = engine.now();
  const std::vector<TestAnswer> answers =
      engine.ask_all({{.body = chat("short", R"("max_tokens":200,"stream":true)")},
                      {.body = chat("long", R"("max_tokens":9000,"stream":true)")}});
  EXPECT_TRUE(answers[0].whole);
  EXPECT_EQ(answers[0].events().size(), 201u);
  EXPECT_FALSE(answers[1].whole);
  EXPECT_EQ(engine.get("/health").status, 0);
  ASSERT_TRUE(engine.ended.has_value());
  EXPECT_TRUE(engine.ended->ok());
  EXPECT_NEAR(base::to_ms(engine.now() - start), 6000, 100);
}

TEST(EngineControl, SaysThatItsAddressIsTaken) {
  TestEngine engine("");
  auto config = parse_engine_args(std::vector<std::string>{"--host", "10.0.0.1"}, {});
  Engine second(engine.network, *config, engine.log, {});
  const base::Result<> ran = engine.loop.block_on(second.run());
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().describe(), HasSubstr("10.0.0.1:8000"));
}

}  // namespace
}  // namespace fairlead::engine
