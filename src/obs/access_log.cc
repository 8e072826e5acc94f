#include "obs/access_log.h"

#include <algorithm>

#include "base/append.h"
#include "base/check.h"
#include "codec/json.h"
#include "obs/byte_ring.h"

namespace fairlead::obs {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

struct LineWriter {
  std::string& out;
  const LineFormat format;

  void add(std::string_view key, std::string_view value) {
    if (!value.empty()) append_field(out, {key, value}, format);
  }
  void add(std::string_view key, uint64_t value) {
    if (value != 0) append_field(out, {key, value}, format);
  }
  // Whole milliseconds, as whoever reads these fields expects.
  void add_whole_ms(std::string_view key, base::Nanos value) {
    append_field(out, {key, duration_cast<milliseconds>(value).count()}, format);
  }
  void add_ms(std::string_view key, base::Nanos value) {
    if (value.count() == 0) return;
    // Whole microseconds: finer is noise and costs digits.
    const auto us = static_cast<uint64_t>(value.count() / 1000);
    append_key(out, key, format);
    base::append_decimal(out, us / 1000);
    out.push_back('.');
    base::append_thousandths(out, us % 1000);
  }
};

base::Nanos response_processing(const AccessRecord& record) {
  return std::max(base::Nanos(0),
                  record.total - record.request_processing - record.upstream_processing);
}

// Which replica, and how it went there.
void add_upstream(LineWriter& line, const AccessRecord& record) {
  line.add("selected_pod", record.selected_pod);
  line.add("request_id", record.request_id);
  line.add("backend_type", record.backend_type);
  line.add("upstream_model", record.upstream_model);
  line.add("upstream_status_code", static_cast<uint64_t>(record.upstream_status));
  line.add("upstream_attempts", record.upstream_attempts);
  line.add("error_origin", record.error_origin);
}

void add_ours(LineWriter& line, const AccessRecord& record) {
  line.add("cached_tokens", record.cached_tokens);
  line.add_ms("first_byte_ms", record.first_byte);
  line.add("bytes_in", record.bytes_in);
  line.add("bytes_out", record.bytes_out);
  line.add("client_ip", record.client_ip);
  line.add("trace_id", record.trace_id);
}

void append_json_line(std::string& out, const AccessRecord& record) {
  LineWriter line{out, LineFormat::kJson};
  out.append("{\"timestamp\":\"");
  append_time(out, record.time);
  out.push_back('"');
  line.add("method", record.method);
  line.add("path", record.path);
  line.add("protocol", record.minor_version == 0 ? "HTTP/1.0" : "HTTP/1.1");
  line.add("status_code", static_cast<uint64_t>(record.status));
  if (!record.error_type.empty()) {
    out.append(",\"error\":{\"type\":");
    codec::append_json_string(out, record.error_type);
    out.append(",\"message\":");
    codec::append_json_string(out, record.error_message);
    out.push_back('}');
  }
  append_field(out, {"model_name", record.model}, LineFormat::kJson);
  add_upstream(line, record);
  line.add("input_tokens", record.input_tokens);
  line.add("output_tokens", record.output_tokens);
  line.add_whole_ms("duration_total", record.total);
  line.add_whole_ms("duration_request_processing", record.request_processing);
  line.add_whole_ms("duration_upstream_processing", record.upstream_processing);
  line.add_whole_ms("duration_response_processing", response_processing(record));
  add_ours(line, record);
  out.append("}\n");
}

void append_message(std::string& out, std::string_view message) {
  for (const char c : message) {
    const bool control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    out.push_back(control ? ' ' : c);
  }
}

void append_text_line(std::string& out, const AccessRecord& record) {
  LineWriter line{out, LineFormat::kText};
  const auto whole_ms = [&out](base::Nanos value) {
    base::append_decimal(out, static_cast<uint64_t>(duration_cast<milliseconds>(value).count()));
  };
  out.push_back('[');
  append_time(out, record.time);
  out.append("] \"").append(record.method).append(" ");
  append_message(out, record.path);
  out.append(record.minor_version == 0 ? " HTTP/1.0\" " : " HTTP/1.1\" ");
  base::append_decimal(out, static_cast<uint64_t>(record.status));
  if (!record.error_type.empty()) {
    out.append(" error=").append(record.error_type).append(":");
    append_message(out, record.error_message);
  }
  line.add("model_name", record.model);
  add_upstream(line, record);
  if (record.input_tokens != 0 || record.output_tokens != 0) {
    out.append(" tokens=");
    base::append_decimal(out, record.input_tokens);
    out.push_back('/');
    base::append_decimal(out, record.output_tokens);
  }
  out.append(" timings=");
  whole_ms(record.total);
  out.append("ms(");
  whole_ms(record.request_processing);
  out.push_back('+');
  whole_ms(record.upstream_processing);
  out.push_back('+');
  whole_ms(response_processing(record));
  out.push_back(')');
  add_ours(line, record);
  out.push_back('\n');
}

}  // namespace

void append_access_line(std::string& out, const AccessRecord& record, LineFormat format) {
  if (format == LineFormat::kJson) {
    append_json_line(out, record);
  } else {
    append_text_line(out, record);
  }
}

struct AccessLog::Shard {
  explicit Shard(base::Bytes size) : ring(size.count) {}
  ByteRing ring;
  std::string line;
};

AccessLog::AccessLog(Sink sink, AccessLogOptions options)
    : sink_(std::move(sink)), options_(options) {
  for (size_t i = 0; i < options.shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(options.ring));
  }
  if (options.interval.count() > 0) thread_ = std::thread([this] { run(); });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  write_pending();
}

void AccessLog::append(size_t shard, const AccessRecord& record) {
  Shard& own = *shards_[shard];
  own.line.clear();
  append_access_line(own.line, record, options_.format);
  if (!own.ring.append(own.line)) return;
  {
    const std::lock_guard lock(mutex_);
    half_full_ = true;
  }
  wake_.notify_all();
}

void AccessLog::write_pending() {
  const std::lock_guard lock(writing_);
  batch_.clear();
  for (const auto& shard : shards_) shard->ring.drain(batch_);
  if (!batch_.empty()) sink_(batch_);
}

uint64_t AccessLog::dropped() const {
  uint64_t sum = 0;
  for (const auto& shard : shards_) sum += shard->ring.dropped();
  return sum;
}

void AccessLog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, options_.interval, [this] { return stopping_ || half_full_; });
    half_full_ = false;
    lock.unlock();
    write_pending();
    lock.lock();
  }
}

}  // namespace fairlead::obs
