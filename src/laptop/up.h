// `fairlead up`: simulated engines and a router on this machine, a first answer, then two commands
// to try. The engines and the router are child processes of this binary, so that one can be killed
// or stopped by hand to see what the others do; an engine that ends is started again.
#pragma once

#include "laptop/config.h"

namespace fairlead::laptop {

// Until Ctrl-C or SIGTERM, on a loop of its own: 0 then, and after the first answer with `once`; 1
// where something could not start, with the reason and what to do on standard error. SIGINT,
// SIGTERM and SIGCHLD must be blocked (rt::block_signals).
int run(const LaptopConfig& config);

}  // namespace fairlead::laptop
