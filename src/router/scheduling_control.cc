#include "router/scheduling_control.h"

#include "router/scheduling_file.h"
#include "rt/waiter.h"

namespace fairlead::router {

SchedulingControl::SchedulingControl(std::string path, rt::Loop& loop, obs::Logger& log)
    : file_(std::move(path), kSchedulingFileBytesMax), loop_(loop), log_(log) {}

base::Result<SchedulingControl::SharedPolicy> SchedulingControl::load() {
  const auto content = file_.changed();
  if (!content) return content.error();
  return make(content->value_or(""));
}

base::Result<SchedulingControl::SharedPolicy> SchedulingControl::make(const std::string& content) {
  const auto scheduling = parse_scheduling(content);
  if (!scheduling) return scheduling.error().wrap(file_.path());
  auto policy = scheduling->policy();
  if (!policy) return policy.error().wrap(file_.path());
  for (const std::string& warning : scheduling->warnings) {
    log_.warn("the configuration file has a part that is not used",
              {{"file", file_.path()}, {"what", warning}});
  }
  warnings_ = scheduling->warnings.size();
  current_ = true;
  return SharedPolicy(std::move(*policy));
}

rt::Task<void> SchedulingControl::run(const Use& use) {
  for (;;) {
    const base::TimePoint next = base::after(loop_.now(), kInterval);
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) co_return;
    const auto content = file_.changed();
    if (content && !*content) continue;
    base::Result<SharedPolicy> policy = content ? make(**content) : content.error();
    if (policy) {
      ++reloads_total_;
      log_.info("configuration file read", {{"file", file_.path()}, {"warnings", warnings_}});
      use(std::move(*policy));
    } else {
      ++errors_total_;
      current_ = false;
      log_.error("the configuration stays as it was: its file is not usable",
                 {{"error", policy.error().describe()}});
    }
  }
}

}  // namespace fairlead::router
