#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "rt/blocking.h"
#include "rt/channel.h"
#include "rt/loop.h"
#include "rt/signals.h"
#include "rt/task_group.h"

namespace fairlead::rt {
namespace {

using base::ManualClock;
using base::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct VirtualTime : testing::Test {
  ManualClock clock;
  Loop loop{clock};
  TimePoint at(base::Nanos d) { return TimePoint(d); }
};

Task<int> add(int a, int b) { co_return a + b; }

Task<int> sum_to(int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total = co_await add(total, i);
  co_return total;
}

TEST_F(VirtualTime, TasksReturnValuesToTheirAwaiters) {
  EXPECT_EQ(loop.block_on(sum_to(1000)), 499500);
}

Task<void> note_after(std::vector<int>& log, int id, base::Nanos wait) {
  const auto status = co_await sleep_until(TimePoint(wait));
  log.push_back(status == WaitStatus::kTimedOut ? id : -id);
}

TEST_F(VirtualTime, SleepersWakeInTimeOrderWithoutRealTimePassing) {
  std::vector<int> log;
  TaskGroup group(loop);
  group.spawn(note_after(log, 1, seconds(3600)));
  group.spawn(note_after(log, 2, seconds(1)));
  group.spawn(note_after(log, 3, seconds(1)));
  loop.run_until_idle();
  EXPECT_EQ(log, (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(loop.now(), at(seconds(3600)));
}

TEST_F(VirtualTime, RunUntilStopsAtTheGivenTime) {
  std::vector<int> log;
  TaskGroup group(loop);
  group.spawn(note_after(log, 1, seconds(10)));
  loop.run_until_idle(at(seconds(5)));
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(loop.now(), at(seconds(5)));
  loop.run_until_idle();
  EXPECT_EQ(log, std::vector<int>{1});
}

TEST_F(VirtualTime, CancellingAGroupWakesItsSleepersAsAValue) {
  std::vector<int> log;
  TaskGroup group(loop);
  group.spawn(note_after(log, 1, seconds(10)));
  group.spawn(note_after(log, 2, seconds(20)));
  loop.run_until_idle(at(seconds(1)));
  group.cancel(CancelReason::kShutdown);
  loop.run_until_idle();
  EXPECT_EQ(log, (std::vector<int>{-1, -2}));
  EXPECT_EQ(loop.now(), at(seconds(1)));
  EXPECT_EQ(group.running(), 0u);
}

Task<base::Result<>> fail_after(base::Nanos wait) {
  co_await sleep_until(TimePoint(wait));
  co_return base::Error(base::ErrorCode::kUnavailable, "broken");
}

Task<base::Result<>> run_group(Loop& loop, std::vector<int>& log) {
  Scope& scope = co_await current_scope();
  TaskGroup group(scope);
  group.spawn(note_after(log, 1, seconds(10)));
  group.spawn(fail_after(seconds(2)));
  const auto result = co_await group.join();
  EXPECT_EQ(loop.now(), TimePoint(seconds(2)));
  co_return result;
}

TEST_F(VirtualTime, AnErrorCancelsTheSiblingsAndIsWhatJoinReturns) {
  std::vector<int> log;
  const auto result = loop.block_on(run_group(loop, log));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "broken");
  EXPECT_EQ(log, std::vector<int>{-1});
}

Task<CancelReason> wait_with_deadline(Loop& loop, base::Nanos first, base::Nanos then) {
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  scope.set_deadline(loop.now() + first);
  scope.set_deadline(loop.now() + then);
  WaitList never;
  struct Wait {
    static Task<void> on(WaitList& list) { co_await list.wait(); }
  };
  co_await Wait::on(never).in(scope);
  co_return scope.reason();
}

TEST_F(VirtualTime, AScopeDeadlineCanMoveLaterAndEarlier) {
  EXPECT_EQ(loop.block_on(wait_with_deadline(loop, seconds(1), seconds(5))),
            CancelReason::kDeadline);
  EXPECT_EQ(loop.now(), at(seconds(5)));
  EXPECT_EQ(loop.block_on(wait_with_deadline(loop, seconds(9), seconds(2))),
            CancelReason::kDeadline);
  EXPECT_EQ(loop.now(), at(seconds(7)));
}

Task<WaitStatus> sleep_in(Scope& scope) {
  struct Sleep {
    static Task<WaitStatus> run() { co_return co_await sleep_until(base::kNever); }
  };
  co_return co_await Sleep::run().in(scope);
}

TEST_F(VirtualTime, ACancelledScopeNeverSuspendsAgain) {
  Scope scope(loop);
  scope.cancel(CancelReason::kClientGone);
  scope.cancel(CancelReason::kShutdown);
  EXPECT_EQ(loop.block_on(sleep_in(scope)), WaitStatus::kCancelled);
  EXPECT_EQ(scope.reason(), CancelReason::kClientGone);
  Scope child(scope);
  EXPECT_EQ(child.reason(), CancelReason::kClientGone);
}

TEST_F(VirtualTime, CancellationReachesGrandchildren) {
  Scope root(loop);
  Scope child(root);
  Scope grandchild(child);
  root.cancel(CancelReason::kShutdown);
  EXPECT_TRUE(grandchild.cancelled());
}

Task<WaitStatus> wait_on(WaitList& list, TimePoint deadline) {
  co_return co_await list.wait(deadline);
}

TEST_F(VirtualTime, AWaitEndsAtItsDeadlineAndLeavesTheList) {
  WaitList list;
  EXPECT_EQ(loop.block_on(wait_on(list, at(seconds(1)))), WaitStatus::kTimedOut);
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.notify_one());
}

Task<void> produce(Channel<int>& channel, int count) {
  for (int i = 0; i < count; ++i) {
    const bool sent = co_await channel.send(i);
    EXPECT_TRUE(sent);
  }
  channel.close();
}

Task<void> consume(Channel<int>& channel, std::vector<int>& got) {
  for (;;) {
    auto item = co_await channel.receive();
    if (!item) co_return;
    got.push_back(*item);
    EXPECT_LE(channel.size(), 2u);
  }
}

TEST_F(VirtualTime, AChannelKeepsOrderBoundAndEnd) {
  Channel<int> channel(2);
  std::vector<int> got;
  TaskGroup group(loop);
  group.spawn(produce(channel, 100));
  group.spawn(consume(channel, got));
  loop.run_until_idle();
  ASSERT_EQ(got.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i);
  EXPECT_FALSE(channel.try_send(1));
}

Task<void> note_twice(Loop& loop, std::vector<int>& log, int id) {
  log.push_back(id);
  co_await end_of_turn(loop);
  log.push_back(-id);
  co_await end_of_turn(loop);
  log.push_back(-id);
}

TEST_F(VirtualTime, TheEndOfATurnComesAfterAllThatWasReadyAndBeforeTimePasses) {
  std::vector<int> log;
  TaskGroup group(loop);
  group.spawn(note_twice(loop, log, 1));
  group.spawn(note_twice(loop, log, 2));
  group.spawn(note_after(log, 9, milliseconds(1)));
  loop.run_until_idle();
  EXPECT_EQ(log, (std::vector<int>{1, 2, -1, -2, -1, -2, 9}));
}

TEST(RealLoop, ATaskAtTheEndOfItsTurnDoesNotWaitForEvents) {
  Loop loop;
  std::vector<int> log;
  loop.block_on(note_twice(loop, log, 1));
  EXPECT_EQ(log, (std::vector<int>{1, -1, -1}));
}

TEST(RealLoop, RunsPostsOfOtherThreadsInOrderAndStops) {
  Loop loop;
  std::vector<int> got;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop.post([&got, i] { got.push_back(i); });
    loop.stop();
  });
  loop.run();
  other.join();
  ASSERT_EQ(got.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i);
}

