#include "router/ejections.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class EjectionsTest : public testing::Test {
 protected:
  static constexpr pick::Slot kSlots = 4;

  // `count` replicas of one model, ready.
  void add_all(pick::Slot count) {
    added_ = count;
    Pool pool;
    for (pick::Slot slot = 0; slot < count; ++slot) {
      ejections_.add(slot, 0);
      ejections_.set_fit(slot, true);
      pool.push_back(slot);
    }
    ejections_.set_pools({pool});
  }
  void note(pick::Slot slot, const Answers& answers) {
    good_[slot] += answers.good;
    ejections_.note(slot, {.bad = answers.bad, .broken = answers.broken}, good_[slot], now_);
  }
  void pass(base::Nanos time) {
    now_ += time;
    for (pick::Slot slot = 0; slot < added_; ++slot) note(slot, {});
  }
  std::vector<pick::Slot> ejected() const {
    std::vector<pick::Slot> out;
    for (pick::Slot slot = 0; slot < added_; ++slot) {
      if (ejections_.ejected(slot)) out.push_back(slot);
    }
    return out;
  }
  base::TimePoint now_{seconds(100)};
  Ejections ejections_{EjectionOptions{}, kSlots};
  std::array<uint64_t, kSlots> good_{};
  pick::Slot added_ = 0;
};

using Slots = std::vector<pick::Slot>;

TEST_F(EjectionsTest, AReplicaWhoseBreakerOpensIsLeftOutThenTriedThenEasedIn) {
  add_all(3);
  note(1, {.bad = 5});
  EXPECT_EQ(ejected(), Slots{1});
  pass(seconds(5));
  EXPECT_TRUE(ejected().empty());
  EXPECT_EQ(ejections_.share(1, now_), 0) << "on trial";
  EXPECT_EQ(ejections_.share(0, now_), 1);
  note(1, {.good = 3});
  EXPECT_EQ(ejections_.share(1, now_), SlowStart::kShareMin);
  pass(seconds(10));
  EXPECT_EQ(ejections_.share(1, now_), 1);
}

TEST_F(EjectionsTest, WhenTooManyWouldBeEjectedAllAreUsed) {
  add_all(4);
  note(0, {.bad = 5});
  note(1, {.bad = 5});
  EXPECT_EQ(ejected(), (Slots{0, 1}));
  note(2, {.bad = 5});
  EXPECT_TRUE(ejected().empty());
  EXPECT_TRUE(ejections_.spared(0));
  EXPECT_EQ(ejections_.breaker(0).state(), BreakerState::kOpen);
  EXPECT_FALSE(ejections_.spared(3));
}

TEST_F(EjectionsTest, TheLastReplicaIsNeverEjected) {
  add_all(1);
  note(0, {.bad = 100});
  EXPECT_TRUE(ejected().empty());
}

TEST_F(EjectionsTest, ReplicasThatAreDownLeaveFewerToEject) {
  add_all(3);
  note(0, {.bad = 5});
  EXPECT_EQ(ejected(), Slots{0});
  ejections_.set_fit(1, false);
  EXPECT_EQ(ejected(), Slots{0}) << "one of two that are left";
  ejections_.set_fit(2, false);
  EXPECT_TRUE(ejected().empty()) << "it is the last one";
  ejections_.set_fit(2, true);
  EXPECT_EQ(ejected(), Slots{0});
}

TEST_F(EjectionsTest, AnOutlierAmongItsPeersIsEjected) {
  add_all(3);
  note(0, {.good = 80, .bad = 20});
  note(1, {.good = 100});
  note(2, {.good = 100});
  EXPECT_TRUE(ejected().empty()) << "a fifth of its answers alone says little";
  ejections_.compare(now_);
  EXPECT_EQ(ejected(), Slots{0});
  EXPECT_EQ(ejections_.breaker(0).opened(EjectReason::kOutlier), 1u);
}

TEST_F(EjectionsTest, ARestartedReplicaIsOnTrialAndThenEasedIn) {
  add_all(2);
  note(0, {.bad = 5});
  ejections_.returned(0, now_);
  ejections_.restarted(0, now_);
  pass(milliseconds(200));
  EXPECT_EQ(ejections_.share(0, now_), 0);
  note(0, {.good = 3});
  EXPECT_EQ(ejections_.share(0, now_), SlowStart::kShareMin);
}

TEST_F(EjectionsTest, AnotherReplicaInTheSlotStartsAnew) {
  add_all(2);
  note(0, {.good = 7, .bad = 5});
  ejections_.remove(0);
  ejections_.add(0, good_[0]);
  ejections_.set_fit(0, true);
  EXPECT_FALSE(ejections_.ejected(0));
  note(0, {.bad = 4});
  EXPECT_FALSE(ejections_.ejected(0)) << "good answers of the one before it do not count";
  EXPECT_EQ(ejections_.breaker(0).recent(now_).good, 0u);
}

// Never more than the allowed share of the replicas that are fit is left out.
TEST_F(EjectionsTest, HoldTheBoundForRandomHistories) {
  add_all(4);
  base::Random random(7);
  std::array<bool, kSlots> fit{true, true, true, true};
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<pick::Slot>(random.below(4));
    switch (random.below(4)) {
      case 0:
        note(slot, {.bad = random.below(6)});
        break;
      case 1:
        note(slot, {.good = random.below(3)});
        break;
      case 2:
        fit[slot] = random.below(4) != 0;
        ejections_.set_fit(slot, fit[slot]);
        break;
      default:
        pass(milliseconds(random.below(500)));
        ejections_.compare(now_);
    }
    size_t all = 0;
    size_t out = 0;
    for (pick::Slot s = 0; s < kSlots; ++s) {
      all += fit[s] ? 1 : 0;
      out += fit[s] && ejections_.ejected(s) ? 1 : 0;
    }
    ASSERT_LE(2 * out, all) << i;
  }
}

}  // namespace
}  // namespace fairlead::router
