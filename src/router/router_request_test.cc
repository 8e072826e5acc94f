// What a router does with one request, end to end in virtual time: endpoints, headers, bodies and
// framing, with engines that answer as they should.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

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

const std::string kUsageEvent = event(
    R"({"id":"c","choices":[],"usage":{"prompt_tokens":7,"total_tokens":9,"completion_tokens":2}})");

class RouterRequest : public RouterTest {};

// ---- endpoints ----------------------------------------------------------------------------------

TEST_F(RouterRequest, RefusesWhatItDoesNotServe) {
  FakeEngine& a = engine(1);
  start({.backend = {}});
  struct Case {
    std::string method, path, fields;
    int status;
    std::string allow;
  };
  const std::vector<Case> cases = {
      {"GET", "/", "", 404, ""},
      {"POST", "/v1/files", "", 404, ""},
      {"GET", "/v1/models/llama", "", 404, ""},
      {"POST", "/v1/chat/completions/", "", 404, ""},
      {"GET", "/v1/chat/completions", "", 405, "POST"},
      {"PUT", "/v1/completions", "", 405, "POST"},
      {"DELETE", "/v1/audio/transcriptions", "", 405, "POST"},
      {"POST", "/v1/models", "", 405, "GET"},
      {"POST", "/healthz", "", 405, "GET"},
      {"POST", "/v1/chat/completions", "Content-Encoding: gzip\r\n", 415, ""},
      {"POST", "/v1/chat/completions", "Connection: upgrade\r\nUpgrade: websocket\r\n", 501, ""},
  };
  for (const Case& c : cases) {
    const Reply& reply =
        ask({.body = chat("hi"), .path = c.path, .method = c.method, .fields = c.fields});
    EXPECT_EQ(reply.status, c.status) << c.method << " " << c.path;
    EXPECT_EQ(reply.field("allow"), c.allow) << c.method << " " << c.path;
    const auto error = codec::parse_json(reply.body);
    ASSERT_TRUE(error) << reply.body;
    ASSERT_NE(error->find("error"), nullptr) << reply.body;
    EXPECT_TRUE(error->find("error")->find("message")->is_string());
  }
  EXPECT_EQ(a.seen.size(), 0U);
}

TEST_F(RouterRequest, AnUncompressedBodyMaySaySo) {
  engine(1);
  start();
  EXPECT_EQ(ask({.body = chat("hi"), .fields = "Content-Encoding: identity\r\n"}).status, 200);
}

TEST_F(RouterRequest, TellsHealthAndReadinessOnTheMainPort) {
  engine(1).kill();
  start_cold();
  EXPECT_EQ(ask(get("/healthz")).status, 200);
  EXPECT_EQ(ask(get("/readyz")).status, 200) << "back ends do not matter";
  router_->drain().begin("test");
  EXPECT_EQ(ask(get("/readyz")).status, 503);
  EXPECT_EQ(ask(get("/healthz")).status, 200);
  for (const char* path : {"/healthz", "/readyz", "/v1/models"}) {
    Ask head = get(path);
    head.method = "HEAD";
    const Reply& reply = ask(head);
    EXPECT_EQ(reply.status, std::string_view(path) == "/readyz" ? 503 : 200) << path;
    EXPECT_NE(reply.field("content-length"), "0") << path;
    EXPECT_TRUE(reply.whole());
    EXPECT_EQ(reply.body, "");
  }
}

TEST_F(RouterRequest, ListsTheModelsOfAllBackEndsOnce) {
  engine(1, {"llama", "lora-a"});
  engine(2, {"llama", "lora-b"});
  start();
  const Reply& reply = ask(get("/v1/models"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"object":"list","data":[{"id":"llama","object":"model"},)"
                        R"({"id":"lora-a","object":"model"},{"id":"lora-b","object":"model"}]})");
}

TEST_F(RouterRequest, GoesOnlyToReplicasThatListItsModel) {
  FakeEngine& a = engine(1, {"llama"});
  FakeEngine& b = engine(2, {"qwen"});
  start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(R"({"model":"qwen","prompt":"x"})").status, 200);
  EXPECT_EQ(a.seen.size(), 0U);
  EXPECT_EQ(b.seen.size(), 5U);
}

