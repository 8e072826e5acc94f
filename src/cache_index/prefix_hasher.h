// Chained hashes of a prompt's leading bytes: block i's hash is XXH3 of its bytes seeded with the
// hash of block i-1, so one number names a block together with everything before it. The chain
// starts from model and salt (tenant), so equal prompts of two models or tenants share no hash.
//
// The prompt comes in pieces, as it lies in the request body; how it is cut does not matter. Only
// whole blocks are hashed: a tail shorter than a block is no block of an engine's cache either.
// After `blocks_max` blocks the rest is ignored (and costs nothing).
//
// One thread. Keep one a shard and reuse it: it allocates in its constructor only.
//
//   PrefixHasher hasher(PrefixHasherOptions{});
//   hasher.reset("llama-3", tenant_salt);
//   for (std::string_view piece : prompt_pieces) hasher.add(piece);
//   index.lookup(hasher.blocks(), depths);
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fairlead::cache_index {

struct PrefixHasherOptions {
  // About the bytes of English text in one block of 16 tokens.
  uint32_t block_bytes = 64;
  uint32_t blocks_max = 128;

  static constexpr uint32_t kBlockBytesMin = 16;
  static constexpr uint32_t kBlockBytesMax = 1024;
  static constexpr uint32_t kBlocksMax = 512;

  base::Result<> validate() const;
};

class PrefixHasher {
 public:
  // CHECKs options.validate(); configuration is validated where it is read.
  explicit PrefixHasher(PrefixHasherOptions options);

  // Starts a new prompt.
  void reset(std::string_view model, std::string_view salt);
  void add(std::string_view piece);
  // The hashes of the whole blocks so far; valid until the next add() or reset().
  std::span<const uint64_t> blocks() const { return blocks_; }
  // True once further pieces change nothing.
  bool full() const { return blocks_.size() == options_.blocks_max; }

 private:
  void close_block(std::string_view bytes);

  PrefixHasherOptions options_;
  uint64_t parent_ = 0;
  std::vector<char> partial_;  // the begun block, shorter than block_bytes
  std::vector<uint64_t> blocks_;
};

}  // namespace fairlead::cache_index
