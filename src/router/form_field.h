// Fields of a multipart/form-data body. Pure.
//
// Read as strictly as engines read it (python-multipart), so that router and engine never see two
// requests in one: a boundary counts only at the start of a line and whole, a part only with its
// end, a part with a file name is no field, and of repeated fields the last one counts.
#pragma once

#include <string_view>

namespace fairlead::router {

// The value of the field `name`; empty if there is none.
std::string_view form_field(std::string_view content_type, std::string_view body,
                            std::string_view name);

}  // namespace fairlead::router
