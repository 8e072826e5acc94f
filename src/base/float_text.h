// The text of a double: the fewest digits that read back as the same number, always recognisable as
// a float ("3.0", "0.0001", "1e-05", "1e+16", "inf", "nan"). It is what Python's repr and JSON
// writers built on it print, so engines and clients compare equal to it byte for byte.
#pragma once

#include <string>

namespace fairlead::base {

void append_float(std::string& out, double value);

}  // namespace fairlead::base
