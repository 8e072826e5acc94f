#include "workload/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "workload/text.h"

namespace fairlead::workload {
namespace {

base::Result<> check_range(std::string_view field, double value, std::pair<double, double> range) {
  if (value >= range.first && value <= range.second) return {};
  return base::invalid_argument(
      fmt::format("{} is {}: allowed are {} to {}", field, value, range.first, range.second));
}

}  // namespace

base::Result<> validate(const PromptOptions& o) {
  if (auto r = check_range("prefixes", o.prefixes, {1, PromptOptions::kPrefixesMax}); !r) return r;
  if (auto r = check_range("repeats", o.repeats, {1, 1e6}); !r) return r;
  if (o.kind == PromptKind::kSharedPrefix && uint64_t{o.prefixes} * o.repeats > 50'000'000) {
    return base::invalid_argument(fmt::format(
        "prefixes times repeats is {}: at most 50000000; prefix-groups has no such limit",
        uint64_t{o.prefixes} * o.repeats));
  }
  const std::pair<double, double> tokens{0, PromptOptions::kTokensMax};
  if (auto r = check_range("prefix-tokens", o.prefix_tokens, tokens); !r) return r;
  if (auto r = check_range("question-tokens", o.question_tokens, tokens); !r) return r;
  return check_range("zipf", o.zipf, {0, 10});
}

PromptSource::PromptSource(const PromptOptions& options)
    : options_(options),
      random_(options.seed),
      texts_(base::mix64(options.seed) ^ base::mix64(~options.salt)) {
  CHECK(validate(options).ok(), "prompt options must be validated first");
  if (options_.kind == PromptKind::kPrefixGroups) {
    double sum = 0;
    for (uint32_t i = 0; i < options_.prefixes; ++i) {
      cumulative_.push_back(sum += std::pow(i + 1.0, -options_.zipf));
    }
    for (double& c : cumulative_) c /= sum;
  }
}

uint64_t PromptSource::planned() const {
  if (options_.kind != PromptKind::kSharedPrefix) return 0;
  return uint64_t{options_.prefixes} * options_.repeats;
}

void PromptSource::next(Prompt& out) {
  out.prefix = draw_prefix();
  // Two chained mixes: no sum of seed and number can meet another's.
  const uint64_t question = base::mix64(base::mix64(texts_ + 1) + sent_);
  if (out.prefix == kNoPrefix) {
    out.system.clear();
    make_text(out.question, "Prompt", question, options_.prefix_tokens + options_.question_tokens);
  } else {
    make_text(out.system, "Product manual", base::mix64(base::mix64(texts_) + out.prefix),
              options_.prefix_tokens);
    make_text(out.question, "Question", question, options_.question_tokens);
  }
  ++sent_;
}

uint32_t PromptSource::draw_prefix() {
  switch (options_.kind) {
    case PromptKind::kRandom:
      return kNoPrefix;
    case PromptKind::kPrefixGroups: {
      const auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), random_.uniform());
      const auto index = static_cast<size_t>(it - cumulative_.begin());
      return static_cast<uint32_t>(std::min(index, cumulative_.size() - 1));
    }
    case PromptKind::kSharedPrefix:
      break;
  }
  if (sent_ % planned() == 0) shuffle();
  return order_[sent_ % planned()];
}

void PromptSource::shuffle() {
  order_.resize(planned());
  for (size_t i = 0; i < order_.size(); ++i) {
    order_[i] = static_cast<uint32_t>(i % options_.prefixes);
  }
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
}

}  // namespace fairlead::workload
