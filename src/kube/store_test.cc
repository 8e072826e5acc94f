#include "kube/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "kube/notification.h"

namespace fairlead::kube {
namespace {

ObjectPtr pod(const std::string& name, int version, const std::string& uid = "u",
              const std::string& extra = "") {
  return *Object::parse(fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"s","uid":"{}","resourceVersion":"{}"{}}}}})", name,
      uid, version, extra));
}

using Changes = std::vector<Notification>;

TEST(Store, TellsWhatChanged) {
  Store store;
  Changes changes;
  store.put(pod("a", 1), changes);
  store.put(pod("a", 1), changes);
  store.put(pod("a", 2), changes);
  store.erase(pod("a", 3), changes);
  store.erase(pod("a", 3), changes);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].change, Change::kAdded);
  EXPECT_EQ(changes[1].change, Change::kUpdated);
  EXPECT_EQ(changes[1].before->resource_version(), "1");
  EXPECT_EQ(changes[2].change, Change::kDeleted);
  EXPECT_EQ(changes[2].object->resource_version(), "3");
  EXPECT_EQ(changes[2].last_state, LastState::kKnown);
  EXPECT_EQ(store.text_bytes(), 0u);
}

TEST(Store, AnotherUidIsAnotherObject) {
  Store store;
  Changes changes;
  store.put(pod("a", 1, "u1"), changes);
  store.put(pod("a", 5, "u2"), changes);
  store.erase(pod("a", 4, "u1"), changes);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[1].change, Change::kDeleted);
  EXPECT_EQ(changes[1].last_state, LastState::kMissed);
  EXPECT_EQ(changes[1].object->uid(), "u1");
  EXPECT_EQ(changes[2].change, Change::kAdded);
  EXPECT_EQ(store.find("s/a")->uid(), "u2");
}

TEST(Store, AListSaysWhatWasDeletedUnseen) {
  Store store;
  Changes changes;
  store.replace({pod("a", 1), pod("b", 2), pod("c", 3)}, changes);
  changes.clear();
  store.replace({pod("a", 1), pod("c", 9), pod("d", 8)}, changes);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].object->name(), "b");
  EXPECT_EQ(changes[0].last_state, LastState::kMissed);
  EXPECT_EQ(changes[1].change, Change::kUpdated);
  EXPECT_EQ(changes[2].change, Change::kAdded);
  EXPECT_EQ(store.objects().size(), 3u);
}

TEST(Store, TheLastOfAListThatHasAKeyTwiceStays) {
  for (const char* uid : {"u", "other"}) {
    Store store;
    Changes changes;
    store.replace({pod("b", 1), pod("a", 2), pod("b", 3, uid)}, changes);
    EXPECT_EQ(store.objects().size(), 2u);
    EXPECT_EQ(store.find("s/b")->resource_version(), "3");
    EXPECT_EQ(store.objects().begin()->first, "s/a");
  }
}

TEST(Store, FindsByIndex) {
  Store store;
  store.add_index("app", label_index("app"));
  store.add_index("owner", owner_index());
  Changes changes;
  const std::string web = R"(,"labels":{"app":"web"},"ownerReferences":[{"uid":"o"}])";
  store.put(pod("b", 1, "u", web), changes);
  store.put(pod("a", 2, "u", web), changes);
  store.put(pod("c", 3), changes);
  ASSERT_EQ(store.by_index("app", "web").size(), 2u);
  EXPECT_EQ(store.by_index("app", "web")[0]->name(), "a");
  EXPECT_EQ(store.by_index("owner", "o").size(), 2u);
  store.put(pod("a", 4, "u", R"(,"labels":{"app":"db"})"), changes);
  EXPECT_EQ(store.by_index("app", "web").size(), 1u);
  EXPECT_EQ(store.by_index("app", "db").size(), 1u);
  EXPECT_EQ(store.by_index("owner", "o").size(), 1u);
  store.erase(pod("b", 9), changes);
  EXPECT_TRUE(store.by_index("app", "web").empty());
  EXPECT_TRUE(store.by_index("app", "none").empty());
}

// Plays what a handler was told, and refuses an illegal story.
struct StoreListener {
  std::map<std::string, ObjectPtr> seen;
  void hear(const Notification& n) {
    const std::string key = n.object->key();
    const auto known = seen.find(key);
    switch (n.change) {
      case Change::kAdded:
        ASSERT_EQ(known, seen.end()) << "added twice: " << key;
        seen.emplace(key, n.object);
        break;
      case Change::kUpdated:
        ASSERT_NE(known, seen.end()) << "updated before it was added: " << key;
        ASSERT_EQ(known->second, n.before) << "a step is missing: " << key;
        ASSERT_EQ(n.before->uid(), n.object->uid());
        known->second = n.object;
        break;
      case Change::kDeleted:
        ASSERT_NE(known, seen.end()) << "deleted before it was added: " << key;
        ASSERT_EQ(known->second->uid(), n.object->uid());
        seen.erase(known);
        break;
    }
  }
};

// Random changes and lists, told to a handler that takes them when it likes.
void play(uint64_t seed) {
  base::Random random(seed);
  Store store;
  DeliveryQueue queue;
  StoreListener listener;
  std::map<std::string, ObjectPtr> truth;
  int version = 1;
  int uid = 1;
  for (int step = 0; step < 400; ++step) {
    Changes changes;
    const std::string name(1, static_cast<char>('a' + random.below(5)));
    const std::string key = "s/" + name;
    const uint64_t what = random.below(10);
    if (what < 6) {
      const bool fresh = !truth.contains(key) || random.below(6) == 0;
      const std::string id = fresh ? std::to_string(uid++) : std::string(truth[key]->uid());
      truth[key] = pod(name, version++, id);
      store.put(truth[key], changes);
    } else if (what < 9) {
      if (!truth.contains(key)) continue;
      store.erase(pod(name, version++, std::string(truth[key]->uid())), changes);
      truth.erase(key);
    } else {  // changes that the watch missed, then a list
      if (random.below(2) == 0) truth.erase(key);
      truth["s/z"] = pod("z", version++, std::to_string(uid++));
      std::vector<ObjectPtr> list;
      for (const auto& [k, object] : truth) list.push_back(object);
      store.replace(std::move(list), changes);
    }
    for (const Notification& change : changes) queue.push(change);
    ASSERT_LE(queue.size(), 2 * 6u);
    for (uint64_t n = random.below(4); n > 0; --n) {
      if (const auto next = queue.pop()) listener.hear(*next);
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(store.objects().size(), truth.size());
  }
  while (const auto next = queue.pop()) listener.hear(*next);
  ASSERT_EQ(listener.seen.size(), truth.size());
  size_t bytes = 0;
  for (const auto& [key, object] : truth) {
    ASSERT_EQ(listener.seen.at(key), object);
    bytes += object->json().size();
  }
  ASSERT_EQ(store.text_bytes(), bytes);
}

TEST(Store, HandlersHearALegalStoryHoweverSlowTheyAre) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    play(seed);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

TEST(DeliveryQueue, WhatWasNeverToldIsForgotten) {
  DeliveryQueue queue;
  queue.push({Change::kAdded, pod("a", 1)});
  queue.push({Change::kUpdated, pod("a", 2), pod("a", 1)});
  EXPECT_EQ(queue.size(), 1u);
  queue.push({Change::kDeleted, pod("a", 3)});
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.pop());
}

}  // namespace
}  // namespace fairlead::kube
