// The part of a proxied request that waits for room at a replica, or is turned away.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "router/proxy.h"

namespace fairlead::router {
namespace {

std::string_view why(Shed shed) {
  switch (shed) {
    case Shed::kRequests:
      return "as many requests as may wait for one are waiting";
    case Shed::kBytes:
      return "the requests that wait for one hold as many bytes as they may";
    case Shed::kWait:
      return "none had room in time";
  }
  return "";
}

}  // namespace

// A request that is tried again has a place in line by when it came, as all have.
rt::Task<Proxy::Picked> Proxy::wait_for_room() {
  Admission& admission = shard_.shared().admission;
  std::optional<Admission::Place> place(
      std::in_place, admission,
      Admission::Arrival{.loop = loop(), .arrived = began_, .bytes = request_.bytes()});
  if (const std::optional<Shed> shed = place->enter(request_.model(), query_.model->slots)) {
    co_await answer_shed(*shed, admission.retry_after(loop().now()));
    co_return Picked::kEnded;
  }
  const base::TimePoint since = loop().now();
  const base::TimePoint until =
      std::min(end_, base::after(since, shard_.shared().config.queue_wait_max));
  Picked picked = Picked::kNoRoom;
  rt::WaitStatus status = rt::WaitStatus::kReady;
  query_.in_line = true;
  while (picked == Picked::kNoRoom && status == rt::WaitStatus::kReady) {
    status = co_await place->turn(until);
    if (status != rt::WaitStatus::kReady) break;
    place->look();
    picked = pick_replica();
    // Others in this line have not failed anywhere: for them the room may be good enough.
    if (picked == Picked::kNoRoom && !tried_.empty()) place->pass_on();
  }
  query_.in_line = false;
  const std::chrono::seconds retry_after = admission.retry_after(loop().now());
  place.reset();
  shard_.metrics().waited(picked == Picked::kReplica            ? "served"
                          : picked == Picked::kNobody           ? "no_replica"
                          : status == rt::WaitStatus::kTimedOut ? "shed"
                                                                : "left",
                          loop().now() - since);
  if (status == rt::WaitStatus::kTimedOut) co_await answer_shed(Shed::kWait, retry_after);
  co_return picked == Picked::kNoRoom ? Picked::kEnded : picked;
}

rt::Task<void> Proxy::answer_shed(Shed shed, std::chrono::seconds retry_after) {
  error_type_ = "scheduling";
  shard_.metrics().count_shed(to_string(shed));
  co_await answer_error(
      {.status = 503,
       .message = fmt::format("All replicas that serve '{}' are full and {}: try again later.",
                              request_.model(), why(shed)),
       .type = "server_error",
       .code = "overloaded"},
      retry_after);
}

}  // namespace fairlead::router
