// What bench prints: the setting in words, the tables, the verdict; or all of it as JSON.
#include <fmt/format.h>

#include "bench/bench.h"
#include "codec/described.h"

namespace fairlead::bench {
namespace {

std::string workload_text(const BenchConfig& config) {
  switch (config.workload) {
    case workload::PromptKind::kSharedPrefix:
      return fmt::format("{} system prompts, {} times each, shuffled", config.prefixes,
                         config.repeats);
    case workload::PromptKind::kPrefixGroups:
      return fmt::format("{} system prompts, drawn {}", config.prefixes,
                         config.zipf > 0 ? fmt::format("by Zipf's law ({})", config.zipf)
                                         : std::string("equally often"));
    case workload::PromptKind::kRandom:
      return "prompts that share nothing";
  }
  return "";
}

std::string setting_text(const BenchConfig& config, const Results& results) {
  std::string text =
      fmt::format("{}; prompts of {} + {} tokens, answers of up to {}{}\n", workload_text(config),
                  config.prefix_tokens, config.question_tokens, config.max_tokens,
                  config.stream ? ", streamed" : "");
  text += config.rate ? fmt::format("open loop, {} requests a second", *config.rate)
                      : fmt::format("closed loop of {} clients", config.concurrency);
  if (results.reports.size() > 1) text += fmt::format(", {} rounds in turns", config.rounds);
  if (!config.compare.empty() && config.compare.front().find("://") == std::string::npos) {
    text += fmt::format("; {} simulated engines ({}) behind each router", config.engines,
                        config.profile);
  }
  return text + fmt::format("; seed {}\n", results.seed);
}

}  // namespace

std::string render_text(const BenchConfig& config, const Results& results) {
  std::string text = results.interrupted ? "interrupted; what was measured until then:\n" : "";
  text += setting_text(config, results) + "\n" + workload::render_table(results.reports);
  if (!results.overload.empty()) {
    text += fmt::format(
        "\none prefix, {:g} times as many clients as an engine runs requests at "
        "once ({}):\n\n{}",
        config.overload, config.max_num_seqs, workload::render_table(results.overload));
  }
  if (!results.checks.empty()) text += "\n" + workload::render_checks(results.checks);
  return text;
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
