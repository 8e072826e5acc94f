// What an API server does to an object of a schema before it stores it: drop what it does not know,
// fill in defaults, and refuse what the schema does not allow.
//
//   Json stored = admit_fields(schema, object);
//   for (const FieldError& e : check(schema, stored)) ...   // spec.rules[0].weight: must be ...
//
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/schema.h"

namespace fairlead::api {

inline constexpr size_t kFieldErrorsMax = 100;

struct FieldError {
  std::string field;    // "spec.rules[0].weight"; empty for the object as a whole
  std::string message;  // what is wrong and what is allowed
  bool operator==(const FieldError&) const = default;
};

// What is being done to the object.
enum class Operation : uint8_t { kCreate, kUpdate };

std::string describe(const std::vector<FieldError>& errors);

// Unknown fields are dropped, nulls where null is not allowed count as absent, absent fields get
// their defaults. At the root apiVersion, kind and metadata stay as they are.
Json admit_fields(const Schema& root, const Json& object);

// Types, enums, ranges, lengths, patterns, formats, required fields and unique list keys: all
// errors, at most kFieldErrorsMax, in the object's order. CEL rules are not asked. As in API
// servers, the format int32 bounds nothing: what is stored may not be readable (type_info.h).
std::vector<FieldError> check(const Schema& root, const Json& object);

}  // namespace fairlead::api
