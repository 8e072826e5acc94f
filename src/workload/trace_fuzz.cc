// Any bytes as either kind of trace file, whole and in two pieces: what is read must not depend on
// where the file was cut, and whatever is taken can be made into sessions.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "workload/sessions.h"
#include "workload/trace.h"

namespace fairlead::workload {
namespace {

base::Result<Trace> read(TraceFormat format, std::string_view bytes, size_t cut) {
  TraceReader reader(format);
  if (auto fed = reader.feed(bytes.substr(0, cut)); !fed) return fed.error();
  if (auto fed = reader.feed(bytes.substr(cut)); !fed) return fed.error();
  return reader.finish();
}

void make_sessions(Trace trace) {
  uint64_t tokens = 0;
  uint64_t turns = 0;
  for (const auto& session : trace) {
    turns += session.turns.size();
    for (const auto& turn : session.turns) tokens += turn.prompt_tokens;
  }
  if (tokens > 1'000'000) return;  // a large text says nothing new
  SessionSource source(
      {.kind = SessionKind::kRecorded, .trace = std::make_shared<const Trace>(std::move(trace))});
  Session session;
  uint64_t made = 0;
  while (source.next(session)) made += session.turns.size();
  CHECK(made == turns && made == source.planned(), "every recorded turn is sent");
}

}  // namespace
}  // namespace fairlead::workload

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::workload;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t cut = size == 0 ? 0 : data[size / 2] % (size + 1);
  for (const auto format : {TraceFormat::kMooncake, TraceFormat::kShareGpt}) {
    auto whole = read(format, bytes, 0);
    const auto pieces = read(format, bytes, cut);
    CHECK(whole.ok() == pieces.ok(), "a cut changed whether a trace is taken");
    if (!whole) {
      CHECK(whole.error().message() == pieces.error().message(), "a cut changed the error");
      continue;
    }
    CHECK(whole->size() == pieces->size(), "a cut changed how much was read");
    make_sessions(std::move(*whole));
  }
  return 0;
}
