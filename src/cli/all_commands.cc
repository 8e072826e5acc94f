// Each command's help and its way from words to a configuration to the shell that runs it.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "bench/bench.h"
#include "bench/config.h"
#include "cli/commands.h"
#include "cli/crds.h"
#include "cli/flags.h"
#include "engine/parse_args.h"
#include "engine/run.h"
#include "laptop/config.h"
#include "laptop/up.h"
#include "net/tcp.h"
#include "router/check_config.h"
#include "router/config.h"
#include "router/drain_client.h"
#include "router/run.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from the build"
#endif

namespace fairlead::cli {
namespace {

int wrong_usage(std::string_view command, const base::Error& error) {
  fmt::print(stderr, "fairlead {0}: {1}\nfairlead {0} --help explains its flags\n", command,
             error.describe());
  return kUsageError;
}

int finished(std::string_view command, const base::Result<>& result) {
  if (result) return 0;
  fmt::print(stderr, "fairlead {}: {}\n", command, result.error().describe());
  return 1;
}

template <class Config>
std::string help_of(std::string_view head, std::string_view examples) {
  return fmt::format("{}\nflags\n{}\nexamples\n{}", head, flags_help(codec::info_for<Config>()),
                     examples);
}

template <class Config>
base::Result<Config> config_of(std::span<const std::string> args) {
  Config config;
  const auto parsed = parse_flags(codec::info_for<Config>(), &config, args);
  if (!parsed) return parsed.error();
  return config;
}

std::string up_help() {
  return help_of<laptop::LaptopConfig>(
      "usage: fairlead up [FLAGS]\n\n"
      "Starts simulated engines and a router on this machine, shows one streamed answer and says "
      "what\n"
      "to try next. The engines are processes: kill -9 or kill -STOP one and watch the others.\n",
      "  fairlead up\n"
      "  fairlead up --engines 5 --policy round-robin\n"
      "  fairlead up --port 28080 --metrics-port 28081      a second one beside the first\n");
}

int run_up(std::span<const std::string> args) {
  const auto config = config_of<laptop::LaptopConfig>(args);
  if (!config) return wrong_usage("up", config.error());
  return laptop::run(*config);
}

std::string router_help() {
  return help_of<router::RouterConfig>(
      "usage: fairlead router --backend URL [--backend URL ...] | --backends-file FILE [FLAGS]\n\n"
      "An OpenAI-compatible entry before inference engines: sends each request to the replica "
      "that\n"
      "holds its prefix, moves it where a replica fails before its answer begins, and says why.\n",
      "  fairlead router --backend http://127.0.0.1:8001 --backend http://127.0.0.1:8002\n"
      "  fairlead router --backends-file backends.yaml --policy least-request --port 8080\n"
      "  fairlead router --config router.yaml --check-config    says what is wrong with the file\n"
      "  curl -H 'x-fairlead-explain: 1' ...    with --allow-explain: which replica, and why\n");
}

int check_router(const router::RouterConfig& config) {
  const auto check = router::check_config(config);
  if (!check) return finished("router", check.error());
  for (const std::string& warning : check->warnings) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("the configuration is usable: {} back ends, {} warnings\n", check->backends,
             check->warnings.size());
  return 0;
}

int run_router(std::span<const std::string> args) {
  auto config = config_of<router::RouterConfig>(args);
  if (!config) return wrong_usage("router", config.error());
  if (const auto valid = router::validate(*config); !valid) {
    return wrong_usage("router", valid.error());
  }
  if (config->check_config) return check_router(*config);
  return finished("router", router::run_router(std::move(*config)));
}

std::string drain_help() {
  return help_of<router::DrainConfig>(
      "usage: fairlead drain URL [FLAGS]\n\n"
      "Has a router stop without cutting anything off, as SIGTERM does: /readyz says no at once, "
      "new\n"
      "requests are taken for its --drain-delay, what runs has its --drain-timeout, then it exits. "
      "URL\n"
      "is its debug port, which is served on its own machine (or pod) only. Asking again is "
      "harmless.\n",
      "  fairlead drain http://127.0.0.1:15000\n"
      "  fairlead drain http://127.0.0.1:15000 --no-wait\n"
      "  preStop: {exec: {command: [fairlead, drain, 'http://127.0.0.1:15000']}}    in a pod\n");
}

rt::Task<base::Result<>> drain_until_stopped(net::Network& network, net::HostPort url,
                                             router::DrainConfig config) {
  co_return co_await router::drain_router(network, std::move(url), config,
                                          [](std::string_view line) {
                                            fmt::print("{}\n", line);
                                            std::fflush(stdout);
                                          });
}

int run_drain(std::span<const std::string> args) {
  if (args.empty() || args.front().starts_with("-")) {
    return wrong_usage("drain", base::invalid_argument(
                                    "which router? give its debug port: http://127.0.0.1:15000"));
  }
  const auto url = net::parse_backend_url(args.front());
  if (!url) return wrong_usage("drain", url.error());
  const auto config = config_of<router::DrainConfig>(args.subspan(1));
  if (!config) return wrong_usage("drain", config.error());
  rt::Loop loop;
  net::TcpNetwork network(loop);
  return finished("drain", loop.block_on(drain_until_stopped(network, *url, *config)));
}

int run_engine(std::span<const std::string> args) {
  auto config = engine::parse_engine_args(args);
  if (!config) return wrong_usage("engine", config.error());
  return finished("engine", engine::run_engine(std::move(*config)));
}

std::string bench_help() {
  return help_of<bench::BenchConfig>(
      "usage: fairlead bench [FLAGS]\n\n"
      "Loads an OpenAI-compatible server and reports TTFT, ITL, end-to-end percentiles, tokens a\n"
      "second, the cached share of the prompts and which replica answered. With --compare it runs\n"
      "several servers or policies in turns and shows ratios; with limits it reports goodput, and\n"
      "--sweep finds the highest load that keeps them.\n",
      "  fairlead bench --compare round-robin,prefix-cache\n"
      "  fairlead bench --compare round-robin,prefix-cache --overload 4 --verdict    and judges\n"
      "  fairlead bench --url http://127.0.0.1:18080 --concurrency 16\n"
      "  fairlead bench --url http://127.0.0.1:8001 --workload random --rate 20 --duration 30s\n"
      "  fairlead bench --rate 20 --arrivals bursty --ttft-limit 500ms --html run.html\n"
      "  fairlead bench --workload conversations --think-time 2s --concurrency 32 --duration 1m\n"
      "  fairlead bench --workload mooncake --trace FILE.jsonl --arrivals trace --speedup 4\n"
      "  fairlead bench --workload random --sweep rate --ttft-limit 500ms --itl-limit 30ms\n"
      "  fairlead bench --compare a=http://127.0.0.1:8001,b=http://127.0.0.1:8002 --json -\n");
}

int run_bench(std::span<const std::string> args) {
  const auto config = config_of<bench::BenchConfig>(args);
  if (!config) return wrong_usage("bench", config.error());
  if (const auto valid = bench::validate(*config); !valid)
    return wrong_usage("bench", valid.error());
  return bench::run(*config);
}

std::string crds_help() {
  return help_of<CrdsConfig>(
      "usage: fairlead crds [FLAGS]\n\n"
      "Prints the CustomResourceDefinitions of Fairlead's kinds, or writes each into a file.\n",
      "  fairlead crds | kubectl apply --server-side -f -\n"
      "  fairlead crds --directory deploy/crds\n");
}

int run_crds(std::span<const std::string> args) {
  const auto config = config_of<CrdsConfig>(args);
  if (!config) return wrong_usage("crds", config.error());
  if (!config->directory.empty()) return finished("crds", write_crds(config->directory));
  fmt::print("{}", crds_text());
  return 0;
}

std::string version_help() { return "usage: fairlead version\n\nPrints the version.\n"; }

int run_version(std::span<const std::string> args) {
  if (!args.empty()) return wrong_usage("version", base::invalid_argument("takes no flags"));
  fmt::print("fairlead {}\n", FAIRLEAD_VERSION);
  return 0;
}

constexpr std::array kCommands = {
    Command{"try it", "up", "engines, a router and a first answer on this machine, without a GPU",
            up_help, run_up},
    Command{"serve", "router", "the entry for clients: picks a replica for each request",
            router_help, run_router},
    Command{"serve", "drain", "has a router stop without cutting anything off", drain_help,
            run_drain},
    Command{"serve", "engine", "a simulated engine with vLLM's API, flags and metrics",
            engine::engine_help, run_engine},
    Command{"measure", "bench", "a load generator that compares servers and policies", bench_help,
            run_bench},
    Command{"on Kubernetes", "crds", "the definitions of Fairlead's kinds, for kubectl apply",
            crds_help, run_crds},
    Command{"about", "version", "prints the version", version_help, run_version},
};

}  // namespace

std::span<const Command> all_commands() { return kCommands; }

}  // namespace fairlead::cli
