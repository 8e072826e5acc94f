#include "kube/informer.h"

#include <gtest/gtest.h>

#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Hears everything, at its own speed, and refuses an illegal story.
struct Listener final : InformerHandler {
  base::Nanos each{0};
  std::vector<std::string> story;
  std::map<std::string, ObjectPtr> seen;

  rt::Task<void> handle(const Notification& n) override {
    const std::string key = n.object->key();
    switch (n.change) {
      case Change::kAdded:
        story.push_back("+" + key);
        EXPECT_TRUE(seen.emplace(key, n.object).second) << key;
        break;
      case Change::kUpdated:
        story.push_back("~" + key);
        EXPECT_EQ(seen[key], n.before) << key;
        seen[key] = n.object;
        break;
      case Change::kDeleted:
        story.push_back((n.last_state == LastState::kKnown ? "-" : "?") + key);
        EXPECT_EQ(seen.erase(key), 1u) << key;
        break;
    }
    rt::Scope& scope = co_await rt::current_scope();
    if (each > base::Nanos(0)) co_await rt::sleep_until(scope.loop().now() + each);
  }
};

struct InformerTest : KubeWorld {
  Listener listener;
  InformerOptions options{.page = 2, .seed = 7};
  std::optional<Informer> informer;
  rt::TaskGroup group{loop};

  void start() {
    informer.emplace(client, kTestPods, options);
    informer->add_handler(listener);
    group.spawn(informer->run());
    pass(milliseconds(100));
  }
  ~InformerTest() override {
    group.cancel(rt::CancelReason::kShutdown);
    pass(seconds(1));
  }
  // The cache and what the listener was told are what the server has.
  void expect_current(size_t objects) {
    EXPECT_EQ(informer->store().objects().size(), objects);
    EXPECT_EQ(listener.seen.size(), objects);
    for (const auto& [key, object] : informer->store().objects()) {
      EXPECT_EQ(listener.seen[key], object);
      EXPECT_EQ(object->resource_version(),
                api.stored("pods", key).find("metadata")->find("resourceVersion")->as_string());
    }
  }
};

using Story = std::vector<std::string>;

TEST_F(InformerTest, ListsOnceAndThenFollows) {
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  start();
  EXPECT_TRUE(informer->synced());
  EXPECT_EQ(api.counts.lists, 2);
  api.put("s", "d");
  api.put("s", "a");
  api.erase("s", "b");
  pass(milliseconds(100));
  EXPECT_EQ(listener.story, (Story{"+s/a", "+s/b", "+s/c", "+s/d", "~s/a", "-s/b"}));
  expect_current(3);
  EXPECT_EQ(api.counts.lists, 2);
  EXPECT_EQ(informer->stats().lists, 1u);
  EXPECT_EQ(informer->stats().events, 3u);
}

TEST_F(InformerTest, AWatchThatBreaksIsTakenUpWhereItWas) {
  api.put("s", "a");
  start();
  network.reset_streams(address);
  api.put("s", "b");
  pass(seconds(1));
  expect_current(2);
  EXPECT_EQ(api.counts.lists, 1);
  EXPECT_EQ(informer->stats().watches_failed, 1u);
  EXPECT_EQ(api.requests.back().find("resourceVersion=101") != std::string::npos, true)
      << api.requests.back();
}

TEST_F(InformerTest, AWatchThatEndsInOrderIsTakenUpAtOnce) {
  start();
  pass(seconds(2));
  api.end_watches();
  pass(milliseconds(20));
  EXPECT_EQ(api.counts.watches, 2);
  EXPECT_EQ(informer->stats().watches_failed, 0u);
}

