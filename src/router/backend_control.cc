#include "router/backend_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/hash.h"

namespace fairlead::router {
namespace {

constexpr size_t kResolversMax = 8;  // at once; each may block a thread
constexpr base::Nanos kResolveRetry = std::chrono::seconds(1);

std::string text_of(const net::HostPort& host) {
  const bool v6 = host.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host.host, host.port)
            : fmt::format("{}:{}", host.host, host.port);
}

bool same_ids(const std::vector<ListedModel>& a, const std::vector<ListedModel>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ListedModel& x, const ListedModel& y) { return x.id == y.id; });
}

}  // namespace

// What shards have reported and the control loop has not yet taken. Outlives the control, because
// a message to it may still be in the loop's queue.
struct BackendControl::Inbox {
  struct Failures {
    std::atomic<uint32_t> connect{0};
    std::atomic<uint32_t> bad{0};  // these as well
    std::atomic<uint32_t> broken{0};
  };
  explicit Inbox(uint32_t slots) : failures(new Failures[slots]()) {}
  std::unique_ptr<Failures[]> failures;
  std::atomic<bool> posted{false};
  BackendControl* owner = nullptr;  // control loop only
};

BackendControl::Replica::Replica(rt::Scope& parent, std::shared_ptr<const Backend> b,
                                 BackendControl& control)
    : backend(std::move(b)),
      added(control.now()),
      health(control.options_.health, added),
      scraper(control.network_, backend, health, control.columns_, control,
              control.options_.scrape),
      group(parent) {}

BackendControl::BackendControl(net::Network& network, pick::Columns& columns,
                               cache_index::PrefixIndex& index, obs::Logger& log,
                               BackendOptions options)
    : network_(network),
      columns_(columns),
      index_(index),
      log_(log),
      options_(std::move(options)),
      by_slot_(columns.slots()),
      slot_taken_(columns.slots()),
      ejections_(options_.ejections, columns.slots()),
      inbox_(std::make_shared<Inbox>(columns.slots())) {
  inbox_->owner = this;
  if (options_.backends_file.empty()) {
    set_sources(options_.backends);
  } else {
    file_.emplace(options_.backends_file);
  }
}

BackendControl::~BackendControl() { inbox_->owner = nullptr; }

base::Result<> BackendControl::load() {
  if (!file_) return {};
  auto hosts = file_->changed();
  if (!hosts) return hosts.error();
  if (*hosts) set_sources(std::move(**hosts));
  return {};
}

void BackendControl::add_shard(ShardControl& shard) {
  shards_.push_back(&shard);
  publish();
}

rt::Task<void> BackendControl::run() {
  rt::Scope& scope = co_await rt::current_scope();
  scope_ = &scope;
  rt::TaskGroup work(scope);
  work.spawn(follow_sources());
  work.spawn(judge_all());
  (void)co_await work.join();
  // Their scopes lie below this one, so they end with it.
  for (auto& replica : by_slot_) {
    if (replica == nullptr) continue;
    (void)co_await replica->group.join();
    replica.reset();
  }
  for (Leaving& leaving : leaving_) {
    if (leaving.replica == nullptr) continue;
    (void)co_await leaving.replica->group.join();
    leaving.replica.reset();
  }
  scope_ = nullptr;
}

// Where the back ends are

void BackendControl::set_sources(std::vector<net::HostPort> hosts) {
  std::vector<Source> sources;
  for (net::HostPort& host : hosts) {
    const auto same = [&](const Source& source) { return source.host == host; };
    if (std::any_of(sources.begin(), sources.end(), same)) continue;
    const auto known = std::find_if(sources_.begin(), sources_.end(), same);
    sources.push_back(known == sources_.end() ? Source{std::move(host), std::nullopt} : *known);
  }
  sources_ = std::move(sources);
}

void BackendControl::read_file() {
  auto hosts = file_->changed();
  if (!hosts) {
    ++file_errors_total_;
    log_.error("back ends stay as they are: their file is not usable",
               {{"error", hosts.error().describe()}});
  } else if (*hosts) {
    log_.info("back ends read", {{"file", file_->path()}, {"count", (**hosts).size()}});
    set_sources(std::move(**hosts));
  }
}

