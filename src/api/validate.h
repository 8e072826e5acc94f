// An API server's verdict on an object of one of our kinds: the limits of its definition, then the
// CEL rules. What only an admission webhook asks is in rules.h.
//
//   const Json stored = admit_fields(resource.schema, object);
//   for (const FieldError& e : validate(resource, stored, nullptr)) ...
#pragma once

#include <vector>

#include "api/admission.h"
#include "api/custom_resource.h"

namespace fairlead::api {

// `stored` is what admit_fields made of the object, `old` what is stored so far, nullptr for a new
// object. Rules are asked only where the limits are kept. `resource` is one of custom_resources().
std::vector<FieldError> validate(const CustomResource& resource, const Json& stored,
                                 const Json* old);

}  // namespace fairlead::api
