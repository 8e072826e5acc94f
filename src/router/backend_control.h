// BackendControl: owns the back ends, on the control loop. It finds them (flags or a file, names
// resolved again and again, each address one replica), gives each a slot, has it scraped, judges
// its health, leaves out those whose answers fail, and publishes a Snapshot to every shard when
// their set or their models change.
//
// Threads: everything belongs to the control loop, except report(). Shards get immutable snapshots
// and must use a snapshot within one turn, or hold the shared_ptr; a slot is used again only when
// no snapshot names its replica and nothing is in flight there, so a reservation needs neither. A
// replica that is removed gets no new requests and finishes its streams.
//
//   BackendControl control(network, columns, index, log, options);
//   if (auto loaded = control.load(); !loaded) ...   // a file that cannot be read ends the start
//   control.add_shard(shard);
//   group.spawn(control.run());
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache_index/prefix_index.h"
#include "net/network.h"
#include "obs/log.h"
#include "pick/columns.h"
#include "router/backends.h"
#include "router/backends_file.h"
#include "router/ejections.h"
#include "router/health.h"
#include "router/models.h"
#include "router/scrape.h"
#include "rt/task_group.h"

namespace fairlead::router {

struct BackendOptions {
  std::vector<net::HostPort> backends;  // used where no file is given
  std::string backends_file;
  base::Nanos file_interval = std::chrono::seconds(1);
  base::Nanos resolve_interval = std::chrono::seconds(10);
  base::Nanos resolve_timeout = std::chrono::seconds(5);
  // How long a new back end may take to list its models before unknown models are unknown.
  base::Nanos models_wait = std::chrono::seconds(5);
  base::Nanos judge_interval = std::chrono::milliseconds(200);
  HealthOptions health;
  EjectionOptions ejections;
  const net::TlsClient* tls = nullptr;  // for https:// back ends; none without it
  ScrapeOptions scrape;
};

// One replica for people and metrics.
struct BackendStatus {
  std::string name;
  net::Address address;
  pick::Slot slot = 0;
  pick::Health health = pick::Health::kSuspect;  // as requests see it
  BreakerState breaker = BreakerState::kClosed;
  std::array<uint64_t, kEjectReasons> ejections{};
  bool spared = false;  // its breaker is open, but too many are
  double share = 1;     // of its usual work
  size_t models = 0;
  std::optional<base::Nanos> metrics_age;  // since they last changed; nothing: it has none
};

class BackendControl final : public FailureSink, private ScrapeListener {
 public:
  BackendControl(net::Network& network, pick::Columns& columns, cache_index::PrefixIndex& index,
                 obs::Logger& log, BackendOptions options);
  ~BackendControl() override;

  // Reads the file for the first time; its errors name file and line.
  base::Result<> load();
  // Before run(); the shard outlives run(). It is given the first snapshot at once.
  void add_shard(ShardControl& shard);
  // Until its scope is cancelled.
  rt::Task<void> run();

  // Any thread, any rate: at most one message to the control loop is under way.
  void report(pick::Slot slot, FailureKind kind) override;

  std::vector<BackendStatus> status() const;
  // What the replica lists, as last asked.
  std::vector<std::string> models(pick::Slot slot) const;
  // Addresses that found no free slot, and reloads of the file that failed.
  uint64_t refused_total() const { return refused_total_; }
  uint64_t file_errors_total() const { return file_errors_total_; }

 private:
  struct Source {
    net::HostPort host;
    std::optional<std::vector<net::Address>> addresses;  // as last resolved
  };
  struct Replica {
    Replica(rt::Scope& parent, std::shared_ptr<const Backend> b, BackendControl& control);
    std::shared_ptr<const Backend> backend;
    base::TimePoint added;
    ReplicaHealth health;
    std::optional<std::vector<ListedModel>> models;
    Scraper scraper;
    rt::TaskGroup group;
  };
  struct Leaving {
    pick::Slot slot;
    std::weak_ptr<const Backend> backend;
    std::unique_ptr<Replica> replica;  // until its scraper has ended
  };
  struct Inbox;
  using Wanted = std::map<net::Address, Backend>;

  void probed(pick::Slot slot) override;
  void listed(pick::Slot slot, std::vector<ListedModel> models) override;

  rt::Task<void> follow_sources();
  rt::Task<void> resolve_sources();
  rt::Task<void> resolve_some(size_t& next);
  rt::Task<void> judge_all();
  void read_file();
  void set_sources(std::vector<net::HostPort> hosts);
  Wanted wanted() const;
  void apply(const Wanted& wanted);
  void add(Backend backend);
  // `failed`: what requests have reported since the last time.
  void judge(Replica& replica, const Answers& failed);
  void show(const Replica& replica);
  void take_reports();
  void reclaim();
  bool settled() const;
  void publish();
  uint64_t good_answers(pick::Slot slot) const;
  base::TimePoint now() const { return network_.loop().now(); }

  net::Network& network_;
  pick::Columns& columns_;
  cache_index::PrefixIndex& index_;
  obs::Logger& log_;
  BackendOptions options_;
  std::optional<BackendsFile> file_;
  std::vector<Source> sources_;
  std::vector<ShardControl*> shards_;
  std::vector<std::unique_ptr<Replica>> by_slot_;
  std::vector<bool> slot_taken_;
  std::vector<Leaving> leaving_;
  Ejections ejections_;
  std::shared_ptr<Inbox> inbox_;
  rt::Scope* scope_ = nullptr;
  bool resolved_once_ = false;
  bool published_settled_ = false;
  uint64_t refused_total_ = 0;
  uint64_t file_errors_total_ = 0;
};

}  // namespace fairlead::router
