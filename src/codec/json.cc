#include "codec/json.h"

#include <limits>

namespace fairlead::codec {

std::string_view to_string(JsonType type) {
  switch (type) {
    case JsonType::kNull:
      return "null";
    case JsonType::kBool:
      return "boolean";
    case JsonType::kInteger:
      return "integer";
    case JsonType::kDouble:
      return "number";
    case JsonType::kString:
      return "string";
    case JsonType::kArray:
      return "array";
    case JsonType::kObject:
      return "object";
  }
  return "unknown";
}

Json Json::unsigned_integer(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return Json(Value(value));
  return integer(static_cast<int64_t>(value));
}

JsonType Json::type() const {
  constexpr JsonType kTypes[] = {JsonType::kNull,    JsonType::kBool,   JsonType::kInteger,
                                 JsonType::kInteger, JsonType::kDouble, JsonType::kString,
                                 JsonType::kArray,   JsonType::kObject};
  return kTypes[value_.index()];
}

bool Json::is_integer() const { return type() == JsonType::kInteger; }

bool Json::as_bool() const {
  const bool* value = std::get_if<bool>(&value_);
  return value != nullptr && *value;
}

int64_t Json::as_int() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  return std::holds_alternative<uint64_t>(value_) ? std::numeric_limits<int64_t>::max() : 0;
}

uint64_t Json::as_uint() const {
  if (const auto* value = std::get_if<uint64_t>(&value_)) return *value;
  const auto* value = std::get_if<int64_t>(&value_);
  return value != nullptr && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

double Json::as_double() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  return static_cast<double>(as_int());
}

const std::string& Json::as_string() const {
  static const std::string kEmpty;
  const auto* value = std::get_if<std::string>(&value_);
  return value == nullptr ? kEmpty : *value;
}

std::span<const Json> Json::items() const {
  const auto* value = std::get_if<std::vector<Json>>(&value_);
  return value == nullptr ? std::span<const Json>() : std::span<const Json>(*value);
}

std::span<const Json::Member> Json::members() const {
  const auto* value = std::get_if<std::vector<Member>>(&value_);
  return value == nullptr ? std::span<const Member>() : std::span<const Member>(*value);
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

}  // namespace fairlead::codec
