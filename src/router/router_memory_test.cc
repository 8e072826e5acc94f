// Memory under prompts, names and users without end: what is kept of them is bounded, and measured.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "base/hash.h"
#include "router/testing/router_world.h"

namespace fairlead::router {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

// Sanitizers have an allocator of their own, which tells mallinfo2() nothing, and take ten times
// the time.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAIRLEAD_SANITIZED 1
#endif
#endif
#ifdef FAIRLEAD_SANITIZED
constexpr bool kMeasures = false;
constexpr size_t kPrompts = 500'000;
constexpr size_t kNames = 5'000;
#else
constexpr bool kMeasures = true;
constexpr size_t kPrompts = 10'000'000;
constexpr size_t kNames = 100'000;
#endif

// Bytes in use on the heap and in mappings of their own.
size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Growth {
 public:
  // In bytes since the start; 0 where it cannot be told.
  size_t now() const {
    const size_t used = heap_bytes();
    return kMeasures && used > before_ ? used - before_ : 0;
  }

 private:
  size_t before_ = heap_bytes();
};

TEST(PrefixIndexMemory, DoesNotGrowWithTenMillionDistinctPrompts) {
  constexpr size_t kBlocks = 4;  // of a prompt
  cache_index::PrefixIndex index({.bytes_max = base::Bytes(4 << 20), .slots = 8});
  const Growth growth;
  std::array<uint64_t, kBlocks> blocks{};
  for (size_t prompt = 0; prompt < kPrompts; ++prompt) {
    for (size_t i = 0; i < kBlocks; ++i) blocks[i] = base::mix64(prompt * kBlocks + i);
    index.record(index.holder(static_cast<cache_index::Slot>(prompt % 8)), blocks);
  }
  EXPECT_EQ(growth.now(), 0U);
  const cache_index::PrefixIndex::Stats stats = index.stats();
  EXPECT_LE(stats.entries * cache_index::PrefixIndex::kWordBytes, 4U << 20);
  EXPECT_LE(stats.entries, stats.entries_max);
  EXPECT_GT(stats.entries, stats.entries_max / 2) << "it is full, so the bound was met";
  EXPECT_GT(stats.evictions, kPrompts);
}

TEST(ShardMetricsMemory, DoesNotGrowWithAHundredThousandModels) {
  obs::Registry registry({.shards = 1, .series_max = 10 * ShardMetrics::kModelsMax});
  RouterMetrics families(registry, "test", "test");
  ShardMetrics metrics(families, 0);
  const auto count = [&](size_t i) {
    metrics.count_end(metrics.model(fmt::format("model-{}", i)),
                      {.path = "/v1/chat/completions", .status = 200});
  };
  for (size_t i = 0; i < ShardMetrics::kModelsMax + 2; ++i) count(i);
  std::string before;
  registry.expose(before);
  const Growth growth;
  for (size_t i = 0; i < kNames; ++i) count(i);
  EXPECT_LT(growth.now(), 64U << 10);
  std::string after;
  registry.expose(after);
  EXPECT_THAT(after, Not(HasSubstr(fmt::format("model-{}\"", kNames - 1))));
  // More digits in numbers, and no line more.
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'),
            std::count(before.begin(), before.end(), '\n'));
}

class RouterMemory : public RouterTest {
 protected:
  // Nothing of what this world itself keeps.
  void forget() {
    replies_.clear();
    access_lines_ = std::string();
    for (FakeEngine& e : engines_) {
      e.seen.clear();
      e.probe_heads.clear();
      e.probe_heads.shrink_to_fit();
    }
  }
  // `make` is asked for each body; so many at a time.
  template <class F>
  void ask_all(size_t count, F make) {
    constexpr size_t kAtATime = 500;
    for (size_t i = 0; i < count; ++i) {
      Ask request = post(make(i));
      request.fields += fmt::format("X-Session-ID: s{0}\r\nX-Request-Id: r{0}\r\n", i);
      send(std::move(request));
      if (i % kAtATime + 1 < kAtATime && i + 1 < count) continue;
      run_for(milliseconds(50));
      ASSERT_EQ(unanswered(), 0U);
      forget();
    }
  }
};

TEST_F(RouterMemory, DoesNotGrowWithNamesOfModelsThatDoNotExist) {
  engine(1);
  start();
  const auto unknown = [](size_t i) {
    return fmt::format(R"({{"model":"m-{}","prompt":"x"}})", i);
  };
  ask_all(1000, unknown);
  const Growth growth;
  ask_all(kNames, unknown);
  EXPECT_LT(growth.now(), 256U << 10);
  EXPECT_EQ(metric(R"(fairlead_requests_total{model="unknown",code="404"})"),
            static_cast<double>(kNames + 1000));
  EXPECT_THAT(router_->exposition(), Not(HasSubstr("m-99")));
}

TEST_F(RouterMemory, DoesNotGrowWithUsersSessionsAndPrompts) {
  engine(1);
  engine(2);
  start({.policy = "session-affinity", .index_bytes_max = base::Bytes(64 << 10)});
  const auto of_a_user = [](size_t i) {
    return chat(fmt::format("prompt {0} {1}", i, std::string(600, 'x')),
                fmt::format(R"("user":"user-{}")", i));
  };
  ask_all(2000, of_a_user);
  const Growth growth;
  ask_all(kNames, of_a_user);
  EXPECT_LT(growth.now(), 256U << 10);
  EXPECT_THAT(router_->exposition(), Not(HasSubstr("user-")));
}

}  // namespace
}  // namespace fairlead::router
