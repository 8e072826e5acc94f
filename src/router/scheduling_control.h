// SchedulingControl: the policy that the scheduling file describes, and what becomes of the file
// when it changes: a valid one is given to the shards, from their next pick on; of one that is
// refused nothing is used, and the policy stays. Lives on the control loop.
//
//   SchedulingControl scheduling(path, loop, log);
//   auto policy = scheduling.load();                       // an error ends the start
//   group.spawn(scheduling.run([&](auto policy) { for (Shard& s : shards) s.use(policy); }));
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "obs/log.h"
#include "pick/policy.h"
#include "router/watched_file.h"
#include "rt/loop.h"
#include "rt/task.h"

namespace fairlead::router {

class SchedulingControl {
 public:
  static constexpr base::Nanos kInterval = std::chrono::seconds(1);
  using SharedPolicy = std::shared_ptr<const pick::Policy>;
  using Use = std::function<void(SharedPolicy)>;

  SchedulingControl(std::string path, rt::Loop& loop, obs::Logger& log);

  // Reads the file for the first time; errors name file, line and field.
  base::Result<SharedPolicy> load();
  // Until its scope is cancelled. `use` outlives it.
  rt::Task<void> run(const Use& use);

  uint64_t reloads_total() const { return reloads_total_; }
  uint64_t errors_total() const { return errors_total_; }
  // Of the file in use.
  size_t warnings() const { return warnings_; }
  // Whether what the file says now is in use.
  bool current() const { return current_; }

 private:
  base::Result<SharedPolicy> make(const std::string& content);

  WatchedFile file_;
  rt::Loop& loop_;
  obs::Logger& log_;
  uint64_t reloads_total_ = 0;
  uint64_t errors_total_ = 0;
  size_t warnings_ = 0;
  bool current_ = false;
};

}  // namespace fairlead::router
