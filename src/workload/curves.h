// Curves: what plots of a run show, thinned to what an eye can tell apart. Pure.
//
//   const Curves curves = make_curves(log);
#pragma once

#include <vector>

#include "workload/samples.h"

namespace fairlead::workload {

struct Point {
  double x = 0;
  double y = 0;
};

struct Curves {
  static constexpr size_t kDotsMax = 1000;

  // The percent (y) of the answers, or of the gaps between tokens, that took at most x ms.
  std::vector<Point> ttft;
  std::vector<Point> itl;
  std::vector<Point> whole;
  // Of single answers, at most kDotsMax, evenly picked: seconds into the run, TTFT in ms.
  std::vector<Point> ttft_over_time;
};

// Of the answers without error. A curve that has nothing to show is empty.
Curves make_curves(const RunLog& log);

}  // namespace fairlead::workload
