// An informer behind a proxy that cuts, delays and splits, over restarts of the API server.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "chaos_proxy.h"
#include "control_plane.h"
#include "kube/informer.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

constexpr int kObjects = 10'000;
constexpr int kWriters = 16;
constexpr std::chrono::minutes kTime{15};

// Checks that each object's story is legal: added once, updated in order, deleted once at most.
struct Listener final : InformerHandler {
  explicit Listener(base::Nanos pause) : each(pause) {}
  base::Nanos each;
  std::map<std::string, ObjectPtr> seen;
  std::set<std::string, std::less<>> uids;  // of all that were ever added
  size_t told = 0;
  size_t missed = 0;  // deletions that were found by a list
  size_t illegal = 0;

  // Of etcd: greater with each write. Informers do not know that.
  static uint64_t version(const ObjectPtr& object) {
    return std::stoull(std::string(object->resource_version()));
  }
  bool tell(const Notification& n) {
    const std::string key = n.object->key();
    const auto known = seen.find(key);
    if (n.change == Change::kAdded) {
      return seen.emplace(key, n.object).second && uids.emplace(n.object->uid()).second;
    }
    if (known == seen.end() || known->second->uid() != n.object->uid()) return false;
    const ObjectPtr before = known->second;
    if (n.change == Change::kDeleted) {
      missed += n.last_state == LastState::kMissed;
      seen.erase(known);
      return version(n.object) >= version(before);
    }
    known->second = n.object;
    return before == n.before && version(n.object) > version(before);
  }
  rt::Task<void> handle(const Notification& n) override {
    ++told;
    illegal += !tell(n);
    if (each == base::Nanos(0)) co_return;
    rt::Scope& scope = co_await rt::current_scope();
    co_await rt::sleep_until(scope.loop().now() + each);
  }
};

struct RealApiChaos : RealApi {
  // Creates its share of the objects, and for each changes or deletes one of those that are there.
  static rt::Task<void> change(Client& client, std::string space, int share, int* changes) {
    base::Random random(static_cast<uint64_t>(share) + 1);
    for (int i = share; i < kObjects; i += kWriters) {
      const std::string name = fmt::format("o{}", i);
      const bool created =
          co_await again(client, {kConfigMaps, space}, "POST", config_map(name, "0"));
      *changes += created;
      const auto other = random.below(static_cast<uint64_t>(i) + 1);
      const Target target{kConfigMaps, space, fmt::format("o{}", other)};
      const bool deletes = random.below(4) == 0;
      const bool changed = co_await again(client, target, deletes ? "DELETE" : "PATCH",
                                          fmt::format(R"({{"data":{{"n":"{}"}}}})", i));
      *changes += changed;
    }
  }
  // Asks again while the server restarts. False if there is no such object, or one already.
  static rt::Task<bool> again(Client& client, Target target, std::string_view method,
                              std::string json) {
    for (int tries = 0; tries < 1000; ++tries) {
      base::Result<> done;
      if (method == "DELETE") {
        done = co_await client.remove(target, {});
      } else {
        base::Result<ObjectPtr> written = base::invalid_argument("not written");
        if (method == "POST") written = co_await client.create(target, json, {});
        if (method == "PATCH") written = co_await client.patch(target, PatchKind::kMerge, json, {});
        if (!written) done = written.error();
      }
      if (done) co_return true;
      const base::ErrorCode code = done.error().code();
      if (code == base::ErrorCode::kNotFound || code == base::ErrorCode::kAlreadyExists) break;
      co_await rt::sleep_until(client.loop().now() + std::chrono::milliseconds(100));
    }
    co_return false;
  }
};

bool equal(const Store& store, const ListPage& truth) {
  return store.objects().size() == truth.items.size() &&
         std::ranges::all_of(truth.items, [&](const ObjectPtr& object) {
           const ObjectPtr held = store.find(object->key());
           return held != nullptr && held->resource_version() == object->resource_version();
         });
}

