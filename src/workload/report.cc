#include "workload/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace fairlead::workload {
namespace {

// Nearest rank over sorted values; `q` in (0, 1].
double rank_ms(const std::vector<base::Nanos>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return base::to_ms(sorted[std::max<size_t>(rank, 1) - 1]);
}

Quantiles quantiles_of(std::vector<base::Nanos> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum_ms = 0;
  for (const auto value : values) sum_ms += base::to_ms(value);
  return {.count = values.size(),
          .mean_ms = sum_ms / static_cast<double>(values.size()),
          .p50_ms = rank_ms(values, 0.5),
          .p90_ms = rank_ms(values, 0.9),
          .p95_ms = rank_ms(values, 0.95),
          .p99_ms = rank_ms(values, 0.99),
          .max_ms = base::to_ms(values.back())};
}

Quantiles quantiles_of(const Histogram& values) {
  return {.count = values.count(),
          .mean_ms = base::to_ms(values.mean()),
          .p50_ms = base::to_ms(values.quantile(0.5)),
          .p90_ms = base::to_ms(values.quantile(0.9)),
          .p95_ms = base::to_ms(values.quantile(0.95)),
          .p99_ms = base::to_ms(values.quantile(0.99)),
          .max_ms = base::to_ms(values.max())};
}

// Per sample: does it repeat a prefix, and was its replica one that had served the prefix?
struct Visit {
  bool repeat = false;
  bool warm = false;
};

std::vector<Visit> visits_of(const std::vector<Sample>& samples) {
  std::vector<size_t> by_start(samples.size());
  std::iota(by_start.begin(), by_start.end(), size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](size_t a, size_t b) { return samples[a].started < samples[b].started; });
  std::map<uint32_t, std::vector<uint32_t>> holders;  // prefix to the replicas that served it
  std::vector<Visit> visits(samples.size());
  for (const size_t i : by_start) {
    const Sample& sample = samples[i];
    if (sample.prefix == kNoPrefix || sample.outcome == Outcome::kNotSent) continue;
    const auto [it, first] = holders.try_emplace(sample.prefix);
    auto& replicas = it->second;
    const bool known =
        std::find(replicas.begin(), replicas.end(), sample.replica) != replicas.end();
    visits[i] = {.repeat = !first, .warm = !first && known && sample.replica != kNoReplica};
    if (!known) replicas.push_back(sample.replica);
  }
  return visits;
}

void count_replicas(Report& report, const RunLog& log) {
  std::vector<uint64_t> requests(log.replicas.size());
  uint64_t all = 0;
  for (const Sample& sample : log.samples) {
    if (sample.replica == kNoReplica) continue;
    ++requests[sample.replica];
    ++all;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == 0) continue;
    report.replicas.push_back(
        {.name = log.replicas[i],
         .requests = requests[i],
         .share = static_cast<double>(requests[i]) / static_cast<double>(all)});
  }
  std::sort(report.replicas.begin(), report.replicas.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

void count_tokens(Report& report, const std::vector<Sample>& samples) {
  uint64_t cached = 0;
  bool told = false;
  for (const Sample& sample : samples) {
    if (sample.outcome != Outcome::kOk) continue;
    report.prompt_tokens += sample.prompt_tokens;
    report.output_tokens += sample.output_tokens;
    told = told || sample.cached_tokens.has_value();
    cached += sample.cached_tokens.value_or(0);
  }
  if (told && report.prompt_tokens > 0) {
    report.cached_ratio = static_cast<double>(cached) / static_cast<double>(report.prompt_tokens);
  }
}

void measure_latencies(Report& report, const std::vector<Sample>& samples,
                       const std::vector<Visit>& visits) {
  std::vector<base::Nanos> whole;
  std::vector<base::Nanos> ttft;
  std::vector<base::Nanos> first;
  std::vector<base::Nanos> repeat;
  std::vector<base::Nanos> pause;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (sample.outcome != Outcome::kOk) continue;
    whole.push_back(sample.whole);
    if (sample.first_token <= base::Nanos(0)) continue;
    ttft.push_back(sample.first_token);
    if (sample.last_token > sample.first_token) pause.push_back(sample.pause_max);
    if (sample.prefix != kNoPrefix) {
      (visits[i].repeat ? repeat : first).push_back(sample.first_token);
    }
  }
  report.whole = quantiles_of(std::move(whole));
  report.ttft = quantiles_of(std::move(ttft));
  report.pause = quantiles_of(std::move(pause));
  report.ttft_first = quantiles_of(std::move(first));
  report.ttft_repeat = quantiles_of(std::move(repeat));
}

void measure_goodput(Report& report, const std::vector<Sample>& samples, const Limits& limits) {
  if (!limits.any()) return;
  Goodput goodput{.limits = limits};
  for (const Sample& sample : samples) goodput.requests += keeps(limits, sample) ? 1 : 0;
  const auto good = static_cast<double>(goodput.requests);
  if (!samples.empty()) goodput.share = good / static_cast<double>(samples.size());
  if (report.busy_s > 0) goodput.requests_per_s = good / report.busy_s;
  report.goodput = goodput;
}

void measure_client(Report& report, const RunLog& log) {
  if (!log.client || log.busy <= base::Nanos(0)) return;
  const auto share = [&](base::Nanos time) {
    return base::to_seconds(time) / base::to_seconds(log.busy);
  };
  report.client = ClientShare{.cpu = share(log.client->cpu),
                              .waiting = share(log.client->waiting),
                              .saturated = share(log.client->saturated)};
}

