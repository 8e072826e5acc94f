#include "engine/run.h"

#include <csignal>

#include "base/random.h"
#include "engine/engine.h"
#include "net/tcp.h"
#include "rt/signals.h"
#include "rt/task_group.h"

namespace fairlead::engine {

namespace {

rt::Task<void> stop_on_signal(rt::Loop& loop, Engine& engine) {
  rt::Signals signals(loop, {SIGTERM, SIGINT});
  for (;;) {
    const int signal = co_await signals.next();
    if (signal == 0) co_return;
    engine.stop();
  }
}

rt::Task<base::Result<>> serve(rt::Loop& loop, Engine& engine) {
  rt::TaskGroup signals(loop);
  signals.spawn(stop_on_signal(loop, engine));
  base::Result<> result = co_await engine.run();
  signals.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await signals.join());
  co_return result;
}

}  // namespace

base::Result<> run_engine(EngineConfig config) {
  rt::block_signals({SIGTERM, SIGINT});
  rt::Loop loop;
  net::TcpNetwork network(loop);
  obs::Logger log(loop.clock());
  Engine engine(network, std::move(config), log, {.id_seed = base::random_seed()});
  return loop.block_on(serve(loop, engine));
}

}  // namespace fairlead::engine
