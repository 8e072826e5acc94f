#include "kube/client.h"

#include <gtest/gtest.h>

#include "kube/testing/kube_world.h"

namespace fairlead::kube {
namespace {

using base::ErrorCode;
using std::chrono::seconds;

struct ClientTest : KubeWorld {
  template <class T>
  T run(rt::Task<T> task) {
    return loop.block_on(std::move(task));
  }
  Target pod(const std::string& name = "", const std::string& sub = "") {
    return {kTestPods, "s", name, sub};
  }
};

TEST_F(ClientTest, ReadsAndWritesOneObject) {
  const auto made = run(
      client.create(pod(), R"({"metadata":{"name":"a","namespace":"s"}})", {.field_manager = "m"}));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ((*made)->resource_version(), "101");
  EXPECT_EQ(api.requests.back(), "POST /api/v1/namespaces/s/pods?fieldManager=m");
  const auto patched = run(
      client.patch(pod("a", "status"), PatchKind::kMerge, R"({"status":{"phase":"Running"}})", {}));
  ASSERT_TRUE(patched);
  EXPECT_EQ(api.requests.back(), "PATCH /api/v1/namespaces/s/pods/a/status");
  const auto got = run(client.get(pod("a")));
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)->tree()->find("status")->find("phase")->as_string(), "Running");
  const auto replaced = run(client.update(pod("a"), std::string((*got)->json()), {}));
  ASSERT_TRUE(replaced);
  const auto stale = run(client.update(pod("a"), std::string((*got)->json()), {}));
  EXPECT_EQ(stale.error().code(), ErrorCode::kConflict);
  const auto again = run(client.create(pod(), R"({"metadata":{"name":"a","namespace":"s"}})", {}));
  EXPECT_EQ(again.error().code(), ErrorCode::kAlreadyExists);
}

TEST_F(ClientTest, DeletesWithPreconditionsAndPropagation) {
  api.put("s", "a");
  const auto other = run(client.remove(pod("a"), {.uid = "other"}));
  EXPECT_EQ(other.error().code(), ErrorCode::kConflict);
  const auto removed = run(client.remove(
      pod("a"), {.uid = "uid-1", .propagation = Propagation::kForeground, .grace_seconds = 0}));
  ASSERT_TRUE(removed) << removed.error().describe();
  EXPECT_EQ(api.last_body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"uid-1"},)"
            R"("propagationPolicy":"Foreground","gracePeriodSeconds":0})");
  EXPECT_EQ(run(client.remove(pod("a"), {})).error().code(), ErrorCode::kNotFound);
  const size_t asked = api.requests.size();
  EXPECT_EQ(run(client.remove(pod(), {})).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(api.requests.size(), asked) << "it would be all pods of the namespace";
}

TEST_F(ClientTest, ForcesAnApplyAndTriesWithoutEffect) {
  api.put("s", "a");
  const auto applied = run(client.patch(pod("a"), PatchKind::kApply, "{}",
                                        {.field_manager = "m&n",
                                         .force = WriteOptions::Force::kYes,
                                         .effect = WriteOptions::Effect::kDryRun}));
  ASSERT_TRUE(applied);
  EXPECT_EQ(api.requests.back(),
            "PATCH /api/v1/namespaces/s/pods/a?fieldManager=m%26n&force=true&dryRun=All");
}

TEST_F(ClientTest, ListsPageByPage) {
  for (const char* name : {"a", "b", "c", "d", "e"}) api.put("s", name);
  const auto all = run(client.list_all(pod(), {.selection = {.labels = "x=y"}, .limit = 2}));
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_EQ(all->items.size(), 5u);
  EXPECT_EQ(all->resource_version, "105");
  EXPECT_EQ(api.counts.lists, 3);
  EXPECT_EQ(api.requests[0], "GET /api/v1/namespaces/s/pods?labelSelector=x%3Dy&limit=2");
}

TEST_F(ClientTest, AListThatWasRefusedAtFirstIsWhole) {
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  api.fail_next(429, "Retry-After: 3\r\n", "TooManyRequests", 2);
  const auto all = run(client.list_all(pod(), {.limit = 2}));
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_EQ(all->items.size(), 3u);
  api.fail_next(403, "", "Forbidden");
  EXPECT_EQ(run(client.list(pod(), {})).error().code(), ErrorCode::kPermissionDenied);
}