void write_quantiles(codec::JsonWriter& json, std::string_view key, const Quantiles& q) {
  json.key(key);
  json.begin_object();
  json.key("count");
  json.integer(static_cast<int64_t>(q.count));
  const std::pair<std::string_view, double> fields[] = {{"mean", q.mean_ms}, {"p50", q.p50_ms},
                                                        {"p90", q.p90_ms},   {"p95", q.p95_ms},
                                                        {"p99", q.p99_ms},   {"max", q.max_ms}};
  for (const auto& [name, value] : fields) {
    json.key(name);
    json.number(value);
  }
  json.end_object();
}

void write_optional(codec::JsonWriter& json, std::string_view key, std::optional<double> value) {
  json.key(key);
  value ? json.number(*value) : json.null();
}

void write_goodput(codec::JsonWriter& json, const std::optional<Goodput>& goodput) {
  json.key("goodput");
  if (!goodput) {
    json.null();
    return;
  }
  const auto limit_ms = [](const std::optional<base::Nanos>& limit) -> std::optional<double> {
    if (!limit) return std::nullopt;
    return base::to_ms(*limit);
  };
  json.begin_object();
  write_optional(json, "ttft_limit_ms", limit_ms(goodput->limits.ttft));
  write_optional(json, "itl_limit_ms", limit_ms(goodput->limits.itl));
  json.key("requests").unsigned_integer(goodput->requests);
  json.key("share").number(goodput->share);
  json.key("requests_per_s").number(goodput->requests_per_s);
  json.end_object();
}

void write_client(codec::JsonWriter& json, const std::optional<ClientShare>& client) {
  json.key("client");
  if (!client) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("cpu_share").number(client->cpu);
  json.key("waiting_share").number(client->waiting);
  json.key("saturated_share").number(client->saturated);
  json.key("was_bottleneck").boolean(client->was_bottleneck());
  json.end_object();
}

}  // namespace

double Report::share_max() const {
  double most = 0;
  for (const auto& replica : replicas) most = std::max(most, replica.share);
  return most;
}

Report make_report(std::string label, const RunLog& log, const Limits& limits) {
  Report report;
  report.label = std::move(label);
  report.requests = log.samples.size();
  for (const Sample& sample : log.samples) {
    if (sample.outcome == Outcome::kOk) continue;
    ++report.errors;
    ++report.errors_by_kind[error_kind(sample)];
  }
  const auto visits = visits_of(log.samples);
  uint64_t warm = 0;
  bool told_apart = false;
  for (size_t i = 0; i < visits.size(); ++i) {
    report.repeats += visits[i].repeat ? 1 : 0;
    warm += visits[i].warm ? 1 : 0;
    told_apart = told_apart || log.samples[i].replica != kNoReplica;
  }
  if (report.repeats > 0 && told_apart) {
    report.repeats_warm = static_cast<double>(warm) / static_cast<double>(report.repeats);
  }
  count_replicas(report, log);
  count_tokens(report, log.samples);
  measure_latencies(report, log.samples, visits);
  report.gap = quantiles_of(log.gaps);
  report.busy_s = base::to_seconds(log.busy);
  if (report.busy_s > 0) {
    report.requests_per_s = static_cast<double>(report.requests - report.errors) / report.busy_s;
    report.output_tokens_per_s = static_cast<double>(report.output_tokens) / report.busy_s;
  }
  measure_goodput(report, log.samples, limits);
  measure_client(report, log);
  report.curves = make_curves(log);
  return report;
}

void write_json(codec::JsonWriter& json, const Report& report) {
  const auto count = [&](std::string_view key, uint64_t value) {
    json.key(key);
    json.integer(static_cast<int64_t>(value));
  };
  json.begin_object();
  json.key("label");
  json.string(report.label);
  count("requests", report.requests);
  count("errors", report.errors);
  json.key("errors_by_kind");
  json.begin_object();
  for (const auto& [kind, errors] : report.errors_by_kind) count(kind, errors);
  json.end_object();
  write_optional(json, "busy_s", report.busy_s);
  write_optional(json, "requests_per_s", report.requests_per_s);
  write_optional(json, "output_tokens_per_s", report.output_tokens_per_s);
  count("prompt_tokens", report.prompt_tokens);
  count("output_tokens", report.output_tokens);
  write_optional(json, "cached_ratio", report.cached_ratio);
  write_quantiles(json, "ttft_ms", report.ttft);
  write_quantiles(json, "ttft_first_visit_ms", report.ttft_first);
  write_quantiles(json, "ttft_repeat_ms", report.ttft_repeat);
  write_quantiles(json, "itl_ms", report.gap);
  write_quantiles(json, "pause_max_ms", report.pause);
  write_quantiles(json, "end_to_end_ms", report.whole);
  write_goodput(json, report.goodput);
  write_client(json, report.client);
  count("repeats", report.repeats);
  write_optional(json, "repeats_warm", report.repeats_warm);
  json.key("replicas");
  json.begin_array();
  for (const auto& replica : report.replicas) {
    json.begin_object();
    json.key("name");
    json.string(replica.name);
    count("requests", replica.requests);
    write_optional(json, "share", replica.share);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace fairlead::workload
