// Configuration structs known by their fields: read from JSON or YAML, set from flags, printed with
// type, default and doc. This header is the light half; the description itself is made by
// reflect.h, in the .cc beside the struct.
//
//   // config.h
//   struct RouterConfig { uint16_t port = 8080; base::Nanos connect_timeout = 1s; };
//   const codec::StructInfo& info_of(const RouterConfig*);      // found by argument-dependent
//   lookup
//
//   // config.cc: see reflect.h
//   // elsewhere
//   auto config = read_described<RouterConfig>(*parse_yaml(text));
//   if (!config) ...  // "line 3: port is 70000: must be an integer from 1 to 65535"
//   set_field(*config, "connect-timeout", "500ms");
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace fairlead::codec {

class Reader;
struct StructInfo;

enum class ValueKind : uint8_t {
  kBool,
  kInteger,
  kDouble,
  kString,
  kEnum,
  kSize,
  kDuration,
  kStruct
};
enum class FieldShape : uint8_t { kOne, kOptional, kList };

struct FieldInfo {
  std::string name;  // in files: connect_timeout
  std::string doc;
  std::string type;  // "duration", "integer from 1 to 65535", "list of string"
  ValueKind kind = ValueKind::kString;
  FieldShape shape = FieldShape::kOne;
  bool required = false;
  const StructInfo* nested = nullptr;  // kStruct: what it, or each item, consists of

  void* (*member)(void* owner) = nullptr;
  bool (*read)(Reader& reader, const Json& value, void* member) = nullptr;
  // As read, but one value more for a list.
  bool (*read_item)(Reader& reader, const Json& value, void* member) = nullptr;
  void (*write)(JsonWriter& out, const void* owner) = nullptr;
};

struct StructInfo {
  std::vector<FieldInfo> fields;
  std::string defaults;  // a default-constructed struct as JSON
};

// How a walk over a tree goes: where it is, and the first error.
class Reader {
 public:
  // With `warnings`, unknown keys are put there instead of failing.
  explicit Reader(std::vector<std::string>* warnings) : warnings_(warnings) {}

  bool read_struct(const StructInfo& info, const Json& value, void* object);
  // Keeps the first: "line 3: port is 70000: must be an integer from 1 to 65535".
  bool fail(const Json& value, std::string_view requirement);
  // "line 3: port: <text>", for readers of a shape that no struct describes.
  void warn(const Json& value, std::string_view text);
  base::Error error() const { return base::invalid_argument(error_); }

  // Adds ".name" or "[2]" to the path as long as it lives.
  class Step {
   public:
    Step(Reader& reader, std::string_view name);
    Step(Reader& reader, size_t index);
    ~Step() { reader_.path_.resize(length_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Reader& reader_;
    size_t length_;
  };

 private:
  bool unknown(const StructInfo& info, std::string_view key, const Json& value);
  bool fail_text(const Json& value, std::string text);

  std::vector<std::string>* warnings_;
  std::string path_;
  std::string error_;
};

// Sets one field from text, as a flag does: name in either spelling ("connect-timeout",
// "connect_timeout"), nested fields after a dot, a list gets one item more.
base::Result<void> set_field(const StructInfo& info, void* object, std::string_view name,
                             std::string_view text);

// A field as a flag, for --help and docs; nested structs are flattened ("limits.header-bytes"),
// lists of structs have no flag.
struct FlagHelp {
  std::string flag;
  std::string type;
  std::string default_text;  // empty if there is none
  std::string doc;
  ValueKind kind;
  FieldShape shape;
  bool required;
};
std::vector<FlagHelp> flags_of(const StructInfo& info);

template <class T>
const StructInfo& info_for() {
  return info_of(static_cast<const T*>(nullptr));
}

// Members that the tree does not name keep their initialisers. The error names line (where the tree
// is from YAML), field, value and what is allowed.
template <class T>
base::Result<T> read_described(const Json& tree, std::vector<std::string>* warnings = nullptr) {
  T object{};
  Reader reader(warnings);
  if (!reader.read_struct(info_for<T>(), tree, &object)) return reader.error();
  return object;
}

template <class T>
base::Result<void> set_field(T& object, std::string_view name, std::string_view text) {
  return set_field(info_for<T>(), &object, name, text);
}

void write_described(JsonWriter& out, const StructInfo& info, const void* object);

template <class T>
void write_described(JsonWriter& out, const T& object) {
  write_described(out, info_for<T>(), &object);
}

}  // namespace fairlead::codec
