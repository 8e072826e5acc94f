// The access log of whole requests, in both forms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/json.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What readers of the Kthena router's log expect, in its order; ours follow.
constexpr std::string_view kOrder[] = {"timestamp",
                                       "method",
                                       "path",
                                       "protocol",
                                       "status_code",
                                       "error",
                                       "model_name",
                                       "model_route",
                                       "model_server",
                                       "selected_pod",
                                       "request_id",
                                       "backend_type",
                                       "backend_name",
                                       "upstream_model",
                                       "upstream_status_code",
                                       "upstream_attempts",
                                       "error_origin",
                                       "gateway",
                                       "http_route",
                                       "inference_pool",
                                       "input_tokens",
                                       "output_tokens",
                                       "duration_total",
                                       "duration_request_processing",
                                       "duration_upstream_processing",
                                       "duration_response_processing",
                                       "cached_tokens",
                                       "first_byte_ms",
                                       "bytes_in",
                                       "bytes_out",
                                       "client_ip"};

class RouterLog : public RouterTest {
 protected:
  std::vector<std::string> lines() {
    if (router_ != nullptr) stop();
    std::vector<std::string> out;
    std::string_view rest = access_lines_;
    while (!rest.empty()) {
      out.emplace_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(out.back().size() + 1);
    }
    return out;
  }
  codec::Json only_line() {
    const std::vector<std::string> all = lines();
    EXPECT_EQ(all.size(), 1U) << access_lines_;
    const auto json = codec::parse_json(all.at(0));
    EXPECT_TRUE(json) << all[0];
    return json ? *json : codec::Json();
  }
  void start_json() { start({.policy = "round-robin", .access_log = AccessLogFormat::kJson}); }
};

std::string error_of(const codec::Json& line) {
  const codec::Json* error = line.find("error");
  return error == nullptr ? "" : error->find("type")->as_string();
}

TEST_F(RouterLog, HasTheFieldsOfTheKthenaRouterInItsOrder) {
  FakeEngine& a = engine(1);
  a.script = answer(200, R"({"usage":{"prompt_tokens":43,"completion_tokens":4,)"
                         R"("prompt_tokens_details":{"cached_tokens":16}}})");
  a.script.steps[0].wait = milliseconds(17);
  start_json();
  ask({.body = chat("hi"), .fields = "X-Request-Id: req-42\r\n"});
  const codec::Json line = only_line();
  size_t at = 0;
  for (const auto& [key, value] : line.members()) {
    const auto* found = std::find(std::begin(kOrder) + at, std::end(kOrder), key);
    ASSERT_NE(found, std::end(kOrder)) << key;
    at = static_cast<size_t>(found - std::begin(kOrder)) + 1;
  }
  EXPECT_EQ(line.find("protocol")->as_string(), "HTTP/1.1");
  EXPECT_EQ(line.find("status_code")->as_int(), 200);
  EXPECT_EQ(line.find("model_name")->as_string(), "llama");
  EXPECT_EQ(line.find("selected_pod")->as_string(), "10.0.0.1:8000");
  EXPECT_EQ(line.find("request_id")->as_string(), "req-42");
  EXPECT_EQ(line.find("backend_type")->as_string(), "static");
  EXPECT_EQ(line.find("upstream_status_code")->as_int(), 200);
  EXPECT_EQ(line.find("upstream_attempts")->as_int(), 1);
  EXPECT_EQ(line.find("input_tokens")->as_int(), 43);
  EXPECT_EQ(line.find("output_tokens")->as_int(), 4);
  EXPECT_EQ(line.find("cached_tokens")->as_int(), 16);
  EXPECT_EQ(line.find("duration_total")->as_int(), 17);
  EXPECT_EQ(line.find("duration_request_processing")->as_int(), 0);
  EXPECT_EQ(line.find("duration_upstream_processing")->as_int(), 17);
  EXPECT_EQ(line.find("error"), nullptr);
}

TEST_F(RouterLog, PrintsTheSameAsText) {
  engine(1).script = answer(200, R"({"usage":{"prompt_tokens":43,"completion_tokens":4}})");
  start({.access_log = AccessLogFormat::kText});
  ask({.body = chat("hi"), .fields = "X-Request-Id: req-42\r\n"});
  const std::string line = lines().at(0);
  EXPECT_THAT(line, StartsWith("[2026-01-01T00:00:00."));
  EXPECT_THAT(line, HasSubstr("Z] \"POST /v1/chat/completions HTTP/1.1\" 200 model_name=llama "
                              "selected_pod=10.0.0.1:8000 request_id=req-42 backend_type=static "
                              "upstream_model=llama upstream_status_code=200 "
                              "upstream_attempts=1 tokens=43/4 timings=0ms(0+0+0) "));
}

TEST_F(RouterLog, NamesWhatWentWrongAndWhere) {
  FakeEngine& a = engine(1);
  start_json();
  a.next.push_back(answer(400, "{}"));
  ask(chat("hi"));
  ask(std::string("{"));
  ask(R"({"model":"gpt","messages":[]})");
  ask({.body = chat("hi"), .leave_at = now()});
  a.next.push_back(
      broken_events({token_event("a"), token_event("b")}, milliseconds(1), Script::Then::kReset));
  ask(chat("hi", R"("stream":true)"));
  a.kill();
  run_for(milliseconds(10));
  ask(chat("hi"));
  std::vector<std::string> seen;
  for (const std::string& text : lines()) {
    const auto line = codec::parse_json(text);
    ASSERT_TRUE(line) << text;
    const codec::Json* origin = line->find("error_origin");
    seen.push_back(fmt::format("{} {} {}", line->find("status_code")->as_int(), error_of(*line),
                               origin == nullptr ? "" : origin->as_string()));
  }
  EXPECT_THAT(seen,
              ::testing::IsSupersetOf({"400 request_failed upstream", "400 request_parsing router",
                                       "404 route_not_found router", "200 proxy upstream",
                                       "503 proxy upstream"}));
}

TEST_F(RouterLog, ARetryIsOneLineOfTheReplicaThatAnswered) {
  engine(1).next.push_back(answer(500, "bad"));
  engine(2);
  start_json();
  ask(chat("hi"));
  const codec::Json line = only_line();
  EXPECT_EQ(line.find("status_code")->as_int(), 200);
  EXPECT_EQ(line.find("selected_pod")->as_string(), "10.0.0.2:8000");
  EXPECT_EQ(line.find("upstream_attempts")->as_int(), 2);
}

TEST_F(RouterLog, CoversPathsUnderV1AndNoOthers) {
  engine(1);
  start({.access_log = AccessLogFormat::kText});
  ask(get("/v1/models"));
  ask(get("/v1/nothing"));
  ask(get("/v1/chat/completions"));
  for (const char* path : {"/healthz", "/readyz", "/nothing"}) ask(get(path));
  const std::vector<std::string> all = lines();
  ASSERT_EQ(all.size(), 3U) << access_lines_;
  EXPECT_THAT(all[0], HasSubstr("\"GET /v1/models HTTP/1.1\" 200 timings=0ms(0+0+0)"));
  EXPECT_THAT(all[1], HasSubstr("\"GET /v1/nothing HTTP/1.1\" 404 error=request_failed:Not Found"));
  EXPECT_THAT(all[2], HasSubstr("\"GET /v1/chat/completions HTTP/1.1\" 405 error=request_failed"));
}

}  // namespace
}  // namespace fairlead::router
