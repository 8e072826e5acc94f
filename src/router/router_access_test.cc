// Who may ask a router and who it believes them to be: keys, pages in a browser, clients behind
// proxies.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "codec/json.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPage = "Origin: https://chat.example\r\n";

class RouterAccess : public RouterTest {
 protected:
  ~RouterAccess() override { std::remove(path_.c_str()); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  void start_with_keys(const std::string& text, RouterConfig config = {}) {
    write(text);
    config.api_key_file = path_;
    start(std::move(config));
  }
  const Reply& ask_with(const std::string& fields, const std::string& path = "/v1/models") {
    Ask request = get(path);
    request.fields = fields;
    return ask(request);
  }
  int status_with_key(const std::string& key) {
    return ask_with("Authorization: Bearer " + key + "\r\n").status;
  }
  std::string logged() {
    stop();
    return access_lines_;
  }

  const std::string path_ =
      testing::TempDir() +
      fmt::format("access_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
};

// ---- keys ---------------------------------------------------------------------------------------

TEST_F(RouterAccess, WithoutAKeyIs401InTheWordsOfTheApi) {
  FakeEngine& a = engine(1);
  start_with_keys("the-first-key\nthe-second-key\n");
  EXPECT_EQ(status_with_key("the-first-key"), 200);
  EXPECT_EQ(status_with_key("the-second-key"), 200);
  for (const char* fields :
       {"", "Authorization: Bearer the-third-key\r\n", "Authorization: Basic the-first-key\r\n",
        "X-Api-Key: the-first\r\n"}) {
    const Reply& reply = ask({.body = chat("hi"), .fields = fields});
    EXPECT_EQ(reply.status, 401) << fields;
    EXPECT_EQ(reply.field("www-authenticate"), "Bearer");
    const auto json = codec::parse_json(reply.body);
    ASSERT_TRUE(json) << reply.body;
    const codec::Json* error = json->find("error");
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->find("type")->as_string(), "invalid_request_error");
    EXPECT_EQ(error->find("code")->as_string(), "invalid_api_key");
    EXPECT_TRUE(error->find("param")->is_null());
    EXPECT_THAT(reply.body, Not(HasSubstr("the-"))) << "no key is repeated";
  }
  EXPECT_EQ(a.seen.size(), 0U);
}

TEST_F(RouterAccess, HealthStaysOpenAndEverythingElseWantsAKey) {
  engine(1);
  start_with_keys("the-first-key");
  struct Case {
    const char* method;
    const char* path;
    int status;
  };
  for (const Case& c : std::vector<Case>{{"GET", "/healthz", 200},
                                         {"GET", "/readyz", 200},
                                         {"GET", "/health", 404},
                                         {"GET", "/v1/models", 401},
                                         {"POST", "/v1/chat/completions", 401},
                                         {"GET", "/v1/chat/completions", 401},
                                         {"POST", "/v1/embeddings", 401},
                                         {"POST", "/tokenize", 401},
                                         {"POST", "/score", 401},
                                         {"POST", "/v1/audio/transcriptions", 401},
                                         {"GET", "/v1/nothing", 401},
                                         {"OPTIONS", "/v1/models", 401}}) {
    EXPECT_EQ(ask({.body = {}, .path = c.path, .method = c.method, .fields = {}}).status, c.status)
        << c.method << " " << c.path;
  }
  Ask metrics = get("/metrics");
  metrics.shard = kMetricsPort;
  const Reply& exposed = ask(metrics);
  EXPECT_EQ(exposed.status, 200);
  EXPECT_THAT(exposed.body, HasSubstr("fairlead_api_keys 1\n"));
}

TEST_F(RouterAccess, AKeyIsNotWaitedForBehindABody) {
  engine(1);
  start_with_keys("the-first-key");
  RawClient& client = raw_client();
  client.send("POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  run_for(milliseconds(1));
  EXPECT_THAT(client.received, HasSubstr("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(client.received, HasSubstr("Connection: close\r\n"));
}

TEST_F(RouterAccess, KeysAreNeitherLoggedNorSentToAnEngine) {
  FakeEngine& a = engine(1);
  start_with_keys("the-first-key");
  EXPECT_EQ(ask({.body = chat("hi"), .fields = "Authorization: Bearer the-first-key\r\n"}).status,
            200);
  EXPECT_EQ(ask({.body = chat("hi"), .fields = "x-api-key: the-first-key\r\n"}).status, 200);
  EXPECT_EQ(ask({.body = chat("hi"), .fields = "x-api-key: a-wrong-key\r\n"}).status, 401);
  ASSERT_EQ(a.seen.size(), 2U);
  for (const FakeEngine::Seen& seen : a.seen) EXPECT_THAT(seen.head, Not(HasSubstr("-key")));
  const std::string lines = logged();
  EXPECT_THAT(lines, HasSubstr(" 401 "));
  EXPECT_THAT(lines, Not(HasSubstr("-key")));
}

TEST_F(RouterAccess, ReadsTheKeysAgainWhenTheyChange) {
  FakeEngine& a = engine(1);
  a.script = events({"a", "b"}, seconds(3));
  start_with_keys("the-first-key");
  const Reply& begun = send({.body = chat("hi", R"("stream":true)"),
                             .fields = "Authorization: Bearer the-first-key\r\n"});
  run_for(seconds(1));
  write("the-second-key\n");
  run_for(seconds(2));
  EXPECT_EQ(status_with_key("the-first-key"), 401);
  EXPECT_EQ(status_with_key("the-second-key"), 200);
  run_for(seconds(10));
  EXPECT_TRUE(begun.whole()) << "what has begun goes on";
}

TEST_F(RouterAccess, AFileOfKeysThatIsNoGoodChangesNothing) {
  engine(1);
  start_with_keys("the-first-key");
  for (const char* bad : {"", "two words\n", "sha256:1234\n"}) {
    write(bad);
    run_for(seconds(2));
    EXPECT_EQ(status_with_key("the-first-key"), 200) << bad;
  }
  std::remove(path_.c_str());
  run_for(seconds(2));
  EXPECT_EQ(status_with_key("the-first-key"), 200);
  EXPECT_EQ(metric("fairlead_api_key_file_errors_total"), 4);
  write("the-second-key\n");
  run_for(seconds(2));
  EXPECT_EQ(status_with_key("the-first-key"), 401);
}

TEST_F(RouterAccess, DoesNotStartWithoutTheKeysItIsToldToAskFor) {
  RouterConfig config{.backend = {url(1)}, .loops = 1, .api_key_file = path_};
  const auto missing = Router::make(config, network_, log_, [](std::string_view) {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().describe(), HasSubstr("--api-key-file"));
  write("sesame open\n");
  const auto bad = Router::make(config, network_, log_, [](std::string_view) {});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().describe(), HasSubstr("line 1"));
  EXPECT_THAT(bad.error().describe(), Not(HasSubstr("sesame")));
}

// ---- pages --------------------------------------------------------------------------------------

TEST_F(RouterAccess, PagesAreNothingSpecialByDefault) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}",
                    "Access-Control-Allow-Origin: *\r\naccess-control-allow-credentials: true\r\n");
  start();
  const Reply& reply = ask({.body = chat("hi"), .fields = kPage});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("access-control-allow-origin"), "") << "not the engine's to decide";
  EXPECT_EQ(reply.field("access-control-allow-credentials"), "");
  EXPECT_EQ(a.seen.at(0).field("origin"), "");
  EXPECT_EQ(ask({.body = {},
                 .path = "/v1/models",
                 .method = "OPTIONS",
                 .fields = kPage + "Access-Control-Request-Method: GET\r\n"})
                .status,
            405);
}

