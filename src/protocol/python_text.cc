#include "protocol/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/float_text.h"
#include "codec/utf8.h"

namespace fairlead::protocol {
namespace {

struct Range {
  uint32_t first, last;
};
// What str.isprintable() refuses past ASCII: controls, format characters, separators, surrogates,
// private use. Code points that are not assigned are taken for printable.
constexpr Range kNotPrintable[] = {
    {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    {0xf0000, 0x10ffff}};

bool is_printable(uint32_t point) {
  return std::none_of(std::begin(kNotPrintable), std::end(kNotPrintable),
                      [&](Range r) { return point >= r.first && point <= r.last; });
}

uint32_t code_point(std::string_view sequence) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(sequence[i]));
  };
  uint32_t point = sequence.size() == 1 ? byte(0) : byte(0) & (0x7f >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) point = point << 6 | (byte(i) & 0x3f);
  return point;
}

void append_escaped(std::string& out, uint32_t point) {
  const auto form = point <= 0xff ? "\\x{:02x}" : point <= 0xffff ? "\\u{:04x}" : "\\U{:08x}";
  fmt::format_to(std::back_inserter(out), fmt::runtime(form), point);
}

// Follows CPython's scanner: which character it stands on when it gives up, and what it says.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<PythonJsonError> run() {
    skip_space();
    if (!value(0)) return error();
    skip_space();
    if (at_ != text_.size()) fail("Extra data", at_);
    return error();
  }

 private:
  static constexpr size_t kDepthMax = 900;  // CPython's recursion limit is near 1,000

  std::optional<PythonJsonError> error() const {
    if (message_.empty()) return std::nullopt;
    const std::string_view before = text_.substr(0, place_);
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return PythonJsonError{
        message_, static_cast<size_t>(std::count_if(before.begin(), before.end(), begins))};
  }
  bool fail(std::string_view message, size_t place) {
    message_ = message;
    place_ = place;
    return false;
  }
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string::npos) {
      ++at_;
    }
  }
  size_t skip_digits() {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - start;
  }

  bool value(size_t depth) {
    if (depth > kDepthMax) return fail("Expecting value", at_);
    if (next_is('"')) return string();
    if (next_is('{')) return object(depth);
    if (next_is('[')) return array(depth);
    for (const std::string_view word : {"null", "true", "false", "NaN", "Infinity", "-Infinity"}) {
      if (take(word)) return true;
    }
    return number();
  }

  bool number() {
    const size_t start = at_;
    if (next_is('-')) ++at_;
    if (next_is('0')) {
      ++at_;
    } else if (skip_digits() == 0) {
      at_ = start;
      return fail("Expecting value", start);
    }
    // A fraction or an exponent without digits is not part of the number.
    size_t whole = at_;
    if (next_is('.')) {
      ++at_;
      at_ = skip_digits() > 0 ? at_ : whole;
    }
    whole = at_;
    if (next_is('e') || next_is('E')) {
      ++at_;
      if (next_is('+') || next_is('-')) ++at_;
      at_ = skip_digits() > 0 ? at_ : whole;
    }
    return true;
  }

  bool string() {
    const size_t begin = at_++;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("Invalid control character at", at_);
      if (c != '\\') {
        ++at_;
      } else if (!escape(begin)) {
        return false;
      }
    }
    return fail("Unterminated string starting at", begin);
  }

  bool escape(size_t begin) {
    const size_t backslash = at_++;
    if (at_ == text_.size()) return fail("Unterminated string starting at", begin);
    if (text_[at_] != 'u') {
      if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return fail("Invalid \\escape", backslash);
      }
      ++at_;
      return true;
    }
    const std::string_view digits = text_.substr(at_ + 1, 4);
    const bool hex = std::all_of(digits.begin(), digits.end(), [](char c) {
      return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
    });
    if (!hex || at_ + 5 >= text_.size()) return fail("Invalid \\uXXXX escape", at_);
    at_ += 5;
    return true;
  }

  bool object(size_t depth) {
    ++at_;
    skip_space();
    if (next_is('}')) return ++at_, true;
    while (true) {
      if (!next_is('"')) {
        return fail("Expecting property name enclosed in double quotes", at_);
      }
      if (!string()) return false;
      skip_space();
      if (!next_is(':')) return fail("Expecting ':' delimiter", at_);
      ++at_;
      skip_space();
      if (!value(depth + 1)) return false;
      skip_space();
      if (next_is('}')) return ++at_, true;
      if (!next_is(',')) return fail("Expecting ',' delimiter", at_);
      ++at_;
      skip_space();
    }
  }

  bool array(size_t depth) {
    ++at_;
    skip_space();
    if (next_is(']')) return ++at_, true;
    while (true) {
      if (!value(depth + 1)) return false;
      skip_space();
      if (next_is(']')) return ++at_, true;
      if (!next_is(',')) return fail("Expecting ',' delimiter", at_);
      ++at_;
      skip_space();
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string_view message_;
  size_t place_ = 0;
};

}  // namespace

void append_python_repr(std::string& out, std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  out.push_back(quote);
  while (!text.empty()) {
    const size_t length = std::max<size_t>(codec::utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const uint32_t point = code_point(sequence);
    text.remove_prefix(length);
    switch (point) {
      case '\n':
        out.append("\\n");
        break;
      case '\r':
        out.append("\\r");
        break;
      case '\t':
        out.append("\\t");
        break;
      default:
        if (point == '\\' || point == static_cast<unsigned char>(quote)) {
          out.push_back('\\');
          out.append(sequence);
        } else if (point < 0x20 || point == 0x7f || !is_printable(point)) {
          append_escaped(out, point);
        } else {
          out.append(sequence);
        }
    }
  }
  out.push_back(quote);
}

void append_python_repr(std::string& out, const codec::Json& value) {
  switch (value.type()) {
    case codec::JsonType::kNull:
      out.append("None");
      return;
    case codec::JsonType::kBool:
      out.append(value.as_bool() ? "True" : "False");
      return;
    case codec::JsonType::kDouble:
      base::append_float(out, value.as_double());
      return;
    case codec::JsonType::kInteger:
      out.append(codec::to_string(value));
      return;
    case codec::JsonType::kString:
      append_python_repr(out, value.as_string());
      return;
    case codec::JsonType::kArray: {
      std::string_view separator = "[";
      for (const codec::Json& item : value.items()) {
        out.append(separator);
        append_python_repr(out, item);
        separator = ", ";
      }
      out.append(value.items().empty() ? "[]" : "]");
      return;
    }
    case codec::JsonType::kObject: {
      std::string_view separator = "{";
      for (const auto& [key, member] : value.members()) {
        out.append(separator);
        append_python_repr(out, key);
        out.append(": ");
        append_python_repr(out, member);
        separator = ", ";
      }
      out.append(value.members().empty() ? "{}" : "}");
      return;
    }
  }
}

std::optional<PythonJsonError> python_json_error(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace fairlead::protocol
