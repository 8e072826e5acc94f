// What happened to cached blocks, in order, for whoever publishes KV events. Flat buffers, so that
// a step in steady state allocates nothing; the reader takes what it wants and calls clear().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine_model/types.h"

namespace fairlead::engine_model {

struct BlockEvent {
  enum class Kind : uint8_t { kStored, kRemoved, kCleared };
  Kind kind = Kind::kCleared;
  bool has_parent = false;  // kStored: the first of the blocks is not the first of its prompt
  uint64_t parent = 0;
  uint64_t user = 0;  // kStored: whose blocks
  // Ranges in the log's buffers.
  uint32_t hashes_begin = 0;
  uint32_t hashes_count = 0;
  uint32_t tokens_begin = 0;
  uint32_t tokens_count = 0;
};

class EventLog {
 public:
  struct Stored {
    std::span<const uint64_t> hashes;
    std::span<const Token> tokens;
    bool has_parent = false;
    uint64_t parent = 0;
    uint64_t user = 0;
  };
  void stored(const Stored& run);
  void removed(uint64_t hash);
  void cleared();

  std::span<const BlockEvent> events() const { return events_; }
  std::span<const uint64_t> hashes(const BlockEvent& e) const {
    return std::span(hashes_).subspan(e.hashes_begin, e.hashes_count);
  }
  std::span<const Token> tokens(const BlockEvent& e) const {
    return std::span(tokens_).subspan(e.tokens_begin, e.tokens_count);
  }
  void clear();

 private:
  std::vector<BlockEvent> events_;
  std::vector<uint64_t> hashes_;
  std::vector<Token> tokens_;
};

}  // namespace fairlead::engine_model
