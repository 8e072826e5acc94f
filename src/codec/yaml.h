// YAML 1.2 (core schema) into the tree of json.h, each value with the line of its key or item.
//
//   auto tree = parse_yaml("port: 8080\nlog: debug\n");
//   tree->find("port")->line() == 1
//
// Plain scalars become null, booleans, integers or doubles where they look like one; quoted scalars
// stay strings. Anchors are expanded; a repeated key, a key that is no scalar and a second document
// are errors.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "codec/json.h"

namespace fairlead::codec {

inline constexpr base::Bytes kYamlBytesMax{8u << 20};
inline constexpr size_t kYamlDepthMax = 64;
inline constexpr size_t kYamlNodesMax = 200'000;  // with all copies that anchors and aliases make

// An empty document is null. Errors name the line.
base::Result<Json> parse_yaml(std::string_view text);

// Block style, two spaces a level, lists at the depth of their key; text that is more than a plain
// word is quoted. What it writes reads back equal here and in readers of YAML 1.1 (kubectl).
std::string to_yaml(const Json& json);

}  // namespace fairlead::codec
