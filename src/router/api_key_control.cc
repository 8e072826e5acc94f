#include "router/api_key_control.h"

#include "rt/waiter.h"

namespace fairlead::router {

base::Result<SharedKeys> ApiKeyControl::load() {
  const auto content = file_.changed();
  if (!content) return content.error();
  return make(content->value_or(""));
}

base::Result<SharedKeys> ApiKeyControl::make(std::string_view content) {
  auto keys = ApiKeys::parse(content);
  if (!keys) return keys.error().wrap(file_.path());
  keys_ = keys->size();
  return std::make_shared<const ApiKeys>(std::move(*keys));
}

rt::Task<void> ApiKeyControl::run(const Use& use) {
  for (;;) {
    const base::TimePoint next = base::after(loop_.now(), kInterval);
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) co_return;
    const auto content = file_.changed();
    if (content && !*content) continue;
    base::Result<SharedKeys> keys = content ? make(**content) : content.error();
    if (keys) {
      log_.info("keys of clients read", {{"file", file_.path()}, {"count", keys_}});
      use(std::move(*keys));
    } else {
      ++errors_;
      log_.error("the keys of clients stay as they were: their file is not usable",
                 {{"error", keys.error().describe()}});
    }
  }
}

}  // namespace fairlead::router
