// /v1/embeddings in virtual time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace fairlead::engine {
namespace {

using codec::Json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kPath = "/v1/embeddings";

class EngineEmbedding : public ::testing::Test {
 protected:
  TestAnswer ask(const std::string& body) { return engine_.post(std::string(kPath), body); }
  std::string message(const std::string& body) {
    return ask(body).json().find("error")->find("message")->as_string();
  }
  TestEngine engine_{"--runner pooling --max-model-len 64 --sim-embedding-size 8"};
};

TEST_F(EngineEmbedding, AnswersOneForEachInput) {
  const TestAnswer answer = ask(R"({"input":["hello","hello","other words"]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_THAT(json.find("id")->as_string(), StartsWith("embd-"));
  const auto data = json.find("data")->items();
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data[2].find("index")->as_int(), 2);
  EXPECT_EQ(data[0].find("embedding")->items().size(), 8u);
  EXPECT_EQ(*data[0].find("embedding"), *data[1].find("embedding"));
  EXPECT_FALSE(*data[0].find("embedding") == *data[2].find("embedding"));
  const Json one = ask(R"({"input":"hello"})").json();
  const int64_t hello = one.find("usage")->find("prompt_tokens")->as_int();
  EXPECT_GT(json.find("usage")->find("prompt_tokens")->as_int(), 2 * hello);
  EXPECT_EQ(one.find("usage")->find("completion_tokens")->as_int(), 0);
}

TEST_F(EngineEmbedding, TakesTokensAndConversations) {
  EXPECT_EQ(ask(R"({"input":[1,2,3]})").json().find("usage")->find("total_tokens")->as_int(), 3);
  EXPECT_EQ(ask(R"({"messages":[{"role":"user","content":"hi"}]})").status, 200);
  const TestAnswer named = engine_.ask({.path = std::string(kPath),
                                        .body = R"({"input":"hi","encoding_format":"base64"})",
                                        .fields = "Content-Type: application/json\r\n"
                                                  "X-Request-Id: mine\r\n"});
  EXPECT_THAT(named.body, StartsWith(R"({"id":"embd-mine","object":"list",)"));
  EXPECT_EQ(named.json().find("data")->items()[0].find("embedding")->as_string().size(), 44u);
}

TEST_F(EngineEmbedding, RefusesWhatDoesNotFit) {
  std::string ids = "1";
  for (int i = 0; i < 63; ++i) ids += ",1";
  EXPECT_EQ(ask(fmt::format(R"({{"input":[{}]}})", ids)).status, 200);
  EXPECT_THAT(message(fmt::format(R"({{"input":[{},1]}})", ids)),
              HasSubstr("This model's maximum context length is 64 tokens"));
  EXPECT_EQ(ask(fmt::format(R"({{"input":[{},1],"truncate_prompt_tokens":-1}})", ids)).status, 200);
  EXPECT_EQ(ask(R"({"input":"hi","model":"nope"})").status, 404);
  EXPECT_THAT(message(R"({"input":"hi","dimensions":4})"), HasSubstr("matryoshka"));
  EXPECT_EQ(ask(R"({"input":[]})").status, 400);
  std::string inputs = R"("a")";
  for (size_t i = 1; i < kEmbeddingInputsMax; ++i) inputs += R"(,"a")";
  EXPECT_EQ(ask(fmt::format(R"({{"input":[{}]}})", inputs)).status, 200);
  EXPECT_EQ(ask(fmt::format(R"({{"input":[{},"a"]}})", inputs)).status, 400);
}

TEST_F(EngineEmbedding, APoolingModelGeneratesNothing) {
  EXPECT_EQ(engine_.post("/v1/chat/completions", "{}").status, 404);
  EXPECT_EQ(engine_.post("/v1/completions", "{}").body, R"({"detail":"Not Found"})");
  TestEngine generating("");
  EXPECT_EQ(generating.post(std::string(kPath), R"({"input":"hi"})").body,
            R"({"detail":"Not Found"})");
}

TEST_F(EngineEmbedding, CountsPromptsAndNoOutput) {
  ask(R"({"input":[[1,2,3],[4,5]]})");
  const std::string labels = "{engine=\"0\",model_name=\"Qwen/Qwen3-0.6B\"";
  EXPECT_EQ(engine_.metric("vllm:prompt_tokens_total" + labels), 5);
  EXPECT_EQ(engine_.metric("vllm:generation_tokens_total" + labels), 0);
  EXPECT_EQ(engine_.metric("vllm:request_success_total{engine=\"0\",finished_reason=\"stop\""), 2);
  EXPECT_EQ(engine_.metric("vllm:request_params_max_tokens_count" + labels), 0);
  EXPECT_EQ(engine_.metric("http_requests_total{handler=\"/v1/embeddings\""), 1);
}

TEST_F(EngineEmbedding, TakesTheTimeOfItsPrompt) {
  TestEngine slow("--runner pooling --sim-slow-factor 1000");
  const base::TimePoint start = slow.now();
  EXPECT_EQ(slow.post(std::string(kPath), R"({"input":[1,2,3]})").status, 200);
  EXPECT_GT(slow.now() - start, std::chrono::seconds(5));
}

TEST(EngineEmbeddingShape, MatryoshkaModelsShorten) {
  TestEngine engine(R"(--runner pooling --hf-overrides {"is_matryoshka":true})");
  const Json json = engine.post(std::string(kPath), R"({"input":"hi","dimensions":100})").json();
  EXPECT_EQ(json.find("data")->items()[0].find("embedding")->items().size(), 100u);
}

}  // namespace
}  // namespace fairlead::engine
