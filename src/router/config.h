// The configuration of `fairlead router`; every member is a flag (see config.cc for their meaning).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "codec/described.h"

namespace fairlead::router {

enum class AccessLogFormat : uint8_t { kText, kJson, kOff };

struct RouterConfig {
  std::vector<std::string> backend;
  std::string backends_file;
  std::optional<std::string> policy;  // the first of pick::Policy::names() where there is no file
  std::string config;
  bool check_config = false;
  std::string session_header = "X-Session-ID";
  std::string host = "0.0.0.0";
  uint16_t port = 8080;
  uint16_t metrics_port = 9090;
  std::string tls_cert;
  std::string tls_key;
  uint16_t debug_port = 15000;
  uint32_t loops = 0;
  std::string handover;

  base::Nanos connect_timeout = std::chrono::seconds(1);
  base::Nanos first_byte_timeout = std::chrono::seconds(300);
  base::Nanos chunk_timeout = std::chrono::seconds(60);
  base::Nanos request_timeout = std::chrono::hours(1);
  base::Nanos head_timeout = std::chrono::seconds(10);
  base::Nanos idle_timeout = std::chrono::seconds(75);
  base::Nanos drain_delay = std::chrono::seconds(5);
  base::Nanos drain_timeout = std::chrono::seconds(60);

  uint32_t breaker_failures = 5;
  double breaker_error_share = 0.5;
  base::Nanos breaker_window = std::chrono::seconds(10);
  base::Nanos breaker_open = std::chrono::seconds(5);
  double ejected_share_max = 0.5;
  base::Nanos slow_start = std::chrono::seconds(10);

  base::Bytes body_bytes_max{64ULL << 20};
  base::Bytes body_rate_min{1024};
  base::Bytes held_bytes_max{0};
  base::Bytes index_bytes_max{16ULL << 20};
  uint32_t backends_max = 1024;
  uint32_t backend_requests_max = 0;
  uint32_t queue_requests_max = 1024;
  base::Bytes queue_bytes_max{256ULL << 20};
  base::Nanos queue_wait_max = std::chrono::seconds(30);

  bool allow_explain = false;
  bool ask_usage = true;
  bool forward_authorization = false;
  std::string backend_api_key_file;
  std::string backend_ca_file;
  std::string api_key_file;
  std::string trusted_proxies;
  std::string cors_origins;
  AccessLogFormat access_log = AccessLogFormat::kText;
  std::string otlp_endpoint;
  double trace_sample_ratio = 1;
  std::string log_level = "info";
  uint64_t seed = 0;
};

const codec::StructInfo& info_of(const RouterConfig* config);
// What no single field can tell: that there are back ends (but not to check the configuration),
// that the policy exists.
base::Result<> validate(const RouterConfig& config);

}  // namespace fairlead::router
