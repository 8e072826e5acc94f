// Policies side by side over simulated engines in virtual time: the table of RESULTS.md.
//
//   policy_table [--first-seed N] [--seeds N] [--requests N] [--load SHARE] [--only NAME]
//                [--trace FILE] [--warm SHARE] [--export FILE]
//
// --export writes the requests of the first seed, of the one workload that --only names, as a
// Mooncake trace.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "simulate/comparison.h"

namespace fairlead::simulate {
namespace {

constexpr std::array<std::string_view, 6> kPolicies{
    "round-robin", "random", "least-request", "power-of-two", "prefix-cache", "expected-ttft"};
constexpr std::string_view kOurs = "expected-ttft";

struct Options {
  ComparisonOptions comparison;
  uint32_t requests = 4'000;
  std::string only;
  std::string trace;
  std::string export_to;
  double warm = 0.2;
};

template <class T>
bool read(const char* text, T& value) {
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool read_arguments(int argc, char** argv, Options& options) {
  if (argc % 2 == 0) return false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const char* value = argv[i + 1];
    bool ok = true;
    if (flag == "--seeds") {
      ok = read(value, options.comparison.seeds) && options.comparison.seeds > 0;
    } else if (flag == "--first-seed") {
      ok = read(value, options.comparison.first_seed) && options.comparison.first_seed > 0;
    } else if (flag == "--requests") {
      ok = read(value, options.requests) && options.requests >= 100;
    } else if (flag == "--load") {
      ok = read(value, options.comparison.load) && options.comparison.load > 0;
    } else if (flag == "--only") {
      options.only = value;
    } else if (flag == "--trace") {
      options.trace = value;
    } else if (flag == "--warm") {
      ok = read(value, options.warm) && options.warm >= 0 && options.warm < 1;
    } else if (flag == "--export") {
      options.export_to = value;
    } else {
      ok = false;
    }
    if (!ok) return false;
  }
  return options.export_to.empty() || !options.only.empty();
}

base::Result<Workload> mooncake(const std::string& path, uint32_t requests) {
  std::ifstream file(path);
  if (!file) return base::invalid_argument(fmt::format("cannot read {}", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  workload::TraceReader reader(workload::TraceFormat::kMooncake);
  if (auto fed = reader.feed(text); !fed) return fed.error().wrap(path);
  auto read_all = reader.finish();
  if (!read_all) return read_all.error().wrap(path);
  const auto trace = std::make_shared<const workload::Trace>(std::move(*read_all));
  return Workload{.name = "Mooncake conversation",
                  .make =
                      [trace, requests](uint64_t seed) {
                        // Ten seeds begin at ten places.
                        const Traffic all = make_recorded_traffic(*trace, seed);
                        const size_t spare = all.size() - std::min<size_t>(all.size(), requests);
                        return slice(all, spare * ((seed - 1) % 10) / 9, requests);
                      },
                  .ttft_limit = std::chrono::seconds(5),
                  .gap_limit = std::chrono::milliseconds(100),
                  .pressed_in_flight = 256};
}

int compare_all(const Options& options) {
  std::vector<Workload> workloads;
  for (const TrafficKind kind :
       {TrafficKind::kSharedPrompt, TrafficKind::kPrefixGroups, TrafficKind::kConversations,
        TrafficKind::kHotPrefix, TrafficKind::kRandom}) {
    workloads.push_back(
        {.name = std::string(to_string(kind)), .make = [&options, kind](uint64_t seed) {
           // The load is what it should be once the first sessions have ended.
           const uint32_t longer = kind == TrafficKind::kConversations ? 3 : 1;
           return make_traffic(kind, longer * options.requests, seed);
         }});
  }
  if (!options.trace.empty()) {
    base::Result<Workload> trace = mooncake(options.trace, options.requests);
    if (!trace) {
      fmt::print(stderr, "policy_table: {}\n", trace.error().describe());
      return 1;
    }
    workloads.push_back(std::move(*trace));
  }
  std::string verdict = fmt::format(
      "### {} against the best of the others\n\nGoodput over the highest of the others, and the "
      "lowest p99 of the others over its own: above 1 is better.\n\n| workload | goodput | TTFT "
      "p99 | "
      "seeds with the lowest p99 |\n|---|---:|---:|---:|\n",
      kOurs);
  for (Workload& workload : workloads) {
    if (!options.only.empty() && options.only != workload.name) continue;
    workload.warm_share = options.warm;
    if (!options.export_to.empty()) {
      std::ofstream(options.export_to)
          << to_mooncake(paced(workload, options.comparison.first_seed, options.comparison));
    }
    const WorkloadTable table = compare(workload, kPolicies, options.comparison);
    fmt::print("{}\n", render(table));
    std::fflush(stdout);
    const Standing s = standing(table, kOurs);
    fmt::format_to(std::back_inserter(verdict), "| {} | {:.3f} x | {:.3f} x | {} of {} |\n",
                   workload.name, s.goodput, s.ttft_p99, s.seeds_won, options.comparison.seeds);
  }
  fmt::print("{}", verdict);
  return 0;
}

}  // namespace
}  // namespace fairlead::simulate

int main(int argc, char** argv) {
  fairlead::simulate::Options options;
  if (!fairlead::simulate::read_arguments(argc, argv, options)) {
    fmt::print(stderr,
               "policy_table [--first-seed N] [--seeds N] [--requests N] [--load SHARE] "
               "[--only NAME] [--trace FILE] [--warm SHARE] [--export FILE]\n");
    return 2;
  }
  return fairlead::simulate::compare_all(options);
}
