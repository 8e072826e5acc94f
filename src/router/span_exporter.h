// SpanExporter: sends the spans of all shards to a collector, as OTLP/HTTP with JSON. Lives on the
// control loop.
//
// Once an interval, or when one is half full, it empties the shards' rings and posts what it finds
// in batches. A collector that is away, or asks for patience (429, 502, 503, 504), is tried again
// with growing pauses, up to `tries_max` times a batch; then, and at any other refusal, the batch
// is dropped and counted. While it waits the rings fill, and they are bounded: a dead collector
// costs their memory and nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/http_client.h"
#include "net/network.h"
#include "obs/log.h"
#include "obs/trace.h"

namespace fairlead::router {

struct SpanExporterOptions {
  net::HostPort collector;
  obs::Resource resource;  // its views outlive the exporter
  base::Nanos interval = std::chrono::seconds(1);
  base::Nanos look_interval = std::chrono::milliseconds(20);  // for rings that are half full
  size_t batch_spans_max = 512;
  base::Nanos connect_timeout = std::chrono::seconds(1);
  base::Nanos answer_timeout = std::chrono::seconds(10);
  uint32_t tries_max = 5;
  base::Nanos pause_min = std::chrono::seconds(1);
  base::Nanos pause_max = std::chrono::seconds(30);
  base::Nanos last_flush = std::chrono::seconds(2);
};

class SpanExporter {
 public:
  // All references outlive run().
  SpanExporter(net::Network& network, obs::SpanBuffer& spans, obs::Logger& log,
               const SpanExporterOptions& options);

  // Until its scope is cancelled; then what is left is sent once more, within `last_flush`.
  rt::Task<void> run();

  uint64_t exported() const { return exported_; }
  // Spans that no collector took.
  uint64_t failed() const { return failed_; }

 private:
  enum class Delivery : uint8_t { kDone, kTryAgain, kRefused };
  rt::Task<rt::WaitStatus> time_to_send();
  // Everything there is. False when cancelled in between; the rest stays.
  rt::Task<bool> send_all(uint32_t tries_max);
  rt::Task<Delivery> post(std::string_view lines);
  rt::Task<base::Result<int>> post_once(const std::string& body);
  std::string_view next_batch() const;

  net::Network& network_;
  obs::SpanBuffer& spans_;
  obs::Logger& log_;
  SpanExporterOptions options_;
  std::string host_;
  std::unique_ptr<net::ClientConnection> connection_;
  std::string lines_;  // taken from the rings and not sent yet
  std::string last_error_;
  uint64_t exported_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace fairlead::router
