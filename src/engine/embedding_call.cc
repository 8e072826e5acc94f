#include "engine/embedding_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/embedding.h"

namespace fairlead::engine {

EmbeddingCall::EmbeddingCall(Context& context, const protocol::EmbeddingRequest& request,
                             std::string id)
    : context_(context), request_(request), head_(context.head(std::move(id), request.model)) {}

protocol::Refusal EmbeddingCall::submit(std::vector<std::vector<protocol::TokenId>> prompts) {
  prompts_ = std::move(prompts);
  if (prompts_.size() > kEmbeddingInputsMax) {
    return protocol::engine_error(400, fmt::format("at most {} inputs a request, got {}",
                                                   kEmbeddingInputsMax, prompts_.size()));
  }
  const std::shared_ptr<const Adapter> adapter = context_.adapter_of(request_.model);
  const uint64_t cache_seed = context_.cache_seed(adapter.get(), request_.cache_salt);
  unfinished_ = prompts_.size();
  for (const std::vector<protocol::TokenId>& prompt : prompts_) {
    jobs_.push_back(std::make_unique<Job>(context_.core, context_.tokenizer, Plan{}));
    auto added = context_.core.submit(*jobs_.back(), {.prompt = prompt,
                                                      .pooling = true,
                                                      .cache_seed = cache_seed,
                                                      .adapter = adapter,
                                                      .owner = this});
    if (!added) return protocol::engine_error(400, added.error().describe());
  }
  return std::nullopt;
}

void EmbeddingCall::on_news(Job& job) {
  if (job.ended()) --unfinished_;
  if (unfinished_ == 0) changed_.notify_all();
}

rt::Task<bool> EmbeddingCall::computed() {
  while (unfinished_ > 0) {
    const rt::WaitStatus status = co_await changed_.wait();
    if (status != rt::WaitStatus::kReady) co_return false;
  }
  co_return true;
}

protocol::Refusal EmbeddingCall::append_answer(std::string& out) const {
  if (std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->aborted; })) {
    return protocol::engine_error(500, "Internal server error");
  }
  const auto size = static_cast<size_t>(context_.limits.embedding_size);
  const auto dimensions =
      static_cast<size_t>(request_.dimensions.value_or(context_.limits.embedding_size));
  std::vector<std::vector<float>> embeddings;
  int64_t tokens = 0;
  for (const std::vector<protocol::TokenId>& prompt : prompts_) {
    embeddings.push_back(embed(prompt, {.size = size, .dimensions = dimensions}));
    tokens += static_cast<int64_t>(prompt.size());
  }
  append_embeddings(out, head_, embeddings, request_.encoding, tokens);
  return std::nullopt;
}

}  // namespace fairlead::engine
