// Bytes: an amount of memory or payload, so that a size is never a bare number in configuration.
//
//   parse_bytes("64MiB") == Bytes(64 << 20)
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead::base {

struct Bytes {
  uint64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(uint64_t n) : count(n) {}
  constexpr auto operator<=>(const Bytes&) const = default;
};

// A whole number with an optional unit: B, K or Ki or KiB (1024), kB (1000), and so on to T.
Result<Bytes> parse_bytes(std::string_view text);
// The shortest exact form: "64MiB", "1500B".
std::string to_string(Bytes bytes);

}  // namespace fairlead::base
