// LoRA adapters of an engine in virtual time: loaded, listed, used, unloaded.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace fairlead::engine {
namespace {

using codec::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Environment kRuntime{.runtime_lora_updating = true};

std::string ask_adapter(const std::string& model, const std::string& more = R"("max_tokens":4)") {
  return fmt::format(R"({{"model":"{}","messages":[{{"role":"user","content":"hi"}}],{}}})", model,
                     more);
}

std::string content(const TestAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  return json.find("choices")->items()[0].find("message")->find("content")->as_string();
}

std::vector<std::string> models(TestEngine& engine) {
  std::vector<std::string> ids;
  const Json json = engine.get("/v1/models").json();
  for (const Json& card : json.find("data")->items()) ids.push_back(card.find("id")->as_string());
  return ids;
}

std::string load(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({{"lora_name":"{}","lora_path":"/adapters/{}"{}}})", name, name, more);
}

TEST(EngineLora, LoadsListsAndUnloads) {
  TestEngine engine("--enable-lora --served-model-name base other", kRuntime);
  const TestAnswer added = engine.post("/v1/load_lora_adapter", load("sql"));
  EXPECT_EQ(added.status, 200);
  EXPECT_EQ(added.body, "Success: LoRA adapter 'sql' added successfully.");
  EXPECT_THAT(models(engine), ElementsAre("base", "other", "sql"));
  const Json list = engine.get("/v1/models").json();
  const Json& card = list.find("data")->items()[2];
  EXPECT_EQ(card.find("root")->as_string(), "/adapters/sql");
  EXPECT_EQ(card.find("parent")->as_string(), "base");
  EXPECT_TRUE(card.find("max_model_len")->is_null());

  const TestAnswer answer = engine.post("/v1/chat/completions", ask_adapter("sql"));
  EXPECT_EQ(answer.json().find("model")->as_string(), "sql");
  EXPECT_NE(content(answer), content(engine.post("/v1/chat/completions", ask_adapter("base"))));

  const TestAnswer removed = engine.post("/v1/unload_lora_adapter", R"({"lora_name":"sql"})");
  EXPECT_EQ(removed.status, 200);
  EXPECT_EQ(removed.body, "Success: LoRA adapter 'sql' removed successfully.");
  EXPECT_THAT(models(engine), ElementsAre("base", "other"));
  const TestAnswer gone = engine.post("/v1/chat/completions", ask_adapter("sql"));
  EXPECT_EQ(gone.status, 404);
  EXPECT_THAT(gone.body, HasSubstr("The model `sql` does not exist."));
}

TEST(EngineLora, RefusesWhatVllmRefuses) {
  TestEngine engine("--enable-lora", kRuntime);
  engine.post("/v1/load_lora_adapter", load("sql"));
  const TestAnswer twice = engine.post("/v1/load_lora_adapter", load("sql"));
  EXPECT_EQ(twice.status, 400);
  EXPECT_THAT(twice.body, HasSubstr("has already been loaded"));
  EXPECT_THAT(twice.body, HasSubstr("InvalidUserInput"));
  EXPECT_EQ(engine.post("/v1/load_lora_adapter", load("sql", R"(,"load_inplace":true)")).status,
            200);
  const TestAnswer unknown = engine.post("/v1/unload_lora_adapter", R"({"lora_name":"poet"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("The lora adapter 'poet' cannot be found."));
  EXPECT_EQ(engine.post("/v1/load_lora_adapter", "{}").status, 400);
  EXPECT_EQ(engine.ask({.path = "/v1/load_lora_adapter", .body = load("x"), .fields = ""}).status,
            400);
  EXPECT_EQ(engine.get("/v1/load_lora_adapter").status, 405);
}

TEST(EngineLora, NeedsItsFlagAndItsEnvironment) {
  TestEngine without_environment("--enable-lora --lora-modules sql=/a");
  EXPECT_EQ(without_environment.post("/v1/load_lora_adapter", load("poet")).status, 404);
  EXPECT_EQ(without_environment.post("/v1/unload_lora_adapter", R"({"lora_name":"sql"})").status,
            404);
  EXPECT_EQ(content(without_environment.post("/v1/chat/completions", ask_adapter("sql"))).empty(),
            false);
  TestEngine without_flag("", kRuntime);
  const TestAnswer answer = without_flag.post("/v1/load_lora_adapter", load("sql"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("LoRA is not enabled. Use --enable-lora to enable LoRA."));
  EXPECT_EQ(without_flag.metric("vllm:lora_requests_info"), -1);
}

TEST(EngineLora, HoldsSoManyAndNoMore) {
  TestEngine engine("--enable-lora", kRuntime);
  for (size_t i = 0; i < kAdaptersMax; ++i) {
    ASSERT_EQ(engine.post("/v1/load_lora_adapter", load(fmt::format("a{}", i))).status, 200);
  }
  EXPECT_EQ(engine.post("/v1/load_lora_adapter", load("more")).status, 400);
  EXPECT_EQ(engine.post("/v1/load_lora_adapter", load("a0", R"(,"load_inplace":true)")).status,
            200);
  engine.post("/v1/unload_lora_adapter", R"({"lora_name":"a1"})");
  EXPECT_EQ(engine.post("/v1/load_lora_adapter", load("more")).status, 200);
}

TEST(EngineLora, AdaptersHaveCachesOfTheirOwn) {
  TestEngine engine("--enable-prompt-tokens-details --enable-lora --lora-modules sql=/a poet=/b");
  const auto cached = [&](const std::string& model) {
    const Json answer =
        engine
            .post("/v1/completions",
                  fmt::format(R"({{"model":"{}","max_tokens":1,"prompt":[1,2,3,4,5,6,7,8,9,10,11,)"
                              R"(12,13,14,15,16,17]}})",
                              model))
            .json();
    const Json* details = answer.find("usage")->find("prompt_tokens_details");
    return details->is_null() ? 0 : details->find("cached_tokens")->as_int();
  };
  for (const char* model : {"Qwen/Qwen3-0.6B", "sql", "poet"}) {
    EXPECT_EQ(cached(model), 0) << model;
    EXPECT_EQ(cached(model), 16) << model;
  }
}

TEST(EngineLora, AsManyAdaptersRunAtATimeAsThereAreSeats) {
  TestEngine engine("--enable-lora --max-loras 1 --lora-modules sql=/a poet=/b");
  const std::string deferred =
      "vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"Qwen/Qwen3-0.6B\","
      "reason=\"deferred\"}";
  std::vector<TestAnswer> answers = engine.ask_all(
      {{.path = "/v1/chat/completions",
        .body = ask_adapter("sql", R"("max_tokens":100,"stream":true)")},
       {.path = "/v1/chat/completions",
        .body = ask_adapter("poet", R"("max_tokens":100,"stream":true)")},
       {.path = "/v1/chat/completions",
        .body = ask_adapter("Qwen/Qwen3-0.6B", R"("max_tokens":100,"stream":true)")}});
  EXPECT_GT(answers[1].pieces.front(), answers[0].pieces.back()) << "after the first adapter";
  EXPECT_LT(answers[2].pieces.front(), answers[0].pieces.back()) << "beside it";
  EXPECT_EQ(engine.metric(deferred), 0);
  EXPECT_THAT(engine.get("/metrics").body,
              HasSubstr("vllm:lora_requests_info{max_lora=\"1\",running_lora_adapters=\"poet,sql\","
                        "waiting_lora_adapters=\"poet,sql\"}"));
}

TEST(EngineLora, RequestsOutliveTheirAdapter) {
  TestEngine engine("--enable-lora --lora-modules sql=/a", kRuntime);
  const std::vector<TestAnswer> answers = engine.ask_all(
      {{.path = "/v1/chat/completions", .body = ask_adapter("sql", R"("max_tokens":50)")},
       {.path = "/v1/unload_lora_adapter", .body = R"({"lora_name":"sql"})"}});
  EXPECT_FALSE(content(answers[0]).empty());
  EXPECT_EQ(answers[1].status, 200);
}

}  // namespace
}  // namespace fairlead::engine
