// Every text comes back from its tokens, and any tokens stream as UTF-8.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/json.h"
#include "protocol/text_stream.h"
#include "protocol/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::protocol;
  const BuiltinTokenizer tokenizer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<TokenId> ids;
  tokenizer.encode(text, ids);
  std::string back;
  for (const TokenId id : ids) {
    CHECK(id < tokenizer.vocabulary(), "ids lie within the vocabulary");
    tokenizer.append_bytes(id, back);
  }
  CHECK(back == text, "a text comes back byte for byte");

  TextStream stream(tokenizer);
  std::string out;
  for (size_t at = 0; at + sizeof(TokenId) <= size; at += sizeof(TokenId)) {
    TokenId id = 0;
    std::memcpy(&id, data + at, sizeof id);
    stream.feed(id % (tokenizer.vocabulary() + 1), out);
    CHECK(fairlead::codec::valid_utf8(out), "a stream is UTF-8 at every token");
  }
  return 0;
}
