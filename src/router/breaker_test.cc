#include "router/breaker.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = BreakerState;

class BreakerTest : public testing::Test {
 protected:
  void note(const Answers& answers) { breaker_.note(answers, now_); }
  void pass(base::Nanos time) {
    now_ += time;
    note({});
  }
  void fail_until_open() {
    note({.bad = 5});
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }
  // From open to half-open: how long that takes.
  base::Nanos wait_for_trial() {
    const base::TimePoint from = now_;
    while (breaker_.state() == State::kOpen) pass(milliseconds(100));
    return now_ - from;
  }

  base::TimePoint now_{seconds(1'000)};
  Breaker breaker_{BreakerOptions{}};
};

TEST_F(BreakerTest, OpensAfterSoManyFailuresInARow) {
  Breaker breaker({.error_share = 1});
  for (int i = 0; i < 4; ++i) breaker.note({.bad = 1}, now_);
  breaker.note({.good = 1}, now_);
  for (int i = 0; i < 4; ++i) breaker.note({.bad = 1}, now_);
  EXPECT_EQ(breaker.state(), State::kClosed) << "a good answer begins the row anew";
  breaker.note({.bad = 1}, now_);
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.opened(EjectReason::kFailures), 1u);
}

TEST_F(BreakerTest, OpensWhenHalfOfTheWindowsAnswersFail) {
  note({.good = 10});
  for (int i = 0; i < 9; ++i) {
    note({.good = 1, .bad = 2});  // never in a row, as far as anybody can tell
    ASSERT_EQ(breaker_.state(), State::kClosed) << i;
  }
  note({.good = 1, .bad = 2});  // 20 and 20
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(breaker_.opened(EjectReason::kErrorShare), 1u);
}

TEST_F(BreakerTest, AShareOfFewerThanFiveFailuresMeansNothing) {
  Breaker breaker({.failures_max = 0});
  breaker.note({.bad = 4}, now_);
  EXPECT_EQ(breaker.state(), State::kClosed);
  breaker.note({.bad = 1}, now_);
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.opened(EjectReason::kErrorShare), 1u) << "the rule of the row is off";
}

TEST_F(BreakerTest, FailuresLeaveTheWindowWithTime) {
  Breaker breaker({.failures_max = 0});
  breaker.note({.good = 1, .bad = 4}, now_);
  breaker.note({.bad = 1}, now_ + seconds(11));
  EXPECT_EQ(breaker.state(), State::kClosed);
  EXPECT_EQ(breaker.recent(now_ + seconds(11)).bad, 1u);
  EXPECT_EQ(breaker.recent(now_ + seconds(30)).all(), 0u);
}

TEST_F(BreakerTest, AnswersThatBreakOffLaterDoNotOpenIt) {
  for (int i = 0; i < 100; ++i) note({.good = 1, .broken = 1});
  for (int i = 0; i < 100; ++i) note({.broken = 1});
  EXPECT_EQ(breaker_.state(), State::kClosed);
  EXPECT_EQ(breaker_.recent(now_).broken, 200u) << "they are there to be compared";
}

TEST_F(BreakerTest, OpenBecomesHalfOpenWhenItsTimeIsOver) {
  fail_until_open();
  pass(milliseconds(4'999));
  EXPECT_EQ(breaker_.state(), State::kOpen);
  note({.good = 50});
  EXPECT_EQ(breaker_.state(), State::kOpen) << "last resorts prove nothing";
  pass(milliseconds(1));
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
}

TEST_F(BreakerTest, GoodTrialsCloseIt) {
  fail_until_open();
  wait_for_trial();
  note({.good = 2});
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  note({.good = 1});
  EXPECT_EQ(breaker_.state(), State::kClosed);
  EXPECT_EQ(breaker_.recent(now_).all(), 0u);
}

TEST_F(BreakerTest, OneFailedTrialOpensItForTwiceTheTime) {
  fail_until_open();
  EXPECT_EQ(wait_for_trial(), seconds(5));
  for (const int wait : {10, 20, 40, 60, 60}) {
    note({.good = 2, .bad = 1});
    ASSERT_EQ(breaker_.state(), State::kOpen);
    EXPECT_EQ(wait_for_trial(), seconds(wait));
  }
  EXPECT_EQ(breaker_.opened(EjectReason::kTrial), 5u);
}

TEST_F(BreakerTest, OpeningAgainSoonAfterItClosedTakesTwiceTheTimeAndLaterIsForgotten) {
  fail_until_open();
  wait_for_trial();
  note({.good = 3});
  pass(milliseconds(9'900));
  fail_until_open();
  EXPECT_EQ(wait_for_trial(), seconds(10));
  note({.good = 3});
  pass(seconds(10));
  fail_until_open();
  EXPECT_EQ(wait_for_trial(), seconds(5));
}

TEST_F(BreakerTest, ARestartedReplicaIsTriedAtOnce) {
  fail_until_open();
  breaker_.restarted(now_);
  note({});
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  note({.good = 3});
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(BreakerTest, AnOutlierIsEjectedOnce) {
  breaker_.eject_outlier(now_);
  breaker_.eject_outlier(now_);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(breaker_.opened(EjectReason::kOutlier), 1u);
}

// Whatever happens: it is never open for longer than open_max, never closes without three good
// trials, and never opens without a failure or a verdict.
TEST(BreakerProperties, HoldForRandomHistories) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    base::Random random(seed);
    BreakerOptions options;
    options.failures_max = static_cast<uint32_t>(random.below(8));
    options.open_max = seconds(5 + random.below(60));
    Breaker breaker(options);
    base::TimePoint now{seconds(100)};
    base::TimePoint opened_at{};
    uint64_t good_in_trial = 0;
    for (int i = 0; i < 2'000; ++i) {
      now += milliseconds(random.below(400));
      const Answers answers{.good = random.below(3) == 0 ? random.below(4) : 0,
                            .bad = random.below(5) == 0 ? random.below(4) : 0};
      const State before = breaker.state();
      breaker.note(answers, now);
      const State after = breaker.state();
      if (before == State::kHalfOpen) good_in_trial += answers.good;
      if (after == State::kOpen && before != State::kOpen) {
        ASSERT_GT(answers.bad, 0u);
        opened_at = now;
      }
      if (before == State::kOpen) {
        ASSERT_NE(after, State::kClosed);
        if (after == State::kOpen) ASSERT_LT(now - opened_at, options.open_max);
        good_in_trial = 0;
      }
      if (before == State::kHalfOpen && after == State::kClosed) {
        ASSERT_GE(good_in_trial, Breaker::kTrials);
      }
      if (before == State::kClosed) ASSERT_NE(after, State::kHalfOpen);
    }
  }
}

}  // namespace
}  // namespace fairlead::router
