#include "protocol/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "protocol/python_text.h"

namespace fairlead::protocol {
namespace {

using codec::Json;

std::string repr(const Json& value) {
  std::string text;
  append_python_repr(text, value);
  return text;
}

std::string field(std::string_view key) {
  std::string where = ", ";
  append_python_repr(where, key);
  return where;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Conversion {
  std::string_view error, message;
};

constexpr Conversion kIntType{"int_type", "Input should be a valid integer"};
constexpr Conversion kIntParsing{
    "int_parsing", "Input should be a valid integer, unable to parse string as an integer"};
constexpr Conversion kIntFromFloat{
    "int_from_float", "Input should be a valid integer, got a number with a fractional part"};
constexpr Conversion kFloatType{"float_type", "Input should be a valid number"};
constexpr Conversion kFloatParsing{
    "float_parsing", "Input should be a valid number, unable to parse string as a number"};
constexpr Conversion kBoolType{"bool_type", "Input should be a valid boolean"};
constexpr Conversion kBoolParsing{"bool_parsing",
                                  "Input should be a valid boolean, unable to interpret input"};
constexpr Conversion kStringType{"string_type", "Input should be a valid string"};
constexpr Conversion kDictType{"dict_type", "Input should be a valid dictionary"};
constexpr Conversion kListType{"list_type", "Input should be a valid list"};

std::optional<int64_t> to_integer(const Json& value, Conversion& why) {
  why = kIntType;
  if (value.is_bool()) return value.as_bool() ? 1 : 0;
  if (value.is_integer()) return value.as_int();
  if (value.is_number()) {
    const double number = value.as_double();
    why = kIntFromFloat;
    if (number != std::trunc(number) || std::fabs(number) >= 0x1p63) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (!value.is_string()) return std::nullopt;
  why = kIntParsing;
  return parse_whole<int64_t>(value.as_string());
}

std::optional<double> to_number(const Json& value, Conversion& why) {
  why = kFloatType;
  if (value.is_bool()) return value.as_bool() ? 1 : 0;
  if (value.is_number()) return value.as_double();
  if (!value.is_string()) return std::nullopt;
  why = kFloatParsing;
  return parse_whole<double>(value.as_string());
}

std::optional<bool> to_boolean(const Json& value, Conversion& why) {
  why = kBoolType;
  if (value.is_bool()) return value.as_bool();
  if (value.is_number()) {
    const double number = value.as_double();
    if (number != std::trunc(number)) return std::nullopt;
    why = kBoolParsing;
    if (number != 0 && number != 1) return std::nullopt;
    return number == 1;
  }
  if (!value.is_string()) return std::nullopt;
  why = kBoolParsing;
  std::string word = value.as_string();
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  for (const std::string_view yes : {"1", "true", "t", "yes", "y", "on"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "f", "no", "n", "off"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

void append_error_repr(std::string& out, const FieldError& error) {
  out.append("{'type': ");
  append_python_repr(out, error.type);
  out.append(", 'loc': ('body',");
  // A tuple of one keeps its comma, a longer one has none at the end.
  if (!error.where.empty()) out.append(error.where, 1);
  out.append("), 'msg': ");
  append_python_repr(out, error.message);
  out.append(", 'input': ").append(error.input);
  if (!error.context.empty()) out.append(", 'ctx': ").append(error.context);
  out.push_back('}');
}

}  // namespace

ApiError validation_error(const Endpoint& endpoint, std::span<const FieldError> errors,
                          std::optional<std::string> param) {
  std::string lines, list;
  for (const FieldError& error : errors) {
    std::string text;
    append_error_repr(text, error);
    lines.append("  ").append(text).push_back('\n');
    list.append(list.empty() ? "" : ", ").append(text);
  }
  std::string message = fmt::format(
      "{} validation error{}:\n{}\n  File \"site-packages/vllm/entrypoints/utils.py\", line {}, in "
      "{}\n    POST {} [{}]",
      errors.size(), errors.size() == 1 ? "" : "s", lines, endpoint.line, endpoint.handler,
      endpoint.path, list);
  return {.status = 400,
          .message = std::move(message),
          .type = "Bad Request",
          .param = std::move(param),
          .code = 400};
}

Refusal refusal_of(std::span<const FieldError> errors, const Endpoint& endpoint) {
  if (errors.empty()) return std::nullopt;
  return validation_error(endpoint, errors);
}

Refusal parse_body(std::string_view body, const Endpoint& endpoint, Json& out) {
  if (body.empty()) {
    const FieldError error{.type = "missing", .message = "Field required", .input = "None"};
    return validation_error(endpoint, {&error, 1});
  }
  auto parsed = codec::parse_json(body);
  if (!parsed) {
    const auto why = codec::valid_utf8(body) ? python_json_error(body) : std::nullopt;
    if (!why) {
      return ApiError{.status = 400,
                      .message = "There was an error parsing the body",
                      .type = "Bad Request",
                      .code = 400};
    }
    FieldError error{.type = "json_invalid",
                     .where = fmt::format(", {}", why->position),
                     .message = "JSON decode error",
                     .input = "{}",
                     .context = "{'error': "};
    append_python_repr(error.context, why->message);
    error.context.push_back('}');
    return validation_error(endpoint, {&error, 1});
  }
  if (!parsed->is_object()) {
    const FieldError error{
        .type = "model_attributes_type",
        .message = "Input should be a valid dictionary or object to extract fields from",
        .input = repr(*parsed)};
    return validation_error(endpoint, {&error, 1});
  }
  out = std::move(*parsed);
  return std::nullopt;
}

BodyReader BodyReader::inside(std::string_view key, const Json& object) const {
  return BodyReader(object, errors_, where_ + field(key));
}

const Json* BodyReader::find(std::string_view key, Null null) const {
  const Json* value = object_.find(key);
  return value != nullptr && value->is_null() && null == Null::kAllowed ? nullptr : value;
}

void BodyReader::wrong(std::string_view type, std::string_view path, std::string_view message,
                       const Json& input, std::string context) {
  errors_.push_back({.type = std::string(type),
                     .where = where_ + std::string(path),
                     .message = std::string(message),
                     .input = repr(input),
                     .context = std::move(context)});
}

void BodyReader::missing(std::string_view key) {
  wrong("missing", field(key), "Field required", object_);
}

std::optional<int64_t> BodyReader::integer(std::string_view key, Null null) {
  const Json* value = find(key, null);
  if (value == nullptr) return std::nullopt;
  Conversion why;
  const auto result = to_integer(*value, why);
  if (!result) wrong(why.error, field(key), why.message, *value);
  return result;
}

std::optional<double> BodyReader::number(std::string_view key, Null null) {
  const Json* value = find(key, null);
  if (value == nullptr) return std::nullopt;
  Conversion why;
  const auto result = to_number(*value, why);
  if (!result) wrong(why.error, field(key), why.message, *value);
  return result;
}

std::optional<bool> BodyReader::boolean(std::string_view key, Null null) {
  const Json* value = find(key, null);
  if (value == nullptr) return std::nullopt;
  Conversion why;
  const auto result = to_boolean(*value, why);
  if (!result) wrong(why.error, field(key), why.message, *value);
  return result;
}

std::optional<std::string> BodyReader::string(std::string_view key, Null null) {
  const Json* value = find(key, null);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->as_string();
  wrong(kStringType.error, field(key), kStringType.message, *value);
  return std::nullopt;
}

std::vector<int64_t> BodyReader::integers(std::string_view key, Null null) {
  std::vector<int64_t> result;
  const Json* list = array(key, null);
  if (list == nullptr) return result;
  for (size_t i = 0; i < list->items().size(); ++i) {
    Conversion why;
    const auto item = to_integer(list->items()[i], why);
    if (item) {
      result.push_back(*item);
    } else {
      wrong(why.error, fmt::format("{}, {}", field(key), i), why.message, list->items()[i]);
    }
  }
  return result;
}

std::vector<std::string> BodyReader::string_or_strings(std::string_view key) {
  const Json* value = find(key, Null::kAllowed);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->as_string()};
  std::vector<std::string> result;
  const size_t errors_before = errors_.size();
  wrong(kStringType.error, field(key) + ", 'str'", kStringType.message, *value);
  if (!value->is_array()) {
    wrong(kListType.error, field(key) + ", 'list[str]'", kListType.message, *value);
    return result;
  }
  for (size_t i = 0; i < value->items().size(); ++i) {
    const Json& item = value->items()[i];
    if (item.is_string()) {
      result.push_back(item.as_string());
    } else {
      wrong(kStringType.error, fmt::format("{}, 'list[str]', {}", field(key), i),
            kStringType.message, item);
    }
  }
  // Only if neither fits are both complained about.
  if (errors_.size() == errors_before + 1) errors_.resize(errors_before);
  return result;
}

const Json* BodyReader::object(std::string_view key) {
  const Json* value = find(key, Null::kAllowed);
  if (value == nullptr || value->is_object()) return value;
  wrong(kDictType.error, field(key), kDictType.message, *value);
  return nullptr;
}

const Json* BodyReader::array(std::string_view key, Null null) {
  const Json* value = find(key, null);
  if (value == nullptr || value->is_array()) return value;
  wrong(kListType.error, field(key), kListType.message, *value);
  return nullptr;
}

bool is_true(const Json* value) {
  if (value == nullptr) return false;
  switch (value->type()) {
    case codec::JsonType::kNull:
      return false;
    case codec::JsonType::kBool:
      return value->as_bool();
    case codec::JsonType::kInteger:
    case codec::JsonType::kDouble:
      return value->as_double() != 0;
    case codec::JsonType::kString:
      return !value->as_string().empty();
    case codec::JsonType::kArray:
      return !value->items().empty();
    case codec::JsonType::kObject:
      return !value->members().empty();
  }
  return false;
}

}  // namespace fairlead::protocol
