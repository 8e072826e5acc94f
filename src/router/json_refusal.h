// What the Kthena router says of a body that is no JSON, word by word, for who looks for its words:
// our error objects contain them. Pure; only bodies that were refused are read again.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::router {

// "EOF", "unexpected EOF", "invalid character 'o' looking for beginning of object key string",
// "invalid request body" for bytes behind the value, ...; empty where nothing is wrong with the
// grammar.
std::string json_refusal(std::string_view body);

}  // namespace fairlead::router
