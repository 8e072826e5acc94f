// Right behaviour where other routers went wrong, as far as no other file has it:
// docs/field-lessons.md lists all of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/endpoints.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class RouterLessons : public RouterTest {};

// A path that is only passed through loads an engine as any other does.
TEST_F(RouterLessons, EveryPathCountsInTheLoadOfItsReplica) {
  FakeEngine& a = engine(1);
  a.script = answer(200, "{}");
  a.script.steps[0].wait = seconds(1);
  start();
  const std::string form =
      "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nllama\r\n--x--\r\n";
  double sent = 0;
  for (const char* path :
       {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses",
        "/v1/messages", "/v1/score", "/score", "/v1/rerank", "/v2/rerank", "/rerank", "/tokenize",
        "/detokenize", "/v1/audio/transcriptions", "/v1/audio/translations"}) {
    ASSERT_NE(find_endpoint(path).kind, EndpointKind::kUnknown) << path;
    Ask request = post(chat("hi"));
    request.path = path;
    if (find_endpoint(path).kind == EndpointKind::kMultipart) {
      request.body = form;
      request.fields = "Content-Type: multipart/form-data; boundary=x\r\n";
    }
    send(request);
    run_for(milliseconds(5));
    EXPECT_EQ(metric(R"(fairlead_backend_requests_in_flight{backend="10.0.0.1:8000"})"), ++sent)
        << path;
  }
  run_for(seconds(3));
  EXPECT_EQ(unanswered(), 0U);
}

// More streams than any default of a proxy (1,024) or of a pool, all at one replica.
TEST_F(RouterLessons, TwoThousandStreamsAtOneReplicaMeetNoHiddenLimit) {
  FakeEngine& a = engine(1);
  a.script = events({"a", "b"}, seconds(5));
  start();
  for (int i = 0; i < 2000; ++i) send(post(chat("hi", R"("stream":true)")));
  run_for(seconds(2));
  EXPECT_EQ(a.active(), 2000U);
  run_for(seconds(60));
  EXPECT_EQ(unanswered(), 0U);
  for (const Reply& reply : replies_) ASSERT_TRUE(reply.whole());
}

TEST_F(RouterLessons, EveryBoundOfMemoryIsAMetricBesideWhatIsUsedOfIt) {
  engine(1);
  start();
  const std::string text = router_->exposition();
  struct Pair {
    std::string used, limit;
  };
  for (const Pair& pair : std::vector<Pair>{
           {"fairlead_held_body_bytes", "fairlead_held_body_bytes_limit"},
           {"kthena_router_prefix_cache_entries", "fairlead_prefix_index_entries_limit"}}) {
    EXPECT_THAT(text, HasSubstr("\n" + pair.used + " ")) << pair.used;
    EXPECT_GT(metric(pair.limit), 0) << pair.limit;
  }
}

TEST_F(RouterLessons, APathThatIsNotServedIsNoLabel) {
  engine(1);
  start();
  for (int i = 0; i < 100; ++i) ask(get(fmt::format("/v1/made-up-{}", i)));
  const std::string text = router_->exposition();
  EXPECT_THAT(text, Not(HasSubstr("made-up")));
  EXPECT_THAT(text, HasSubstr("path=\"other\""));
}

}  // namespace
}  // namespace fairlead::router
