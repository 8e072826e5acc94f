#include "rt/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"

namespace fairlead::rt {
namespace {

struct Recorder : TimerNode {
  std::vector<int>* log = nullptr;
  int id = 0;
  void on_timer() override { log->push_back(id); }
};

TEST(TimerHeap, FiresInTimeOrderWhateverIsArmedMovedAndDisarmed) {
  base::Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<int> log;
    TimerHeap heap;
    std::vector<std::unique_ptr<Recorder>> nodes;
    std::vector<int64_t> when;
    for (int i = 0; i < 200; ++i) {
      nodes.push_back(std::make_unique<Recorder>());
      nodes.back()->log = &log;
      nodes.back()->id = i;
      when.push_back(static_cast<int64_t>(random.below(1000)) * 1000 + i);
      heap.arm(*nodes.back(), base::TimePoint(base::Nanos(when.back())));
    }
    for (int i = 0; i < 100; ++i) {
      const size_t which = random.below(200);
      if (random.below(2) == 0) {
        nodes[which]->disarm();
        when[which] = -1;
      } else {
        when[which] = static_cast<int64_t>(random.below(1000)) * 1000 + static_cast<int64_t>(which);
        heap.arm(*nodes[which], base::TimePoint(base::Nanos(when[which])));
      }
    }
    std::vector<int> expected;
    for (int i = 0; i < 200; ++i) {
      if (when[static_cast<size_t>(i)] >= 0) expected.push_back(i);
    }
    std::sort(expected.begin(), expected.end(), [&](int a, int b) {
      return when[static_cast<size_t>(a)] < when[static_cast<size_t>(b)];
    });
    heap.fire_until(base::TimePoint(base::Nanos(2'000'000)));
    EXPECT_EQ(log, expected);
    EXPECT_TRUE(heap.empty());
  }
}

TEST(TimerHeap, NeverDisarmsAndANodeMayDieArmed) {
  TimerHeap heap;
  {
    Recorder node;
    heap.arm(node, base::TimePoint(base::Nanos(1)));
    EXPECT_TRUE(node.armed());
  }
  EXPECT_TRUE(heap.empty());
  Recorder node;
  heap.arm(node, base::TimePoint(base::Nanos(1)));
  heap.arm(node, base::kNever);
  EXPECT_EQ(heap.next(), base::kNever);
}

}  // namespace
}  // namespace fairlead::rt
