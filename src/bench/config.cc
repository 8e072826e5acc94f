#include "bench/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codec/reflect.h"
#include "net/address.h"

namespace fairlead::workload {
BOOST_DESCRIBE_ENUM(ArrivalKind, kPoisson, kConstant, kBursty, kTrace)
}  // namespace fairlead::workload

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using codec::Field;
using workload::ArrivalKind;
using workload::PromptKind;
using workload::PromptOptions;

std::vector<std::string> split(const std::vector<std::string>& lists) {
  std::vector<std::string> items;
  for (std::string_view list : lists) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      if (comma > 0) items.emplace_back(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  return items;
}

TargetSpec parse_target(const std::string& item) {
  if (item.find("://") == std::string::npos) return {.label = item, .url = "", .policy = item};
  const size_t equals = item.find('=');
  if (equals == std::string::npos || equals > item.find("://")) {
    return {.label = item, .url = item, .policy = ""};
  }
  return {.label = item.substr(0, equals), .url = item.substr(equals + 1), .policy = ""};
}

base::Error bad(std::string message) { return base::invalid_argument(std::move(message)); }

}  // namespace

BOOST_DESCRIBE_ENUM(Api, kChat, kCompletions)
BOOST_DESCRIBE_ENUM(WorkloadKind, kSharedPrefix, kPrefixGroups, kRandom, kConversations, kSharegpt,
                    kMooncake)
BOOST_DESCRIBE_ENUM(SweepOver, kNone, kRate, kConcurrency)
BOOST_DESCRIBE_STRUCT(BenchConfig, (),
                      (url, compare, model, api, workload, trace, prefixes, repeats, prefix_tokens,
                       question_tokens, zipf, turns, think_time, seed, requests, duration,
                       concurrency, rate, arrivals, burst_ratio, burst_share, burst_length, speedup,
                       max_tokens, stream, explain, timeout, rounds, ttft_limit, itl_limit, sweep,
                       sweep_min, sweep_max, keep, engines, profile, max_num_seqs, overload,
                       verdict, json, html))

