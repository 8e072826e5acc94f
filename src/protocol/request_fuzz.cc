// Any bytes as a request: an answer or a refusal whose body is JSON, never a crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/json.h"
#include "protocol/adapter_request.h"
#include "protocol/chat_template.h"
#include "protocol/request.h"

namespace {

void check_refusal(const fairlead::protocol::Refusal& refusal) {
  if (!refusal) return;
  std::string body;
  append_error(body, *refusal);
  CHECK(fairlead::codec::parse_json(body).ok(), "an error's body is JSON");
  CHECK(refusal->status >= 400 && refusal->status < 500, "a bad request is the client's fault");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::protocol;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const EngineLimits limits{.served_names = {"m"}, .vocabulary = BuiltinTokenizer().vocabulary()};
  std::vector<TokenId> prompt;

  ChatRequest chat;
  auto refusal = parse_chat(body, chat);
  if (!refusal) refusal = check_chat(chat, limits);
  if (!refusal) {
    BuiltinTokenizer().encode(render_chat(chat.conversation), prompt);
    refusal = check_prompt(chat, limits, prompt);
  }
  if (!refusal) refusal = check_sampling(chat, prompt.size(), limits);
  check_refusal(refusal);

  CompletionRequest completion;
  refusal = parse_completion(body, completion);
  if (!refusal) refusal = check_completion(completion, limits);
  check_refusal(refusal);

  EmbeddingRequest embedding;
  refusal = parse_embedding(body, embedding);
  if (!refusal) refusal = check_embedding(embedding, limits);
  check_refusal(refusal);

  LoadAdapterRequest load;
  check_refusal(parse_load_adapter(body, load));
  UnloadAdapterRequest unload;
  check_refusal(parse_unload_adapter(body, unload));
  TokenizeRequest tokenize;
  check_refusal(parse_tokenize(body, tokenize));
  DetokenizeRequest detokenize;
  check_refusal(parse_detokenize(body, detokenize));
  return 0;
}
