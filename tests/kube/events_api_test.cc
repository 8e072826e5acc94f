// Events as a real server takes them.
#include <fmt/format.h>

#include <algorithm>

#include "control_plane.h"
#include "kube/events.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

Report failed(const std::string& space, const std::string& message) {
  return {.subject = {.api_version = "v1",
                      .kind = "ConfigMap",
                      .space = space,
                      .name = "subject",
                      .uid = "6f0c1bb0-7a54-4d6b-9f3e-2f1a4e1d9a11"},
          .type = EventType::kWarning,
          .reason = "Failed",
          .message = message};
}

// Reports 13 different messages and one of them again, and stops at once.
rt::Task<void> report_and_stop(rt::Loop& loop, EventRecorder& recorder, std::string space) {
  rt::TaskGroup group(loop);
  group.spawn(recorder.run());
  for (int i = 0; i < 13; ++i) recorder.report(failed(space, fmt::format("attempt {}", i)));
  recorder.report(failed(space, "attempt 0"));
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
}

TEST_F(RealApi, EventsAreCountedCombinedAndFlushedAtTheEnd) {
  EventRecorder recorder(
      client, {.component = "tests", .instance = "tests-0", .flush_time = std::chrono::minutes(1)});
  run(report_and_stop(loop, recorder, space));
  EXPECT_EQ(recorder.stats().written, 14u);
  EXPECT_EQ(recorder.stats().failed, 0u);
  const auto events = run(TypedClient<api::Event>(client).list_all(space, {}));
  ASSERT_TRUE(events) << events.error().describe();
  EXPECT_EQ(events->items.size(), 11u) << "ten of their own, and one of the rest";
  const auto count_of = [&](std::string_view message) {
    const auto found = std::ranges::find_if(
        events->items, [&](const auto& event) { return event.value.message.starts_with(message); });
    return found == events->items.end() ? 0 : found->value.count.value_or(0);
  };
  EXPECT_EQ(count_of("attempt 9"), 1);
  EXPECT_EQ(count_of("(combined from similar events): "), 4);
  const auto shown = plane.kubectl({"get", "events", "-n", space});
  ASSERT_TRUE(shown) << shown.error().message();
  EXPECT_NE(shown->find("attempt 9"), std::string::npos) << *shown;
}

}  // namespace
}  // namespace fairlead::kube
