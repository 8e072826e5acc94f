#include "cache_index/prefix_index.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <new>

namespace fairlead::cache_index {
namespace {

constexpr int kCountBits = 3;
constexpr uint64_t kCountMask = (1u << kCountBits) - 1;
constexpr uint64_t kUsed = 1u << kCountBits;
constexpr int kGenerationShift = kCountBits + 1;
constexpr int kGenerationBits = 12;
constexpr uint16_t kGenerationMask = (1u << kGenerationBits) - 1;
constexpr int kSlotShift = kGenerationShift + kGenerationBits;
constexpr int kSlotBits = 14;
constexpr int kTagShift = kSlotShift + kSlotBits;
constexpr uint64_t kIdentityMask = ~(kCountMask | kUsed);
static_assert(PrefixIndex::kCountMax == kCountMask);
static_assert(PrefixIndexOptions::kSlotsMax == 1u << kSlotBits);

// How often a word that others change under us is tried again before the hint is dropped.
constexpr int kTriesMax = 8;

constexpr auto kRelaxed = std::memory_order_relaxed;

// Which blocks of a prompt are kept: the first kKeptWhole, then kKeptPerOctave of each doubling.
constexpr size_t kKeptWhole = 16;
constexpr size_t kKeptPerOctave = 8;

// The number of leading blocks that the k-th kept block stands for.
constexpr std::array<uint16_t, PrefixIndex::kBlocksMax> kept_depths() {
  std::array<uint16_t, PrefixIndex::kBlocksMax> depths{};
  size_t depth = 0;
  for (uint16_t& kept : depths) {
    depth += depth < kKeptWhole ? 1 : std::bit_floor(depth) / kKeptPerOctave;
    kept = static_cast<uint16_t>(depth);
    if (depth >= PrefixIndex::kBlocksMax) break;
  }
  return depths;
}
constexpr auto kKeptDepths = kept_depths();

// The table is read at random: with pages of 4 KiB most of the time goes into address translation.
constexpr size_t kHugePage = 2u << 20;

// The bucket comes from the hash's upper half, the tag from its lower one.
uint64_t tag_of(uint64_t hash) { return hash & ((1ull << (64 - kTagShift)) - 1); }

// Never zero, because no generation is: an empty word matches nothing.
uint64_t identity_of(uint64_t hash, Holder holder) {
  return tag_of(hash) << kTagShift | static_cast<uint64_t>(holder.slot) << kSlotShift |
         static_cast<uint64_t>(holder.generation) << kGenerationShift;
}

Slot slot_of(uint64_t word) {
  return static_cast<Slot>(word >> kSlotShift & ((1u << kSlotBits) - 1));
}

uint16_t generation_of(uint64_t word) {
  return static_cast<uint16_t>(word >> kGenerationShift & kGenerationMask);
}

}  // namespace

base::Result<> PrefixIndexOptions::validate() const {
  if (bytes_max < kBytesMin || bytes_max > kBytesMax) {
    return base::invalid_argument(fmt::format("prefix index size is {}, allowed are {} to {}",
                                              to_string(bytes_max), to_string(kBytesMin),
                                              to_string(kBytesMax)));
  }
  if (slots < 1 || slots > kSlotsMax) {
    return base::invalid_argument(
        fmt::format("prefix index has {} replica slots, allowed are 1 to {}", slots, kSlotsMax));
  }
  return {};
}

void Depths::clear() {
  for (const Slot slot : holders()) depth_[slot] = 0;
  holder_count_ = 0;
}

size_t PrefixIndex::entries_for(size_t depth) {
  if (depth <= kKeptWhole) return depth;
  const size_t octave = std::bit_floor(depth);
  const size_t octaves = static_cast<size_t>(std::countr_zero(octave / kKeptWhole));
  return kKeptWhole + octaves * kKeptPerOctave + (depth - octave) * kKeptPerOctave / octave;
}

size_t PrefixIndex::depth_kept(size_t depth) {
  const size_t entries = entries_for(depth);
  return entries == 0 ? 0 : kKeptDepths[entries - 1];
}

void PrefixIndex::FreeBuckets::operator()(Bucket* buckets) const {
  ::operator delete[](buckets, std::align_val_t(kHugePage));
}

PrefixIndex::PrefixIndex(PrefixIndexOptions options)
    : options_(options), bucket_count_(options.bytes_max.count / sizeof(Bucket)) {
  CHECK(options_.validate().ok(), "prefix index options were not validated");
  const size_t size = bucket_count_ * sizeof(Bucket);
  void* memory = ::operator new[](size, std::align_val_t(kHugePage));
  if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);  // only speed depends on it
  buckets_.reset(static_cast<Bucket*>(memory));
  std::uninitialized_value_construct_n(buckets_.get(), bucket_count_);
  generations_ = std::make_unique<std::atomic<uint16_t>[]>(options_.slots);
  for (uint32_t slot = 0; slot < options_.slots; ++slot) generations_[slot].store(1, kRelaxed);
}

