#include "router/outliers.h"

namespace fairlead::router {
namespace {

uint64_t failures(const Answers& answers) { return answers.bad + answers.broken; }

double failed_share(const Answers& answers) {
  if (answers.all() == 0) return 0;
  return static_cast<double>(failures(answers)) / static_cast<double>(answers.all());
}

}  // namespace

bool stands_out(const Answers& own, const Answers& others) {
  if (failures(own) < kOutlierErrorsMin || others.all() < kOutlierOthersMin) return false;
  const double share = failed_share(own);
  return share >= kOutlierShareMin && share >= kOutlierTimesOthers * failed_share(others);
}

std::vector<pick::Slot> find_outliers(std::span<const Pool> pools,
                                      std::span<const Answers> answers) {
  enum class Seen : uint8_t { kNowhere, kStandsOut, kFitsIn };
  std::vector<Seen> seen(answers.size(), Seen::kNowhere);
  for (const Pool& pool : pools) {
    Answers all;
    for (const pick::Slot i : pool) all += answers[i];
    if (failures(all) < kOutlierErrorsMin) continue;
    for (const pick::Slot i : pool) {
      if (pool.size() < 2 || seen[i] == Seen::kFitsIn) continue;
      const bool out = stands_out(answers[i], all - answers[i]);
      seen[i] = out ? Seen::kStandsOut : Seen::kFitsIn;
    }
  }
  std::vector<pick::Slot> outliers;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == Seen::kStandsOut) outliers.push_back(static_cast<pick::Slot>(i));
  }
  return outliers;
}

std::vector<bool> find_spared(std::span<const Pool> pools, std::span<const Standing> standings,
                              double ejected_share_max) {
  std::vector<bool> spared(standings.size(), false);
  for (const Pool& pool : pools) {
    size_t fit = 0;
    size_t ejected = 0;
    for (const pick::Slot i : pool) {
      fit += standings[i] != Standing::kUnfit ? 1 : 0;
      ejected += standings[i] == Standing::kEjected ? 1 : 0;
    }
    if (static_cast<double>(ejected) <= ejected_share_max * static_cast<double>(fit)) continue;
    for (const pick::Slot i : pool) spared[i] = spared[i] || standings[i] == Standing::kEjected;
  }
  return spared;
}

}  // namespace fairlead::router
