#include "router/health.h"

#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

using pick::Health;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Failure = ReplicaHealth::ProbeFailure;

class HealthTest : public testing::Test {
 protected:
  void SetUp() override {
    health_.probe_sent(now_);
    health_.probe_answered(200, now_);
    ASSERT_EQ(health_.judge(now_).health, Health::kReady);
  }
  void pass(base::Nanos time) { now_ += time; }
  ReplicaHealth::Verdict judge() { return health_.judge(now_); }

  base::TimePoint now_{seconds(100)};
  ReplicaHealth health_{HealthOptions{}, now_};
};

TEST_F(HealthTest, IsSuspectUntilTheFirstAnswer) {
  ReplicaHealth fresh({}, now_);
  EXPECT_EQ(fresh.judge(now_).health, Health::kSuspect);
  fresh.probe_sent(now_);
  EXPECT_EQ(fresh.judge(now_ + seconds(1)).health, Health::kSuspect);
  fresh.probe_answered(404, now_);
  EXPECT_EQ(fresh.judge(now_).health, Health::kReady);
}

TEST_F(HealthTest, RefusedOnceIsSuspectTwiceIsDown) {
  health_.probe_failed(Failure::kRefused, now_);
  EXPECT_EQ(judge().health, Health::kSuspect);
  health_.probe_failed(Failure::kRefused, now_);
  const auto verdict = judge();
  EXPECT_EQ(verdict.health, Health::kDown);
  EXPECT_TRUE(verdict.evacuate);
  EXPECT_FALSE(judge().evacuate);
}

TEST_F(HealthTest, AnsweringAgainAfterBeingGoneIsARestart) {
  health_.probe_failed(Failure::kRefused, now_);
  health_.probe_failed(Failure::kRefused, now_);
  judge();
  health_.probe_answered(200, now_);
  const auto verdict = judge();
  EXPECT_EQ(verdict.health, Health::kReady);
  EXPECT_TRUE(verdict.restarted);
  EXPECT_TRUE(verdict.back);
  EXPECT_FALSE(judge().restarted);
}

TEST_F(HealthTest, AnEngineThatStartsSlowlyHasNotRestarted) {
  ReplicaHealth fresh({}, now_);
  fresh.probe_failed(Failure::kRefused, now_);
  fresh.probe_failed(Failure::kRefused, now_);
  EXPECT_EQ(fresh.judge(now_).health, Health::kDown);
  fresh.probe_answered(200, now_);
  const auto verdict = fresh.judge(now_);
  EXPECT_EQ(verdict.health, Health::kReady);
  EXPECT_FALSE(verdict.restarted);
  EXPECT_FALSE(verdict.back) << "it has not been here before";
}

TEST_F(HealthTest, AHealthEndpointThatSaysNoCountsAsFailure) {
  health_.probe_answered(503, now_);
  EXPECT_EQ(judge().health, Health::kSuspect);
  health_.probe_answered(500, now_);
  EXPECT_EQ(judge().health, Health::kDown);
  health_.probe_answered(200, now_);
  EXPECT_EQ(judge().health, Health::kReady);
}

TEST_F(HealthTest, RequestsThatCannotConnectMakeItSuspectNotDown) {
  for (int i = 0; i < 10; ++i) health_.connect_failed();
  EXPECT_EQ(judge().health, Health::kSuspect);
  health_.probe_failed(Failure::kRefused, now_);
  EXPECT_EQ(judge().health, Health::kDown);
}

TEST_F(HealthTest, SilenceOnProbesAndStreamsIsNoticedInTwoSeconds) {
  pass(milliseconds(500));
  health_.probe_sent(now_);  // never answered
  pass(milliseconds(1'499));
  EXPECT_EQ(judge().health, Health::kReady);
  pass(milliseconds(1));
  const auto verdict = judge();
  EXPECT_EQ(verdict.health, Health::kSuspect);
  EXPECT_TRUE(verdict.evacuate);
  EXPECT_FALSE(judge().evacuate);
  health_.probe_failed(Failure::kTimedOut, now_);
  health_.probe_sent(now_);
  pass(milliseconds(7'999));
  EXPECT_EQ(judge().health, Health::kSuspect);
  pass(milliseconds(1));
  EXPECT_EQ(judge().health, Health::kDown);
  health_.probe_answered(200, now_);
  const auto back = judge();
  EXPECT_EQ(back.health, Health::kReady);
  EXPECT_TRUE(back.back);
  EXPECT_FALSE(back.restarted) << "it was stopped, its cache is still there";
  EXPECT_FALSE(judge().back);
}

TEST_F(HealthTest, AReplicaWhoseStreamsFlowIsBusyNotDead) {
  health_.probe_sent(now_);
  for (int i = 0; i < 60; ++i) {
    pass(seconds(1));
    health_.heard(now_ - milliseconds(300));
    health_.probe_failed(Failure::kTimedOut, now_);
    health_.probe_sent(now_);
    ASSERT_EQ(judge().health, Health::kReady) << i;
  }
}

TEST_F(HealthTest, AnIdleReplicaBetweenProbesIsNotSilent) {
  pass(seconds(30));
  EXPECT_EQ(judge().health, Health::kReady);
}

}  // namespace
}  // namespace fairlead::router
