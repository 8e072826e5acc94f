#include "kube/leader_election.h"

#include <gtest/gtest.h>

#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(LeaseView, AHolderThatWasNotSeenToRenewMayBeReplaced) {
  LeaseView view({.space = "s", .name = "l", .identity = "me"});
  const base::TimePoint now{seconds(100)};
  EXPECT_TRUE(view.may_take(now));
  LeaseRecord other{.holder = "other", .duration_seconds = 15, .renewed = "1"};
  view.saw(other, now);
  EXPECT_FALSE(view.may_take(now + milliseconds(14'999)));
  EXPECT_TRUE(view.may_take(now + seconds(15)));
  other.renewed = "2";
  view.saw(other, now + seconds(14));
  EXPECT_FALSE(view.may_take(now + seconds(15)));
  view.saw(other, now + seconds(28));
  EXPECT_TRUE(view.may_take(now + seconds(29)));
  other.duration_seconds = 60;
  view.saw(other, now + seconds(30));
  EXPECT_FALSE(view.may_take(now + seconds(89)));
}

TEST(LeaseView, WhatIsWrittenKeepsUnknownFields) {
  LeaseView view({.space = "s", .name = "l", .identity = "me"});
  const auto lease = codec::parse_json(
      R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"other","strategy":"x","leaseTransitions":4}})");
  view.saw(read_lease(*lease), {});
  const LeaseRecord next = view.next(base::WallTime(seconds(1)));
  EXPECT_EQ(next.transitions, 5);
  EXPECT_EQ(next.acquired, "1970-01-01T00:00:01.000000Z");
  const codec::Json written = with_record(*lease, next);
  EXPECT_EQ(read_lease(written), next);
  EXPECT_EQ(written.find("spec")->find("strategy")->as_string(), "x");
  view.saw(next, {});
  EXPECT_EQ(view.next(base::WallTime(seconds(9))).acquired, next.acquired);
  EXPECT_EQ(view.next(base::WallTime(seconds(9))).transitions, 5);
}

// One process that stands for election, on a network address of its own fate.
struct Candidate final : LeaderWork {
  rt::Loop& loop;
  Client client;
  LeaderElection election;
  Client writer;
  rt::TaskGroup group;
  std::vector<rt::CancelReason> ends;
  int writes = 0;

  Candidate(rt::Loop& l, net::Network& network, const std::string& name, uint64_t seed)
      : loop(l),
        client(network, KubeWorld::access(), {}),
        election(client, {.space = "s", .name = "leader", .identity = name}, seed),
        writer(network, KubeWorld::access(), {}, &election),
        group(l) {
    group.spawn(election.run(*this));
  }
  rt::Task<void> lead() override {
    rt::Scope& scope = co_await rt::current_scope();
    while (!scope.cancelled()) {
      const auto written =
          co_await writer.patch({kTestPods, "s", "counter"}, PatchKind::kMerge, R"({"x":1})", {});
      if (written) ++writes;
      co_await rt::sleep_until(loop.now() + seconds(1));
    }
    ends.push_back(scope.reason());
  }
  void stop() {
    group.cancel(rt::CancelReason::kShutdown);
    loop.run_until_idle(loop.now() + seconds(3));
  }
};

struct ElectionTest : KubeWorld {
  ElectionTest() { api.put("s", "counter"); }
  std::string holder() const { return read_lease(api.stored("leases", "s/leader")).holder; }
};

TEST_F(ElectionTest, OneLeadsAndAnotherFollowsAtOnceWhenItStopsInOrder) {
  Candidate a(loop, network, "a", 1);
  pass(seconds(1));
  EXPECT_EQ(holder(), "a");
  EXPECT_TRUE(a.election.leads(loop.now()));
  Candidate b(loop, network, "b", 2);
  pass(minutes(2));
  EXPECT_EQ(holder(), "a");
  EXPECT_EQ(b.election.terms(), 0u);
  EXPECT_EQ(b.election.holder(), "a");
  a.stop();
  EXPECT_EQ(a.ends, std::vector{rt::CancelReason::kShutdown});
  EXPECT_FALSE(a.election.leads(loop.now()));
  pass(seconds(3));
  EXPECT_EQ(holder(), "b");
  EXPECT_EQ(read_lease(api.stored("leases", "s/leader")).transitions, 1);
  b.stop();
}

TEST_F(ElectionTest, AServerThatDoesNotAnswerCostsTheLeaseAndItStandsAgain) {
  Candidate a(loop, network, "a", 1);
  pass(seconds(10));
  network.freeze(address);
  pass(seconds(7));
  const int writes = a.writes;
  EXPECT_TRUE(a.ends.empty());
  pass(seconds(4));
  EXPECT_EQ(a.ends, std::vector{rt::CancelReason::kLostLease});
  EXPECT_FALSE(a.election.leads(loop.now()));
  EXPECT_LE(a.writes, writes + 1);
  network.thaw(address);
  pass(minutes(1));
  EXPECT_TRUE(a.election.leads(loop.now()));
  EXPECT_EQ(a.election.terms(), 2u);
  a.stop();
}

TEST_F(ElectionTest, WhoSeesAnotherHolderStopsAtOnce) {
  Candidate a(loop, network, "a", 1);
  pass(seconds(10));
  // Somebody edits the lease by hand.
  Client other(network, access(), {});
  LeaseRecord record{
      .holder = "intruder", .duration_seconds = 15, .renewed = "2026-01-01T00:00:00.0Z"};
  const auto edited = loop.block_on(other.patch(
      {{.group = "coordination.k8s.io", .version = "v1", .plural = "leases", .kind = "Lease"},
       "s",
       "leader"},
      PatchKind::kMerge, to_string(with_record(codec::Json::object({}), record)), {}));
  ASSERT_TRUE(edited) << edited.error().describe();
  pass(seconds(3));
  EXPECT_EQ(a.ends, std::vector{rt::CancelReason::kLostLease});
  EXPECT_EQ(holder(), "intruder");
  pass(minutes(1));
  EXPECT_EQ(holder(), "a");
  a.stop();
}

TEST_F(ElectionTest, NeverTwoLeadersWhateverTheServerDoes) {
  base::Random random(5);
  Candidate a(loop, network, "a", 1);
  Candidate b(loop, network, "b", 2);
  Candidate c(loop, network, "c", 3);
  uint64_t terms = 0;
  for (int step = 0; step < 600; ++step) {
    switch (random.below(12)) {
      case 0:
        network.freeze(address);
        break;
      case 1:
      case 2:
        network.thaw(address);
        break;
      case 3:
        network.reset_streams(address);
        break;
      case 4:
        api.fail_next(500, "", "InternalError", static_cast<int>(random.below(8)));
        break;
      default:
        break;
    }
    for (int i = 0; i < 10; ++i) {
      pass(milliseconds(random.below(300)));
      const int leaders = a.election.leads(loop.now()) + b.election.leads(loop.now()) +
                          c.election.leads(loop.now());
      ASSERT_LE(leaders, 1) << "step " << step;
    }
  }
  network.thaw(address);
  for (Candidate* candidate : {&a, &b, &c}) {
    terms += candidate->election.terms();
    candidate->stop();
  }
  EXPECT_GT(terms, 5u);
}

}  // namespace
}  // namespace fairlead::kube
