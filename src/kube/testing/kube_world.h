// A fake API server and clients of it in virtual time.
#pragma once

#include <gtest/gtest.h>

#include "api/pod.h"
#include "kube/client.h"
#include "kube/kind.h"
#include "kube/testing/fake_api.h"
#include "net/memory.h"
#include "rt/task_group.h"

namespace fairlead::kube {

inline const Resource kTestPods = resource_of<api::Pod>();

struct KubeWorld : testing::Test {
  base::ManualClock clock;
  rt::Loop loop{clock};
  net::MemoryNetwork network{loop, {.latency = std::chrono::milliseconds(1)}};
  net::Address address = *net::parse_address("10.0.0.1:80");
  FakeApi api{network, address};
  Client client{network, access(), {}};

  static Access access() {
    Access access;
    access.server = {.host = "10.0.0.1", .port = 80};
    return access;
  }
  // Runs the world on.
  void pass(base::Nanos time) { loop.run_until_idle(loop.now() + time); }
};

}  // namespace fairlead::kube
