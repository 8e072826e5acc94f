#include "router/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cache_index/prefix_index.h"
#include "codec/reflect.h"
#include "net/address.h"
#include "pick/policy.h"
#include "router/client_address.h"
#include "router/cors.h"

namespace fairlead::router {

using codec::Field;
using std::chrono::hours;
using std::chrono::milliseconds;

BOOST_DESCRIBE_ENUM(AccessLogFormat, kText, kJson, kOff)
BOOST_DESCRIBE_STRUCT(
    RouterConfig, (),
    (backend, backends_file, policy, config, check_config, session_header, host, port, metrics_port,
     tls_cert, tls_key, debug_port, loops, handover, connect_timeout, first_byte_timeout,
     chunk_timeout, request_timeout, head_timeout, idle_timeout, drain_delay, drain_timeout,
     breaker_failures, breaker_error_share, breaker_window, breaker_open, ejected_share_max,
     slow_start, body_bytes_max, body_rate_min, held_bytes_max, index_bytes_max, backends_max,
     backend_requests_max, queue_requests_max, queue_bytes_max, queue_wait_max, allow_explain,
     ask_usage, forward_authorization, backend_api_key_file, backend_ca_file, api_key_file,
     trusted_proxies, cors_origins, access_log, otlp_endpoint, trace_sample_ratio, log_level, seed))

auto fields_of(const RouterConfig*) {
  using C = RouterConfig;
  return std::tuple{
      Field<&C::backend>{
          .doc = "an engine: http[s]://HOST:PORT; repeat the flag for more. A name with several "
                 "addresses is as many replicas"},
      Field<&C::backends_file>{.doc = "a YAML file that lists them, read again when it changes"},
      Field<&C::policy>{
          .doc = "how a replica is picked; without it, and without --config: "
                 "expected-ttft",
          .one_of = "expected-ttft|prefix-cache|least-request|power-of-two|session-affinity|"
                    "round-robin|random"},
      Field<&C::config>{.doc = "a YAML file with filters, scorers and weights instead of a policy, "
                               "read again when it changes"},
      Field<&C::check_config>{.doc = "read --config and --backends-file, say what is wrong, exit"},
      Field<&C::session_header>{
          .doc = "the request header that names a session, for --policy session-affinity"},
      Field<&C::host>{.doc = "the address to listen on"},
      Field<&C::port>{.doc = "the port for clients"},
      Field<&C::metrics_port>{
          .doc = "the port of /metrics, /healthz and /readyz, served even when the other is busy"},
      Field<&C::debug_port>{.doc =
                                "the port of /debug/config_dump, on the loopback address; 0: none"},
      Field<&C::tls_cert>{
          .doc = "serve clients over TLS with this certificate (PEM, its chain behind it), read "
                 "again when it changes"},
      Field<&C::tls_key>{.doc = "the certificate's private key (PEM)"},
      Field<&C::loops>{.doc = "event loops; 0: one a usable CPU", .max = 256U},
      Field<&C::handover>{
          .doc = "a unix socket: take the listening sockets over from the router there, which then "
                 "drains, and give them to the next one: a restart without a gap"},
      Field<&C::connect_timeout>{.doc = "until an engine takes the connection",
                                 .min = milliseconds(1)},
      Field<&C::first_byte_timeout>{
          .doc = "until an engine's first body byte: queueing and prefill", .min = milliseconds(1)},
      Field<&C::chunk_timeout>{.doc = "how long a begun answer may be silent",
                               .min = milliseconds(1)},
      Field<&C::request_timeout>{
          .doc = "for a request altogether", .min = milliseconds(1), .max = hours(24 * 365)},
      Field<&C::head_timeout>{
          .doc = "for a client to send a request's head; with TLS also for its handshake",
          .min = milliseconds(1)},
      Field<&C::idle_timeout>{.doc = "how long a client's connection may idle",
                              .min = milliseconds(1)},
      Field<&C::drain_delay>{
          .doc = "after SIGTERM: how long requests are still taken while /readyz says no"},
      Field<&C::drain_timeout>{.doc = "then: how long requests under way may take"},
      Field<&C::breaker_failures>{
          .doc = "requests that fail in a row before their first byte, until a replica is left out "
                 "for --breaker-open; 0: any number"},
      Field<&C::breaker_error_share>{
          .doc = "share of such failures among a replica's answers of --breaker-window that has it "
                 "left out as well, from 5 of them on",
          .min = 0.01,
          .max = 1.0},
      Field<&C::breaker_window>{
          .doc = "how long answers are remembered", .min = milliseconds(100), .max = hours(1)},
      Field<&C::breaker_open>{
          .doc = "how long a replica is left out before a few requests try it; twice as long each "
                 "time that they fail, up to 12 times",
          .min = milliseconds(1),
          .max = hours(1)},
      Field<&C::ejected_share_max>{
          .doc =
              "largest share of a model's replicas to leave out for their answers at once; where "
              "it would be more, all are used",
          .min = 0.0,
          .max = 1.0},
      Field<&C::slow_start>{
          .doc =
              "until a replica that comes back has its whole share of requests again; 0s: at once",
          .max = hours(1)},
      Field<&C::body_bytes_max>{.doc = "largest request body; 413 past it"},
      Field<&C::body_rate_min>{
          .doc =
              "least bytes a second of a request body, on average after its first 30 s; 408 below "
              "it. 0: no bound"},
      Field<&C::held_bytes_max>{
          .doc = "all request bodies held together; 503 past it. 0: a quarter of the memory limit"},
      Field<&C::index_bytes_max>{.doc = "memory of the prefix index",
                                 .min = cache_index::PrefixIndexOptions::kBytesMin},
      Field<&C::backends_max>{.doc = "most replicas at one time",
                              .min = 1U,
                              .max = cache_index::PrefixIndexOptions::kSlotsMax},
      Field<&C::backend_requests_max>{
          .doc = "most requests at one replica at a time; where all are full, more wait for room. "
                 "0: no bound, engines queue by themselves"},
      Field<&C::queue_requests_max>{
          .doc = "most requests that wait for room; 503 with Retry-After past it"},
      Field<&C::queue_bytes_max>{.doc = "most bytes of their bodies; 503 past it"},
      Field<&C::queue_wait_max>{.doc = "longest wait for room; then 503", .min = milliseconds(1)},
      Field<&C::allow_explain>{
          .doc = "answer requests that carry x-fairlead-explain: 1 with the reasons of the pick"},
      Field<&C::ask_usage>{
          .doc = "ask engines for the usage of streams, for metrics and log; what the client did "
                 "not ask for is cut out again"},
      Field<&C::forward_authorization>{.doc = "pass clients' Authorization on to engines"},
      Field<&C::backend_api_key_file>{.doc = "a file with the key to show to engines"},
      Field<&C::backend_ca_file>{
          .doc = "the CAs (PEM) that certificates of https:// engines must come from; without it "
                 "the system's"},
      Field<&C::api_key_file>{
          .doc =
              "a file with the keys of which clients must show one (a key or sha256:HEX a line), "
              "read again when it changes"},
      Field<&C::trusted_proxies>{
          .doc = "networks (CIDR,...) of proxies in front whose X-Forwarded-For is believed"},
      Field<&C::cors_origins>{.doc = "which web pages may ask from a browser: origins, such as "
                                     "https://chat.example,... or * for all"},
      Field<&C::access_log>{.doc = "one line a request on standard output"},
      Field<&C::otlp_endpoint>{
          .doc =
              "where spans go: http://HOST:PORT of an OpenTelemetry collector (OTLP/HTTP, JSON)"},
      Field<&C::trace_sample_ratio>{
          .doc = "with --otlp-endpoint: share of the requests to record where a client sends no "
                 "traceparent; where it does, its sampled flag decides",
          .min = 0.0,
          .max = 1.0},
      Field<&C::log_level>{.doc = "least level of the log on standard error",
                           .one_of = "debug|info|warn|error|off"},
      Field<&C::seed>{.doc = "seed of random choices, to repeat a run; 0: from the system"}};
}

const codec::StructInfo& info_of(const RouterConfig*) { return codec::describe<RouterConfig>(); }

base::Result<> validate(const RouterConfig& config) {
  const bool wants_backends = !config.check_config || !config.backend.empty();
  if (wants_backends && config.backend.empty() == config.backends_file.empty()) {
    return base::invalid_argument(
        config.backend.empty()
            ? "no back end: give --backend http://HOST:PORT (repeatable) or --backends-file FILE"
            : "--backend and --backends-file are both given: choose one");
  }
  for (const std::string& url : config.backend) {
    const auto parsed = net::parse_backend_url(url, net::Schemes::kHttpAndHttps);
    if (!parsed) return parsed.error().wrap("--backend");
  }
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return base::invalid_argument("--tls-cert and --tls-key go together");
  }
  if (const auto proxies = TrustedProxies::parse(config.trusted_proxies); !proxies) {
    return proxies.error().wrap("--trusted-proxies");
  }
  if (const auto cors = Cors::parse(config.cors_origins); !cors) {
    return cors.error().wrap("--cors-origins");
  }
  if (!config.otlp_endpoint.empty()) {
    const auto parsed = net::parse_backend_url(config.otlp_endpoint);
    if (!parsed) return parsed.error().wrap("--otlp-endpoint");
  }
  const auto names = pick::Policy::names();
  if (config.policy && std::find(names.begin(), names.end(), *config.policy) == names.end()) {
    return base::invalid_argument(
        fmt::format("--policy: '{}' is none of {}", *config.policy, fmt::join(names, ", ")));
  }
  if (config.policy && !config.config.empty()) {
    return base::invalid_argument("--policy and --config are both given: choose one");
  }
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  const std::string& header = config.session_header;
  if (header.empty() || !std::all_of(header.begin(), header.end(), in_name)) {
    return base::invalid_argument(
        fmt::format("--session-header: '{}' is no name of a header", header));
  }
  return {};
}

}  // namespace fairlead::router
