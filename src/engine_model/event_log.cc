#include "engine_model/event_log.h"

namespace fairlead::engine_model {

void EventLog::stored(const Stored& run) {
  BlockEvent e;
  e.kind = BlockEvent::Kind::kStored;
  e.has_parent = run.has_parent;
  e.parent = run.parent;
  e.user = run.user;
  e.hashes_begin = static_cast<uint32_t>(hashes_.size());
  e.hashes_count = static_cast<uint32_t>(run.hashes.size());
  e.tokens_begin = static_cast<uint32_t>(tokens_.size());
  e.tokens_count = static_cast<uint32_t>(run.tokens.size());
  hashes_.insert(hashes_.end(), run.hashes.begin(), run.hashes.end());
  tokens_.insert(tokens_.end(), run.tokens.begin(), run.tokens.end());
  events_.push_back(e);
}

void EventLog::removed(uint64_t hash) {
  BlockEvent e;
  e.kind = BlockEvent::Kind::kRemoved;
  e.hashes_begin = static_cast<uint32_t>(hashes_.size());
  e.hashes_count = 1;
  hashes_.push_back(hash);
  events_.push_back(e);
}

void EventLog::cleared() { events_.push_back(BlockEvent{}); }

void EventLog::clear() {
  events_.clear();
  hashes_.clear();
  tokens_.clear();
}

}  // namespace fairlead::engine_model
