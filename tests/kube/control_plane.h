// A real API server for a program of tests: started with the first test that needs it, ended with
// the program. Each test has a namespace of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "kube/client.h"
#include "kube/kind.h"
#include "net/tcp.h"
#include "rt/child.h"
#include "rt/loop.h"

namespace fairlead::kube {

inline const Resource kConfigMaps = resource_of<api::ConfigMap>();
inline const Resource kNamespaces = resource_of<api::Namespace>();

class ControlPlane {
 public:
  // The one of all tests that need no more than an API server.
  static ControlPlane& running();
  // With parts such as "scheduler". Aborts with its output if it does not start.
  explicit ControlPlane(const std::vector<std::string>& parts);
  ~ControlPlane();

  std::string kubeconfig() const { return folder_ + "/kubeconfig"; }
  const std::string& folder() const { return folder_; }  // ends with it
  // The definitions of others, not yet applied.
  std::string definitions() const { return folder_ + "/crds"; }
  // Runs kubectl as admin; its output if it succeeded, else an error with it.
  base::Result<std::string> kubectl(std::vector<std::string> words) const;
  Access access(const std::string& context) const;
  // Kills the API server and starts it again; returns at once, restarts() tells when it is ready.
  void restart() { child_->signal(SIGUSR1); }
  int restarts() const;

 private:
  std::string folder_;
  std::unique_ptr<rt::Child> child_;
};

class RealApi : public testing::Test {
 protected:
  RealApi();

  template <class T>
  T run(rt::Task<T> task) {
    return loop.block_on(std::move(task));
  }
  static std::string config_map(const std::string& name, const std::string& value,
                                const std::string& version = "");

  ControlPlane& plane = ControlPlane::running();
  rt::Loop loop;
  net::TcpNetwork network{loop};
  Client client{network, plane.access("admin"), {.user_agent = "tests"}};
  std::string space;
};

// Asks again and again until it holds; false at the deadline.
template <class Condition>
rt::Task<bool> eventually(rt::Loop& loop, Condition& condition, base::Nanos within) {
  const base::TimePoint deadline = base::after(loop.now(), within);
  while (!condition()) {
    if (loop.now() >= deadline) co_return false;
    co_await rt::sleep_until(base::after(loop.now(), std::chrono::milliseconds(20)));
  }
  co_return true;
}

}  // namespace fairlead::kube
