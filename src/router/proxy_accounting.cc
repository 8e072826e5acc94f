// What is said of a request once it has ended: metrics, its line in the access log, its span.
#include <fmt/format.h>

#include "router/proxy.h"

namespace fairlead::router {

// What went wrong where no error was answered: the engine's own, or a stream that did not end well.
void Proxy::name_error() {
  if (!error_type_.empty()) return;
  if (outcome_ != "ok") {
    error_type_ = outcome_ == "client_gone" ? "client_gone" : "proxy";
    error_message_ = outcome_;
  } else if (status_ >= 400) {
    error_type_ = "request_failed";
    error_message_ = fmt::format("the engine answered {}", status_);
  }
}

void Proxy::account() {
  if (outcome_ == "client_gone") shard_.metrics().count_cancel(outcome_);
  name_error();
  RequestEnd end{.path = endpoint_.path, .status = status_, .error_type = error_type_};
  end.duration = loop().now() - began_;
  end.usage = usage_;
  end.input_tokens_estimate = request_.tokens();
  if (first_byte_ != base::TimePoint{} && request_.streams())
    end.first_token = first_byte_ - began_;
  if (attempts_ > 0) {
    end.destination = Destination::kStatic;
    end.picked = picked_ - began_;
  }
  if (reservation_) {
    const size_t block_tokens =
        shard_.policy().hashing().block_bytes / InferenceRequest::kBytesPerToken;
    end.predicted_cached_tokens = reservation_->held_blocks * block_tokens;
  }
  ShardMetrics& metrics = shard_.metrics();
  metrics.count_end(model_ != nullptr ? *model_ : metrics.model(ShardMetrics::kUnknownModel), end);
  if (shard_.shared().access_log != nullptr) log_access(end);
  trace_.ended({.end = loop().now(),
                .method = endpoint_.method,
                .path = endpoint_.path,
                .model = request_.model(),
                .status = status_,
                .error = error_type_,
                .input_tokens = end.input_tokens(),
                .cached_tokens = usage_ ? usage_->cached_tokens.value_or(0) : 0,
                .output_tokens = usage_ ? usage_->completion_tokens : 0});
}

void Proxy::log_access(const RequestEnd& end) {
  obs::AccessRecord record;
  record.time = began_wall_;
  record.method = endpoint_.method;
  record.path = endpoint_.path;
  record.minor_version = exchange_.request().minor_version;
  record.status = status_;
  record.error_type = error_type_;
  record.error_message = error_message_;
  record.model = request_.model();
  record.request_id = request_id_;
  if (backend_ != nullptr) {
    record.selected_pod = backend_->name;
    record.backend_type = to_string(end.destination);
    record.upstream_model = request_.model();
    record.upstream_processing = end.duration - end.picked;
  }
  record.upstream_status = upstream_status_;
  record.upstream_attempts = attempts_;
  if (!error_type_.empty()) {
    const bool engines = error_type_ == "request_failed" && status_ == upstream_status_;
    record.error_origin = error_type_ == "proxy" || engines ? "upstream" : "router";
  }
  record.total = end.duration;
  record.request_processing = end.duration - record.upstream_processing;
  record.input_tokens = end.input_tokens();
  if (usage_) {
    record.output_tokens = usage_->completion_tokens;
    record.cached_tokens = usage_->cached_tokens.value_or(0);
  }
  if (first_byte_ != base::TimePoint{}) record.first_byte = first_byte_ - began_;
  record.bytes_in = request_.bytes();
  record.bytes_out = bytes_out_;
  std::string client;
  net::append_ip(client, client_);
  record.client_ip = client;
  record.trace_id = trace_.trace_id();
  shard_.shared().access_log->append(shard_.index(), record);
}

}  // namespace fairlead::router
