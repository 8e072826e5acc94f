// Which LoRA adapters the requests of one engine use, and whether one more adapter may join the
// batch: at most `max` run at a time, as vLLM's --max-loras. Adapter 0 is the base model, which
// always may. Pure; one thread.
//
//   seats.waits(7);
//   if (seats.may_run(7)) seats.starts(7);   // from the queue into the batch
//   seats.ends(7);                           // out of the batch
//
// A handful of adapters has requests at a time, so a list is searched.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlead::engine_model {

class AdapterSeats {
 public:
  explicit AdapterSeats(uint32_t max) : max_(max) {}

  bool may_run(uint32_t adapter) const;

  void waits(uint32_t adapter);   // joins the queue
  void starts(uint32_t adapter);  // moves from the queue into the batch
  void ends(uint32_t adapter);    // leaves the batch; a preempted request waits() again
  void leaves(uint32_t adapter);  // leaves the queue for good

  // Requests in the queue whose adapter must wait for another one to leave the batch.
  uint32_t deferred() const;

 private:
  struct Use {
    uint32_t adapter = 0;
    uint32_t waiting = 0;
    uint32_t running = 0;
  };
  const Use* find(uint32_t adapter) const;
  Use& use(uint32_t adapter);
  void forget_if_unused(uint32_t adapter);

  const uint32_t max_;
  uint32_t running_adapters_ = 0;
  std::vector<Use> uses_;
};

}  // namespace fairlead::engine_model
