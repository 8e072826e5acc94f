#include "api/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/core_schema.h"

namespace fairlead::api::describe_detail {
namespace {

constexpr double kExactDoubleMax = 9007199254740992.0;  // 2^53

bool never_absent(const TypeInfo&, const void*) { return false; }

Json literal(std::string_view text) {
  auto value = codec::parse_json(text);
  CHECK(value.ok(), "a described default is JSON");
  return std::move(*value);
}

void add_limits(const FieldSpec& spec, Schema& schema) {
  if (spec.min) schema.minimum = spec.min;
  if (spec.max) schema.maximum = spec.max;
  if (spec.min_length) schema.min_length = spec.min_length;
  if (spec.max_length) schema.max_length = spec.max_length;
  if (spec.min_items) schema.min_items = spec.min_items;
  if (spec.max_items) schema.max_items = spec.max_items;
  if (spec.min_properties) schema.min_properties = spec.min_properties;
  if (spec.max_properties) schema.max_properties = spec.max_properties;
  if (!spec.pattern.empty()) schema.pattern = spec.pattern;
  if (!spec.format.empty()) schema.format = spec.format;
}

void add_lists(const FieldSpec& spec, Schema& schema) {
  std::string_view rest = spec.one_of;
  while (!rest.empty()) {
    const size_t bar = rest.find('|');
    schema.enum_values.emplace_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
  }
  if (!spec.list_type.empty()) schema.list_type = spec.list_type;
  if (!spec.list_map_key.empty()) schema.list_map_keys.emplace_back(spec.list_map_key);
}

Schema field_schema(const TypeInfo& type, const FieldSpec& spec) {
  Schema schema = type.schema;
  if (!spec.core.empty()) {
    (schema.items.empty() ? schema : schema.items.front()) = core_schema(spec.core);
  }
  add_limits(spec, schema);
  add_lists(spec, schema);
  if (!spec.doc.empty()) schema.description = spec.doc;
  if (!spec.default_json.empty()) schema.default_value = literal(spec.default_json);
  if (!spec.nested_defaults.empty()) {
    const Json defaults = literal(spec.nested_defaults);
    for (const auto& [name, value] : defaults.members()) {
      Schema* nested = schema.property(name);
      CHECK(nested != nullptr, "nested_defaults names a field of the value");
      nested->default_value = value;
    }
  }
  schema.rules.insert(schema.rules.end(), spec.rules.begin(), spec.rules.end());
  schema.webhook_rules.insert(schema.webhook_rules.end(), spec.webhook.begin(), spec.webhook.end());
  return schema;
}

Unknown& unknown_of(const TypeInfo& self, void* owner) {
  return *static_cast<Unknown*>(self.unknown(owner));
}

bool absent_struct(const TypeInfo& self, const void* object) {
  void* owner = const_cast<void*>(object);
  if (self.unknown != nullptr && !unknown_of(self, owner).empty()) return false;
  return std::all_of(self.fields.begin(), self.fields.end(), [&](const FieldInfo& field) {
    return !field.required && field.type->absent(*field.type, field.member(owner));
  });
}

void write_struct(const TypeInfo& self, JsonWriter& out, const void* object) {
  void* owner = const_cast<void*>(object);
  out.begin_object();
  if (!self.kind.empty()) {
    out.key("apiVersion").string(self.api_version).key("kind").string(self.kind);
  }
  for (const FieldInfo& field : self.fields) {
    const void* member = field.member(owner);
    if (!field.required && field.type->absent(*field.type, member)) continue;
    out.key(field.name);
    field.type->write(*field.type, out, member);
  }
  if (self.unknown != nullptr) {
    for (const auto& [key, value] : unknown_of(self, owner)) out.key(key).value(value);
  }
  out.end_object();
}

const FieldInfo* find_field(const TypeInfo& self, std::string_view name) {
  for (const FieldInfo& field : self.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// The members that say what the document is: never fields of a described kind.
bool read_header(const TypeInfo& self, Reader& reader, std::string_view key, const Json& value,
                 bool& handled) {
  handled = !self.kind.empty() && (key == "apiVersion" || key == "kind");
  if (!handled) return true;
  const std::string& wanted = key == "kind" ? self.kind : self.api_version;
  const Reader::Step step(reader, key);
  return value.as_string() == wanted || reader.fail(value, fmt::format("must be {}", wanted));
}

bool read_struct(const TypeInfo& self, Reader& reader, const Json& value, void* object) {
  if (value.is_null()) return true;
  if (!value.is_object()) return reader.fail(value, "must be a mapping of fields");
  for (const auto& [key, member] : value.members()) {
    bool handled = false;
    if (!read_header(self, reader, key, member, handled)) return false;
    if (handled) continue;
    const Reader::Step step(reader, key);
    if (const FieldInfo* field = find_field(self, key)) {
      if (!field->type->read(*field->type, reader, member, field->member(object))) return false;
    } else if (self.unknown != nullptr) {
      unknown_of(self, object).emplace_back(key, member);
    } else {
      reader.warn(member, "unknown field");
    }
  }
  for (const FieldInfo& field : self.fields) {
    if (!field.required || value.find(field.name) != nullptr) continue;
    const Reader::Step step(reader, field.name);
    return reader.fail(Json(), "must be given");
  }
  return true;
}

}  // namespace

TypeInfo scalar(std::string_view type, std::string_view format) {
  TypeInfo info;
  info.absent = never_absent;
  info.schema.type = type;
  info.schema.format = format;
  return info;
}

TypeInfo enumeration(std::vector<std::string> names) {
  TypeInfo info = scalar("string", "");
  for (std::string& name : names) {
    if (name.ends_with('_')) name.pop_back();
  }
  info.schema.enum_values = std::move(names);
  return info;
}

bool read_enum(const TypeInfo& self, Reader& reader, const Json& value, size_t& out) {
  const auto& names = self.schema.enum_values;
  const auto it = std::find(names.begin(), names.end(), value.as_string());
  if (!value.is_string() || it == names.end()) {
    return reader.fail(value, fmt::format("must be one of {}", fmt::join(names, ", ")));
  }
  out = static_cast<size_t>(it - names.begin());
  return true;
}

TypeInfo structure(const StructSpec& spec, std::vector<FieldLine> lines,
                   const std::vector<Named>& members) {
  TypeInfo info;
  info.read = read_struct;
  info.write = write_struct;
  info.absent = absent_struct;
  info.schema.type = "object";
  info.schema.description = spec.doc;
  info.schema.map_type = spec.map_type;
  info.schema.rules = spec.rules;
  info.schema.webhook_rules = spec.webhook;
  CHECK(lines.size() == members.size(), "every described member has exactly one line");
  for (const Named& named : members) {
    const auto line = std::find_if(lines.begin(), lines.end(),
                                   [&](const FieldLine& l) { return l.tag == named.tag; });
    CHECK(line != lines.end(), "every described member has exactly one line");
    if (line->is_unknown) {
      info.unknown = line->member;
      continue;
    }
    FieldInfo field;
    field.name =
        named.name.ends_with('_') ? named.name.substr(0, named.name.size() - 1) : named.name;
    field.type = line->type;
    field.member = line->member;
    // Where there is a default, an object that was not defaulted yet is as good.
    field.required = line->spec.required && line->spec.default_json.empty();
    if (line->spec.required) info.schema.required.push_back(field.name);
    info.schema.properties.push_back({field.name, field_schema(*line->type, line->spec)});
    info.fields.push_back(std::move(field));
  }
  std::sort(info.schema.required.begin(), info.schema.required.end());
  std::sort(info.schema.properties.begin(), info.schema.properties.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return info;
}

TypeInfo list_of(const TypeInfo& item) {
  TypeInfo info;
  info.schema.type = "array";
  info.schema.items.push_back(item.schema);
  return info;
}

TypeInfo map_of(const TypeInfo& item) {
  TypeInfo info;
  info.schema.type = "object";
  info.schema.additional.push_back(item.schema);
  return info;
}

TypeInfo optional_of(const TypeInfo& value) {
  TypeInfo info;
  info.schema = value.schema;
  return info;
}

bool read_integer(Reader& reader, const Json& value, int64_t min, int64_t max, int64_t& out) {
  bool whole = false;
  if (value.is_integer()) {
    out = value.as_int();
    whole = out < 0 || static_cast<uint64_t>(out) == value.as_uint();
  } else if (value.is_number()) {
    // Clients that compute with doubles send whole numbers as 1.0.
    const double number = value.as_double();
    whole = std::trunc(number) == number && std::abs(number) < kExactDoubleMax;
    if (whole) out = static_cast<int64_t>(number);
  }
  if (whole && out >= min && out <= max) return true;
  return reader.fail(value, max < std::numeric_limits<int64_t>::max()
                                ? fmt::format("must be an integer from {} to {}", min, max)
                                : std::string("must be an integer"));
}

const TypeInfo& type_for(const bool*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("boolean", "");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      *static_cast<bool*>(object) = value.as_bool();
      return value.is_bool() || reader.fail(value, "must be true or false");
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.boolean(*static_cast<const bool*>(object));
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_for(const int32_t*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("integer", "int32");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      int64_t number = 0;
      using Limits = std::numeric_limits<int32_t>;
      if (!read_integer(reader, value, Limits::min(), Limits::max(), number)) return false;
      *static_cast<int32_t*>(object) = static_cast<int32_t>(number);
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.integer(*static_cast<const int32_t*>(object));
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_for(const int64_t*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("integer", "int64");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      using Limits = std::numeric_limits<int64_t>;
      return read_integer(reader, value, Limits::min(), Limits::max(),
                          *static_cast<int64_t*>(object));
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.integer(*static_cast<const int64_t*>(object));
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_for(const double*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("number", "");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      *static_cast<double*>(object) = value.as_double();
      return value.is_number() || reader.fail(value, "must be a number");
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.number(*static_cast<const double*>(object));
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_for(const std::string*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("string", "");
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      // A client's null is an absent string.
      *static_cast<std::string*>(object) = value.as_string();
      return value.is_string() || value.is_null() ||
             reader.fail(value, "must be a string (quote it)");
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.string(*static_cast<const std::string*>(object));
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return static_cast<const std::string*>(object)->empty();
    };
    return type;
  }();
  return kType;
}

const TypeInfo& type_for(const Json*) {
  static const TypeInfo kType = [] {
    TypeInfo type = scalar("", "");
    type.schema.preserve_unknown = true;
    type.read = [](const TypeInfo&, Reader&, const Json& value, void* object) {
      *static_cast<Json*>(object) = value;
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.value(*static_cast<const Json*>(object));
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return static_cast<const Json*>(object)->is_null();
    };
    return type;
  }();
  return kType;
}

}  // namespace fairlead::api::describe_detail
