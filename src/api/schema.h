// Schema: what values one place of an object may hold, as Kubernetes' structural OpenAPI schemas
// say it. Made from the description of a struct (describe.h), it becomes the
// CustomResourceDefinition (crd.h) and the reference page, and decides what is pruned, defaulted
// and refused (admission.h), so that our verdict is the API server's.
//
// Plain data; const access is safe on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace fairlead::api {

using codec::Json;

// A CEL rule: `rule` must hold for the value, as `self`; one that names `oldSelf` is asked on
// updates only.
struct Rule {
  std::string rule;
  std::string message;
};

// What a webhook asks besides (rules.h): in words, of the field that is called so below the value
// (".name", "[].image", ".*" for each entry of a map), or of the value itself.
struct WebhookRule {
  std::string_view below;
  std::string_view text;
};

struct Schema {
  struct Property;

  std::string type;  // "object", "array", "string", "integer", "number", "boolean"; "" for any
  std::string format;
  std::string description;
  std::string pattern;  // RE2, found anywhere in the text
  std::vector<std::string> enum_values;
  std::optional<Json> default_value;
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<uint64_t> min_length;
  std::optional<uint64_t> max_length;
  std::optional<uint64_t> min_items;
  std::optional<uint64_t> max_items;
  std::optional<uint64_t> min_properties;
  std::optional<uint64_t> max_properties;
  std::vector<Property> properties;  // by name
  std::vector<std::string> required;
  std::vector<Schema> items;       // one: what an array holds
  std::vector<Schema> additional;  // one: what an object holds under names of the user's
  bool int_or_string = false;
  bool preserve_unknown = false;
  std::string list_type;  // "atomic", "set", "map"
  std::vector<std::string> list_map_keys;
  std::string map_type;
  std::vector<Rule> rules;
  std::vector<WebhookRule> webhook_rules;  // no part of a definition

  const Schema* property(std::string_view name) const;
  Schema* property(std::string_view name);
};

struct Schema::Property {
  std::string name;
  Schema schema;
};

// Calls `visit` for the schema and for all below it, in order, with their paths:
// "spec.roles[].name", "spec.headers.*".
void visit_places(const Schema& schema, const std::string& path,
                  const std::function<void(const std::string& path, const Schema& schema)>& visit);

enum class Descriptions : uint8_t { kKeep, kDrop };

// The schema in the order and the words of a CustomResourceDefinition.
Json to_json(const Schema& schema, Descriptions descriptions);

// The reverse, for schemas kept as data. `definitions` is an object of schemas that "$ref" names;
// references are followed at most kSchemaDepthMax deep.
inline constexpr int kSchemaDepthMax = 32;
base::Result<Schema> schema_from_json(const Json& json, const Json& definitions);

}  // namespace fairlead::api
