#include "api/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::api {
namespace {

Json number(double value) {
  const double whole = std::trunc(value);
  if (whole == value && std::abs(value) < 9e15) return Json::integer(static_cast<int64_t>(value));
  return Json::number(value);
}

Json strings(const std::vector<std::string>& values) {
  std::vector<Json> items;
  for (const std::string& value : values) items.push_back(Json::string(value));
  return Json::array(std::move(items));
}

Json int_or_string_types() {
  const auto type = [](const char* name) { return Json::object({{"type", Json::string(name)}}); };
  return Json::array({type("integer"), type("string")});
}

Json rules_json(const std::vector<Rule>& rules) {
  std::vector<Json> items;
  for (const Rule& rule : rules) {
    items.push_back(
        Json::object({{"message", Json::string(rule.message)}, {"rule", Json::string(rule.rule)}}));
  }
  return Json::array(std::move(items));
}

// Members are added in alphabetical order, as in every generated definition.
class Members {
 public:
  void add(std::string_view key, Json value) { members_.emplace_back(key, std::move(value)); }
  void text(std::string_view key, const std::string& value) {
    if (!value.empty()) add(key, Json::string(value));
  }
  void flag(std::string_view key, bool value) {
    if (value) add(key, Json::boolean(true));
  }
  void count(std::string_view key, const std::optional<uint64_t>& value) {
    if (value) add(key, Json::unsigned_integer(*value));
  }
  void limit(std::string_view key, const std::optional<double>& value) {
    if (value) add(key, number(*value));
  }
  void list(std::string_view key, const std::vector<std::string>& values) {
    if (!values.empty()) add(key, strings(values));
  }
  Json take() { return Json::object(std::move(members_)); }

 private:
  std::vector<Json::Member> members_;
};

base::Error malformed(std::string_view key, const Json& value) {
  return base::invalid_argument(
      fmt::format("schema keyword {} has an unusable value {}", key, to_string(value)));
}

std::vector<std::string> string_list(const Json& value) {
  std::vector<std::string> list;
  for (const Json& item : value.items()) list.push_back(item.as_string());
  return list;
}

class SchemaReader {
 public:
  explicit SchemaReader(const Json& definitions) : definitions_(definitions) {}

