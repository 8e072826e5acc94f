// Patterns of schemas: RE2, found anywhere in the text, as the API server (Go's regexp) reads them.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::api {

// Compiled once for each pattern. A pattern that does not compile is found nowhere. Any thread.
bool pattern_found(std::string_view pattern, std::string_view text);

// Why a pattern of somebody's object does not compile; empty if it does. Keeps nothing.
std::string pattern_error(const std::string& pattern);

}  // namespace fairlead::api
