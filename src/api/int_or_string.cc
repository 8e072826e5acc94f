#include "api/int_or_string.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "api/describe.h"

namespace fairlead::api {

base::Result<int64_t> IntOrString::resolve(int64_t total, Rounding rounding) const {
  if (const int32_t* number = std::get_if<int32_t>(&value)) return int64_t{*number};
  const std::string& words = std::get<std::string>(value);
  int32_t percent = 0;
  const char* end = words.data() + words.size();
  const auto [stop, failure] = std::from_chars(words.data(), end, percent);
  if (failure != std::errc() || stop + 1 != end || *stop != '%') {
    return base::invalid_argument(
        fmt::format("'{}' must be a number or a percentage such as 25%", words));
  }
  const double share = static_cast<double>(percent) * static_cast<double>(total) / 100.0;
  const auto floor = static_cast<int64_t>(std::floor(share));
  return rounding == Rounding::kUp ? static_cast<int64_t>(std::ceil(share)) : floor;
}

std::string IntOrString::text() const {
  if (const int32_t* number = std::get_if<int32_t>(&value)) return fmt::to_string(*number);
  return std::get<std::string>(value);
}

const TypeInfo& type_of(const IntOrString*) {
  static const TypeInfo kType = [] {
    TypeInfo type = describe_detail::scalar("", "");
    type.schema.int_or_string = true;
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      auto& out = *static_cast<IntOrString*>(object);
      if (value.is_string()) {
        out = IntOrString(value.as_string());
        return true;
      }
      int64_t number = 0;
      using Limits = std::numeric_limits<int32_t>;
      if (!value.is_number()) return reader.fail(value, "must be an integer or a percentage");
      if (!describe_detail::read_integer(reader, value, Limits::min(), Limits::max(), number)) {
        return false;
      }
      out = IntOrString(static_cast<int32_t>(number));
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      const auto& value = static_cast<const IntOrString*>(object)->value;
      if (const int32_t* number = std::get_if<int32_t>(&value)) {
        out.integer(*number);
      } else {
        out.string(std::get<std::string>(value));
      }
    };
    return type;
  }();
  return kType;
}

}  // namespace fairlead::api
