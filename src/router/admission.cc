#include "router/admission.h"

namespace fairlead::router {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(100);

}  // namespace

struct Admission::Waiter : WaitingLines::Entry, std::enable_shared_from_this<Admission::Waiter> {
  explicit Waiter(const Arrival& arrival)
      : Entry(arrival.arrived, arrival.bytes), loop(arrival.loop) {}
  rt::Loop& loop;
  rt::WaitList bell;
};

// Pairs with the fence in enter(): either the one who enters sees the place that was given back, or
// the one who gives it back sees that somebody waits.
void Admission::released(pick::Slot slot, rt::Loop& here) {
  if (bounds_.in_flight_max == 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (requests() == 0) return;
  const std::lock_guard lock(mutex_);
  wake(lines_.call_next_at(slot), here);
}

void Admission::update(const pick::Table& table, rt::Loop& here) {
  if (requests() == 0) return;
  const std::lock_guard lock(mutex_);
  lines_.update(table);
  call_all(here);
}

rt::Task<void> Admission::run(rt::Loop& here) {
  if (bounds_.in_flight_max == 0) co_return;
  for (;;) {
    const rt::WaitStatus status = co_await rt::sleep_until(base::after(here.now(), kLookAgain));
    if (status == rt::WaitStatus::kCancelled) co_return;
    if (requests() == 0) continue;
    const std::lock_guard lock(mutex_);
    call_all(here);
  }
}

uint64_t Admission::bytes() const {
  const std::lock_guard lock(mutex_);
  return lines_.bytes();
}

std::chrono::seconds Admission::retry_after(base::TimePoint now) const {
  const std::lock_guard lock(mutex_);
  return lines_.retry_after(now);
}

void Admission::call_all(rt::Loop& here) {
  while (WaitingLines::Entry* entry = lines_.call_next()) wake(entry, here);
}

// Under the lock: who waits cannot leave meanwhile. Its loop may have seen it leave by the time
// that the bell rings there, so the bell is shared.
void Admission::wake(WaitingLines::Entry* entry, rt::Loop& here) {
  if (entry == nullptr) return;
  auto& waiter = static_cast<Waiter&>(*entry);
  if (&waiter.loop == &here) {
    waiter.bell.notify_all();
  } else {
    waiter.loop.post([shared = waiter.shared_from_this()] { shared->bell.notify_all(); });
  }
}

Admission::Place::Place(Admission& admission, const Arrival& arrival)
    : admission_(admission), waiter_(std::make_shared<Waiter>(arrival)) {}

Admission::Place::~Place() {
  if (!in_line_) return;
  const std::lock_guard lock(admission_.mutex_);
  const bool called = waiter_->called();
  admission_.lines_.leave(*waiter_);
  admission_.waiting_.store(admission_.lines_.requests(), std::memory_order_relaxed);
  // Whoever leaves in its turn leaves the turn to another.
  if (called) admission_.wake(admission_.lines_.call_next(), waiter_->loop);
}

std::optional<Shed> Admission::Place::enter(std::string_view model,
                                            std::span<const pick::Slot> slots) {
  const std::lock_guard lock(admission_.mutex_);
  const std::optional<Shed> shed = admission_.lines_.enter(*waiter_, model, slots);
  if (shed) return shed;
  in_line_ = true;
  admission_.waiting_.store(admission_.lines_.requests(), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Room may have come since it looked.
  admission_.wake(admission_.lines_.call_next(), waiter_->loop);
  return std::nullopt;
}

rt::Task<rt::WaitStatus> Admission::Place::turn(base::TimePoint deadline) {
  for (;;) {
    const rt::Scope& scope = co_await rt::current_scope();
    if (scope.cancelled()) co_return rt::WaitStatus::kCancelled;
    {
      const std::lock_guard lock(admission_.mutex_);
      if (waiter_->called()) co_return rt::WaitStatus::kReady;
    }
    const rt::WaitStatus status = co_await waiter_->bell.wait(deadline);
    if (status != rt::WaitStatus::kReady) co_return status;
  }
}

void Admission::Place::look() {
  const std::lock_guard lock(admission_.mutex_);
  admission_.lines_.look(*waiter_);
}

void Admission::Place::pass_on() {
  const std::lock_guard lock(admission_.mutex_);
  admission_.wake(admission_.lines_.call_behind(*waiter_), waiter_->loop);
}

}  // namespace fairlead::router
