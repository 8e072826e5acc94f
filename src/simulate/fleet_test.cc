#include "simulate/fleet.h"

#include <gtest/gtest.h>

namespace fairlead::simulate {
namespace {

std::unique_ptr<const pick::Policy> policy(std::string_view name) {
  return std::move(*pick::Policy::make(name, {}));
}

TEST(Fleet, EveryRequestIsServedOnceAndInFull) {
  for (const std::string_view name : pick::Policy::names()) {
    Traffic traffic = make_traffic(TrafficKind::kConversations, 300, 1);
    set_rate(traffic, 40);
    const workload::RunLog log = run(traffic, *policy(name), {.replicas = 3});
    ASSERT_EQ(log.samples.size(), 300u) << name;
    uint64_t wanted = 0;
    uint64_t got = 0;
    for (const PlannedRequest& r : traffic) wanted += r.output_tokens;
    for (const workload::Sample& s : log.samples) {
      got += s.output_tokens;
      EXPECT_GT(s.first_token, base::Nanos(0));
      EXPECT_GE(s.whole, s.first_token);
    }
    EXPECT_EQ(got, wanted) << name;
  }
}

TEST(Fleet, TheSameSeedGivesTheSameRun) {
  Traffic traffic = make_traffic(TrafficKind::kPrefixGroups, 300, 1);
  set_rate(traffic, 100);
  const workload::RunLog a = run(traffic, *policy("expected-ttft"), {});
  const workload::RunLog b = run(traffic, *policy("expected-ttft"), {});
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].replica, b.samples[i].replica);
    EXPECT_EQ(a.samples[i].first_token, b.samples[i].first_token);
  }
}

TEST(Fleet, HoldsBackWhatIsMoreThanItsBound) {
  Traffic traffic = make_traffic(TrafficKind::kRandom, 40, 1);
  press(traffic);
  const workload::RunLog log = run(traffic, *policy("round-robin"), {.in_flight_max = 1});
  // One at a time: answers do not overlap.
  base::Nanos end{0};
  for (const workload::Sample& s : log.samples) {
    EXPECT_GE(s.started + s.first_token, end);
    end = s.started + s.whole;
  }
}

}  // namespace
}  // namespace fairlead::simulate
