// A small world for the tests of this folder: columns, index and a table of one model, "m".
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "base/hash.h"
#include "pick/chooser.h"

namespace fairlead::pick::testing {

using Blocks = std::vector<uint64_t>;

// `count` blocks; the first `shared` are the same for every leaf of a root.
inline Blocks chain(uint64_t root, size_t count, size_t shared = 0, uint64_t leaf = 0) {
  Blocks blocks;
  uint64_t parent = base::mix64(root);
  for (size_t i = 0; i < count; ++i) {
    parent = base::mix64(parent ^ (i < shared ? 0 : base::mix64(leaf + 987'654'321)));
    blocks.push_back(parent);
  }
  return blocks;
}

inline std::vector<Table::Replica> replicas(uint32_t count, const std::string& model = "m") {
  std::vector<Table::Replica> out;
  for (uint32_t slot = 0; slot < count; ++slot) out.push_back({static_cast<Slot>(slot), {model}});
  return out;
}

struct World {
  explicit World(uint32_t slots) : World(replicas(slots), slots) {}
  World(const std::vector<Table::Replica>& table_replicas, uint32_t slots)
      : columns(slots),
        index({.bytes_max = base::Bytes(1 << 20), .slots = slots}),
        table(table_replicas),
        scratch(slots) {
    query.model = table.find("m");
    scratch.candidates.resize(slots);
    std::iota(scratch.candidates.begin(), scratch.candidates.end(), Slot{0});
  }

  // `scorers` as the policy would hand to its picker.
  Context context(std::span<const Scorer* const> scorers = {}) {
    return {query, columns, index, random, scratch, scorers};
  }
  void load(Slot slot, uint32_t requests) {
    for (uint32_t i = 0; i < requests; ++i) columns.begin(slot, 0);
  }
  void hold(Slot slot, const Blocks& blocks) { index.record(index.holder(slot), blocks); }

  Columns columns;
  cache_index::PrefixIndex index;
  Table table;
  Scratch scratch;
  base::Random random{1};
  Query query;
};

}  // namespace fairlead::pick::testing
