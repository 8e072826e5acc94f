// What is known of a C++ type that stands for a JSON value: how to read and write it, whether it is
// there, and its schema. The light half; describe.h makes it, in the .cc beside the struct.
//
//   // model_server.h
//   struct ModelServer { ... };
//   const TypeInfo& type_of(const ModelServer*);   // found by argument-dependent lookup
//   // elsewhere
//   auto server = read<ModelServer>(json);   // "spec.workloadPort.port is '80': must be an
//   integer" std::string text = write(*server);
//
// Member names are the JSON names, without a trailing underscore (`namespace_`). A std::optional,
// an empty string, list, map or structure is absent: reading null leaves it so, and it is not
// written unless it is required. Reading checks types only; limits are the business of admission.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "base/result.h"
#include "codec/described.h"
#include "codec/json.h"

namespace fairlead::api {

using codec::JsonWriter;
using codec::Reader;

struct TypeInfo;

// What a partial view of a foreign struct does not name, so that writing it loses nothing.
using Unknown = std::vector<Json::Member>;

// One member of a described struct.
struct FieldInfo {
  std::string name;
  const TypeInfo* type = nullptr;
  void* (*member)(void* owner) = nullptr;
  bool required = false;
};

struct TypeInfo {
  bool (*read)(const TypeInfo& self, Reader& reader, const Json& value, void* object) = nullptr;
  void (*write)(const TypeInfo& self, JsonWriter& out, const void* object) = nullptr;
  bool (*absent)(const TypeInfo& self, const void* object) = nullptr;
  Schema schema;

  // Structs only. `unknown` holds what a partial view does not name; it is written back.
  std::vector<FieldInfo> fields;
  void* (*unknown)(void* owner) = nullptr;  // an Unknown
  // Kinds only: written first, and compared when read.
  std::string api_version;
  std::string kind;
};

base::Result<> read_into(const TypeInfo& type, const Json& json, void* object,
                         std::vector<std::string>* warnings);
void write_to(const TypeInfo& type, std::string& out, const void* object);

// Unknown fields are ignored, as a server that prunes them would; with `warnings` each is named.
// The error names field, value and what is allowed.
template <class T>
base::Result<T> read(const Json& json, std::vector<std::string>* warnings = nullptr) {
  T object{};
  auto done = read_into(type_of(static_cast<const T*>(nullptr)), json, &object, warnings);
  if (!done) return done.error();
  return object;
}

template <class T>
std::string write(const T& object) {
  std::string out;
  write_to(type_of(&object), out, &object);
  return out;
}

}  // namespace fairlead::api
