// Patterns of schemas: RE2, found anywhere in the text, as the API server (Go's regexp) reads them.
#pragma once

#include <string_view>

namespace fairlead::api {

// Compiled once for each pattern. A pattern that does not compile is found nowhere. Any thread.
bool pattern_found(std::string_view pattern, std::string_view text);

}  // namespace fairlead::api
