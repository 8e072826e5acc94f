#include "api/core_schema.h"

#include <map>
#include <mutex>
#include <string>

namespace fairlead::api {
namespace {

Json parse_data() {
  auto parsed = codec::parse_json(kCoreSchemaJson);
  CHECK(parsed.ok(), "core_schema_data.cc is JSON");
  return std::move(*parsed);
}

}  // namespace

const Schema& core_schema(std::string_view name) {
  static const Json kDefinitions = parse_data();
  static std::mutex mutex;
  static std::map<std::string, Schema, std::less<>> made;
  const std::lock_guard lock(mutex);
  const auto it = made.find(name);
  if (it != made.end()) return it->second;
  const Json* definition = kDefinitions.find(name);
  CHECK(definition != nullptr, "core_schema_data.cc has the type");
  auto schema = schema_from_json(*definition, kDefinitions);
  CHECK(schema.ok(), "core_schema_data.cc holds structural schemas");
  return made.emplace(name, std::move(*schema)).first->second;
}

}  // namespace fairlead::api
