// Base64 as in RFC 4648 section 4, with padding.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead::base {

void append_base64(std::string& out, std::span<const std::byte> bytes);
// White space between the digits is read past, as in PEM and YAML.
Result<std::string> decode_base64(std::string_view text);

}  // namespace fairlead::base
