// Chunks of streamed answers, as server-sent events, byte for byte as vLLM 0.20 writes them.
//
//   ChatStream stream({.id = "chatcmpl-7", .created = now, .model = "m"});
//   stream.role(out, 0, {});                         // once a choice, with its first token
//   stream.delta(out, {.index = 0, .text = "Hel"});
//   stream.delta(out, {.index = 0, .text = "lo", .finish = Finish{FinishReason::kLength}});
//   stream.usage(out, usage);                        // if asked for
//   append_done(out);
//
// What does not change within a stream is built once, so that a token costs three copies and one
// escape. Everything appends to `out`. One stream, one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/answer.h"

namespace fairlead::protocol {

// One step of one choice.
struct Delta {
  uint32_t index = 0;
  std::string_view text{};
  std::optional<Finish> finish{};
  std::optional<Usage> usage{};                             // with continuous_usage_stats
  std::optional<std::span<const TokenId>> token_ids{};      // with return_token_ids
  std::optional<std::span<const TokenLogprob>> logprobs{};  // if asked for
  // Completions only: with return_token_ids, the first chunk of a choice.
  std::optional<std::span<const TokenId>> prompt_token_ids{};
  size_t text_offset = 0;  // completions with log probabilities: characters of the text so far
};

class ChatStream {
 public:
  explicit ChatStream(const AnswerHead& head);

  struct Role {
    std::optional<Usage> usage{};
    std::optional<std::span<const TokenId>> prompt_token_ids{};
  };
  // {"role":"assistant","content":""}
  void role(std::string& out, uint32_t index, const Role& role) const;
  // {"content":text}
  void delta(std::string& out, const Delta& delta) const;
  // The beginning of a call of a tool: id, name and empty arguments.
  void tool_call(std::string& out, uint32_t index, uint32_t call, const ToolCall& tool) const;
  // More of the arguments' text.
  void tool_arguments(std::string& out, uint32_t index, uint32_t call,
                      std::string_view arguments) const;
  // An empty delta that ends a choice of tool calls.
  void finish(std::string& out, uint32_t index, const Finish& finish,
              const std::optional<Usage>& usage = {}) const;
  void usage(std::string& out, const Usage& usage) const;

 private:
  void begin(std::string& out, uint32_t index) const;
  // From the logprobs on to the end of the event.
  void end(std::string& out, const Delta& delta) const;

  std::string prefix_;  // up to `"choices":[`
};

class CompletionStream {
 public:
  explicit CompletionStream(const AnswerHead& head);
  void delta(std::string& out, const Delta& delta) const;
  void usage(std::string& out, const Usage& usage) const;

 private:
  std::string prefix_;
};

// "data: [DONE]\n\n"
void append_done(std::string& out);

}  // namespace fairlead::protocol
