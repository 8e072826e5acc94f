#include "kube/work_queue.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kube/backoff.h"
#include "kube/metrics.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

using base::TimePoint;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kStart{seconds(1000)};

std::string taken(QueueCore& queue, TimePoint now) {
  const auto item = queue.take(now);
  return item ? item->key : "";
}

TEST(QueueCore, GivesEachKeyOnceInOrder) {
  QueueCore queue({});
  queue.add("a", kStart);
  queue.add("b", kStart);
  queue.add("a", kStart);
  EXPECT_EQ(queue.waiting(), 2u);
  EXPECT_EQ(taken(queue, kStart), "a");
  EXPECT_EQ(taken(queue, kStart), "b");
  EXPECT_EQ(taken(queue, kStart), "");
}

TEST(QueueCore, AKeyInWorkWaitsUntilItIsDone) {
  QueueCore queue({});
  queue.add("a", kStart);
  EXPECT_EQ(taken(queue, kStart), "a");
  queue.add("a", kStart);
  queue.add("a", kStart);
  EXPECT_EQ(taken(queue, kStart), "");
  queue.done("a", kStart);
  EXPECT_EQ(taken(queue, kStart), "a");
  queue.done("a", kStart);
  EXPECT_EQ(taken(queue, kStart), "");
}

TEST(QueueCore, TheEarlierOfTwoDelaysStays) {
  QueueCore queue({});
  queue.add_at("a", kStart + seconds(5), kStart);
  queue.add_at("a", kStart + seconds(9), kStart);
  EXPECT_EQ(queue.next_due(), kStart + seconds(5));
  queue.add_at("a", kStart + seconds(2), kStart);
  EXPECT_EQ(queue.next_due(), kStart + seconds(2));
  EXPECT_EQ(queue.delayed(), 1u);
  EXPECT_EQ(taken(queue, kStart + seconds(2) - milliseconds(1)), "");
  EXPECT_EQ(taken(queue, kStart + seconds(2)), "a");
  EXPECT_EQ(queue.next_due(), base::kNever);
}

TEST(QueueCore, EachFailureDoublesTheDelayUpToItsBound) {
  QueueCore queue({.retry_first = milliseconds(10), .retry_max = milliseconds(75)});
  TimePoint now = kStart;
  for (const int expected : {10, 20, 40, 75, 75}) {
    queue.add_rate_limited("a", now);
    EXPECT_EQ(queue.next_due(), now + milliseconds(expected));
    now += milliseconds(expected);
    EXPECT_EQ(taken(queue, now), "a");
    queue.done("a", now);
  }
  EXPECT_EQ(queue.failures("a"), 5);
  queue.forget("a");
  queue.add_rate_limited("a", now);
  EXPECT_EQ(queue.next_due(), now + milliseconds(10));
}

TEST(QueueCore, AllRetriesShareOneRate) {
  QueueCore queue({.retry_first = milliseconds(1), .retries_a_second = 10, .retries_burst = 5});
  for (int i = 0; i < 25; ++i) queue.add_rate_limited(std::to_string(i), kStart);
  int given = 0;
  while (queue.take(kStart + milliseconds(1))) ++given;
  EXPECT_EQ(given, 5);
  while (queue.take(kStart + seconds(1))) ++given;
  EXPECT_EQ(given, 15);
  while (queue.take(kStart + seconds(2))) ++given;
  EXPECT_EQ(given, 25);
}

// Whatever happens, one worker a key, and a key that was added is given out after that.
TEST(QueueCore, NoAddIsLostAndNoKeyIsGivenTwice) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    base::Random random(seed);
    QueueCore queue({});
    TimePoint now = kStart;
    std::set<std::string> in_work;
    std::map<std::string, int> added, seen;  // the number of the last add, and of that at take
    int number = 0;
    const auto take = [&] {
      const auto item = queue.take(now);
      if (!item) return false;
      EXPECT_TRUE(in_work.insert(item->key).second) << "seed " << seed;
      seen[item->key] = added[item->key];
      return true;
    };
    for (int step = 0; step < 300; ++step) {
      const std::string key(1, static_cast<char>('a' + random.below(4)));
      switch (random.below(5)) {
        case 0:
          queue.add(key, now);
          added[key] = ++number;
          break;
        case 1:
          queue.add_rate_limited(key, now);
          added[key] = ++number;
          break;
        case 2:
          take();
          break;
        case 3:
          if (in_work.erase(key) > 0) queue.done(key, now);
          break;
        default:
          now += milliseconds(random.below(50));
      }
    }
    for (int round = 0; round < 100; ++round) {
      now += minutes(10);
      while (take()) {
      }
      for (const std::string& key : std::exchange(in_work, {})) queue.done(key, now);
    }
    EXPECT_EQ(added, seen) << "seed " << seed;
    EXPECT_EQ(queue.waiting() + queue.delayed() + queue.in_work(), 0u);
  }
}

