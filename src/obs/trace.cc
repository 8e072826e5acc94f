#include "obs/trace.h"

#include <algorithm>

#include "base/append.h"
#include "codec/json.h"
#include "obs/byte_ring.h"

namespace fairlead::obs {
namespace {

// "vv-" + 32 digits + "-" + 16 digits + "-" + 2 digits
constexpr size_t kTraceparentBytes = 55;
constexpr uint64_t kSampledFlag = 1;
constexpr int kStatusError = 2;

// All of `text` in lower-case hexadecimal digits, at most 16.
std::optional<uint64_t> parse_hex(std::string_view text) {
  uint64_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

void append_hex16_string(std::string& out, uint64_t value) {
  out.push_back('"');
  base::append_hex16(out, value);
  out.push_back('"');
}

// In OTLP's JSON a 64-bit integer is a string.
void append_integer(std::string& out, uint64_t value) {
  out.push_back('"');
  base::append_decimal(out, value);
  out.push_back('"');
}

void append_time_field(std::string& out, std::string_view key, base::WallTime time) {
  out.append(",\"").append(key).append("\":");
  append_integer(out, static_cast<uint64_t>(std::max<int64_t>(0, time.time_since_epoch().count())));
}

void append_attribute(std::string& out, const Field& field) {
  out.append("{\"key\":");
  codec::append_json_string(out, field.key);
  out.append(",\"value\":{");
  std::visit(
      [&out](auto value) {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, std::string_view>) {
          out.append("\"stringValue\":");
          codec::append_json_string(out, value);
        } else if constexpr (std::is_same_v<T, bool>) {
          out.append("\"boolValue\":").append(value ? "true" : "false");
        } else if constexpr (std::is_same_v<T, double>) {
          out.append("\"doubleValue\":");
          codec::JsonWriter(out).number(value);
        } else {
          out.append("\"intValue\":\"").append(std::to_string(value)).push_back('"');
        }
      },
      field.value);
  out.append("}}");
}

void append_attributes(std::string& out, std::span<const Field> fields) {
  out.append("\"attributes\":[");
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_attribute(out, fields[i]);
  }
  out.push_back(']');
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view field) {
  if (field.size() < kTraceparentBytes) return std::nullopt;
  if (field[2] != '-' || field[35] != '-' || field[52] != '-') return std::nullopt;
  const auto version = parse_hex(field.substr(0, 2));
  const auto high = parse_hex(field.substr(3, 16));
  const auto low = parse_hex(field.substr(19, 16));
  const auto span = parse_hex(field.substr(36, 16));
  const auto flags = parse_hex(field.substr(53, 2));
  if (!version || !high || !low || !span || !flags) return std::nullopt;
  if (*version == 0xff || (*high == 0 && *low == 0) || *span == 0) return std::nullopt;
  if (field.size() > kTraceparentBytes && (*version == 0 || field[kTraceparentBytes] != '-')) {
    return std::nullopt;
  }
  return TraceContext{.trace_high = *high,
                      .trace_low = *low,
                      .span_id = *span,
                      .sampled = (*flags & kSampledFlag) != 0};
}

void append_trace_id(std::string& out, const TraceContext& context) {
  base::append_hex16(out, context.trace_high);
  base::append_hex16(out, context.trace_low);
}

void append_traceparent(std::string& out, const TraceContext& context) {
  out.append("00-");
  append_trace_id(out, context);
  out.push_back('-');
  base::append_hex16(out, context.span_id);
  out.append(context.sampled ? "-01" : "-00");
}

void append_span_json(std::string& out, const Span& span) {
  out.append("{\"traceId\":\"");
  append_trace_id(out, span.context);
  out.append("\",\"spanId\":");
  append_hex16_string(out, span.context.span_id);
  if (span.parent != 0) {
    out.append(",\"parentSpanId\":");
    append_hex16_string(out, span.parent);
  }
  out.append(",\"name\":");
  codec::append_json_string(out, span.name);
  out.append(",\"kind\":");
  base::append_decimal(out, static_cast<uint64_t>(span.kind));
  append_time_field(out, "startTimeUnixNano", span.start);
  append_time_field(out, "endTimeUnixNano", span.end);
  out.push_back(',');
  append_attributes(out, span.attributes);
  if (!span.error.empty()) {
    out.append(",\"status\":{\"code\":");
    base::append_decimal(out, kStatusError);
    out.append(",\"message\":");
    codec::append_json_string(out, span.error);
    out.push_back('}');
  }
  out.push_back('}');
}

std::string otlp_request(std::string_view lines, const Resource& resource) {
  std::string out = "{\"resourceSpans\":[{\"resource\":{";
  const Field fields[] = {{"service.name", resource.service},
                          {"service.version", resource.version},
                          {"service.instance.id", resource.instance}};
  append_attributes(out, fields);
  out.append("},\"scopeSpans\":[{\"scope\":{\"name\":\"fairlead\"},\"spans\":[");
  out.append(lines);
  if (out.back() == '\n') out.pop_back();
  std::replace(out.begin(), out.end(), '\n', ',');
  out.append("]}]}]}");
  return out;
}

struct SpanBuffer::Shard {
  explicit Shard(base::Bytes size) : ring(size.count) {}
  ByteRing ring;
  std::string line;
};

SpanBuffer::SpanBuffer(SpanBufferOptions options) {
  for (size_t i = 0; i < options.shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(options.ring));
  }
}

SpanBuffer::~SpanBuffer() = default;

void SpanBuffer::append(size_t shard, const Span& span) {
  Shard& own = *shards_[shard];
  own.line.clear();
  append_span_json(own.line, span);
  own.line.push_back('\n');
  own.ring.append(own.line);
}

void SpanBuffer::drain(std::string& lines) {
  for (const auto& shard : shards_) shard->ring.drain(lines);
}

bool SpanBuffer::half_full() const {
  return std::any_of(shards_.begin(), shards_.end(),
                     [](const auto& shard) { return shard->ring.half_full(); });
}

uint64_t SpanBuffer::dropped() const {
  uint64_t sum = 0;
  for (const auto& shard : shards_) sum += shard->ring.dropped();
  return sum;
}

}  // namespace fairlead::obs
