#include "kube/wire_time.h"

#include "api/time.h"

namespace fairlead::kube {
namespace {

// What nanoseconds can say: 292 years either way.
constexpr auto kFarthest =
    std::chrono::floor<std::chrono::microseconds>(std::chrono::nanoseconds::max());

api::Time on_the_wire(base::WallTime time) {
  return {std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch())};
}

}  // namespace

std::optional<base::WallTime> parse_time(std::string_view text) {
  const base::Result<api::Time> time = api::Time::parse(text);
  if (!time || std::chrono::abs(time->since_epoch) > kFarthest) return std::nullopt;
  return base::WallTime(time->since_epoch);
}

std::string time_text(base::WallTime time) { return on_the_wire(time).text(); }

std::string micro_time_text(base::WallTime time) {
  return api::MicroTime{on_the_wire(time)}.text();
}

}  // namespace fairlead::kube
