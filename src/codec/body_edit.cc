#include "codec/body_edit.h"

#include <algorithm>

#include "base/check.h"
#include "codec/json.h"

namespace fairlead::codec {

void BodyEdits::set(std::string_view key, BodySpan current, std::string_view json) {
  if (current.present()) {
    replaced_.push_back({current.offset, current.length, std::string(json)});
    return;
  }
  if (!added_.empty()) added_.push_back(',');
  append_json_string(added_, key);
  added_.append(":").append(json);
}

void BodyEdits::request_usage(std::string_view body) {
  if (scan_.include_usage) return;
  const std::string_view options = scan_.stream_options.in(body);
  if (options.empty() || options == "null") {
    set("stream_options", scan_.stream_options, R"({"include_usage":true})");
  } else if (scan_.include_usage_span.present()) {
    set("include_usage", scan_.include_usage_span, "true");
  } else if (options.front() == '{') {
    const bool has_members = options.find('"') != std::string_view::npos;
    replaced_.push_back({scan_.stream_options.offset + 1, 0,
                         has_members ? R"("include_usage":true,)" : R"("include_usage":true)"});
  }
}

std::vector<Splice> BodyEdits::splices() const {
  std::vector<Splice> splices = replaced_;
  if (!added_.empty()) {
    splices.push_back({scan_.after_brace, 0, scan_.has_members ? added_ + ',' : added_});
  }
  std::sort(splices.begin(), splices.end(),
            [](const Splice& a, const Splice& b) { return a.offset < b.offset; });
  return splices;
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
