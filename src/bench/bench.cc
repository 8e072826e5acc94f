#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <tuple>

#include "base/hash.h"
#include "base/random.h"
#include "bench/fleet.h"
#include "bench/load.h"
#include "bench/progress.h"
#include "net/http_client.h"
#include "net/tcp.h"
#include "rt/signals.h"
#include "rt/task_group.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using base::Nanos;
using base::TimePoint;

constexpr Nanos kLookupTimeout = 10s;
// Overload: so many requests a client, of short answers, over one prefix.
constexpr uint64_t kOverloadRequestsEach = 4;

using Targets = std::vector<std::unique_ptr<LoadTarget>>;

rt::Task<base::Result<Endpoint>> resolve(net::Network& network, std::string label,
                                         std::string url) {
  const auto host = net::parse_backend_url(url);
  if (!host) co_return host.error();
  const TimePoint deadline = base::after(network.loop().now(), kLookupTimeout);
  const auto addresses = co_await network.resolve(*host, deadline);
  if (!addresses) co_return addresses.error().wrap(fmt::format("target '{}'", label));
  co_return Endpoint{.label = std::move(label),
                     .host = fmt::format("{}:{}", host->host, host->port),
                     .address = addresses->front()};
}

// The first model that the target lists.
rt::Task<base::Result<std::string>> first_model(net::Network& network, const Endpoint& endpoint) {
  const TimePoint deadline = base::after(network.loop().now(), kLookupTimeout);
  auto stream = co_await network.connect(endpoint.address, deadline);
  if (!stream) {
    co_return stream.error().wrap(fmt::format(
        "no connection to {} ({}): start a router and engines with `fairlead up`, or name a server "
        "with --url",
        endpoint.label, endpoint.host));
  }
  net::ClientConnection connection(std::move(*stream));
  const auto answer =
      co_await net::fetch(connection, {.target = "/v1/models", .host = endpoint.host}, deadline);
  if (!answer) co_return answer.error().wrap(fmt::format("{} lists no models", endpoint.label));
  const auto json = codec::parse_json(answer->body);
  const codec::Json* data = json ? json->find("data") : nullptr;
  if (answer->status != 200 || data == nullptr || data->items().empty()) {
    co_return base::Error(base::ErrorCode::kNotFound,
                          fmt::format("{} lists no model (GET /v1/models answered {}): name one "
                                      "with --model",
                                      endpoint.label, answer->status));
  }
  const codec::Json* id = data->items().front().find("id");
  co_return id == nullptr ? "" : id->as_string();
}

LoadOptions load_options(const BenchConfig& config, workload::PromptOptions prompts) {
  return {.shape = {.api = config.api,
                    .model = config.model,
                    .max_tokens = config.max_tokens,
                    .streaming = config.stream ? Streaming::kYes : Streaming::kNo},
          .prompts = prompts,
          .timeout = config.timeout,
          .extra_fields = config.explain ? "x-fairlead-explain: 1\r\n" : ""};
}

SliceOptions slice_of(const BenchConfig& config, uint32_t round) {
  SliceOptions slice{.requests = std::nullopt,
                     .duration = std::nullopt,
                     .concurrency = config.concurrency,
                     .rate = config.rate};
  if (const auto all = requests_of(config)) {
    slice.requests = *all * (round + 1) / config.rounds - *all * round / config.rounds;
  }
  if (config.duration) slice.duration = *config.duration / config.rounds;
  return slice;
}

// Every round each target gets its slice, and the order turns, so that none is always first.
rt::Task<void> take_turns(Targets& targets, BenchConfig config) {
  const rt::Scope& scope = co_await rt::current_scope();
  for (uint32_t round = 0; round < config.rounds; ++round) {
    for (size_t i = 0; i < targets.size() && !scope.cancelled(); ++i) {
      co_await run_slice(*targets[(i + round) % targets.size()], slice_of(config, round));
    }
  }
}

rt::Task<void> take_turns_with_progress(Targets& targets, BenchConfig config) {
  std::vector<LoadTarget*> shown;
  for (const auto& target : targets) shown.push_back(target.get());
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup progress(scope);
  progress.spawn(show_progress(shown));
  co_await take_turns(targets, config);
  progress.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await progress.join();
}

std::vector<workload::Report> reports_of(const Targets& targets) {
  std::vector<workload::Report> reports;
  for (const auto& target : targets) {
    reports.push_back(workload::make_report(target->endpoint().label, target->log()));
  }
  return reports;
}

Targets make_targets(net::Network& network, const BenchConfig& config,
                     const std::vector<Endpoint>& endpoints, uint64_t seed, bool own_caches) {
  Targets targets;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    // Targets that may share engines get texts of their own.
    const auto prompts = prompt_options(config, seed, own_caches ? 0 : i);
    targets.push_back(
        std::make_unique<LoadTarget>(network, endpoints[i], load_options(config, prompts)));
  }
  return targets;
}

BenchConfig overload_config(BenchConfig config) {
  config.workload = workload::PromptKind::kSharedPrefix;
  config.prefixes = 1;
  config.rate.reset();
  config.duration.reset();
  config.concurrency = std::max(1U, static_cast<uint32_t>(config.overload * config.max_num_seqs));
  config.requests = config.concurrency * kOverloadRequestsEach;
  config.rounds = 1;
  return config;
}

