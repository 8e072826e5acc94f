// Two processes stand for election; the one that leads is stopped (SIGSTOP) past its lease.
#include <fmt/format.h>

#include <csignal>

#include "control_plane.h"

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

}  // namespace
}  // namespace fairlead::kube
