#include "laptop/first_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "net/http_server.h"
#include "net/memory.h"
#include "rt/task_group.h"

namespace fairlead::laptop {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string event(std::string_view content) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + std::string(content) +
         "\"}}]}\n\n";
}

// A router that sends the given pieces, 10 ms apart.
struct Script : net::Handler {
  int status = 200;
  std::vector<std::string> pieces;
  bool ready = true;

  rt::Task<void> handle(net::Exchange& exchange) override {
    if (exchange.request().path == "/v1/models") {
      const std::string_view models = ready ? "{\"id\":\"m\"}" : "{}";
      ready = true;
      static_cast<void>(co_await exchange.respond({.status = 200}, models));
      co_return;
    }
    static_cast<void>(
        co_await exchange.start({.status = status,
                                 .content_type = "text/event-stream",
                                 .extra_fields = "x-fairlead-explain: replica=a\r\n"}));
    for (const std::string& piece : pieces) {
      co_await rt::sleep_until(exchange.loop().now() + 10ms);
      static_cast<void>(co_await exchange.write(piece));
    }
    static_cast<void>(co_await exchange.finish());
  }
  net::Refusal refusal(int code, std::string_view message) override {
    return {.status = code, .body = std::string(message)};
  }
};

struct FirstAnswerTest : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  net::MemoryNetwork network{loop, {.latency = 1ms}};
  net::Address address = *net::parse_address("127.0.0.1:80");
  Script script;
  std::vector<std::string> texts;

  template <class T>
  T serve(rt::Task<T> task) {
    net::HttpServer server(network, script, {});
    CHECK(server.listen(address, net::PortSharing::kExclusive).ok(), "the test's port is free");
    rt::TaskGroup group(loop);
    group.spawn(server.run());
    T result = loop.block_on(std::move(task));
    server.stop_accepting();
    server.drain();
    static_cast<void>(loop.block_on(group.join()));
    return result;
  }
  base::Result<FirstAnswer> ask() {
    return serve(first_answer(
        network, address, "{}", [this](std::string_view text) { texts.emplace_back(text); },
        loop.now() + 10s));
  }
};

TEST_F(FirstAnswerTest, HandsOnEachPieceOfTextAsItComes) {
  script.pieces = {
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
      event("The "), event("pendulum"), "data: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n"};
  const auto answer = ask();
  ASSERT_TRUE(answer.ok()) << answer.error().describe();
  EXPECT_THAT(texts, ElementsAre("The ", "pendulum"));
  EXPECT_EQ(answer->pieces, 2);
  EXPECT_EQ(answer->explanation, "replica=a");
  EXPECT_GE(answer->first, 20ms);
  EXPECT_LT(answer->first, 30ms);
  EXPECT_GE(answer->whole, 40ms);
}

TEST_F(FirstAnswerTest, ReadsEventsThatAreCutAnywhere) {
  const std::string whole = event("one") + event("two") + "data: [DONE]\n\n";
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    texts.clear();
    script.pieces = {whole.substr(0, cut), whole.substr(cut)};
    ASSERT_TRUE(ask().ok()) << cut;
    EXPECT_THAT(texts, ElementsAre("one", "two")) << cut;
  }
}

TEST_F(FirstAnswerTest, TellsWhatTheRouterSaidInstead) {
  script.status = 503;
  script.pieces = {"{\"error\":{\"message\":\"no replica\"}}"};
  const auto answer = ask();
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message(), HasSubstr("503"));
  EXPECT_THAT(answer.error().message(), HasSubstr("no replica"));
}

TEST_F(FirstAnswerTest, RefusesAStreamThatEndsInAnError) {
  script.pieces = {event("one"), "data: {\"error\":{\"message\":\"died\"}}\n\n",
                   "data: [DONE]\n\n"};
  const auto answer = ask();
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message(), HasSubstr("died"));
}

TEST_F(FirstAnswerTest, RefusesAStreamWithoutItsEnd) {
  script.pieces = {event("one")};
  const auto answer = ask();
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message(), HasSubstr("[DONE]"));
}

TEST_F(FirstAnswerTest, WaitsUntilTheModelIsListed) {
  script.ready = false;
  EXPECT_TRUE(serve(await_ok(network, address, "/v1/models", "\"m\"", loop.now() + 1s)).ok());
}

TEST_F(FirstAnswerTest, GivesUpAtTheDeadlineAndSaysWhy) {
  const auto waited =
      loop.block_on(await_ok(network, address, "/v1/models", "m", loop.now() + 100ms));
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(waited.error().message(), HasSubstr("127.0.0.1:80/v1/models"));
}

}  // namespace
}  // namespace fairlead::laptop
