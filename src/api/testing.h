// For tests: JSON from text.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "codec/json.h"

namespace fairlead::api {

inline codec::Json json(std::string_view text) {
  auto parsed = codec::parse_json(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : codec::Json();
}

}  // namespace fairlead::api
