// Goodput: the answers that kept what users were promised.
//
// An answer keeps the limits if it came without error, its first token within `ttft`, and its later
// tokens on average within `itl` of each other (so one slow token does not spoil an answer; the
// largest pause has numbers of its own). An answer of one token has no ITL to miss. Pure.
//
//   keeps({.ttft = 500ms, .itl = 50ms}, sample);
#pragma once

#include <optional>

#include "base/clock.h"
#include "workload/samples.h"

namespace fairlead::workload {

struct Limits {
  std::optional<base::Nanos> ttft;
  std::optional<base::Nanos> itl;

  bool any() const { return ttft || itl; }
};

// The time of a token after the first, on average; nothing for an answer of fewer than two.
std::optional<base::Nanos> mean_itl(const Sample& sample);
bool keeps(const Limits& limits, const Sample& sample);

}  // namespace fairlead::workload
