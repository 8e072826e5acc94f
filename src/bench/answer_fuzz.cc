// Any bytes as an answer, whole and as a stream, in two pieces. The reading of a stream must not
// depend on where it was cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "bench/answer.h"
#include "bench/request.h"

namespace fairlead::bench {
namespace {

struct Reading {
  workload::Outcome outcome;
  uint64_t tokens;
  uint64_t gaps;
  std::string text;
  bool operator==(const Reading&) const = default;
};

Reading read(std::string_view bytes, size_t cut, Streaming streaming) {
  workload::Histogram gaps;
  AnswerReader answer;
  std::string text;
  answer.begin(streaming, 200, gaps, &text);
  answer.feed(bytes.substr(0, cut), base::Nanos(1));
  answer.feed(bytes.substr(cut), base::Nanos(2));
  answer.end();
  return {answer.outcome(), answer.output_tokens(), gaps.count(), std::move(text)};
}

}  // namespace
}  // namespace fairlead::bench

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::bench;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto streaming : {Streaming::kNo, Streaming::kYes}) {
    const size_t cut = size == 0 ? 0 : data[0] % (size + 1);
    CHECK(read(bytes, 0, streaming) == read(bytes, cut, streaming), "a cut changed the reading");
  }
  replica_of(bytes);
  return 0;
}
