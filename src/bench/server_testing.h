// A server for tests of bench: streams as an engine does, in virtual time, and misbehaves on
// demand.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "net/http_server.h"
#include "net/memory.h"
#include "rt/loop.h"
#include "rt/task_group.h"
#include "rt/waiter.h"

namespace fairlead::bench {

enum class Manner { kStream, kWhole, kBusy, kErrorEvent, kNoEnd, kReset, kSilent };

class FakeServer final : public net::Handler {
 public:
  FakeServer(net::MemoryNetwork& network, uint16_t port)
      : address_({.bytes = {127, 0, 0, 1}, .port = port}),
        server_(network, *this, {.idle_timeout = std::chrono::seconds(60)}),
        group_(network.loop()) {
    CHECK(server_.listen(address_, net::PortSharing::kExclusive).ok(), "the port is free");
    group_.spawn(server_.run());
  }
  // Before the loop goes.
  rt::Task<void> stop() {
    group_.cancel(rt::CancelReason::kShutdown);
    std::ignore = co_await group_.join();
  }

  Manner manner = Manner::kStream;
  base::Nanos prefill = std::chrono::milliseconds(100);
  base::Nanos serial{0};  // of each request, one after another: a capacity
  base::Nanos token_gap = std::chrono::milliseconds(10);
  int tokens = 5;

  const net::Address& address() const { return address_; }
  uint64_t requests() const { return requests_; }
  uint64_t most_at_once() const { return most_at_once_; }
  const std::string& last_body() const { return last_body_; }

  rt::Task<void> handle(net::Exchange& exchange) override {
    if (exchange.request().path == "/v1/models") {
      std::ignore = co_await exchange.respond({.content_type = "application/json"},
                                              R"({"data":[{"id":"fake"}]})");
      co_return;
    }
    ++requests_;
    last_body_ = exchange.body();
    most_at_once_ = std::max(most_at_once_, ++active_);
    co_await answer(exchange);
    --active_;
  }
  net::Refusal refusal(int status, std::string_view) override { return {.status = status}; }

 private:
  rt::Task<void> answer(net::Exchange& exchange) {
    if (manner == Manner::kBusy) {
      std::ignore = co_await exchange.respond({.status = 503}, "busy");
      co_return;
    }
    if (manner == Manner::kSilent) {
      co_await rt::sleep_until(base::after(exchange.loop().now(), std::chrono::hours(2)));
      co_return;
    }
    free_at_ = std::max(free_at_, exchange.loop().now()) + serial;
    co_await rt::sleep_until(base::after(free_at_, prefill));
    const std::string usage = fmt::format(
        R"("usage":{{"prompt_tokens":100,"completion_tokens":{},"prompt_tokens_details":{{"cached_tokens":64}}}})",
        tokens);
    const std::string fields = fmt::format("x-fairlead-replica: {}\r\n", net::to_string(address_));
    if (manner == Manner::kWhole) {
      std::ignore = co_await exchange.respond(
          {.content_type = "application/json", .extra_fields = fields},
          fmt::format(R"({{"choices":[{{"message":{{"content":"hi"}}}}],{}}})", usage));
      co_return;
    }
    std::ignore =
        co_await exchange.start({.content_type = "text/event-stream", .extra_fields = fields});
    for (int i = 0; i < tokens; ++i) {
      if (i > 0) co_await rt::sleep_until(base::after(exchange.loop().now(), token_gap));
      std::ignore =
          co_await exchange.write("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
    }
    if (manner == Manner::kReset) {
      exchange.stream().abort();
      co_return;
    }
    if (manner == Manner::kErrorEvent) {
      std::ignore = co_await exchange.write("data: {\"error\":{\"message\":\"no\"}}\n\n");
    }
    std::ignore = co_await exchange.write(fmt::format("data: {{\"choices\":[],{}}}\n\n", usage));
    if (manner != Manner::kNoEnd) std::ignore = co_await exchange.write("data: [DONE]\n\n");
    std::ignore = co_await exchange.finish();
  }

  net::Address address_;
  net::HttpServer server_;
  rt::TaskGroup group_;
  base::TimePoint free_at_;
  uint64_t requests_ = 0;
  uint64_t active_ = 0;
  uint64_t most_at_once_ = 0;
  std::string last_body_;
};

}  // namespace fairlead::bench
