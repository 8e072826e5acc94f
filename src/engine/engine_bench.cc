// What a streamed token costs this process before the kernel takes it: step, text, metrics and the
// chunk, at 64 streams. The whole cost, sockets included, is `make bench`'s.
#include <benchmark/benchmark.h>

#include "engine/core.h"
#include "engine/parse_args.h"
#include "protocol/stream.h"

namespace fairlead::engine {
namespace {

struct Stream final : JobOwner {
  Stream(Core& core, const protocol::Tokenizer& tokenizer, uint64_t seed)
      : chunks({.id = "chatcmpl-0123456789abcdef", .created = 1, .model = "m"}),
        job(core, tokenizer, {.seed = seed, .output_tokens_max = 1'000'000}) {}
  void on_news(Job& one) override {
    out.clear();
    chunks.delta(out, {.text = one.generation.unsent()});
    one.generation.mark_sent();
    bytes += out.size();
  }
  protocol::ChatStream chunks;
  std::string out;
  size_t bytes = 0;
  Job job;
};

void StreamedToken(benchmark::State& state) {
  auto config = parse_engine_args(std::vector<std::string>{"--num-gpu-blocks-override", "5000000",
                                                           "--max-model-len", "2000000"},
                                  {});
  if (!config) return;
  base::ManualClock clock;
  rt::Loop loop(clock);
  obs::Registry registry({.style = obs::Style::kPython});
  EngineMetrics metrics(registry, *config);
  protocol::BuiltinTokenizer tokenizer;
  Core core(loop, *config, metrics);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int64_t i = 0; i < state.range(0); ++i) {
    streams.push_back(std::make_unique<Stream>(core, tokenizer, static_cast<uint64_t>(i)));
    const bool added = core.submit(streams.back()->job, {.prompt = std::vector<uint32_t>(100, 7),
                                                         .output_tokens_max = 1'000'000,
                                                         .owner = streams.back().get(),
                                                         .every_token = true})
                           .ok();
    if (!added) return;
  }
  uint64_t tokens = 0;
  for (auto _ : state) {
    const uint64_t before = core.model().counters().output_tokens;
    loop.run_until_idle(loop.now() + std::chrono::milliseconds(100));
    tokens += core.model().counters().output_tokens - before;
  }
  state.counters["us_per_token"] = benchmark::Counter(
      static_cast<double>(tokens) / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(StreamedToken)->Arg(64);

}  // namespace
}  // namespace fairlead::engine