// Cancels the run at the first SIGINT or SIGTERM.
rt::Task<void> watch_signals(rt::TaskGroup& run, bool& interrupted) {
  rt::Scope& scope = co_await rt::current_scope();
  rt::Signals signals(scope.loop(), {SIGINT, SIGTERM});
  if (co_await signals.next() == 0) co_return;
  interrupted = true;
  run.cancel(rt::CancelReason::kShutdown);
}

}  // namespace

rt::Task<base::Result<Results>> measure(net::Network& network, BenchConfig config, uint64_t seed) {
  const auto specs = targets_of(config);
  if (!specs) co_return specs.error();
  const bool own = starts_processes(*specs);
  std::optional<Fleet> fleet;
  if (own) {
    FleetOptions options{.policies = {},
                         .engines = config.engines,
                         .profile = config.profile,
                         .max_num_seqs = config.max_num_seqs};
    for (const auto& spec : *specs) options.policies.push_back(spec.policy);
    auto started = co_await Fleet::start(network, std::move(options));
    if (!started) co_return started.error();
    fleet.emplace(std::move(*started));
  }
  std::vector<Endpoint> endpoints;
  for (const auto& spec : *specs) {
    const std::string url = own ? fleet->url(spec.policy) : spec.url;
    auto endpoint = co_await resolve(network, spec.label, url);
    if (!endpoint) co_return endpoint.error();
    endpoints.push_back(std::move(*endpoint));
  }
  if (config.model.empty()) {
    auto model = co_await first_model(network, endpoints.front());
    if (!model) co_return model.error();
    config.model = std::move(*model);
  }
  Results results;
  results.seed = seed;
  Targets targets = make_targets(network, config, endpoints, seed, own);
  co_await take_turns_with_progress(targets, config);
  results.reports = reports_of(targets);
  if (config.overload > 0) {
    const BenchConfig overload = overload_config(config);
    Targets loaded = make_targets(network, overload, endpoints, base::mix64(seed), own);
    co_await take_turns_with_progress(loaded, overload);
    results.overload = reports_of(loaded);
  }
  if (config.verdict) {
    results.checks = workload::affinity_checks(results.reports.front(), results.reports.back());
    if (!results.overload.empty()) {
      const auto more =
          workload::overload_checks(results.overload.front(), results.overload.back());
      results.checks.insert(results.checks.end(), more.begin(), more.end());
    }
  }
  co_return results;
}

namespace {

rt::Task<void> measure_into(net::Network& network, const BenchConfig& config, uint64_t seed,
                            std::optional<base::Result<Results>>& out) {
  out.emplace(co_await measure(network, config, seed));
}

rt::Task<base::Result<Results>> measure_until_signal(net::Network& network,
                                                     const BenchConfig& config, uint64_t seed) {
  rt::TaskGroup run(network.loop());
  rt::TaskGroup watching(network.loop());
  std::optional<base::Result<Results>> results;
  bool interrupted = false;
  run.spawn(measure_into(network, config, seed, results));
  watching.spawn(watch_signals(run, interrupted));
  std::ignore = co_await run.join();
  watching.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await watching.join();
  if (*results) (*results)->interrupted = interrupted;
  co_return std::move(*results);
}

base::Result<> write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return base::invalid_argument(fmt::format("--json: cannot write {}", path));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    return base::Error(base::ErrorCode::kUnavailable, fmt::format("--json: {} is cut off", path));
  }
  return {};
}

int exit_status(const Results& results) {
  if (results.interrupted) return 130;
  const bool missed = std::any_of(results.checks.begin(), results.checks.end(),
                                  [](const auto& check) { return !check.passed; });
  const bool unanswered = std::any_of(results.reports.begin(), results.reports.end(),
                                      [](const auto& r) { return r.errors == r.requests; });
  return missed || unanswered ? 1 : 0;
}

}  // namespace

int run(const BenchConfig& config) {
  if (const auto valid = validate(config); !valid) {
    fmt::print(stderr, "fairlead bench: {}\n", valid.error().describe());
    return 2;
  }
  rt::block_signals({SIGINT, SIGTERM});
  rt::Loop loop;
  net::TcpNetwork network(loop);
  const uint64_t seed = config.seed.value_or(base::random_seed() % 1'000'000'000);
  const auto results = loop.block_on(measure_until_signal(network, config, seed));
  if (!results) {
    fmt::print(stderr, "fairlead bench: {}\n", results.error().describe());
    return results.error().code() == base::ErrorCode::kCancelled ? 130 : 1;
  }
  const bool json_out = config.json == "-";
  fmt::print(json_out ? stderr : stdout, "{}", render_text(config, *results));
  if (json_out) fmt::print("{}", render_json(config, *results));
  if (!json_out && !config.json.empty()) {
    if (const auto written = write_file(config.json, render_json(config, *results)); !written) {
      fmt::print(stderr, "fairlead bench: {}\n", written.error().describe());
      return 1;
    }
  }
  return exit_status(*results);
}

}  // namespace fairlead::bench
