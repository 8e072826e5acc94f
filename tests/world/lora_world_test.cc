// LoRA adapters behind a router: requests go to the replicas that list their adapter. Embeddings
// too.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "engine_world.h"

namespace fairlead {
namespace {

using router::Reply;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kFields = "Content-Type: application/json\r\nx-fairlead-explain: 1\r\n";
const engine::Environment kRuntimeLora{.runtime_lora_updating = true};
// As long as a router may take to notice that a replica lists other models.
constexpr base::Nanos kNoticed = seconds(11);

class LoraWorld : public EngineWorld {
 protected:
  const Reply& ask_model(const std::string& model, const std::string& text = "hi") {
    return ask(
        {.body = fmt::format(R"({{"model":"{}","messages":[{{"role":"user","content":"{}"}}],)"
                             R"("max_tokens":2}})",
                             model, text),
         .fields = kFields});
  }
  // Where so many requests for it went, in all.
  std::set<std::string> replicas_of(const std::string& model) {
    std::set<std::string> replicas;
    for (int i = 0; i < 12; ++i) {
      const Reply& reply = ask_model(model, std::to_string(i));
      EXPECT_EQ(reply.status, 200) << reply.body;
      const auto why = codec::parse_json(reply.field("x-fairlead-explain"));
      replicas.insert(why ? why->find("replica")->as_string() : "");
    }
    return replicas;
  }
  static std::string name(int n) { return fmt::format("10.0.0.{}:8000", n); }
};

TEST_F(LoraWorld, RequestsGoWhereTheirAdapterIs) {
  add_engine(1, "--enable-lora --lora-modules sql=/a");
  add_engine(2, "--enable-lora --lora-modules sql=/a poet=/b");
  add_engine(3, "");
  start_router({.policy = "round-robin", .allow_explain = true});
  EXPECT_THAT(replicas_of("sql"), UnorderedElementsAre(name(1), name(2)));
  EXPECT_THAT(replicas_of("poet"), UnorderedElementsAre(name(2)));
  EXPECT_THAT(replicas_of("llama"), UnorderedElementsAre(name(1), name(2), name(3)));
  const std::string list = ask({.path = "/v1/models", .method = "GET"}).body;
  for (const char* id : {"llama", "sql", "poet"}) {
    EXPECT_THAT(list, HasSubstr(fmt::format(R"("id":"{}")", id)));
  }
  EXPECT_THAT(list, HasSubstr(R"("parent":"llama")"));
  expect_nothing_left();
}

TEST_F(LoraWorld, AdaptersComeAndGoWhileRequestsRun) {
  for (int n = 1; n <= 2; ++n) add_engine(n, "--enable-lora", kRuntimeLora);
  start_router({.policy = "prefix-cache", .allow_explain = true});
  EXPECT_EQ(ask_model("sql").status, 404);
  const std::string load = R"({"lora_name":"sql","lora_path":"/a"})";
  post_to_engine(2, "/v1/load_lora_adapter", load);
  run_for(kNoticed);
  EXPECT_THAT(replicas_of("sql"), UnorderedElementsAre(name(2)));
  post_to_engine(1, "/v1/load_lora_adapter", load);
  post_to_engine(2, "/v1/unload_lora_adapter", R"({"lora_name":"sql"})");
  run_for(kNoticed);
  EXPECT_THAT(replicas_of("sql"), UnorderedElementsAre(name(1)));
  post_to_engine(1, "/v1/unload_lora_adapter", R"({"lora_name":"sql"})");
  run_for(kNoticed);
  const Reply& gone = ask_model("sql");
  EXPECT_EQ(gone.status, 404);
  EXPECT_THAT(gone.body, HasSubstr("model_not_found"));
  expect_nothing_left();
}

TEST_F(LoraWorld, AdaptersAreNotTakenForEachOther) {
  add_engine(1, "--enable-lora --lora-modules sql=/a poet=/b");
  start_router({.policy = "prefix-cache"});
  const Reply& sql = ask_model("sql");
  const Reply& poet = ask_model("poet");
  EXPECT_THAT(sql.body, HasSubstr(R"("model":"sql")"));
  EXPECT_THAT(poet.body, HasSubstr(R"("model":"poet")"));
  const auto content = [](const Reply& reply) {
    return codec::to_string(*codec::parse_json(reply.body)->find("choices"));
  };
  EXPECT_NE(content(sql), content(poet));
}

TEST_F(LoraWorld, EmbeddingsGoToTheModelThatMakesThem) {
  add_engine(1, "--served-model-name embedder --runner pooling --sim-embedding-size 4");
  add_engine(2, "");
  start_router({.policy = "round-robin", .allow_explain = true});
  for (int i = 0; i < 4; ++i) {
    const Reply& reply = ask({.body = R"({"model":"embedder","input":["a","b"]})",
                              .path = "/v1/embeddings",
                              .fields = kFields});
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(codec::parse_json(reply.body)->find("data")->items().size(), 2U);
    EXPECT_THAT(reply.field("x-fairlead-explain"), HasSubstr(name(1)));
  }
  expect_nothing_left();
}

}  // namespace
}  // namespace fairlead
