// Two processes stand for election; the one that leads is stopped (SIGSTOP) past its lease.
#include <fmt/format.h>

#include <csignal>

#include "api/apps.h"
#include "chaos_proxy.h"
#include "control_plane.h"
#include "kube/leader_election.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct RealApiElection : RealApi {
  rt::Child candidate(const std::string& name) {
    base::Result<rt::Child> child =
        rt::Child::start({.name = name,
                          .command = {KUBE_CANDIDATE, plane.kubeconfig(), space, name},
                          .log = log_of(name)});
    CHECK(child.ok(), "the program starts");
    return std::move(*child);
  }
  template <class Condition>
  bool wait(Condition condition) {
    return run(eventually(loop, condition, minutes(2)));
  }
  std::string log_of(const std::string& name) const {
    return plane.folder() + "/candidate-" + name;
  }
  // All that it printed.
  std::string said(const rt::Child& child) const {
    const base::Result<std::string> text = read_small_file(log_of(child.name()));
    return text ? *text : "";
  }
};

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST_F(RealApiElection, AStoppedLeaderNeverWritesOnceAnotherLeads) {
  ASSERT_TRUE(run(client.create({kConfigMaps, space}, config_map("fenced", "0"), {})));
  rt::Child a = candidate("a");
  ASSERT_TRUE(wait([&] { return count(said(a), "wrote 1\n") > 3; })) << said(a);
  rt::Child b = candidate("b");
  a.signal(SIGSTOP);
  ASSERT_TRUE(wait([&] { return count(said(b), "wrote 1\n") > 3; })) << said(b);
  const size_t wrote = count(said(a), "wrote");
  a.signal(SIGCONT);
  ASSERT_TRUE(wait([&] { return count(said(a), "ended lost_lease") == 1; })) << said(a);
  const size_t more = count(said(b), "wrote");
  ASSERT_TRUE(wait([&] { return count(said(b), "wrote") > more + 3; })) << said(b);
  // At most the answer to a write that had left before the stop was still to be read.
  EXPECT_LE(count(said(a), "wrote"), wrote + 1) << said(a);
  EXPECT_EQ(count(said(a), "conflict"), 0u) << said(a);
  EXPECT_EQ(count(said(b), "conflict"), 0u) << "somebody wrote between two writes of the leader";
}

// Has a write under way, which the server carries out and whose answer never comes.
struct Waits final : LeaderWork {
  Waits(Client& writer, ChaosProxy& between, Target what)
      : client(writer), proxy(between), target(std::move(what)) {}
  rt::Task<void> lead() override {
    if (ended) co_return;
    static_cast<void>(co_await client.get(target));
    proxy.hold_answers();
    const base::Result<ObjectPtr> written =
        co_await client.patch(target, PatchKind::kMerge, R"({"data":{"n":"written"}})", {});
    rt::Scope& scope = co_await rt::current_scope();
    outcome = written ? base::ErrorCode::kInternal : written.error().code();
    reason = scope.reason();
    ended = true;
  }
  Client& client;
  ChaosProxy& proxy;
  Target target;
  bool ended = false;
  base::ErrorCode outcome{};
  rt::CancelReason reason{};
};

rt::Task<bool> eventually_written(Client& client, Target target) {
  const base::TimePoint deadline = client.loop().now() + minutes(1);
  while (client.loop().now() < deadline) {
    const base::Result<ObjectPtr> now = co_await client.get(target);
    if (now && (*now)->json().find(R"("n":"written")") != std::string_view::npos) co_return true;
    co_await rt::sleep_until(client.loop().now() + std::chrono::milliseconds(20));
  }
  co_return false;
}

// Another takes the lease over while the write waits; how long until the write was given up.
rt::Task<base::Nanos> lose_the_lease(Client& client, LeaderElection& election, Waits& work,
                                     Target lease) {
  rt::Loop& loop = client.loop();
  rt::TaskGroup group(loop);
  group.spawn(election.run(work));
  const bool carried_out = co_await eventually_written(client, work.target);
  EXPECT_TRUE(carried_out);
  const base::Result<ObjectPtr> taken =
      co_await client.patch(lease, PatchKind::kMerge, R"({"spec":{"holderIdentity":"other"}})", {});
  EXPECT_TRUE(taken) << taken.error().describe();
  const base::TimePoint lost = loop.now();
  auto ended = [&] { return work.ended; };
  const bool given_up = co_await eventually(loop, ended, minutes(1));
  EXPECT_TRUE(given_up);
  const base::Nanos took = loop.now() - lost;
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
  co_await work.proxy.stop();
  co_return took;
}

TEST_F(RealApiElection, ALostLeaseCancelsTheWriteInFlightAndRefusesTheNext) {
  const Target target{kConfigMaps, space, "fenced"};
  ASSERT_TRUE(run(client.create({kConfigMaps, space}, config_map("fenced", "0"), {})));
  const Access direct = plane.access("admin");
  ChaosProxy proxy(network, *net::parse_address(fmt::format("127.0.0.1:{}", direct.server.port)),
                   {});
  proxy.calm();
  Access through = direct;
  through.server.port = proxy.address().port;
  LeaderElection election(client, {.space = space,
                                   .name = "leader",
                                   .identity = "a",
                                   .duration = seconds(60),
                                   .renew_within = seconds(40),
                                   .retry = std::chrono::milliseconds(100)});
  Client writer(network, through, {.request_timeout = minutes(10)}, &election);
  Waits work(writer, proxy, target);
  const base::Nanos took =
      run(lose_the_lease(client, election, work, {resource_of<api::Lease>(), space, "leader"}));
  EXPECT_EQ(work.outcome, base::ErrorCode::kCancelled);
  EXPECT_EQ(work.reason, rt::CancelReason::kLostLease);
  EXPECT_LT(took, seconds(30)) << "long before the lease or the request would have ended";
  Client later(network, direct, {}, &election);
  EXPECT_EQ(run(later.remove(target, {})).error().code(), base::ErrorCode::kCancelled);
  EXPECT_TRUE(run(client.get(target)));
}

}  // namespace
}  // namespace fairlead::kube
