// What the runtime costs: run build/src/rt/rt_bench.
#include <benchmark/benchmark.h>

#include "rt/loop.h"
#include "rt/task_group.h"

namespace fairlead::rt {
namespace {

Task<int> leaf() { co_return 1; }

Task<int> await_many(int64_t n) {
  int total = 0;
  for (int64_t i = 0; i < n; ++i) total += co_await leaf();
  co_return total;
}

void await_a_task(benchmark::State& state) {
  base::ManualClock clock;
  Loop loop(clock);
  for (auto _ : state) {
    benchmark::DoNotOptimize(loop.block_on(await_many(1000)));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(await_a_task);

Task<void> nothing() { co_return; }

Task<void> spawn_many(int64_t n) {
  Scope& scope = co_await current_scope();
  TaskGroup group(scope);
  for (int64_t i = 0; i < n; ++i) group.spawn(nothing());
  const auto joined = co_await group.join();
  benchmark::DoNotOptimize(joined.ok());
}

void spawn_and_join(benchmark::State& state) {
  base::ManualClock clock;
  Loop loop(clock);
  for (auto _ : state) loop.block_on(spawn_many(100));
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(spawn_and_join);

Task<void> sleep_many(Loop& loop, int64_t n) {
  for (int64_t i = 0; i < n; ++i) co_await sleep_until(loop.now() + base::Nanos(1));
}

void virtual_timer_events(benchmark::State& state) {
  base::ManualClock clock;
  Loop loop(clock);
  for (auto _ : state) loop.block_on(sleep_many(loop, 1000));
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(virtual_timer_events);

}  // namespace
}  // namespace fairlead::rt
