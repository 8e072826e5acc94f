// Requests to load and unload LoRA adapters, and what vLLM 0.20 says of them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "protocol/errors.h"

namespace fairlead::protocol {

struct LoadAdapterRequest {
  std::string name, path;
  bool load_inplace = false;  // replaces the adapter of that name
};
Refusal parse_load_adapter(std::string_view body, LoadAdapterRequest& out);

struct UnloadAdapterRequest {
  std::string name;
};
Refusal parse_unload_adapter(std::string_view body, UnloadAdapterRequest& out);

ApiError adapter_already_loaded(std::string_view name);
ApiError adapter_not_found(std::string_view name);
// The engine runs without --enable-lora.
ApiError adapters_not_enabled();

// The answers, plain text: "Success: LoRA adapter 'NAME' added successfully."
std::string adapter_added(std::string_view name);
std::string adapter_removed(std::string_view name);

}  // namespace fairlead::protocol
