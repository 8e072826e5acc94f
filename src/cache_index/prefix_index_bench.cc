#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "cache_index/prefix_hasher.h"
#include "cache_index/prefix_index.h"

namespace fairlead::cache_index {
namespace {

constexpr uint32_t kBlocks = 128;
constexpr uint32_t kSlots = 1'000;

std::vector<uint64_t> prompt(uint64_t group, uint64_t conversation) {
  std::vector<uint64_t> blocks(kBlocks);
  uint64_t parent = base::mix64(group);
  for (uint32_t i = 0; i < kBlocks; ++i) {
    parent = base::mix64(parent ^ (i < kBlocks / 4 ? 0 : base::mix64(conversation + 1)));
    blocks[i] = parent;
  }
  return blocks;
}

// An index full of conversations of 64 groups; asked in random order so that caches do not help.
struct Full {
  Full() {
    base::Random random(1);
    for (uint64_t i = 0; i < 20'000; ++i) {
      prompts.push_back(prompt(i % 64, i));
      index.record(index.holder(static_cast<Slot>(random.below(kSlots))), prompts.back());
    }
  }
  PrefixIndex index{{.bytes_max = base::Bytes(16 << 20), .slots = kSlots}};
  std::vector<std::vector<uint64_t>> prompts;
};

Full& full() {
  static Full full;
  return full;
}

void BM_HashPrompt(benchmark::State& state) {
  PrefixHasher hasher(PrefixHasherOptions{});
  const std::string text(64 * kBlocks, 'x');
  for (auto _ : state) {
    hasher.reset("model", "");
    hasher.add(text);
    benchmark::DoNotOptimize(hasher.blocks().data());
  }
}
BENCHMARK(BM_HashPrompt);

void BM_LookupWarm(benchmark::State& state) {
  Depths depths(kSlots);
  base::Random random(2);
  size_t found = 0;
  for (auto _ : state) {
    full().index.lookup(full().prompts[random.below(full().prompts.size())], depths);
    found += depths.holders().size();
  }
  state.counters["holders"] =
      benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_LookupWarm);

void BM_LookupCold(benchmark::State& state) {
  Depths depths(kSlots);
  std::vector<std::vector<uint64_t>> prompts;
  for (uint64_t i = 0; i < 1'000; ++i) prompts.push_back(prompt(1'000'000 + i, i));
  size_t at = 0;
  for (auto _ : state) full().index.lookup(prompts[at++ % prompts.size()], depths);
}
BENCHMARK(BM_LookupCold);

void BM_RecordAgain(benchmark::State& state) {
  base::Random random(3);
  for (auto _ : state) {
    const uint64_t i = random.below(full().prompts.size());
    full().index.record(full().index.holder(static_cast<Slot>(i % 8)), full().prompts[i]);
  }
}
BENCHMARK(BM_RecordAgain);

void BM_RecordNewAndEvict(benchmark::State& state) {
  std::vector<std::vector<uint64_t>> prompts;
  for (uint64_t i = 0; i < 20'000; ++i) prompts.push_back(prompt(2'000'000 + i, i));
  size_t at = 0;
  for (auto _ : state) {
    full().index.record(full().index.holder(static_cast<Slot>(at % kSlots)),
                        prompts[at % prompts.size()]);
    ++at;
  }
}
BENCHMARK(BM_RecordNewAndEvict);

void BM_Retire(benchmark::State& state) {
  PrefixIndex index({.bytes_max = base::Bytes(16 << 20), .slots = kSlots});
  for (auto _ : state) index.retire(std::array<Slot, 1>{1});
}
BENCHMARK(BM_Retire);

}  // namespace
}  // namespace fairlead::cache_index
