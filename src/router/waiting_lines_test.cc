#include "router/waiting_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/random.h"

namespace fairlead::router {
namespace {

using pick::Health;
using pick::Slot;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

base::TimePoint at(int64_t second) { return base::TimePoint(seconds(second)); }

using Slots = std::vector<Slot>;

class WaitingLinesTest : public testing::Test {
 protected:
  // All replicas have two requests, as many as they may.
  explicit WaitingLinesTest(WaitingBounds bounds = {.in_flight_max = 2,
                                                    .requests_max = 4,
                                                    .bytes_max = base::Bytes(100)})
      : lines_(bounds, columns_) {
    for (Slot slot = 0; slot < columns_.slots(); ++slot) {
      columns_.begin(slot, 0);
      columns_.begin(slot, 0);
    }
  }
  ~WaitingLinesTest() override {
    while (!entries_.empty()) leave(*entries_.front());
    EXPECT_EQ(lines_.requests(), 0U);
    EXPECT_EQ(lines_.bytes(), 0U);
    for (Slot slot = 0; slot < columns_.slots(); ++slot) EXPECT_EQ(columns_.lines(slot), 0U);
  }

  // nullptr: turned away.
  WaitingLines::Entry* enter(std::string_view model, const Slots& slots, base::TimePoint arrived,
                             uint64_t bytes = 1) {
    auto entry = std::make_unique<WaitingLines::Entry>(arrived, bytes);
    shed_ = lines_.enter(*entry, model, slots);
    if (shed_) return nullptr;
    return entries_.emplace_back(std::move(entry)).get();
  }
  void leave(WaitingLines::Entry& entry) {
    lines_.leave(entry);
    std::erase_if(entries_, [&](const auto& known) { return known.get() == &entry; });
  }
  // It picks that replica.
  void take(WaitingLines::Entry& entry, Slot slot) {
    lines_.look(entry);
    ASSERT_TRUE(columns_.try_begin(slot, 0, 2));
    leave(entry);
  }

