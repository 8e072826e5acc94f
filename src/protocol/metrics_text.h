// Reads a few metrics out of an engine's exposition, in Prometheus's text format. Fast rather than
// complete: lines that are not asked for are only skipped, and a line that makes no sense is one of
// them. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fairlead::protocol {

struct MetricSample {
  size_t name = 0;          // which of the names asked for
  std::string_view labels;  // between the braces, as they are written
  double value = 0;
};
// Calls `found` for every sample of the names, in the text's order.
void scan_metrics(std::string_view text, std::span<const std::string_view> names,
                  const std::function<void(const MetricSample&)>& found);

// The value of a label, unescaped; nullopt if there is none.
std::optional<std::string> label_value(std::string_view labels, std::string_view name);

// What a router wants to know of an engine. What the text does not say stays empty. Several series
// of one name (ranks of data parallelism) add up; the usage of their caches is averaged.
struct EngineLoad {
  std::optional<double> running, waiting;
  std::optional<double> cache_usage;                // 0 to 1
  std::optional<double> cache_queries, cache_hits;  // tokens, ever
  // Sums and counts of the histograms of time to first token and of time between tokens, ever.
  std::optional<double> ttft_seconds, ttft_count, tpot_seconds, tpot_count;
  std::optional<int64_t> block_size, blocks;
};
// vLLM's names, old and new, and SGLang's.
EngineLoad read_engine_load(std::string_view exposition);

}  // namespace fairlead::protocol