TEST_F(RouterAccess, APageMayAskFirstWithoutAKeyAndThenWithOne) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}", "Access-Control-Allow-Origin: *\r\nVary: Accept\r\n");
  start_with_keys("the-first-key", {.cors_origins = "https://chat.example"});
  const Reply& preflight = ask({.body = {},
                                .path = "/v1/chat/completions",
                                .method = "OPTIONS",
                                .fields = kPage + "Access-Control-Request-Method: POST\r\n"
                                                  "Access-Control-Request-Headers: authorization,"
                                                  "content-type,x-stainless-retry-count\r\n"});
  EXPECT_EQ(preflight.status, 200);
  EXPECT_TRUE(preflight.whole());
  EXPECT_EQ(preflight.body, "");
  EXPECT_EQ(preflight.field("access-control-allow-origin"), "https://chat.example");
  EXPECT_EQ(preflight.field("access-control-allow-methods"), "POST");
  EXPECT_EQ(preflight.field("access-control-allow-headers"),
            "authorization,content-type,x-stainless-retry-count");
  EXPECT_EQ(preflight.field("access-control-max-age"), "7200");
  EXPECT_EQ(preflight.field("access-control-allow-credentials"), "");
  const Reply& reply =
      ask({.body = chat("hi"), .fields = kPage + "Authorization: Bearer the-first-key\r\n"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("access-control-allow-origin"), "https://chat.example");
  EXPECT_THAT(reply.field("access-control-expose-headers"), HasSubstr("x-request-id"));
  EXPECT_EQ(reply.field("vary"), "Accept, Origin");
}

