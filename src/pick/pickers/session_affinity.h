// The replica that a session belongs to, while it is healthy and not too busy; else the next one in
// the session's own order. A request without a session goes to the least loaded replica.
//
//   rank of a replica: hash of the session and the replica's identity, highest first
//   allowed:           load < 1.25 * (mean load of the candidates + 1)
//
// Rendezvous hashing, because nothing is to be remembered: routers that share no state, and a
// router that has just started, send a session to the same replica. When a replica goes, only its
// sessions move, each to the next of its own order, so that they spread over all others; when it
// returns, just these return. The bound is the one of prefix_affinity.h, for its reasons: without
// one a session that floods, or a hash that is unlucky, drowns its replica while others idle.
//
// Rejected: a table of sessions (memory that clients can fill, lost at each restart, not shared by
// routers); a cookie with the replica's name (clients of this API keep none); a ring with virtual
// nodes (uneven, and slower than a pass over the candidates at the sizes there are).
//
// Cost: one hash, one load a candidate.
// Misleads: where `load` does; sessions are taken to be equally heavy.
#pragma once

#include "pick/plugin.h"

namespace fairlead::pick {

class SessionAffinityPicker final : public Picker {
 public:
  static constexpr double kLoadFactor = 1.25;

  std::string_view name() const override { return "session-affinity"; }
  std::span<const std::string_view> scorers() const override;
  Pick pick(const Context& context) const override;
  bool prefers(const Context& context, Slot a, Slot b) const override;
};

}  // namespace fairlead::pick
