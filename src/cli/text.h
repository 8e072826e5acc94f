// Text for a terminal: two columns, wrapped.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::cli {

inline constexpr size_t kTextWidth = 100;

// "  left    text that goes on\n          in its column": a long `left` gets a line of its own.
void append_entry(std::string& out, std::string_view left, std::string_view text, size_t column);
// `text` in lines of at most kTextWidth, each after `indent` spaces.
void append_wrapped(std::string& out, std::string_view text, size_t indent);

}  // namespace fairlead::cli
