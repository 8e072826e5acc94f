#include "codec/body_edit.h"

#include "base/check.h"
#include "codec/json.h"

namespace fairlead::codec {

void BodyEdits::replace(const Splice& splice) {
  CHECK(replaced_ < kReplacedMax, "more edits than there is room for");
  size_t at = 1 + replaced_++;
  for (; at > 1 && splices_[at - 1].offset > splice.offset; --at) splices_[at] = splices_[at - 1];
  splices_[at] = splice;
}

// `members` ends with a comma where others follow.
void BodyEdits::add(std::string_view members) { splices_[0] = {scan_.after_brace, 0, members}; }

void BodyEdits::set(std::string_view key, BodySpan current, std::string_view json) {
  if (current.present()) return replace({current.offset, current.length, json});
  if (added_.empty()) added_ = splices_[0].insert;
  if (!added_.empty() && !scan_.has_members) added_.push_back(',');
  append_json_string(added_, key);
  added_.append(":").append(json);
  if (scan_.has_members) added_.push_back(',');
  add(added_);
}

void BodyEdits::request_usage(std::string_view body) {
  if (scan_.include_usage) return;
  const std::string_view options = scan_.stream_options.in(body);
  if (options.empty() && splices_[0].insert.empty()) {
    add(scan_.has_members ? R"("stream_options":{"include_usage":true},)"
                          : R"("stream_options":{"include_usage":true})");
  } else if (options.empty() || options == "null") {
    set("stream_options", scan_.stream_options, R"({"include_usage":true})");
  } else if (scan_.include_usage_span.present()) {
    set("include_usage", scan_.include_usage_span, "true");
  } else if (options.front() == '{') {
    const bool has_members = options.find('"') != std::string_view::npos;
    replace({scan_.stream_options.offset + 1, 0,
             has_members ? R"("include_usage":true,)" : R"("include_usage":true)"});
  }
}

std::span<const Splice> BodyEdits::splices() const {
  const std::span<const Splice> all = std::span(splices_).first(1 + replaced_);
  return splices_[0].insert.empty() ? all.subspan(1) : all;
}

std::string spliced(std::string_view body, std::span<const Splice> splices) {
  size_t size = body.size();
  for (const Splice& splice : splices) size += splice.insert.size() - splice.remove;
  std::string out;
  out.reserve(size);
  size_t at = 0;
  for (const Splice& splice : splices) {
    CHECK(splice.offset >= at, "splices overlap or are out of order");
    out.append(body.substr(at, splice.offset - at)).append(splice.insert);
    at = splice.offset + splice.remove;
  }
  return out.append(body.substr(at));
}

}  // namespace fairlead::codec
