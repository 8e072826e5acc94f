// Fleet: what a comparison of policies runs on. For each policy a router and simulated engines of
// its own, all children of this process on free ports of 127.0.0.1, so that no policy meets a cache
// that another one filled.
//
//   auto fleet = co_await Fleet::start(network, {.policies = {"round-robin", "prefix-cache"}});
//   fleet->url("prefix-cache");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/network.h"
#include "rt/child.h"
#include "rt/task.h"

namespace fairlead::bench {

struct FleetOptions {
  std::vector<std::string> policies;
  uint32_t engines = 2;  // behind each router
  std::string profile;
  uint32_t max_num_seqs = 16;
  std::string binary = rt::kSelf;
};

class Fleet {
 public:
  static constexpr std::string_view kModel = "bench";

  // Returns when every router answers for its engines, or says which process did not and what it
  // wrote.
  static rt::Task<base::Result<Fleet>> start(net::Network& network, FleetOptions options);

  // Of the router with that policy.
  std::string url(std::string_view policy) const;

 private:
  struct Router {
    std::string policy;
    uint16_t port = 0;
  };
  std::vector<rt::Child> children_;
  std::vector<Router> routers_;
};

}  // namespace fairlead::bench