TEST_F(RouterRequest, AnUnknownModelIs404WithoutAskingAnEngine) {
  FakeEngine& a = engine(1);
  start();
  const Reply& reply = ask(R"({"model":"gpt","messages":[]})");
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr("model_not_found"));
  EXPECT_EQ(reply.took() / milliseconds(1), 0);
  EXPECT_EQ(a.seen.size(), 0U);
  EXPECT_THAT(router_->exposition(), Not(HasSubstr("model=\"gpt\"")));
}

TEST_F(RouterRequest, WaitsForABackEndThatStillStarts) {
  FakeEngine& a = engine(1);
  a.kill();
  start_cold();
  const Reply& reply = send(post(chat("hi")));
  const Reply& models = send(get("/v1/models"));
  run_for(seconds(3));
  EXPECT_EQ(unanswered(), 2U);
  a.start();
  run_for(milliseconds(300));
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(models.body, HasSubstr("llama"));
}

TEST_F(RouterRequest, WaitsForABackEndThatAnswersWithoutAListAtFirst) {
  FakeEngine& a = engine(1);
  a.serves_models = false;
  start_cold();
  const Reply& reply = send(post(chat("hi")));
  run_for(seconds(3));
  EXPECT_EQ(unanswered(), 1U);
  a.serves_models = true;
  run_for(milliseconds(1'800));
  EXPECT_EQ(reply.status, 200);
}

TEST_F(RouterRequest, WaitsFiveSecondsForABackEndAndNoLonger) {
  engine(1).kill();
  start_cold();
  const Reply& reply = ask(chat("hi"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_GE(reply.took(), milliseconds(4'900));
  EXPECT_LE(reply.took(), milliseconds(5'200));
  EXPECT_LE(ask(chat("hi")).took(), milliseconds(10)) << "later ones know";
}

TEST_F(RouterRequest, RefusesABodyThatNamesNoModel) {
  FakeEngine& a = engine(1);
  start();
  for (const char* body : {"", "[]", "{\"model\":\"llama\"", "{\"model\":\"llama\"}x"}) {
    const Reply& reply = ask(std::string(body));
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_TRUE(codec::parse_json(reply.body)) << reply.body;
  }
  for (const char* body : {"{}", "{\"model\":7}", "{\"model\":\"\"}"}) {
    EXPECT_EQ(ask(std::string(body)).status, 404) << body;
  }
  EXPECT_EQ(a.seen.size(), 0U);
}

TEST_F(RouterRequest, OfARepeatedModelTheLastCountsAndBothReachTheEngine) {
  FakeEngine& a = engine(1, {"llama"});
  FakeEngine& b = engine(2, {"qwen"});
  start();
  const std::string body = R"({"model":"llama","messages":[],"mod\u0065l":"qwen"})";
  EXPECT_EQ(ask(body).status, 200);
  EXPECT_EQ(a.seen.size(), 0U);
  ASSERT_EQ(b.seen.size(), 1U);
  EXPECT_EQ(b.seen[0].body, body);
}

// ---- headers ------------------------------------------------------------------------------------

TEST_F(RouterRequest, ARequestIdGoesThroughOrIsMade) {
  FakeEngine& a = engine(1);
  start({.access_log = AccessLogFormat::kText});
  const std::string longest(128, 'x');
  for (const std::string& id : {std::string("abc-1"), longest}) {
    const Reply& reply = ask({.body = chat("hi"), .fields = "X-Request-ID: " + id + "\r\n"});
    EXPECT_EQ(reply.field("x-request-id"), id);
    EXPECT_EQ(a.seen.back().field("x-request-id"), id);
  }
  for (const std::string& id : {std::string(""), longest + "x", std::string("two words")}) {
    const Reply& reply = ask({.body = chat("hi"), .fields = "X-Request-ID: " + id + "\r\n"});
    const std::string made = reply.field("x-request-id");
    EXPECT_EQ(made.size(), 32U) << made;
    EXPECT_EQ(a.seen.back().field("x-request-id"), made);
  }
  const Reply& refused = ask({.body = "{}", .fields = "X-Request-ID: abc-2\r\n"});
  EXPECT_EQ(refused.field("x-request-id"), "abc-2");
  stop();
  for (const std::string& id : {std::string("abc-1"), longest, std::string("abc-2")}) {
    EXPECT_THAT(access_lines_, HasSubstr(id));
  }
}

TEST_F(RouterRequest, TheEnginesOwnRequestIdIsReplaced) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}", "X-Request-Id: engines\r\n");
  start();
  EXPECT_EQ(ask({.body = chat("hi"), .fields = "X-Request-Id: mine\r\n"}).field("x-request-id"),
            "mine");
}

TEST_F(RouterRequest, PassesEndToEndFieldsAndNoOthers) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}",
                    "Connection: x-of-this-hop\r\nX-Of-This-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
                    "X-Custom: from engine\r\nX-Fairlead-Explain: forged\r\n");
  start();
  const Reply& reply = ask(
      {.body = chat("hi"),
       .path = "/v1/chat/completions?api-version=1",
       .fields = "Content-Type: application/json\r\nConnection: x-hop, keep-alive\r\n"
                 "X-Hop: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\nTrailer: X-T\r\n"
                 "Proxy-Authorization: secret\r\nProxy-Connection: keep-alive\r\n"
                 "Authorization: Bearer secret\r\nAccept-Encoding: gzip\r\n"
                 "x-fairlead-explain: 1\r\nX-Custom: a\r\nX-Custom: b\r\nUser-Agent: test\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  const std::string& head = a.seen[0].head;
  EXPECT_THAT(head, StartsWith("POST /v1/chat/completions?api-version=1 HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("X-Custom: a\r\nX-Custom: b\r\nUser-Agent: test\r\n"));
  EXPECT_EQ(a.seen[0].field("host"), "10.0.0.1:8000");
  for (const char* name :
       {"connection", "x-hop", "keep-alive", "te", "trailer", "proxy-authorization",
        "proxy-connection", "authorization", "accept-encoding", "x-fairlead-explain"}) {
    EXPECT_EQ(a.seen[0].field(name), "") << name;
  }
  EXPECT_EQ(reply.field("x-custom"), "from engine");
  EXPECT_EQ(reply.field("server"), "fake");
  for (const char* name : {"connection", "x-of-this-hop", "keep-alive", "x-fairlead-explain"}) {
    EXPECT_EQ(reply.field(name), "") << name;
  }
}

TEST_F(RouterRequest, FieldsNamedByASecondConnectionFieldDoNotPassEither) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}", "Connection: x-a\r\nConnection: x-b\r\nX-A: 1\r\nX-B: 1\r\n");
  start();
  const Reply& reply =
      ask({.body = chat("hi"),
           .fields = "Connection: x-one\r\nConnection: x-two\r\nX-One: 1\r\nX-Two: 1\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_EQ(a.seen[0].field("x-one"), "");
  EXPECT_EQ(a.seen[0].field("x-two"), "");
  EXPECT_EQ(reply.field("x-a"), "");
  EXPECT_EQ(reply.field("x-b"), "");
}

TEST_F(RouterRequest, AuthorizationPassesWhereAllowed) {
  FakeEngine& a = engine(1);
  start({.forward_authorization = true});
  ask({.body = chat("hi"), .fields = "Authorization: Bearer mine\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_EQ(a.seen[0].field("authorization"), "Bearer mine");
}

TEST_F(RouterRequest, ShowsItsOwnKeyToEnginesInRequestsAndProbes) {
  const std::string path = testing::TempDir() + "router_request_key";
  std::ofstream(path) << "sesame\n";
  FakeEngine& a = engine(1);
  start({.forward_authorization = true, .backend_api_key_file = path});
  std::remove(path.c_str());
  ask({.body = chat("hi"), .fields = "Authorization: Bearer mine\r\n"});
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_THAT(a.seen[0].head, HasSubstr("Authorization: Bearer sesame\r\n"));
  EXPECT_THAT(a.seen[0].head, Not(HasSubstr("mine")));
  ASSERT_FALSE(a.probe_heads.empty());
  for (const std::string& head : a.probe_heads) {
    EXPECT_THAT(head, HasSubstr("Authorization: Bearer sesame\r\n"));
  }
}

TEST_F(RouterRequest, ExplainsItselfOnlyWhereAllowedAndAsked) {
  engine(1);
  engine(2);
  start();
  const Ask asked{.body = chat("hi"), .fields = "x-fairlead-explain: 1\r\n"};
  EXPECT_EQ(ask(asked).field("x-fairlead-explain"), "");
}

TEST_F(RouterRequest, ExplainsWhichReplicaAndWhyWithinTwoKibibytes) {
  std::vector<std::string> backends;
  for (int i = 1; i <= 12; ++i) {
    engine(i);
    // Near the longest name that DNS has.
    const std::string host = std::string(60, 'a') + "." + std::string(60, 'b') + "." +
                             std::string(60, 'c') + fmt::format(".{:02}.example", i);
    network_.name(host, {address(i)});
    backends.push_back("http://" + host + ":8000");
  }
  start({.backend = backends, .allow_explain = true});
  EXPECT_EQ(ask(chat("hi")).field("x-fairlead-explain"), "");
  const Reply& reply = ask({.body = chat("hi"), .fields = "x-fairlead-explain: 1\r\n"});
  const std::string text = reply.field("x-fairlead-explain");
  EXPECT_LE(text.size(), 2048U);
  const auto json = codec::parse_json(text);
  ASSERT_TRUE(json) << text;
  EXPECT_THAT(json->find("replica")->as_string(), EndsWith(".example:8000"));
  EXPECT_EQ(json->find("candidates")->as_int(), 12);
  EXPECT_EQ(json->find("policy")->as_string(), "expected-ttft");
  EXPECT_TRUE(json->find("reason")->is_string());
  EXPECT_GE(json->find("others")->items().size(), 3U);
  EXPECT_LT(json->find("others")->items().size(), 8U) << "some had to be left out";
}

// ---- bodies -------------------------------------------------------------------------------------

TEST_F(RouterRequest, ABodyReachesTheEngineByteForByte) {
  FakeEngine& a = engine(1);
  start();
  const std::vector<std::string> bodies = {
      "{ \"z\" : 1.0e+02 , \"model\":\"llama\",\"a\":[ "
      "],\n\"seed\":123456789012345678901234567890,\"messages\":[]}",
      R"({"model":"llama","messages":[{"role":"user","content":"\u00e9\ud83d\ude00/\/"}],"stream":false})",
      R"({"stream":true,"model":"llama","stream_options":{"include_usage":true,"x":0},"messages":[]})",
      chat(std::string(200'000, 'x')),
  };
  for (const std::string& body : bodies) {
    EXPECT_EQ(ask(body).status, 200);
    EXPECT_EQ(a.seen.back().body, body);
  }
}

TEST_F(RouterRequest, AChunkedBodyReachesTheEngineCounted) {
  FakeEngine& a = engine(1);
  start();
  const std::string body = chat("hi");
  const Reply& reply = ask({.body = chunk(body.substr(0, 9)) + chunk(body.substr(9)) + "0\r\n\r\n",
                            .fields = "Transfer-Encoding: chunked\r\n"});
  EXPECT_EQ(reply.status, 200);
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_EQ(a.seen[0].body, body);
  EXPECT_EQ(a.seen[0].field("content-length"), std::to_string(body.size()));
  EXPECT_EQ(a.seen[0].field("transfer-encoding"), "");
}

TEST_F(RouterRequest, AsksForUsageAndCutsItOutAgain) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), token_event("b"), kUsageEvent}, milliseconds(10));
  start();
  const std::string streaming = chat("hi", R"("stream":true)");
  const Reply& reply = ask(streaming);
  EXPECT_TRUE(reply.whole());
  EXPECT_EQ(reply.body, token_event("a") + token_event("b") + kDone);
  ASSERT_EQ(a.seen.size(), 1U);
  const auto sent = codec::parse_json(a.seen[0].body);
  ASSERT_TRUE(sent) << a.seen[0].body;
  EXPECT_TRUE(sent->find("stream_options")->find("include_usage")->as_bool());
  EXPECT_EQ(sent->members().size(), 4U);
  EXPECT_EQ(metric("fairlead_prompt_tokens_total{model=\"llama\"}"), 7);
  EXPECT_EQ(metric("fairlead_output_tokens_total{model=\"llama\"}"), 2);

  // What the client says stays, but for the one value.
  ask(chat("hi", R"("stream":true,"stream_options":{"include_usage":false,"x":1.50})"));
  EXPECT_EQ(a.seen.back().body,
            chat("hi", R"("stream":true,"stream_options":{"include_usage":true,"x":1.50})"));
}

TEST_F(RouterRequest, KeepsTheUsageThatTheClientAskedFor) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), kUsageEvent});
  start();
  const std::string body = chat("hi", R"("stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(ask(body).body, token_event("a") + kUsageEvent + kDone);
  EXPECT_EQ(a.seen.back().body, body);
  EXPECT_EQ(metric("fairlead_prompt_tokens_total{model=\"llama\"}"), 7);
}

TEST_F(RouterRequest, LeavesStreamsAloneWhereUsageIsNotWanted) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), kUsageEvent});
  start({.ask_usage = false});
  const std::string body = chat("hi", R"("stream":true)");
  EXPECT_EQ(ask(body).body, token_event("a") + kUsageEvent + kDone);
  EXPECT_EQ(a.seen.back().body, body);
}

