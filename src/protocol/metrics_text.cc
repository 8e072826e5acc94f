#include "protocol/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

namespace fairlead::protocol {
namespace {

constexpr std::string_view kBlank = " \t";

// The end of a label set that begins at `text`, which is behind the brace; npos if it has none. A
// brace within a value does not count.
size_t labels_end(std::string_view text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == '}' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::optional<double> parse_value(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto rest = text.substr(static_cast<size_t>(end - text.data()));
  // A timestamp may follow.
  if (error != std::errc() ||
      (!rest.empty() && kBlank.find(rest[0]) == std::string_view::npos && rest != "\r")) {
    return std::nullopt;
  }
  return value;
}

// `line` begins with a wanted name of this length.
std::optional<MetricSample> parse_line(std::string_view line, size_t name, size_t length) {
  MetricSample sample{.name = name, .labels = {}};
  line.remove_prefix(length);
  if (line[0] == '{') {
    const size_t end = labels_end(line.substr(1));
    if (end == std::string_view::npos) return std::nullopt;
    sample.labels = line.substr(1, end);
    line.remove_prefix(end + 2);
  }
  const auto value = parse_value(line);
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

void add(std::optional<double>& sum, double value) { sum = sum.value_or(0) + value; }

// What no engine has that many of; sums over all the samples of an exposition stay far from
// overflow.
constexpr int64_t kCountMax = 1'000'000'000'000;

std::optional<int64_t> count_label(std::string_view labels, std::string_view name) {
  const auto text = label_value(labels, name);
  if (!text) return std::nullopt;
  int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [read, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || read != end || value < 0 || value > kCountMax) return std::nullopt;
  return value;
}

enum Name : size_t {
  kRunning,
  kWaiting,
  kUsage,
  kUsageOld,
  kQueries,
  kHits,
  kQueriesOld,
  kHitsOld,
  kConfig,
  kRunningSglang,
  kWaitingSglang,
  kUsageSglang,
  kTtftSum,
  kTtftCount,
  kTpotSum,
  kTpotCount,
  kTtftSumSglang,
  kTtftCountSglang,
  kTpotSumSglang,
  kTpotCountSglang,
  kNames
};
constexpr std::string_view kEngineNames[kNames] = {"vllm:num_requests_running",
                                                   "vllm:num_requests_waiting",
                                                   "vllm:kv_cache_usage_perc",
                                                   "vllm:gpu_cache_usage_perc",
                                                   "vllm:prefix_cache_queries_total",
                                                   "vllm:prefix_cache_hits_total",
                                                   "vllm:gpu_prefix_cache_queries_total",
                                                   "vllm:gpu_prefix_cache_hits_total",
                                                   "vllm:cache_config_info",
                                                   "sglang:num_running_reqs",
                                                   "sglang:num_queue_reqs",
                                                   "sglang:token_usage",
                                                   "vllm:time_to_first_token_seconds_sum",
                                                   "vllm:time_to_first_token_seconds_count",
                                                   "vllm:inter_token_latency_seconds_sum",
                                                   "vllm:inter_token_latency_seconds_count",
                                                   "sglang:time_to_first_token_seconds_sum",
                                                   "sglang:time_to_first_token_seconds_count",
                                                   "sglang:inter_token_latency_seconds_sum",
                                                   "sglang:inter_token_latency_seconds_count"};

}  // namespace

void scan_metrics(std::string_view text, std::span<const std::string_view> names,
                  const std::function<void(const MetricSample&)>& found) {
  while (!text.empty()) {
    const void* newline = std::memchr(text.data(), '\n', text.size());
    const size_t length =
        newline == nullptr ? text.size()
                           : static_cast<size_t>(static_cast<const char*>(newline) - text.data());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(newline == nullptr ? length : length + 1);
    if (line.empty() || line[0] == '#') continue;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string_view name = names[i];
      // The character behind the name tells most lines apart before their names are compared.
      if (line.size() <= name.size()) continue;
      const char next = line[name.size()];
      if ((next != '{' && next != ' ' && next != '\t') || !line.starts_with(name)) continue;
      if (const auto sample = parse_line(line, i, name.size())) found(*sample);
      break;
    }
  }
}

std::optional<std::string> label_value(std::string_view labels, std::string_view name) {
  while (!labels.empty()) {
    const size_t equals = labels.find('=');
    if (equals == std::string_view::npos || equals + 1 >= labels.size() ||
        labels[equals + 1] != '"') {
      return std::nullopt;
    }
    std::string_view key = labels.substr(0, equals);
    key.remove_prefix(std::min(key.find_first_not_of(", "), key.size()));
    labels.remove_prefix(equals + 2);
    std::string value;
    size_t i = 0;
    for (; i < labels.size() && labels[i] != '"'; ++i) {
      if (labels[i] == '\\' && i + 1 < labels.size()) {
        ++i;
        value.push_back(labels[i] == 'n' ? '\n' : labels[i]);
      } else {
        value.push_back(labels[i]);
      }
    }
    if (i == labels.size()) return std::nullopt;
    if (key == name) return value;
    labels.remove_prefix(i + 1);
  }
  return std::nullopt;
}

EngineLoad read_engine_load(std::string_view exposition) {
  EngineLoad load;
  double usage = 0;
  int usages = 0;
  scan_metrics(exposition, kEngineNames, [&](const MetricSample& sample) {
    if (!std::isfinite(sample.value)) return;
    switch (static_cast<Name>(sample.name)) {
      case kRunning:
      case kRunningSglang:
        add(load.running, sample.value);
        break;
      case kWaiting:
      case kWaitingSglang:
        add(load.waiting, sample.value);
        break;
      case kUsage:
      case kUsageOld:
      case kUsageSglang:
        usage += sample.value;
        ++usages;
        break;
      case kQueries:
      case kQueriesOld:
        add(load.cache_queries, sample.value);
        break;
      case kHits:
      case kHitsOld:
        add(load.cache_hits, sample.value);
        break;
      case kConfig:
        load.block_size = count_label(sample.labels, "block_size");
        if (const auto blocks = count_label(sample.labels, "num_gpu_blocks")) {
          load.blocks = load.blocks.value_or(0) + *blocks;
        }
        break;
      case kTtftSum:
      case kTtftSumSglang:
        add(load.ttft_seconds, sample.value);
        break;
      case kTtftCount:
      case kTtftCountSglang:
        add(load.ttft_count, sample.value);
        break;
      case kTpotSum:
      case kTpotSumSglang:
        add(load.tpot_seconds, sample.value);
        break;
      case kTpotCount:
      case kTpotCountSglang:
        add(load.tpot_count, sample.value);
        break;
      case kNames:
        break;
    }
  });
  if (usages > 0) load.cache_usage = usage / usages;
  return load;
}

}  // namespace fairlead::protocol
