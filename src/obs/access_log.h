// The access log: one line a finished request, never a prompt or an answer.
//
// Each shard formats its lines into a ring of its own; one thread empties all rings into the sink
// in batches. A ring that is full drops the line and counts it: a slow disk slows no request.
//
//   AccessLog log(sink, {.shards = 4});
//   log.append(shard, record);          // on that shard's thread: no lock, no system call
//
// The background thread writes every `interval`; with an interval of zero there is none, and
// write_pending() does it when told. The destructor writes what is left.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "obs/fields.h"
#include "obs/sink.h"

namespace fairlead::obs {

// What is known of a request when it has ended; what does not apply stays empty and is left out.
struct AccessRecord {
  base::WallTime time{};  // of its arrival
  std::string_view request_id, method, path, model, backend;
  int status = 0;
  std::string_view outcome;  // "ok", or why not: "client_gone", "deadline", ...
  base::Nanos duration{}, first_byte{};
  uint64_t bytes_in = 0, bytes_out = 0;
  uint32_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  uint32_t attempts = 0;
};

void append_access_line(std::string& out, const AccessRecord& record, LineFormat format);

struct AccessLogOptions {
  size_t shards = 1;
  LineFormat format = LineFormat::kText;
  base::Bytes ring{1 << 20};  // a shard's
  base::Nanos interval = std::chrono::milliseconds(200);
};

class AccessLog {
 public:
  explicit AccessLog(Sink sink, AccessLogOptions options = {});
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void append(size_t shard, const AccessRecord& record);
  // Hands everything appended so far to the sink. Any thread.
  void write_pending();
  // Lines lost to full rings.
  uint64_t dropped() const;

 private:
  class Ring;
  void run();

  const Sink sink_;
  const AccessLogOptions options_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::mutex writing_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fairlead::obs
