#include <charconv>
#include <cmath>

#include "base/float_text.h"
#include "codec/json.h"
#include "codec/text_run.h"
#include "codec/utf8.h"

namespace fairlead::codec {
namespace {

void append_escape(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      out.append("\\u00").append({kHex[c >> 4], kHex[c & 15]});
  }
}

template <class T>
void append_number(std::string& out, T value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out.append(text, end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* p = text.data();
  const char* const end = p + text.size();
  while (true) {
    const char* stop = skip_run<RunOf::kAscii>(p, end);
    out.append(p, stop);
    if (stop == end) break;
    p = stop + 1;
    if (static_cast<unsigned char>(*stop) < 0x80) {
      append_escape(out, static_cast<unsigned char>(*stop));
      continue;
    }
    const size_t length = utf8_sequence({stop, static_cast<size_t>(end - stop)});
    if (length == 0) {
      out.append(kReplacementCharacter);
      continue;
    }
    out.append(stop, length);
    p = stop + length;
  }
  out.push_back('"');
}

void JsonWriter::separate() {
  if (comma_) out_.push_back(',');
  comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_.push_back(bracket);
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_.push_back(bracket);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_.push_back(':');
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

JsonWriter& JsonWriter::unsigned_integer(uint64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  base::append_float(out_, value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}

JsonWriter& JsonWriter::value(const Json& json) {
  switch (json.type()) {
    case JsonType::kNull:
      return null();
    case JsonType::kBool:
      return boolean(json.as_bool());
    case JsonType::kInteger:
      return json.as_int() < 0 ? integer(json.as_int()) : unsigned_integer(json.as_uint());
    case JsonType::kDouble:
      return number(json.as_double());
    case JsonType::kString:
      return string(json.as_string());
    case JsonType::kArray:
      begin_array();
      for (const Json& item : json.items()) value(item);
      return end_array();
    case JsonType::kObject:
      begin_object();
      for (const auto& [name, member] : json.members()) key(name).value(member);
      return end_object();
  }
  return *this;
}

std::string to_string(const Json& json) {
  std::string out;
  JsonWriter(out).value(json);
  return out;
}

}  // namespace fairlead::codec
