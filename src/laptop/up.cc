#include "laptop/up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "laptop/first_answer.h"
#include "laptop/instance_lock.h"
#include "laptop/plan.h"
#include "net/tcp.h"
#include "rt/child.h"
#include "rt/signals.h"
#include "rt/task_group.h"

namespace fairlead::laptop {
namespace {

using namespace std::chrono_literals;
using base::Error;
using base::ErrorCode;

net::Address local(uint16_t port) { return {.bytes = {127, 0, 0, 1}, .port = port}; }

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(format, std::forward<Args>(args)...);
  std::fflush(stdout);
}

// A folder for the logs; removed when all went well, kept to be read where something did not.
class LogFolder {
 public:
  LogFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fairlead-up-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~LogFolder() {
    if (kept_ || path_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

class Laptop {
 public:
  Laptop(rt::Loop& loop, LaptopConfig config) : config_(std::move(config)), network_(loop) {}

  rt::Task<base::Result<>> run();

 private:
  struct Engine {
    uint16_t port = 0;
    std::optional<rt::Child> child;
    base::TimePoint restart_at = base::kNever;
    base::Nanos delay = kRestartDelayMin;
  };

  base::Result<> find_ports();
  base::Result<> start_all();
  base::Result<> start_engine(size_t index);
  rt::Task<base::Result<>> await_ready();
  rt::Task<base::Result<>> show_answer();
  base::Result<> look_after_children();
  void restart_due_engines();
  base::TimePoint next_restart() const;
  rt::Task<base::Result<>> until_told_to_stop();
  // Cancels the work in its scope when a signal says stop or a child ends before all is ready.
  rt::Task<void> watch_start(rt::Scope& work);
  rt::Task<void> stop_all();
  size_t running();

  LaptopConfig config_;
  net::TcpNetwork network_;
  rt::Signals signals_{network_.loop(), {SIGINT, SIGTERM, SIGCHLD}};
  LogFolder logs_;
  std::vector<Engine> engines_;
  std::optional<rt::Child> router_;
  bool told_to_stop_ = false;
  std::optional<Error> start_error_;
};

// Bound for a moment: a port in use is found before anything starts, and so are free ones.
base::Result<> Laptop::find_ports() {
  std::vector<std::unique_ptr<net::Listener>> held;
  for (const uint16_t port : {config_.port, config_.metrics_port}) {
    auto listener = network_.listen(local(port), net::PortSharing::kExclusive);
    if (!listener) {
      return Error(listener.error().code(),
                   fmt::format("port {} is in use by another program: end it (`ss -ltnp` shows "
                               "which), or choose others with --port and --metrics-port",
                               port));
    }
    held.push_back(std::move(*listener));
  }
  engines_.resize(config_.engines);
  for (Engine& engine : engines_) {
    auto listener = network_.listen(local(0), net::PortSharing::kExclusive);
    if (!listener) return listener.error();
    engine.port = (*listener)->address().port;
    held.push_back(std::move(*listener));
  }
  return {};
}

base::Result<> Laptop::start_engine(size_t index) {
  Engine& engine = engines_[index];
  auto child = rt::Child::start(engine_child(config_, index, engine.port, logs_.path()));
  if (!child) return child.error();
  engine.child.emplace(std::move(*child));
  engine.restart_at = base::kNever;
  return {};
}

base::Result<> Laptop::start_all() {
  std::vector<uint16_t> ports;
  for (size_t i = 0; i < engines_.size(); ++i) {
    const auto started = start_engine(i);
    if (!started) return started.error();
    ports.push_back(engines_[i].port);
  }
  auto router = rt::Child::start(router_child(config_, ports, logs_.path()));
  if (!router) return router.error();
  router_.emplace(std::move(*router));
  return {};
}

rt::Task<base::Result<>> Laptop::await_ready() {
  const base::TimePoint deadline = base::after(network_.loop().now(), kStartTimeout);
  for (Engine& engine : engines_) {
    auto up = co_await await_ok(network_, local(engine.port), "/health", "", deadline);
    if (!up) co_return up;
  }
  co_return co_await await_ok(network_, local(config_.port), "/v1/models", config_.model, deadline);
}

rt::Task<base::Result<>> Laptop::show_answer() {
  constexpr std::string_view kQuestion = "What swings on the first floor?";
  say("\nA first question, answered as a stream: {}\n\n  ", kQuestion);
  const auto answer = co_await first_answer(
      network_, local(config_.port), question(config_, kQuestion),
      [](std::string_view text) { say("{}", text); },
      base::after(network_.loop().now(), kAnswerTimeout));
  say("\n\n");
  if (!answer) co_return answer.error();
  say("{} tokens, the first after {:.0f} ms, the last after {:.0f} ms.\n", answer->pieces,
      base::to_ms(answer->first), base::to_ms(answer->whole));
  const std::string replica = picked(answer->explanation);
  if (!replica.empty()) say("The router picked {}.\n", replica);
  co_return base::Result<>();
}

rt::Task<void> Laptop::watch_start(rt::Scope& work) {
  while (true) {
    const int signal = co_await signals_.next();
    if (signal == 0) co_return;
    if (signal == SIGCHLD) {
      const auto ok = look_after_children();
      if (ok && running() == engines_.size() + 1) continue;
      if (!ok) start_error_ = ok.error();
    } else {
      told_to_stop_ = true;
    }
    work.cancel(rt::CancelReason::kShutdown);
  }
}

// What ended since the last look: an engine is started again later, the router ends everything.
base::Result<> Laptop::look_after_children() {
  for (size_t i = 0; i < engines_.size(); ++i) {
    Engine& engine = engines_[i];
    if (!engine.child || engine.child->running()) continue;
    say("{} (process {}) ended: {}. The router goes on without it; it starts again in {:.0f} s.\n",
        engine.child->name(), engine.child->pid(), engine.child->how_ended(),
        base::to_seconds(engine.delay));
    start_error_ = Error(ErrorCode::kUnavailable,
                         fmt::format("{} ended ({}); it wrote:\n{}", engine.child->name(),
                                     engine.child->how_ended(), engine.child->output()));
    engine.child.reset();
    engine.restart_at = base::after(network_.loop().now(), engine.delay);
    engine.delay = std::min(engine.delay * 2, kRestartDelayMax);
  }
  if (router_ && !router_->running()) {
    Error error(ErrorCode::kUnavailable, fmt::format("the router ended ({}); it wrote:\n{}",
                                                     router_->how_ended(), router_->output()));
    router_.reset();
    return error;
  }
  return {};
}

void Laptop::restart_due_engines() {
  for (size_t i = 0; i < engines_.size(); ++i) {
    if (engines_[i].restart_at > network_.loop().now()) continue;
    const auto started = start_engine(i);
    if (started) {
      say("{} started again as process {}.\n", engines_[i].child->name(), engines_[i].child->pid());
    } else {
      say("engine-{} cannot start: {}\n", i + 1, started.error().describe());
      engines_[i].restart_at = base::after(network_.loop().now(), engines_[i].delay);
    }
  }
}

base::TimePoint Laptop::next_restart() const {
  base::TimePoint at = base::kNever;
  for (const Engine& engine : engines_) at = std::min(at, engine.restart_at);
  return at;
}

size_t Laptop::running() {
  size_t count = router_ ? 1 : 0;
  for (const Engine& engine : engines_) count += engine.child ? 1 : 0;
  return count;
}

rt::Task<base::Result<>> Laptop::until_told_to_stop() {
  while (!told_to_stop_) {
    rt::Scope& scope = co_await rt::current_scope();
    rt::Scope turn(scope);
    turn.set_deadline(next_restart());
    const int signal = co_await signals_.next().in(turn);
    if (signal == SIGINT || signal == SIGTERM) break;
    if (signal == SIGCHLD) {
      const auto ok = look_after_children();
      if (!ok) co_return ok.error();
    }
    restart_due_engines();
  }
  co_return base::Result<>();
}

// The router first, so that no request meets an engine that is gone. A second Ctrl-C kills.
rt::Task<void> Laptop::stop_all() {
  if (router_) router_->signal(SIGINT);
  for (Engine& engine : engines_) {
    if (engine.child) engine.child->signal(SIGTERM);
  }
  rt::Scope wait(network_.loop());
  wait.set_deadline(base::after(network_.loop().now(), kStopTimeout));
  while (true) {
    if (router_ && !router_->running()) router_.reset();
    for (Engine& engine : engines_) {
      if (engine.child && !engine.child->running()) engine.child.reset();
    }
    if (running() == 0) co_return;
    const int signal = co_await signals_.next().in(wait);
    if (signal != SIGCHLD) break;  // out of patience, or of time
  }
  router_.reset();
  for (Engine& engine : engines_) engine.child.reset();
}

rt::Task<base::Result<>> Laptop::run() {
  if (logs_.path().empty()) {
    co_return Error(ErrorCode::kUnavailable, "cannot make a folder for logs: is TMPDIR writable?");
  }
  base::Result<> result = find_ports();
  if (result) result = start_all();
  if (result) {
    say("{} simulated engines ({}) and a router start on 127.0.0.1; logs are in {}\n",
        engines_.size(), config_.profile, logs_.path());
    rt::Scope work(network_.loop());
    rt::TaskGroup watchers(network_.loop());
    watchers.spawn(watch_start(work));
    result = co_await await_ready().in(work);
    if (result) {
      say("ready: http://127.0.0.1:{} (metrics: http://127.0.0.1:{}/metrics)\n", config_.port,
          config_.metrics_port);
      result = co_await show_answer().in(work);
    }
    watchers.cancel(rt::CancelReason::kShutdown);
    static_cast<void>(co_await watchers.join());
    if (!result && start_error_) result = *start_error_;
    if (told_to_stop_) result = base::Result<>();
  }
  if (result && !told_to_stop_) {
    say("\nTry next, in another terminal:\n\n{}\n", next_steps(config_, program_invocation_name));
    if (!config_.once) {
      say("Running; Ctrl-C stops everything.\n");
      result = co_await until_told_to_stop();
    }
  }
  if (!result) logs_.keep();
  co_await stop_all();
  if (told_to_stop_ || !config_.once) say("stopped\n");
  co_return result;
}

}  // namespace

int run(const LaptopConfig& config) {
  const auto lock = InstanceLock::take(config.port);
  if (!lock) {
    fmt::print(stderr, "fairlead up: {}\n", lock.error().describe());
    return 1;
  }
  rt::block_signals({SIGINT, SIGTERM, SIGCHLD});
  rt::Loop loop;
  Laptop laptop(loop, config);
  const auto result = loop.block_on(laptop.run());
  if (result) return 0;
  fmt::print(stderr, "fairlead up: {}\n", result.error().describe());
  return 1;
}

}  // namespace fairlead::laptop
