#include "router/debug_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

DebugPod pod() {
  DebugPod made{.name = "engine.example:8000",
                .address = "10.0.0.1",
                .health = pick::Health::kReady,
                .in_flight = 3,
                .scraped = {.running = 2, .waiting = 1, .kv_usage = 0.5F},
                .models = {"llama", "lora-\"a\""}};
  made.scraped.latency = {.ttft = milliseconds(120), .tpot = milliseconds(20)};
  return made;
}

TEST(DebugDump, ListsBackEndsAsPods) {
  const DebugPod one = pod();
  const DebugAnswer answer = debug_dump("/debug/config_dump/pods", {&one, 1});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json,
            R"({"pods":[{"name":"engine.example:8000","namespace":"default","engine":"vLLM",)"
            R"("metrics":{"gpuCacheUsage":0.5,"requestWaitingNum":1,"requestRunningNum":2,)"
            R"("tpot":0.02,"ttft":0.12},"models":["llama","lora-\"a\""],"modelServers":[],)"
            R"("backend_type":"static","selected_pod":"engine.example:8000",)"
            R"("health":"ready","inFlight":3}]})");
}

TEST(DebugDump, ShowsOnePodWithItsAddress) {
  const DebugPod one = pod();
  const DebugAnswer answer =
      debug_dump("/debug/config_dump/namespaces/default/pods/engine.example:8000", {&one, 1});
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.json, HasSubstr(R"("podInfo":{"podIP":"10.0.0.1"},"engine":"vLLM")"));
}

TEST(DebugDump, SaysNullWhereAKindHasNoObjects) {
  for (const std::string kind :
       {"modelroutes", "modelservers", "pods", "gateways", "httproutes", "inferencepools"}) {
    const DebugAnswer answer = debug_dump("/debug/config_dump/" + kind, {});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json, "{\"" + kind + "\":null}");
  }
}

TEST(DebugDump, SaysWhatItDoesNotFind) {
  const DebugPod one = pod();
  const std::string root = "/debug/config_dump/";
  const std::pair<std::string, std::string> cases[] = {
      {root + "namespaces/default/modelroutes/nope", "ModelRoute"},
      {root + "namespaces/default/pods/nope", "Pod"},
      {root + "namespaces/other/pods/engine.example:8000", "Pod"},
      {root + "namespaces/default/secrets/x", "path"},
      {root + "namespaces/default/pods", "path"},
      {root + "namespaces/", "path"},
      {root + "secrets", "path"},
      {"/debug/config_dump", "path"},
      {"/", "path"}};
  for (const auto& [path, what] : cases) {
    const DebugAnswer answer = debug_dump(path, {&one, 1});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.json, "{\"error\":\"" + what + " not found\"}") << path;
  }
}

class RouterDebug : public RouterTest {};

TEST_F(RouterDebug, ServesTheDumpOfItsBackEnds) {
  engine(1, {"llama", "lora-a"});
  start();
  Ask request = get("/debug/config_dump/namespaces/default/pods/10.0.0.1:8000");
  request.shard = kDebugPort;
  const Reply& reply = ask(request);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr(R"("podIP":"10.0.0.1")"));
  EXPECT_THAT(reply.body, HasSubstr(R"("models":["llama","lora-a"])"));
  EXPECT_THAT(reply.body, HasSubstr(R"("health":"ready")"));
}

}  // namespace
}  // namespace fairlead::router
