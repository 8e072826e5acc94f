// Server-sent events: a splitter for a stream of bytes cut anywhere, and what an event of an
// OpenAI-style stream says.
//
//   SseSplitter splitter;
//   bool ok = splitter.feed(bytes, [&](std::string_view event) {
//     if (mentions(event, "\"usage\"")) {           // a byte search before any parsing
//       std::string joined;
//       const ChunkScan chunk = scan_chunk(sse_data(event, joined));
//       if (chunk.usage_only()) return;             // cut it out
//     }
//     forward(event);
//   });
//
// An event ends at an empty line; lines end with LF or CR LF (a lone CR is not taken for an end of
// line: no engine sends one). One stream, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fairlead::codec {

inline constexpr base::Bytes kSseEventBytesMax{16u << 20};

class SseSplitter {
 public:
  explicit SseSplitter(base::Bytes event_max = kSseEventBytesMax) : event_max_(event_max.count) {}

  // Calls on_event for each event that is complete, its ending included; the views joined are the
  // stream, without a byte lost. An event within `bytes` is not copied; the view lasts for the
  // call. False, for good, once an event exceeds the bound.
  template <class OnEvent>
  bool feed(std::string_view bytes, OnEvent&& on_event);

  // The event that is not complete yet; at the end of the stream, the bytes nobody ended.
  std::string_view pending() const { return pending_; }
  bool failed() const { return failed_; }

 private:
  // Just past the first empty line at or after `from`, or npos.
  static size_t find_end(std::string_view bytes, size_t from);

  size_t event_max_;
  std::string pending_;
  bool failed_ = false;
};

// The payload: the data lines joined by LF. A view into `event`, or into `joined` if there are
// many.
std::string_view sse_data(std::string_view event, std::string& joined);

bool mentions(std::string_view bytes, std::string_view needle);

struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  std::optional<uint64_t> cached_tokens;  // absent unless the engine reports it

  bool operator==(const Usage&) const = default;
};

// What matters of a chunk, or of a whole JSON answer. All fields are empty for what is no JSON
// object.
struct ChunkScan {
  std::optional<Usage> usage;
  bool choices_empty = false;     // "choices":[]
  bool is_error = false;          // an error object instead of an answer
  std::optional<int> error_code;  // its HTTP-like code, where it has a number

  // The chunk that stream_options.include_usage adds.
  bool usage_only() const { return choices_empty && usage.has_value(); }
};

// Reads the usage of chat and text completions, of the responses API (also within "response") and
// of the messages API (also within "message").
ChunkScan scan_chunk(std::string_view json);

inline bool is_done(std::string_view data) { return data == "[DONE]"; }

template <class OnEvent>
bool SseSplitter::feed(std::string_view bytes, OnEvent&& on_event) {
  if (failed_) return false;
  if (!pending_.empty()) {
    // The end may begin in what is held: look again at its last two bytes.
    const size_t from = pending_.size() < 2 ? 0 : pending_.size() - 2;
    const size_t held = pending_.size();
    pending_.append(bytes);
    const size_t end = find_end(pending_, from);
    if (end == std::string_view::npos) return !(failed_ = pending_.size() > event_max_);
    if (end > event_max_) return !(failed_ = true);
    bytes.remove_prefix(end - held);
    pending_.resize(end);
    on_event(std::string_view(pending_));
    pending_.clear();
  }
  while (true) {
    const size_t end = find_end(bytes, 0);
    const size_t size = end == std::string_view::npos ? bytes.size() : end;
    if (size > event_max_) return !(failed_ = true);
    if (end == std::string_view::npos) break;
    on_event(bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
  pending_.assign(bytes);
  return true;
}

}  // namespace fairlead::codec