auto fields_of(const BenchConfig*) {
  using C = BenchConfig;
  return std::tuple{
      Field<&C::url>{.doc = "router or engine to load"},
      Field<&C::compare>{
          .doc =
              "run several in turns: label=URL,label=URL, or policies (round-robin,prefix-cache), "
              "each with a router and simulated engines of its own, started and stopped here"},
      Field<&C::model>{.doc = "model to ask for; by default the first that the target lists"},
      Field<&C::api>{.doc = "endpoint: chat completions or completions"},
      Field<&C::workload>{
          .doc = "shared-prefix: every system prompt as often, shuffled; prefix-groups: system "
                 "prompts drawn at random; random: no two prompts begin alike; conversations: "
                 "turns with time to think, each sent with all that was said before; sharegpt, "
                 "mooncake: what --trace recorded"},
      Field<&C::trace>{.doc =
                           "file for the workloads sharegpt (conversations as JSON) and mooncake "
                           "(requests as JSON lines)"},
      Field<&C::prefixes>{
          .doc = "different system prompts", .min = 1U, .max = PromptOptions::kPrefixesMax},
      Field<&C::repeats>{
          .doc = "shared-prefix: how often each is sent", .min = 1U, .max = 1'000'000U},
      Field<&C::prefix_tokens>{.doc = "length of a system prompt, about 4 bytes of English a token",
                               .max = PromptOptions::kTokensMax},
      Field<&C::question_tokens>{.doc = "length of the question, different every time",
                                 .max = PromptOptions::kTokensMax},
      Field<&C::zipf>{.doc = "prefix-groups: 0 draws all equally often, 1 is Zipf's law",
                      .min = 0.0,
                      .max = 10.0},
      Field<&C::turns>{.doc = "conversations: requests in each, on average",
                       .min = 1U,
                       .max = workload::SessionOptions::kTurnsMax},
      Field<&C::think_time>{.doc = "conversations, sharegpt: mean time between an answer and the "
                                   "next turn",
                            .min = 0ns,
                            .max = 24h},
      Field<&C::seed>{.doc =
                          "of prompts and arrivals; by default a new one, so that no earlier run "
                          "has warmed the caches. The report names it"},
      Field<&C::requests>{.doc = "requests for each target; by default prefixes x repeats, or 200",
                          .min = uint64_t{1},
                          .max = uint64_t{20'000'000}},
      Field<&C::duration>{.doc = "end after this time for each target; with --requests, whichever "
                                 "comes first",
                          .min = 100ms,
                          .max = 24h},
      Field<&C::concurrency>{.doc = "closed loop: clients that each send their next request when "
                                    "the last one is answered",
                             .min = 1U,
                             .max = kConcurrencyMax},
      Field<&C::rate>{
          .doc = "open loop instead: requests a second, on average", .min = 0.001, .max = 1e6},
      Field<&C::arrivals>{.doc =
                              "open loop: poisson; constant gaps; bursty: a Poisson process that "
                              "switches between two rates; trace: the times that mooncake "
                              "recorded, without --rate"},
      Field<&C::burst_ratio>{
          .doc = "bursty: rate within a burst over that between bursts", .min = 1.0, .max = 1e6},
      Field<&C::burst_share>{
          .doc = "bursty: share of the time within bursts", .min = 0.001, .max = 0.999},
      Field<&C::burst_length>{
          .doc = "bursty: how long a burst lasts, on average", .min = 1ms, .max = 24h},
      Field<&C::speedup>{
          .doc = "arrivals of a trace: how many times as fast", .min = 0.001, .max = 1e6},
      Field<&C::max_tokens>{
          .doc = "tokens to ask for in each answer", .min = 1U, .max = 1'000'000U},
      Field<&C::stream>{.doc = "whether answers are streamed; if not, there is no TTFT and no ITL"},
      Field<&C::explain>{.doc =
                             "whether to ask the router which replica it picked (it must run with "
                             "--allow-explain)"},
      Field<&C::timeout>{.doc = "for each whole answer", .min = 1ms, .max = 24h},
      Field<&C::rounds>{.doc = "into how many slices a comparison is cut; targets take turns",
                        .min = 1U,
                        .max = kRoundsMax},
      Field<&C::ttft_limit>{.doc = "goodput counts answers whose first token came within this time",
                            .min = 1ns,
                            .max = 24h},
      Field<&C::itl_limit>{.doc =
                               "goodput counts answers whose later tokens took at most this time "
                               "each, on average",
                           .min = 1ns,
                           .max = 24h},
      Field<&C::sweep>{.doc =
                           "find the highest rate, or concurrency, at which the limits are kept: "
                           "one trial after another, each of --duration (20s) or --requests"},
      Field<&C::sweep_min>{.doc = "where a sweep starts; doubled until the limits are not kept",
                           .min = 0.001,
                           .max = 1e6},
      Field<&C::sweep_max>{.doc = "where a sweep ends", .min = 0.001, .max = 1e6},
      Field<&C::keep>{.doc = "sweep: share of the requests that must be within the limits",
                      .min = 0.01,
                      .max = 1.0},
      Field<&C::engines>{
          .doc = "policies: simulated engines behind each router", .min = 1U, .max = kEnginesMax},
      Field<&C::profile>{.doc = "policies: what the engines simulate"},
      Field<&C::max_num_seqs>{
          .doc = "policies: requests that an engine runs at once", .min = 1U, .max = 4096U},
      Field<&C::overload>{.doc =
                              "policies: then send one single prefix from this many times as many "
                              "clients as an engine runs requests at once; 0 does not",
                          .min = 0.0,
                          .max = 100.0},
      Field<&C::verdict>{.doc =
                             "judge the last policy against the first, exit 1 on a miss: repeats "
                             "return to warm replicas and are answered in half the time, no "
                             "replica is overrun"},
      Field<&C::json>{.doc = "write the report there too; - is standard output, and the table then "
                             "goes to standard error"},
      Field<&C::html>{.doc = "write a page with plots there, one file that needs nothing else"}};
}

