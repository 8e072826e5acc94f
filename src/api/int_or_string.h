// IntOrString: a number, or a percentage of something: 2, "25%".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/type_info.h"
#include "base/result.h"

namespace fairlead::api {

enum class Rounding : uint8_t { kUp, kDown };

struct IntOrString {
  std::variant<int32_t, std::string> value = 0;

  IntOrString() = default;
  explicit IntOrString(int32_t number) : value(number) {}
  explicit IntOrString(std::string text) : value(std::move(text)) {}

  // The number itself, or that share of `total`. A string must be a whole percentage, "25%".
  base::Result<int64_t> resolve(int64_t total, Rounding rounding) const;
  std::string text() const;
  bool operator==(const IntOrString&) const = default;
};

const TypeInfo& type_of(const IntOrString*);

}  // namespace fairlead::api