Holder PrefixIndex::holder(Slot slot) const {
  DCHECK(slot < options_.slots);
  return {slot, generations_[slot].load(kRelaxed)};
}

PrefixIndex::Bucket& PrefixIndex::bucket_of(uint64_t hash) const {
  return buckets_[(hash >> 32) * bucket_count_ >> 32];
}

// The replicas found at one kept block (counted from 0).
struct PrefixIndex::Level {
  size_t at = 0;
  size_t count = 0;
  std::array<Slot, kWaysPerBucket> slots;
};

PrefixIndex::Level PrefixIndex::probe(std::span<const uint64_t> blocks, size_t at,
                                      Depths& depths) const {
  Level level;
  level.at = at;
  const uint16_t depth = kKeptDepths[at];
  const uint64_t hash = blocks[depth - 1];
  const uint64_t tag = tag_of(hash);
  for (const Word& way : bucket_of(hash).words) {
    const uint64_t word = way.load(kRelaxed);
    if (word >> kTagShift != tag) continue;
    const Slot slot = slot_of(word);
    if (slot >= options_.slots || generations_[slot].load(kRelaxed) != generation_of(word)) {
      continue;
    }
    level.slots[level.count++] = slot;
    depths.raise(slot, depth);
  }
  return level;
}

// What lies between two probed levels matters only to replicas that hold the lower one but are not
// yet known to hold the upper one; as there are few different depths most of it is skipped.
void PrefixIndex::settle(std::span<const uint64_t> blocks, const Level& low, const Level& high,
                         Depths& depths) const {
  Level above = high;
  while (above.at - low.at > 1 && above.count < kHoldersEnough) {
    const auto settled = [&](Slot slot) { return depths.of(slot) >= kKeptDepths[above.at]; };
    if (std::all_of(low.slots.begin(), low.slots.begin() + low.count, settled)) return;
    const Level middle = probe(blocks, low.at + (above.at - low.at) / 2, depths);
    settle(blocks, middle, above, depths);
    above = middle;
  }
}

void PrefixIndex::lookup(std::span<const uint64_t> blocks, Depths& depths) const {
  depths.clear();
  if (blocks.empty()) return;
  DCHECK(blocks.size() <= kBlocksMax);
  const size_t kept = entries_for(blocks.size());
  for (const size_t at : {kept - 1, kept / 2}) {
    __builtin_prefetch(&bucket_of(blocks[kKeptDepths[at] - 1]));
  }
  const Level low = probe(blocks, 0, depths);
  const Level high = kept > 1 ? probe(blocks, kept - 1, depths) : low;
  settle(blocks, low, high, depths);
}

PrefixIndex::Tally& PrefixIndex::tally() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1, kRelaxed) % kTallies;
  return tallies_[mine];
}

void PrefixIndex::prefetch(std::span<const uint64_t> blocks) const {
  const size_t kept = entries_for(blocks.size());
  for (size_t at = 0; at < kept; ++at) {
    const Bucket& bucket = bucket_of(blocks[kKeptDepths[at] - 1]);
    __builtin_prefetch(&bucket, 1);
    __builtin_prefetch(&bucket.words[kWaysPerBucket / 2], 1);
  }
}

void PrefixIndex::record(Holder holder, std::span<const uint64_t> blocks) {
  const std::atomic<uint16_t>& generation = generations_[holder.slot];
  if (generation.load(kRelaxed) != holder.generation) return;
  const size_t kept = entries_for(blocks.size());
  int64_t change = 0;
  for (size_t at = 0; at < kept; ++at) {
    change += record_block(blocks[kKeptDepths[at] - 1], holder);
  }
  // Pairs with the fence in retire(): either its walk sees these words, or this sees its
  // generation.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (generation.load(kRelaxed) != holder.generation) {
    for (size_t at = 0; at < kept; ++at) {
      change += erase_block(blocks[kKeptDepths[at] - 1], holder);
    }
  }
  if (change != 0) tally().entries.fetch_add(change, kRelaxed);
}

