#include "router/json_refusal.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/ascii.h"

namespace fairlead::router {
namespace {

constexpr size_t kDepthMax = 10'000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_hex(char c) {
  return base::is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// A byte as a quoted character.
std::string quoted(char c) {
  constexpr std::string_view kShort = "abtnvfr";  // from 0x07 on
  const auto byte = static_cast<uint8_t>(c);
  if (c == '\'') return R"('\'')";
  if (c == '\\') return R"('\\')";
  if (byte >= 7 && byte <= 13) return fmt::format("'\\{}'", kShort[byte - 7U]);
  if (byte < ' ' || byte == 0x7f) return fmt::format("'\\x{:02x}'", byte);
  if (byte < 0x80) return fmt::format("'{}'", c);
  if (byte <= 0xa0 || byte == 0xad) return fmt::format("'\\u{:04x}'", byte);
  const std::string utf8 = {static_cast<char>(0xc0 | byte >> 6),
                            static_cast<char>(0x80 | (byte & 0x3f))};
  return fmt::format("'{}'", utf8);
}

// Walks over one value and stops at the first byte that cannot be.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::string run() {
    while (next_ != Next::kNothing) {
      skip_spaces();
      if (ended()) return begun_ ? "unexpected EOF" : "EOF";
      begun_ = true;
      if (!step()) return refusal_;
    }
    skip_spaces();
    return ended() ? "" : "invalid request body";
  }

 private:
  enum class Next : uint8_t {
    kValue,
    kFirstElement,  // or the end of an empty array
    kFirstKey,      // or the end of an empty object
    kKey,
    kColon,
    kAfterValue,  // in an array or an object
    kNothing,
  };

  bool ended() const { return at_ == text_.size(); }
  char now() const { return text_[at_]; }
  void skip_spaces() {
    while (!ended() && is_space(now())) ++at_;
  }
  bool refuse(std::string text) {
    refusal_ = std::move(text);
    return false;
  }
  bool invalid(std::string_view context) {
    if (ended()) return refuse("unexpected EOF");
    return refuse(fmt::format("invalid character {} {}", quoted(now()), context));
  }
  void value_ended() { next_ = open_.empty() ? Next::kNothing : Next::kAfterValue; }
  bool close() {
    ++at_;
    open_.pop_back();
    value_ended();
    return true;
  }
  bool take(Next next) {
    ++at_;
    next_ = next;
    return true;
  }

  bool step() {
    switch (next_) {
      case Next::kFirstElement:
        if (now() == ']') return close();
        return value();
      case Next::kValue:
        return value();
      case Next::kFirstKey:
        if (now() == '}') return close();
        return key();
      case Next::kKey:
        return key();
      case Next::kColon:
        return now() == ':' ? take(Next::kValue) : invalid("after object key");
      case Next::kAfterValue:
        return after_value();
      case Next::kNothing:
        break;
    }
    return true;
  }

  bool after_value() {
    const bool object = open_.back() == '{';
    if (now() == ',') return take(object ? Next::kKey : Next::kValue);
    if (now() == (object ? '}' : ']')) return close();
    return invalid(object ? "after object key:value pair" : "after array element");
  }

  bool key() {
    if (now() != '"') return invalid("looking for beginning of object key string");
    if (!string()) return false;
    next_ = Next::kColon;
    return true;
  }

  bool value() {
    const char c = now();
    if (c == '{' || c == '[') {
      if (open_.size() == kDepthMax) return refuse("exceeded max depth");
      open_.push_back(c);
      return take(c == '{' ? Next::kFirstKey : Next::kFirstElement);
    }
    bool whole = false;
    if (c == '"') {
      whole = string();
    } else if (c == '-' || base::is_digit(c)) {
      whole = number();
    } else if (c == 't') {
      whole = literal("true");
    } else if (c == 'f') {
      whole = literal("false");
    } else if (c == 'n') {
      whole = literal("null");
    } else {
      return invalid("looking for beginning of value");
    }
    if (whole) value_ended();
    return whole;
  }

  bool literal(std::string_view word) {
    for (const char c : word) {
      if (ended() || now() != c)
        return invalid(fmt::format("in literal {} (expecting '{}')", word, c));
      ++at_;
    }
    return true;
  }

  bool string() {
    ++at_;
    while (!ended() && now() != '"') {
      if (static_cast<uint8_t>(now()) < ' ') return invalid("in string literal");
      if (now() == '\\' && !escape()) return false;
      ++at_;
    }
    if (ended()) return refuse("unexpected EOF");
    ++at_;
    return true;
  }

  // Leaves the last byte of the escape for the caller.
  bool escape() {
    ++at_;
    if (ended() || std::string_view("\"\\/bfnrtu").find(now()) == std::string_view::npos)
      return invalid("in string escape code");
    if (now() != 'u') return true;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (ended() || !is_hex(now())) return invalid("in \\u hexadecimal character escape");
    }
    return true;
  }

  bool digits(std::string_view context) {
    if (ended() || !base::is_digit(now())) return invalid(context);
    while (!ended() && base::is_digit(now())) ++at_;
    return true;
  }

  bool number() {
    if (now() == '-') ++at_;
    if (!ended() && now() == '0') {
      ++at_;
    } else if (!digits("in numeric literal")) {
      return false;
    }
    if (!ended() && now() == '.') {
      ++at_;
      if (!digits("after decimal point in numeric literal")) return false;
    }
    if (!ended() && (now() == 'e' || now() == 'E')) {
      ++at_;
      if (!ended() && (now() == '+' || now() == '-')) ++at_;
      if (!digits("in exponent of numeric literal")) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool begun_ = false;
  Next next_ = Next::kValue;
  std::string open_;  // '{' or '[' for each value that is open
  std::string refusal_;
};

}  // namespace

std::string json_refusal(std::string_view body) { return Walk(body).run(); }

}  // namespace fairlead::router
