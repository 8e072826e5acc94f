// `fairlead engine`: one simulated engine on one loop, over any network. In a test many of them run
// in one process in virtual time.
//
//   Engine engine(network, config, logger, {.id_seed = 7});
//   group.spawn(engine.run());
//   ...
//   engine.stop();
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/service.h"
#include "net/network.h"
#include "obs/log.h"

namespace fairlead::engine {

struct EngineOptions {
  uint64_t id_seed = 0;
  // How long run() waits for requests that are being answered once it was told to stop.
  base::Nanos drain_timeout = std::chrono::seconds(5);
};

class Engine {
 public:
  Engine(net::Network& network, EngineConfig config, obs::Logger& log, EngineOptions options);
  ~Engine();

  // Serves until stop(), or until its scope is cancelled; an error if it cannot listen.
  rt::Task<base::Result<>> run();
  // No new connections; run() ends when what runs has ended or the drain timeout is over. A second
  // call ends at once.
  void stop();

  // Where it listens, once it does.
  std::optional<net::Address> address() const { return address_; }
  const Core& core() const { return core_; }
  size_t requests_active() const { return service_.active(); }
  size_t connections() const;

 private:
  rt::Task<base::Result<net::Address>> resolve_host();
  rt::Task<base::Result<>> listen_until_told();
  rt::Task<void> refuse_for_a_while();
  rt::Task<void> serve(net::HttpServer& server);
  rt::Task<void> drain();

  net::Network& network_;
  const EngineConfig config_;
  obs::Logger& log_;
  const EngineOptions options_;
  rt::Loop& loop_;
  obs::Registry registry_;
  protocol::BuiltinTokenizer tokenizer_;
  protocol::EngineLimits limits_;
  Faults faults_;
  base::Random ids_;
  EngineMetrics metrics_;
  HttpMetrics http_;
  Core core_;
  Adapters adapters_;
  Context context_;
  Service service_;
  std::optional<net::Address> address_;
  int stops_ = 0;
  rt::WaitList stop_called_;
  // One a time of listening: to refuse connections the listener is closed, what is open lives on.
  std::vector<std::unique_ptr<net::HttpServer>> servers_;
  rt::TaskGroup serving_;
};

}  // namespace fairlead::engine
