// SHA-256, and comparing secrets in a time that does not depend on where they differ. Any thread.
//
//   Sha256 digest = sha256(key);
//   if (same_secret(digest, stored)) ...
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead::net {

using Sha256 = std::array<uint8_t, 32>;

// Allocates once a thread.
Sha256 sha256(std::string_view bytes);
bool same_secret(const Sha256& a, const Sha256& b);

}  // namespace fairlead::net
