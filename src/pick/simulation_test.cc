// What the policies are for, on replicas reduced to a queue: a closed loop of clients, `lanes`
// requests served at a time, a prompt that the replica has seen served quicker. Virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <set>

#include "pick/testing.h"

namespace fairlead::pick {
namespace {

struct Setup {
  std::string_view policy = "prefix-cache";
  uint32_t replicas = 2;
  uint32_t clients = 4;
  uint32_t lanes = 4;
  uint64_t seed = 1;
  size_t blocks = 40;         // of a prompt
  size_t prefix_blocks = 32;  // of those shared by its group
  size_t common_blocks = 0;   // of those shared by all groups
};

struct Outcome {
  std::vector<uint32_t> served;
  uint32_t repeats = 0;
  uint32_t warm_repeats = 0;
  uint32_t queue_max = 0;

  double share_max() const {
    uint32_t sum = 0;
    for (const uint32_t n : served) sum += n;
    return *std::max_element(served.begin(), served.end()) / static_cast<double>(sum);
  }
  double warm_share() const { return warm_repeats / static_cast<double>(repeats); }
};

class Simulation {
 public:
  explicit Simulation(const Setup& setup)
      : setup_(setup),
        policy_(std::move(*Policy::make(setup.policy, {}))),
        world_(setup.replicas),
        chooser_(*policy_, world_.columns, world_.index),
        random_(setup.seed),
        lane_free_(setup.replicas, std::vector<double>(setup.lanes, 0.0)) {
    outcome_.served.resize(setup.replicas);
  }

  // Sends the groups' requests in this order, `clients` at a time.
  Outcome run(const std::vector<uint64_t>& groups) {
    for (const uint64_t group : groups) {
      if (running_.size() == setup_.clients) end_first();
      send(group);
    }
    while (!running_.empty()) end_first();
    return outcome_;
  }

 private:
  struct Running {
    double end = 0;
    Reservation reservation;
    bool operator>(const Running& other) const { return end > other.end; }
  };

  void end_first() {
    Running first = running_.top();
    running_.pop();
    now_ = first.end;
    chooser_.finish(first.reservation);
  }

  void send(uint64_t group) {
    auto blocks = testing::chain(group, setup_.blocks, setup_.prefix_blocks, serial_++);
    const auto common = testing::chain(999'999, setup_.common_blocks, setup_.common_blocks);
    std::copy(common.begin(), common.end(), blocks.begin());
    world_.query.blocks = blocks;
    world_.query.prompt_tokens = static_cast<uint32_t>(setup_.blocks) * 16;
    const auto pick = chooser_.pick(world_.query, random_);
    const Slot slot = pick->slot();
    ++outcome_.served[slot];
    outcome_.queue_max = std::max(outcome_.queue_max, world_.columns.in_flight(slot));
    const bool warm = !seen_.insert({slot, group}).second;
    if (!groups_.insert(group).second) {
      ++outcome_.repeats;
      outcome_.warm_repeats += warm ? 1 : 0;
    }
    double& lane = *std::min_element(lane_free_[slot].begin(), lane_free_[slot].end());
    lane = std::max(lane, now_) + (warm ? 0.2 : 1.0) + random_.exponential(0.5);
    running_.push({lane, *pick});
  }

  Setup setup_;
  std::unique_ptr<const Policy> policy_;
  testing::World world_;
  Chooser chooser_;
  base::Random random_;
  std::vector<std::vector<double>> lane_free_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::set<std::pair<Slot, uint64_t>> seen_;
  std::set<uint64_t> groups_;
  double now_ = 0;
  uint64_t serial_ = 0;
  Outcome outcome_;
};

// 200 requests over 40 prefixes, 5 each, shuffled.
std::vector<uint64_t> forty_prefixes(uint64_t seed) {
  std::vector<uint64_t> groups;
  for (uint64_t i = 0; i < 200; ++i) groups.push_back(i % 40);
  base::Random random(seed);
  for (size_t i = groups.size() - 1; i > 0; --i) std::swap(groups[i], groups[random.below(i + 1)]);
  return groups;
}

TEST(Simulation, RepeatsReturnToTheirPrefixAndBothReplicasWork) {
  for (const uint32_t clients : {1u, 2u, 4u, 8u, 16u, 32u}) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      const Outcome outcome =
          Simulation({.clients = clients, .lanes = 16, .seed = seed}).run(forty_prefixes(seed));
      ASSERT_GE(outcome.warm_share(), 0.9) << clients << " clients, seed " << seed;
      ASSERT_LE(outcome.share_max(), 0.6) << clients << " clients, seed " << seed;
    }
  }
}

TEST(Simulation, RoundRobinScattersTheSameRequests) {
  const Outcome outcome = Simulation({.policy = "round-robin"}).run(forty_prefixes(1));
  EXPECT_LT(outcome.warm_share(), 0.85);
  EXPECT_EQ(outcome.served[0], 100u);
}

TEST(Simulation, ASystemPromptSharedByAllDoesNotMakeOneReplicaTheHolderOfAll) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome =
        Simulation({.replicas = 4, .clients = 2, .seed = seed, .common_blocks = 8})
            .run(forty_prefixes(seed));
    EXPECT_LE(outcome.share_max(), 0.4) << "seed " << seed;
    EXPECT_GE(outcome.warm_share(), 0.9) << "seed " << seed;
  }
}

// It takes as many replicas as it needs, so with eight of them not all; but none has a longer queue
// than the bound allows.
TEST(Simulation, AHotPrefixAtFourTimesAReplicasCapacitySpreads) {
  constexpr uint32_t kLanes = 4;
  constexpr uint32_t kClients = 4 * kLanes;
  struct Case {
    uint32_t replicas;
    double share_max;
  };
  for (const Case& c : {Case{2, 0.6}, Case{4, 0.4}, Case{8, 0.3}}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Outcome outcome =
          Simulation({.replicas = c.replicas, .clients = kClients, .lanes = kLanes, .seed = seed})
              .run(std::vector<uint64_t>(400, 7));
      EXPECT_LE(outcome.share_max(), c.share_max) << c.replicas << " replicas, seed " << seed;
      EXPECT_LE(outcome.queue_max, 1.25 * (static_cast<double>(kClients) / c.replicas + 1) + 1);
      EXPECT_GE(outcome.warm_share(), 0.97) << c.replicas << " replicas, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fairlead::pick
