// LoadTarget: one server under load, with the prompts it is sent and the log of what it answered.
// run_slice() sends a part of the run; targets that are compared take turns. One loop; any Network.
//
//   LoadTarget target(network, {.label = "a", .host = "127.0.0.1:8000", .address = address},
//   options); co_await run_slice(target, {.requests = 50, .concurrency = 4}); Report report =
//   make_report("a", target.log());
//
// The path of a token is short: one read, one clock reading, byte searches. Sending builds the body
// from a hash and writes head and body in one call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bench/answer.h"
#include "bench/request.h"
#include "net/http_client.h"
#include "net/network.h"
#include "rt/task.h"
#include "workload/arrivals.h"
#include "workload/prompts.h"
#include "workload/samples.h"

namespace fairlead::bench {

struct Endpoint {
  std::string label;
  std::string host;  // the Host field: "127.0.0.1:8000"
  net::Address address;
};

struct LoadOptions {
  RequestShape shape;
  workload::PromptOptions prompts;
  base::Nanos timeout = std::chrono::minutes(5);
  std::string extra_fields;  // whole lines, each with CRLF
};

// What a slice sends; it ends at the first limit, when all it sent is answered.
struct SliceOptions {
  std::optional<uint64_t> requests;
  std::optional<base::Nanos> duration;
  uint32_t concurrency = 1;    // closed loop
  std::optional<double> rate;  // open loop instead
};

class LoadTarget {
 public:
  LoadTarget(net::Network& network, Endpoint endpoint, LoadOptions options);

  // One request from its prompt to the end of its answer; its latencies count from `from`. Recorded
  // unless the scope is cancelled.
  rt::Task<void> send_one(base::TimePoint from);
  // An open loop at its bound.
  void record_not_sent(base::TimePoint from);

  const Endpoint& endpoint() const { return endpoint_; }
  workload::RunLog& log() { return log_; }
  const workload::RunLog& log() const { return log_; }
  workload::PoissonArrivals& arrivals(double rate);
  rt::Loop& loop() const { return network_.loop(); }
  uint64_t under_way() const { return under_way_; }
  uint64_t errors() const { return errors_; }

 private:
  struct Attempt;
  rt::Task<base::Result<>> exchange(Attempt& attempt, net::ClientConnection& connection);
  rt::Task<base::Result<>> attempt_once(Attempt& attempt);
  rt::Task<base::Result<>> attempt_or_again(Attempt& attempt);
  void record(Attempt& attempt, const base::Result<>& ended);
  uint32_t replica_of_answer(const net::ResponseHead& head);

  net::Network& network_;
  Endpoint endpoint_;
  LoadOptions options_;
  net::ConnectionPool pool_;
  workload::PromptSource prompts_;
  std::optional<workload::PoissonArrivals> arrivals_;
  workload::RunLog log_;
  base::TimePoint began_;
  uint64_t under_way_ = 0;
  uint64_t errors_ = 0;
};

rt::Task<void> run_slice(LoadTarget& target, SliceOptions options);

}  // namespace fairlead::bench
