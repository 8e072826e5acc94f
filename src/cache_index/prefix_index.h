// The prefix index: which replicas were sent which leading blocks of which prompts, so that the
// next request with that prefix can go where its KV cache probably lies. It is fed by the router's
// own picks and works with any engine; it is approximate, because what an engine evicted is
// unknown.
//
// Shape. A table of buckets of 16 words, one 64-bit atomic word for each (block, replica) pair:
//   tag of the block's hash (34 bits) | replica slot (14) | slot generation (12) | used (1) | count
//   (3)
// The hash chooses the bucket. A word is read, written and replaced whole, so there are no locks
// and no torn states, and the cost is exactly kWordBytes a pair within a fixed number of bytes. A
// full bucket gives up a word by second chance: `used` is set by every record() and cleared when
// the bucket finds no word without it. Of a prompt's blocks the first 16 are kept, then every 2nd
// to 32, every 4th to 64, and so on: a depth is rounded down by an eighth at most, and 128 blocks
// cost 40 words (each a cache miss).
//
// What that means for answers:
//  - A replica found to hold block i was given all blocks before it too (hashes are chained), so
//  the
//    deepest block found is the depth, even if an earlier one was evicted.
//  - A block remembers at most kWaysPerBucket replicas: the ones that were given it last. Where
//    kHoldersEnough replicas hold a prefix, smaller depths of others are not searched for.
//  - Two blocks are confused with a probability of about 2^-30 a probe of a full bucket: the worst
//  is
//    one request at a replica without its prefix.
//  - An undo takes back one record(); a block recorded 7 times stays until evicted or retired, and
//    is only read by further record()s: hot prefixes stay shared in the caches of all cores.
//
// Rejected: a radix tree (the peers' memory leaks: nodes to merge, owners to count, locks a node);
// a set of replicas a block (a bitmap of 1,000 replicas costs 128 bytes where 8 do); one LRU a
// replica (a list to relink under a lock for every block of every request).
//
// Threads: every function may be called from any number of threads at once. Nothing allocates after
// construction. Slots are numbers that the owner of the replicas hands out and may use again.
//
//   Depths depths(options.slots);                    // scratch, one a thread
//   index.lookup(hasher.blocks(), depths);
//   for (Slot slot : depths.holders()) use(slot, depths.of(slot));
//   const Holder holder = index.holder(chosen);
//   index.record(holder, hasher.blocks());           // when the request is sent
//   index.undo(holder, hasher.blocks());             // if it turns out that it never arrived
//   index.retire(std::array{chosen});                // the replica is gone, or its cache is
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/cache_line.h"
#include "base/result.h"

namespace fairlead::cache_index {

// A replica's place in the columns of the data plane.
using Slot = uint16_t;

// A slot as it was used at one time; records of an earlier generation are as good as gone.
struct Holder {
  Slot slot = 0;
  uint16_t generation = 0;
};

struct PrefixIndexOptions {
  base::Bytes bytes_max{16u << 20};
  uint32_t slots = 4096;

  static constexpr base::Bytes kBytesMin{1u << 10};
  static constexpr base::Bytes kBytesMax{16ull << 30};
  static constexpr uint32_t kSlotsMax = 1u << 14;

  base::Result<> validate() const;
};

// Scratch of lookup(): how many leading blocks each slot holds. One thread.
class Depths {
 public:
  explicit Depths(uint32_t slots) : depth_(slots, 0), holders_(slots) {}

  uint16_t of(Slot slot) const { return depth_[slot]; }
  // The slots with a depth above zero, in no particular but a reproducible order.
  std::span<const Slot> holders() const { return {holders_.data(), holder_count_}; }
  void clear();

 private:
  friend class PrefixIndex;
  void raise(Slot slot, uint16_t depth) {
    uint16_t& now = depth_[slot];
    if (now == 0) holders_[holder_count_++] = slot;
    now = std::max(now, depth);
  }

  std::vector<uint16_t> depth_;
  std::vector<Slot> holders_;
  size_t holder_count_ = 0;
};

class PrefixIndex {
 public:
  static constexpr size_t kWordBytes = 8;
  static constexpr size_t kWaysPerBucket = 16;
  static constexpr uint32_t kCountMax = 7;
  static constexpr size_t kHoldersEnough = 8;
  static constexpr size_t kBlocksMax = 512;

  // The depth that is found where `depth` leading blocks were recorded, and the words they take.
  static size_t depth_kept(size_t depth);
  static size_t entries_for(size_t depth);

  // CHECKs options.validate(). Touches all its memory, so that it does not grow later.
  explicit PrefixIndex(PrefixIndexOptions options);

  uint32_t slots() const { return options_.slots; }
  // The slot in its present generation. Slots are below options.slots.
  Holder holder(Slot slot) const;

  // Fills `depths` (cleared first) for the blocks of one prompt; at most kBlocksMax.
  void lookup(std::span<const uint64_t> blocks, Depths& depths) const;
  // Has the processor fetch what record() will read and write, which lies all over the table.
  void prefetch(std::span<const uint64_t> blocks) const;
  // Notes that `holder` was given these leading blocks. No effect if the holder was retired.
  void record(Holder holder, std::span<const uint64_t> blocks);
  // Takes one such record back: what other records noted stays.
  void undo(Holder holder, std::span<const uint64_t> blocks);
  // Forgets all that these slots hold and starts a new generation of each: holders from before can
  // neither add to nor take from it. Walks the whole table: for the control thread, in batches.
  void retire(std::span<const Slot> slots);

  struct Stats {
    uint64_t entries = 0;  // (block, replica) pairs now held
    uint64_t entries_max = 0;
    uint64_t evictions = 0;  // since the start
  };
  // Exact while nobody writes.
  Stats stats() const;

 private:
  using Word = std::atomic<uint64_t>;
  struct alignas(128) Bucket {
    std::array<Word, kWaysPerBucket> words{};
  };
  struct Level;
  struct FreeBuckets {
    void operator()(Bucket* buckets) const;
  };

  Bucket& bucket_of(uint64_t hash) const;
  Level probe(std::span<const uint64_t> blocks, size_t at, Depths& depths) const;
  void settle(std::span<const uint64_t> blocks, const Level& low, const Level& high,
              Depths& depths) const;
  // What each did to the number of entries.
  int64_t record_block(uint64_t hash, Holder holder);
  int64_t take_word(Bucket& bucket, uint64_t word, uint64_t hand);
  int64_t undo_block(uint64_t hash, Holder holder);
  int64_t erase_block(uint64_t hash, Holder holder);

  PrefixIndexOptions options_;
  size_t bucket_count_;
  std::unique_ptr<Bucket[], FreeBuckets> buckets_;
  std::unique_ptr<std::atomic<uint16_t>[]> generations_;

  // What one thread has counted (past kTallies threads some share one), on a cache line of its own:
  // a count that all write would move between cores at every record().
  struct alignas(base::kCacheLine) Tally {
    std::atomic<int64_t> entries{0};
    std::atomic<uint64_t> evictions{0};
  };
  static constexpr size_t kTallies = 64;
  Tally& tally();
  std::array<Tally, kTallies> tallies_;
};

}  // namespace fairlead::cache_index
