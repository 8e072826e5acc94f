// The merge patch (RFC 7386) that makes one JSON object of another. Pure.
//
//   merge_patch(R"({"a":1,"b":{"c":2,"d":3}})", R"({"b":{"c":4,"d":3}})")
//     == R"({"a":null,"b":{"c":4}})"
//
// Lists are replaced as a whole. A member that is null cannot be written: a patch's null removes
// it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace fairlead::kube {

codec::Json merge_patch(const codec::Json& before, const codec::Json& after);
// kInvalidArgument: not JSON.
base::Result<std::string> merge_patch(std::string_view before, std::string_view after);

}  // namespace fairlead::kube
