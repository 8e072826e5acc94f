// The whole engine in virtual time: what clients see, and what is left when they are gone.
#include "engine/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace fairlead::engine {
namespace {

using codec::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

std::string content(const Json& answer, size_t i = 0) {
  return choice(answer, i).find("message")->find("content")->as_string();
}
int64_t usage(const Json& answer, const char* key) {
  return answer.find("usage")->find(key)->as_int();
}
// The text of all chunks of one choice.
std::string streamed(const std::vector<Json>& events, int64_t index = 0) {
  std::string text;
  for (const Json& e : events) {
    for (const Json& c : e.find("choices")->items()) {
      if (c.find("index")->as_int() != index) continue;
      const Json* delta = c.find("delta");
      const Json* piece = delta != nullptr ? delta->find("content") : c.find("text");
      if (piece != nullptr) text += piece->as_string();
    }
  }
  return text;
}

const std::string kTools =
    R"("tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",)"
    R"("properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"enum":["C","F"]}},)"
    R"("required":["city","unit"]}}}])";
const std::string kToolFlags = "--enable-auto-tool-choice --tool-call-parser hermes";

// --- text ---

TEST(Engine, GivesTheSameTextForTheSamePromptWholeAndStreamed) {
  TestEngine engine("");
  const Json whole = engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":20)")).json();
  EXPECT_EQ(usage(whole, "completion_tokens"), 20);
  EXPECT_EQ(finish(whole), "length");
  const TestAnswer stream =
      engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":20,"stream":true)"));
  EXPECT_EQ(stream.content_type, "text/event-stream; charset=utf-8");
  const std::vector<Json> events = stream.events();
  EXPECT_EQ(events.size(), 21u);  // the role, then one a token
  EXPECT_EQ(streamed(events), content(whole));
  EXPECT_GE(stream.pieces.size(), 20u) << "tokens are sent as they come";
  const Json other = engine.post("/v1/chat/completions", chat("ho", R"("max_tokens":20)")).json();
  EXPECT_NE(content(other), content(whole));
}

TEST(Engine, DrawsTheLengthFromThePromptAndStops) {
  TestEngine engine("--sim-output-len 40");
  int64_t total = 0;
  for (int i = 0; i < 40; ++i) {
    const Json answer = engine.post("/v1/chat/completions", chat(std::to_string(i))).json();
    EXPECT_EQ(finish(answer), "stop");
    EXPECT_TRUE(choice(answer).find("stop_reason")->is_null());
    const int64_t tokens = usage(answer, "completion_tokens");
    EXPECT_GE(tokens, 20);
    EXPECT_LE(tokens, 60);
    total += tokens;
  }
  EXPECT_NEAR(static_cast<double>(total) / 40, 40, 8);
}

TEST(Engine, MinTokensAndIgnoreEosKeepItGoing) {
  TestEngine engine("--sim-output-len 4 --max-model-len 200");
  const Json at_least =
      engine.post("/v1/chat/completions", chat("hi", R"("min_tokens":30)")).json();
  EXPECT_EQ(usage(at_least, "completion_tokens"), 31);
  const Json forever =
      engine.post("/v1/chat/completions", chat("hi", R"("ignore_eos":true)")).json();
  EXPECT_EQ(finish(forever), "length");
  EXPECT_EQ(usage(forever, "total_tokens"), 200);
}

TEST(Engine, CutsAtAStopStringAndNeverSendsAPartOfIt) {
  TestEngine engine("");
  const std::string all =
      content(engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":40)")).json());
  const std::string stop = all.substr(30, 9);
  const std::string more = fmt::format(R"("max_tokens":40,"stop":["never","{}"])", stop);
  const Json whole = engine.post("/v1/chat/completions", chat("hi", more)).json();
  EXPECT_EQ(content(whole), all.substr(0, all.find(stop)));
  EXPECT_EQ(finish(whole), "stop");
  EXPECT_EQ(choice(whole).find("stop_reason")->as_string(), stop);
  const TestAnswer stream =
      engine.post("/v1/chat/completions", chat("hi", more + R"(,"stream":true)"));
  EXPECT_EQ(streamed(stream.events()), content(whole));
  const Json with =
      engine
          .post("/v1/chat/completions", chat("hi", more + R"(,"include_stop_str_in_output":true)"))
          .json();
  EXPECT_EQ(content(with), all.substr(0, all.find(stop) + stop.size()));
}

