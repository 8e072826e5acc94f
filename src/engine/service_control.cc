// The endpoints that change how the engine runs: vLLM's of development mode that wait, and faults.
#include <algorithm>

#include "engine/service.h"

namespace fairlead::engine {

namespace {

constexpr std::string_view kJson = "application/json";

// The value of one key of a query string; no escapes are expected.
std::string_view query_value(std::string_view target, std::string_view key) {
  const size_t question = target.find('?');
  if (question == std::string_view::npos) return {};
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with("=")) {
      return pair.substr(key.size() + 1);
    }
  }
  return {};
}

}  // namespace

Service::Reply Service::faults(net::Exchange& exchange) {
  Reply reply{.content_type = kJson};
  if (exchange.request().method == "POST") {
    auto json = codec::parse_json(exchange.body());
    if (!json) return error_reply(protocol::engine_error(400, json.error().describe()));
    auto merged = merge_faults(context_.faults, *json);
    if (!merged) return error_reply(protocol::engine_error(400, merged.error().describe()));
    context_.faults = *merged;
    context_.core.set_slow_factor(merged->slow_factor);
    if (merged->hang) {
      context_.core.stop(Core::Stop::kHang);
    } else {
      context_.core.go_on(Core::Stop::kHang);
      hang_ended_.notify_all();
    }
    faults_changed_.notify_all();
  }
  reply.body = to_json(context_.faults);
  return reply;
}

rt::Task<bool> Service::drained() {
  while (!context_.core.is_idle()) {
    const rt::WaitStatus status = co_await context_.core.idle().wait();
    if (status != rt::WaitStatus::kReady) co_return false;
  }
  co_return true;
}

rt::Task<Call::Outcome> Service::pause(net::Exchange& exchange) {
  const std::string_view mode = query_value(exchange.request().target, "mode");
  Reply reply{.content_type = kJson};
  if (mode.empty() || mode == "abort") {
    context_.core.abort_all();
  } else if (mode == "wait") {
    const bool here = co_await drained();
    if (!here) co_return Call::Outcome{};
  } else if (mode != "keep") {
    reply.status = 400;
    reply.body = R"({"error":"mode must be one of abort, wait, keep"})";
    co_return co_await send(exchange, std::move(reply));
  }
  context_.core.stop(Core::Stop::kPause);
  reply.body = R"({"status":"paused"})";
  co_return co_await send(exchange, std::move(reply));
}

rt::Task<Call::Outcome> Service::sleep(net::Exchange& exchange) {
  context_.core.abort_all();
  const bool here = co_await drained();
  if (!here) co_return Call::Outcome{};
  static_cast<void>(context_.core.reset_prefix_cache());
  context_.core.stop(Core::Stop::kSleep);
  context_.metrics.sleeping(query_value(exchange.request().target, "level") == "2" ? 2 : 1);
  co_return co_await send(exchange, Reply{});
}

}  // namespace fairlead::engine
