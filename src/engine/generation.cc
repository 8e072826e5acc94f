#include "engine/generation.h"

#include <algorithm>

#include "base/hash.h"

namespace fairlead::engine {

using engine_model::Finish;
using protocol::SpecialTokens;
using protocol::StopFinder;

Generation::Generation(const protocol::Tokenizer& tokenizer, Plan plan)
    : tokenizer_(tokenizer),
      seed_(plan.seed),
      stop_at_(plan.stop_at),
      plain_(plan.script.empty() && plan.stop_token_ids.empty() && plan.stop_strings.empty() &&
             !plan.keep_tokens),
      stream_(tokenizer, plan.skip_special_tokens ? SpecialTokens::kSkip : SpecialTokens::kShow),
      plan_(std::move(plan)) {
  if (!plan_.stop_strings.empty()) {
    stops_.emplace(plan_.stop_strings, plan_.include_stop_string ? StopFinder::Include::kYes
                                                                 : StopFinder::Include::kNo);
  }
}

engine_model::TokenSource::Next Generation::next() {
  if (!plain_) return next_by_plan();
  if (++produced_ == stop_at_) return {.token = tokenizer_.end_of_text(), .stop = true};
  const protocol::TokenId token = tokenizer_.plausible(base::mix64(seed_ + produced_));
  stream_.feed(token, text_);
  return {.token = token, .stop = false};
}

engine_model::TokenSource::Next Generation::next_by_plan() {
  ++produced_;
  const bool scripted = !plan_.script.empty();
  const bool end = scripted ? produced_ > plan_.script.size() : produced_ == stop_at_;
  const protocol::TokenId token = end        ? tokenizer_.end_of_text()
                                  : scripted ? plan_.script[produced_ - 1]
                                             : tokenizer_.plausible(base::mix64(seed_ + produced_));
  if (plan_.keep_tokens) token_ids_.push_back(token);
  if (end) return {.token = token, .stop = true};
  const bool may_stop = produced_ > plan_.min_tokens;
  if (!plan_.stop_token_ids.empty() && may_stop &&
      std::find(plan_.stop_token_ids.begin(), plan_.stop_token_ids.end(), token) !=
          plan_.stop_token_ids.end()) {
    stop_token_ = token;
    return {.token = token, .stop = true};
  }
  if (!stops_) {
    stream_.feed(token, text_);
    return {.token = token, .stop = false};
  }
  piece_.clear();
  stream_.feed(token, piece_);
  if (!may_stop) {
    // vLLM does not look for stop strings in the first min_tokens tokens.
    text_ += piece_;
    return {.token = token, .stop = false};
  }
  stop_string_ = stops_->feed(piece_, text_);
  return {.token = token, .stop = stop_string_.has_value()};
}

void Generation::end(Finish finish) {
  finish_ = finish;
  if (stop_string_) return;
  if (!stops_) {
    stream_.finish(text_);
    return;
  }
  piece_.clear();
  stream_.finish(piece_);
  stops_->feed(piece_, text_);
  stops_->finish(text_);
}

uint32_t natural_length(uint64_t seed, uint32_t mean) {
  const uint64_t spread = base::mix64(seed) % (uint64_t{mean} + 1);
  return std::max<uint32_t>(1, mean / 2 + static_cast<uint32_t>(spread));
}

}  // namespace fairlead::engine