TEST(Engine, StopsAtAStopTokenAndNamesIt) {
  TestEngine engine("");
  const Json all =
      engine
          .post("/v1/completions", R"({"prompt":[1,2,3],"max_tokens":30,"return_token_ids":true})")
          .json();
  const int64_t token = choice(all).find("token_ids")->items()[10].as_int();
  const Json cut =
      engine
          .post("/v1/completions",
                fmt::format(R"({{"prompt":[1,2,3],"max_tokens":30,"stop_token_ids":[{}]}})", token))
          .json();
  EXPECT_EQ(finish(cut), "stop");
  EXPECT_EQ(choice(cut).find("stop_reason")->as_int(), token);
  EXPECT_LE(usage(cut, "completion_tokens"), 11);
}

TEST(Engine, AnswersSeveralChoicesAndPrompts) {
  TestEngine engine("");
  const Json three =
      engine.post("/v1/chat/completions", chat("hi", R"("n":3,"max_tokens":5)")).json();
  ASSERT_EQ(three.find("choices")->items().size(), 3u);
  EXPECT_NE(content(three, 0), content(three, 1));
  EXPECT_EQ(usage(three, "completion_tokens"), 15);
  const TestAnswer stream =
      engine.post("/v1/completions", R"({"prompt":["a","b"],"n":2,"max_tokens":3,"stream":true})");
  const std::vector<Json> events = stream.events();
  for (int64_t i = 0; i < 4; ++i) EXPECT_FALSE(streamed(events, i).empty()) << i;
  EXPECT_NE(streamed(events, 0), streamed(events, 2));
}

TEST(Engine, BoundsChoices) {
  TestEngine engine("");
  const auto ask = [&](size_t n) {
    return engine.post("/v1/completions",
                       fmt::format(R"({{"prompt":"a","n":{},"max_tokens":1}})", n));
  };
  EXPECT_EQ(ask(kChoicesMax).status, 200);
  EXPECT_EQ(ask(kChoicesMax + 1).status, 400);
}

TEST(Engine, EchoesThePrompt) {
  TestEngine engine("");
  const Json echoed =
      engine.post("/v1/completions", R"({"prompt":"Once upon","max_tokens":2,"echo":true})").json();
  EXPECT_TRUE(choice(echoed).find("text")->as_string().starts_with("Once upon"));
  const Json only =
      engine.post("/v1/completions", R"({"prompt":"Once upon","max_tokens":0,"echo":true})").json();
  EXPECT_EQ(choice(only).find("text")->as_string(), "Once upon");
  const TestAnswer stream = engine.post(
      "/v1/completions", R"({"prompt":"Once upon","max_tokens":2,"echo":true,"stream":true})");
  EXPECT_EQ(streamed(stream.events()), choice(echoed).find("text")->as_string());
}

TEST(Engine, ShowsLogprobsOfEachToken) {
  TestEngine engine("");
  const std::string more = R"("max_tokens":4,"logprobs":true,"top_logprobs":2)";
  const Json whole = engine.post("/v1/chat/completions", chat("hi", more)).json();
  const auto tokens = choice(whole).find("logprobs")->find("content")->items();
  ASSERT_EQ(tokens.size(), 4u);
  std::string text;
  for (const Json& token : tokens) {
    text += token.find("token")->as_string();
    EXPECT_EQ(token.find("top_logprobs")->items().size(), 2u);
    EXPECT_LE(token.find("logprob")->as_double(), 0);
  }
  EXPECT_EQ(text, content(whole));
  const TestAnswer stream =
      engine.post("/v1/chat/completions", chat("hi", more + R"(,"stream":true)"));
  size_t streamed_tokens = 0;
  for (const Json& e : stream.events()) {
    const Json* logprobs = choice(e).find("logprobs");
    if (logprobs->is_object()) streamed_tokens += logprobs->find("content")->items().size();
  }
  EXPECT_EQ(streamed_tokens, 4u);
}

// --- tools ---

