#include "bench/plan.h"

#include <fmt/format.h>

#include <utility>

#include "bench/trace_file.h"
#include "net/http_client.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using base::Nanos;
using base::TimePoint;

constexpr Nanos kLookupTimeout = 10s;

rt::Task<base::Result<Endpoint>> resolve(net::Network& network, std::string label,
                                         std::string url) {
  const auto host = net::parse_backend_url(url);
  if (!host) co_return host.error();
  const TimePoint deadline = base::after(network.loop().now(), kLookupTimeout);
  const auto addresses = co_await network.resolve(*host, deadline);
  if (!addresses) co_return addresses.error().wrap(fmt::format("target '{}'", label));
  co_return Endpoint{.label = std::move(label),
                     .host = fmt::format("{}:{}", host->host, host->port),
                     .address = addresses->front()};
}

// The first model that the target lists.
rt::Task<base::Result<std::string>> first_model(net::Network& network, const Endpoint& endpoint) {
  const TimePoint deadline = base::after(network.loop().now(), kLookupTimeout);
  auto stream = co_await network.connect(endpoint.address, deadline);
  if (!stream) {
    co_return stream.error().wrap(fmt::format(
        "no connection to {} ({}): start a router and engines with `fairlead up`, or name a server "
        "with --url",
        endpoint.label, endpoint.host));
  }
  net::ClientConnection connection(std::move(*stream));
  const auto answer =
      co_await net::fetch(connection, {.target = "/v1/models", .host = endpoint.host}, deadline);
  if (!answer) co_return answer.error().wrap(fmt::format("{} lists no models", endpoint.label));
  const auto json = codec::parse_json(answer->body);
  const codec::Json* data = json ? json->find("data") : nullptr;
  if (answer->status != 200 || data == nullptr || data->items().empty()) {
    co_return base::Error(base::ErrorCode::kNotFound,
                          fmt::format("{} lists no model (GET /v1/models answered {}): name one "
                                      "with --model",
                                      endpoint.label, answer->status));
  }
  const codec::Json* id = data->items().front().find("id");
  co_return id == nullptr ? "" : id->as_string();
}

LoadOptions load_options(const Plan& plan, workload::SessionOptions sessions) {
  const BenchConfig& config = plan.config;
  return {.shape = {.api = config.api,
                    .model = config.model,
                    .max_tokens = config.max_tokens,
                    .streaming = config.stream ? Streaming::kYes : Streaming::kNo},
          .sessions = std::move(sessions),
          .timeout = config.timeout,
          .extra_fields = config.explain ? "x-fairlead-explain: 1\r\n" : "",
          .cpu = plan.cpu};
}

}  // namespace

rt::Task<base::Result<Plan>> make_plan(net::Network& network, BenchConfig config,
                                       std::vector<TargetSpec> specs) {
  Plan plan;
  if (!config.trace.empty()) {
    const auto format = config.workload == WorkloadKind::kMooncake
                            ? workload::TraceFormat::kMooncake
                            : workload::TraceFormat::kShareGpt;
    auto trace = read_trace(config.trace, format);
    if (!trace) co_return trace.error();
    plan.trace = *std::move(trace);
  }
  for (const TargetSpec& spec : specs) {
    auto endpoint = co_await resolve(network, spec.label, spec.url);
    if (!endpoint) co_return endpoint.error();
    plan.endpoints.push_back(std::move(*endpoint));
  }
  if (config.model.empty()) {
    auto model = co_await first_model(network, plan.endpoints.front());
    if (!model) co_return model.error();
    config.model = std::move(*model);
  }
  if (specs.size() == 1) config.rounds = 1;  // nobody to take turns with
  plan.config = std::move(config);
  co_return plan;
}

std::unique_ptr<LoadTarget> make_target(net::Network& network, const Plan& plan, size_t endpoint,
                                        uint64_t seed) {
  // Targets that may share engines get texts of their own.
  auto sessions = session_options(plan.config, seed, plan.own_caches ? 0 : endpoint, plan.trace);
  return std::make_unique<LoadTarget>(network, plan.endpoints[endpoint],
                                      load_options(plan, std::move(sessions)));
}

SliceOptions slice_of(const BenchConfig& config, uint32_t round, uint64_t planned) {
  SliceOptions slice{.requests = std::nullopt,
                     .duration = std::nullopt,
                     .concurrency = config.concurrency,
                     .arrivals = arrival_options(config)};
  if (const auto all = requests_of(config, planned)) {
    slice.requests = *all * (round + 1) / config.rounds - *all * round / config.rounds;
  }
  if (config.duration) slice.duration = *config.duration / config.rounds;
  return slice;
}

}  // namespace fairlead::bench