// What the server has at the end.
rt::Task<base::Result<ListPage>> run_chaos(rt::Loop& loop, ControlPlane& plane, Client& writer,
                                           std::string space, Informer& informer, ChaosProxy& proxy,
                                           int& changes) {
  rt::TaskGroup group(loop);
  group.spawn(informer.run());
  rt::TaskGroup writers(loop);
  for (int i = 0; i < kWriters; ++i)
    writers.spawn(RealApiChaos::change(writer, space, i, &changes));
  for (const int at : {kObjects / 2, kObjects * 3 / 2}) {
    const int before = plane.restarts();
    auto reached = [&] { return changes >= at; };
    const bool in_time = co_await eventually(loop, reached, kTime);
    EXPECT_TRUE(in_time) << changes << " changes";
    plane.restart();
    auto back = [&] { return plane.restarts() > before; };
    const bool restarted = co_await eventually(loop, back, kTime);
    EXPECT_TRUE(restarted);
  }
  static_cast<void>(co_await writers.join());
  proxy.calm();
  base::Result<ListPage> truth = co_await writer.list_all({kConfigMaps, space}, {});
  auto ended = [&] {
    return truth && equal(informer.store(), *truth) && informer.waiting_max() == 0;
  };
  const bool same = co_await eventually(loop, ended, std::chrono::minutes(3));
  EXPECT_TRUE(same) << informer.store().objects().size() << " objects in the cache";
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
  co_await proxy.stop();
  co_return std::move(truth);
}

TEST_F(RealApiChaos, TheCacheEndsEqualToTheServersListAndEveryStoryIsLegal) {
  const Access direct = plane.access("admin");
  ChaosProxy proxy(network, *net::parse_address(fmt::format("127.0.0.1:{}", direct.server.port)),
                   {.seed = 7});
  Access through = direct;
  through.server.port = proxy.address().port;
  Client watcher(network, through, {});
  Informer informer(watcher, kConfigMaps, {.space = space, .seed = 3});
  Listener quick(base::Nanos(0));
  Listener slow(std::chrono::milliseconds(2));
  for (Listener* listener : {&quick, &slow}) informer.add_handler(*listener);
  int changes = 0;
  const auto truth = run(run_chaos(loop, plane, client, space, informer, proxy, changes));
  ASSERT_TRUE(truth) << truth.error().describe();
  EXPECT_GE(changes, kObjects * 3 / 2);
  for (const ObjectPtr& object : truth->items) {
    const ObjectPtr held = informer.store().find(object->key());
    ASSERT_NE(held, nullptr) << object->key();
    EXPECT_EQ(*held->tree()->find("data"), *object->tree()->find("data")) << object->key();
  }
  for (const Listener* listener : {&quick, &slow}) {
    EXPECT_EQ(listener->illegal, 0u);
    EXPECT_TRUE(std::ranges::equal(listener->seen, informer.store().objects()));
  }
  EXPECT_LE(slow.told, quick.told) << "what it could not take in time is merged";
  const InformerStats& stats = informer.stats();
  EXPECT_EQ(stats.lists, 1 + stats.relists)
      << "a list only at first and for a version that is gone";
  EXPECT_LE(stats.relists, 2u) << "at most one a restart";
  const uint64_t pages = 1 + kObjects / InformerOptions{}.page;
  EXPECT_GE(watcher.stats().lists, stats.lists);
  EXPECT_LE(watcher.stats().lists, (stats.lists + stats.lists_failed) * pages);
  EXPECT_GT(stats.watches_failed, 0u);
  EXPECT_GT(proxy.cuts(), 0u);
  EXPECT_GT(proxy.delays(), 0u);
  EXPECT_GT(proxy.splits(), 0u);
  fmt::print(
      "{} changes, {} objects at the end; {} cuts, {} delays, {} splits; {} watches ({} failed), "
      "{} "
      "lists of {} requests ({} failed), {} events; {} told, {} to the slow one, {} missed\n",
      changes, truth->items.size(), proxy.cuts(), proxy.delays(), proxy.splits(), stats.watches,
      stats.watches_failed, stats.lists, watcher.stats().lists, stats.lists_failed, stats.events,
      quick.told, slow.told, quick.missed);
}

}  // namespace
}  // namespace fairlead::kube