rt::Task<void> BackendControl::follow_sources() {
  base::TimePoint resolve_due{};
  base::TimePoint resolved_at = now();
  for (;;) {
    if (file_) read_file();
    const auto unresolved = [](const Source& source) { return !source.addresses; };
    const bool some_new = std::any_of(sources_.begin(), sources_.end(), unresolved);
    if (now() >= resolve_due || (some_new && now() - resolved_at >= kResolveRetry)) {
      co_await resolve_sources();
      resolved_at = now();
      resolve_due = base::after(resolved_at, options_.resolve_interval);
    }
    apply(wanted());
    const base::TimePoint next = base::after(now(), options_.file_interval);
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) co_return;
  }
}

rt::Task<void> BackendControl::resolve_sources() {
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup resolvers(scope);
  size_t next = 0;
  const size_t count = std::min(kResolversMax, sources_.size());
  for (size_t i = 0; i < count; ++i) resolvers.spawn(resolve_some(next));
  (void)co_await resolvers.join();
  resolved_once_ = true;
}

rt::Task<void> BackendControl::resolve_some(size_t& next) {
  while (next < sources_.size()) {
    const size_t at = next++;
    const net::HostPort host = sources_[at].host;
    const base::TimePoint deadline = base::after(now(), options_.resolve_timeout);
    auto addresses = co_await network_.resolve(host, deadline);
    if (addresses && !addresses->empty()) {
      sources_[at].addresses = std::move(*addresses);
    } else if (!addresses && addresses.error().code() == base::ErrorCode::kCancelled) {
      co_return;
    } else {
      log_.warn("a back end's name does not resolve",
                {{"backend", text_of(host)},
                 {"error", addresses ? "no addresses" : addresses.error().describe()}});
    }
  }
}

BackendControl::Wanted BackendControl::wanted() const {
  Wanted wanted;
  for (const Source& source : sources_) {
    if (!source.addresses) continue;
    const std::string host = text_of(source.host);
    for (const net::Address& address : *source.addresses) {
      const bool one = source.addresses->size() == 1;
      const bool secure = source.host.scheme == net::Scheme::kHttps;
      wanted.emplace(address, Backend{.address = address,
                                      .name = one ? host : net::to_string(address),
                                      .host = host,
                                      .tls = secure ? options_.tls : nullptr,
                                      .tls_host = secure ? source.host.host : std::string()});
    }
  }
  return wanted;
}

// The set of replicas

void BackendControl::apply(const Wanted& wanted) {
  Wanted missing = wanted;
  std::vector<pick::Slot> gone;
  for (auto& replica : by_slot_) {
    if (replica == nullptr || missing.erase(replica->backend->address) > 0) continue;
    const pick::Slot slot = replica->backend->slot;
    log_.info("back end removed", {{"backend", replica->backend->name}});
    replica->group.cancel(rt::CancelReason::kShutdown);
    // Free slots are counted neither as unready nor as returning.
    columns_.set_health(slot, pick::Health::kReady);
    columns_.set_share(slot, 1);
    ejections_.remove(slot);
    gone.push_back(slot);
    leaving_.push_back({slot, replica->backend, std::move(replica)});
  }
  index_.retire(gone);
  reclaim();
  for (auto& [address, backend] : missing) add(std::move(backend));
  if (!gone.empty() || !missing.empty()) publish();
}

void BackendControl::add(Backend backend) {
  const auto free = std::find(slot_taken_.begin(), slot_taken_.end(), false);
  if (free == slot_taken_.end()) {
    ++refused_total_;
    log_.error("no slot is free for a back end",
               {{"backend", backend.name}, {"slots", slot_taken_.size()}});
    return;
  }
  *free = true;
  const auto slot = static_cast<pick::Slot>(free - slot_taken_.begin());
  backend.slot = slot;
  std::vector<pick::Slot> peers;
  for (const auto& replica : by_slot_) {
    if (replica != nullptr) peers.push_back(replica->backend->slot);
  }
  columns_.open(slot, peers, base::hash64(net::to_string(backend.address)));
  columns_.set_health(slot, pick::Health::kSuspect);
  Inbox::Failures& failures = inbox_->failures[slot];
  failures.connect = failures.bad = failures.broken = 0;
  ejections_.add(slot, good_answers(slot));
  log_.info("back end added", {{"backend", backend.name}});
  by_slot_[slot] = std::make_unique<Replica>(
      *scope_, std::make_shared<const Backend>(std::move(backend)), *this);
  by_slot_[slot]->group.spawn(by_slot_[slot]->scraper.run());
}

