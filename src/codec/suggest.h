// "Did you mean": the known name nearest to one that was mistyped.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::codec {

// The candidate with the fewest edits (insert, remove, replace, swap of neighbours) from `word`,
// the first of several; empty if none is near enough to be meant.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace fairlead::codec
