// A proxy before an API server that delays, splits and cuts what goes through it, from a seed.
#pragma once

#include <list>
#include <memory>

#include "base/random.h"
#include "net/network.h"
#include "rt/task_group.h"

namespace fairlead::kube {

struct ChaosOptions {
  uint64_t seed = 1;
  // Of each piece that passes: how often it is held up, cut into smaller ones, or ends all.
  double delay = 0.05;
  double split = 0.3;
  double cut = 0.002;
  base::Nanos delay_max = std::chrono::milliseconds(50);
};

class ChaosProxy {
 public:
  ChaosProxy(net::Network& network, net::Address target, ChaosOptions options);
  ~ChaosProxy() { CHECK(group_.running() == 0, "stop() is awaited first"); }

  net::Address address() const { return listener_->address(); }
  uint64_t cuts() const { return cuts_; }
  uint64_t delays() const { return delays_; }
  uint64_t splits() const { return splits_; }
  uint64_t connections() const { return connections_; }
  // From now on nothing is held up or cut.
  void calm() { calm_ = true; }
  // From now on nothing comes back: requests arrive, and their answers do not.
  void hold_answers() { held_ = true; }
  rt::Task<void> stop();

 private:
  rt::Task<void> accept();
  rt::Task<void> relay(std::unique_ptr<net::ByteStream> client);
  enum class Carries : uint8_t { kRequests, kAnswers };
  rt::Task<void> pump(net::ByteStream& from, net::ByteStream& to, Carries what);

  net::Network& network_;
  net::Address target_;
  ChaosOptions options_;
  base::Random random_;
  bool calm_ = false;
  bool held_ = false;
  uint64_t cuts_ = 0;
  uint64_t delays_ = 0;
  uint64_t splits_ = 0;
  uint64_t connections_ = 0;
  std::unique_ptr<net::Listener> listener_;
  rt::TaskGroup group_;
};

}  // namespace fairlead::kube
