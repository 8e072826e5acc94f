#include "pick/columns.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/hash.h"
#include "pick/whole.h"

namespace fairlead::pick {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
base::LineArray<std::atomic<T>> column(uint32_t slots) {
  return base::LineArray<std::atomic<T>>(slots);
}

// Subtracts; a counter that would fall below zero is a bug of the caller and stays at zero.
template <class T>
void subtract(std::atomic<T>& counter, T amount) {
  const T before = counter.fetch_sub(amount, kRelaxed);
  SOFT_CHECK(before >= amount, "a load counter went below zero");
  if (before < amount) counter.fetch_add(amount - before, kRelaxed);
}

}  // namespace

Columns::Columns(uint32_t slots)
    : slots_(slots),
      in_flight_(column<uint32_t>(slots)),
      foreign_(column<uint32_t>(slots)),
      lines_(column<uint32_t>(slots)),
      given_(column<uint64_t>(slots)),
      running_(column<uint32_t>(slots)),
      waiting_(column<uint32_t>(slots)),
      kv_free_percent_(column<float>(slots)),
      ttft_ns_(column<double>(slots)),
      tpot_ns_(column<double>(slots)),
      fresh_(column<bool>(slots)),
      samples_(slots),
      identity_(column<uint64_t>(slots)),
      health_(column<Health>(slots)),
      share_(column<float>(slots)),
      ttft_models_(std::make_unique<TtftModel[]>(slots)) {
  for (uint32_t slot = 0; slot < slots; ++slot) {
    identity_[slot].store(base::mix64(slot), kRelaxed);
    share_[slot].store(1, kRelaxed);
    set_scraped(static_cast<Slot>(slot), {}, 0);
    set_stale(static_cast<Slot>(slot));
  }
}

void Columns::open(Slot slot, std::span<const Slot> peers, uint64_t identity) {
  SOFT_CHECK(in_flight(slot) == 0, "a slot was handed on with requests in flight");
  uint64_t given = 0;
  for (size_t i = 0; i < peers.size(); ++i) {
    const uint64_t peer = prompt_tokens_given(peers[i]);
    given = i == 0 ? peer : std::min(given, peer);
  }
  in_flight_[slot].store(0, kRelaxed);
  given_[slot].store(given, kRelaxed);
  set_scraped(slot, Scraped{}, 0);
  set_stale(slot);
  identity_[slot].store(identity, kRelaxed);
  set_health(slot, Health::kReady);
  set_share(slot, 1);
  ttft_models_[slot].reset();
}

void Columns::begin(Slot slot, uint32_t prompt_tokens) {
  in_flight_[slot].fetch_add(1, kRelaxed);
  given_[slot].fetch_add(prompt_tokens, kRelaxed);
}

bool Columns::try_begin(Slot slot, uint32_t prompt_tokens, uint32_t in_flight_max) {
  uint32_t in_flight = read(in_flight_, slot);
  do {
    if (in_flight >= in_flight_max) return false;
  } while (!in_flight_[slot].compare_exchange_weak(in_flight, in_flight + 1, kRelaxed));
  given_[slot].fetch_add(prompt_tokens, kRelaxed);
  return true;
}

void Columns::end(Slot slot) { subtract<uint32_t>(in_flight_[slot], 1); }

void Columns::remove_line(Slot slot) { subtract<uint32_t>(lines_[slot], 1); }

void Columns::take_back_given(Slot slot, uint32_t prompt_tokens) {
  subtract<uint64_t>(given_[slot], prompt_tokens);
}

void Columns::set_scraped(Slot slot, const Scraped& sample, uint32_t in_flight_max) {
  running_[slot].store(sample.running, kRelaxed);
  waiting_[slot].store(sample.waiting, kRelaxed);
  kv_free_percent_[slot].store(static_cast<float>(whole(100 * (1 - sample.kv_usage))), kRelaxed);
  const Latency& latency = sample.latency;
  const bool measured = latency.ttft > base::Nanos(0) && latency.tpot > base::Nanos(0);
  ttft_ns_[slot].store(measured ? static_cast<double>(latency.ttft.count()) : kNaN, kRelaxed);
  tpot_ns_[slot].store(measured ? static_cast<double>(latency.tpot.count()) : kNaN, kRelaxed);
  Sample& last = samples_[slot];
  last.running.store(sample.running, kRelaxed);
  last.waiting.store(sample.waiting, kRelaxed);
  last.kv_usage.store(sample.kv_usage, kRelaxed);
  last.ttft.store(latency.ttft.count(), kRelaxed);
  last.tpot.store(latency.tpot.count(), kRelaxed);
  last.at.store(sample.at.time_since_epoch().count(), kRelaxed);
  const uint32_t all = sample.running + sample.waiting;
  foreign_[slot].store(all > in_flight_max ? all - in_flight_max : 0, kRelaxed);
  fresh_[slot].store(true, kRelaxed);
}

void Columns::set_stale(Slot slot) {
  foreign_[slot].store(0, kRelaxed);
  running_[slot].store(kAllRunning, kRelaxed);
  waiting_[slot].store(0, kRelaxed);
  ttft_ns_[slot].store(kNaN, kRelaxed);
  tpot_ns_[slot].store(kNaN, kRelaxed);
  fresh_[slot].store(false, kRelaxed);
}

Scraped Columns::scraped(Slot slot) const {
  const Sample& sample = samples_[slot];
  return {.running = sample.running.load(kRelaxed),
          .waiting = sample.waiting.load(kRelaxed),
          .kv_usage = sample.kv_usage.load(kRelaxed),
          .latency = {.ttft = base::Nanos(sample.ttft.load(kRelaxed)),
                      .tpot = base::Nanos(sample.tpot.load(kRelaxed))},
          .at = base::TimePoint(base::Nanos(sample.at.load(kRelaxed)))};
}

void Columns::set_health(Slot slot, Health health) {
  const Health before = health_[slot].exchange(health, kRelaxed);
  if (before == Health::kReady && health != Health::kReady) unready_.fetch_add(1, kRelaxed);
  if (before != Health::kReady && health == Health::kReady) unready_.fetch_sub(1, kRelaxed);
}

void Columns::set_share(Slot slot, float share) {
  const float before = share_[slot].exchange(share, kRelaxed);
  if (before >= 1 && share < 1) returning_.fetch_add(1, kRelaxed);
  if (before < 1 && share >= 1) returning_.fetch_sub(1, kRelaxed);
}

}  // namespace fairlead::pick