  base::Result<> read(const Json& json, Schema& out, int depth) {
    if (depth > kSchemaDepthMax) return base::invalid_argument("schema is nested too deeply");
    if (!json.is_object()) return base::invalid_argument("a schema must be an object");
    if (const Json* ref = json.find("$ref")) {
      const Json* target = definitions_.find(ref->as_string());
      if (target == nullptr) return malformed("$ref", *ref);
      if (auto read_target = read(*target, out, depth + 1); !read_target) return read_target;
    }
    for (const auto& [key, value] : json.members()) {
      if (key == "$ref") continue;
      auto done = keyword(key, value, out, depth);
      if (!done) return done;
    }
    std::sort(out.properties.begin(), out.properties.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return {};
  }

 private:
  base::Result<> keyword(const std::string& key, const Json& value, Schema& out, int depth) {
    if (key == "properties") return properties(value, out, depth);
    if (key == "items") return read(value, out.items.emplace_back(), depth + 1);
    if (key == "additionalProperties") return read(value, out.additional.emplace_back(), depth + 1);
    if (std::string* text = text_keyword(key, out)) {
      *text = value.as_string();
      return value.is_string() ? base::Result<>() : malformed(key, value);
    }
    if (std::vector<std::string>* list = list_keyword(key, out)) {
      *list = string_list(value);
      return value.is_array() ? base::Result<>() : malformed(key, value);
    }
    if (key == "default") {
      out.default_value = value;
    } else if (key == "minimum") {
      out.minimum = value.as_double();
    } else if (key == "maximum") {
      out.maximum = value.as_double();
    } else if (key == "x-kubernetes-int-or-string") {
      out.int_or_string = value.as_bool();
    } else if (key == "x-kubernetes-preserve-unknown-fields") {
      out.preserve_unknown = value.as_bool();
    } else {
      return malformed(key, value);
    }
    return {};
  }

  static std::string* text_keyword(std::string_view key, Schema& out) {
    if (key == "type") return &out.type;
    if (key == "format") return &out.format;
    if (key == "pattern") return &out.pattern;
    if (key == "description") return &out.description;
    if (key == "x-kubernetes-list-type") return &out.list_type;
    if (key == "x-kubernetes-map-type") return &out.map_type;
    return nullptr;
  }

  static std::vector<std::string>* list_keyword(std::string_view key, Schema& out) {
    if (key == "required") return &out.required;
    if (key == "enum") return &out.enum_values;
    if (key == "x-kubernetes-list-map-keys") return &out.list_map_keys;
    return nullptr;
  }

  base::Result<> properties(const Json& value, Schema& out, int depth) {
    for (const auto& [name, schema] : value.members()) {
      out.properties.push_back({name, Schema()});
      auto done = read(schema, out.properties.back().schema, depth + 1);
      if (!done) return done;
    }
    return {};
  }

  const Json& definitions_;
};

}  // namespace

void visit_places(const Schema& schema, const std::string& path,
                  const std::function<void(const std::string& path, const Schema& schema)>& visit) {
  visit(path, schema);
  for (const auto& [name, property] : schema.properties) {
    visit_places(property, path.empty() ? name : fmt::format("{}.{}", path, name), visit);
  }
  for (const Schema& item : schema.items) visit_places(item, path + "[]", visit);
  for (const Schema& value : schema.additional) visit_places(value, path + ".*", visit);
}

const Schema* Schema::property(std::string_view name) const {
  const auto it =
      std::lower_bound(properties.begin(), properties.end(), name,
                       [](const Property& p, std::string_view n) { return p.name < n; });
  return it == properties.end() || it->name != name ? nullptr : &it->schema;
}

Schema* Schema::property(std::string_view name) {
  return const_cast<Schema*>(std::as_const(*this).property(name));
}

Json to_json(const Schema& schema, Descriptions descriptions) {
  Members out;
  if (!schema.additional.empty()) {
    out.add("additionalProperties", to_json(schema.additional.front(), descriptions));
  }
  if (schema.int_or_string) out.add("anyOf", int_or_string_types());
  if (schema.default_value) out.add("default", *schema.default_value);
  if (descriptions == Descriptions::kKeep) out.text("description", schema.description);
  out.list("enum", schema.enum_values);
  out.text("format", schema.format);
  if (!schema.items.empty()) out.add("items", to_json(schema.items.front(), descriptions));
  out.count("maxItems", schema.max_items);
  out.count("maxLength", schema.max_length);
  out.count("maxProperties", schema.max_properties);
  out.limit("maximum", schema.maximum);
  out.count("minItems", schema.min_items);
  out.count("minLength", schema.min_length);
  out.count("minProperties", schema.min_properties);
  out.limit("minimum", schema.minimum);
  out.text("pattern", schema.pattern);
  if (!schema.properties.empty()) {
    Members properties;
    for (const auto& [name, property] : schema.properties) {
      properties.add(name, to_json(property, descriptions));
    }
    out.add("properties", properties.take());
  }
  out.list("required", schema.required);
  out.text("type", schema.type);
  out.flag("x-kubernetes-int-or-string", schema.int_or_string);
  out.list("x-kubernetes-list-map-keys", schema.list_map_keys);
  out.text("x-kubernetes-list-type", schema.list_type);
  out.text("x-kubernetes-map-type", schema.map_type);
  out.flag("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown);
  if (!schema.rules.empty()) out.add("x-kubernetes-validations", rules_json(schema.rules));
  return out.take();
}

base::Result<Schema> schema_from_json(const Json& json, const Json& definitions) {
  Schema schema;
  auto done = SchemaReader(definitions).read(json, schema, 0);
  if (!done) return done.error();
  return schema;
}

}  // namespace fairlead::api
