#include "pick/chooser.h"

#include <algorithm>

namespace fairlead::pick {

Chooser::Chooser(const Policy& policy, Columns& columns, cache_index::PrefixIndex& index)
    : policy_(&policy), columns_(columns), index_(index), scratch_(columns.slots()) {
  CHECK(columns.slots() == index.slots(), "columns and index are of different sizes");
}

void Chooser::use(const Policy& policy) {
  policy_ = &policy;
  scratch_ = Scratch(columns_.slots());  // columns belong to other scorers now
}

std::optional<Reservation> Chooser::pick(const Query& query, base::Random& random,
                                         PluginWatch* watch) {
  const Context context{query, columns_, index_, random, scratch_, policy_->scorers(), watch};
  scratch_.candidates.assign(query.model->slots.begin(), query.model->slots.end());
  for (const Filter* filter : policy_->filters()) {
    if (watch != nullptr) watch->begins();
    filter->apply(context);
    if (watch != nullptr) watch->ended(PluginKind::kFilter, filter->name());
  }
  wants_room_ = false;
  if (scratch_.candidates.empty()) return std::nullopt;
  if (query.in_flight_max != 0) leave_out_full(query);
  // It arrives while the replicas are scored.
  if (policy_->reads_prefixes()) index_.prefetch(query.blocks);
  Pick pick;
  for (;;) {
    wants_room_ = scratch_.candidates.empty();
    if (wants_room_) return std::nullopt;
    pick = policy_->picker().pick(context);
    if (reserve(query, pick.slot)) break;
    // Another shard took the last place meanwhile.
    std::erase(scratch_.candidates, pick.slot);
  }

  Reservation reservation{.holder = index_.holder(pick.slot),
                          .reason = pick.reason,
                          .prompt_tokens = query.prompt_tokens,
                          .awaits_first_byte = true,
                          .open = true};
  if (policy_->reads_prefixes()) {
    reservation.held_blocks = scratch_.depths.of(pick.slot);
    reservation.recorded = true;
    index_.record(reservation.holder, query.blocks);
  }
  if (policy_->predicts()) {
    const Expected& expected = scratch_.expected[pick.slot];
    reservation.predicted = true;
    reservation.work = {.prompt_tokens = query.prompt_tokens,
                        .uncached_tokens = expected.uncached_tokens};
    reservation.expected_load = expected.load;
    reservation.hashed_tokens = expected.hashed_tokens;
    reservation.held_tokens = expected.held_tokens;
    reservation.picked_at = query.now;
    columns_.ttft_model(pick.slot).begin(reservation.work);
  }
  return reservation;
}

bool Chooser::reserve(const Query& query, Slot slot) {
  if (query.in_flight_max != 0) {
    return columns_.try_begin(slot, query.prompt_tokens, query.in_flight_max);
  }
  columns_.begin(slot, query.prompt_tokens);
  return true;
}

// Room that others wait for is theirs: whoever comes later would overtake them.
void Chooser::leave_out_full(const Query& query) {
  std::erase_if(scratch_.candidates, [&](Slot slot) {
    return columns_.in_flight(slot) >= query.in_flight_max ||
           (!query.in_line && columns_.lines(slot) > 0);
  });
}

Explanation Chooser::explain(const Query& query, const Reservation& pick, base::Random& random) {
  const Context context{query, columns_, index_, random, scratch_, policy_->scorers()};
  Explanation explanation{.policy = policy_->name(),
                          .reason = pick.reason,
                          .candidates = static_cast<uint32_t>(query.model->slots.size()),
                          .blocks = static_cast<uint32_t>(query.blocks.size())};
  std::vector<Slot>& candidates = scratch_.candidates;
  explanation.filtered = explanation.candidates - static_cast<uint32_t>(candidates.size());
  for (const Scorer* scorer : policy_->scorers()) {
    explanation.scorers[explanation.scorer_count++] = scorer->name();
  }
  const auto row = [&](Slot slot) {
    Explanation::Row out{.slot = slot};
    for (size_t i = 0; i < explanation.scorer_count; ++i) out.scores[i] = scratch_.scores[i][slot];
    return out;
  };
  explain_left_out(context, explanation);
  explanation.chosen = row(pick.slot());
  std::erase(candidates, pick.slot());
  for (size_t i = policy_->picker().columns_of_all(); i < explanation.scorer_count; ++i) {
    context.score(i, candidates);
  }
  const size_t count = std::min(candidates.size(), Explanation::kOthersMax);
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(count),
                    candidates.end(), [&](Slot a, Slot b) {
                      if (policy_->picker().prefers(context, a, b)) return true;
                      return !policy_->picker().prefers(context, b, a) && a < b;
                    });
  for (size_t i = 0; i < count; ++i) explanation.others[i] = row(candidates[i]);
  explanation.other_count = count;
  return explanation;
}

