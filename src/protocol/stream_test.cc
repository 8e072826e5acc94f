#include "protocol/stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/response.h"

namespace fairlead::protocol {
namespace {

const AnswerHead kHead{.id = "chatcmpl-1", .created = 7, .model = "a \"model\""};
const std::string kChat =
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":7,"
    "\"model\":\"a \\\"model\\\"\",\"choices\":[";
const std::string kCompletion =
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"text_completion\",\"created\":7,"
    "\"model\":\"a \\\"model\\\"\",\"choices\":[";

std::string event(const auto& write) {
  std::string out;
  write(out);
  return out;
}

TEST(ChatStream, EscapesTextAndNumbersChoices) {
  const ChatStream stream(kHead);
  EXPECT_EQ(event([&](auto& out) { stream.delta(out, {.index = 12, .text = "\"\n\x01é"}); }),
            kChat +
                "{\"index\":12,\"delta\":{\"content\":\"\\\"\\n\\u0001é\"},\"logprobs\":null,"
                "\"finish_reason\":null,\"token_ids\":null}]}\n\n");
}

TEST(ChatStream, CarriesTokenIdsAndStopReasons) {
  const ChatStream stream(kHead);
  const std::vector<TokenId> ids = {1, 22};
  EXPECT_EQ(event([&](auto& out) { stream.role(out, 0, {.prompt_token_ids = ids}); }),
            kChat +
                "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                "\"logprobs\":null,\"finish_reason\":null}],\"prompt_token_ids\":[1,22]}\n\n");
  const auto stopped = [&](StopReason reason) {
    return event([&](auto& out) {
      stream.delta(out, {.finish = Finish{FinishReason::kStop, reason}, .token_ids = ids});
    });
  };
  const std::string start = kChat +
                            "{\"index\":0,\"delta\":{\"content\":\"\"},\"logprobs\":null,"
                            "\"finish_reason\":\"stop\",\"stop_reason\":";
  EXPECT_EQ(stopped("E\"D"), start + "\"E\\\"D\",\"token_ids\":[1,22]}]}\n\n");
  EXPECT_EQ(stopped(int64_t{258}), start + "258,\"token_ids\":[1,22]}]}\n\n");
}

TEST(ChatStream, StreamsToolCalls) {
  const ChatStream stream(kHead);
  EXPECT_EQ(event([&](auto& out) {
              stream.tool_call(out, 0, 1, {"call-1", "f", "ignored"});
            }),
            kChat +
                "{\"index\":0,\"delta\":{\"tool_calls\":[{\"id\":\"call-1\","
                "\"type\":\"function\",\"index\":1,\"function\":{\"name\":\"f\","
                "\"arguments\":\"\"}}]},\"logprobs\":null,\"finish_reason\":null,"
                "\"token_ids\":null}]}\n\n");
  EXPECT_EQ(event([&](auto& out) { stream.tool_arguments(out, 0, 1, "{\"a\":"); }),
            kChat +
                "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":"
                "{\"arguments\":\"{\\\"a\\\":\"}}]},\"logprobs\":null,"
                "\"finish_reason\":null,\"token_ids\":null}]}\n\n");
  EXPECT_EQ(event([&](auto& out) { stream.finish(out, 0, {FinishReason::kToolCalls}); }),
            kChat +
                "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"tool_calls\","
                "\"stop_reason\":null,\"token_ids\":null}]}\n\n");
}

TEST(ChatStream, CarriesLogprobs) {
  const ChatStream stream(kHead);
  const std::vector<TokenLogprob> tokens = {{{"é", -0.5}, {{"é", -0.5}, {"x", -2}}}};
  EXPECT_EQ(event([&](auto& out) { stream.delta(out, {.text = "é", .logprobs = tokens}); }),
            kChat +
                "{\"index\":0,\"delta\":{\"content\":\"é\"},\"logprobs\":{\"content\":[{"
                "\"token\":\"é\",\"logprob\":-0.5,\"bytes\":[195,169],\"top_logprobs\":[{"
                "\"token\":\"é\",\"logprob\":-0.5,\"bytes\":[195,169]},{\"token\":\"x\","
                "\"logprob\":-2.0,\"bytes\":[120]}]}]},\"finish_reason\":null,"
                "\"token_ids\":null}]}\n\n");
}

TEST(CompletionStream, CarriesUsageIdsAndLogprobs) {
  const CompletionStream stream(kHead);
  const std::vector<TokenId> prompt = {5}, ids = {6, 7};
  const std::vector<TokenLogprob> tokens = {{{"éa", -1}, {{"éa", -1}}}, {{"b", -2}, {}}};
  EXPECT_EQ(event([&](auto& out) {
              stream.delta(out, {.index = 1,
                                 .text = "éab",
                                 .finish = Finish{FinishReason::kLength},
                                 .usage = Usage{.prompt_tokens = 3, .completion_tokens = 2},
                                 .token_ids = ids,
                                 .logprobs = tokens,
                                 .prompt_token_ids = prompt,
                                 .text_offset = 10});
            }),
            kCompletion +
                "{\"index\":1,\"text\":\"éab\",\"logprobs\":{\"text_offset\":[10,12],"
                "\"token_logprobs\":[-1.0,-2.0],\"tokens\":[\"éa\",\"b\"],"
                "\"top_logprobs\":[{\"éa\":-1.0},{}]},\"finish_reason\":\"length\","
                "\"stop_reason\":null,\"prompt_token_ids\":[5],\"token_ids\":[6,7]}],\"usage\":{"
                "\"prompt_tokens\":3,\"total_tokens\":5,\"completion_tokens\":2,"
                "\"prompt_tokens_details\":null}}\n\n");
  EXPECT_EQ(event([&](auto& out) {
              stream.usage(out, {.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = 2});
            }),
            kCompletion +
                "],\"usage\":{\"prompt_tokens\":3,\"total_tokens\":5,\"completion_tokens\":2,"
                "\"prompt_tokens_details\":{\"cached_tokens\":2}}}\n\n");
}

TEST(ChatCompletion, HasNoContentWhereThereAreOnlyToolCalls) {
  std::string out;
  Answer answer{.head = kHead, .choices = {}, .usage = {}, .kv_transfer_params = {}};
  answer.choices.push_back({.text = "",
                            .finish = {FinishReason::kToolCalls},
                            .tool_calls = {{"call-1", "f", "{\"a\":1}"}}});
  append_chat_completion(out, answer);
  EXPECT_NE(out.find("\"content\":null,"), std::string::npos) << out;
  EXPECT_NE(out.find("\"tool_calls\":[{\"id\":\"call-1\",\"type\":\"function\",\"function\":{"
                     "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}],\"reasoning\":null}"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("\"finish_reason\":\"tool_calls\""), std::string::npos) << out;
}

TEST(ChatCompletion, HandsKvTransferParametersOn) {
  std::string out;
  append_chat_completion(
      out, {.head = kHead,
            .choices = {},
            .usage = {},
            .kv_transfer_params = *codec::parse_json("{\"remote_port\":5600,\"z\":[1.0]}")});
  EXPECT_TRUE(out.ends_with("\"kv_transfer_params\":{\"remote_port\":5600,\"z\":[1.0]}}")) << out;
}

}  // namespace
}  // namespace fairlead::protocol
