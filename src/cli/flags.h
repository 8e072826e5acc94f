// Flags of a described struct: --name=value, --name value, --switch, --no-switch; dashes or
// underscores; a list takes its flag once for each item. An error names the flag, the value and
// what is allowed; a mistyped flag is answered with the one that was probably meant.
//
//   RouterConfig config;
//   auto parsed = parse_flags(codec::info_for<RouterConfig>(), &config, args);
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "codec/described.h"

namespace fairlead::cli {

// kInvalidArgument for a flag that is unknown, needs a value or does not take it, for a required
// one that is missing, and for words that are no flags.
base::Result<> parse_flags(const codec::StructInfo& info, void* object,
                           std::span<const std::string> args);

// One line for each flag: name, type, meaning, default.
std::string flags_help(const codec::StructInfo& info);

}  // namespace fairlead::cli