struct WorkQueueTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  obs::Registry registry;
  Metrics metrics{registry, clock};
  QueueMetrics handles = metrics.queue(0, "q");
  WorkQueue queue{loop, {}, &handles};
  std::vector<std::pair<std::string, base::Nanos>> worked;
  rt::TaskGroup group{loop};

  rt::Task<void> work(base::Nanos each) {
    while (true) {
      std::optional<std::string> key = co_await queue.get();
      if (!key) co_return;
      worked.emplace_back(*key, loop.now().time_since_epoch());
      co_await rt::sleep_until(loop.now() + each);
      queue.done(*key);
    }
  }
  ~WorkQueueTest() override {
    group.cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle();
  }
};

TEST_F(WorkQueueTest, WorkersShareTheKeysAndNeverOneKey) {
  for (int i = 0; i < 3; ++i) group.spawn(work(seconds(1)));
  loop.run_until_idle(TimePoint(seconds(1)));
  queue.add("a");
  queue.add("b");
  loop.run_until_idle(TimePoint(milliseconds(1500)));
  queue.add("a");
  queue.add_after("c", seconds(10));
  loop.run_until_idle(TimePoint(seconds(20)));
  ASSERT_EQ(worked.size(), 4u);
  EXPECT_EQ(worked[0].second, seconds(1));
  EXPECT_EQ(worked[1].second, seconds(1));
  EXPECT_EQ(worked[2].first, "a");
  EXPECT_EQ(worked[2].second, seconds(2));
  EXPECT_EQ(worked[3].first, "c");
  EXPECT_EQ(worked[3].second, milliseconds(11500));
  std::string text;
  registry.expose(text);
  EXPECT_NE(text.find("workqueue_adds_total{name=\"q\"} 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("workqueue_depth{name=\"q\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("workqueue_work_duration_seconds_count{name=\"q\"} 4\n"), std::string::npos);
  EXPECT_NE(text.find("workqueue_unfinished_work_seconds{name=\"q\"} 0\n"), std::string::npos);
}

TEST_F(WorkQueueTest, ShowsWorkersThatDoNotComeToAnEnd) {
  for (int i = 0; i < 2; ++i) group.spawn(work(minutes(10)));
  queue.add("a");
  loop.run_until_idle(TimePoint(seconds(1)));
  queue.add("b");
  loop.run_until_idle(TimePoint(seconds(61)));
  std::string text;
  registry.expose(text);
  EXPECT_NE(text.find("workqueue_unfinished_work_seconds{name=\"q\"} 121\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("workqueue_longest_running_processor_seconds{name=\"q\"} 61\n"),
            std::string::npos);
  EXPECT_NE(text.find("fairlead_workqueue_in_work{name=\"q\"} 2\n"), std::string::npos);
}

rt::Task<bool> drained_by(WorkQueue& queue, TimePoint deadline) {
  co_return co_await queue.drained(deadline);
}

TEST_F(WorkQueueTest, ShutDownItFinishesWhatWaitsAndTakesNothingMore) {
  group.spawn(work(seconds(1)));
  queue.add("a");
  queue.add("b");
  queue.add_after("later", seconds(1));
  loop.run_until_idle(TimePoint(milliseconds(100)));
  queue.shut_down();
  queue.add("c");
  EXPECT_FALSE(loop.block_on(drained_by(queue, TimePoint(milliseconds(500)))));
  EXPECT_TRUE(loop.block_on(drained_by(queue, base::kNever)));
  ASSERT_EQ(worked.size(), 2u);
  EXPECT_EQ(worked[1].first, "b");
  EXPECT_EQ(group.running(), 0u);
}

TEST(Backoff, DoublesWithJitterUpToItsBound) {
  base::Random random(7);
  Backoff backoff({.first = milliseconds(100), .max = seconds(1)});
  for (const int whole : {100, 200, 400, 800, 1000, 1000}) {
    const base::Nanos wait = backoff.next(random);
    EXPECT_GE(wait, milliseconds(whole) / 2);
    EXPECT_LE(wait, milliseconds(whole));
  }
  backoff.reset();
  EXPECT_LE(backoff.next(random), milliseconds(100));
}

}  // namespace
}  // namespace fairlead::kube
