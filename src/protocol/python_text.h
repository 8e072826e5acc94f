// How Python prints a JSON value and where it says a JSON text is broken: vLLM's error messages
// quote both, and clients show them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace fairlead::protocol {

// repr(): {'a': 1.0, 'b': None, 'c': [True, "it's"]}.
void append_python_repr(std::string& out, const codec::Json& value);
void append_python_repr(std::string& out, std::string_view text);

struct PythonJsonError {
  std::string_view message;  // "Expecting value"
  size_t position = 0;       // in characters
};

// The first thing json.loads of CPython 3.11 refuses in `text` (valid UTF-8); nullopt if nothing:
// it also takes NaN, Infinity and lone surrogates, which JSON does not have.
std::optional<PythonJsonError> python_json_error(std::string_view text);

}  // namespace fairlead::protocol
