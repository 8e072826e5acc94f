// The access log: one line a finished request, never a prompt or an answer.
//
// Both forms have the fields, order and names that readers of the Kthena router's log expect; ours
// follow behind them. Each shard formats its lines into a ring of its own; one thread empties all
// rings into the sink in batches. A ring that is full drops the line and counts it: a slow disk
// slows no request.
//
//   AccessLog log(sink, {.shards = 4});
//   log.append(shard, record);          // on that shard's thread: no lock, no system call
//
// The background thread writes every `interval`, and when a ring is half full; with an interval of
// zero there is none, and write_pending() does it when told. The destructor writes what is left.
#pragma once

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
  std::string_view method, path;
  int minor_version = 1;  // of HTTP/1
  int status = 0;
  std::string_view error_type, error_message;
  std::string_view model;         // as the client named it
  std::string_view selected_pod;  // the replica picked last
  std::string_view request_id;
  std::string_view backend_type, upstream_model;
  int upstream_status = 0;
  uint32_t upstream_attempts = 0;
  std::string_view error_origin;  // "router" or "upstream"
  uint64_t input_tokens = 0, output_tokens = 0;
  // From arrival to the end; until the first replica is picked; from there to the answer's end.
  base::Nanos total{}, request_processing{}, upstream_processing{};

  // Ours.
  uint64_t cached_tokens = 0;
  base::Nanos first_byte{};  // from arrival to the first body byte of the answer
  uint64_t bytes_in = 0, bytes_out = 0;
  std::string_view client_ip;
  std::string_view trace_id;
};

// Text:
//   [time] "METHOD path HTTP/1.1" status error=type:message key=value ... tokens=in/out
//   timings=Nms(a+b+c) key=value ...
// on one line. Values that would not read as one word are quoted and escaped, and control
// characters in a message become spaces, so that no client can forge a line.
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
  struct Shard;
  void run();

  const Sink sink_;
  const AccessLogOptions options_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::mutex writing_;
  std::string batch_;  // under writing_
  std::mutex mutex_;
  std::condition_variable wake_;
  bool half_full_ = false;  // some ring, since the last batch
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fairlead::obs
