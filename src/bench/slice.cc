#include "bench/slice.h"

#include <tuple>
#include <utility>

#include "bench/config.h"
#include "rt/task_group.h"
#include "rt/waiter.h"

namespace fairlead::bench {
namespace {

using base::Nanos;
using base::TimePoint;

// What the clients of a slice share.
struct Slice {
  LoadTarget& target;
  SliceOptions options;
  TimePoint begin;
  uint64_t sent = 0;
  rt::WaitList over;  // the last request is sent: nobody need think on

  // Will nothing more be sent at `at`?
  bool ends_before(TimePoint at) const {
    return (options.duration && at - begin >= *options.duration) ||
           (options.requests && sent >= *options.requests);
  }
  bool may_send(TimePoint at) {
    if (ends_before(at)) return false;
    if (target.log().samples.size() + target.under_way() >= workload::RunLog::kSamplesMax) {
      return false;
    }
    if (++sent == options.requests) over.notify_all();
    return true;
  }
};

// The turns of a conversation until it or the slice ends. The first is counted as sent.
rt::Task<void> converse(Slice& slice, Conversation conversation, TimePoint from) {
  const rt::Loop& loop = slice.target.loop();
  for (;;) {
    const bool answered = co_await slice.target.send_turn(conversation, from);
    if (!answered || conversation.ended()) co_return;
    const Nanos think = conversation.think();
    from = base::after(loop.clock().now(), think);
    if (slice.ends_before(from)) break;
    if (think > Nanos(0)) {
      const rt::WaitStatus status = co_await slice.over.wait(from);
      if (status == rt::WaitStatus::kCancelled) co_return;
    }
    if (!slice.may_send(from)) break;
  }
  slice.target.put_back(std::move(conversation));
}

rt::Task<void> closed_loop_client(Slice& slice) {
  rt::Scope& scope = co_await rt::current_scope();
  while (!scope.cancelled()) {
    auto conversation = slice.target.next_conversation();
    if (!conversation) co_return;
    const TimePoint now = slice.target.loop().clock().now();
    if (!slice.may_send(now)) {
      slice.target.put_back(std::move(*conversation));
      co_return;
    }
    co_await converse(slice, std::move(*conversation), now);
  }
}

// Arrivals go on where the slice before stopped: time between slices does not count.
rt::Task<void> open_loop(Slice& slice, rt::TaskGroup& group) {
  LoadTarget& target = slice.target;
  auto& arrivals = target.arrivals(*slice.options.arrivals);
  TimePoint at = slice.begin;
  std::optional<Nanos> last;
  while (auto conversation = target.next_conversation()) {
    const Nanos next = arrivals.next(conversation->session.at.value_or(Nanos(0)));
    at += next - last.value_or(next);
    last = next;
    rt::WaitStatus status = rt::WaitStatus::kTimedOut;
    if (!slice.ends_before(at) && at > target.loop().now()) {
      status = co_await slice.over.wait(at);
    }
    if (status == rt::WaitStatus::kCancelled) co_return;
    if (!slice.may_send(at)) {
      target.put_back(std::move(*conversation));
      co_return;
    }
    if (group.running() >= kConcurrencyMax) {
      target.record_not_sent(at);
    } else {
      group.spawn(converse(slice, std::move(*conversation), at));
    }
  }
}

}  // namespace

rt::Task<void> run_slice(LoadTarget& target, SliceOptions options) {
  rt::Scope& scope = co_await rt::current_scope();
  Slice slice{.target = target, .options = options, .begin = target.loop().clock().now()};
  rt::TaskGroup watching(scope);
  if (target.cpu_clock()) {
    auto& client = target.log().client;
    if (!client) client.emplace();
    watching.spawn(watch_client(target.cpu_clock(), *client));
  }
  rt::TaskGroup group(scope);
  if (options.arrivals) {
    co_await open_loop(slice, group).in(group.scope());
  } else {
    for (uint32_t i = 0; i < options.concurrency; ++i) group.spawn(closed_loop_client(slice));
  }
  std::ignore = co_await group.join();
  target.log().busy += target.loop().clock().now() - slice.begin;
  watching.cancel(rt::CancelReason::kSibling);
  std::ignore = co_await watching.join();
}

}  // namespace fairlead::bench
