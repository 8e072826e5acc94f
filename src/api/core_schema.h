// Schemas of Kubernetes' own types that ours embed: PodSpec, EnvVar, ResourceRequirements and what
// they consist of. They are data (core_schema.json), made from Kubernetes' OpenAPI document by
// tools/core_schema, because our code keeps these values as JSON.
#pragma once

#include <string_view>

#include "api/schema.h"

namespace fairlead::api {

extern const std::string_view kCoreSchemaJson;

// `name` is one of the types in the data; anything else is a bug and aborts. Any thread.
const Schema& core_schema(std::string_view name);

}  // namespace fairlead::api
