#include "cache_index/prefix_hasher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace fairlead::cache_index {
namespace {

// Sets these hashes apart from other users of the same function; any constant would do.
constexpr uint64_t kChainSeed = 0x6661'6972'6c65'6164;

}  // namespace

base::Result<> PrefixHasherOptions::validate() const {
  if (block_bytes < kBlockBytesMin || block_bytes > kBlockBytesMax) {
    return base::invalid_argument(fmt::format("prefix block size is {} bytes, allowed are {} to {}",
                                              block_bytes, kBlockBytesMin, kBlockBytesMax));
  }
  if (blocks_max < 1 || blocks_max > kBlocksMax) {
    return base::invalid_argument(
        fmt::format("prefix blocks a prompt is {}, allowed are 1 to {}", blocks_max, kBlocksMax));
  }
  return {};
}

PrefixHasher::PrefixHasher(PrefixHasherOptions options) : options_(options) {
  CHECK(options_.validate().ok(), "prefix hasher options were not validated");
  partial_.reserve(options_.block_bytes);
  blocks_.reserve(options_.blocks_max);
}

void PrefixHasher::reset(std::string_view model, std::string_view salt) {
  parent_ = base::hash64(salt, base::hash64(model, kChainSeed));
  partial_.clear();
  blocks_.clear();
}

void PrefixHasher::add(std::string_view piece) {
  if (!partial_.empty() && !full()) {
    const size_t missing = options_.block_bytes - partial_.size();
    const std::string_view head = piece.substr(0, missing);
    partial_.insert(partial_.end(), head.begin(), head.end());
    piece.remove_prefix(head.size());
    if (partial_.size() < options_.block_bytes) return;
    close_block({partial_.data(), partial_.size()});
    partial_.clear();
  }
  while (piece.size() >= options_.block_bytes && !full()) {
    close_block(piece.substr(0, options_.block_bytes));
    piece.remove_prefix(options_.block_bytes);
  }
  if (!full()) partial_.insert(partial_.end(), piece.begin(), piece.end());
}

void PrefixHasher::close_block(std::string_view bytes) {
  parent_ = base::hash64(bytes, parent_);
  blocks_.push_back(parent_);
}

}  // namespace fairlead::cache_index
