// What a request and a chunk cost here: `src/codec/codec_bench`.
#include <benchmark/benchmark.h>

#include <string>

#include "codec/body_edit.h"
#include "codec/body_scan.h"
#include "codec/json.h"
#include "codec/prompt_pieces.h"
#include "codec/sse.h"

namespace fairlead::codec {
namespace {

enum class Script { kAscii, kChinese };

// A conversation of about `size` bytes with a new line every sentence, as prompts have.
std::string chat_body(size_t size, Script script) {
  const std::string_view sentence =
      script == Script::kAscii ? "You are a helpful assistant, answer as briefly as you can.\\n"
                               : "你是一个乐于助人的助手,请尽量简短地回答每一个问题。\\n";
  std::string body = R"({"model":"Qwen/Qwen3-0.6B","messages":[)";
  while (body.size() < size) {
    body += R"({"role":"user","content":")";
    for (int i = 0; i < 8; ++i) body += sentence;
    body += "\"},";
  }
  body.pop_back();
  return body + R"(],"max_tokens":128,"temperature":0.7,"stream":true,"user":"u-1"})";
}

void scan(benchmark::State& state, Script script) {
  const std::string body = chat_body(static_cast<size_t>(state.range(0)), script);
  for (auto _ : state) benchmark::DoNotOptimize(scan_body(body));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}
BENCHMARK_CAPTURE(scan, ascii, Script::kAscii)->Arg(4 << 10)->Arg(64 << 10);
BENCHMARK_CAPTURE(scan, chinese, Script::kChinese)->Arg(4 << 10);

void pieces(benchmark::State& state) {
  const std::string body = chat_body(4 << 10, Script::kAscii);
  const auto scanned = scan_body(body);
  for (auto _ : state) {
    size_t bytes = 0;
    for_each_prompt_piece(body, *scanned, [&](const PromptPiece& piece) {
      bytes += piece.raw.size();
      return true;
    });
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(pieces);

void request_usage(benchmark::State& state) {
  const std::string body = chat_body(4 << 10, Script::kAscii);
  const auto scanned = scan_body(body);
  for (auto _ : state) {
    BodyEdits edits(*scanned);
    edits.request_usage(body);
    benchmark::DoNotOptimize(edits.splices());
  }
}
BENCHMARK(request_usage);

void tree(benchmark::State& state) {
  const std::string body = chat_body(4 << 10, Script::kAscii);
  for (auto _ : state) benchmark::DoNotOptimize(parse_json(body));
}
BENCHMARK(tree);

void write_chunk(benchmark::State& state) {
  std::string out;
  for (auto _ : state) {
    out.clear();
    JsonWriter w(out);
    w.begin_object().key("id").string("chatcmpl-9d77a6c6c2c6362a");
    w.key("object").string("chat.completion.chunk").key("created").integer(1795973889);
    w.key("model").string("tiny").key("choices").begin_array().begin_object();
    w.key("index").integer(0).key("delta").begin_object().key("content").string(" token");
    w.end_object().key("logprobs").null().key("finish_reason").null().end_object().end_array();
    w.end_object();
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(write_chunk);

constexpr std::string_view kUsageEvent =
    R"(data: {"id":"chatcmpl-9d77a6c6c2c6362a","object":"chat.completion.chunk","created":1795973889,)"
    R"("model":"tiny","choices":[],"usage":{"prompt_tokens":267,"total_tokens":275,)"
    R"("completion_tokens":8,"prompt_tokens_details":{"cached_tokens":256}}})"
    "\n\n";

void split_event(benchmark::State& state) {
  SseSplitter splitter;
  size_t bytes = 0;
  for (auto _ : state) {
    splitter.feed(kUsageEvent, [&](std::string_view event) { bytes += event.size(); });
  }
  benchmark::DoNotOptimize(bytes);
}
BENCHMARK(split_event);

void mentions_usage(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(mentions(kUsageEvent.substr(0, 110), "\"usage\""));
}
BENCHMARK(mentions_usage);

void read_usage_event(benchmark::State& state) {
  std::string joined;
  for (auto _ : state) benchmark::DoNotOptimize(scan_chunk(sse_data(kUsageEvent, joined)));
}
BENCHMARK(read_usage_event);

}  // namespace
}  // namespace fairlead::codec
