#include "router/span_exporter.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::router {
namespace {

constexpr std::string_view kTarget = "/v1/traces";
constexpr size_t kAnswerBytesMax = 64 * 1024;

bool asks_for_patience(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

size_t count_lines(std::string_view lines) {
  return static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

}  // namespace

SpanExporter::SpanExporter(net::Network& network, obs::SpanBuffer& spans, obs::Logger& log,
                           const SpanExporterOptions& options)
    : network_(network), spans_(spans), log_(log), options_(options) {
  const bool v6 = options_.collector.host.find(':') != std::string::npos;
  const net::HostPort& at = options_.collector;
  host_ = v6 ? fmt::format("[{}]:{}", at.host, at.port) : fmt::format("{}:{}", at.host, at.port);
}

rt::Task<void> SpanExporter::run() {
  const rt::Loop& loop = network_.loop();
  while (co_await time_to_send() != rt::WaitStatus::kCancelled) {
    const bool sent = co_await send_all(options_.tries_max);
    if (!sent) break;
  }
  // This scope is cancelled; the last words have one of their own.
  rt::Scope last(network_.loop());
  last.set_deadline(base::after(loop.now(), options_.last_flush));
  connection_.reset();
  static_cast<void>(co_await send_all(1).in(last));
  connection_.reset();
}

rt::Task<rt::WaitStatus> SpanExporter::time_to_send() {
  const rt::Loop& loop = network_.loop();
  const base::TimePoint next = base::after(loop.now(), options_.interval);
  rt::WaitStatus status;
  do {
    const base::TimePoint look = base::after(loop.now(), options_.look_interval);
    status = co_await rt::sleep_until(std::min(next, look));
  } while (status != rt::WaitStatus::kCancelled && loop.now() < next && !spans_.half_full());
  co_return status;
}

rt::Task<bool> SpanExporter::send_all(uint32_t tries_max) {
  spans_.drain(lines_);
  while (!lines_.empty()) {
    const std::string_view batch = next_batch();
    base::Nanos pause = options_.pause_min;
    Delivery delivery = Delivery::kTryAgain;
    for (uint32_t tries = 1; delivery == Delivery::kTryAgain; ++tries) {
      delivery = co_await post(batch);
      if (delivery != Delivery::kTryAgain || tries == tries_max) break;
      const base::TimePoint until = base::after(network_.loop().now(), pause);
      if (co_await rt::sleep_until(until) == rt::WaitStatus::kCancelled) co_return false;
      pause = std::min(options_.pause_max, 2 * pause);
    }
    const size_t count = count_lines(batch);
    if (delivery == Delivery::kDone) {
      exported_ += count;
    } else {
      failed_ += count;
      log_.warn("spans dropped: the collector does not take them",
                {{"collector", host_}, {"spans", count}, {"error", last_error_}});
    }
    lines_.erase(0, batch.size());
  }
  co_return true;
}

std::string_view SpanExporter::next_batch() const {
  size_t end = 0;
  for (size_t i = 0; i < options_.batch_spans_max && end < lines_.size(); ++i) {
    end = lines_.find('\n', end) + 1;
  }
  return std::string_view(lines_).substr(0, end);
}

rt::Task<SpanExporter::Delivery> SpanExporter::post(std::string_view lines) {
  const std::string body = obs::otlp_request(lines, options_.resource);
  const bool kept = connection_ != nullptr && connection_->reusable();
  base::Result<int> status = co_await post_once(body);
  // A kept connection may have been closed by the collector just now: that says nothing.
  if (!status && kept) status = co_await post_once(body);
  if (!status) {
    last_error_ = status.error().describe();
    co_return Delivery::kTryAgain;
  }
  if (*status >= 200 && *status < 300) co_return Delivery::kDone;
  last_error_ = fmt::format("it answered {}", *status);
  co_return asks_for_patience(*status) ? Delivery::kTryAgain : Delivery::kRefused;
}

rt::Task<base::Result<int>> SpanExporter::post_once(const std::string& body) {
  const rt::Loop& loop = network_.loop();
  if (connection_ != nullptr && !connection_->reusable()) connection_.reset();
  if (connection_ == nullptr) {
    const base::TimePoint deadline = base::after(loop.now(), options_.connect_timeout);
    const auto addresses = co_await network_.resolve(options_.collector, deadline);
    if (!addresses) co_return addresses.error();
    if (addresses->empty()) co_return base::invalid_argument("the name has no address");
    auto stream = co_await network_.connect(addresses->front(), deadline);
    if (!stream) co_return stream.error();
    connection_ = std::make_unique<net::ClientConnection>(std::move(*stream));
  }
  const base::TimePoint deadline = base::after(loop.now(), options_.answer_timeout);
  const base::Result<net::FetchAnswer> answer =
      co_await net::fetch(*connection_,
                          {.method = "POST",
                           .target = kTarget,
                           .host = host_,
                           .extra_fields = "Content-Type: application/json\r\n",
                           .body = body,
                           .answer_bytes_max = kAnswerBytesMax},
                          deadline);
  if (!answer) {
    connection_.reset();
    co_return answer.error();
  }
  connection_->rest();
  co_return answer->status;
}

}  // namespace fairlead::router
