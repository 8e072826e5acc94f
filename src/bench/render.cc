// What bench prints: the setting in words, the tables, the verdict; or all of it as JSON.
#include "bench/render.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "bench/sweep.h"
#include "codec/described.h"

namespace fairlead::bench {
namespace {

std::string workload_text(const BenchConfig& config) {
  const std::string drawn = config.zipf > 0 ? fmt::format("by Zipf's law ({})", config.zipf)
                                            : std::string("equally often");
  switch (config.workload) {
    case WorkloadKind::kSharedPrefix:
      return fmt::format("{} system prompts, {} times each, shuffled", config.prefixes,
                         config.repeats);
    case WorkloadKind::kPrefixGroups:
      return fmt::format("{} system prompts, drawn {}", config.prefixes, drawn);
    case WorkloadKind::kRandom:
      return "prompts that share nothing";
    case WorkloadKind::kConversations:
      return fmt::format(
          "conversations of {} turns and {} to think on average; {} system prompts, "
          "drawn {}",
          config.turns, base::to_string(config.think_time), config.prefixes, drawn);
    case WorkloadKind::kSharegpt:
      return fmt::format("conversations of {}, {} to think on average", config.trace,
                         base::to_string(config.think_time));
    case WorkloadKind::kMooncake:
      return fmt::format("requests of {}", config.trace);
  }
  return "";
}

std::string sizes_text(const BenchConfig& config) {
  const std::string streamed = config.stream ? ", streamed" : "";
  if (!config.trace.empty())
    return fmt::format("prompts and answers as long as recorded{}", streamed);
  return fmt::format("prompts of {} + {} tokens, answers of up to {}{}", config.prefix_tokens,
                     config.question_tokens, config.max_tokens, streamed);
}

std::string load_text(const BenchConfig& config) {
  const std::string rate = config.rate ? fmt::format("{} requests a second", *config.rate)
                                       : std::string("the rates tried");
  if (config.sweep == SweepOver::kConcurrency) return "closed loops of more and more clients";
  if (!arrival_options(config) && config.sweep == SweepOver::kNone) {
    return fmt::format("closed loop of {} clients", config.concurrency);
  }
  switch (config.arrivals) {
    case workload::ArrivalKind::kPoisson:
      return fmt::format("open loop, {}", rate);
    case workload::ArrivalKind::kConstant:
      return fmt::format("open loop, {} in equal gaps", rate);
    case workload::ArrivalKind::kBursty:
      return fmt::format("open loop, {} in bursts ({} times the rate, {:g} % of the time, {} each)",
                         rate, config.burst_ratio, config.burst_share * 100,
                         base::to_string(config.burst_length));
    case workload::ArrivalKind::kTrace:
      return fmt::format(
          "open loop, as recorded{}",
          config.speedup == 1 ? std::string() : fmt::format(", {} times as fast", config.speedup));
  }
  return "";
}

std::string limits_text(const BenchConfig& config) {
  std::string text;
  if (config.ttft_limit)
    text += fmt::format("; TTFT within {}", base::to_string(*config.ttft_limit));
  if (config.itl_limit) text += fmt::format("; ITL within {}", base::to_string(*config.itl_limit));
  return text;
}

}  // namespace

std::string setting_text(const BenchConfig& config, const Results& results) {
  std::string text = fmt::format("{}; {}\n{}{}", workload_text(config), sizes_text(config),
                                 load_text(config), limits_text(config));
  if (results.reports.size() > 1 && results.sweeps.empty())
    text += fmt::format(", {} rounds in turns", config.rounds);
  if (!config.compare.empty() && config.compare.front().find("://") == std::string::npos) {
    text += fmt::format("; {} simulated engines ({}) behind each router", config.engines,
                        config.profile);
  }
  return text + fmt::format("; seed {}\n", results.seed);
}

std::string client_warnings(const std::vector<workload::Report>& reports) {
  std::string text;
  for (const auto& report : reports) {
    if (!report.client || !report.client->was_bottleneck()) continue;
    text += fmt::format(
        "\nwarning: the client was the bottleneck for {}: in {:.0f} % of the time it had no CPU to "
        "spare,\nfor {:.0f} % it waited while the machine ran something else. Its times are partly "
        "its own: ask for\nless, or start it on a machine of its own.\n",
        report.label, report.client->saturated * 100, report.client->waiting * 100);
  }
  return text;
}

std::string sweeps_text(const BenchConfig& config, const std::vector<workload::Sweep>& sweeps) {
  std::string text;
  for (const auto& sweep : sweeps) {
    text += fmt::format("{}:\n{}", sweep.label, workload::render_sweep(sweep, sweep_unit(config)));
    text += sweep.best ? fmt::format(
                             "highest that kept the limits for {:g} % of the requests: "
                             "{:.4g} {}\n\n",
                             config.keep * 100, *sweep.best, sweep_unit(config))
                       : std::string("not even the lowest kept the limits\n\n");
  }
  return text;
}

std::string render_text(const BenchConfig& config, const Results& results) {
  std::string text = results.interrupted ? "interrupted; what was measured until then:\n" : "";
  text += setting_text(config, results) + "\n" + sweeps_text(config, results.sweeps);
  if (!results.sweeps.empty()) text += "at that load:\n\n";
  if (!results.reports.empty()) text += workload::render_table(results.reports);
  if (!results.overload.empty()) {
    text += fmt::format(
        "\none prefix, {:g} times as many clients as an engine runs requests at "
        "once ({}):\n\n{}",
        config.overload, config.max_num_seqs, workload::render_table(results.overload));
  }
  if (!results.checks.empty()) text += "\n" + workload::render_checks(results.checks);
  return text + client_warnings(results.reports) + client_warnings(results.overload);
}

std::string render_json(const BenchConfig& config, const Results& results) {
  std::string text;
  codec::JsonWriter json(text);
  const auto write_reports = [&](std::string_view key, const auto& reports) {
    json.key(key).begin_array();
    for (const auto& report : reports) write_json(json, report);
    json.end_array();
  };
  json.begin_object().key("config");
  codec::write_described(json, config);
  json.key("seed").unsigned_integer(results.seed);
  json.key("interrupted").boolean(results.interrupted);
  write_reports("reports", results.reports);
  json.key("sweeps").begin_array();
  for (const auto& sweep : results.sweeps) write_json(json, sweep);
  json.end_array();
  write_reports("overload", results.overload);
  json.key("checks").begin_array();
  for (const auto& check : results.checks) {
    json.begin_object().key("claim").string(check.claim).key("measured").string(check.measured);
    json.key("wanted").string(check.wanted).key("passed").boolean(check.passed).end_object();
  }
  json.end_array().end_object();
  return text + "\n";
}

}  // namespace fairlead::bench
