// What `fairlead up` is told: one described struct, from which the command line makes its flags.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "codec/described.h"

namespace fairlead::laptop {

// Bounds.
inline constexpr uint32_t kEnginesMax = 16;
inline constexpr base::Nanos kStartTimeout = std::chrono::seconds(20);
inline constexpr base::Nanos kStopTimeout = std::chrono::seconds(5);
inline constexpr base::Nanos kAnswerTimeout = std::chrono::seconds(60);
// An engine that ended is started again after this, doubled each time up to the maximum.
inline constexpr base::Nanos kRestartDelayMin = std::chrono::seconds(2);
inline constexpr base::Nanos kRestartDelayMax = std::chrono::seconds(60);

struct LaptopConfig {
  uint16_t port = 18080;
  uint16_t metrics_port = 18081;
  uint32_t engines = 3;
  std::string model = "Qwen/Qwen3-0.6B";
  std::string profile = "rtx3060-qwen3-0.6b";
  std::string policy = "expected-ttft";
  bool once = false;
};

const codec::StructInfo& info_of(const LaptopConfig*);

}  // namespace fairlead::laptop
