// What a token costs in the model: budget 0.3 us at 64 streams, and no allocation in a step.
#include <benchmark/benchmark.h>

#include "engine_model/model.h"

namespace fairlead::engine_model {
namespace {

class Source final : public TokenSource {
 public:
  Next next_token(uint64_t) override { return {.token = next_++, .stop = false}; }

 private:
  Token next_ = 0;
};

void DecodeStep(benchmark::State& state) {
  const auto streams = static_cast<uint32_t>(state.range(0));
  ModelConfig config;
  config.num_gpu_blocks = 65'536;
  Source source;
  EngineModel model(config, *find_profile("h100-8b"), source);
  base::TimePoint now{};
  uint64_t user = 0;
  int64_t tokens = 0;
  for (auto _ : state) {
    while (model.load().running + model.load().waiting < streams) {
      Request request{.prompt = std::vector<Token>(512, Token(user)),
                      .output_tokens_max = 1024,
                      .user = user++};
      if (!model.add(std::move(request), now).ok()) return;
    }
    now += model.plan_step(now).duration;
    tokens += static_cast<int64_t>(model.finish_step(now).size());
  }
  state.SetItemsProcessed(tokens);
}
BENCHMARK(DecodeStep)->Arg(1)->Arg(64)->Arg(256);

// A prompt of 4,096 tokens that is cached whole: hashing and lookup.
void WarmPrompt(benchmark::State& state) {
  ModelConfig config;
  config.num_gpu_blocks = 65'536;
  Source source;
  EngineModel model(config, *find_profile("h100-8b"), source);
  const std::vector<Token> prompt(4096, 7);
  base::TimePoint now{};
  for (auto _ : state) {
    if (!model.add({.prompt = prompt, .output_tokens_max = 1}, now).ok()) return;
    while (model.has_work()) {
      now += model.plan_step(now).duration;
      benchmark::DoNotOptimize(model.finish_step(now).size());
    }
  }
}
BENCHMARK(WarmPrompt);

}  // namespace
}  // namespace fairlead::engine_model
