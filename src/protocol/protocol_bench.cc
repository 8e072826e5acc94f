#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "protocol/engine_metrics.h"
#include "protocol/metrics_text.h"
#include "protocol/request.h"
#include "protocol/stream.h"
#include "protocol/tokenizer.h"

namespace fairlead::protocol {
namespace {

const AnswerHead kHead{"chatcmpl-9d77a6c6c2c6362a", 1795973889, "meta-llama/Llama-3.1-8B-Instruct"};

void ChatChunk(benchmark::State& state) {
  const ChatStream stream(kHead);
  std::string out;
  for (auto _ : state) {
    out.clear();
    stream.delta(out, {.text = " token"});
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(ChatChunk);

void CompletionChunk(benchmark::State& state) {
  const CompletionStream stream(kHead);
  std::string out;
  for (auto _ : state) {
    out.clear();
    stream.delta(out, {.text = " token"});
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(CompletionChunk);

std::string english(size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text +=
        "You are a helpful assistant. Permission is hereby granted, free of charge, to any "
        "person obtaining a copy of this software and associated documentation files. ";
  }
  return text;
}

void Encode(benchmark::State& state) {
  const BuiltinTokenizer tokenizer;
  const std::string text = english(64 << 10);
  std::vector<TokenId> ids;
  for (auto _ : state) {
    ids.clear();
    tokenizer.encode(text, ids);
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(Encode);

void ParseChat4KiB(benchmark::State& state) {
  const std::string body = R"({"model":"m","messages":[{"role":"system","content":")" +
                           english(4000) + R"("},{"role":"user","content":"hi"}],"stream":true})";
  for (auto _ : state) {
    ChatRequest request;
    benchmark::DoNotOptimize(parse_chat(body, request));
  }
}
BENCHMARK(ParseChat4KiB);

// Of the size and make of a vLLM engine's: about 55 KB.
void ReadEngineLoad(benchmark::State& state) {
  std::string text;
  for (const EngineMetricInfo& info : engine_metrics()) {
    text += "# HELP " + std::string(info.name) + " " + std::string(info.help) + "\n";
    for (int i = 0; i < (info.type == EngineMetricType::kHistogram ? 25 : 3); ++i) {
      text += std::string(info.name) + "_bucket{engine=\"0\",le=\"" + std::to_string(i) +
              "\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 12345.0\n";
    }
    text += std::string(info.name) + "{engine=\"0\",model_name=\"m\"} 3.0\n";
  }
  for (auto _ : state) benchmark::DoNotOptimize(read_engine_load(text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(ReadEngineLoad);

}  // namespace
}  // namespace fairlead::protocol