TEST(Engine, CallsAToolAndAnswersWhenItHasSpoken) {
  TestEngine engine(kToolFlags);
  const Json call = engine.post("/v1/chat/completions", chat("weather?", kTools)).json();
  EXPECT_EQ(finish(call), "tool_calls");
  const Json& tool = choice(call).find("message")->find("tool_calls")->items()[0];
  EXPECT_EQ(tool.find("function")->find("name")->as_string(), "get_weather");
  EXPECT_EQ(tool.find("function")->find("arguments")->as_string(), R"({"city":"text","unit":"C"})");
  EXPECT_TRUE(tool.find("id")->as_string().starts_with("chatcmpl-tool-"));
  EXPECT_TRUE(choice(call).find("message")->find("content")->is_null());

  const Json answer =
      engine
          .post("/v1/chat/completions",
                fmt::format(R"({{"messages":[{{"role":"user","content":"weather?"}},)"
                            R"({{"role":"assistant","tool_calls":[{}]}},)"
                            R"({{"role":"tool","tool_call_id":"x","content":"sunny"}}],{}}})",
                            codec::to_string(tool), kTools))
          .json();
  EXPECT_EQ(finish(answer), "stop");
  EXPECT_FALSE(content(answer).empty());
}

TEST(Engine, StreamsAToolCallAsFragments) {
  TestEngine engine(kToolFlags);
  for (const char* choice_of_tool :
       {R"("auto")", R"("required")", R"({"type":"function","function":{"name":"get_weather"}})"}) {
    const TestAnswer stream =
        engine.post("/v1/chat/completions",
                    chat("weather?", kTools + R"(,"stream":true,"tool_choice":)" + choice_of_tool));
    std::string name, arguments, reason;
    for (const Json& e : stream.events()) {
      const Json* delta = choice(e).find("delta");
      if (choice(e).find("finish_reason")->is_string()) {
        reason = choice(e).find("finish_reason")->as_string();
      }
      const Json* calls = delta->find("tool_calls");
      if (calls == nullptr) continue;
      const Json* function = calls->items()[0].find("function");
      if (const Json* n = function->find("name")) name += n->as_string();
      arguments += function->find("arguments")->as_string();
    }
    EXPECT_EQ(name, "get_weather") << choice_of_tool;
    EXPECT_EQ(arguments, R"({"city":"text","unit":"C"})") << choice_of_tool;
    EXPECT_EQ(reason, choice_of_tool[0] == '{' ? "stop" : "tool_calls");
  }
}

TEST(Engine, RefusesAutoToolsWithoutTheirFlags) {
  TestEngine engine("");
  const TestAnswer answer = engine.post("/v1/chat/completions", chat("weather?", kTools));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(error_message(answer), HasSubstr("--enable-auto-tool-choice and --tool-call-parser"));
}

// --- time and cache ---

TEST(Engine, TakesTheProfilesTime) {
  TestEngine engine("--sim-profile h100-8b");
  const base::TimePoint start = engine.now();
  const TestAnswer stream =
      engine.post("/v1/completions", R"({"prompt":[1,2,3],"max_tokens":101,"stream":true})");
  ASSERT_GE(stream.pieces.size(), 101u);
  const double gap = base::to_ms(stream.pieces[100] - stream.pieces[0]) / 100;
  EXPECT_NEAR(gap, 5.6, 0.2);
  EXPECT_LT(base::to_ms(stream.pieces[0] - start), 8);

  TestEngine fast("--sim-profile h100-8b --sim-speed 10");
  const TestAnswer quick =
      fast.post("/v1/completions", R"({"prompt":[1,2,3],"max_tokens":101,"stream":true})");
  EXPECT_NEAR(base::to_ms(quick.pieces[100] - quick.pieces[0]) / 100, gap / 10, 0.02);
}

TEST(Engine, ServesStreamsTogetherAndQueuesTheRest) {
  TestEngine engine("--max-num-seqs 2");
  std::vector<TestRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back({.body = chat(std::to_string(i), R"("max_tokens":50,"stream":true)")});
  }
  const std::vector<TestAnswer> answers = engine.ask_all(requests);
  for (const TestAnswer& a : answers) EXPECT_TRUE(a.whole);
  EXPECT_LT(answers[1].pieces[1], answers[0].pieces.back());
  EXPECT_GT(answers[2].pieces[1], answers[0].pieces[40]);
  EXPECT_EQ(engine.metric("vllm:request_success_total{engine=\"0\",finished_reason=\"length\""), 4);
}