int64_t PrefixIndex::record_block(uint64_t hash, Holder holder) {
  Bucket& bucket = bucket_of(hash);
  const uint64_t identity = identity_of(hash, holder);
  for (int tries = 0; tries < kTriesMax; ++tries) {
    Word* empty = nullptr;
    uint64_t seen = 0;
    Word* way = bucket.words.data();
    Word* const end = way + kWaysPerBucket;
    // Unrolled it would compute the addresses of all words first, of which it mostly needs few.
#pragma clang loop unroll(disable)
    for (; way != end; ++way) {
      seen = way->load(kRelaxed);
      if ((seen & kIdentityMask) == identity) break;
      if (seen == 0 && empty == nullptr) empty = way;
    }
    if (way != end) {
      // A word that is used and counted out is not written again: hot blocks stay shared in caches.
      const uint64_t counted = (seen & kCountMask) == kCountMax ? seen : seen + 1;
      if ((counted | kUsed) == seen) return 0;
      if (way->compare_exchange_weak(seen, counted | kUsed, kRelaxed)) return 0;
    } else if (empty != nullptr) {
      uint64_t nothing = 0;
      if (empty->compare_exchange_strong(nothing, identity | kUsed | 1, kRelaxed)) return 1;
    } else {
      return take_word(bucket, identity | kUsed | 1, hash);
    }
  }
  return 0;
}

// Second chance; the hand starts anywhere, so a bucket needs no state of its own.
int64_t PrefixIndex::take_word(Bucket& bucket, uint64_t word, uint64_t hand) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kWaysPerBucket; ++i) {
      Word& way = bucket.words[(hand + i) % kWaysPerBucket];
      uint64_t old = way.load(kRelaxed);
      if (old & kUsed) continue;
      if (!way.compare_exchange_strong(old, word, kRelaxed)) continue;
      if (old == 0) return 1;  // freed since
      tally().evictions.fetch_add(1, kRelaxed);
      return 0;
    }
    for (Word& way : bucket.words) way.fetch_and(~kUsed, kRelaxed);
  }
  return 0;
}

void PrefixIndex::undo(Holder holder, std::span<const uint64_t> blocks) {
  if (generations_[holder.slot].load(kRelaxed) != holder.generation) return;
  const size_t kept = entries_for(blocks.size());
  int64_t change = 0;
  for (size_t at = 0; at < kept; ++at) change += undo_block(blocks[kKeptDepths[at] - 1], holder);
  if (change != 0) tally().entries.fetch_add(change, kRelaxed);
}

int64_t PrefixIndex::undo_block(uint64_t hash, Holder holder) {
  const uint64_t identity = identity_of(hash, holder);
  for (Word& way : bucket_of(hash).words) {
    uint64_t word = way.load(kRelaxed);
    while ((word & kIdentityMask) == identity) {
      const uint64_t count = word & kCountMask;
      if (count == kCountMax) return 0;
      if (way.compare_exchange_weak(word, count > 1 ? word - 1 : 0, kRelaxed)) {
        return count > 1 ? 0 : -1;
      }
    }
  }
  return 0;
}

int64_t PrefixIndex::erase_block(uint64_t hash, Holder holder) {
  const uint64_t identity = identity_of(hash, holder);
  int64_t change = 0;
  for (Word& way : bucket_of(hash).words) {
    uint64_t word = way.load(kRelaxed);
    while ((word & kIdentityMask) == identity) {
      if (way.compare_exchange_weak(word, 0, kRelaxed)) {
        --change;
        break;
      }
    }
  }
  return change;
}

void PrefixIndex::retire(std::span<const Slot> slots) {
  if (slots.empty()) return;
  std::bitset<PrefixIndexOptions::kSlotsMax> gone;
  for (const Slot slot : slots) {
    CHECK(slot < options_.slots, "slot is outside the index");
    gone.set(slot);
    // Zero is left out (see identity_of). After 4,095 generations numbers repeat; nothing of an old
    // one is left by then, because each retirement walks the table.
    const uint16_t next = static_cast<uint16_t>(generations_[slot].load(kRelaxed) + 1);
    generations_[slot].store(next > kGenerationMask ? 1 : next, kRelaxed);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  int64_t change = 0;
  for (size_t i = 0; i < bucket_count_; ++i) {
    for (Word& way : buckets_[i].words) {
      uint64_t word = way.load(kRelaxed);
      while (word != 0 && gone.test(slot_of(word))) {
        if (way.compare_exchange_weak(word, 0, kRelaxed)) {
          --change;
          break;
        }
      }
    }
  }
  tally().entries.fetch_add(change, kRelaxed);
}

PrefixIndex::Stats PrefixIndex::stats() const {
  int64_t entries = 0;
  uint64_t evictions = 0;
  for (const Tally& counted : tallies_) {
    entries += counted.entries.load(kRelaxed);
    evictions += counted.evictions.load(kRelaxed);
  }
  return {.entries = entries > 0 ? static_cast<uint64_t>(entries) : 0,
          .entries_max = bucket_count_ * kWaysPerBucket,
          .evictions = evictions};
}

}  // namespace fairlead::cache_index
