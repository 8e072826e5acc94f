#include "bench/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codec/reflect.h"
#include "net/address.h"

namespace fairlead::workload {
BOOST_DESCRIBE_ENUM(PromptKind, kSharedPrefix, kPrefixGroups, kRandom)
}  // namespace fairlead::workload

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using codec::Field;
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
BOOST_DESCRIBE_STRUCT(BenchConfig, (),
                      (url, compare, model, api, workload, prefixes, repeats, prefix_tokens,
                       question_tokens, zipf, seed, requests, duration, concurrency, rate,
                       max_tokens, stream, explain, timeout, rounds, engines, profile, max_num_seqs,
                       overload, verdict, json))

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
                 "prompts drawn at random; random: no two prompts begin alike"},
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
      Field<&C::rate>{.doc = "open loop instead: requests a second, as a Poisson process",
                      .min = 0.001,
                      .max = 1e6},
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
                             "goes to standard error"}};
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

base::Result<> validate(const BenchConfig& config) {
  const auto targets = targets_of(config);
  if (!targets) return targets.error();
  for (const auto& target : *targets) {
    if (target.url.empty()) continue;
    if (const auto url = net::parse_backend_url(target.url); !url) {
      return url.error().wrap(fmt::format("target '{}'", target.label));
    }
  }
  const bool processes = starts_processes(*targets);
  if (config.overload > 0 && !processes) {
    return bad(
        "--overload needs policies to compare, as in --compare round-robin,prefix-cache: it "
        "must know how many requests an engine runs at once");
  }
  if (config.overload * config.max_num_seqs > kConcurrencyMax) {
    return bad(fmt::format("--overload times --max-num-seqs is {:.0f} clients: at most {}",
                           config.overload * config.max_num_seqs, kConcurrencyMax));
  }
  if (config.verdict && (!processes || targets->size() < 2)) {
    return bad("--verdict compares two policies, as in --compare round-robin,prefix-cache");
  }
  if (config.verdict && config.workload == PromptKind::kRandom) {
    return bad(
        "--verdict is about repeated prefixes: use the workload shared-prefix or "
        "prefix-groups");
  }
  return workload::validate(prompt_options(config, 1, 0));
}

workload::PromptOptions prompt_options(const BenchConfig& config, uint64_t seed, uint64_t salt) {
  return {.kind = config.workload,
          .prefixes = config.prefixes,
          .repeats = config.repeats,
          .prefix_tokens = config.prefix_tokens,
          .question_tokens = config.question_tokens,
          .zipf = config.zipf,
          .seed = seed,
          .salt = salt};
}

std::optional<uint64_t> requests_of(const BenchConfig& config) {
  if (config.requests) return config.requests;
  if (config.duration) return std::nullopt;
  if (config.workload != PromptKind::kSharedPrefix) return kRequestsDefault;
  return uint64_t{config.prefixes} * config.repeats;
}

}  // namespace fairlead::bench
