#include "base/base64.h"

#include <fmt/format.h>

#include <cstdint>

namespace fairlead::base {
namespace {

// The value of a digit, or -1.
int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0;
  size_t padding = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_space(text[i])) continue;
    const int value = value_of(text[i]);
    if (text[i] == '=') {
      ++padding;
    } else if (value < 0 || padding > 0) {
      return invalid_argument(fmt::format("no Base64 at byte {}", i));
    } else {
      group = group << 6 | static_cast<uint32_t>(value);
      if (++digits % 4 != 0) continue;
      for (const unsigned shift : {16u, 8u, 0u}) out.push_back(static_cast<char>(group >> shift));
    }
  }
  const size_t rest = digits % 4;
  if (rest == 1 || padding != (4 - rest) % 4) return invalid_argument("Base64 that breaks off");
  if (rest > 1) out.push_back(static_cast<char>(group >> (rest == 2 ? 4 : 10)));
  if (rest == 3) out.push_back(static_cast<char>(group >> 2));
  return out;
}

void append_base64(std::string& out, std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digit = [&](uint32_t group, unsigned shift) { return kDigits[group >> shift & 63]; };
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (; bytes.size() >= 3; bytes = bytes.subspan(3)) {
    const uint32_t group = std::to_integer<uint32_t>(bytes[0]) << 16 |
                           std::to_integer<uint32_t>(bytes[1]) << 8 |
                           std::to_integer<uint32_t>(bytes[2]);
    for (const unsigned shift : {18u, 12u, 6u, 0u}) out.push_back(digit(group, shift));
  }
  if (bytes.empty()) return;
  uint32_t group = std::to_integer<uint32_t>(bytes[0]) << 16;
  if (bytes.size() == 2) group |= std::to_integer<uint32_t>(bytes[1]) << 8;
  out.push_back(digit(group, 18));
  out.push_back(digit(group, 12));
  out.push_back(bytes.size() == 2 ? digit(group, 6) : '=');
  out.push_back('=');
}

}  // namespace fairlead::base
