#include "codec/json_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"
#include "codec/container_end.h"
#include "codec/text_run.h"
#include "codec/utf8.h"

namespace fairlead::codec {
namespace {

// Four hex digits at p, or -1.
int hex4(const char* p) {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    int digit = 0;
    if (base::is_digit(c)) {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

constexpr std::array<bool, 256> kIsSimpleEscape = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("\"\\/bfnrt")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

base::Error error_at(std::string_view text, size_t offset, std::string_view why) {
  const auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n');
  return base::invalid_argument(
      fmt::format("JSON at byte {} (line {}): {}", offset, line + 1, why));
}

}  // namespace

base::Error utf8_error(std::string_view text) {
  size_t offset = 0;
  while (const size_t length = utf8_sequence(text.substr(offset))) offset += length;
  return error_at(text, offset, "invalid UTF-8");
}

bool JsonText::decode(std::string& out) const {
  out.clear();
  const char* p = raw.data();
  const char* const end = p + raw.size();
  while (p != end) {
    const auto* backslash =
        static_cast<const char*>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
    const char* stop = backslash == nullptr ? end : backslash;
    out.append(p, stop);
    if (stop == end) break;
    p = stop + 2;
    if (stop[1] != 'u') {
      out.push_back(unescaped(stop[1]));
      continue;
    }
    auto unit = static_cast<uint32_t>(hex4(p));
    p += 4;
    if (unit >= 0xdc00 && unit <= 0xdfff) return false;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return false;
      const auto low = static_cast<uint32_t>(hex4(p + 2));
      if (low < 0xdc00 || low > 0xdfff) return false;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      p += 6;
    }
    append_utf8(out, unit);
  }
  return true;
}

bool JsonText::equals(std::string_view text) const {
  if (!escaped) return raw == text;
  std::string decoded;
  return decode(decoded) && decoded == text;
}

bool JsonScanner::fail(const char* why) {
  if (why_ == nullptr) why_ = why;
  return false;
}

base::Error JsonScanner::error() const {
  return error_at({begin_, static_cast<size_t>(end_ - begin_)}, offset(), why());
}

bool JsonScanner::enter() {
  if (depth_left_ == 0) return fail("nested too deeply");
  --depth_left_;
  ++at_;
  return true;
}

bool JsonScanner::finish() {
  peek();
  return at_ == end_ || fail("unexpected bytes after the value");
}

bool JsonScanner::unicode_escape(const char*& p) {
  if (end_ - p >= 6 && p[1] == 'u' && hex4(p + 2) >= 0) {
    p += 6;
    return true;
  }
  at_ = p;
  return fail("invalid escape in a string");
}

bool JsonScanner::string(JsonText& out) {
  if (peek() != '"') return fail("expected a string");
  const char* const first = at_ + 1;
  const char* p = first;
  out.escaped = false;
  while (true) {
    p = skip_run<RunOf::kText>(p, end_);
    if (p == end_) return fail("string without an end");
    if (*p == '"') break;
    if (*p != '\\') {
      at_ = p;
      return fail("control character in a string");
    }
    out.escaped = true;
    if (end_ - p >= 2 && kIsSimpleEscape[static_cast<unsigned char>(p[1])]) {
      p += 2;
    } else if (!unicode_escape(p)) {
      return false;
    }
  }
  out.raw = std::string_view(first, static_cast<size_t>(p - first));
  at_ = p + 1;
  return true;
}

bool JsonScanner::number() {
  const char* p = at_;
  if (*p == '-') ++p;
  const char* const whole = p;
  while (p != end_ && base::is_digit(*p)) ++p;
  bool valid = p != whole && (*whole != '0' || p - whole == 1);
  if (valid && p != end_ && *p == '.') {
    const char* const fraction = ++p;
    while (p != end_ && base::is_digit(*p)) ++p;
    valid = p != fraction;
  }
  if (valid && p != end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end_ && (*p == '+' || *p == '-')) ++p;
    const char* const exponent = p;
    while (p != end_ && base::is_digit(*p)) ++p;
    valid = p != exponent;
  }
  if (!valid) return fail("invalid number");
  at_ = p;
  return true;
}

bool JsonScanner::literal(std::string_view word) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
    return fail("expected a value");
  }
  at_ += word.size();
  return true;
}

bool JsonScanner::scalar(std::string_view& out) {
  const char c = peek();
  const char* const first = at_;
  bool ok = false;
  switch (c) {
    case 't':
      ok = literal("true");
      break;
    case 'f':
      ok = literal("false");
      break;
    case 'n':
      ok = literal("null");
      break;
    default:
      ok = c == '-' || base::is_digit(c) ? number() : fail("expected a value");
  }
  out = std::string_view(first, static_cast<size_t>(at_ - first));
  return ok;
}

bool JsonScanner::skip() {
  switch (peek()) {
    case '{':
      return object([this](const JsonText&) { return skip(); });
    case '[':
      return array([this] { return skip(); });
    case '"': {
      JsonText ignored;
      return string(ignored);
    }
    default: {
      std::string_view ignored;
      return scalar(ignored);
    }
  }
}

bool JsonScanner::skip(std::string_view& out) {
  peek();
  const char* const first = at_;
  const bool ok = skip();
  out = std::string_view(first, static_cast<size_t>(at_ - first));
  return ok;
}

bool JsonScanner::discard() {
  if (const char first = peek(); first != '{' && first != '[') return skip();
  const char* const ends = container_end(at_, end_);
  if (ends == nullptr) return fail("a container without an end");
  at_ = ends;
  return true;
}

}  // namespace fairlead::codec
