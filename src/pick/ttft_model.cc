#include "pick/ttft_model.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::pick {
namespace {

// A sample counts e^-1 after a hundred more.
constexpr double kDecay = 0.99;
// The prior counts as so many samples, of a size that a term usually has.
constexpr std::array<double, 3> kPriorWeight{2, 2, 2 * 1e4};
constexpr int kSweeps = 4;
// So many samples are worth as much as what is known about the others.
constexpr float kSamplesTrusted = 8;
// What one report weighs in a share, and how much of a prompt it must be about.
constexpr float kReportWeight = 1.0F / 16;
constexpr float kSharePredictedMin = 0.1F;
constexpr uint32_t kTailTokensMin = 256;

void subtract(std::atomic<uint64_t>& counter, uint64_t amount) {
  const uint64_t before = counter.fetch_sub(amount, std::memory_order_relaxed);
  SOFT_CHECK(before >= amount, "a token counter went below zero");
  if (before < amount) counter.fetch_add(amount - before, std::memory_order_relaxed);
}

constexpr std::array<double, 3> as_terms(const TtftLine& line) {
  return {static_cast<double>(line.base_ms), static_cast<double>(line.work_ms),
          static_cast<double>(line.context_ms)};
}

void average(std::atomic<float>& share, float sample) {
  const float before = share.load(std::memory_order_relaxed);
  share.store(before + kReportWeight * (std::clamp(sample, 0.0F, 1.0F) - before),
              std::memory_order_relaxed);
}

}  // namespace

void TtftModel::reset() {
  for (std::atomic<uint64_t>* counter : {&queued_, &context_, &computed_}) {
    counter->store(0, kRelaxed);
  }
  for (std::atomic<double>& sum : products_) sum.store(0, kRelaxed);
  for (std::atomic<double>& sum : targets_) sum.store(0, kRelaxed);
  samples_.store(0, kRelaxed);
  trust_.store(1, kRelaxed);
  tail_.store(0.5F, kRelaxed);
  reports_cached_.store(false, kRelaxed);
}

void TtftModel::begin(const PromptWork& work) {
  queued_.fetch_add(work.uncached_tokens, kRelaxed);
  context_.fetch_add(work.prompt_tokens, kRelaxed);
  computed_.fetch_add(work.uncached_tokens, kRelaxed);
}

void TtftModel::first_byte(const PromptWork& work) { subtract(queued_, work.uncached_tokens); }

void TtftModel::end(const PromptWork& work) { subtract(context_, work.prompt_tokens); }

void TtftModel::take_back(const PromptWork& work) { subtract(computed_, work.uncached_tokens); }

void TtftModel::learn(const TtftSample& sample, base::TimePoint now) {
  if (learning_.test_and_set(std::memory_order_acquire)) return;
  const double steps = std::max(1U, sample.tokens);
  const double ms = std::clamp(base::to_ms(sample.took), 0.0, steps * base::to_ms(kTookMax));
  const std::array<double, kTerms> x{steps, static_cast<double>(sample.load.work) * 1e-3,
                                     steps * static_cast<double>(sample.load.context) * 1e-3};
  const double weight = 1 / ((steps + x[1]) * (steps + x[1]));
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) {
      std::atomic<double>& sum = products_[i * kTerms + j];
      sum.store(sum.load(kRelaxed) * kDecay + weight * x[i] * x[j], kRelaxed);
    }
    targets_[i].store(targets_[i].load(kRelaxed) * kDecay + weight * x[i] * ms, kRelaxed);
  }
  if (samples_.load(kRelaxed) == 0) {
    const auto prior = as_terms(TtftLine{});
    for (size_t i = 0; i < kTerms; ++i) line_[i].store(static_cast<float>(prior[i]), kRelaxed);
  }
  solve();
  samples_.store(samples_.load(kRelaxed) * static_cast<float>(kDecay) + 1, kRelaxed);
  learned_at_.store(now.time_since_epoch().count(), kRelaxed);
  learning_.clear(std::memory_order_release);
}

// Coordinate descent from where the last one ended: exact in the end, never below zero.
void TtftModel::solve() {
  constexpr std::array<double, kTerms> prior = as_terms(TtftLine{});
  std::array<double, kTerms> line;
  for (size_t i = 0; i < kTerms; ++i) line[i] = static_cast<double>(line_[i].load(kRelaxed));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < kTerms; ++i) {
      double rest = targets_[i].load(kRelaxed) + kPriorWeight[i] * prior[i];
      for (size_t j = 0; j < kTerms; ++j) {
        if (j != i) rest -= products_[i * kTerms + j].load(kRelaxed) * line[j];
      }
      line[i] = std::max(0.0, rest / (products_[i * kTerms + i].load(kRelaxed) + kPriorWeight[i]));
    }
  }
  for (size_t i = 0; i < kTerms; ++i) line_[i].store(static_cast<float>(line[i]), kRelaxed);
}

TtftLine TtftModel::line() const {
  if (samples_.load(kRelaxed) == 0) return {};
  return {.base_ms = line_[0].load(kRelaxed),
          .work_ms = line_[1].load(kRelaxed),
          .context_ms = line_[2].load(kRelaxed)};
}

float TtftModel::confidence(base::TimePoint now) const {
  const float samples = samples_.load(kRelaxed);
  const base::Nanos age = now.time_since_epoch() - base::Nanos(learned_at_.load(kRelaxed));
  if (samples == 0 || age >= kForgottenAfter) return 0;
  const float known = samples / (samples + kSamplesTrusted);
  if (age <= kFreshFor) return known;
  return known * static_cast<float>(base::to_seconds(kForgottenAfter - age) /
                                    base::to_seconds(kForgottenAfter - kFreshFor));
}

void TtftModel::learn_cached(const CacheReport& report) {
  if (report.cached_tokens) reports_cached_.store(true, kRelaxed);
  if (!reports_cached_.load(kRelaxed)) return;
  if (report.prompt_tokens == 0 || report.predicted_prompt_tokens == 0) return;
  // The engine counts tokens, the router estimates them: only shares compare.
  const auto of_predicted = [&](uint32_t tokens) {
    return static_cast<float>(tokens) / static_cast<float>(report.predicted_prompt_tokens);
  };
  const float cached = static_cast<float>(report.cached_tokens.value_or(0)) /
                       static_cast<float>(report.prompt_tokens);
  const float held = of_predicted(report.held_tokens);
  if (held < kSharePredictedMin) return;
  average(trust_, cached / held);
  const bool whole = report.held_tokens >= report.hashed_tokens;
  if (!whole || report.predicted_prompt_tokens < report.hashed_tokens + kTailTokensMin) return;
  average(tail_, (cached - held) / (1 - held));
}

uint32_t TtftModel::cached_tokens(uint32_t prompt_tokens, uint32_t hashed_tokens,
                                  uint32_t held_tokens) const {
  if (held_tokens == 0) return 0;
  const float trust = trust_.load(kRelaxed);
  float cached = static_cast<float>(std::min(held_tokens, prompt_tokens));
  if (held_tokens >= hashed_tokens && prompt_tokens >= hashed_tokens + kTailTokensMin) {
    cached += tail_.load(kRelaxed) * static_cast<float>(prompt_tokens - hashed_tokens);
  }
  return std::min(prompt_tokens, static_cast<uint32_t>(trust * cached));
}

}  // namespace fairlead::pick
