// JSON: an immutable tree, a strict parser, a writer that appends.
//
//   auto body = parse_json(R"({"model":"m","n":2})");
//   if (!body) return body.error();               // "JSON at byte 9 (line 1): expected ..."
//   const Json* n = body->find("n");              // nullptr if absent
//   JsonWriter w(out);
//   w.begin_object().key("id").string(id).key("n").integer(n->as_int()).end_object();
//
// Values are plain data: copies are deep, const access is safe on any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fairlead::codec {

inline constexpr size_t kJsonDepthMax = 128;
inline constexpr base::Bytes kJsonBytesMax{256u << 20};

enum class JsonType : uint8_t { kNull, kBool, kInteger, kDouble, kString, kArray, kObject };
std::string_view to_string(JsonType type);

class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  static Json boolean(bool value) { return Json(value); }
  static Json integer(int64_t value) { return Json(value); }
  static Json unsigned_integer(uint64_t value);
  static Json number(double value) { return Json(value); }
  static Json string(std::string value) { return Json(std::move(value)); }
  static Json array(std::vector<Json> items) { return Json(std::move(items)); }
  // Keys must differ; parse_json sees to that for what it builds.
  static Json object(std::vector<Member> members) { return Json(std::move(members)); }

  JsonType type() const;
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  // Written without fraction and exponent, and between -2^63 and 2^64 - 1.
  bool is_integer() const;
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
  bool is_object() const { return std::holds_alternative<std::vector<Member>>(value_); }

  // Asked for another type than it holds, each returns that type's empty value, so that walking
  // untrusted input needs no check at every step.
  bool as_bool() const;
  int64_t as_int() const;    // integers, saturating; a double is 0
  uint64_t as_uint() const;  // integers, negative ones are 0
  double as_double() const;  // any number
  const std::string& as_string() const;
  std::span<const Json> items() const;
  std::span<const Member> members() const;
  // The member of an object; nullptr if absent or if this is no object.
  const Json* find(std::string_view key) const;

  // 1-based line in the YAML it was read from; 0 otherwise. Not part of equality.
  uint32_t line() const { return line_; }
  void set_line(uint32_t line) { line_ = line; }

  bool operator==(const Json& other) const { return value_ == other.value_; }

 private:
  // uint64_t holds only what does not fit int64_t.
  using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string,
                             std::vector<Json>, std::vector<Member>>;
  explicit Json(Value value) : value_(std::move(value)) {}

  Value value_;
  uint32_t line_ = 0;
};

struct JsonLimits {
  size_t depth = kJsonDepthMax;
  base::Bytes size = kJsonBytesMax;
};

// Strict JSON (RFC 8259, valid UTF-8, no unpaired surrogate, numbers within double). Object order
// is kept; of a repeated key the first place and the last value, as in Python. The error names byte
// offset and line.
base::Result<Json> parse_json(std::string_view text, JsonLimits limits = {});

// Compact, without spaces. A double never prints as an integer: 1.0 stays "1.0".
std::string to_string(const Json& json);

bool valid_utf8(std::string_view text);

// Appends a quoted JSON string. Bytes that are no UTF-8 become U+FFFD, so the result is always
// valid.
void append_json_string(std::string& out, std::string_view text);

// Appends one value to a string it does not own; commas and colons are its business, balance the
// caller's.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& integer(int64_t value);
  JsonWriter& unsigned_integer(uint64_t value);
  JsonWriter& number(double value);  // shortest text that reads back the same; not finite is null
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // must be one JSON value
  JsonWriter& value(const Json& json);

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool comma_ = false;
};

}  // namespace fairlead::codec