Task<WaitStatus> sleep_for(Loop& loop, base::Nanos wait) {
  co_return co_await sleep_until(loop.now() + wait);
}

TEST(RealLoop, TimersFireAndTimeAdvances) {
  Loop loop;
  const TimePoint start = loop.clock().now();
  EXPECT_EQ(loop.block_on(sleep_for(loop, milliseconds(2))), WaitStatus::kTimedOut);
  EXPECT_GE(loop.clock().now() - start, milliseconds(2));
}

Task<int> resolve_something() {
  auto result = co_await run_blocking<int>([] { return 42; });
  co_return result.value_or(-1);
}

TEST(RealLoop, BlockingWorkComesBackToTheLoop) {
  Loop loop;
  EXPECT_EQ(loop.block_on(resolve_something()), 42);
}

Task<int> next_signal(Signals& signals) { co_return co_await signals.next(); }

TEST(RealLoop, APostThatComesAfterTheLoopIsDropped) {
  std::shared_ptr<Mailbox> mailbox;
  {
    Loop loop;
    mailbox = loop.mailbox();
    mailbox->post([] { ADD_FAILURE() << "nobody runs this"; });
  }
  mailbox->post([] { ADD_FAILURE() << "nobody runs this"; });
}

class Counter final : public IoHandler {
 public:
  explicit Counter(Loop& loop) : loop_(loop), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    EXPECT_TRUE(loop.watch(fd_, *this));
  }
  ~Counter() {
    loop_.unwatch(fd_, *this);
    close(fd_);
  }
  Task<void> count_and_wait(TimePoint deadline) {
    EXPECT_EQ(eventfd_write(fd_, 1), 0);
    status = co_await list_.wait(deadline);
  }
  WaitStatus status = WaitStatus::kCancelled;

 private:
  void on_events(uint32_t) override { list_.notify_all(); }
  Loop& loop_;
  int fd_;
  WaitList list_;
};

// Else a loop that was held up for a second would take hundreds of connections for failed.
TEST(RealLoop, WhatIsReadyComesBeforeItsDeadlineHoweverMuchThereIs) {
  Loop loop;
  std::vector<std::unique_ptr<Counter>> all;
  for (int i = 0; i < 600; ++i) all.push_back(std::make_unique<Counter>(loop));
  TaskGroup group(loop);
  for (const auto& one : all) group.spawn(one->count_and_wait(loop.now() + base::Nanos(1)));
  EXPECT_TRUE(loop.block_on(group.join()));
  for (const auto& one : all) ASSERT_EQ(one->status, WaitStatus::kReady);
}

TEST(RealLoop, SignalsArriveAsEvents) {
  block_signals({SIGUSR2});
  Loop loop;
  Signals signals(loop, {SIGUSR2});
  raise(SIGUSR2);
  EXPECT_EQ(loop.block_on(next_signal(signals)), SIGUSR2);
}

}  // namespace
}  // namespace fairlead::rt
