#include "engine/faults.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace fairlead::engine {

namespace {

constexpr double kSlowFactorMin = 0.01;
constexpr double kSlowFactorMax = 10'000;

base::Error wrong(std::string_view name, const codec::Json& value, std::string_view allowed) {
  return base::invalid_argument(
      fmt::format("{} is {}, allowed: {}", name, codec::to_string(value), allowed));
}

base::Result<> merge_member(Faults& f, std::string_view name, const codec::Json& value) {
  bool* flag = name == "hang" ? &f.hang : name == "freeze_metrics" ? &f.freeze_metrics : nullptr;
  if (flag != nullptr) {
    if (!value.is_bool()) return wrong(name, value, "true or false");
    *flag = value.as_bool();
    return {};
  }
  if (name == "refuse") {
    auto delay = base::parse_duration(value.as_string());
    if (!delay) return wrong(name, value, "a duration such as \"30s\"");
    f.refuse = *delay;
    return {};
  }
  if (name == "reset_after_chunks") {
    if (!value.is_integer() || value.as_int() < 0 || value.as_int() > UINT32_MAX) {
      return wrong(name, value, "a whole number, 0 for never");
    }
    f.reset_after_chunks = static_cast<uint32_t>(value.as_int());
    return {};
  }
  if (name == "error_rate") {
    const double rate = value.as_double();
    if (!value.is_number() || !(rate >= 0 && rate <= 1)) return wrong(name, value, "0 to 1");
    f.error_rate = rate;
    return {};
  }
  if (name == "error_status") {
    const int64_t status = value.as_int();
    if (!value.is_integer() || status < 400 || status > 599)
      return wrong(name, value, "400 to 599");
    f.error_status = static_cast<int>(status);
    return {};
  }
  if (name == "claim_running") {
    if (!value.is_integer() || value.as_int() < -1 || value.as_int() > UINT32_MAX) {
      return wrong(name, value, "a whole number, -1 for the truth");
    }
    f.claim_running = value.as_int();
    return {};
  }
  if (name == "slow_factor") {
    const double factor = value.as_double();
    if (!value.is_number() || !(factor >= kSlowFactorMin && factor <= kSlowFactorMax)) {
      return wrong(name, value, fmt::format("{} to {}", kSlowFactorMin, kSlowFactorMax));
    }
    f.slow_factor = factor;
    return {};
  }
  return base::invalid_argument(
      fmt::format("no fault is called {}; there are refuse, hang, reset_after_chunks, error_rate, "
                  "error_status, slow_factor, freeze_metrics and claim_running",
                  name));
}

}  // namespace

base::Result<Faults> merge_faults(const Faults& faults, const codec::Json& json) {
  if (!json.is_object()) return base::invalid_argument("faults are a JSON object");
  Faults merged = faults;
  for (const auto& [name, value] : json.members()) {
    if (auto done = merge_member(merged, name, value); !done) return done.error();
  }
  return merged;
}

std::string to_json(const Faults& f) {
  std::string out;
  codec::JsonWriter(out)
      .begin_object()
      .key("refuse")
      .string(base::to_string(f.refuse))
      .key("hang")
      .boolean(f.hang)
      .key("reset_after_chunks")
      .integer(f.reset_after_chunks)
      .key("error_rate")
      .number(f.error_rate)
      .key("error_status")
      .integer(f.error_status)
      .key("slow_factor")
      .number(f.slow_factor)
      .key("freeze_metrics")
      .boolean(f.freeze_metrics)
      .key("claim_running")
      .integer(f.claim_running)
      .end_object();
  return out;
}

}  // namespace fairlead::engine