TEST_F(InformerTest, ABookmarkMovesTheVersionOn) {
  api.put("s", "a");
  options.space = "s";
  start();
  for (int i = 0; i < 5; ++i) api.put("other", "x");
  api.bookmark();
  pass(seconds(2));
  EXPECT_EQ(informer->stats().bookmarks, 1u);
  api.compact();
  api.end_watches();
  pass(seconds(1));
  EXPECT_EQ(informer->stats().relists, 0u);
  EXPECT_EQ(api.watching(), 1u);
  EXPECT_EQ(listener.story, (Story{"+s/a"}));
}

TEST_F(InformerTest, AVersionThatIsGoneMakesItListAndFindWhatItMissed) {
  for (const char* name : {"a", "b"}) api.put("s", name);
  start();
  api.mute(true);
  api.erase("s", "a");
  api.put("s", "b");
  api.put("s", "c");
  api.compact();
  api.end_watches();
  pass(milliseconds(1));
  api.mute(false);
  pass(seconds(2));
  EXPECT_EQ(informer->stats().relists, 1u);
  EXPECT_EQ(listener.story, (Story{"+s/a", "+s/b", "?s/a", "~s/b", "+s/c"}));
  expect_current(2);
}

TEST_F(InformerTest, A410AsAnEventOfTheStreamIsTheSame) {
  api.put("s", "a");
  start();
  api.say_to_watches(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}})"
      "\n");
  pass(seconds(1));
  EXPECT_EQ(informer->stats().relists, 1u);
  EXPECT_EQ(informer->stats().lists, 2u);
  EXPECT_EQ(listener.story, (Story{"+s/a"}));
  api.put("s", "b");
  pass(seconds(1));
  expect_current(2);
}

TEST_F(InformerTest, AServerThatForgetsAtOnceIsNotAskedWithoutAPause) {
  start();
  const int lists = api.counts.lists;
  for (int i = 0; i < 10; ++i) {
    api.say_to_watches(
        R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
        "\n");
    pass(milliseconds(20));
  }
  EXPECT_LE(api.counts.lists - lists, 4);
}

TEST_F(InformerTest, ASilentWatchIsTakenForDeadAndNothingIsLost) {
  api.put("s", "a");
  start();
  network.freeze(address);
  api.put("s", "b");
  pass(options.silence_max - seconds(1));
  EXPECT_EQ(informer->stats().watches_silent, 0u);
  network.reset_streams(address);
  pass(seconds(5));
  network.thaw(address);
  pass(minutes(2));
  expect_current(2);
  EXPECT_EQ(informer->stats().lists, 1u);
}

TEST_F(InformerTest, WithoutAByteItReconnects) {
  start();
  const int watches = api.counts.watches;
  pass(options.silence_max + seconds(1));
  EXPECT_EQ(informer->stats().watches_silent, 1u);
  EXPECT_EQ(api.counts.watches, watches + 1);
  EXPECT_EQ(api.counts.lists, 1);
}

TEST_F(InformerTest, AServerThatRefusesIsAskedEverMoreSeldom) {
  api.fail_next(403, "", "Forbidden", 1000);
  start();
  pass(minutes(10));
  EXPECT_FALSE(informer->synced());
  ASSERT_TRUE(informer->last_error());
  EXPECT_EQ(informer->last_error()->code(), base::ErrorCode::kPermissionDenied);
  // 200 ms, 400 ms, ... up to 30 s each, less the jitter.
  EXPECT_LT(api.counts.lists, 45);
  EXPECT_GT(api.counts.lists, 20);
}

TEST_F(InformerTest, AWatchThatIsThrottledWaitsAsLongAsTheServerAsks) {
  start();
  pass(seconds(2));
  api.fail_next(429, "Retry-After: 7\r\n", "TooManyRequests");
  api.end_watches();
  pass(milliseconds(6900));
  EXPECT_EQ(api.counts.watches, 2);
  pass(milliseconds(200));
  EXPECT_EQ(api.counts.watches, 3);
  EXPECT_EQ(api.watching(), 1u);
  EXPECT_EQ(api.counts.lists, 1);
}