TEST_F(RouterRequest, OnlyChatAndCompletionsAreAskedForUsage) {
  FakeEngine& a = engine(1);
  start();
  const std::string body = R"({"model":"llama","input":"x","stream":true})";
  ask({.body = body, .path = "/v1/responses"});
  EXPECT_EQ(a.seen.back().body, body);
  ask({.body = body, .path = "/v1/completions"});
  EXPECT_THAT(a.seen.back().body, HasSubstr("include_usage"));
}

TEST_F(RouterRequest, TakesABodyAtItsLimitAndRefusesOneByteMore) {
  FakeEngine& a = engine(1);
  const std::string body = chat("hi");
  start({.body_bytes_max = base::Bytes(body.size())});
  EXPECT_EQ(ask(body).status, 200);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(ask({.body = chunk(body) + "0\r\n\r\n", .fields = chunked}).status, 200);
  EXPECT_EQ(ask({.body = chunk(body + " ") + "0\r\n\r\n", .fields = chunked}).status, 413);
  const Reply& reply = ask(body + " ");
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.field("connection"), "close");
  EXPECT_THAT(reply.body, HasSubstr("request_too_large"));
  EXPECT_EQ(a.seen.size(), 2U);
}

TEST_F(RouterRequest, BoundsAllBodiesHeldTogether) {
  engine(1);
  start({.held_bytes_max = base::Bytes(1000)});
  const auto begin = [](size_t bytes) {
    return fmt::format("POST /v1/completions HTTP/1.1\r\nHost: r\r\nContent-Length: {}\r\n\r\n{{",
                       bytes);
  };
  RawClient& first = raw_client();
  first.send(begin(600));
  run_for(milliseconds(10));
  EXPECT_EQ(metric("fairlead_held_body_bytes"), 600);
  RawClient& fits = raw_client();
  fits.send(begin(400));
  RawClient& one_more = raw_client();
  one_more.send(begin(2));
  run_for(milliseconds(10));
  EXPECT_EQ(fits.received, "") << "at the limit: its body is awaited";
  EXPECT_THAT(one_more.received, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(one_more.received, HasSubstr("Retry-After: 1\r\n"));
  first.leave();
  run_for(milliseconds(10));
  EXPECT_EQ(metric("fairlead_held_body_bytes"), 400);
  RawClient& later = raw_client();
  later.send(begin(2));
  run_for(milliseconds(10));
  EXPECT_EQ(later.received, "");
}

// ---- forms --------------------------------------------------------------------------------------

Ask form_request(std::string_view parts) {
  return {.body = std::string(parts) + "--XX--\r\n",
          .path = "/v1/audio/transcriptions",
          .fields = "Content-Type: multipart/form-data; boundary=XX\r\n"};
}

std::string part(std::string_view name, std::string_view value) {
  return fmt::format("--XX\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n", name,
                     value);
}
std::string file_part(std::string_view content) {
  return fmt::format(
      "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"model\"\r\n"
      "Content-Type: audio/wav\r\n\r\n{}\r\n",
      content);
}

TEST_F(RouterRequest, AFormGoesToTheModelThatItNames) {
  FakeEngine& a = engine(1, {"llama"});
  FakeEngine& b = engine(2, {"whisper"});
  start();
  const std::string sound("\0\xff\r\n--not the boundary\r\n", 23);
  const Ask request =
      form_request(file_part(sound) + part("model", "whisper") + part("language", "de"));
  EXPECT_EQ(ask(request).status, 200);
  EXPECT_EQ(a.seen.size(), 0U);
  ASSERT_EQ(b.seen.size(), 1U);
  EXPECT_EQ(b.seen[0].body, request.body);
  EXPECT_EQ(b.seen[0].field("content-type"), "multipart/form-data; boundary=XX");
  EXPECT_EQ(ask(form_request(part("language", "de"))).status, 404);
  EXPECT_EQ(ask(form_request(part("model", "gpt"))).status, 404);
}

TEST_F(RouterRequest, OfARepeatedModelInAFormTheLastCounts) {
  FakeEngine& a = engine(1, {"llama"});
  FakeEngine& b = engine(2, {"whisper"});
  start();
  EXPECT_EQ(ask(form_request(part("model", "llama") + part("model", "whisper"))).status, 200);
  EXPECT_EQ(a.seen.size(), 0U);
  EXPECT_EQ(b.seen.size(), 1U);
}

// ---- framing of answers -------------------------------------------------------------------------

TEST_F(RouterRequest, HoldsTheHeadUntilTheFirstByteOfTheBody) {
  FakeEngine& a = engine(1);
  a.next.push_back(events({token_event("a")}, milliseconds(500)));
  a.next.push_back({.steps = {{.bytes = answer_head(200, "Content-Length: 2\r\n")},
                              {.wait = milliseconds(700), .bytes = "{}"}}});
  start();
  const Reply& stream = ask(chat("hi", R"("stream":true)"));
  EXPECT_GE(stream.head_at - stream.sent_at, milliseconds(500));
  EXPECT_LE(stream.head_at - stream.sent_at, milliseconds(502));
  const Reply& json = ask(chat("hi"));
  EXPECT_GE(json.head_at - json.sent_at, milliseconds(700));
  EXPECT_EQ(json.body, "{}");
}

TEST_F(RouterRequest, PassesEventsOnAsTheyCome) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), token_event("b"), token_event("c")}, milliseconds(100));
  start();
  const Reply& reply = ask(chat("hi", R"("stream":true)"));
  ASSERT_EQ(reply.pieces.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const base::Nanos at = reply.pieces[i] - reply.sent_at;
    EXPECT_NEAR(base::to_ms(at), 100.0 * static_cast<double>(i + 1), 2.0) << i;
  }
}

