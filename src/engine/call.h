// One chat or completion request from its tokens to its answer: the jobs of its choices, and the
// answer whole or as a stream. Destroying it takes the jobs out of the model, so a client that
// leaves frees its seats and blocks at the next step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/tools.h"
#include "net/http_server.h"
#include "protocol/response.h"
#include "protocol/stream.h"

namespace fairlead::engine {

enum class CallKind : uint8_t { kChat, kCompletion };

struct CallPrompt {
  std::vector<protocol::TokenId> tokens;
  std::string echo;  // text that the answer begins with
};

class Call final : private JobOwner {
 public:
  // `request` outlives the call.
  Call(Context& context, CallKind kind, const protocol::GenerateRequest& request,
       std::optional<ToolPlan> tool, std::string id);

  // Puts one job for each prompt and choice into the model.
  protocol::Refusal submit(std::vector<CallPrompt> prompts);

  // Both answer `exchange`, or leave it unanswered when the client has gone or a fault says so.
  // Status and body size of the answer, for metrics.
  struct Outcome {
    int status = 499;
    size_t bytes = 0;
  };
  rt::Task<Outcome> answer_whole(net::Exchange& exchange, std::string_view extra_fields);
  rt::Task<Outcome> answer_stream(net::Exchange& exchange, std::string_view extra_fields);

 private:
  struct Choice {
    std::unique_ptr<Job> job;
    size_t prompt = 0;
    bool began = false;
    bool tool_began = false;
    size_t tokens_sent = 0;
    size_t characters_sent = 0;
  };

  Plan plan_for(const std::vector<protocol::TokenId>& prompt, uint32_t choice) const;
  void on_news(Job& job) override;
  // Sends what is in out_ at once, as far as the client takes it.
  void flush();
  protocol::Finish finish_of(const Choice& choice) const;
  protocol::Usage usage() const;
  std::optional<protocol::Usage> continuous_usage(const Choice& choice, int64_t tokens) const;
  std::vector<protocol::TokenLogprob> logprobs(std::span<const protocol::TokenId> tokens) const;
  protocol::Choice whole_choice(const Choice& choice) const;

  void append_chunk(Choice& choice);
  void append_roles();
  void append_text(Choice& choice);
  void append_tool(Choice& choice);
  void append_end();
  void record_request() const;

  // What every token of a stream touches comes first.
  std::string out_;
  net::ByteStream* stream_ = nullptr;
  bool blocked_ = true;  // out_ waits for the task, which writes what did not go at once
  bool broken_ = false;  // the connection is gone, or a fault has reset it
  bool chunked_ = true;
  bool roles_sent_ = false;
  uint32_t chunks_ = 0;
  size_t unfinished_ = 0;
  std::vector<Choice> choices_;
  std::optional<protocol::ChatStream> chat_;
  std::optional<protocol::CompletionStream> completion_;
  rt::WaitList changed_;

  Context& context_;
  const CallKind kind_;
  const protocol::GenerateRequest& request_;
  const std::optional<ToolPlan> tool_;
  const std::shared_ptr<const Adapter> adapter_;
  const protocol::AnswerHead head_;
  const std::string tool_call_id_;
  const bool include_usage_;
  std::vector<CallPrompt> prompts_;
};

}  // namespace fairlead::engine
