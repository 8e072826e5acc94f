// An informer behind a proxy that cuts, delays and splits, over restarts of the API server.
#include <fmt/format.h>

#include <map>

#include "chaos_proxy.h"
#include "control_plane.h"
#include "kube/informer.h"
#include "rt/task_group.h"

namespace fairlead::kube {
namespace {

constexpr int kObjects = 10'000;
constexpr int kWriters = 16;
constexpr std::chrono::minutes kTime{15};

// Checks that each object's story is legal.
struct Listener final : InformerHandler {
  std::map<std::string, ObjectPtr> seen;
  size_t told = 0;
  size_t illegal = 0;
  rt::Task<void> handle(const Notification& n) override {
    ++told;
    const std::string key = n.object->key();
    const auto known = seen.find(key);
    switch (n.change) {
      case Change::kAdded:
        illegal += !seen.emplace(key, n.object).second;
        break;
      case Change::kUpdated:
        illegal += known == seen.end() || known->second != n.before;
        seen[key] = n.object;
        break;
      case Change::kDeleted:
        illegal += seen.erase(key) != 1;
        break;
    }
    co_return;
  }
};

struct RealApiChaos : RealApi {
  // Creates, changes and deletes its share of the objects; asks again while the server restarts.
  static rt::Task<void> change(Client& client, std::string space, int share, int* changes) {
    base::Random random(static_cast<uint64_t>(share) + 1);
    for (int i = share; i < kObjects; i += kWriters) {
      const std::string name = fmt::format("o{}", i);
      co_await again(client, {kConfigMaps, space}, "POST", config_map(name, "0"));
      ++*changes;
      const Target target{kConfigMaps, space, fmt::format("o{}", random.below(kObjects))};
      if (random.below(4) == 0) {
        co_await again(client, target, "DELETE", "");
      } else {
        co_await again(client, target, "PATCH", fmt::format(R"({{"data":{{"n":"{}"}}}})", i));
      }
      ++*changes;
    }
  }
  // Answers of the server that it understood what was asked count as done.
  static rt::Task<void> again(Client& client, Target target, std::string_view method,
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
      if (done) co_return;
      const base::ErrorCode code = done.error().code();
      if (code == base::ErrorCode::kNotFound || code == base::ErrorCode::kAlreadyExists) co_return;
      co_await rt::sleep_until(client.loop().now() + std::chrono::milliseconds(100));
    }
  }
};

rt::Task<bool> run_chaos(rt::Loop& loop, ControlPlane& plane, Client& writer, std::string space,
                         Informer& informer, ChaosProxy& proxy, int& changes) {
  rt::TaskGroup group(loop);
  group.spawn(informer.run());
  rt::TaskGroup writers(loop);
  for (int i = 0; i < kWriters; ++i)
    writers.spawn(RealApiChaos::change(writer, space, i, &changes));
  bool restarted = true;
  for (const int at : {kObjects / 2, kObjects * 3 / 2}) {
    const int before = plane.restarts();
    auto reached = [&] { return changes >= at; };
    restarted = co_await eventually(loop, reached, kTime) && restarted;
    plane.restart();
    auto back = [&] { return plane.restarts() > before; };
    restarted = co_await eventually(loop, back, kTime) && restarted;
  }
  static_cast<void>(co_await writers.join());
  proxy.calm();
  const base::Result<ListPage> truth = co_await writer.list_all({kConfigMaps, space}, {});
  auto equal = [&] {
    const auto& objects = informer.store().objects();
    if (!truth || objects.size() != truth->items.size()) return false;
    for (const ObjectPtr& object : truth->items) {
      const ObjectPtr held = informer.store().find(object->key());
      if (held == nullptr || held->resource_version() != object->resource_version()) return false;
    }
    return true;
  };
  const bool same = co_await eventually(loop, equal, std::chrono::minutes(3));
  co_await rt::sleep_until(loop.now() + std::chrono::milliseconds(200));
  group.cancel(rt::CancelReason::kShutdown);
  static_cast<void>(co_await group.join());
  co_await proxy.stop();
  co_return same&& restarted;
}

TEST_F(RealApiChaos, TheCacheEndsEqualToTheServersListAndEveryStoryIsLegal) {
  const Access direct = plane.access("admin");
  ChaosProxy proxy(network, *net::parse_address(fmt::format("127.0.0.1:{}", direct.server.port)),
                   {.seed = 7});
  Access through = direct;
  through.server.port = proxy.address().port;
  Client watcher(network, through, {});
  Informer informer(watcher, kConfigMaps, {.space = space, .seed = 3});
  Listener listener;
  informer.add_handler(listener);
  int changes = 0;
  EXPECT_TRUE(run(run_chaos(loop, plane, client, space, informer, proxy, changes)));
  EXPECT_EQ(listener.illegal, 0u);
  EXPECT_EQ(listener.seen.size(), informer.store().objects().size());
  for (const auto& [key, object] : informer.store().objects()) {
    EXPECT_EQ(listener.seen[key], object) << key;
  }
  const InformerStats& stats = informer.stats();
  EXPECT_EQ(stats.lists, 1 + stats.relists)
      << "a list only at first and for a version that is gone";
  EXPECT_LE(stats.relists, 2u) << "at most one a restart";
  EXPECT_GT(proxy.cuts(), 0u);
  fmt::print(
      "{} changes, {} objects at the end, {} cuts, {} watches ({} failed), {} lists, {} events\n",
      changes, listener.seen.size(), proxy.cuts(), stats.watches, stats.watches_failed, stats.lists,
      stats.events);
}

}  // namespace
}  // namespace fairlead::kube
