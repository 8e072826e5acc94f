// What `fairlead bench` is told: one described struct, from which the command line makes its flags.
//
// Three forms of a run. One target: --url. Several: --compare label=URL,label=URL. Policies:
// --compare round-robin,prefix-cache starts simulated engines and a router for each policy on free
// ports of this machine, fresh ones, and stops them in the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "codec/described.h"
#include "workload/arrivals.h"
#include "workload/goodput.h"
#include "workload/sessions.h"

namespace fairlead::bench {

// Bounds of a run.
inline constexpr size_t kTargetsMax = 8;
inline constexpr uint32_t kEnginesMax = 64;
inline constexpr uint32_t kConcurrencyMax = 20'000;
inline constexpr uint32_t kRoundsMax = 1000;
inline constexpr uint64_t kRequestsDefault = 200;  // where a workload has no natural end

inline constexpr base::Nanos kSweepTrialDefault = std::chrono::seconds(20);

enum class Api : uint8_t { kChat, kCompletions };
enum class WorkloadKind : uint8_t {
  kSharedPrefix,
  kPrefixGroups,
  kRandom,
  kConversations,
  kSharegpt,
  kMooncake
};
enum class SweepOver : uint8_t { kNone, kRate, kConcurrency };

struct BenchConfig {
  std::string url = "http://127.0.0.1:18080";
  std::vector<std::string> compare;
  std::string model;
  Api api = Api::kChat;

  WorkloadKind workload = WorkloadKind::kSharedPrefix;
  std::string trace;
  uint32_t prefixes = 40;
  uint32_t repeats = 5;
  uint32_t prefix_tokens = 2048;
  uint32_t question_tokens = 24;
  double zipf = 0;
  uint32_t turns = 5;
  base::Nanos think_time = std::chrono::seconds(5);
  std::optional<uint64_t> seed;

  std::optional<uint64_t> requests;
  std::optional<base::Nanos> duration;
  uint32_t concurrency = 4;
  std::optional<double> rate;
  workload::ArrivalKind arrivals = workload::ArrivalKind::kPoisson;
  double burst_ratio = 5;
  double burst_share = 0.2;
  base::Nanos burst_length = std::chrono::seconds(10);
  double speedup = 1;
  uint32_t max_tokens = 32;
  bool stream = true;
  bool explain = true;
  base::Nanos timeout = std::chrono::minutes(5);
  uint32_t rounds = 4;

  std::optional<base::Nanos> ttft_limit;
  std::optional<base::Nanos> itl_limit;
  SweepOver sweep = SweepOver::kNone;
  double sweep_min = 1;
  double sweep_max = 1000;
  double keep = 0.99;

  uint32_t engines = 2;
  std::string profile = "h100-8b";
  uint32_t max_num_seqs = 16;
  double overload = 0;

  bool verdict = false;
  std::string json;
  std::string html;
};

const codec::StructInfo& info_of(const BenchConfig*);

// One column of the table.
struct TargetSpec {
  std::string label;
  std::string url;  // empty: a router of our own with `policy`
  std::string policy;
};

// The columns that `config` asks for, --url's alone where nothing is compared.
base::Result<std::vector<TargetSpec>> targets_of(const BenchConfig& config);
bool starts_processes(const std::vector<TargetSpec>& targets);

// What single fields cannot say: which go together, and how large they may be.
base::Result<> validate(const BenchConfig& config);

// With the run's seed; `salt` keeps the texts of targets apart. `trace` is what --trace holds.
workload::SessionOptions session_options(const BenchConfig& config, uint64_t seed, uint64_t salt,
                                         std::shared_ptr<const workload::Trace> trace = nullptr);
// Nothing where the loop is closed.
std::optional<workload::ArrivalOptions> arrival_options(const BenchConfig& config);
workload::Limits limits_of(const BenchConfig& config);
// Requests of one target; nothing where only --duration ends the run. `planned` is what the
// workload itself comes to, 0 if it does not end.
std::optional<uint64_t> requests_of(const BenchConfig& config, uint64_t planned);

}  // namespace fairlead::bench
