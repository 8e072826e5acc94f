// Traces: W3C trace context, and spans as OpenTelemetry's JSON (OTLP/HTTP).
//
//   std::optional<TraceContext> caller = parse_traceparent(head.value("traceparent"));
//   ...
//   spans.append(shard, {.context = own, .parent = caller->span_id, .name = "request", ...});
//   spans.drain(batch);                        // on the exporting thread
//   post("/v1/traces", otlp_request(batch, {.service = "fairlead-router"}));
//
// Shards print their spans into rings of their own, as the access log does: recording a span takes
// no lock and no system call, and what does not fit is dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "obs/fields.h"

namespace fairlead::obs {

// Where in which trace; ids are not zero.
struct TraceContext {
  uint64_t trace_high = 0, trace_low = 0;
  uint64_t span_id = 0;
  bool sampled = false;

  bool operator==(const TraceContext&) const = default;
};

// Nothing where the field is absent or not valid by the recommendation (level 1): a new trace is
// begun then. A version above 00 may be followed by more, as it says.
std::optional<TraceContext> parse_traceparent(std::string_view field);
// "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
void append_traceparent(std::string& out, const TraceContext& context);
// 32 digits.
void append_trace_id(std::string& out, const TraceContext& context);

enum class SpanKind : uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

struct Span {
  TraceContext context;
  uint64_t parent = 0;  // 0: none
  std::string_view name;
  SpanKind kind = SpanKind::kInternal;
  base::WallTime start{}, end{};
  std::span<const Field> attributes;
  std::string_view error;  // what went wrong; empty: nothing
};

// One JSON object, on one line.
void append_span_json(std::string& out, const Span& span);

struct Resource {
  std::string_view service, version, instance;
};
// An ExportTraceServiceRequest with these spans, one JSON object a line.
std::string otlp_request(std::string_view lines, const Resource& resource);

struct SpanBufferOptions {
  size_t shards = 1;
  base::Bytes ring{1 << 20};  // a shard's
};

class SpanBuffer {
 public:
  explicit SpanBuffer(SpanBufferOptions options);
  ~SpanBuffer();

  // On that shard's thread.
  void append(size_t shard, const Span& span);
  // Appends all spans so far, one a line. One thread.
  void drain(std::string& lines);
  // Whether a shard's ring is: time to drain it. Any thread.
  bool half_full() const;
  // Spans lost to full rings.
  uint64_t dropped() const;

 private:
  struct Shard;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace fairlead::obs
