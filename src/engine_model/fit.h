// Runs the model through the workloads of a profile's published figures and says how far off it is.
#pragma once

#include <vector>

#include "engine_model/profile.h"

namespace fairlead::engine_model {

struct Fit {
  const PublishedFigure* figure = nullptr;
  double modelled = 0;
  double error = 0;  // modelled / published - 1
};

std::vector<Fit> fit(const Profile& profile);

}  // namespace fairlead::engine_model
