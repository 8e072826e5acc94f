#include "base/base64.h"

#include <cstdint>

namespace fairlead::base {

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
