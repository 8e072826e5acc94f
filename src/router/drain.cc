#include "router/drain.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "codec/json.h"

namespace fairlead::router {
namespace {

constexpr auto kCountAgain = std::chrono::milliseconds(10);
constexpr std::array kStates = {DrainState::kServing, DrainState::kAnnounced,
                                DrainState::kDraining};

}  // namespace

std::string_view to_string(DrainState state) {
  switch (state) {
    case DrainState::kServing:
      return "serving";
    case DrainState::kAnnounced:
      return "announced";
    case DrainState::kDraining:
      return "draining";
  }
  return "serving";
}

std::string to_json(const DrainStatus& status) {
  std::string json;
  codec::JsonWriter out(json);
  out.begin_object();
  out.key("state").string(to_string(status.state));
  out.key("requests").unsigned_integer(status.requests);
  out.key("process").unsigned_integer(status.process);
  out.end_object();
  return json;
}

base::Result<DrainStatus> parse_drain_status(std::string_view json) {
  const base::Result<codec::Json> parsed = codec::parse_json(json);
  if (!parsed) return parsed.error();
  const codec::Json* state = parsed->is_object() ? parsed->find("state") : nullptr;
  const codec::Json* requests = state != nullptr ? parsed->find("requests") : nullptr;
  const codec::Json* process = state != nullptr ? parsed->find("process") : nullptr;
  const bool whole = requests != nullptr && requests->is_integer() && process != nullptr &&
                     process->is_integer() && state->is_string();
  if (!whole) return base::invalid_argument("no state of a drain");
  const auto known = std::find_if(kStates.begin(), kStates.end(), [&](DrainState one) {
    return to_string(one) == state->as_string();
  });
  if (known == kStates.end()) return base::invalid_argument("an unknown state of a drain");
  return DrainStatus{.state = *known,
                     .requests = static_cast<uint64_t>(requests->as_int()),
                     .process = static_cast<uint64_t>(process->as_int())};
}

void Drain::begin(std::string_view why, Listeners listeners) {
  if (begun()) return;
  state_ = DrainState::kAnnounced;
  shared_.ready.store(false, std::memory_order_relaxed);
  shared_.log.info("draining", {{"why", why},
                                {"delay", base::to_string(shared_.config.drain_delay)},
                                {"timeout", base::to_string(shared_.config.drain_timeout)}});
  if (listeners == Listeners::kHandedOver) {
    for (const auto& shard : shards_) shard->hand_over();
  }
  begun_.notify_all();
}

DrainStatus Drain::status() const {
  uint64_t requests = 0;
  for (const auto& shard : shards_) requests += shard->requests();
  return {.state = state_, .requests = requests, .process = static_cast<uint64_t>(getpid())};
}

rt::Task<rt::WaitStatus> Drain::until_begun() {
  while (!begun()) {
    const rt::WaitStatus status = co_await begun_.wait();
    if (status == rt::WaitStatus::kCancelled) co_return status;
  }
  co_return rt::WaitStatus::kReady;
}

rt::Task<void> Drain::run() {
  const rt::WaitStatus status = co_await until_begun();
  if (status == rt::WaitStatus::kCancelled) co_return;
  const base::Nanos delay = shared_.config.drain_delay;
  co_await until_ended(base::after(loop_.now(), delay));
  state_ = DrainState::kDraining;
  for (const auto& shard : shards_) shard->drain(shared_.config.drain_timeout);
  co_await until_ended(base::kNever);
}

rt::Task<void> Drain::until_ended(base::TimePoint deadline) {
  while (!all_ended() && loop_.now() < deadline) {
    const base::TimePoint next = std::min(deadline, base::after(loop_.now(), kCountAgain));
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) co_return;
  }
}

bool Drain::all_ended() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [](const auto& shard) { return shard->ended(); });
}

}  // namespace fairlead::router
