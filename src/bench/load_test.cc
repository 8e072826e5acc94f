#include "bench/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "bench/config.h"
#include "bench/progress.h"
#include "bench/server_testing.h"
#include "bench/slice.h"
#include "codec/json.h"
#include "workload/report.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using workload::Outcome;

class Load : public testing::Test {
 protected:
  LoadTarget& target(LoadOptions options = {}) {
    if (options.shape.model.empty()) options.shape.model = "fake";
    targets_.push_back(std::make_unique<LoadTarget>(
        network_, Endpoint{.label = "t", .host = "fake", .address = server_.address()}, options));
    return *targets_.back();
  }
  void run(LoadTarget& target, SliceOptions options) { loop_.block_on(run_slice(target, options)); }
  void TearDown() override {
    targets_.clear();
    loop_.block_on(server_.stop());
  }
  // The outcome of a single request.
  Outcome outcome(Manner manner, LoadOptions options = {}) {
    server_.manner = manner;
    LoadTarget& one = target(std::move(options));
    run(one, {.requests = 1});
    return one.log().samples.at(0).outcome;
  }

  base::ManualClock clock_;
  rt::Loop loop_{clock_};
  net::MemoryNetwork network_{loop_, {.latency = 50us}};
  FakeServer server_{network_, 8000};
  std::vector<std::unique_ptr<LoadTarget>> targets_;
};

TEST_F(Load, MeasuresWhatAStreamedAnswerTook) {
  LoadTarget& one = target();
  run(one, {.requests = 1});
  ASSERT_EQ(one.log().samples.size(), 1U);
  const auto& sample = one.log().samples[0];
  EXPECT_EQ(sample.outcome, Outcome::kOk);
  // Prefill, and the way there and back; a connection is one way more.
  EXPECT_GE(sample.first_token, 100ms + 100us);
  EXPECT_LE(sample.first_token, 100ms + 200us);
  EXPECT_EQ(sample.whole, sample.first_token + 40ms);
  EXPECT_EQ(one.log().gaps.count(), 4U);
  EXPECT_EQ(one.log().gaps.max(), 10ms);
  EXPECT_EQ(sample.prompt_tokens, 100U);
  EXPECT_EQ(sample.cached_tokens, 64U);
  EXPECT_EQ(sample.output_tokens, 5U);
  EXPECT_EQ(one.log().replicas.at(sample.replica), "127.0.0.1:8000");
  EXPECT_EQ(one.log().busy, sample.whole);
}

TEST_F(Load, AsksAsTheShapeSays) {
  LoadTarget& chat = target({.shape = {.model = "m", .max_tokens = 9}});
  run(chat, {.requests = 1});
  auto body = codec::parse_json(server_.last_body());
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->find("model")->as_string(), "m");
  EXPECT_EQ(body->find("max_tokens")->as_int(), 9);
  EXPECT_TRUE(body->find("stream_options")->find("include_usage")->as_bool());
  EXPECT_EQ(body->find("messages")->items()[0].find("role")->as_string(), "system");
  EXPECT_THAT(body->find("messages")->items()[1].find("content")->as_string(),
              HasSubstr("Question"));

  server_.manner = Manner::kWhole;
  LoadTarget& plain =
      target({.shape = {.api = Api::kCompletions, .model = "m", .streaming = Streaming::kNo}});
  run(plain, {.requests = 1});
  body = codec::parse_json(server_.last_body());
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->find("stream"), nullptr);
  EXPECT_THAT(body->find("prompt")->as_string(), HasSubstr("Product manual"));
  EXPECT_EQ(plain.log().samples[0].outcome, Outcome::kOk);
  EXPECT_EQ(plain.log().samples[0].first_token, 0ms);
  EXPECT_EQ(plain.log().samples[0].output_tokens, 5U);
}

TEST_F(Load, KeepsAClosedLoopOfClientsBusy) {
  LoadTarget& one = target();
  run(one, {.requests = 50, .concurrency = 4});
  EXPECT_EQ(one.log().samples.size(), 50U);
  EXPECT_EQ(server_.requests(), 50U);
  EXPECT_EQ(server_.most_at_once(), 4U);
  EXPECT_EQ(network_.open_streams(), 4U) << "connections are used again";
  EXPECT_EQ(one.under_way(), 0U);
}

TEST_F(Load, SendsNoMoreAfterTheDurationAndFinishesWhatRuns) {
  LoadTarget& one = target();
  run(one, {.duration = 1s, .concurrency = 2});
  // Each answer takes 140 ms.
  EXPECT_EQ(one.log().samples.size(), 16U);
  EXPECT_EQ(one.errors(), 0U);
  EXPECT_GE(one.log().busy, 1s);
  EXPECT_LE(one.log().busy, 1200ms);
}

