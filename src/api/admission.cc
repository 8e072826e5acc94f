#include "api/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/pattern.h"
#include "api/time.h"

namespace fairlead::api {
namespace {

constexpr size_t kShownBytesMax = 80;
constexpr double kExactDoubleMax = 9007199254740992.0;  // 2^53

const Schema* child_schema(const Schema& schema, std::string_view name) {
  if (const Schema* property = schema.property(name)) return property;
  return schema.additional.empty() ? nullptr : &schema.additional.front();
}

Json admit(const Schema& schema, const Json& value);

Json admit_object(const Schema& schema, const Json& value) {
  std::vector<Json::Member> members;
  for (const auto& [key, member] : value.members()) {
    const Schema* child = child_schema(schema, key);
    if (child == nullptr) {
      if (schema.preserve_unknown) members.emplace_back(key, member);
      continue;
    }
    const bool any = child->type.empty() && child->preserve_unknown;
    if (!member.is_null() || any) {
      members.emplace_back(key, admit(*child, member));
    } else if (schema.property(key) == nullptr) {
      members.emplace_back(key, child->default_value.value_or(Json()));
    }
  }
  for (const auto& [name, property] : schema.properties) {
    if (!property.default_value) continue;
    const bool there =
        std::any_of(members.begin(), members.end(),
                    [&, &wanted = name](const auto& m) { return m.first == wanted; });
    if (!there) members.emplace_back(name, admit(property, *property.default_value));
  }
  return Json::object(std::move(members));
}

Json admit(const Schema& schema, const Json& value) {
  if (value.is_object()) return admit_object(schema, value);
  if (!value.is_array() || schema.items.empty()) return value;
  std::vector<Json> items;
  items.reserve(value.items().size());
  for (const Json& item : value.items()) items.push_back(admit(schema.items.front(), item));
  return Json::array(std::move(items));
}

std::string shown(const Json& value) {
  std::string text = to_string(value);
  if (text.size() <= kShownBytesMax) return text;
  return fmt::format("{} of {} bytes", to_string(value.type()), text.size());
}

// Characters, as the API server counts.
uint64_t length_of(std::string_view text) {
  return static_cast<uint64_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool whole(const Json& value) {
  if (value.is_integer()) return true;
  const double number = value.as_double();
  return value.is_number() && std::trunc(number) == number && std::abs(number) < kExactDoubleMax;
}

bool valid_uri(std::string_view text) {
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
         text.find(' ') == std::string_view::npos;
}

class Checker {
 public:
  std::vector<FieldError> run(const Schema& schema, const Json& value) {
    at(schema, value);
    return std::move(errors_);
  }

 private:
  void fail(std::string message) {
    if (errors_.size() < kFieldErrorsMax) errors_.push_back({path_, std::move(message)});
  }

  template <class Body>
  void step(std::string_view text, Body body) {
    const size_t length = path_.size();
    path_.append(text);
    body();
    path_.resize(length);
  }

  // Keys of a map as if they were fields: so API servers name them.
  void step_into(std::string_view name, const Schema& schema, const Json& value) {
    step(path_.empty() ? std::string(name) : fmt::format(".{}", name), [&] { at(schema, value); });
  }

  void at(const Schema& schema, const Json& value) {
    if (!right_type(schema, value)) {
      return fail(fmt::format("is {}: must be {}", shown(value),
                              schema.int_or_string ? "an integer or a string"
                                                   : fmt::format("of type {}", schema.type)));
    }
    if (!schema.enum_values.empty()) enumeration(schema, value);
    if (value.is_number()) number(schema, value);
    if (value.is_string()) string(schema, value.as_string());
    if (value.is_array()) array(schema, value);
    if (value.is_object()) object(schema, value);
  }

  static bool right_type(const Schema& schema, const Json& value) {
    if (schema.int_or_string) return value.is_string() || whole(value);
    if (schema.type.empty()) return true;
    if (schema.type == "object") return value.is_object();
    if (schema.type == "array") return value.is_array();
    if (schema.type == "string") return value.is_string();
    if (schema.type == "boolean") return value.is_bool();
    if (schema.type == "integer") return whole(value);
    return value.is_number();
  }

  void enumeration(const Schema& schema, const Json& value) {
    const auto& names = schema.enum_values;
    if (std::find(names.begin(), names.end(), value.as_string()) != names.end()) return;
    fail(fmt::format("is {}: must be one of {}", shown(value), fmt::join(names, ", ")));
  }

  void number(const Schema& schema, const Json& value) {
    const double number = value.as_double();
    if (schema.minimum && number < *schema.minimum) {
      fail(fmt::format("is {}: must be at least {}", shown(value), *schema.minimum));
    }
    if (schema.maximum && number > *schema.maximum) {
      fail(fmt::format("is {}: must be at most {}", shown(value), *schema.maximum));
    }
  }

  void string(const Schema& schema, const std::string& text) {
    const uint64_t length = length_of(text);
    if (schema.min_length && length < *schema.min_length) {
      fail(fmt::format("must have at least {} characters", *schema.min_length));
    }
    if (schema.max_length && length > *schema.max_length) {
      fail(fmt::format("must have at most {} characters, has {}", *schema.max_length, length));
    }
    if (!schema.pattern.empty() && !pattern_found(schema.pattern, text)) {
      fail(fmt::format("is '{}': must match {}", text.substr(0, kShownBytesMax), schema.pattern));
    }
    if (schema.format == "date-time" && !Time::parse(text)) {
      fail(fmt::format("is '{}': must be a time such as 2026-11-30T08:00:00Z",
                       text.substr(0, kShownBytesMax)));
    }
    if (schema.format == "uri" && !valid_uri(text)) {
      fail(fmt::format("is '{}': must be a URL", text.substr(0, kShownBytesMax)));
    }
  }

  void array(const Schema& schema, const Json& value) {
    const auto items = value.items();
    if (schema.min_items && items.size() < *schema.min_items) {
      fail(fmt::format("must have at least {} items", *schema.min_items));
    }
    if (schema.max_items && items.size() > *schema.max_items) {
      fail(fmt::format("must have at most {} items, has {}", *schema.max_items, items.size()));
    }
    for (size_t i = 0; i < items.size() && !schema.items.empty(); ++i) {
      step(fmt::format("[{}]", i), [&] { at(schema.items.front(), items[i]); });
    }
    if (schema.list_type == "map" || schema.list_type == "set") unique(schema, items);
  }

  void unique(const Schema& schema, std::span<const Json> items) {
    std::set<std::string> seen;
    for (size_t i = 0; i < items.size(); ++i) {
      std::string key;
      for (const std::string& name : schema.list_map_keys) {
        const Json* part = items[i].find(name);
        key += part == nullptr ? "-" : to_string(*part);
        key += ',';
      }
      if (schema.list_type == "set") key = to_string(items[i]);
      if (seen.insert(key).second) continue;
      step(fmt::format("[{}]", i), [&] { fail("is there twice"); });
    }
  }

  void object(const Schema& schema, const Json& value) {
    const auto members = value.members();
    if (schema.min_properties && members.size() < *schema.min_properties) {
      fail(fmt::format("must have at least {} entries", *schema.min_properties));
    }
    if (schema.max_properties && members.size() > *schema.max_properties) {
      fail(fmt::format("must have at most {} entries, has {}", *schema.max_properties,
                       members.size()));
    }
    for (const std::string& name : schema.required) {
      if (value.find(name) != nullptr) continue;
      step(path_.empty() ? name : '.' + name, [&] { fail("must be given"); });
    }
    for (const auto& [key, member] : members) {
      const Schema* child = child_schema(schema, key);
      if (child != nullptr) step_into(key, *child, member);
    }
  }

  std::string path_;
  std::vector<FieldError> errors_;
};

}  // namespace

std::string describe(const std::vector<FieldError>& errors) {
  std::vector<std::string> lines;
  for (const FieldError& error : errors) {
    lines.push_back(
        fmt::format("{} {}", error.field.empty() ? "the object" : error.field, error.message));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

Json admit_fields(const Schema& root, const Json& object) {
  const Json admitted = admit(root, object);
  std::vector<Json::Member> members;
  for (const auto& [key, value] : object.members()) {
    if (key == "apiVersion" || key == "kind" || key == "metadata") members.emplace_back(key, value);
  }
  for (const auto& [key, value] : admitted.members()) {
    if (key != "apiVersion" && key != "kind" && key != "metadata") members.emplace_back(key, value);
  }
  return Json::object(std::move(members));
}

std::vector<FieldError> check(const Schema& root, const Json& object) {
  return Checker().run(root, object);
}

}  // namespace fairlead::api
