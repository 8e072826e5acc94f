// For tests: JSON from text, and in an order of its own.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codec/json.h"

namespace fairlead::api {

inline codec::Json json(std::string_view text) {
  auto parsed = codec::parse_json(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : codec::Json();
}

inline codec::Json unchanged(const codec::Json& leaf) { return leaf; }

// Members in the order of their names, so that documents compare by meaning; of each value that is
// neither list nor object what `leaf` makes of it.
inline codec::Json sorted(const codec::Json& value,
                          codec::Json (*leaf)(const codec::Json&) = unchanged) {
  if (value.is_array()) {
    std::vector<codec::Json> items;
    for (const codec::Json& item : value.items()) items.push_back(sorted(item, leaf));
    return codec::Json::array(std::move(items));
  }
  if (!value.is_object()) return leaf(value);
  std::vector<codec::Json::Member> members;
  for (const auto& [key, member] : value.members()) members.emplace_back(key, sorted(member, leaf));
  std::ranges::sort(members, {}, &codec::Json::Member::first);
  return codec::Json::object(std::move(members));
}

}  // namespace fairlead::api
