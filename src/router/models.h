// GET /v1/models: what a back end lists, and the list that the router gives. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fairlead::router {

struct ListedModel {
  std::string id;
  std::string json;  // the whole entry
};

inline constexpr size_t kModelsPerBackendMax = 1'000;
inline constexpr size_t kModelIdBytesMax = 512;

// Entries without a usable id are left out, of a repeated id the first stays.
base::Result<std::vector<ListedModel>> parse_models(std::string_view body);

// {"object":"list","data":[...]}: every id once, as the first of the lists has it, in their order.
std::string merge_models(std::span<const std::vector<ListedModel>* const> lists);

}  // namespace fairlead::router
