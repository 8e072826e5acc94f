#include "codec/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace fairlead::codec {
namespace {

using base::Result;

uint32_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : static_cast<uint32_t>(mark.line) + 1;
}

base::Error error_at(uint32_t line, std::string_view why) {
  return base::invalid_argument(line == 0 ? fmt::format("YAML: {}", why)
                                          : fmt::format("YAML line {}: {}", line, why));
}

std::optional<Json> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!negative) return Json::unsigned_integer(value);
  constexpr uint64_t kMinMagnitude = uint64_t{1} << 63;
  if (value > kMinMagnitude) return std::nullopt;
  return Json::integer(static_cast<int64_t>(0 - value));
}

std::optional<Json> double_of(std::string_view text) {
  const std::string_view digits =
      text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  // from_chars knows names such as "inf" and "nan" that YAML spells in another way.
  if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Json::number(value);
}

Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return Json();
  if (text == "true" || text == "True" || text == "TRUE") return Json::boolean(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json::boolean(false);
  if (auto integer = integer_of(text)) return std::move(*integer);
  if (auto number = double_of(text)) return std::move(*number);
  return Json::string(text);
}

class Converter {
 public:
  Result<Json> convert(const YAML::Node& node, size_t depth) {
    const uint32_t line = line_of(node.Mark());
    if (depth > kYamlDepthMax) return error_at(line, "nested too deeply");
    if (++nodes_ > kYamlNodesMax) return error_at(line, "too many values");
    Result<Json> json = convert_any(node, depth);
    if (json && json->line() == 0) json->set_line(line);
    return json;
  }

 private:
  Result<Json> convert_any(const YAML::Node& node, size_t depth) {
    if (node.IsSequence()) return sequence(node, depth);
    if (node.IsMap()) return mapping(node, depth);
    if (!node.IsScalar()) return Json();
    // "?" is the tag of a plain scalar; "!" that of a quoted one.
    if (node.Tag() == "?" || node.Tag().empty()) return plain_scalar(node.Scalar());
    return Json::string(node.Scalar());
  }

  Result<Json> sequence(const YAML::Node& node, size_t depth) {
    std::vector<Json> items;
    for (const YAML::Node& child : node) {
      Result<Json> item = convert(child, depth + 1);
      if (!item) return item;
      items.push_back(std::move(*item));
    }
    return Json::array(std::move(items));
  }

  Result<Json> mapping(const YAML::Node& node, size_t depth) {
    std::vector<Json::Member> members;
    std::vector<std::string_view> keys;
    for (const auto& entry : node) {
      const uint32_t line = line_of(entry.first.Mark());
      if (!entry.first.IsScalar()) return error_at(line, "a key must be a scalar");
      Result<Json> value = convert(entry.second, depth + 1);
      if (!value) return value;
      value->set_line(line);
      members.emplace_back(entry.first.Scalar(), std::move(*value));
    }
    if (auto repeated = first_repeated(members)) {
      return error_at(repeated->second.line(), fmt::format("'{}' is repeated", repeated->first));
    }
    return Json::object(std::move(members));
  }

  static const Json::Member* first_repeated(const std::vector<Json::Member>& members) {
    std::vector<const Json::Member*> sorted;
    for (const Json::Member& member : members) sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->first < b->first; });
    const auto it =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const auto* a, const auto* b) { return a->first == b->first; });
    return it == sorted.end() ? nullptr : *(it + 1);
  }

  size_t nodes_ = 0;
};

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  if (text.size() > kYamlBytesMax.count) {
    return error_at(
        0, fmt::format("{} bytes are more than {}", text.size(), base::to_string(kYamlBytesMax)));
  }
  if (!valid_utf8(text)) return error_at(0, "invalid UTF-8");
  // yaml-cpp reports by exceptions; they end here.
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return Json();
    if (documents.size() > 1) {
      return error_at(line_of(documents[1].Mark()), "only one document is allowed");
    }
    return Converter().convert(documents[0], 0);
  } catch (const YAML::Exception& e) {
    return error_at(line_of(e.mark), e.msg);
  }
}

}  // namespace fairlead::codec
