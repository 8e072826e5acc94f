// Embedding requests and answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/request.h"
#include "protocol/response.h"

namespace fairlead::protocol {
namespace {

using ::testing::HasSubstr;

EmbeddingRequest parsed(std::string_view body) {
  EmbeddingRequest request;
  const Refusal refusal = parse_embedding(body, request);
  EXPECT_FALSE(refusal.has_value()) << body << refusal->message;
  return request;
}

std::string refusal_of(std::string_view body) {
  EmbeddingRequest request;
  const Refusal refusal = parse_embedding(body, request);
  EXPECT_TRUE(refusal.has_value()) << body;
  EXPECT_EQ(refusal.value_or(ApiError{}).status, 400);
  return refusal ? refusal->message : "";
}

const std::vector<Prompt>& prompts(const EmbeddingRequest& request) {
  return std::get<std::vector<Prompt>>(request.input);
}

TEST(EmbeddingRequest, TakesInputInEveryForm) {
  EXPECT_EQ(prompts(parsed(R"({"input":"hi"})")), std::vector<Prompt>{"hi"});
  EXPECT_EQ(prompts(parsed(R"({"input":["a","b"]})")), (std::vector<Prompt>{"a", "b"}));
  EXPECT_EQ(prompts(parsed(R"({"input":[1,2]})")),
            (std::vector<Prompt>{std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(prompts(parsed(R"({"input":[[1],[2,3]]})")).size(), 2u);
  EXPECT_TRUE(prompts(parsed(R"({"input":[]})")).empty());
  const EmbeddingRequest chat = parsed(R"({"messages":[{"role":"user","content":"hi"}]})");
  const auto& conversation = std::get<Conversation>(chat.input);
  EXPECT_EQ(conversation.messages.at(0).content, "hi");
  EXPECT_FALSE(conversation.add_generation_prompt);
  EXPECT_FALSE(chat.add_special_tokens);
  EXPECT_TRUE(parsed(R"({"input":"hi"})").add_special_tokens);
}

TEST(EmbeddingRequest, ReadsTheEncoding) {
  EXPECT_EQ(parsed(R"({"input":"hi"})").encoding, EmbeddingEncoding::kFloat);
  EXPECT_EQ(parsed(R"({"input":"hi","encoding_format":"base64","endianness":"little"})").encoding,
            EmbeddingEncoding::kBase64);
  EXPECT_THAT(refusal_of(R"({"input":"hi","encoding_format":"hex"})"),
              HasSubstr("Input should be 'float', 'base64', 'bytes' or 'bytes_only'"));
  EXPECT_EQ(refusal_of(R"({"input":"hi","encoding_format":"bytes"})"),
            "encoding_format 'bytes' is not simulated");
  EXPECT_EQ(refusal_of(R"({"input":"hi","encoding_format":"base64","embed_dtype":"float16"})"),
            "embed_dtype 'float16' is not simulated");
  EXPECT_EQ(refusal_of(R"({"input":"hi","encoding_format":"base64","endianness":"big"})"),
            "endianness 'big' is not simulated");
}

TEST(EmbeddingRequest, WantsAnInput) {
  EXPECT_THAT(refusal_of("{}"), HasSubstr("'loc': ('body', 'input'), 'msg': 'Field required'"));
  EXPECT_THAT(refusal_of(R"({"input":5})"), HasSubstr("'loc': ('body', 'input', 'list[int]')"));
  EXPECT_THAT(refusal_of(R"({"input":"hi","cache_salt":""})"),
              HasSubstr("Parameter 'cache_salt' must be a non-empty string"));
}

TEST(EmbeddingRequest, OnlyMatryoshkaModelsShortenTheirs) {
  EngineLimits limits{.served_names = {"m"}, .embedding_size = 1024};
  EmbeddingRequest request = parsed(R"({"input":"hi"})");
  EXPECT_FALSE(check_embedding(request, limits));
  request.dimensions = 256;
  EXPECT_EQ(check_embedding(request, limits)->message,
            "Model \"m\" does not support matryoshka representation, changing output dimensions "
            "will lead to poor results.");
  limits.is_matryoshka = true;
  EXPECT_FALSE(check_embedding(request, limits));
  request.dimensions = 1024;
  EXPECT_FALSE(check_embedding(request, limits));
  request.dimensions = 1025;
  EXPECT_TRUE(check_embedding(request, limits));
  request.dimensions = 0;
  EXPECT_EQ(check_embedding(request, limits)->message, "Dimensions must be greater than 0");
  limits.matryoshka_dimensions = {128, 512};
  EXPECT_EQ(
      check_embedding(request, limits)->message,
      "Model \"m\" only supports [128, 512] matryoshka dimensions, use other output dimensions "
      "will lead to poor results.");
  request.dimensions = 512;
  EXPECT_FALSE(check_embedding(request, limits));
}

TEST(EmbeddingRequest, NeedsAtLeastOnePrompt) {
  const EngineLimits limits{.served_names = {"m"}};
  EXPECT_EQ(check_embedding(parsed(R"({"input":[]})"), limits)->message,
            "please provide at least one prompt");
  EXPECT_THAT(check_embedding(parsed(R"({"messages":[]})"), limits)->message,
              HasSubstr("empty conversation"));
}

TEST(EmbeddingAnswer, IsWrittenAsVllmDoes) {
  const std::vector<std::vector<float>> vectors = {{1.0F, -0.5F}, {0.25F, 0.0F}};
  std::string out;
  append_embeddings(out, {.id = "embd-1", .created = 7, .model = "m"}, vectors,
                    EmbeddingEncoding::kFloat, 5);
  EXPECT_EQ(out,
            R"({"id":"embd-1","object":"list","created":7,"model":"m","data":[{"index":0,"object":)"
            R"("embedding","embedding":[1.0,-0.5]},{"index":1,"object":"embedding","embedding":)"
            R"([0.25,0.0]}],"usage":{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0,)"
            R"("prompt_tokens_details":null}})");
  out.clear();
  append_embeddings(out, {.id = "embd-1", .created = 7, .model = "m"},
                    std::span(vectors).subspan(0, 1), EmbeddingEncoding::kBase64, 5);
  EXPECT_THAT(out, HasSubstr(R"("embedding":"AACAPwAAAL8="})")) << "float32, little endian";
}

}  // namespace
}  // namespace fairlead::protocol
