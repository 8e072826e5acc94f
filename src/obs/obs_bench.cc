#include <benchmark/benchmark.h>

#include <string>

#include "obs/access_log.h"
#include "obs/metrics.h"

namespace fairlead::obs {
namespace {

void CounterAdd(benchmark::State& state) {
  Registry registry({.shards = 2});
  const Counter counter = registry.counter("c_total", "C.").counter(0);
  for (auto _ : state) {
    counter.add();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(CounterAdd);

void HistogramObserve(benchmark::State& state) {
  Registry registry({.shards = 2});
  const double buckets[] = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5};
  const Histogram histogram = registry.histogram("h", "H.", buckets).histogram(0);
  double value = 0;
  for (auto _ : state) {
    histogram.observe(value);
    value = value > 8 ? 0 : value + 0.01;
  }
}
BENCHMARK(HistogramObserve);

// Four shards, 200 histograms of 22 buckets: about 5,000 lines.
void Expose(benchmark::State& state) {
  Registry registry({.shards = 4});
  std::vector<double> buckets;
  for (int i = 1; i <= 22; ++i) buckets.push_back(0.01 * i * i);
  Family& family = registry.histogram("wait_seconds", "Waits.", buckets, {"backend"});
  for (int i = 0; i < 200; ++i) family.histogram(0, {std::to_string(i)}).observe(0.123 * i);
  std::string text;
  for (auto _ : state) {
    text.clear();
    registry.expose(text);
    benchmark::DoNotOptimize(text);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(Expose);

void AccessLine(benchmark::State& state) {
  AccessLog log([](std::string_view) {}, {.interval = base::Nanos(0)});
  const AccessRecord record{.method = "POST",
                            .path = "/v1/chat/completions",
                            .status = 200,
                            .model = "m",
                            .selected_pod = "10.0.0.1:8000",
                            .request_id = "0123456789abcdef",
                            .backend_type = "static",
                            .upstream_model = "m",
                            .upstream_status = 200,
                            .upstream_attempts = 1,
                            .input_tokens = 1024,
                            .total = base::Nanos(12'345'678),
                            .bytes_out = 1234};
  int pending = 0;
  for (auto _ : state) {
    log.append(0, record);
    if (++pending == 1000) {
      log.write_pending();
      pending = 0;
    }
  }
}
BENCHMARK(AccessLine);

}  // namespace
}  // namespace fairlead::obs
