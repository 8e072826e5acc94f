#include "protocol/adapter_request.h"

#include <fmt/format.h>

#include <vector>

#include "codec/json.h"
#include "protocol/validation.h"

namespace fairlead::protocol {
namespace {

// vLLM's type for what its own checks of these two requests refuse.
ApiError invalid_input(std::string message) {
  ApiError error = engine_error(400, std::move(message));
  error.type = "InvalidUserInput";
  return error;
}

std::string required_string(BodyReader& reader, const codec::Json& body, std::string_view key) {
  if (body.find(key) == nullptr) {
    reader.missing(key);
    return {};
  }
  return reader.string(key, Null::kRefused).value_or("");
}

}  // namespace

Refusal parse_load_adapter(std::string_view text, LoadAdapterRequest& out) {
  codec::Json body;
  if (auto refusal = parse_body(text, kLoadAdapterEndpoint, body)) return refusal;
  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.name = required_string(reader, body, "lora_name");
  out.path = required_string(reader, body, "lora_path");
  out.load_inplace = reader.boolean("load_inplace", Null::kRefused).value_or(false);
  if (auto refusal = refusal_of(errors, kLoadAdapterEndpoint)) return refusal;
  if (out.name.empty() || out.path.empty()) {
    return invalid_input("Both 'lora_name' and 'lora_path' must be provided.");
  }
  return std::nullopt;
}

Refusal parse_unload_adapter(std::string_view text, UnloadAdapterRequest& out) {
  codec::Json body;
  if (auto refusal = parse_body(text, kUnloadAdapterEndpoint, body)) return refusal;
  std::vector<FieldError> errors;
  BodyReader reader(body, errors);
  out.name = required_string(reader, body, "lora_name");
  static_cast<void>(reader.integer("lora_int_id"));  // must be one; names decide
  if (auto refusal = refusal_of(errors, kUnloadAdapterEndpoint)) return refusal;
  if (out.name.empty()) {
    return invalid_input("'lora_name' needs to be provided to unload a LoRA adapter.");
  }
  return std::nullopt;
}

ApiError adapter_already_loaded(std::string_view name) {
  return invalid_input(
      fmt::format("The lora adapter '{}' has already been loaded. If you want to load the adapter "
                  "in place, set 'load_inplace' to True.",
                  name));
}

ApiError adapter_not_found(std::string_view name) {
  return engine_error(404, fmt::format("The lora adapter '{}' cannot be found.", name));
}

ApiError adapters_not_enabled() {
  return engine_error(400,
                      "Call to add_lora method failed: LoRA is not enabled. Use --enable-lora to "
                      "enable LoRA.");
}

std::string adapter_added(std::string_view name) {
  return fmt::format("Success: LoRA adapter '{}' added successfully.", name);
}

std::string adapter_removed(std::string_view name) {
  return fmt::format("Success: LoRA adapter '{}' removed successfully.", name);
}

}  // namespace fairlead::protocol
