#include "router/inference_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::router {
namespace {

const Endpoint& kChat = find_endpoint("/v1/chat/completions");
const Endpoint& kCompletions = find_endpoint("/v1/completions");
const Endpoint& kSpeech = find_endpoint("/v1/audio/transcriptions");
constexpr std::string_view kJson = "application/json";

std::string sent(const InferenceRequest& request) {
  Pieces pieces;
  request.append_to(pieces);
  std::string all;
  for (const iovec& piece : pieces) all.append(static_cast<char*>(piece.iov_base), piece.iov_len);
  EXPECT_EQ(all.size(), request.length());
  return all;
}

// The field that the refusal names.
std::string refused(const Endpoint& endpoint, std::string_view body) {
  const auto error = InferenceRequest(endpoint, body).read(kJson);
  if (!error) return "nothing";
  EXPECT_GE(error->status, 400);
  return error->param.value_or("none");
}

std::vector<uint64_t> blocks(const Endpoint& endpoint, std::string_view body) {
  InferenceRequest request(endpoint, body);
  EXPECT_FALSE(request.read(kJson));
  cache_index::PrefixHasher hasher({.block_bytes = 16});
  const std::span<const uint64_t> found = request.blocks(hasher);
  return {found.begin(), found.end()};
}

TEST(InferenceRequest, IsReadFromABody) {
  const std::string body = R"({"model":"m\u0041","messages":[],"stream":true,"n":3})";
  InferenceRequest request(kChat, body);
  ASSERT_FALSE(request.read(kJson));
  EXPECT_EQ(request.model(), "mA");
  EXPECT_TRUE(request.streams());
  EXPECT_EQ(request.choices(), 3u);
  EXPECT_EQ(request.bytes(), body.size());
  EXPECT_EQ(request.tokens(), body.size() / 4);
  EXPECT_EQ(sent(request), body);
}

TEST(InferenceRequest, HasAtLeastOneChoice) {
  for (const char* body : {R"({"model":"m","prompt":""})", R"({"model":"m","prompt":"","n":-2})"}) {
    InferenceRequest request(kCompletions, body);
    ASSERT_FALSE(request.read(kJson));
    EXPECT_EQ(request.choices(), 1u) << body;
  }
}

TEST(InferenceRequest, RefusalsNameTheField) {
  EXPECT_EQ(refused(kChat, R"({"model":"m")"), "none");
  EXPECT_EQ(refused(kChat, R"({"messages":[]})"), "model");
  EXPECT_EQ(refused(kChat, R"({"model":"","messages":[]})"), "model");
  EXPECT_EQ(refused(kChat, R"({"model":7,"messages":[]})"), "model");
  EXPECT_EQ(refused(kChat, R"({"model":"m"})"), "messages");
  EXPECT_EQ(refused(kCompletions, R"({"model":"m"})"), "nothing") << "the engine's to refuse";
}

TEST(InferenceRequest, OfAFormNamesTheModelAndHasNoBlocks) {
  const std::string body =
      "--XX\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--XX--\r\n";
  InferenceRequest request(kSpeech, body);
  ASSERT_FALSE(request.read("multipart/form-data; boundary=XX"));
  EXPECT_EQ(request.model(), "whisper");
  cache_index::PrefixHasher hasher({.block_bytes = 16});
  EXPECT_TRUE(request.blocks(hasher).empty());
  EXPECT_FALSE(request.ask_usage());
  EXPECT_EQ(sent(request), body);
}

TEST(InferenceRequest, BlocksAreOfPromptModelAndSalt) {
  const std::string prompt = R"("prompt":"one and the same text of more than a block or two")";
  const auto plain = blocks(kCompletions, R"({"model":"m",)" + prompt + "}");
  ASSERT_GE(plain.size(), 3u);
  EXPECT_EQ(blocks(kCompletions, "{ " + prompt + R"(, "temperature":1, "model":"m"})"), plain);
  EXPECT_NE(blocks(kCompletions, R"({"model":"k",)" + prompt + "}"), plain);
  EXPECT_NE(blocks(kCompletions, R"({"model":"m","cache_salt":"s",)" + prompt + "}"), plain);
}

TEST(InferenceRequest, AsksStreamsForTheirUsage) {
  const auto asked = [](std::string_view body) {
    InferenceRequest request(kCompletions, body);
    EXPECT_FALSE(request.read(kJson));
    const bool changed = request.ask_usage();
    const std::string out = sent(request);
    EXPECT_EQ(changed, out != body);
    return out;
  };
  EXPECT_EQ(asked(R"({"model":"m","prompt":"p","stream":true})"),
            R"({"stream_options":{"include_usage":true},"model":"m","prompt":"p","stream":true})");
  for (const char* same :
       {R"({"model":"m","prompt":"p"})",
        R"({"model":"m","prompt":"p","stream":true,"stream_options":{"include_usage":true}})"}) {
    EXPECT_EQ(asked(same), same);
  }
}

}  // namespace
}  // namespace fairlead::router
