#include "pick/plugin.h"

namespace fairlead::pick {

Scratch::Scratch(uint32_t slots)
    : scores(kScorersMax, Scores(slots, 0.0F)), depths(slots), expected(slots) {
  candidates.reserve(slots);
  shortlist.reserve(slots);
}

void Context::score(size_t i, std::span<const Slot> slots) const {
  if (watch != nullptr) watch->begins();
  scorers[i]->score(*this, slots, scratch.scores[i]);
  if (watch != nullptr) watch->ended(PluginKind::kScorer, scorers[i]->name());
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kTurn:
      return "turn";
    case Reason::kDrawn:
      return "drawn";
    case Reason::kLeastLoaded:
      return "least-loaded";
    case Reason::kHoldsPrefix:
      return "holds-prefix";
    case Reason::kPrefixCold:
      return "prefix-cold";
    case Reason::kHolderTooBusy:
      return "holder-too-busy";
    case Reason::kLessLoadedOfTwo:
      return "less-loaded-of-two";
    case Reason::kSession:
      return "session";
    case Reason::kSessionTooBusy:
      return "session-too-busy";
    case Reason::kBestScore:
      return "best-score";
  }
  return "unknown";
}

}  // namespace fairlead::pick