TEST_F(InformerTest, ThoseThatLoseTheirWatchTogetherDoNotComeBackTogether) {
  start();
  std::list<Informer> others;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    others.emplace_back(client, kTestPods, InformerOptions{.seed = seed});
    group.spawn(others.back().run());
  }
  pass(seconds(1));
  network.reset_streams(address);
  std::set<uint64_t> moments;
  for (uint64_t moment = 0; moment < 300; ++moment) {
    const int before = api.counts.watches;
    pass(milliseconds(1));
    if (api.counts.watches > before) moments.insert(moment);
  }
  EXPECT_EQ(api.watching(), 10u);
  EXPECT_GT(moments.size(), 7u);
  EXPECT_GE(*moments.begin(), 90u) << "none at once";
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(1));
}

TEST_F(InformerTest, StoppedItEndsItsWatchAndTellsNothingMore) {
  listener.each = seconds(10);
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  start();
  EXPECT_EQ(listener.story, (Story{"+s/a"}));
  EXPECT_EQ(api.watching(), 1u);
  group.cancel(rt::CancelReason::kShutdown);
  pass(milliseconds(100));
  EXPECT_EQ(group.running(), 0u);
  EXPECT_EQ(api.watching(), 0u);
  api.put("s", "d");
  pass(minutes(1));
  EXPECT_EQ(listener.story, (Story{"+s/a"}));
  EXPECT_EQ(api.counts.watches, 1);
}

TEST_F(InformerTest, ASlowHandlerHoldsNobodyUp) {
  listener.each = seconds(10);
  api.put("s", "a");
  start();
  for (int i = 0; i < 50; ++i) api.put("s", "a");
  api.put("s", "b");
  pass(milliseconds(100));
  EXPECT_EQ(informer->store().objects().size(), 2u);
  EXPECT_EQ(informer->store().find("s/a")->resource_version(), "151");
  EXPECT_LE(informer->waiting_max(), 2u);
  EXPECT_FALSE(informer->synced());
  pass(minutes(1));
  EXPECT_TRUE(informer->synced());
  expect_current(2);
  EXPECT_EQ(listener.story, (Story{"+s/a", "~s/a", "+s/b"}));
}

TEST_F(InformerTest, AHandlerThatComesLaterIsToldOfAll) {
  api.put("s", "a");
  api.put("s", "b");
  start();
  Listener late;
  informer->add_handler(late);
  api.put("s", "b");
  pass(milliseconds(100));
  EXPECT_EQ(late.seen.size(), 2u);
  EXPECT_EQ(late.seen, listener.seen);
}

// Everything at once, from a seed: the copy ends equal to the server's, and every story is legal.
TEST_F(InformerTest, EndsEqualToTheServerWhateverHappens) {
  options.backoff = {.first = milliseconds(50), .max = milliseconds(400)};
  start();
  base::Random random(20261130);
  std::set<std::string> there;
  for (int step = 0; step < 2000; ++step) {
    const std::string name = std::to_string(random.below(30));
    if (random.below(3) == 0 && there.contains(name)) {
      api.erase("s", name);
      there.erase(name);
    } else {
      api.put("s", name);
      there.insert(name);
    }
    switch (random.below(40)) {
      case 0:
        network.reset_streams(address);
        break;
      case 1:
        api.end_watches();
        break;
      case 2:
        api.compact();
        network.reset_streams(address);
        break;
      case 3:
        api.fail_next(500, "", "InternalError");
        break;
      case 4:
        api.fail_next(429, "Retry-After: 1\r\n", "TooManyRequests");
        break;
      case 5:
        api.bookmark();
        break;
      default:
        break;
    }
    pass(milliseconds(random.below(200)));
  }
  pass(minutes(2));
  expect_current(there.size());
  EXPECT_GT(informer->stats().relists, 3u);
  EXPECT_EQ(informer->stats().lists, informer->stats().relists + 1);
}

}  // namespace
}  // namespace fairlead::kube
