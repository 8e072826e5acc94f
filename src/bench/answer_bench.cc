// What reading a streamed token costs the client, beside its socket read.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/answer.h"

namespace fairlead::bench {
namespace {

void ReadToken(benchmark::State& state) {
  const std::string event =
      R"(data: {"id":"chatcmpl-80404a94a063c861","object":"chat.completion.chunk","created":1795973890,"model":"tiny","choices":[{"index":0,"delta":{"content":"struc"},"logprobs":null,"finish_reason":null,"token_ids":null}]})"
      "\n\n";
  workload::Histogram gaps;
  AnswerReader answer;
  answer.begin(Streaming::kYes, 200, gaps);
  base::Nanos at{0};
  for (auto _ : state) {
    answer.feed(event, at += std::chrono::milliseconds(5));
    benchmark::DoNotOptimize(answer.first_token());
  }
}
BENCHMARK(ReadToken);

}  // namespace
}  // namespace fairlead::bench
