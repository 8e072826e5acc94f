// What a scrape shows of a process with clients, informers, elections and events.
#include "kube/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kube/events.h"
#include "kube/informer.h"
#include "kube/leader_election.h"
#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

struct Idle final : LeaderWork {
  rt::Task<void> lead() override { co_await rt::sleep_until(base::kNever); }
};

struct Deaf final : InformerHandler {
  rt::Task<void> handle(const Notification&) override { co_await rt::sleep_until(base::kNever); }
};

struct KubeExposition : KubeWorld {
  obs::Registry registry;
  Metrics metrics{registry, clock};
  ClientMetrics of_client = metrics.client(0, "10.0.0.1:80");
  Client measured{network, access(), {.metrics = &of_client}};
  rt::TaskGroup group{loop};

  ~KubeExposition() override {
    group.cancel(rt::CancelReason::kShutdown);
    pass(seconds(10));
  }
  std::string text() const {
    std::string out;
    registry.expose(out);
    return out;
  }
};

TEST_F(KubeExposition, CountsRequestsByMethodAndStatus) {
  api.put("s", "a");
  static_cast<void>(loop.block_on(measured.get({kTestPods, "s", "a"})));
  static_cast<void>(loop.block_on(measured.get({kTestPods, "s", "b"})));
  api.fail_next(429, "Retry-After: 1\r\n");
  static_cast<void>(loop.block_on(measured.remove({kTestPods, "s", "a"}, {})));
  Access nowhere = access();
  nowhere.server.port = 81;
  Client lost(network, nowhere, {.metrics = &of_client});
  EXPECT_FALSE(loop.block_on(lost.get_raw("/version")));
  const std::string shown = text();
  const auto requests = [](std::string_view code, std::string_view method, int count) {
    return HasSubstr(fmt::format(
        "rest_client_requests_total{{code=\"{}\",method=\"{}\",host=\"10.0.0.1:80\"}} {}\n", code,
        method, count));
  };
  EXPECT_THAT(shown, requests("200", "GET", 1));
  EXPECT_THAT(shown, requests("404", "GET", 1));
  EXPECT_THAT(shown, requests("429", "DELETE", 1));
  EXPECT_THAT(shown, requests("200", "DELETE", 1));
  EXPECT_THAT(shown, requests("<error>", "GET", 1));
  EXPECT_THAT(shown, HasSubstr("rest_client_request_retries_total{code=\"429\",verb=\"DELETE\","
                               "host=\"10.0.0.1:80\"} 1\n"));
  EXPECT_THAT(shown, HasSubstr("rest_client_request_duration_seconds_count{verb=\"GET\","
                               "host=\"10.0.0.1:80\"} 3\n"));
}

TEST_F(KubeExposition, ShowsWhatAnInformerHoldsAndDoes) {
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  const InformerMetrics of_informer = metrics.informer(0, "pods");
  Informer informer(measured, kTestPods, {.seed = 1, .metrics = &of_informer});
  Deaf deaf;
  informer.add_handler(deaf);
  group.spawn(informer.run());
  pass(seconds(1));
  api.put("s", "d");
  api.bookmark();
  pass(seconds(1));
  api.compact();
  api.say_to_watches(
      R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",)"
      R"("reason":"Expired","code":410}})"
      "\n");
  pass(seconds(1));
  const std::string shown = text();
  EXPECT_THAT(shown, HasSubstr("reflector_lists_total{name=\"pods\"} 2\n"));
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_relists_total{name=\"pods\"} 1\n"));
  EXPECT_THAT(shown, HasSubstr("reflector_watches_total{name=\"pods\"} 2\n"));
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_events_total{name=\"pods\"} 1\n"));
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_bookmarks_total{name=\"pods\"} 1\n"));
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_objects{name=\"pods\"} 4\n"));
  EXPECT_THAT(shown, HasSubstr(fmt::format("fairlead_informer_bytes{{name=\"pods\"}} {}\n",
                                           informer.store().text_bytes())));
  EXPECT_GT(informer.store().text_bytes(), 0u);
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_synced{name=\"pods\"} 0\n"));
  EXPECT_THAT(shown, HasSubstr("fairlead_informer_waiting{name=\"pods\"} 3\n"));
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(1));
}

TEST_F(KubeExposition, ShowsWhoLeadsAndWhatWasReported) {
  const obs::Gauge leads = metrics.leads(0, "controller");
  LeaderElection election(client, {.space = "s", .name = "controller", .identity = "a"}, 1, &leads);
  Idle idle;
  const EventMetrics of_events = metrics.events(0);
  EventRecorder recorder(client, {.component = "t", .queue_max = 1, .metrics = &of_events});
  EXPECT_THAT(text(), HasSubstr("leader_election_master_status{name=\"controller\"} 0\n"));
  group.spawn(election.run(idle));
  for (int i = 0; i < 2; ++i) recorder.report({.subject = {.name = "x"}, .reason = "R"});
  EXPECT_THAT(text(), HasSubstr("fairlead_kube_events_waiting 1\n"));
  group.spawn(recorder.run());
  pass(seconds(1));
  EXPECT_THAT(text(), HasSubstr("leader_election_master_status{name=\"controller\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("fairlead_kube_events_waiting 0\n"));
  EXPECT_THAT(text(), HasSubstr("fairlead_kube_events_total{result=\"written\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("fairlead_kube_events_total{result=\"dropped\"} 1\n"));
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(10));
  EXPECT_THAT(text(), HasSubstr("leader_election_master_status{name=\"controller\"} 0\n"));
}

TEST_F(KubeExposition, IsWhatTheDocumentSays) {
  const std::string path = std::string(FAIRLEAD_SOURCE) + "/docs/kube-metrics.md";
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string old = read.str();
  std::string made = old.substr(0, old.find("| name |"));
  made += "| name | type | labels | what | buckets |\n|---|---|---|---|---|\n";
  for (const obs::FamilyInfo& family : registry.describe()) {
    made +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", family.name, to_string(family.type),
                    fmt::join(family.labels, ", "), family.help, fmt::join(family.buckets, ", "));
  }
  if (std::getenv("FAIRLEAD_UPDATE") != nullptr) std::ofstream(path) << made;
  EXPECT_EQ(old, made) << "FAIRLEAD_UPDATE=1 kube_test --gtest_filter='*TheDocument*' writes it";
}

}  // namespace
}  // namespace fairlead::kube