const codec::StructInfo& info_of(const BenchConfig*) { return codec::describe<BenchConfig>(); }

base::Result<std::vector<TargetSpec>> targets_of(const BenchConfig& config) {
  const auto items = split(config.compare);
  if (items.empty()) {
    if (!config.compare.empty())
      return bad("--compare is empty: give labels and URLs, or policies");
    return std::vector<TargetSpec>{{.label = config.url, .url = config.url, .policy = ""}};
  }
  if (items.size() > kTargetsMax) {
    return bad(fmt::format("--compare has {} targets: at most {}", items.size(), kTargetsMax));
  }
  std::vector<TargetSpec> targets;
  for (const auto& item : items) {
    TargetSpec target = parse_target(item);
    if (target.label.empty()) return bad(fmt::format("--compare: '{}' has no label", item));
    for (const auto& other : targets) {
      if (other.label == target.label) {
        return bad(fmt::format("--compare names '{}' twice: give each a label, as in a={},b={}",
                               target.label, item, item));
      }
      if (other.url.empty() != target.url.empty()) {
        return bad(
            fmt::format("--compare mixes URLs and policies ('{}', '{}'): either all are URLs "
                        "(label=http://host:port) or all are policies of a router started here",
                        other.label, target.label));
      }
    }
    targets.push_back(std::move(target));
  }
  return targets;
}

bool starts_processes(const std::vector<TargetSpec>& targets) {
  return std::any_of(targets.begin(), targets.end(), [](const auto& t) { return t.url.empty(); });
}

namespace {

bool is_recorded(WorkloadKind kind) {
  return kind == WorkloadKind::kSharegpt || kind == WorkloadKind::kMooncake;
}

base::Result<> validate_targets(const BenchConfig& config, const std::vector<TargetSpec>& targets) {
  for (const auto& target : targets) {
    if (target.url.empty()) continue;
    if (const auto url = net::parse_backend_url(target.url); !url) {
      return url.error().wrap(fmt::format("target '{}'", target.label));
    }
  }
  const bool processes = starts_processes(targets);
  if (config.overload > 0 && !processes) {
    return bad(
        "--overload needs policies to compare, as in --compare round-robin,prefix-cache: it "
        "must know how many requests an engine runs at once");
  }
  if (config.overload * config.max_num_seqs > kConcurrencyMax) {
    return bad(fmt::format("--overload times --max-num-seqs is {:.0f} clients: at most {}",
                           config.overload * config.max_num_seqs, kConcurrencyMax));
  }
  if (config.verdict && (!processes || targets.size() < 2)) {
    return bad("--verdict compares two policies, as in --compare round-robin,prefix-cache");
  }
  return {};
}

base::Result<> validate_workload(const BenchConfig& config) {
  const WorkloadKind kind = config.workload;
  if (is_recorded(kind) == config.trace.empty()) {
    return bad(
        is_recorded(kind)
            ? "the workloads sharegpt and mooncake need --trace FILE"
            : "--trace is for the workloads sharegpt and mooncake: say which with --workload");
  }
  const bool many_turns = kind == WorkloadKind::kConversations || kind == WorkloadKind::kSharegpt;
  if (many_turns && config.api != Api::kChat) {
    return bad("conversations need --api chat: completions have no turns");
  }
  const bool repeats = kind == WorkloadKind::kSharedPrefix || kind == WorkloadKind::kPrefixGroups;
  if (config.verdict && !repeats) {
    return bad(
        "--verdict is about repeated prefixes: use the workload shared-prefix or "
        "prefix-groups");
  }
  return workload::validate(session_options(config, 1, 0).prompts);
}

base::Result<> validate_arrivals(const BenchConfig& config) {
  const bool by_rate = config.rate || config.sweep == SweepOver::kRate;
  if (config.arrivals == ArrivalKind::kTrace) {
    if (config.workload != WorkloadKind::kMooncake) {
      return bad(
          "--arrivals trace needs the times of a trace: use --workload mooncake --trace FILE");
    }
    if (by_rate) return bad("--arrivals trace has its own rate: change it with --speedup");
  } else if (config.arrivals != ArrivalKind::kPoisson && !by_rate) {
    return bad("--arrivals constant and bursty are of an open loop: give its --rate");
  }
  if (const auto arrivals = arrival_options(config)) return workload::validate(*arrivals);
  return {};
}

base::Result<> validate_limits(const BenchConfig& config) {
  const workload::Limits limits = limits_of(config);
  if (limits.any() && !config.stream) {
    return bad("--ttft-limit and --itl-limit need streamed answers: leave out --no-stream");
  }
  if (config.sweep == SweepOver::kNone) return {};
  if (!limits.any()) return bad("--sweep needs limits to keep: --ttft-limit, --itl-limit or both");
  if (config.sweep_min > config.sweep_max) {
    return bad(fmt::format("--sweep-min is {}: at most --sweep-max, {}", config.sweep_min,
                           config.sweep_max));
  }
  if (config.sweep == SweepOver::kConcurrency &&
      (config.sweep_min < 1 || config.sweep_max > kConcurrencyMax)) {
    return bad(fmt::format("--sweep concurrency goes from 1 to {}", kConcurrencyMax));
  }
  if (config.rate) return bad("--sweep chooses the load: leave out --rate");
  if (config.arrivals == ArrivalKind::kTrace) {
    return bad("--sweep chooses the load: leave out --arrivals trace");
  }
  if (config.verdict || config.overload > 0) {
    return bad("--sweep goes without --verdict and --overload");
  }
  return {};
}

}  // namespace

