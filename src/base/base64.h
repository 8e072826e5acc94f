// Base64 as in RFC 4648 section 4, with padding.
#pragma once

#include <span>
#include <string>

namespace fairlead::base {

void append_base64(std::string& out, std::span<const std::byte> bytes);

}  // namespace fairlead::base
