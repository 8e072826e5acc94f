// One embedding request from its tokens to its answer: one job a prompt. Destroying it takes the
// jobs out of the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/call.h"
#include "engine/context.h"
#include "net/http_server.h"

namespace fairlead::engine {

class EmbeddingCall final : private JobOwner {
 public:
  // `request` outlives the call.
  EmbeddingCall(Context& context, const protocol::EmbeddingRequest& request, std::string id);

  // Puts one job for each prompt into the model.
  protocol::Refusal submit(std::vector<std::vector<protocol::TokenId>> prompts);
  // Ended when the last prompt is computed; false if the client left before.
  rt::Task<bool> computed();
  // The whole answer, or the error if the engine has aborted the jobs.
  protocol::Refusal append_answer(std::string& out) const;

 private:
  void on_news(Job& job) override;

  Context& context_;
  const protocol::EmbeddingRequest& request_;
  const protocol::AnswerHead head_;
  std::vector<std::vector<protocol::TokenId>> prompts_;
  std::vector<std::unique_ptr<Job>> jobs_;
  size_t unfinished_ = 0;
  rt::WaitList changed_;
};

}  // namespace fairlead::engine
