// Process signals as events of a loop, by signalfd. Block them before any thread starts:
//
//   block_signals({SIGTERM, SIGINT});           // first thing in main
//   Signals signals(loop, {SIGTERM, SIGINT});
//   int which = co_await signals.next();        // 0 when cancelled
#pragma once

#include <initializer_list>

#include "rt/loop.h"
#include "rt/task.h"
#include "rt/waiter.h"

namespace fairlead::rt {

void block_signals(std::initializer_list<int> signals);

class Signals final : private IoHandler {
 public:
  Signals(Loop& loop, std::initializer_list<int> signals);
  ~Signals();
  Task<int> next();

 private:
  void on_events(uint32_t events) override;
  Loop& loop_;
  int fd_;
  WaitList arrived_;
};

}  // namespace fairlead::rt