TEST_F(ClientTest, AListHasABound) {
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  const auto body = run(client.get_raw("/api/v1/namespaces/s/pods"));
  ASSERT_TRUE(body);
  Client exact(network, access(), {.answer_bytes_max = base::Bytes(body->size())});
  EXPECT_EQ(run(exact.list(pod(), {.limit = 0}))->items.size(), 3u);
  Client less(network, access(), {.answer_bytes_max = base::Bytes(body->size() - 1)});
  EXPECT_EQ(run(less.list(pod(), {.limit = 0})).error().code(), ErrorCode::kProtocol);
}

// Forgets its continue tokens once it has answered the first page.
rt::Task<base::Result<ListPage>> list_over_compaction(Client& client, FakeApi& api, Target target) {
  base::Result<ListPage> page = co_await client.list(target, {.limit = 2});
  if (!page) co_return page.error();
  api.compact();
  co_return co_await client.list_all(target, {.limit = 2, .continue_token = page->continue_token});
}

TEST_F(ClientTest, AnExpiredContinueTokenMakesItOneLargeRequest) {
  for (const char* name : {"a", "b", "c"}) api.put("s", name);
  const auto all = run(list_over_compaction(client, api, pod()));
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_EQ(all->items.size(), 3u);
  EXPECT_EQ(api.counts.lists, 3);
  EXPECT_EQ(api.requests.back(), "GET /api/v1/namespaces/s/pods");
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
  api.put("s", "a");
  api.fail_next(429, "Retry-After: 3\r\n", "TooManyRequests", 2);
  const base::TimePoint begun = loop.now();
  EXPECT_TRUE(run(client.get(pod("a"))));
  EXPECT_GE(loop.now() - begun, seconds(6));
  EXPECT_LT(loop.now() - begun, seconds(7));
  EXPECT_EQ(client.stats().throttled, 2u);
}

TEST_F(ClientTest, GivesUpAfterItsAttempts) {
  api.fail_next(503, "Retry-After: 1\r\n", "ServiceUnavailable", 10);
  const auto failed = run(client.get(pod("a")));
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(api.requests.size(), 10u);
}

TEST_F(ClientTest, AWriteIsNotRepeatedUnlessTheServerHasNotCarriedItOut) {
  const std::string body = R"({"metadata":{"name":"a","namespace":"s"}})";
  api.fail_next(504, "Retry-After: 1\r\n", "Timeout");
  EXPECT_FALSE(run(client.create(pod(), body, {})));
  EXPECT_EQ(api.requests.size(), 1u);
  api.fail_next(429, "", "TooManyRequests");
  const auto unasked = run(client.create(pod(), body, {}));
  EXPECT_EQ(unasked.error().code(), ErrorCode::kResourceExhausted);
  api.fail_next(429, "Retry-After: 1\r\n", "TooManyRequests");
  EXPECT_TRUE(run(client.create(pod(), body, {})));
}

TEST_F(ClientTest, AReadSurvivesAClosedIdleConnection) {
  api.put("s", "a");
  EXPECT_TRUE(run(client.get(pod("a"))));
  network.reset_streams(address);
  EXPECT_TRUE(run(client.get(pod("a"))));
}

TEST_F(ClientTest, ASilentServerIsGivenUp) {
  network.freeze(address);
  const base::TimePoint begun = loop.now();
  const auto failed = run(client.get(pod("a")));
  ASSERT_FALSE(failed);
  EXPECT_LE(loop.now() - begun, seconds(33));
}

TEST_F(ClientTest, CredentialsGoWithEachRequest) {
  Access with_token = access();
  with_token.token.data = "t";
  Client other(network, with_token, {});
  api.expected_authorization = "Bearer t";
  EXPECT_EQ(run(other.get(pod("a"))).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(run(client.get(pod("a"))).error().code(), ErrorCode::kUnauthenticated);
}

struct Refuses final : WriteGuard {
  bool may_write(base::TimePoint) const override { return false; }
};

TEST_F(ClientTest, AGuardStopsWritesAndNotReads) {
  api.put("s", "a");
  const Refuses refuses;
  Client guarded(network, access(), {}, &refuses);
  EXPECT_TRUE(run(guarded.get(pod("a"))));
  const auto refused = run(guarded.remove(pod("a"), {}));
  EXPECT_EQ(refused.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(api.counts.writes, 0);
}

}  // namespace
}  // namespace fairlead::kube
