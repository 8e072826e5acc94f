// What the debug server says: the configuration as the router holds it, in the paths and shapes of
// the Kthena router's dump.
//
//   GET /debug/config_dump/KIND                        {"KIND":[...]}, null where there is none
//   GET /debug/config_dump/namespaces/NS/KIND/NAME     one object
//
// A back end of a flag or file is a pod of the namespace "default" that is called host:port; the
// kinds of objects that live in a cluster are empty. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pick/columns.h"

namespace fairlead::router {

struct DebugPod {
  std::string name;     // host:port
  std::string address;  // what it resolved to, without the port
  pick::Health health = pick::Health::kSuspect;
  uint32_t in_flight = 0;
  pick::Scraped scraped;
  std::vector<std::string> models;
};

struct DebugAnswer {
  int status = 200;
  std::string json;
};

DebugAnswer debug_dump(std::string_view path, std::span<const DebugPod> pods);

}  // namespace fairlead::router
