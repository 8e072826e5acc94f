// The KV blocks of one engine: reference counts, the index of cached blocks and the order in which
// free blocks are handed out again. The order is that of vLLM's V1 block pool, checked against a
// recording: a free block keeps its content until it is taken; blocks are taken from the front and
// freed to the back, a request's last block first, so that the tail of a chain is lost before its
// head and what several requests share lives longest.
//
// A hash may name several blocks: a prompt that is cached whole computes its last block again, into
// a second copy. Each copy is evicted, and announced as removed, by itself.
//
// Nothing is allocated after construction but the event log's buffers, which are reused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine_model/event_log.h"

namespace fairlead::engine_model {

using BlockId = uint32_t;

class BlockPool {
 public:
  // Block 0 is never handed out, as in vLLM; block_count >= 2. `log` may be null.
  BlockPool(uint32_t block_count, EventLog* log);

  uint32_t usable() const { return static_cast<uint32_t>(blocks_.size()) - 1; }
  uint32_t free_count() const { return free_count_; }
  uint32_t used_count() const { return usable() - free_count_; }

  // The oldest block cached under `hash`, or 0.
  BlockId find(uint64_t hash) const;
  bool is_free(BlockId id) const { return blocks_[id].refs == 0; }
  // Takes one more reference to a cached block, pulling it out of the free list if it is there.
  void retain(BlockId id);
  // The block that has been free longest, with one reference; what it cached is forgotten. There
  // must be a free one.
  BlockId take();
  // Names a block that is in use and holds a full block of tokens.
  void cache(BlockId id, uint64_t hash);
  // Drops one reference of each, last block first.
  void release_all(std::span<const BlockId> blocks);
  // Forgets all hashes; false, and nothing happens, while a block is in use.
  bool reset();

 private:
  struct Block {
    uint64_t hash = 0;
    uint32_t refs = 0;
    bool cached = false;
    BlockId previous = 0;  // in the free list, circular through block 0
    BlockId next = 0;
  };
  struct Entry {
    uint64_t hash = 0;
    BlockId block = 0;  // 0: empty
  };

  void push_free(BlockId id);
  void unlink(BlockId id);
  size_t home(uint64_t hash) const { return hash & mask_; }
  void erase_from_index(BlockId id);

  std::vector<Block> blocks_;
  // Linear probing at a load of at most one half; entries of one hash stay in order of insertion.
  std::vector<Entry> index_;
  size_t mask_;
  uint32_t free_count_ = 0;
  EventLog* log_;
};

}  // namespace fairlead::engine_model
