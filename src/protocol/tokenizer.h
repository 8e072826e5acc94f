// Tokens: the interface that engines and routers use, and the built-in tokenizer, which needs no
// model files.
//
//   BuiltinTokenizer tokenizer;
//   std::vector<TokenId> ids;
//   tokenizer.encode("Hello there", ids);
//   std::string text = decode(tokenizer, ids);        // "Hello there" again, for any bytes
//
// Tokenizers hold no mutable state: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::protocol {

using TokenId = uint32_t;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Appends the tokens of `text`. Special tokens written out in the text become special tokens.
  virtual void encode(std::string_view text, std::vector<TokenId>& out) const = 0;
  // Appends the bytes a token stands for, which need not be whole characters; nothing for an id
  // outside the vocabulary. Special tokens append their name.
  virtual void append_bytes(TokenId id, std::string& out) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  virtual TokenId vocabulary() const = 0;  // one past the largest id
  virtual TokenId end_of_text() const = 0;
  // Some ordinary token for text that is made up, the same for the same draw.
  virtual TokenId plausible(uint64_t draw) const = 0;
};

// The text of tokens, without special ones; bytes that are no UTF-8 stay as they are.
std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids);
// A token's name as byte-level BPE vocabularies spell it: a space is "Ġ", a newline "Ċ".
std::string token_name(const Tokenizer& tokenizer, TokenId id);

// About 3.7 bytes of English a token, and every text comes back byte for byte. There is no table:
// an id is computed from the bytes it stands for, which are, whichever matches first and then
// longest:
//
//   a special token             <|endoftext|>, <|im_start|>, <|im_end|>
//   1 to 4 letters              a to z of one shape (lower, Capitalized, UPPER) with an optional
//                               space before them; a longer word is cut every four letters
//   2 or 3 digits
//   2 to 16 spaces              or two newlines
//   one character               of two or three UTF-8 bytes (U+0080 to U+FFFF)
//   one byte                    whatever else
//
// So a vocabulary is large (2.9 million ids) but hashing, caching and timing do not depend on it.
class BuiltinTokenizer final : public Tokenizer {
 public:
  static constexpr TokenId kEndOfText = 256;
  static constexpr TokenId kMessageStart = 257;  // <|im_start|>
  static constexpr TokenId kMessageEnd = 258;    // <|im_end|>

  void encode(std::string_view text, std::vector<TokenId>& out) const override;
  void append_bytes(TokenId id, std::string& out) const override;
  bool is_special(TokenId id) const override;
  TokenId vocabulary() const override;
  TokenId end_of_text() const override { return kEndOfText; }
  TokenId plausible(uint64_t draw) const override;
};

}  // namespace fairlead::protocol
