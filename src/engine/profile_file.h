// Profiles by name, or from a YAML (or JSON) file of the same members as engine_model::Profile:
//
//   base: h100-8b            # what is not named below is taken from this built-in profile
//   name: my-gpu
//   weights: 16GiB
//   bytes_per_second: 2.8e12
//   step_overhead: 400us
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine_model/profile.h"

namespace fairlead::engine {

// The errors name the member and its line, or the built-in profiles there are.
base::Result<engine_model::Profile> parse_profile(std::string_view text);
// A built-in profile, else the file of that path.
base::Result<engine_model::Profile> load_profile(const std::string& name_or_path);

}  // namespace fairlead::engine
