#include <cstdint>
#include <string_view>

#include "api/int_or_string.h"
#include "api/quantity.h"
#include "api/time.h"
#include "base/check.h"

// What is read prints a text that reads back equal: quantities, times, durations.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::api;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto quantity = Quantity::parse(text)) {
    const auto again = Quantity::parse(quantity->canonical());
    CHECK(again.ok() && *again == *quantity, "a canonical quantity reads back equal");
    quantity->value();
    quantity->milli_value();
  }
  if (const auto time = Time::parse(text)) {
    const auto again = Time::parse(MicroTime{*time}.text());
    CHECK(again.ok() && *again == *time, "a time reads back equal");
  }
  if (const auto duration = Duration::parse(text)) {
    const auto again = Duration::parse(duration->text());
    CHECK(again.ok() && *again == *duration, "a duration reads back equal");
  }
  IntOrString(std::string(text)).resolve(1000, Rounding::kUp).ok();
  return 0;
}
