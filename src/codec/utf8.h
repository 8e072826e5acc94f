// UTF-8, one code point at a time. Whole texts are checked faster by valid_utf8 in json.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::codec {

// The length of the well-formed sequence that `text` starts with; 0 if there is none.
size_t utf8_sequence(std::string_view text);

// `code_point` must be a scalar value: at most 0x10ffff and no surrogate.
void append_utf8(std::string& out, uint32_t code_point);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

}  // namespace fairlead::codec