TEST_F(RouterRequest, RelaysAnswersInEveryFraming) {
  FakeEngine& a = engine(1);
  a.next.push_back(raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Script::Then::kKeep));
  a.next.push_back(
      raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n"
          "3\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n",
          Script::Then::kKeep));
  a.next.push_back(raw("HTTP/1.1 200 OK\r\n\r\nhello", Script::Then::kClose));
  a.next.push_back(raw("HTTP/1.0 200 OK\r\n\r\nhello", Script::Then::kClose));
  a.next.push_back(
      raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
          "hello",
          Script::Then::kKeep));
  start();
  for (int i = 0; i < 5; ++i) {
    const Reply& reply = ask(chat("hi"));
    EXPECT_EQ(reply.status, 200) << i;
    EXPECT_EQ(reply.body, "hello") << i;
    EXPECT_TRUE(reply.whole()) << i;
  }
  a.next.push_back(raw("HTTP/1.1 204 No Content\r\n\r\n", Script::Then::kKeep));
  const Reply& empty = ask(chat("hi"));
  EXPECT_EQ(empty.status, 204);
  EXPECT_TRUE(empty.whole());
}

TEST_F(RouterRequest, ReusesConnectionsToEngines) {
  FakeEngine& a = engine(1);
  start();
  const size_t before = a.connections;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(chat("hi")).status, 200);
  EXPECT_EQ(a.connections - before, 1U);
}