void BackendControl::reclaim() {
  std::vector<pick::Slot> free;
  std::erase_if(leaving_, [&](Leaving& leaving) {
    if (leaving.replica != nullptr && leaving.replica->group.running() == 0) {
      leaving.replica.reset();
    }
    const bool unused = leaving.replica == nullptr && leaving.backend.expired() &&
                        columns_.in_flight(leaving.slot) == 0;
    if (unused) free.push_back(leaving.slot);
    return unused;
  });
  // Once more: shards may have recorded prompts until they had the new snapshot.
  index_.retire(free);
  for (const pick::Slot slot : free) slot_taken_[slot] = false;
}

bool BackendControl::settled() const {
  if (!resolved_once_) return false;
  return std::all_of(by_slot_.begin(), by_slot_.end(), [&](const auto& replica) {
    return replica == nullptr || replica->models.has_value() ||
           now() - replica->added >= options_.models_wait;
  });
}

void BackendControl::publish() {
  std::vector<pick::Table::Replica> rows;
  std::vector<const std::vector<ListedModel>*> lists;
  for (const auto& replica : by_slot_) {
    if (replica == nullptr || !replica->models) continue;
    pick::Table::Replica& row = rows.emplace_back();
    row.slot = replica->backend->slot;
    for (const ListedModel& model : *replica->models) row.models.push_back(model.id);
    lists.push_back(&*replica->models);
  }
  auto snapshot = std::make_shared<Snapshot>(rows);
  snapshot->by_slot.resize(by_slot_.size());
  for (size_t slot = 0; slot < by_slot_.size(); ++slot) {
    if (by_slot_[slot] != nullptr) snapshot->by_slot[slot] = by_slot_[slot]->backend;
  }
  std::vector<Pool> pools;
  for (const auto& [name, model] : snapshot->table.models()) pools.push_back(model.slots);
  ejections_.set_pools(std::move(pools));
  snapshot->models_json = merge_models(lists);
  snapshot->settled = published_settled_ = settled();
  for (ShardControl* shard : shards_) shard->install(snapshot);
}

// Health

void BackendControl::probed(pick::Slot slot) {
  if (by_slot_[slot] != nullptr) judge(*by_slot_[slot], {});
}

void BackendControl::listed(pick::Slot slot, std::vector<ListedModel> models) {
  Replica* replica = by_slot_[slot].get();
  if (replica == nullptr) return;
  if (replica->models && same_ids(*replica->models, models)) return;
  log_.info("back end lists models", {{"backend", replica->backend->name},
                                      {"count", models.size()},
                                      {"first", models.empty() ? "" : models[0].id}});
  replica->models = std::move(models);
  publish();
}

rt::Task<void> BackendControl::judge_all() {
  for (;;) {
    for (const auto& replica : by_slot_) {
      if (replica != nullptr) judge(*replica, {});
    }
    ejections_.compare(now());
    for (const auto& replica : by_slot_) {
      if (replica != nullptr) show(*replica);
    }
    reclaim();
    if (settled() != published_settled_) publish();
    const base::TimePoint next = base::after(now(), options_.judge_interval);
    if (co_await rt::sleep_until(next) == rt::WaitStatus::kCancelled) co_return;
  }
}

uint64_t BackendControl::good_answers(pick::Slot slot) const {
  uint64_t sum = 0;
  for (const ShardControl* shard : shards_) sum += shard->traffic().answers(slot);
  return sum;
}