void Chooser::explain_left_out(const Context& context, Explanation& explanation) const {
  const std::vector<Slot>& kept = scratch_.candidates;  // in the order of the model's slots
  auto next_kept = kept.begin();
  for (const Slot slot : context.query.model->slots) {
    if (next_kept != kept.end() && *next_kept == slot) {
      ++next_kept;
      continue;
    }
    if (explanation.left_out_count == Explanation::kLeftOutMax) return;
    explanation.left_out[explanation.left_out_count++] = {slot, why_left_out(context, slot)};
  }
}

std::string_view Chooser::why_left_out(const Context& context, Slot slot) const {
  for (const Filter* filter : policy_->filters()) {
    const std::string_view why = filter->why(context, slot);
    if (!why.empty()) return why;
  }
  const uint32_t most = context.query.in_flight_max;
  if (most != 0 && columns_.in_flight(slot) >= most) return "full";
  return "over by now";  // what a filter saw
}

void Chooser::first_byte(Reservation& reservation) {
  if (!reservation.awaits_first_byte) return;
  reservation.awaits_first_byte = false;
  if (reservation.predicted) columns_.ttft_model(reservation.slot()).first_byte(reservation.work);
}

void Chooser::first_token(const Reservation& reservation, base::TimePoint now) {
  if (!reservation.awaits_first_byte || !reservation.predicted) return;
  columns_.ttft_model(reservation.slot())
      .learn({.load = reservation.expected_load, .took = now - reservation.picked_at}, now);
}

void Chooser::whole_answer(const Reservation& reservation, uint32_t tokens, base::TimePoint at) {
  if (!reservation.open || !reservation.predicted) return;
  columns_.ttft_model(reservation.slot())
      .learn(
          {.load = reservation.expected_load, .tokens = tokens, .took = at - reservation.picked_at},
          at);
}

void Chooser::reported(const Reservation& reservation, const ReportedPrompt& prompt) {
  if (!reservation.predicted) return;
  columns_.ttft_model(reservation.slot())
      .learn_cached({.prompt_tokens = prompt.tokens,
                     .cached_tokens = prompt.cached,
                     .predicted_prompt_tokens = reservation.prompt_tokens,
                     .hashed_tokens = reservation.hashed_tokens,
                     .held_tokens = reservation.held_tokens});
}

void Chooser::finish(Reservation& reservation) {
  SOFT_CHECK(reservation.open, "a reservation was ended twice");
  if (!reservation.open) return;
  reservation.open = false;
  first_byte(reservation);
  columns_.end(reservation.slot());
  if (reservation.predicted) columns_.ttft_model(reservation.slot()).end(reservation.work);
}

void Chooser::undo(Reservation& reservation, std::span<const uint64_t> blocks) {
  if (reservation.open) {
    columns_.take_back_given(reservation.slot(), reservation.prompt_tokens);
    if (reservation.predicted) columns_.ttft_model(reservation.slot()).take_back(reservation.work);
    if (reservation.recorded) index_.undo(reservation.holder, blocks);
  }
  finish(reservation);
}

}  // namespace fairlead::pick
