// Splitting a stream gives the same events however its bytes arrive, and loses none of them.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/sse.h"

using namespace fairlead::codec;

namespace {

struct Outcome {
  std::vector<std::string> events;
  std::string rest;
  bool operator==(const Outcome&) const = default;
};

Outcome split(std::string_view stream, size_t chunk) {
  SseSplitter splitter;
  Outcome outcome;
  while (!stream.empty()) {
    const std::string_view bytes = stream.substr(0, chunk);
    CHECK(splitter.feed(bytes, [&](std::string_view e) { outcome.events.emplace_back(e); }),
          "an event within the bound is refused");
    stream.remove_prefix(bytes.size());
  }
  outcome.rest = splitter.pending();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  const Outcome whole = split(stream, size + 1);
  std::string joined;
  std::string scratch;
  for (const std::string& event : whole.events) {
    joined += event;
    const ChunkScan chunk = scan_chunk(sse_data(event, scratch));
    CHECK(chunk.is_error || !chunk.error_code, "an error code without an error");
  }
  CHECK(joined + whole.rest == stream, "bytes of the stream are lost");
  for (const size_t chunk : {1u, 2u, 3u, 7u})
    CHECK(split(stream, chunk) == whole, "a split matters");
  return 0;
}
