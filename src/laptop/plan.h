// What `fairlead up` starts, and what it tells a newcomer to try: functions of the configuration
// and of the ports that were found, so that they are tested without a process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "laptop/config.h"
#include "rt/child.h"

namespace fairlead::laptop {

// Logs are written to `log_folder`/engine-1.log and so on.
rt::ChildOptions engine_child(const LaptopConfig& config, size_t index, uint16_t port,
                              const std::string& log_folder);
rt::ChildOptions router_child(const LaptopConfig& config, std::span<const uint16_t> engine_ports,
                              const std::string& log_folder);

// The body of the first question, and of the curl that is shown: a system prompt long enough that a
// second question under it is answered from the cache.
std::string question(const LaptopConfig& config, std::string_view text);
// The two commands to try next, ready to paste; `program` is how this one was called.
std::string next_steps(const LaptopConfig& config, std::string_view program);
// Of what the router explained: "127.0.0.1:9001, because ..."; empty if it said nothing.
std::string picked(std::string_view explanation);

}  // namespace fairlead::laptop
