// The flags of `vllm serve` 0.20 and of a few releases around it, with how many values each takes,
// so that any real command line parses; and those of the simulation. What a flag does is in
// parse_args.cc; a flag that does nothing there is accepted and reported once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlead::engine {

enum class Arity : uint8_t {
  kSwitch,    // --flag
  kBool,      // --flag or --no-flag
  kOne,       // --flag value or --flag=value
  kOptional,  // a value or none
  kMany,      // one value or more, up to the next flag
};

struct Flag {
  std::string_view name;  // without the dashes
  Arity arity;
};

std::span<const Flag> all_flags();
// By its long name, in dashes or underscores; null when there is none. `no-` is not a part of it.
const Flag* find_flag(std::string_view name);
// The long name of "-tp" and the like; empty when there is none.
std::string_view long_name(std::string_view short_flag);
// The known name nearest to a mistyped one; empty when none is near.
std::string_view nearest_flag(std::string_view name);

}  // namespace fairlead::engine