base::Result<> validate(const BenchConfig& config) {
  const auto targets = targets_of(config);
  if (!targets) return targets.error();
  if (auto r = validate_targets(config, *targets); !r) return r;
  if (auto r = validate_workload(config); !r) return r;
  if (auto r = validate_arrivals(config); !r) return r;
  return validate_limits(config);
}

workload::SessionOptions session_options(const BenchConfig& config, uint64_t seed, uint64_t salt,
                                         std::shared_ptr<const workload::Trace> trace) {
  workload::SessionOptions options{.kind = workload::SessionKind::kPrompts,
                                   .prompts = {.kind = PromptKind::kRandom,
                                               .prefixes = config.prefixes,
                                               .repeats = config.repeats,
                                               .prefix_tokens = config.prefix_tokens,
                                               .question_tokens = config.question_tokens,
                                               .zipf = config.zipf,
                                               .seed = seed,
                                               .salt = salt},
                                   .turns = config.turns,
                                   .think_time = config.think_time,
                                   .trace = std::move(trace)};
  switch (config.workload) {
    case WorkloadKind::kSharedPrefix:
      options.prompts.kind = PromptKind::kSharedPrefix;
      break;
    case WorkloadKind::kPrefixGroups:
      options.prompts.kind = PromptKind::kPrefixGroups;
      break;
    case WorkloadKind::kRandom:
      break;
    case WorkloadKind::kConversations:
      options.kind = workload::SessionKind::kConversations;
      break;
    case WorkloadKind::kSharegpt:
    case WorkloadKind::kMooncake:
      options.kind = workload::SessionKind::kRecorded;
      break;
  }
  return options;
}

std::optional<workload::ArrivalOptions> arrival_options(const BenchConfig& config) {
  if (!config.rate && config.arrivals != ArrivalKind::kTrace) return std::nullopt;
  return workload::ArrivalOptions{.kind = config.arrivals,
                                  .per_second = config.rate.value_or(1),
                                  .burst_ratio = config.burst_ratio,
                                  .burst_share = config.burst_share,
                                  .burst_length = config.burst_length,
                                  .speedup = config.speedup};
}

workload::Limits limits_of(const BenchConfig& config) {
  return {.ttft = config.ttft_limit, .itl = config.itl_limit};
}

std::optional<uint64_t> requests_of(const BenchConfig& config, uint64_t planned) {
  if (config.requests) return config.requests;
  if (config.duration) return std::nullopt;
  return planned > 0 ? planned : kRequestsDefault;
}

}  // namespace fairlead::bench
