// Time and Duration as Kubernetes writes them: "2026-11-30T08:00:00Z", "1m30s".
//
// Time counts from the Unix epoch, in UTC. Times of leases and events carry microseconds
// (MicroTime); the rest are whole seconds. The default, the epoch, is an absent time.
#pragma once

#include <chrono>
#include <compare>
#include <string>
#include <string_view>

#include "api/type_info.h"
#include "base/result.h"

namespace fairlead::api {

struct Time {
  std::chrono::microseconds since_epoch{0};

  // RFC 3339, with any offset; finer than a microsecond is cut.
  static base::Result<Time> parse(std::string_view text);
  std::string text() const;  // "2026-11-30T08:00:00Z"
  auto operator<=>(const Time&) const = default;
};

struct MicroTime {
  Time time;
  std::string text() const;  // "2026-11-30T08:00:00.000001Z"
  auto operator<=>(const MicroTime&) const = default;
};

// Go's durations: "1h2m3.5s", "250ms", "-5s", "0". Within 292 years.
struct Duration {
  std::chrono::nanoseconds value{0};

  static base::Result<Duration> parse(std::string_view text);
  std::string text() const;  // "1m30s", "0s", "1.5s", "250ms", as Go prints it
  auto operator<=>(const Duration&) const = default;
};

const TypeInfo& type_of(const Time*);
const TypeInfo& type_of(const MicroTime*);
const TypeInfo& type_of(const Duration*);

}  // namespace fairlead::api