TEST(Engine, ReportsCachedTokensAndTheirMetrics) {
  TestEngine engine("--enable-prompt-tokens-details");
  std::string ids = "1";
  for (int i = 2; i <= 100; ++i) ids += fmt::format(",{}", i);
  const std::string body = fmt::format(R"({{"prompt":[{}],"max_tokens":1}})", ids);
  const Json cold = engine.post("/v1/completions", body).json();
  EXPECT_TRUE(cold.find("usage")->find("prompt_tokens_details")->is_null());
  const Json warm = engine.post("/v1/completions", body).json();
  const Json* details = warm.find("usage")->find("prompt_tokens_details");
  ASSERT_TRUE(details->is_object());
  EXPECT_EQ(details->find("cached_tokens")->as_int(), 96);
  EXPECT_EQ(engine.metric("vllm:prefix_cache_queries_total"), 200);
  EXPECT_EQ(engine.metric("vllm:prefix_cache_hits_total"), 96);
  EXPECT_EQ(engine.metric("vllm:prompt_tokens_total"), 200);
  EXPECT_EQ(engine.metric("vllm:generation_tokens_total"), 2);
  EXPECT_EQ(engine.metric("vllm:num_requests_running"), 0);
  EXPECT_EQ(engine.metric("vllm:kv_cache_usage_perc"), 0);
}

TEST(Engine, AConversationFindsItsOwnAnswerInTheCache) {
  TestEngine engine("--enable-prompt-tokens-details");
  const std::string said =
      content(engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":80)")).json());
  std::string assistant;
  codec::append_json_string(assistant, said);
  const Json next = engine
                        .post("/v1/chat/completions",
                              fmt::format(R"({{"messages":[{{"role":"user","content":"hi"}},)"
                                          R"({{"role":"assistant","content":{}}},)"
                                          R"({{"role":"user","content":"more"}}],"max_tokens":1}})",
                                          assistant))
                        .json();
  EXPECT_GE(next.find("usage")->find("prompt_tokens_details")->find("cached_tokens")->as_int(), 64);
}

// --- clients that leave ---

TEST(Engine, FreesWhatAClientHeldWhenItLeaves) {
  TestEngine engine("--sim-speed 0.01");
  const std::string body = chat("hi there", R"("max_tokens":5000,"stream":true)");
  // In prefill, in mid-stream, and one that waits for a whole answer.
  engine.ask({.body = body, .leave_after = 0});
  engine.ask({.body = body, .leave_after = 3});
  engine.ask({.body = chat("hi", R"("max_tokens":5000)"), .leave_at = engine.now() + seconds(2)});
  engine.run_for(seconds(3));
  const engine_model::Load load = engine.engine->core().model().load();
  EXPECT_EQ(load.running, 0u);
  EXPECT_EQ(load.blocks_used, 0u);
  EXPECT_EQ(engine.engine->requests_active(), 0u);
  EXPECT_EQ(engine.metric("vllm:request_success_total{engine=\"0\",finished_reason=\"abort\""), 3);
}

TEST(Engine, AClientThatStallsGetsEverythingAndDelaysNobody) {
  TestEngine engine("--sim-speed 20");
  // More than the window of the network.
  const std::string body = chat("hi", R"("max_tokens":3000,"stream":true)");
  const std::vector<TestAnswer> answers =
      engine.ask_all({{.body = body, .read_from = engine.now() + seconds(10)}, {.body = body}});
  EXPECT_LT(answers[1].pieces.back(), answers[0].pieces.front());
  EXPECT_EQ(streamed(answers[0].events()), streamed(answers[1].events()));
  EXPECT_EQ(answers[0].events().size(), 3001u);
}

TEST(Engine, GivesUpAClientThatReadsNothingForAMinute) {
  TestEngine engine("--sim-speed 20");
  const TestAnswer gone = engine.ask({.body = chat("hi", R"("max_tokens":3000,"stream":true)"),
                                      .read_from = engine.now() + seconds(120)});
  EXPECT_FALSE(gone.whole);
  EXPECT_EQ(engine.engine->requests_active(), 0u);
}

TEST(Engine, AnswersHttp10WithoutChunks) {
  TestEngine engine("");
  const TestAnswer stream =
      engine.ask({.body = chat("hi", R"("max_tokens":5,"stream":true)"), .version = "HTTP/1.0"});
  EXPECT_THAT(stream.fields, ::testing::Not(HasSubstr("transfer-encoding")));
  EXPECT_EQ(stream.events().size(), 6u);
}