TEST_F(RouterAccess, APageCanReadWhyItWasRefused) {
  engine(1);
  start({.body_bytes_max = base::Bytes(64), .cors_origins = "https://chat.example"});
  const auto allowed = [&](Ask request) {
    request.fields += kPage;
    const Reply& reply = ask(std::move(request));
    EXPECT_GE(reply.status, 400);
    return reply.field("access-control-allow-origin");
  };
  EXPECT_EQ(allowed(post(R"({"model":"nope"})")), "https://chat.example");
  EXPECT_EQ(allowed(post("{")), "https://chat.example");
  EXPECT_EQ(allowed(post(std::string(65, ' '))), "https://chat.example") << "413";
  EXPECT_EQ(allowed(get("/v1/nothing")), "https://chat.example");
}

TEST_F(RouterAccess, OtherPagesAreToldNothing) {
  engine(1);
  start({.cors_origins = "https://chat.example"});
  const std::string other = "Origin: https://evil.example\r\n";
  const Reply& preflight = ask({.body = {},
                                .path = "/v1/models",
                                .method = "OPTIONS",
                                .fields = other + "Access-Control-Request-Method: GET\r\n"});
  EXPECT_EQ(preflight.status, 403);
  EXPECT_EQ(preflight.field("access-control-allow-origin"), "");
  const Reply& reply = ask_with(other);
  EXPECT_EQ(reply.status, 200) << "the browser keeps it from the page";
  EXPECT_EQ(reply.field("access-control-allow-origin"), "");
  EXPECT_EQ(reply.field("vary"), "Origin");
}

// ---- clients ------------------------------------------------------------------------------------

