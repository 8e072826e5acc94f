#include "engine/generation.h"

#include <algorithm>

#include "base/hash.h"

namespace fairlead::engine {

using engine_model::Finish;
using protocol::SpecialTokens;
using protocol::StopFinder;

Generation::Generation(const protocol::Tokenizer& tokenizer, Plan plan)
    : tokenizer_(tokenizer),
      plan_(std::move(plan)),
      stream_(tokenizer, plan_.skip_special_tokens ? SpecialTokens::kSkip : SpecialTokens::kShow) {
  if (!plan_.stop_strings.empty()) {
    stops_.emplace(plan_.stop_strings, plan_.include_stop_string ? StopFinder::Include::kYes
                                                                 : StopFinder::Include::kNo);
  }
}

protocol::TokenId Generation::draw() {
  if (!plan_.script.empty()) {
    return produced_ < plan_.script.size() ? plan_.script[produced_] : tokenizer_.end_of_text();
  }
  if (plan_.stop_at != 0 && produced_ + 1 == plan_.stop_at) return tokenizer_.end_of_text();
  return tokenizer_.plausible(base::mix64(plan_.seed + produced_));
}

engine_model::TokenSource::Next Generation::next() {
  const protocol::TokenId token = draw();
  ++produced_;
  if (plan_.keep_tokens) token_ids_.push_back(token);
  const bool may_stop = produced_ > plan_.min_tokens;
  if (token == tokenizer_.end_of_text() && (plan_.stop_at != 0 || !plan_.script.empty())) {
    return {.token = token, .stop = true};
  }
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
