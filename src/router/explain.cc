#include "router/explain.h"

#include "codec/json.h"

namespace fairlead::router {
namespace {

void write_row(codec::JsonWriter& out, const pick::Explanation& explanation,
               const pick::Explanation::Row& row, const Snapshot& snapshot) {
  out.key("replica").string(snapshot.by_slot[row.slot]->name);
  for (size_t i = 0; i < explanation.scorer_count; ++i) {
    out.key(explanation.scorers[i]).number(static_cast<double>(row.scores[i]));
  }
}

}  // namespace

std::string explain_json(const pick::Explanation& explanation, const pick::Reservation& pick,
                         const Snapshot& snapshot, uint32_t attempt) {
  size_t others = explanation.other_count;
  size_t left_out = explanation.left_out_count;
  for (;;) {
    std::string json;
    codec::JsonWriter out(json);
    out.begin_object();
    write_row(out, explanation, explanation.chosen, snapshot);
    out.key("reason").string(to_string(explanation.reason));
    out.key("policy").string(explanation.policy);
    out.key("attempt").integer(attempt);
    out.key("candidates").integer(explanation.candidates);
    out.key("filtered").integer(explanation.filtered);
    out.key("prompt_blocks").integer(explanation.blocks);
    out.key("held_blocks").integer(pick.held_blocks);
    out.key("others").begin_array();
    for (size_t i = 0; i < others; ++i) {
      out.begin_object();
      write_row(out, explanation, explanation.others[i], snapshot);
      out.end_object();
    }
    out.end_array();
    out.key("left_out").begin_array();
    for (size_t i = 0; i < left_out; ++i) {
      const pick::Explanation::LeftOut& row = explanation.left_out[i];
      out.begin_object();
      out.key("replica").string(snapshot.by_slot[row.slot]->name);
      out.key("why").string(row.why);
      out.end_object();
    }
    out.end_array();
    out.end_object();
    if (json.size() <= kExplainBytesMax || others + left_out == 0) return json;
    --(others > 0 ? others : left_out);
  }
}

}  // namespace fairlead::router