TEST_F(RouterAccess, AClientBehindATrustedProxyIsTheOneLoggedAndForwarded) {
  FakeEngine& a = engine(1);
  // Every client of this network comes from here.
  start({.trusted_proxies = "10.0.0.0/8"});
  ask({.body = chat("hi"), .fields = "X-Forwarded-For: 1.2.3.4, 203.0.113.5\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  const std::string chain = a.seen[0].field("x-forwarded-for");
  EXPECT_THAT(chain, testing::StartsWith("203.0.113.5, 10.")) << "not what the client made up";
  ask_with("X-Forwarded-For: 203.0.113.6\r\n");
  const std::string lines = logged();
  EXPECT_THAT(lines, HasSubstr(" client_ip=203.0.113.5"));
  EXPECT_THAT(lines, HasSubstr(" client_ip=203.0.113.6")) << "of requests that no engine sees, too";
  EXPECT_THAT(lines, Not(HasSubstr("1.2.3.4")));
}

TEST_F(RouterAccess, WithoutTrustedProxiesAClientIsItsAddress) {
  FakeEngine& a = engine(1);
  start();
  ask({.body = chat("hi"),
       .fields = "X-Forwarded-For: 203.0.113.5\r\nx-forwarded-for: 203.0.113.6\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_THAT(a.seen[0].head, Not(HasSubstr("203.0.113")));
  EXPECT_THAT(a.seen[0].field("x-forwarded-for"), testing::MatchesRegex("[0-9.]+"));
  EXPECT_THAT(logged(), Not(HasSubstr("203.0.113")));
}

// ---- words --------------------------------------------------------------------------------------

// What clients of the Kthena router look for in errors, with its statuses.
TEST_F(RouterAccess, ErrorsHaveTheWordsOfTheKthenaRouterInAnObject) {
  FakeEngine& a = engine(1);
  start();
  struct Case {
    Ask request;
    int status;
    std::string_view words;
  };
  const std::vector<Case> cases = {
      {post(R"({"model":"nope","messages":[]})"), 404, "route not found"},
      {post(R"({"messages":[]})"), 404, "model not found"},
      {post(R"({"model":7,"messages":[]})"), 404, "model not found"},
      {post(R"({"model":""})"), 404, "model not found"},
      {post(""), 400, "EOF"},
      {post("{"), 400, "unexpected EOF"},
      {post("{oops"), 400, "invalid character 'o' looking for beginning of object key string"},
      {post(R"({"model":"llama","messages":[]} {})"), 400, "invalid request body"},
      {post(R"({"model":"llama"})"), 404, "prompt not found"},
      {get("/nothing"), 404, "404 page not found"},
  };
  for (const Case& c : cases) {
    const Reply& reply = ask(c.request);
    EXPECT_EQ(reply.status, c.status) << c.request.body;
    const auto json = codec::parse_json(reply.body);
    ASSERT_TRUE(json) << reply.body;
    EXPECT_THAT(json->find("error")->find("message")->as_string(), HasSubstr(std::string(c.words)));
  }
  EXPECT_EQ(a.seen.size(), 0U);
  a.kill();
  for (int i = 0; i < 3; ++i) {
    const Reply& reply = ask(chat("hi"));
    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, HasSubstr("request to all pods failed"));
    run_for(seconds(1));
  }
}

TEST_F(RouterAccess, OnlyChatWantsAPromptHere) {
  FakeEngine& a = engine(1);
  start();
  for (const char* body : {R"({"model":"llama","prompt":"a"})", R"({"model":"llama","input":"a"})",
                           R"({"model":"llama","messages":null})"}) {
    EXPECT_EQ(ask(body).status, 200) << body;
  }
  Ask embeds = post(R"({"model":"llama","prompt_embeds":"AAAA"})");
  embeds.path = "/v1/completions";
  EXPECT_EQ(ask(embeds).status, 200) << "the engine's to judge";
  EXPECT_EQ(a.seen.size(), 4U);
}

TEST_F(RouterAccess, SaysWhetherToTryAgainSoThatRetriesDoNotMultiply) {
  FakeEngine& a = engine(1);
  start({.policy = "round-robin"});
  a.script = raw("", Script::Then::kReset);
  const Reply& failed = ask(chat("hi"));
  EXPECT_EQ(failed.status, 502);
  EXPECT_EQ(failed.field("x-should-retry"), "false") << "the router has tried what there is";
  a.kill();
  run_for(seconds(2));
  const Reply& nobody = ask(chat("hi"));
  EXPECT_EQ(nobody.status, 503);
  EXPECT_EQ(nobody.field("x-should-retry"), "true");
  EXPECT_EQ(nobody.field("retry-after"), "1");
  EXPECT_EQ(ask(post("{")).field("x-should-retry"), "");
}

}  // namespace
}  // namespace fairlead::router
