#include "engine_model/block_pool.h"

#include <bit>

#include "base/check.h"

namespace fairlead::engine_model {

BlockPool::BlockPool(uint32_t block_count, EventLog* log)
    : blocks_(block_count), index_(std::bit_ceil(size_t{block_count} * 2)), log_(log) {
  CHECK(block_count >= 2, "a pool needs the placeholder and at least one block");
  mask_ = index_.size() - 1;
  for (BlockId id = 1; id < block_count; ++id) push_free(id);
}

void BlockPool::push_free(BlockId id) {
  const BlockId last = blocks_[0].previous;
  blocks_[id].previous = last;
  blocks_[id].next = 0;
  blocks_[last].next = id;
  blocks_[0].previous = id;
  ++free_count_;
}

void BlockPool::unlink(BlockId id) {
  Block& b = blocks_[id];
  blocks_[b.previous].next = b.next;
  blocks_[b.next].previous = b.previous;
  --free_count_;
}

BlockId BlockPool::find(uint64_t hash) const {
  for (size_t i = home(hash);; i = (i + 1) & mask_) {
    const Entry& e = index_[i];
    if (e.block == 0) return 0;
    if (e.hash == hash) return e.block;
  }
}

void BlockPool::retain(BlockId id) {
  if (blocks_[id].refs++ == 0) unlink(id);
}

BlockId BlockPool::take() {
  const BlockId id = blocks_[0].next;
  CHECK(id != 0, "take() from a pool without free blocks");
  Block& b = blocks_[id];
  unlink(id);
  b.refs = 1;
  if (b.cached) {
    erase_from_index(id);
    b.cached = false;
    if (log_ != nullptr) log_->removed(b.hash);
  }
  return id;
}

void BlockPool::cache(BlockId id, uint64_t hash) {
  Block& b = blocks_[id];
  DCHECK(b.refs > 0 && !b.cached);
  b.hash = hash;
  b.cached = true;
  size_t i = home(hash);
  while (index_[i].block != 0) i = (i + 1) & mask_;
  index_[i] = Entry{hash, id};
}

void BlockPool::erase_from_index(BlockId id) {
  size_t hole = home(blocks_[id].hash);
  while (index_[hole].block != id) hole = (hole + 1) & mask_;
  // Close the gap: move back each later entry whose home does not lie behind the hole.
  for (size_t i = (hole + 1) & mask_; index_[i].block != 0; i = (i + 1) & mask_) {
    const size_t distance_from_home = (i - home(index_[i].hash)) & mask_;
    const size_t distance_from_hole = (i - hole) & mask_;
    if (distance_from_home >= distance_from_hole) {
      index_[hole] = index_[i];
      hole = i;
    }
  }
  index_[hole] = Entry{};
}

void BlockPool::release_all(std::span<const BlockId> blocks) {
  for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {
    DCHECK(blocks_[*it].refs > 0);
    if (--blocks_[*it].refs == 0) push_free(*it);
  }
}

bool BlockPool::reset() {
  if (used_count() != 0) return false;
  for (Block& b : blocks_) b.cached = false;
  index_.assign(index_.size(), Entry{});
  if (log_ != nullptr) log_->cleared();
  return true;
}

}  // namespace fairlead::engine_model
