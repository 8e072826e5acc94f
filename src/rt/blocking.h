// run_blocking: work that blocks its thread (name resolution, fsync) without blocking the loop.
//
//   auto addresses = co_await run_blocking<Addresses>([host] { return resolve(host); });
//
// Each call has a thread of its own, for rare work only. When the caller is cancelled the result is
// dropped; the thread ends by itself, also after the loop. On a virtual loop the work runs at once,
// in place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "rt/loop.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::rt {

// Nothing when cancelled or at the deadline.
template <class T>
Task<std::optional<T>> run_blocking(std::function<T()> work,
                                    base::TimePoint deadline = base::kNever) {
  Scope& scope = co_await current_scope();
  Loop& loop = scope.loop();
  if (loop.is_virtual()) co_return std::optional<T>(work());
  struct State {
    std::optional<T> result;
    WaitList done;
  };
  auto state = std::make_shared<State>();
  std::thread([mailbox = loop.mailbox(), state, work = std::move(work)] {
    auto result = std::make_shared<T>(work());
    mailbox->post([state, result] {
      state->result.emplace(std::move(*result));
      state->done.notify_all();
    });
  }).detach();
  while (!state->result.has_value()) {
    const WaitStatus status = co_await state->done.wait(deadline);
    if (status != WaitStatus::kReady) co_return std::nullopt;
  }
  co_return std::move(state->result);
}

}  // namespace fairlead::rt
