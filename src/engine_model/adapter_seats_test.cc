#include "engine_model/adapter_seats.h"

#include <map>

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::engine_model {
namespace {

TEST(AdapterSeats, AdmitAsManyAdaptersAsThereAreSeats) {
  AdapterSeats seats(2);
  for (uint32_t adapter : {1u, 2u, 3u}) seats.waits(adapter);
  EXPECT_TRUE(seats.may_run(1));
  seats.starts(1);
  EXPECT_TRUE(seats.may_run(2));
  EXPECT_EQ(seats.deferred(), 0u);
  seats.starts(2);
  EXPECT_FALSE(seats.may_run(3));
  EXPECT_EQ(seats.deferred(), 1u);
  seats.ends(1);
  EXPECT_TRUE(seats.may_run(3));
  EXPECT_EQ(seats.deferred(), 0u);
}

TEST(AdapterSeats, OneSeatServesAllRequestsOfItsAdapter) {
  AdapterSeats seats(1);
  for (int i = 0; i < 3; ++i) seats.waits(7);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(seats.may_run(7));
    seats.starts(7);
  }
  EXPECT_FALSE(seats.may_run(8));
  for (int i = 0; i < 2; ++i) seats.ends(7);
  EXPECT_FALSE(seats.may_run(8));
  seats.ends(7);
  EXPECT_TRUE(seats.may_run(8));
}

TEST(AdapterSeats, TheBaseModelNeedsNone) {
  AdapterSeats seats(0);
  seats.waits(0);
  EXPECT_TRUE(seats.may_run(0));
  seats.starts(0);
  seats.ends(0);
  EXPECT_FALSE(seats.may_run(1));
}

TEST(AdapterSeats, CountLikeANaiveReference) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    const auto max = static_cast<uint32_t>(random.below(3) + 1);
    AdapterSeats seats(max);
    std::map<uint32_t, uint32_t> waiting, running;
    const auto running_adapters = [&] {
      uint32_t count = 0;
      for (const auto& [adapter, requests] : running) count += requests > 0 ? 1 : 0;
      return count;
    };
    for (int step = 0; step < 500; ++step) {
      const auto adapter = static_cast<uint32_t>(random.below(5) + 1);
      const bool may = running[adapter] > 0 || running_adapters() < max;
      ASSERT_EQ(seats.may_run(adapter), may) << "seed " << seed;
      switch (random.below(4)) {
        case 0:
          seats.waits(adapter);
          ++waiting[adapter];
          break;
        case 1:
          if (!may || waiting[adapter] == 0) break;
          seats.starts(adapter);
          --waiting[adapter];
          ++running[adapter];
          break;
        case 2:
          if (running[adapter] == 0) break;
          seats.ends(adapter);
          --running[adapter];
          break;
        default:
          if (waiting[adapter] == 0) break;
          seats.leaves(adapter);
          --waiting[adapter];
      }
      uint32_t deferred = 0;
      for (const auto& [other, requests] : waiting) {
        if (running[other] == 0 && running_adapters() >= max) deferred += requests;
      }
      ASSERT_EQ(seats.deferred(), deferred) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead::engine_model