TEST_F(Load, HoldsAnOpenLoopsRateWhateverTheServerDoes) {
  server_.prefill = 3s;
  LoadTarget& one = target({.sessions = {.prompts = {.seed = 7}}});
  run(one, {.duration = 20s, .concurrency = 1, .arrivals = {{.per_second = 50}}});
  EXPECT_NEAR(static_cast<double>(one.log().samples.size()), 1000, 100);
  EXPECT_GT(server_.most_at_once(), 100U);
  for (const auto& sample : one.log().samples) {
    EXPECT_EQ(sample.outcome, Outcome::kOk);
    EXPECT_GE(sample.first_token, 3s);
    EXPECT_LE(sample.first_token, 3s + 1ms);
  }
}

TEST_F(Load, ResumesAnOpenLoopInTheNextSlice) {
  LoadTarget& whole = target({.sessions = {.prompts = {.seed = 3}}});
  run(whole, {.requests = 200, .arrivals = {{.per_second = 20}}});
  LoadTarget& sliced = target({.sessions = {.prompts = {.seed = 3}}});
  for (int i = 0; i < 4; ++i) run(sliced, {.requests = 50, .arrivals = {{.per_second = 20}}});
  EXPECT_EQ(sliced.log().samples.size(), whole.log().samples.size());
  EXPECT_NEAR(base::to_seconds(sliced.log().busy), base::to_seconds(whole.log().busy), 1.5);
}

TEST_F(Load, CountsErrorsByWhatWasSeen) {
  EXPECT_EQ(outcome(Manner::kBusy), Outcome::kHttpStatus);
  EXPECT_EQ(targets_.back()->log().samples[0].status, 503);
  EXPECT_EQ(outcome(Manner::kErrorEvent), Outcome::kStreamError);
  EXPECT_EQ(outcome(Manner::kNoEnd), Outcome::kProtocol);
  EXPECT_EQ(outcome(Manner::kReset), Outcome::kReset);
  EXPECT_EQ(outcome(Manner::kSilent, {.timeout = 5s}), Outcome::kTimeout);
  EXPECT_EQ(targets_.back()->log().samples[0].whole, 5s);
  EXPECT_EQ(targets_.back()->errors(), 1U);
}

TEST_F(Load, CountsRefusedConnections) {
  LoadTarget nobody(network_, {.label = "x", .host = "x", .address = {.bytes = {10}, .port = 1}},
                    {.shape = {.model = "m"}});
  run(nobody, {.requests = 3});
  EXPECT_EQ(nobody.errors(), 3U);
  EXPECT_EQ(nobody.log().samples[2].outcome, Outcome::kConnect);
}

TEST_F(Load, SendsAgainWhereAKeptConnectionHadClosed) {
  LoadTarget& one = target();
  run(one, {.requests = 4, .concurrency = 4});
  network_.reset_streams(server_.address());
  run(one, {.requests = 4, .concurrency = 4});
  EXPECT_EQ(one.log().samples.size(), 8U);
  EXPECT_EQ(one.errors(), 0U);
}

TEST_F(Load, RecordsNothingOfWhatItsScopeCancelled) {
  LoadTarget& one = target();
  rt::TaskGroup group(loop_);
  group.spawn(run_slice(one, {.requests = 100, .concurrency = 2}));
  loop_.run_until_idle(loop_.now() + 500ms);
  group.cancel(rt::CancelReason::kShutdown);
  ASSERT_TRUE(loop_.block_on(group.join()).ok());
  EXPECT_EQ(one.log().samples.size(), 6U);
  EXPECT_EQ(one.errors(), 0U);
  EXPECT_EQ(one.under_way(), 0U);
}

TEST_F(Load, RepeatsToTheNanosecondFromItsSeed) {
  std::vector<workload::Sample> runs[2];
  for (auto& samples : runs) {
    LoadTarget& one = target({.sessions = {.prompts = {.prefixes = 5, .repeats = 4, .seed = 42}}});
    run(one, {.requests = 20, .concurrency = 3});
    samples = one.log().samples;
  }
  ASSERT_EQ(runs[0].size(), runs[1].size());
  for (size_t i = 0; i < runs[0].size(); ++i) {
    EXPECT_EQ(runs[0][i].prefix, runs[1][i].prefix);
    EXPECT_EQ(runs[0][i].started, runs[1][i].started);
    EXPECT_EQ(runs[0][i].whole, runs[1][i].whole);
  }
}

TEST_F(Load, ReadsTheReplicaFromAnExplanationToo) {
  EXPECT_EQ(replica_of(R"({"replica":"10.0.0.1:80","why":"warm"})"), "10.0.0.1:80");
  EXPECT_EQ(replica_of(R"({"replica":7})"), "");
  EXPECT_EQ(replica_of("{}"), "");
  EXPECT_EQ(replica_of("busy"), "");
}

TEST_F(Load, ShowsProgressWithinTheLine) {
  LoadTarget& one = target();
  run(one, {.requests = 2});
  LoadTarget* const shown[] = {&one};
  EXPECT_EQ(progress_text(shown, 12s, 80), "t 2   12 s");
  EXPECT_EQ(progress_text(shown, 12s, 3), "t 2");
}

}  // namespace
}  // namespace fairlead::bench
