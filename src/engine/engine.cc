#include "engine/engine.h"

#include <fmt/format.h>

#include "base/duration.h"

namespace fairlead::engine {

namespace {

obs::RegistryOptions python_style(base::WallTime created) {
  return {.style = obs::Style::kPython, .created = created};
}

protocol::EngineLimits limits_of(const EngineConfig& config, const protocol::Tokenizer& tokenizer) {
  protocol::EngineLimits limits;
  limits.served_names = config.served_model_names;
  if (limits.served_names.empty()) limits.served_names = {config.model};
  limits.max_model_len = config.max_model_len;
  limits.max_logprobs = config.max_logprobs;
  limits.vocabulary = tokenizer.vocabulary();
  limits.auto_tool_choice = config.enable_auto_tool_choice;
  limits.embedding_size = config.embedding_size;
  limits.is_matryoshka = config.is_matryoshka;
  limits.matryoshka_dimensions = config.matryoshka_dimensions;
  return limits;
}

net::ServerOptions server_options() {
  net::ServerOptions options;
  options.body_bytes_max = kRequestBodyMax;
  options.idle_timeout = std::chrono::seconds(5);  // as uvicorn's keep-alive
  return options;
}

}  // namespace

Engine::Engine(net::Network& network, EngineConfig config, obs::Logger& log, EngineOptions options)
    : network_(network),
      config_(std::move(config)),
      log_(log),
      options_(options),
      loop_(network.loop()),
      registry_(python_style(loop_.clock().wall())),
      limits_(limits_of(config_, tokenizer_)),
      faults_(config_.faults),
      ids_(options.id_seed),
      metrics_(registry_, config_),
      http_(registry_, loop_.clock().wall()),
      core_(loop_, config_, metrics_),
      adapters_(config_),
      context_{config_, tokenizer_, limits_, loop_, core_, adapters_, metrics_, faults_, ids_},
      service_(context_, registry_, http_),
      serving_(loop_) {
  add_process_metrics(registry_, loop_.clock().wall());
  if (faults_.hang) core_.stop(Core::Stop::kHang);
}

Engine::~Engine() = default;

size_t Engine::connections() const {
  size_t count = 0;
  for (const auto& server : servers_) count += server->connections();
  return count;
}

rt::Task<base::Result<net::Address>> Engine::resolve_host() {
  const net::HostPort host{config_.host.empty() ? "0.0.0.0" : config_.host, config_.port};
  auto addresses =
      co_await network_.resolve(host, base::after(loop_.now(), std::chrono::seconds(10)));
  if (!addresses) co_return addresses.error().wrap(fmt::format("--host {}", config_.host));
  if (addresses->empty()) {
    co_return base::invalid_argument(fmt::format("--host {}: no address", config_.host));
  }
  co_return addresses->front();
}

rt::Task<base::Result<>> Engine::run() {
  if (!config_.ignored_flags.empty()) {
    std::string flags;
    for (const std::string& flag : config_.ignored_flags)
      flags += (flags.empty() ? "" : " ") + flag;
    log_.warn("flags without a meaning in a simulated engine", {{"flags", flags}});
  }
  auto address = co_await resolve_host();
  if (!address) co_return address.error();
  address_ = *address;
  base::Result<> listened;
  while (listened && stops_ == 0) {
    if (faults_.refuse > base::Nanos(0)) co_await refuse_for_a_while();
    if (stops_ == 0) listened = co_await listen_until_told();
    rt::Scope& scope = co_await rt::current_scope();
    if (scope.cancelled()) break;
  }
  if (listened && stops_ > 0) co_await drain();
  serving_.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await serving_.join());
  co_return listened;
}

rt::Task<void> Engine::drain() {
  const base::TimePoint deadline = base::after(loop_.now(), options_.drain_timeout);
  for (auto& server : servers_) server->drain();
  for (auto& server : servers_) {
    const bool ended = co_await server->drained(deadline);
    if (!ended) log_.warn("requests cut off", {{"after", base::to_string(options_.drain_timeout)}});
  }
}

rt::Task<void> Engine::serve(net::HttpServer& server) {
  co_await server.run();
  if (stops_ > 0) co_return;
  std::erase_if(servers_, [&](const auto& one) { return one.get() == &server; });
}

rt::Task<void> Engine::refuse_for_a_while() {
  log_.info("refusing connections", {{"for", base::to_string(faults_.refuse)}});
  const base::TimePoint until =
      base::after(loop_.now(), std::exchange(faults_.refuse, base::Nanos(0)));
  while (stops_ == 0) {
    const rt::WaitStatus status = co_await stop_called_.wait(until);
    if (status != rt::WaitStatus::kReady) co_return;
  }
}

rt::Task<base::Result<>> Engine::listen_until_told() {
  auto& server = *servers_.emplace_back(
      std::make_unique<net::HttpServer>(network_, service_, server_options()));
  if (auto done = server.listen(*address_, net::PortSharing::kExclusive); !done) co_return done;
  address_ = server.address();
  log_.info("engine listening", {{"address", net::to_string(*address_)},
                                 {"model", config_.served_name()},
                                 {"profile", config_.profile.name},
                                 {"blocks", config_.model_config.num_gpu_blocks}});
  serving_.spawn(serve(server));
  while (stops_ == 0 && faults_.refuse == base::Nanos(0)) {
    const rt::WaitStatus status = co_await service_.faults_changed().wait();
    if (status != rt::WaitStatus::kReady) break;
  }
  server.stop_accepting();
  co_return base::Result<>();
}

void Engine::stop() {
  if (++stops_ > 1) serving_.cancel(rt::CancelReason::kShutdown);
  stop_called_.notify_all();
  service_.faults_changed().notify_all();
}

}  // namespace fairlead::engine
