#include "obs/access_log.h"

#include <algorithm>
#include <cstring>

#include "base/append.h"
#include "base/check.h"

namespace fairlead::obs {
namespace {

struct LineWriter {
  std::string& out;
  const LineFormat format;

  void add(std::string_view key, std::string_view value) {
    if (!value.empty()) append_field(out, {key, value}, format);
  }
  void add(std::string_view key, uint64_t value) {
    if (value != 0) append_field(out, {key, value}, format);
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

}  // namespace

void append_access_line(std::string& out, const AccessRecord& record, LineFormat format) {
  const bool json = format == LineFormat::kJson;
  out.append(json ? "{\"time\":\"" : "");
  append_time(out, record.time);
  if (json) out.push_back('"');
  LineWriter line{out, format};
  line.add("method", record.method);
  line.add("path", record.path);
  line.add("status", static_cast<uint64_t>(record.status));
  line.add("outcome", record.outcome);
  line.add("request_id", record.request_id);
  line.add("model", record.model);
  line.add("backend", record.backend);
  line.add("attempts", record.attempts);
  line.add_ms("duration_ms", record.duration);
  line.add_ms("first_byte_ms", record.first_byte);
  line.add("bytes_in", record.bytes_in);
  line.add("bytes_out", record.bytes_out);
  line.add("prompt_tokens", record.prompt_tokens);
  line.add("cached_tokens", record.cached_tokens);
  line.add("output_tokens", record.output_tokens);
  out.append(json ? "}\n" : "\n");
}

// A byte queue between the shard that writes and the thread that reads. Positions only grow; a
// position's place is its remainder.
class AccessLog::Ring {
 public:
  explicit Ring(size_t size) : bytes_(size) {}

  void append(const AccessRecord& record, LineFormat format) {
    line_.clear();
    append_access_line(line_, record, format);
    const uint64_t written = written_.load(std::memory_order_relaxed);
    if (line_.size() > bytes_.size() - (written - read_.load(std::memory_order_acquire))) {
      dropped_.store(dropped() + 1, std::memory_order_relaxed);
      return;
    }
    const size_t place = written % bytes_.size();
    const size_t first = std::min(line_.size(), bytes_.size() - place);
    std::memcpy(bytes_.data() + place, line_.data(), first);
    std::memcpy(bytes_.data(), line_.data() + first, line_.size() - first);
    written_.store(written + line_.size(), std::memory_order_release);
  }

  // Moves whole lines to `batch`; the reading thread's only.
  void drain(std::string& batch) {
    const uint64_t read = read_.load(std::memory_order_relaxed);
    const size_t count = static_cast<size_t>(written_.load(std::memory_order_acquire) - read);
    const size_t place = read % bytes_.size();
    const size_t first = std::min(count, bytes_.size() - place);
    batch.append(bytes_.data() + place, first).append(bytes_.data(), count - first);
    read_.store(read + count, std::memory_order_release);
  }

  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<char> bytes_;
  std::string line_;
  alignas(64) std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  alignas(64) std::atomic<uint64_t> read_{0};
};

AccessLog::AccessLog(Sink sink, AccessLogOptions options)
    : sink_(std::move(sink)), options_(options) {
  CHECK(options.ring.count > 0, "a ring has room");
  for (size_t i = 0; i < options.shards; ++i) {
    rings_.push_back(std::make_unique<Ring>(options.ring.count));
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
  rings_[shard]->append(record, options_.format);
}

void AccessLog::write_pending() {
  const std::lock_guard lock(writing_);
  std::string batch;
  for (const auto& ring : rings_) ring->drain(batch);
  if (!batch.empty()) sink_(batch);
}

uint64_t AccessLog::dropped() const {
  uint64_t sum = 0;
  for (const auto& ring : rings_) sum += ring->dropped();
  return sum;
}

void AccessLog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, options_.interval);
    lock.unlock();
    write_pending();
    lock.lock();
  }
}

}  // namespace fairlead::obs
