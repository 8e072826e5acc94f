// LoadTarget: one server under load, with the sessions it is sent and the log of what it answered.
// It sends one turn of a conversation; when, and how many at once, is the slice's (slice.h). One
// loop; any Network.
//
//   LoadTarget target(network, {.label = "a", .host = "127.0.0.1:8000", .address = address},
//   options); co_await run_slice(target, {.requests = 50, .concurrency = 4}); Report report =
//   make_report("a", target.log());
//
// The path of a token is short: one read, one clock reading, byte searches. Sending builds the body
// from a hash and writes head and body in one call.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/answer.h"
#include "bench/client_cpu.h"
#include "bench/request.h"
#include "net/http_client.h"
#include "net/network.h"
#include "rt/task.h"
#include "workload/arrivals.h"
#include "workload/samples.h"
#include "workload/sessions.h"

namespace fairlead::bench {

struct Endpoint {
  std::string label;
  std::string host;  // the Host field: "127.0.0.1:8000"
  net::Address address;
};

struct LoadOptions {
  RequestShape shape;
  workload::SessionOptions sessions;
  base::Nanos timeout = std::chrono::minutes(5);
  std::string extra_fields;  // whole lines, each with CRLF
  CpuClock cpu;              // of this client; empty measures nothing
};

// A session on its way.
struct Conversation {
  workload::Session session;
  size_t turn = 0;                   // the next to be sent
  std::vector<std::string> history;  // what was said, each message as JSON

  bool ended() const { return turn == session.turns.size(); }
  base::Nanos think() const { return session.turns[turn].think; }
};

class LoadTarget {
 public:
  LoadTarget(net::Network& network, Endpoint endpoint, LoadOptions options);

  // One that was put back, else a new one; nothing at the end of a trace.
  std::optional<Conversation> next_conversation();
  // It is the next to go on.
  void put_back(Conversation conversation);

  // One request from its prompt to the end of its answer; its latencies count from `from`. Recorded
  // unless the scope is cancelled. True if it was answered, and the conversation is a turn further.
  rt::Task<bool> send_turn(Conversation& conversation, base::TimePoint from);
  // An open loop at its bound.
  void record_not_sent(base::TimePoint from);

  // What the workload itself comes to, 0 if it does not end.
  uint64_t planned() const { return sessions_.planned(); }
  const Endpoint& endpoint() const { return endpoint_; }
  workload::RunLog& log() { return log_; }
  const workload::RunLog& log() const { return log_; }
  // Of the sessions, so that requests come at the rate of `options`. Those of the first call stay.
  workload::Arrivals& arrivals(workload::ArrivalOptions options);
  const CpuClock& cpu_clock() const { return options_.cpu; }
  rt::Loop& loop() const { return network_.loop(); }
  uint64_t under_way() const { return under_way_; }
  uint64_t errors() const { return errors_; }

 private:
  struct Attempt;
  rt::Task<base::Result<>> exchange(Attempt& attempt, net::ClientConnection& connection);
  rt::Task<base::Result<>> attempt_once(Attempt& attempt);
  rt::Task<base::Result<>> attempt_or_again(Attempt& attempt);
  // False for what nobody waited for any more.
  bool record(Attempt& attempt, const base::Result<>& ended);
  uint32_t replica_of_answer(const net::ResponseHead& head);

  net::Network& network_;
  Endpoint endpoint_;
  LoadOptions options_;
  net::ConnectionPool pool_;
  workload::SessionSource sessions_;
  std::deque<Conversation> put_back_;
  std::optional<workload::Arrivals> arrivals_;
  workload::RunLog log_;
  base::TimePoint began_;
  uint64_t under_way_ = 0;
  uint64_t errors_ = 0;
};

}  // namespace fairlead::bench
