// Prompts of a run, deterministic from a seed.
//
//   shared-prefix  the experiment of fixed system prompts and changing questions: `prefixes` system
//                  prompts, each sent `repeats` times in one shuffled order; past that a new
//                  shuffle.
//   prefix-groups  every request draws its system prompt, all equally often or by Zipf's law.
//   random         no two prompts share a beginning.
//
// Sizes are in tokens of about four bytes of English. The text needs no JSON escaping. Prompts of
// different prefixes differ within their first 32 bytes, hence in their first block in any engine;
// so do those of different seeds or salts, so that runs and targets never warm each other's caches.
// Pure; one thread.
//
//   PromptSource source({.kind = PromptKind::kSharedPrefix, .seed = 1});
//   Prompt prompt;
//   source.next(prompt);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace fairlead::workload {

enum class PromptKind { kSharedPrefix, kPrefixGroups, kRandom };

struct PromptOptions {
  static constexpr uint32_t kPrefixesMax = 1'000'000;
  static constexpr uint32_t kTokensMax = 4'000'000;

  PromptKind kind = PromptKind::kSharedPrefix;
  uint32_t prefixes = 40;
  uint32_t repeats = 5;
  uint32_t prefix_tokens = 2048;
  uint32_t question_tokens = 24;
  double zipf = 0;  // exponent of prefix-groups: 0 uses all equally, 1 is Zipf's law
  uint64_t seed = 1;
  uint64_t salt = 0;  // another set of texts with the same order and sizes
};

// Names the field that is out of bounds and what is allowed.
base::Result<> validate(const PromptOptions& options);

inline constexpr uint32_t kNoPrefix = UINT32_MAX;

struct Prompt {
  uint32_t prefix = kNoPrefix;  // which system prompt, or kNoPrefix
  std::string system;           // empty for random prompts
  std::string question;
};

class PromptSource {
 public:
  // `options` must be valid.
  explicit PromptSource(const PromptOptions& options);

  // Fills `out`, reusing its buffers. Never ends.
  void next(Prompt& out);
  // How many requests send every prefix `repeats` times; 0 where the workload has no natural end.
  uint64_t planned() const;

 private:
  uint32_t draw_prefix();
  void shuffle();

  PromptOptions options_;
  base::Random random_;
  uint64_t texts_;     // seed of all texts
  uint64_t sent_ = 0;  // prompts so far
  std::vector<uint32_t> order_;
  std::vector<double> cumulative_;  // prefix-groups: of the weights, ending in 1
};

}  // namespace fairlead::workload
