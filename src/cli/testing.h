// A configuration with a field of each kind, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "codec/described.h"

namespace fairlead::cli {

struct TestConfig {
  uint16_t port = 8080;
  base::Nanos wait_max = std::chrono::milliseconds(1500);
  std::string name;
  bool fast = false;
  bool log = true;
  std::vector<std::string> backend;
};

const codec::StructInfo& info_of(const TestConfig*);

}  // namespace fairlead::cli
