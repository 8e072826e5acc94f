// Quantity: Kubernetes' amounts, "500m", "1.5Gi", "2e3", exact to a billionth.
//
//   auto memory = Quantity::parse("1Gi");
//   memory->value() == 1 << 30;
//   Quantity::parse("1000m") == Quantity::parse("1");   // equal by value
//
// The text it was read from is kept and written back; canonical() is what an API server prints.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/type_info.h"
#include "base/result.h"

namespace fairlead::api {

class Quantity {
 public:
  Quantity() = default;  // 0
  explicit Quantity(int64_t value);
  // A finer part than a billionth is rounded away from zero; more than 2^63 - 1 is that.
  static base::Result<Quantity> parse(std::string_view text);

  const std::string& text() const { return text_; }
  std::string canonical() const;
  int64_t value() const { return scaled(1'000'000'000); }    // rounded away from zero
  int64_t milli_value() const { return scaled(1'000'000); }  // rounded away from zero, saturating
  double as_double() const;

  bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }
  std::strong_ordering operator<=>(const Quantity& other) const { return nanos_ <=> other.nanos_; }

 private:
  enum class Format : uint8_t { kDecimal, kBinary, kExponent };
  friend class QuantityParser;

  int64_t scaled(int64_t nanos_a_unit) const;

  __extension__ __int128 nanos_ = 0;
  std::string text_ = "0";
  Format format_ = Format::kDecimal;
};

const TypeInfo& type_of(const Quantity*);

}  // namespace fairlead::api