void BackendControl::judge(Replica& replica, const Answers& failed) {
  const pick::Slot slot = replica.backend->slot;
  for (const ShardControl* shard : shards_) {
    replica.health.heard(shard->traffic().last_heard(slot));
  }
  const ReplicaHealth::Verdict verdict = replica.health.judge(now());
  ejections_.set_fit(slot, verdict.health == pick::Health::kReady);
  if (verdict.back) ejections_.returned(slot, now());
  if (verdict.restarted) {
    ejections_.restarted(slot, now());
    index_.retire(std::array{slot});
    replica.scraper.list_models_again();
  }
  ejections_.note(slot, failed, good_answers(slot), now());
  show(replica);
  if (verdict.evacuate) {
    for (ShardControl* shard : shards_) shard->evacuate(slot);
  }
}

// Writes to the columns what picks are to see of it.
void BackendControl::show(const Replica& replica) {
  const pick::Slot slot = replica.backend->slot;
  columns_.set_share(slot, static_cast<float>(ejections_.share(slot, now())));
  const pick::Health before = columns_.health(slot);
  pick::Health health = replica.health.health();
  if (health == pick::Health::kReady && ejections_.ejected(slot)) health = pick::Health::kEjected;
  if (health == before) return;
  columns_.set_health(slot, health);
  const bool bad = health == pick::Health::kDown || health == pick::Health::kEjected;
  log_.log(bad ? obs::LogLevel::kWarn : obs::LogLevel::kInfo, "back end health",
           {{"backend", replica.backend->name},
            {"from", name_of(before)},
            {"to", name_of(health)},
            {"breaker", to_string(ejections_.breaker(slot).state())}});
}

void BackendControl::report(pick::Slot slot, FailureKind kind) {
  Inbox::Failures& failures = inbox_->failures[slot];
  const bool broken = kind == FailureKind::kBrokenOff;
  (broken ? failures.broken : failures.bad).fetch_add(1, std::memory_order_relaxed);
  if (kind == FailureKind::kConnect) failures.connect.fetch_add(1, std::memory_order_relaxed);
  if (inbox_->posted.exchange(true, std::memory_order_acq_rel)) return;
  network_.loop().post([inbox = inbox_] {
    inbox->posted.store(false, std::memory_order_release);
    if (inbox->owner != nullptr) inbox->owner->take_reports();
  });
}

void BackendControl::take_reports() {
  for (const auto& replica : by_slot_) {
    if (replica == nullptr) continue;
    Inbox::Failures& failures = inbox_->failures[replica->backend->slot];
    const uint32_t connect = failures.connect.exchange(0);
    const Answers failed{.bad = failures.bad.exchange(0), .broken = failures.broken.exchange(0)};
    if (failed.bad + failed.broken == 0) continue;
    if (connect > 0) replica->health.connect_failed();
    judge(*replica, failed);
    // Ask it at once what is the matter: the next request should not have to find out.
    replica->scraper.hurry();
  }
}

std::vector<std::string> BackendControl::models(pick::Slot slot) const {
  std::vector<std::string> ids;
  const Replica* replica = by_slot_[slot].get();
  if (replica == nullptr || !replica->models) return ids;
  for (const ListedModel& model : *replica->models) ids.push_back(model.id);
  return ids;
}

std::vector<BackendStatus> BackendControl::status() const {
  std::vector<BackendStatus> out;
  for (const auto& replica : by_slot_) {
    if (replica == nullptr) continue;
    BackendStatus& status = out.emplace_back();
    status.name = replica->backend->name;
    status.address = replica->backend->address;
    status.slot = replica->backend->slot;
    status.health = columns_.health(status.slot);
    status.breaker = ejections_.breaker(status.slot).state();
    for (size_t i = 0; i < kEjectReasons; ++i) {
      status.ejections[i] = ejections_.breaker(status.slot).opened(static_cast<EjectReason>(i));
    }
    status.spared = ejections_.spared(status.slot);
    status.share = static_cast<double>(columns_.share(status.slot));
    status.models = replica->models ? replica->models->size() : 0;
    if (const auto changed = replica->scraper.metrics_changed()) {
      status.metrics_age = now() - *changed;
    }
  }
  return out;
}

}  // namespace fairlead::router
