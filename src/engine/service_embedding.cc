// POST /v1/embeddings.
#include <fmt/format.h>

#include "engine/embedding_call.h"
#include "engine/service.h"
#include "protocol/chat_template.h"

namespace fairlead::engine {

using protocol::TokenId;

protocol::Refusal Service::embedding_prompts(const protocol::EmbeddingRequest& request,
                                             std::vector<std::vector<TokenId>>& prompts) const {
  if (const auto* conversation = std::get_if<protocol::Conversation>(&request.input)) {
    context_.tokenizer.encode(render_chat(*conversation), prompts.emplace_back());
  } else {
    for (const protocol::Prompt& prompt : std::get<std::vector<protocol::Prompt>>(request.input)) {
      std::vector<TokenId>& tokens = prompts.emplace_back();
      if (const auto* text = std::get_if<std::string>(&prompt)) {
        context_.tokenizer.encode(*text, tokens);
      } else {
        tokens = std::get<std::vector<TokenId>>(prompt);
      }
    }
  }
  for (std::vector<TokenId>& tokens : prompts) {
    if (auto refused = check_prompt(request, context_.limits, tokens)) return refused;
  }
  return std::nullopt;
}

rt::Task<Call::Outcome> Service::embeddings(net::Exchange& exchange) {
  if (std::optional<protocol::ApiError> error = injected_error()) {
    co_return co_await send(exchange, error_reply(*error));
  }
  protocol::EmbeddingRequest request;
  std::vector<std::vector<TokenId>> prompts;
  protocol::Refusal refused = parse_embedding(exchange.body(), request);
  if (!refused) refused = check_model(request.model);
  if (!refused) refused = check_embedding(request, context_.limits);
  if (!refused) refused = embedding_prompts(request, prompts);
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  const std::string request_id(exchange.request().value("x-request-id"));
  EmbeddingCall call(context_, request,
                     fmt::format("embd-{}", !request_id.empty()           ? request_id
                                            : !request.request_id.empty() ? request.request_id
                                                                          : context_.random_id()));
  refused = call.submit(std::move(prompts));
  if (refused) co_return co_await send(exchange, error_reply(*refused));
  ++active_;
  const bool here = co_await call.computed();
  --active_;
  if (!here) co_return Call::Outcome{};
  const std::string extra_fields = id_fields(request_id);
  Reply reply{.content_type = "application/json", .extra_fields = extra_fields};
  refused = call.append_answer(reply.body);
  if (refused) reply = error_reply(*refused);
  co_return co_await send(exchange, std::move(reply));
}

}  // namespace fairlead::engine
