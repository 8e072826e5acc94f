// The endpoints that change how the engine runs: those of vLLM's development mode that wait, LoRA
// adapters, and faults.
#include <algorithm>
#include <vector>

#include "engine/service.h"

namespace fairlead::engine {

namespace {

constexpr std::string_view kControlJson = "application/json";

// The values of one key of a query string; no escapes are expected.
std::vector<std::string_view> query_values(std::string_view target, std::string_view key) {
  std::vector<std::string_view> values;
  const size_t question = target.find('?');
  if (question == std::string_view::npos) return values;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with("=")) {
      values.push_back(pair.substr(key.size() + 1));
    }
  }
  return values;
}

// The last one, as in Starlette.
std::string_view query_value(std::string_view target, std::string_view key,
                             std::string_view initial) {
  const std::vector<std::string_view> values = query_values(target, key);
  return values.empty() ? initial : values.back();
}

bool is_mode(std::string_view mode) { return mode == "abort" || mode == "wait" || mode == "keep"; }

}  // namespace

Service::Reply Service::faults(net::Exchange& exchange) {
  Reply reply{.content_type = kControlJson};
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

rt::Task<bool> Service::halt(Core::Stop why, std::string_view mode) {
  if (mode == "wait") {
    const bool here = co_await drained();
    if (!here) co_return false;
  }
  context_.core.stop(why);
  if (mode != "abort") co_return true;
  context_.core.abort_all();
  while (context_.core.in_step()) {
    const rt::WaitStatus status = co_await context_.core.idle().wait();
    if (status != rt::WaitStatus::kReady) co_return false;
  }
  co_return true;
}

rt::Task<Call::Outcome> Service::pause(net::Exchange& exchange) {
  const std::string_view mode = query_value(exchange.request().target, "mode", "abort");
  Reply reply{.content_type = kControlJson};
  if (!is_mode(mode)) {
    reply.status = 400;
    reply.body = R"({"error":"mode must be one of abort, wait, keep"})";
    co_return co_await send(exchange, std::move(reply));
  }
  const bool here = co_await halt(Core::Stop::kPause, mode);
  if (!here) co_return Call::Outcome{};
  reply.body = R"({"status":"paused"})";
  co_return co_await send(exchange, std::move(reply));
}

// Level 0 only stops the schedule; 1 moves the weights to the host and drops the KV cache, 2 drops
// both.
rt::Task<Call::Outcome> Service::sleep(net::Exchange& exchange) {
  const std::string_view mode = query_value(exchange.request().target, "mode", "abort");
  const std::string_view level = query_value(exchange.request().target, "level", "1");
  if (!is_mode(mode) || (level != "0" && level != "1" && level != "2")) {
    co_return co_await send(
        exchange, error_reply(protocol::engine_error(
                      400, "level must be 0, 1 or 2, and mode one of abort, wait, keep")));
  }
  const int depth = level.front() - '0';
  const bool here = co_await halt(Core::Stop::kSleep, mode);
  if (!here) co_return Call::Outcome{};
  if (depth > 0) {
    static_cast<void>(context_.core.reset_prefix_cache());  // not while requests are kept
    weights_asleep_ = kv_cache_asleep_ = true;
  }
  context_.metrics.sleeping(depth);
  co_return co_await send(exchange, Reply{});
}

// Without tags all of it; the schedule goes on when everything is back.
Service::Reply Service::wake_up(const net::Exchange& exchange) {
  const std::vector<std::string_view> tags = query_values(exchange.request().target, "tags");
  const auto woken = [&](std::string_view tag) {
    return tags.empty() || std::find(tags.begin(), tags.end(), tag) != tags.end();
  };
  if (woken("weights")) weights_asleep_ = false;
  if (woken("kv_cache")) kv_cache_asleep_ = false;
  if (weights_asleep_ || kv_cache_asleep_) return {};
  context_.core.go_on(Core::Stop::kSleep);
  context_.metrics.sleeping(std::nullopt);
  return {};
}

Service::Reply Service::load_adapter(std::string_view body) {
  protocol::LoadAdapterRequest request;
  protocol::Refusal refused = parse_load_adapter(body, request);
  if (!refused) refused = context_.adapters.load(request);
  if (refused) return error_reply(*refused);
  return {.body = protocol::adapter_added(request.name)};
}

Service::Reply Service::unload_adapter(std::string_view body) {
  protocol::UnloadAdapterRequest request;
  protocol::Refusal refused = parse_unload_adapter(body, request);
  if (!refused) refused = context_.adapters.unload(request);
  if (refused) return error_reply(*refused);
  return {.body = protocol::adapter_removed(request.name)};
}

}  // namespace fairlead::engine
