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
  // A probe a second, answered.
  void live(seconds time) {
    for (int64_t i = 0; i < time.count(); ++i) {
      pass(seconds(1));
      health_.probe_sent(now_);
      health_.probe_answered(200, now_);
      judge();
    }
  }

  base::TimePoint now_{seconds(100)};
  ReplicaHealth health_{HealthOptions{}, now_, 0};
};

TEST_F(HealthTest, IsSuspectUntilTheFirstAnswer) {
  ReplicaHealth fresh({}, now_, 0);
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
  EXPECT_FALSE(judge().restarted);
}

TEST_F(HealthTest, AnEngineThatStartsSlowlyHasNotRestarted) {
  ReplicaHealth fresh({}, now_, 0);
  fresh.probe_failed(Failure::kRefused, now_);
  fresh.probe_failed(Failure::kRefused, now_);
  EXPECT_EQ(fresh.judge(now_).health, Health::kDown);
  fresh.probe_answered(200, now_);
  EXPECT_FALSE(fresh.judge(now_).restarted);
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
  EXPECT_FALSE(back.restarted) << "it was stopped, its cache is still there";
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

TEST_F(HealthTest, MostlyBadAnswersMakeItSuspectForACoolDown) {
  health_.bad_answers(4);
  EXPECT_EQ(judge().health, Health::kReady);
  health_.bad_answers(1);
  EXPECT_EQ(judge().health, Health::kSuspect);
  live(seconds(4));
  EXPECT_EQ(judge().health, Health::kSuspect) << "probes do not shorten it";
  live(seconds(1));
  EXPECT_EQ(judge().health, Health::kReady);
}

TEST_F(HealthTest, ManyBadAnswersAmongMoreGoodOnesAreTheRequestsFault) {
  health_.good_answers(101);
  health_.bad_answers(100);
  EXPECT_EQ(judge().health, Health::kReady);
  health_.bad_answers(1);
  EXPECT_EQ(judge().health, Health::kSuspect);
}

TEST_F(HealthTest, GoodAnswersOfAnEarlierOwnerOfTheSlotDoNotCount) {
  ReplicaHealth fresh({}, now_, 1'000);
  fresh.probe_answered(200, now_);
  fresh.good_answers(1'000);
  fresh.bad_answers(5);
  EXPECT_EQ(fresh.judge(now_).health, Health::kSuspect);
}

TEST_F(HealthTest, CoolDownsGrowWhileItGoesOnAndAreForgottenAfterwards) {
  const auto cool_down = [&] {
    health_.bad_answers(5);
    int64_t waited = 0;
    while (judge().health != Health::kReady) {
      live(seconds(1));
      ++waited;
    }
    return waited;
  };
  EXPECT_EQ(cool_down(), 5);
  EXPECT_EQ(cool_down(), 10);
  EXPECT_EQ(cool_down(), 20);
  EXPECT_EQ(cool_down(), 40);
  EXPECT_EQ(cool_down(), 60);
  EXPECT_EQ(cool_down(), 60);
  live(seconds(11));
  EXPECT_EQ(cool_down(), 5);
}

TEST_F(HealthTest, OldBadAnswersAreForgotten) {
  health_.bad_answers(4);
  live(seconds(11));
  health_.bad_answers(4);
  EXPECT_EQ(judge().health, Health::kReady);
}

}  // namespace
}  // namespace fairlead::router