  pick::Columns columns_{3};
  WaitingLines lines_;
  std::deque<std::unique_ptr<WaitingLines::Entry>> entries_;
  std::optional<Shed> shed_;
};

TEST_F(WaitingLinesTest, CallsInOrderOfArrivalOneForEachPlace) {
  auto* first = enter("m", {0, 1}, at(1));
  auto* second = enter("m", {0, 1}, at(2));
  auto* third = enter("m", {0, 1}, at(3));
  EXPECT_EQ(lines_.call_next(), nullptr) << "there is no room";
  columns_.end(0);
  columns_.end(1);
  EXPECT_EQ(lines_.call_next_at(0), first);
  EXPECT_EQ(lines_.call_next_at(1), second);
  EXPECT_EQ(lines_.call_next(), nullptr) << "both places are spoken for";
  EXPECT_FALSE(third->called());
  take(*first, 1);
  take(*second, 0);
  EXPECT_EQ(lines_.call_next(), nullptr);
}

TEST_F(WaitingLinesTest, AReturningRequestStandsWhereItStood) {
  enter("m", {0}, at(5));
  auto* returning = enter("m", {0}, at(2));
  columns_.end(0);
  EXPECT_EQ(lines_.call_next(), returning);
}

TEST_F(WaitingLinesTest, AFullReplicaDoesNotHoldUpTheLineForAnother) {
  enter("a", {0}, at(1));
  auto* b = enter("b", {1}, at(2));
  columns_.end(1);
  EXPECT_EQ(lines_.call_next_at(1), b);
  EXPECT_EQ(lines_.call_next(), nullptr);
}

TEST_F(WaitingLinesTest, LinesThatShareAReplicaTakeTurnsByArrival) {
  auto* a = enter("a", {0, 1}, at(2));
  auto* b = enter("b", {1, 2}, at(1));
  columns_.end(1);
  EXPECT_EQ(lines_.call_next_at(1), b);
  take(*b, 1);
  columns_.end(1);
  EXPECT_EQ(lines_.call_next_at(1), a);
}

TEST_F(WaitingLinesTest, WhoFindsNothingWaitsOnAndIsCalledAgain) {
  auto* only = enter("m", {0}, at(1));
  columns_.end(0);
  EXPECT_EQ(lines_.call_next(), only);
  EXPECT_EQ(lines_.call_next(), nullptr);
  lines_.look(*only);
  EXPECT_FALSE(only->called());
  EXPECT_EQ(lines_.call_next(), only);
}

TEST_F(WaitingLinesTest, WhoHasNoUseForTheRoomPassesTheCallOn) {
  auto* picky = enter("m", {0, 1}, at(1));
  auto* behind = enter("m", {0, 1}, at(2));
  auto* last = enter("m", {0, 1}, at(3));
  columns_.end(0);
  EXPECT_EQ(lines_.call_next(), picky);
  lines_.look(*picky);
  EXPECT_EQ(lines_.call_behind(*picky), behind);
  lines_.look(*behind);
  EXPECT_EQ(lines_.call_behind(*behind), last);
  EXPECT_EQ(lines_.call_behind(*last), nullptr);
}

TEST_F(WaitingLinesTest, IsBoundedInRequests) {
  for (int i = 0; i < 4; ++i) ASSERT_NE(enter("m", {0}, at(i)), nullptr);
  EXPECT_EQ(enter("m", {0}, at(5)), nullptr);
  EXPECT_EQ(shed_, Shed::kRequests);
  EXPECT_EQ(enter("other", {1}, at(5)), nullptr) << "all lines together are bounded";
  leave(*entries_.front());
  EXPECT_NE(enter("m", {0}, at(6)), nullptr);
}

TEST_F(WaitingLinesTest, IsBoundedInBytes) {
  ASSERT_NE(enter("m", {0}, at(1), 60), nullptr);
  EXPECT_EQ(enter("m", {0}, at(2), 41), nullptr);
  EXPECT_EQ(shed_, Shed::kBytes);
  EXPECT_NE(enter("m", {0}, at(3), 40), nullptr);
  EXPECT_EQ(lines_.bytes(), 100U);
  EXPECT_EQ(enter("m", {0}, at(4), 1), nullptr);
}

TEST_F(WaitingLinesTest, CallsEveryoneWhereNobodyServesTheModelAnyMore) {
  auto* first = enter("m", {0, 1}, at(1));
  auto* second = enter("m", {0, 1}, at(2));
  columns_.set_health(0, Health::kDown);
  EXPECT_EQ(lines_.call_next(), nullptr);
  columns_.set_health(1, Health::kDown);
  EXPECT_EQ(lines_.call_next(), first);
  EXPECT_EQ(lines_.call_next(), second);
}

TEST_F(WaitingLinesTest, SuspectsCountOnlyWhereNothingIsReady) {
  auto* only = enter("m", {0, 1}, at(1));
  columns_.set_health(0, Health::kSuspect);
  columns_.end(0);
  EXPECT_EQ(lines_.call_next(), nullptr);
  columns_.set_health(1, Health::kDown);
  EXPECT_EQ(lines_.call_next(), only);
}

TEST_F(WaitingLinesTest, FollowsTheTable) {
  auto* only = enter("m", {0}, at(1));
  columns_.end(2);
  EXPECT_EQ(lines_.call_next(), nullptr);
  lines_.update(pick::Table(std::array{pick::Table::Replica{.slot = 0, .models = {"m"}},
                                       pick::Table::Replica{.slot = 2, .models = {"m"}}}));
  EXPECT_EQ(columns_.lines(2), 1U);
  EXPECT_EQ(lines_.call_next_at(2), only);
  lines_.look(*only);
  lines_.update(pick::Table(std::array{pick::Table::Replica{.slot = 0, .models = {"other"}}}));
  EXPECT_EQ(columns_.lines(0), 0U);
  EXPECT_EQ(lines_.call_next(), only) << "to find that its model is gone";
}

TEST_F(WaitingLinesTest, SaysWhenToComeBackByHowLongTheFirstHasWaited) {
  EXPECT_EQ(lines_.retry_after(at(10)), seconds(1));
  enter("m", {0}, at(10));
  enter("n", {1}, at(2));
  EXPECT_EQ(lines_.retry_after(at(2)), seconds(1));
  EXPECT_EQ(lines_.retry_after(at(10)), seconds(8));
  EXPECT_EQ(lines_.retry_after(at(10) + std::chrono::milliseconds(1)), seconds(9));
  EXPECT_EQ(lines_.retry_after(at(1000)), seconds(60));
}

// Random lines, places and departures. Whoever is served came before everyone in the same line that
// still waits; room never stands empty while somebody waits for it; nothing is left at the end.
TEST(WaitingLinesProperty, NobodyIsOvertakenAndNoRoomIsWasted) {
  constexpr uint32_t kMax = 2;
  const std::array<Slots, 4> serves = {Slots{0, 1}, Slots{1, 2}, Slots{0, 1, 2, 3}, Slots{3}};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    base::Random random(seed);
    pick::Columns columns(4);
    WaitingLines lines({.in_flight_max = kMax, .requests_max = 20}, columns);
    struct Request {
      std::unique_ptr<WaitingLines::Entry> entry;
      size_t model;
      int arrived;
    };
    std::vector<Request> waiting;
    std::vector<Slot> running;
    const auto room = [&](const Slots& slots) {
      return std::find_if(slots.begin(), slots.end(),
                          [&](Slot slot) { return columns.in_flight(slot) < kMax; });
    };
    for (int step = 0; step < 300; ++step) {
      const uint64_t what = random.below(10);
      if (what < 5) {
        const size_t model = random.below(serves.size());
        auto entry = std::make_unique<WaitingLines::Entry>(at(step), 1);
        if (!lines.enter(*entry, fmt::to_string(model), serves[model])) {
          waiting.push_back({std::move(entry), model, step});
        }
      } else if (what < 8 && !running.empty()) {
        const size_t i = random.below(running.size());
        columns.end(running[i]);
        running.erase(running.begin() + static_cast<ptrdiff_t>(i));
      } else if (!waiting.empty()) {
        const size_t i = random.below(waiting.size());
        lines.leave(*waiting[i].entry);
        waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
      }
      // The calls reach whom they are for at once.
      while (WaitingLines::Entry* called = lines.call_next()) {
        const auto who = std::find_if(waiting.begin(), waiting.end(),
                                      [&](const Request& r) { return r.entry.get() == called; });
        ASSERT_NE(who, waiting.end()) << "seed " << seed;
        for (const Request& other : waiting) {
          if (other.model == who->model) ASSERT_LE(who->arrived, other.arrived) << "seed " << seed;
        }
        const auto slot = room(serves[who->model]);
        ASSERT_NE(slot, serves[who->model].end()) << "called without room, seed " << seed;
        lines.look(*called);
        ASSERT_TRUE(columns.try_begin(*slot, 0, kMax));
        running.push_back(*slot);
        lines.leave(*called);
        waiting.erase(who);
      }
      for (const Request& request : waiting) {
        ASSERT_EQ(room(serves[request.model]), serves[request.model].end())
            << "room stands empty, seed " << seed;
      }
      ASSERT_EQ(lines.requests(), waiting.size()) << "seed " << seed;
    }
    for (Request& request : waiting) lines.leave(*request.entry);
    for (Slot slot = 0; slot < 4; ++slot) ASSERT_EQ(columns.lines(slot), 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::router
