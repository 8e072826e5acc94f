// Runs one engine as a process: real time, TCP, until SIGTERM or SIGINT (a second one ends at
// once).
#pragma once

#include "base/result.h"
#include "engine/config.h"

namespace fairlead::engine {

// Call it before any thread is started: it blocks those signals. An error if the engine cannot
// listen.
base::Result<> run_engine(EngineConfig config);

}  // namespace fairlead::engine
