#include "kube/expectations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/informer.h"
#include "kube/testing/kube_world.h"
#include "kube/work_queue.h"

namespace fairlead::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const base::TimePoint kNow{seconds(1000)};

TEST(Expectations, AreMetOnceEverythingWasSeen) {
  Expectations expectations;
  EXPECT_TRUE(expectations.met("o", kNow));
  expectations.created("o", "a", kNow);
  expectations.created("o", "b", kNow);
  expectations.deleted("o", "uid", kNow);
  EXPECT_FALSE(expectations.met("o", kNow));
  expectations.saw_created("o", "a");
  expectations.saw_created("o", "a");
  expectations.saw_created("other", "b");
  expectations.saw_deleted("o", "uid");
  EXPECT_FALSE(expectations.met("o", kNow));
  expectations.saw_created("o", "b");
  EXPECT_TRUE(expectations.met("o", kNow));
  EXPECT_EQ(expectations.owners(), 0u);
}

TEST(Expectations, AreGivenUpAfterTheirTime) {
  Expectations expectations;
  expectations.created("o", "a", kNow);
  EXPECT_FALSE(expectations.met("o", kNow + kExpectationTime - milliseconds(1)));
  EXPECT_TRUE(expectations.met("o", kNow + kExpectationTime));
  expectations.created("o", "a", kNow);
  expectations.forget("o");
  EXPECT_TRUE(expectations.met("o", kNow));
}

// A controller that makes what its cache lacks of three pods.
struct Maker final : InformerHandler {
  enum class Waits : uint8_t { kNo, kYes };
  Maker(Client& c, Waits w) : client(c), waits(w) { pods.add_handler(*this); }

  rt::Task<void> handle(const Notification& n) override {
    if (n.change == Change::kAdded) expectations.saw_created("owner", n.object->name());
    queue.add("owner");
    co_return;
  }
  rt::Task<void> work() {
    while (true) {
      const std::optional<std::string> key = co_await queue.get();
      if (!key) co_return;
      co_await make_up(*key);
      queue.done(*key);
    }
  }
  rt::Task<void> make_up(std::string owner) {
    if (waits == Waits::kYes && !expectations.met(owner, client.loop().now())) co_return;
    for (size_t have = pods.store().objects().size(); have < 3; ++have) {
      const std::string name = fmt::format("p{}", ++made);
      const std::string json =
          fmt::format(R"({{"metadata":{{"name":"{}","namespace":"s"}}}})", name);
      expectations.created(owner, name, client.loop().now());
      const base::Result<ObjectPtr> created = co_await client.create({kTestPods, "s"}, json, {});
      if (!created) expectations.saw_created(owner, name);
    }
  }

  Client& client;
  Waits waits;
  Informer pods{client, kTestPods, {.seed = 1}};
  WorkQueue queue{client.loop(), {}};
  Expectations expectations;
  int made = 0;
};

struct StaleCache : KubeWorld {
  rt::TaskGroup group{loop};

  ~StaleCache() override {
    group.cancel(rt::CancelReason::kShutdown);
    pass(seconds(1));
  }
  // Asked for again and again while its cache does not see what it makes.
  void run_stale(Maker& maker) {
    group.spawn(maker.pods.run());
    group.spawn(maker.work());
    pass(milliseconds(100));
    api.mute(true);
    for (int i = 0; i < 5; ++i) {
      maker.queue.add("owner");
      pass(milliseconds(100));
    }
    api.mute(false);
    api.bookmark();
    pass(seconds(1));
  }
};

TEST_F(StaleCache, WithoutExpectationsTooMuchIsMade) {
  Maker maker(client, Maker::Waits::kNo);
  run_stale(maker);
  EXPECT_EQ(maker.made, 15);
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(1));
}

TEST_F(StaleCache, WithThemEachIsMadeOnceAndWhatIsLostIsMadeAgain) {
  Maker maker(client, Maker::Waits::kYes);
  run_stale(maker);
  EXPECT_EQ(maker.made, 3);
  api.fail_next(500, "", "InternalError");
  api.erase("s", "p2");
  pass(seconds(1));
  EXPECT_EQ(maker.made, 4) << "a write that failed is not waited for";
  maker.queue.add("owner");
  pass(seconds(1));
  EXPECT_EQ(maker.made, 5);
  EXPECT_EQ(maker.pods.store().objects().size(), 3u);
  group.cancel(rt::CancelReason::kShutdown);
  pass(seconds(1));
}

}  // namespace
}  // namespace fairlead::kube
