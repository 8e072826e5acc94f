#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "codec/json.h"
#include "codec/json_scanner.h"

namespace fairlead::codec {
namespace {

using base::Result;
namespace dom = simdjson::dom;

Json build(const dom::element& element);

// Up to this many members a repeated key is found by comparing all; past it by a hash table, so
// that a body of many keys costs no quadratic time.
constexpr size_t kComparedMembersMax = 16;

class MemberList {
 public:
  explicit MemberList(size_t count) : hashed_(count > kComparedMembersMax) {
    members_.reserve(count);
  }

  void add(std::string_view key, Json value) {
    const size_t place = find(key);
    if (place != members_.size()) {
      members_[place].second = std::move(value);
      return;
    }
    members_.emplace_back(key, std::move(value));
    // Keys point into the parser's buffer, which outlives this list.
    if (hashed_) places_.emplace(key, place);
  }
  std::vector<Json::Member> take() { return std::move(members_); }

 private:
  size_t find(std::string_view key) const {
    if (hashed_) {
      const auto it = places_.find(key);
      return it == places_.end() ? members_.size() : it->second;
    }
    const auto it = std::find_if(members_.begin(), members_.end(),
                                 [&](const Json::Member& member) { return member.first == key; });
    return static_cast<size_t>(it - members_.begin());
  }

  bool hashed_;
  std::vector<Json::Member> members_;
  std::unordered_map<std::string_view, size_t> places_;
};

Json build_array(const dom::array& array) {
  std::vector<Json> items;
  items.reserve(array.size());
  for (const dom::element item : array) items.push_back(build(item));
  return Json::array(std::move(items));
}

Json build_object(const dom::object& object) {
  MemberList members(object.size());
  for (const auto& field : object) members.add(field.key, build(field.value));
  return Json::object(members.take());
}

// The type was asked first, so the unchecked getters cannot fail.
Json build(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return build_array(element.get_array().value_unsafe());
    case dom::element_type::OBJECT:
      return build_object(element.get_object().value_unsafe());
    case dom::element_type::INT64:
      return Json::integer(element.get_int64().value_unsafe());
    case dom::element_type::UINT64:
      return Json::unsigned_integer(element.get_uint64().value_unsafe());
    case dom::element_type::DOUBLE:
      return Json::number(element.get_double().value_unsafe());
    case dom::element_type::STRING:
      return Json::string(std::string(element.get_string().value_unsafe()));
    case dom::element_type::BOOL:
      return Json::boolean(element.get_bool().value_unsafe());
    case dom::element_type::NULL_VALUE:
      break;
  }
  return Json();
}

template <class T>
std::errc number_error(std::string_view text) {
  T value{};
  return std::from_chars(text.data(), text.data() + text.size(), value).ec;
}

bool number_fits(std::string_view text) {
  if (text.find_first_of(".eE") != std::string_view::npos) {
    return number_error<double>(text) == std::errc();
  }
  return number_error<int64_t>(text) == std::errc() || number_error<uint64_t>(text) == std::errc();
}

// Walks to the first value that the grammar allows and the tree cannot hold.
bool locate(JsonScanner& in) {
  std::string decoded;
  switch (in.peek()) {
    case '{':
      return in.object([&](const JsonText& key) {
        return key.decode(decoded) ? locate(in) : in.fail("unpaired surrogate in a key");
      });
    case '[':
      return in.array([&] { return locate(in); });
    case '"': {
      JsonText text;
      if (!in.string(text)) return false;
      return text.decode(decoded) || in.fail("unpaired surrogate in a string");
    }
    default: {
      std::string_view text;
      if (!in.scalar(text)) return false;
      const bool is_number = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
      return !is_number || number_fits(text) || in.fail("number out of range");
    }
  }
}

// simdjson says what is wrong but not where; a second, slower pass finds the place.
base::Error explain(std::string_view text, size_t depth_max, simdjson::error_code code) {
  if (!valid_utf8(text)) return utf8_error(text);
  JsonScanner in(text, depth_max);
  if (!locate(in) || !in.finish()) return in.error();
  return base::invalid_argument(fmt::format("JSON: {}", simdjson::error_message(code)));
}

}  // namespace

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

Result<Json> parse_json(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.size.count) {
    return base::invalid_argument(fmt::format("JSON of {} bytes is larger than the limit of {}",
                                              text.size(), base::to_string(limits.size)));
  }
  dom::parser parser;
  simdjson::error_code code = parser.allocate(std::max<size_t>(text.size(), 1), limits.depth);
  dom::element root;
  if (code == simdjson::SUCCESS) code = parser.parse(text.data(), text.size()).get(root);
  if (code != simdjson::SUCCESS) return explain(text, limits.depth, code);
  return build(root);
}

}  // namespace fairlead::codec
