#include "router/drain_client.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "codec/reflect.h"
#include "net/http_client.h"
#include "router/drain.h"

namespace fairlead::router {

using codec::Field;

BOOST_DESCRIBE_STRUCT(DrainConfig, (), (timeout, wait))

auto fields_of(const DrainConfig*) {
  using C = DrainConfig;
  return std::tuple{
      Field<&C::timeout>{.doc = "how long to wait for the router to stop; it goes on afterwards",
                         .min = std::chrono::milliseconds(1)},
      Field<&C::wait>{.doc = "wait until the router has stopped"}};
}

const codec::StructInfo& info_of(const DrainConfig*) { return codec::describe<DrainConfig>(); }

namespace {

using base::ErrorCode;

constexpr auto kAskAgain = std::chrono::milliseconds(200);
constexpr auto kAnswerTime = std::chrono::seconds(5);
constexpr auto kLineEvery = std::chrono::seconds(1);

std::string name_of(const net::HostPort& url) { return fmt::format("{}:{}", url.host, url.port); }

// The router's word; kUnavailable where nothing listens, kProtocol where it is no router.
rt::Task<base::Result<DrainStatus>> ask(net::Network& network, const net::HostPort& url,
                                        std::string_view method) {
  const base::TimePoint deadline = base::after(network.loop().now(), kAnswerTime);
  const base::Result<std::vector<net::Address>> addresses = co_await network.resolve(url, deadline);
  if (!addresses) co_return addresses.error();
  base::Result<std::unique_ptr<net::ByteStream>> stream =
      co_await network.connect(addresses->front(), deadline);
  if (!stream) co_return stream.error();
  net::ClientConnection connection(std::move(*stream));
  const std::string host = name_of(url);
  const base::Result<net::FetchAnswer> answer = co_await net::fetch(
      connection, {.method = method, .target = "/drain", .host = host}, deadline);
  if (!answer) co_return answer.error();
  if (answer->status != 200) {
    co_return base::Error(ErrorCode::kProtocol, fmt::format("it answers {}", answer->status));
  }
  const base::Result<DrainStatus> status = parse_drain_status(answer->body);
  if (!status) co_return base::Error(ErrorCode::kProtocol, status.error().describe());
  co_return *status;
}

base::Error first_error(const net::HostPort& url, const base::Error& error) {
  const std::string_view advice = error.code() == ErrorCode::kProtocol
                                      ? "is that another port than the router's --debug-port?"
                                      : "a router takes this on its --debug-port (15000 unless it "
                                        "was told otherwise), and only "
                                        "from its own machine or pod";
  return base::Error(error.code(), fmt::format("{} does not drain: {}; {}", name_of(url),
                                               error.describe(), advice));
}

}  // namespace

rt::Task<base::Result<>> drain_router(net::Network& network, net::HostPort url, DrainConfig config,
                                      std::function<void(std::string_view)> say) {
  rt::Loop& loop = network.loop();
  const base::TimePoint deadline = base::after(loop.now(), config.timeout);
  base::Result<DrainStatus> status = co_await ask(network, url, "POST");
  if (!status) co_return first_error(url, status.error());
  const uint64_t process = status->process;
  say(fmt::format("{} drains: /readyz says no; requests to go: {}", name_of(url),
                  status->requests));
  if (!config.wait) co_return base::Result<>();
  DrainStatus told = *status;
  base::TimePoint told_at = loop.now();
  for (;;) {
    const base::TimePoint next = std::min(deadline, base::after(loop.now(), kAskAgain));
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) {
      co_return base::Error(ErrorCode::kCancelled, "interrupted; the router goes on draining");
    }
    status = co_await ask(network, url, "GET");
    const bool busy = !status && status.error().code() == ErrorCode::kDeadlineExceeded;
    // Another process may have its port by now.
    if (!busy && (!status || status->process != process)) break;
    if (loop.now() >= deadline) {
      co_return base::Error(
          ErrorCode::kDeadlineExceeded,
          fmt::format("after {} requests are still running ({}); the router goes on draining",
                      base::to_string(config.timeout), status ? status->requests : told.requests));
    }
    if (busy) continue;
    const bool news = status->state != told.state || status->requests != told.requests;
    if (!news || loop.now() < base::after(told_at, kLineEvery)) continue;
    say(fmt::format("{}; requests to go: {}", to_string(status->state), status->requests));
    told = *status;
    told_at = loop.now();
  }
  say(fmt::format("{} has stopped", name_of(url)));
  co_return base::Result<>();
}

}  // namespace fairlead::router