TEST(Engine, LeavesNothingBehindAfterAThousandMixedRequests) {
  TestEngine engine("--num-gpu-blocks-override 200 --max-num-seqs 8 --sim-output-len 16");
  base::Random random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<TestRequest> requests;
    for (int i = 0; i < 20; ++i) {
      TestRequest r{.body = chat(std::string(random.below(400), 'x'),
                                 random.below(2) == 0 ? R"("stream":true)" : R"("n":2)")};
      if (random.below(3) == 0) r.leave_after = random.below(5);
      if (random.below(4) == 0) {
        r.leave_at = engine.now() + milliseconds(static_cast<int64_t>(random.below(300)));
      }
      requests.push_back(r);
    }
    engine.ask_all(requests);
  }
  engine.run_for(seconds(10));
  EXPECT_EQ(engine.engine->core().model().load().blocks_used, 0u);
  EXPECT_EQ(engine.engine->requests_active(), 0u);
  EXPECT_EQ(engine.engine->connections(), 0u);
  EXPECT_EQ(engine.network.open_streams(), 0u);
}

// --- HTTP ---

TEST(Engine, GuardsV1WithAKey) {
  TestEngine engine("--api-key secret other");
  const auto models = [&](const char* authorization) {
    return engine.ask({.method = "GET",
                       .path = "/v1/models",
                       .fields = *authorization == '\0'
                                     ? ""
                                     : fmt::format("Authorization: {}\r\n", authorization)});
  };
  const TestAnswer refused = models("");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body, R"({"error":"Unauthorized"})");
  EXPECT_EQ(models("Bearer secre").status, 401);
  EXPECT_EQ(models("Basic secret").status, 401);
  EXPECT_EQ(models("Bearer secret").status, 200);
  EXPECT_EQ(models("Bearer other").status, 200);
  EXPECT_EQ(engine.get("/health").status, 200);
  EXPECT_EQ(engine.get("/metrics").status, 200);
}

TEST(Engine, TakesJsonOnlyAsJson) {
  TestEngine engine("");
  const auto ask = [&](const std::string& fields) {
    return engine.ask({.body = chat("hi", R"("max_tokens":1)"), .fields = fields}).status;
  };
  EXPECT_EQ(ask(""), 400);
  EXPECT_EQ(ask("Content-Type: application/x-www-form-urlencoded\r\n"), 400);
  EXPECT_EQ(ask("Content-Type: application/json; charset=utf-8\r\n"), 200);
  EXPECT_EQ(ask("content-type: Application/JSON\r\n"), 200);
}

TEST(Engine, ReturnsTheRequestIdWhereAskedTo) {
  TestEngine engine("--enable-request-id-headers");
  const TestAnswer given =
      engine.ask({.body = chat("hi", R"("max_tokens":1)"),
                  .fields = "Content-Type: application/json\r\nX-Request-Id: r-1\r\n"});
  EXPECT_THAT(given.fields, HasSubstr("x-request-id: r-1\n"));
  EXPECT_EQ(given.json().find("id")->as_string(), "chatcmpl-r-1");
  EXPECT_THAT(engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":1)")).fields,
              HasSubstr("x-request-id: "));
}

TEST(Engine, ForcesUsageIntoStreams) {
  TestEngine engine("--enable-force-include-usage");
  const std::vector<Json> events =
      engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":2,"stream":true)")).events();
  EXPECT_EQ(usage(events.back(), "completion_tokens"), 2);
  EXPECT_TRUE(events.back().find("choices")->items().empty());
}

TEST(Engine, ListsItsNames) {
  TestEngine engine("--model org/big --served-model-name big alias");
  const Json models = engine.get("/v1/models").json();
  ASSERT_EQ(models.find("data")->items().size(), 2u);
  EXPECT_EQ(models.find("data")->items()[1].find("id")->as_string(), "alias");
  EXPECT_EQ(models.find("data")->items()[1].find("root")->as_string(), "org/big");
  const Json answer =
      engine.post("/v1/chat/completions", chat("hi", R"("max_tokens":1,"model":"alias")")).json();
  EXPECT_EQ(answer.find("model")->as_string(), "alias");
}

TEST(Engine, WarnsOnceOfFlagsWithoutMeaning) {
  TestEngine engine("--enforce-eager -tp 2 --enforce-eager");
  EXPECT_THAT(engine.log_text, HasSubstr("--enforce-eager --tensor-parallel-size"));
  EXPECT_EQ(engine.log_text.find("warn"), engine.log_text.rfind("warn"));
}

}  // namespace
}  // namespace fairlead::engine
