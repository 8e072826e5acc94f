#include "protocol/tokenizer.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/hash.h"
#include "codec/utf8.h"

namespace fairlead::protocol {
namespace {

// The vocabulary: ranges of ids one after the other.
constexpr std::string_view kSpecials[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
constexpr TokenId kFirstSpecial = BuiltinTokenizer::kEndOfText;
constexpr TokenId kSpaces = kFirstSpecial + 16;  // 13 ids are left for further special tokens
constexpr size_t kSpacesMax = 16;
constexpr TokenId kTwoNewlines = kSpaces + kSpacesMax - 1;
constexpr TokenId kTwoDigits = kTwoNewlines + 1;
constexpr TokenId kThreeDigits = kTwoDigits + 100;
constexpr TokenId kWords = kThreeDigits + 1000;
constexpr size_t kLettersMax = 4;
// Where words of 1, 2, 3 and 4 letters begin within a shape.
constexpr std::array<TokenId, kLettersMax + 1> kLength = {0, 26, 26 + 676, 26 + 676 + 17'576,
                                                          26 + 676 + 17'576 + 456'976};
constexpr TokenId kShape = kLength.back();
constexpr TokenId kCharacters = kWords + 6 * kShape;
constexpr TokenId kVocabulary = kCharacters + (0x10000 - 0x80);

enum Shape : TokenId { kLower, kCapitalized, kUpper };

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

struct Match {
  TokenId id;
  size_t bytes;
};

// `text` begins with a letter. `space` is 1 if the space before it belongs to the token.
Match match_word(std::string_view text, TokenId space) {
  const size_t limit = std::min(text.size(), kLettersMax);
  Shape shape = kLower;
  if (is_upper(text[0])) shape = limit > 1 && is_upper(text[1]) ? kUpper : kCapitalized;
  TokenId number = static_cast<TokenId>(text[0] | 0x20) - 'a';
  size_t letters = 1;
  for (; letters < limit; ++letters) {
    const char c = text[letters];
    if (shape == kUpper ? !is_upper(c) : !is_lower(c)) break;
    number = number * 26 + (static_cast<TokenId>(c | 0x20) - 'a');
  }
  if (letters == 1 && space == 0) return {static_cast<unsigned char>(text[0]), 1};
  return {kWords + (shape * 2 + space) * kShape + kLength[letters - 1] + number, letters + space};
}

// A character of two or three bytes; {0, 0} otherwise.
Match match_character(std::string_view text) {
  const auto bits = [&](size_t i, int mask) { return static_cast<TokenId>(text[i] & mask); };
  switch (codec::utf8_sequence(text)) {
    case 2:
      return {kCharacters + (bits(0, 0x1f) << 6 | bits(1, 0x3f)) - 0x80, 2};
    case 3:
      return {kCharacters + (bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f)) - 0x80, 3};
    default:
      return {0, 0};
  }
}

Match match_spaces(std::string_view text) {
  if (text.size() > 1 && (is_lower(text[1]) || is_upper(text[1]))) {
    return match_word(text.substr(1), 1);
  }
  size_t count = 1;
  while (count < std::min(text.size(), kSpacesMax) && text[count] == ' ') ++count;
  // The last space belongs to the word after it.
  if (count > 1 && count < text.size() && (is_lower(text[count]) || is_upper(text[count]))) --count;
  if (count == 1) return {' ', 1};
  return {kSpaces + static_cast<TokenId>(count) - 2, count};
}

Match match_digits(std::string_view text) {
  TokenId number = 0;
  size_t digits = 0;
  while (digits < std::min<size_t>(text.size(), 3) && base::is_digit(text[digits])) {
    number = number * 10 + static_cast<TokenId>(text[digits++] - '0');
  }
  if (digits == 1) return {static_cast<unsigned char>(text[0]), 1};
  return {(digits == 2 ? kTwoDigits : kThreeDigits) + number, digits};
}

Match match_at(std::string_view text) {
  const char c = text[0];
  if (c == ' ') return match_spaces(text);
  if (is_lower(c) || is_upper(c)) return match_word(text, 0);
  if (base::is_digit(c)) return match_digits(text);
  if (c == '<') {
    for (size_t i = 0; i < std::size(kSpecials); ++i) {
      if (text.starts_with(kSpecials[i])) {
        return {kFirstSpecial + static_cast<TokenId>(i), kSpecials[i].size()};
      }
    }
  }
  if (c == '\n' && text.size() > 1 && text[1] == '\n') return {kTwoNewlines, 2};
  if (static_cast<unsigned char>(c) >= 0x80) {
    if (const Match match = match_character(text); match.bytes > 0) return match;
  }
  return {static_cast<unsigned char>(c), 1};
}

void append_word(TokenId id, std::string& out) {
  const TokenId shape = id / kShape / 2;
  if (id / kShape % 2 == 1) out.push_back(' ');
  TokenId number = id % kShape;
  size_t letters = 1;
  while (number >= kLength[letters]) ++letters;
  number -= kLength[letters - 1];
  const size_t start = out.size();
  out.resize(start + letters);
  for (size_t i = letters; i-- > 0; number /= 26) {
    const char first = shape == kUpper || (shape == kCapitalized && i == 0) ? 'A' : 'a';
    out[start + i] = static_cast<char>(first + static_cast<char>(number % 26));
  }
}

// Half a surrogate pair is no character: its id is never made, and stands for nothing sensible.
void append_character(TokenId point, std::string& out) {
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  surrogate ? void(out.append(codec::kReplacementCharacter)) : codec::append_utf8(out, point);
}

void append_digits(TokenId number, size_t count, std::string& out) {
  out.append(count, '0');
  for (size_t i = 1; i <= count; ++i, number /= 10) {
    out[out.size() - i] = static_cast<char>('0' + number % 10);
  }
}

// Short words, one token each, for text that is made up.
constexpr std::string_view kWordList[] = {
    "the",  "of",   "and",  "to",   "in",   "is",   "that", "for",  "it",   "as",   "with", "was",
    "on",   "be",   "at",   "by",   "this", "have", "from", "not",  "but",  "what", "all",  "were",
    "when", "we",   "can",  "an",   "your", "each", "how",  "will", "up",   "out",  "then", "them",
    "some", "so",   "make", "like", "into", "time", "has",  "look", "two",  "more", "go",   "see",
    "no",   "way",  "than", "been", "call", "who",  "its",  "now",  "find", "long", "down", "day",
    "did",  "get",  "come", "made", "may",  "part", "over", "new",  "take", "only", "work", "know",
    "year", "live", "me",   "back", "give", "most", "very", "good", "name", "line", "mean", "same",
    "help", "turn", "much", "move", "well", "such", "here", "why",  "ask",  "men",  "read", "need",
    "land", "home", "us",   "try",  "kind", "hand", "high", "near", "add",  "food", "own",  "keep",
    "last", "let",  "city", "tree", "open", "seem", "next", "hard", "far",  "sea",  "late", "run",
    "few",  "side", "walk", "grow", "took", "four", "idea", "stop", "book", "song", "rain", "best"};

// GPT-2's alphabet of bytes: printable ones stand for themselves, the others follow U+0100.
void append_byte_name(unsigned char byte, std::string& out) {
  const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
  if (printable && byte < 0x80) return out.push_back(static_cast<char>(byte));
  if (printable) return codec::append_utf8(out, byte);
  TokenId place = byte;
  if (byte >= 0x7f) place = 33 + (byte == 0xad ? 34u : static_cast<TokenId>(byte - 0x7f));
  codec::append_utf8(out, 0x100 + place);
}

}  // namespace

void BuiltinTokenizer::encode(std::string_view text, std::vector<TokenId>& out) const {
  out.reserve(out.size() + text.size() / 3 + 1);
  while (!text.empty()) {
    const Match match = match_at(text);
    out.push_back(match.id);
    text.remove_prefix(match.bytes);
  }
}

void BuiltinTokenizer::append_bytes(TokenId id, std::string& out) const {
  if (id < 256) return out.push_back(static_cast<char>(id));
  if (id < kSpaces) {
    if (is_special(id)) out.append(kSpecials[id - kFirstSpecial]);
  } else if (id < kTwoNewlines) {
    out.append(id - kSpaces + 2, ' ');
  } else if (id == kTwoNewlines) {
    out.append("\n\n");
  } else if (id < kThreeDigits) {
    append_digits(id - kTwoDigits, 2, out);
  } else if (id < kWords) {
    append_digits(id - kThreeDigits, 3, out);
  } else if (id < kCharacters) {
    append_word(id - kWords, out);
  } else if (id < kVocabulary) {
    append_character(id - kCharacters + 0x80, out);
  }
}

bool BuiltinTokenizer::is_special(TokenId id) const {
  return id >= kFirstSpecial && id < kFirstSpecial + std::size(kSpecials);
}

TokenId BuiltinTokenizer::vocabulary() const { return kVocabulary; }

TokenId BuiltinTokenizer::plausible(uint64_t draw) const {
  const uint64_t mixed = base::mix64(draw);
  switch (mixed % 24) {
    case 0:
      return '.';
    case 1:
      return ',';
    default:
      return match_word(kWordList[(mixed >> 32) % std::size(kWordList)], 1).id;
  }
}

std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::string text;
  for (const TokenId id : ids) {
    if (!tokenizer.is_special(id)) tokenizer.append_bytes(id, text);
  }
  return text;
}

std::string token_name(const Tokenizer& tokenizer, TokenId id) {
  std::string bytes;
  tokenizer.append_bytes(id, bytes);
  if (tokenizer.is_special(id)) return bytes;
  std::string name;
  for (const char c : bytes) append_byte_name(static_cast<unsigned char>(c), name);
  return name;
}

}  // namespace fairlead::protocol
