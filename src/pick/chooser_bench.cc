#include <benchmark/benchmark.h>

#include <cstdlib>
#include <new>

#include "base/hash.h"
#include "pick/chooser.h"

namespace {
uint64_t allocations = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace fairlead::pick {
namespace {

constexpr uint32_t kBlocks = 128;

// `replicas` replicas of one model, half of them busy, and an index warm with conversations.
class World {
 public:
  World(std::string_view policy, uint32_t replicas)
      : policy_(make_policy(policy)),
        columns_(replicas),
        index_({.slots = replicas}),
        table_(replicas_of(replicas)) {
    base::Random random(1);
    for (uint32_t slot = 0; slot < replicas; ++slot) {
      for (uint64_t n = random.below(8); n > 0; --n) columns_.begin(static_cast<Slot>(slot), 1'000);
      const auto milliseconds = [&](uint64_t max) {
        return base::Nanos(std::chrono::milliseconds(1 + random.below(max)));
      };
      columns_.set_scraped(static_cast<Slot>(slot),
                           {.running = static_cast<uint32_t>(random.below(8)),
                            .kv_usage = static_cast<float>(random.below(100)) / 100,
                            .latency = {.ttft = milliseconds(500), .tpot = milliseconds(40)}},
                           8);
    }
    for (uint64_t i = 0; i < kPrompts; ++i) {
      std::vector<uint64_t>& blocks = prompts_.emplace_back(kBlocks);
      uint64_t parent = base::mix64(i % 64);
      for (uint32_t b = 0; b < kBlocks; ++b) {
        parent = base::mix64(parent ^ (b < kBlocks / 4 ? 0 : base::mix64(i + 1)));
        blocks[b] = parent;
      }
      index_.record(index_.holder(static_cast<Slot>(random.below(replicas))), blocks);
    }
  }

  void run(benchmark::State& state) {
    Chooser chooser(*policy_, columns_, index_);
    base::Random random(2);
    Query query{.model = table_.find("m"),
                .blocks = prompts_[0],
                .prompt_tokens = 2'000,
                .session = base::mix64(17)};
    size_t at = 0;
    const auto pick = [&] {
      // The hashes of a real request have just been computed: a small set stays in the cache.
      query.blocks = prompts_[at++ % 256];
      std::optional<Reservation> reservation = chooser.pick(query, random);
      chooser.finish(*reservation);
    };
    const uint64_t before = allocations;
    for (int i = 0; i < 1'000; ++i) pick();
    if (allocations != before) state.SkipWithError("the pick path allocates");
    for (auto _ : state) pick();
  }

 private:
  static constexpr uint64_t kPrompts = 20'000;

  static std::unique_ptr<const Policy> make_policy(std::string_view name) {
    if (name != "weighted") return std::move(*Policy::make(name, {}));
    const std::vector<std::string> filters{"least-request"};
    return std::move(*Policy::make_weighted(
        filters,
        {.weights = {
             {"least-request", 1}, {"gpu-usage", 1}, {"least-latency", 1}, {"prefix-cache", 1}}}));
  }
  static std::vector<Table::Replica> replicas_of(uint32_t count) {
    std::vector<Table::Replica> replicas;
    for (uint32_t slot = 0; slot < count; ++slot) {
      replicas.push_back({static_cast<Slot>(slot), {"m"}});
    }
    return replicas;
  }

  std::unique_ptr<const Policy> policy_;
  Columns columns_;
  cache_index::PrefixIndex index_;
  Table table_;
  std::vector<std::vector<uint64_t>> prompts_;
};

void BM_Pick(benchmark::State& state, const char* policy) {
  World(policy, static_cast<uint32_t>(state.range(0))).run(state);
}
BENCHMARK_CAPTURE(BM_Pick, expected_ttft, "expected-ttft")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, prefix_cache, "prefix-cache")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, least_request, "least-request")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, round_robin, "round-robin")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, random, "random")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, power_of_two, "power-of-two")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, session_affinity, "session-affinity")->Arg(4)->Arg(1'000);
BENCHMARK_CAPTURE(BM_Pick, weighted, "weighted")->Arg(4)->Arg(1'000);

}  // namespace
}  // namespace fairlead::pick
