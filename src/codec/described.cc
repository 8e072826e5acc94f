#include "codec/described.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "codec/suggest.h"

namespace fairlead::codec {
namespace {

constexpr size_t kShownBytesMax = 80;     // of a value in an error message
constexpr size_t kWarningBytesMax = 400;  // of a warning's text

std::string shown(const Json& value) {
  std::string text = value.is_string() ? fmt::format("'{}'", value.as_string()) : to_string(value);
  if (text.size() <= kShownBytesMax) return text;
  return fmt::format("{} of {} bytes", to_string(value.type()), text.size());
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const FieldInfo* find_field(const StructInfo& info, std::string_view name) {
  const auto it = std::find_if(info.fields.begin(), info.fields.end(), [&](const FieldInfo& field) {
    return std::equal(name.begin(), name.end(), field.name.begin(), field.name.end(),
                      [](char a, char b) { return a == b || (a == '-' && b == '_'); });
  });
  return it == info.fields.end() ? nullptr : &*it;
}

std::string suggestion(const StructInfo& info, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(info.fields.size());
  for (const FieldInfo& field : info.fields) names.push_back(field.name);
  const std::string_view nearest = nearest_name(name, names);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("known are {}", fmt::join(names, ", "));
}

template <class T>
bool whole_number(std::string_view text, T& value) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The value that `text` is for a field of this kind; a string where it is none, so that the reader
// complains with the field's own words.
Json from_text(ValueKind kind, std::string_view text) {
  int64_t integer = 0;
  uint64_t natural = 0;
  double number = 0;
  switch (kind) {
    case ValueKind::kBool:
      if (text == "true" || text == "false") return Json::boolean(text == "true");
      break;
    case ValueKind::kInteger:
    case ValueKind::kSize:
      if (whole_number(text, integer)) return Json::integer(integer);
      if (whole_number(text, natural)) return Json::unsigned_integer(natural);
      break;
    case ValueKind::kDouble:
      if (whole_number(text, number)) return Json::number(number);
      break;
    case ValueKind::kDuration:
    case ValueKind::kString:
    case ValueKind::kEnum:
    case ValueKind::kStruct:
      break;
  }
  return Json::string(std::string(text));
}

std::string default_text(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  if (value->is_string()) return value->as_string();
  if (value->is_array() && value->items().empty()) return "";
  return to_string(*value);
}

void add_flags(const StructInfo& info, const Json& defaults, const std::string& prefix,
               std::vector<FlagHelp>& flags) {
  for (const FieldInfo& field : info.fields) {
    const std::string flag = prefix + with_dashes(field.name);
    const Json* value = defaults.find(field.name);
    if (field.kind != ValueKind::kStruct) {
      flags.push_back({flag, field.type, field.required ? "" : default_text(value), field.doc,
                       field.kind, field.shape, field.required});
    } else if (field.shape == FieldShape::kOne) {
      add_flags(*field.nested, value == nullptr ? Json() : *value, flag + '.', flags);
    }
  }
}

}  // namespace

Reader::Step::Step(Reader& reader, std::string_view name)
    : reader_(reader), length_(reader.path_.size()) {
  if (length_ != 0) reader.path_.push_back('.');
  reader.path_.append(name);
}

Reader::Step::Step(Reader& reader, size_t index) : reader_(reader), length_(reader.path_.size()) {
  reader.path_.append(fmt::format("[{}]", index));
}

bool Reader::fail_text(const Json& value, std::string text) {
  if (!error_.empty()) return false;
  error_ = value.line() == 0 ? std::move(text) : fmt::format("line {}: {}", value.line(), text);
  return false;
}

bool Reader::fail(const Json& value, std::string_view requirement) {
  return fail_text(value, fmt::format("{} is {}: {}", path_.empty() ? "the document" : path_,
                                      shown(value), requirement));
}

void Reader::warn(const Json& value, std::string_view text) {
  if (warnings_ == nullptr) return;
  std::string warning = path_.empty() ? std::string(text) : fmt::format("{}: {}", path_, text);
  if (warning.size() > kWarningBytesMax) warning = warning.substr(0, kWarningBytesMax) + "...";
  if (value.line() != 0) warning = fmt::format("line {}: {}", value.line(), warning);
  warnings_->push_back(std::move(warning));
}

bool Reader::unknown(const StructInfo& info, std::string_view key, const Json& value) {
  const Step step(*this, key.substr(0, kShownBytesMax));
  const std::string text = fmt::format("unknown field {}: {}", path_, suggestion(info, key));
  if (warnings_ == nullptr) return fail_text(value, text);
  warnings_->push_back(value.line() == 0 ? text : fmt::format("line {}: {}", value.line(), text));
  return true;
}

bool Reader::read_struct(const StructInfo& info, const Json& value, void* object) {
  // What YAML makes of an empty file, or of a key whose fields are all commented out.
  const bool is_empty = value.is_null();
  if (!is_empty && !value.is_object()) return fail(value, "must be a mapping of fields");
  for (const auto& [key, member] : value.members()) {
    const auto field = std::find_if(info.fields.begin(), info.fields.end(),
                                    [&](const FieldInfo& known) { return known.name == key; });
    if (field == info.fields.end()) {
      if (!unknown(info, key, member)) return false;
      continue;
    }
    const Step step(*this, key);
    if (!field->read(*this, member, field->member(object))) return false;
  }
  for (const FieldInfo& field : info.fields) {
    if (!field.required || value.find(field.name) != nullptr) continue;
    const Step step(*this, field.name);
    return fail_text(value, fmt::format("{} is required: {}", path_, field.doc));
  }
  return true;
}

base::Result<void> set_field(const StructInfo& info, void* object, std::string_view name,
                             std::string_view text) {
  const StructInfo* scope = &info;
  std::string_view rest = name;
  const FieldInfo* field = nullptr;
  while (true) {
    const std::string_view step = rest.substr(0, rest.find('.'));
    field = find_field(*scope, step);
    if (field == nullptr) {
      return base::invalid_argument(
          fmt::format("unknown field {}: {}", name, suggestion(*scope, step)));
    }
    object = field->member(object);
    if (step.size() == rest.size()) break;
    if (field->kind != ValueKind::kStruct || field->shape != FieldShape::kOne) {
      return base::invalid_argument(fmt::format("{} has no fields of its own", step));
    }
    rest.remove_prefix(step.size() + 1);
    scope = field->nested;
  }
  Reader reader(nullptr);
  const Reader::Step step(reader, name);
  if (!field->read_item(reader, from_text(field->kind, text), object)) return reader.error();
  return {};
}

std::vector<FlagHelp> flags_of(const StructInfo& info) {
  std::vector<FlagHelp> flags;
  const base::Result<Json> defaults = parse_json(info.defaults);
  CHECK(defaults.ok(), "the defaults were written by write_described");
  add_flags(info, *defaults, "", flags);
  return flags;
}

void write_described(JsonWriter& out, const StructInfo& info, const void* object) {
  out.begin_object();
  for (const FieldInfo& field : info.fields) {
    out.key(field.name);
    field.write(out, object);
  }
  out.end_object();
}

}  // namespace fairlead::codec