TEST_F(RouterRequest, AConnectionWithBytesLeftOverIsNotUsedAgain) {
  FakeEngine& a = engine(1);
  start();
  a.next.push_back(
      raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n"
          "Content-Length: 6\r\n\r\nforged",
          Script::Then::kKeep));
  EXPECT_EQ(ask(chat("hi")).body, "{}");
  EXPECT_THAT(ask(chat("hi")).body, Not(HasSubstr("forged")));
}

class RouterByteByByte : public RouterTest {
 protected:
  RouterByteByByte()
      : RouterTest({.latency = std::chrono::microseconds(50), .read_bytes_max = 1}) {}
};

TEST_F(RouterByteByByte, RelaysAStreamThatIsSplitAtEveryByte) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), token_event("b"), kUsageEvent});
  start();
  for (const int minor : {1, 0}) {
    const Reply& reply = ask({.body = chat("hi", R"("stream":true)"), .minor_version = minor});
    EXPECT_TRUE(reply.whole());
    EXPECT_EQ(reply.body, token_event("a") + token_event("b") + kDone);
  }
  a.script = answer(200, std::string(5'000, 'x'));
  EXPECT_EQ(ask(chat("hi")).body, std::string(5'000, 'x'));
}

// ---- clients of all kinds -----------------------------------------------------------------------

TEST_F(RouterRequest, AnOldClientGetsTheStreamUntilClose) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a")});
  start();
  const Reply& reply = ask({.body = chat("hi", R"("stream":true)"),
                            .fields = "Connection: keep-alive\r\n",
                            .minor_version = 0});
  EXPECT_TRUE(reply.whole());
  EXPECT_EQ(reply.body, token_event("a") + kDone);
  EXPECT_EQ(reply.field("transfer-encoding"), "");
  EXPECT_EQ(reply.field("connection"), "close");
  a.script = answer(200, "{}");
  const Reply& counted =
      ask({.body = chat("hi"), .fields = "Connection: keep-alive\r\n", .minor_version = 0});
  EXPECT_EQ(counted.field("connection"), "keep-alive");
  EXPECT_EQ(counted.body, "{}");
}

TEST_F(RouterRequest, AnswersPipelinedRequestsInOrder) {
  FakeEngine& a = engine(1);
  a.next.push_back(
      {.steps = {{.wait = milliseconds(300), .bytes = answer(200, "first").steps[0].bytes}}});
  a.next.push_back(answer(200, "second"));
  a.next.push_back(events({event("third")}));
  start();
  RawClient& client = raw_client();
  const auto request = [](const std::string& body) {
    return fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body);
  };
  client.send(request(chat("1")) + request(chat("2")) + request(chat("3", R"("stream":true)")) +
              "GET /healthz HTTP/1.1\r\nHost: r\r\n\r\n");
  run_for(seconds(1));
  size_t at = 0;
  for (const char* word : {"first", "second", "third", "[DONE]", "\r\n0\r\n\r\n", "\"ok\""}) {
    const size_t found = client.received.find(word, at);
    ASSERT_NE(found, std::string::npos) << word << " in " << client.received;
    at = found;
  }
  EXPECT_FALSE(client.ended || client.reset);
}

TEST_F(RouterRequest, SaysContinueToAClientThatAsks) {
  FakeEngine& a = engine(1);
  start();
  RawClient& client = raw_client();
  const std::string body = chat("hi");
  client.send(
      fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nExpect: 100-continue\r\n"
                  "Content-Length: {}\r\n\r\n",
                  body.size()));
  run_for(milliseconds(10));
  EXPECT_EQ(client.received, "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(body);
  run_for(milliseconds(10));
  EXPECT_THAT(client.received, HasSubstr("HTTP/1.1 200 OK\r\n"));
  ASSERT_EQ(a.seen.size(), 1U);
  EXPECT_EQ(a.seen[0].field("expect"), "");
}

// ---- stopping -----------------------------------------------------------------------------------

TEST_F(RouterRequest, DrainsWithoutLosingAnAnswer) {
  FakeEngine& a = engine(1);
  a.script = events({token_event("a"), token_event("b")}, seconds(1));
  start();
  RawClient& idle = raw_client();
  const Reply& stream = send(post(chat("hi", R"("stream":true)")));
  const Reply& waiting = send(post(chat("hi", R"("stream":true)")));
  run_for(milliseconds(500));
  router_->shards()[0]->drain(seconds(60));
  run_for(milliseconds(10));
  EXPECT_TRUE(idle.ended);
  EXPECT_EQ(ask(chat("hi")).end, Reply::End::kNoAnswer) << "the listener is closed";
  run_for(seconds(5));
  EXPECT_TRUE(stream.whole());
  EXPECT_EQ(stream.body, token_event("a") + token_event("b") + kDone);
  EXPECT_EQ(waiting.field("connection"), "close") << "its head came after the drain began";
  EXPECT_TRUE(router_->shards()[0]->ended());
}

TEST_F(RouterRequest, ADrainThatTakesTooLongEndsStreamsWithAnError) {
  FakeEngine& a = engine(1);
  a.script = broken_events({token_event("a")}, milliseconds(10), Script::Then::kHang);
  start();
  const Reply& stream = send(post(chat("hi", R"("stream":true)")));
  run_for(seconds(1));
  router_->shards()[0]->drain(seconds(10));
  run_for(milliseconds(9'900));
  EXPECT_EQ(stream.end, Reply::End::kPending);
  run_for(milliseconds(200));
  EXPECT_NE(stream.end, Reply::End::kPending);
  EXPECT_THAT(stream.body, StartsWith(token_event("a")));
  EXPECT_THAT(stream.body, HasSubstr("\"error\""));
  EXPECT_THAT(stream.body, EndsWith(kDone));
  EXPECT_TRUE(router_->shards()[0]->ended());
}

}  // namespace
}  // namespace fairlead::router
