// Report: a run in numbers. Percentiles are exact, but those of the token gaps (within 0.4 %); all
// are the nearest rank: the smallest value with at least that share at or below it. Latencies and
// tokens count answers without error; requests, shares and visits count all that reached a replica.
//
// A repeat is a request whose prefix an earlier one sent; it is warm if an earlier one of that
// prefix went to the same replica. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "workload/curves.h"
#include "workload/goodput.h"
#include "workload/samples.h"

namespace fairlead::workload {

struct Quantiles {
  uint64_t count = 0;
  double mean_ms = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p95_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

// Of the answers that kept the limits.
struct Goodput {
  Limits limits;
  uint64_t requests = 0;
  double share = 0;  // of all requests: a failed one is not good
  double requests_per_s = 0;
};

// The client as a share of one core over the time in which requests were under way.
struct ClientShare {
  // Above one of these the times in a report are partly the client's own.
  static constexpr double kSaturatedMax = 0.05;
  static constexpr double kWaitingMax = 0.10;

  double cpu = 0;
  double waiting = 0;    // for a core that something else had
  double saturated = 0;  // of the time: had no core to spare
  bool was_bottleneck() const { return saturated > kSaturatedMax || waiting > kWaitingMax; }
};

struct ReplicaShare {
  std::string name;
  uint64_t requests = 0;
  double share = 0;  // of the requests that reached a replica
};

struct Report {
  std::string label;
  uint64_t requests = 0;
  uint64_t errors = 0;
  std::map<std::string, uint64_t> errors_by_kind;
  double busy_s = 0;
  double requests_per_s = 0;
  double output_tokens_per_s = 0;
  uint64_t prompt_tokens = 0;
  uint64_t output_tokens = 0;
  // Of the prompt tokens. vLLM leaves cached tokens out of an answer that has none, so one that is
  // silent counts as none; absent if all are.
  std::optional<double> cached_ratio;
  Quantiles ttft;
  Quantiles ttft_first;   // first visits of a prefix
  Quantiles ttft_repeat;  // later ones
  Quantiles gap;          // between tokens
  Quantiles pause;        // the longest gap of each answer; its maximum is that of the run
  Quantiles whole;
  std::optional<Goodput> goodput;  // where limits are given
  std::optional<ClientShare> client;
  uint64_t repeats = 0;
  std::optional<double> repeats_warm;  // share; absent where replicas are not told apart
  std::vector<ReplicaShare> replicas;  // by name
  Curves curves;                       // for plots; not in the JSON

  double share_max() const;
};

Report make_report(std::string label, const RunLog& log, const Limits& limits = {});

// One JSON object; absent values are null.
void write_json(codec::JsonWriter& json, const Report& report);

}  // namespace fairlead::workload
