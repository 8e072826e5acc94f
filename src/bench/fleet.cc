#include "bench/fleet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "base/check.h"
#include "net/http_client.h"
#include "rt/waiter.h"

namespace fairlead::bench {
namespace {

using namespace std::chrono_literals;
using base::TimePoint;

constexpr base::Nanos kStartTimeout = 20s;
constexpr base::Nanos kPollGap = 20ms;

// TCP ports of 127.0.0.1 that nobody listens on, all different.
base::Result<std::vector<uint16_t>> free_ports(size_t count) {
  std::vector<uint16_t> ports;
  std::vector<int> held;  // until all are found, so that all differ
  base::Result<> ok;
  while (ports.size() < count && ok) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (fd < 0 || bind(fd, generic, size) != 0 || getsockname(fd, generic, &size) != 0) {
      ok = base::Error(base::ErrorCode::kUnavailable,
                       fmt::format("no free port on 127.0.0.1: {}", std::strerror(errno)));
    }
    if (fd >= 0) held.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : held) close(fd);
  if (!ok) return ok.error();
  return ports;
}

std::string url_of(uint16_t port) { return fmt::format("http://127.0.0.1:{}", port); }

rt::Task<base::Result<net::FetchAnswer>> get(net::Network& network, uint16_t port,
                                             std::string_view target, TimePoint deadline) {
  net::Address address{.bytes = {127, 0, 0, 1}, .port = port};
  auto stream = co_await network.connect(address, deadline);
  if (!stream) co_return stream.error();
  net::ClientConnection connection(std::move(*stream));
  auto answer = co_await net::fetch(connection, {.target = target, .host = "127.0.0.1"}, deadline);
  co_return answer;
}

// Until GET `target` is 200 and its body holds `wanted`.
rt::Task<base::Result<>> wait_for(net::Network& network, rt::Child& child, uint16_t port,
                                  std::string_view target, std::string_view wanted) {
  const TimePoint give_up = base::after(network.loop().now(), kStartTimeout);
  std::string last = "no answer yet";
  while (network.loop().now() < give_up) {
    if (!child.running()) {
      co_return base::Error(base::ErrorCode::kInternal,
                            fmt::format("{} has ended ({}); it wrote:\n{}", child.name(),
                                        child.how_ended(), child.output()));
    }
    auto answer = co_await get(network, port, target, base::after(network.loop().now(), 2s));
    if (answer && answer->status == 200 && answer->body.find(wanted) != std::string::npos) {
      co_return base::Result<>();
    }
    last = answer ? fmt::format("http {}", answer->status) : answer.error().describe();
    const rt::WaitStatus status =
        co_await rt::sleep_until(base::after(network.loop().now(), kPollGap));
    if (status == rt::WaitStatus::kCancelled) {
      co_return base::Error(base::ErrorCode::kCancelled, "interrupted while starting");
    }
  }
  co_return base::Error(base::ErrorCode::kDeadlineExceeded,
                        fmt::format("{} is not ready after 20 s ({}); it wrote:\n{}", child.name(),
                                    last, child.output()));
}

std::vector<std::string> engine_command(const FleetOptions& options, uint16_t port) {
  return {options.binary,
          "engine",
          "serve",
          std::string(Fleet::kModel),
          "--host",
          "127.0.0.1",
          "--port",
          fmt::format("{}", port),
          "--sim-profile",
          options.profile,
          "--max-num-seqs",
          fmt::format("{}", options.max_num_seqs),
          "--enable-prompt-tokens-details"};
}

std::vector<std::string> router_command(const FleetOptions& options, const std::string& policy,
                                        std::span<const uint16_t> ports) {
  std::vector<std::string> command = {options.binary,
                                      "router",
                                      "--policy",
                                      policy,
                                      "--allow-explain",
                                      "--port",
                                      fmt::format("{}", ports[0]),
                                      "--metrics-port",
                                      fmt::format("{}", ports[1]),
                                      "--debug-port",
                                      "0"};
  for (const uint16_t engine : ports.subspan(2)) {
    command.emplace_back("--backend");
    command.push_back(url_of(engine));
  }
  return command;
}

}  // namespace

rt::Task<base::Result<Fleet>> Fleet::start(net::Network& network, FleetOptions options) {
  const size_t each = options.engines + 2;  // the router has two ports
  const auto ports = free_ports(each * options.policies.size());
  if (!ports) co_return ports.error();
  Fleet fleet;
  std::vector<uint16_t> ready;  // by child
  for (size_t i = 0; i < options.policies.size(); ++i) {
    const auto own = std::span(*ports).subspan(i * each, each);
    fleet.routers_.push_back({.policy = options.policies[i], .port = own[0]});
    for (uint32_t e = 0; e < options.engines; ++e) {
      auto engine =
          rt::Child::start({.name = fmt::format("engine {} of {}", e + 1, options.policies[i]),
                            .command = engine_command(options, own[2 + e]),
                            .log = ""});
      if (!engine) co_return engine.error();
      fleet.children_.push_back(std::move(*engine));
      ready.push_back(own[2 + e]);
    }
    auto router = rt::Child::start({.name = fmt::format("router {}", options.policies[i]),
                                    .command = router_command(options, options.policies[i], own),
                                    .log = ""});
    if (!router) co_return router.error();
    fleet.children_.push_back(std::move(*router));
    ready.push_back(own[0]);
  }
  for (size_t i = 0; i < fleet.children_.size(); ++i) {
    auto up = co_await wait_for(network, fleet.children_[i], ready[i], "/v1/models", kModel);
    if (!up) co_return up.error();
  }
  co_return fleet;
}

std::string Fleet::url(std::string_view policy) const {
  for (const auto& router : routers_) {
    if (router.policy == policy) return url_of(router.port);
  }
  CHECK(false, "a fleet has a router for each policy it was started with");
  return "";
}

}  // namespace fairlead::bench
