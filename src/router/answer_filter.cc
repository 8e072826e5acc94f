#include "router/answer_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/append.h"
#include "net/stream.h"

namespace fairlead::router {
namespace {

using DecoderStatus = net::BodyDecoder::Status;

// An event that has not ended after this many bytes is passed on in parts.
constexpr base::Bytes kEventHeldMax{256u << 10};
constexpr size_t kFirstEventMax = 16 * 1024;
// The usage of a JSON answer stands within its last bytes.
constexpr size_t kTailBytes = 2048;
constexpr std::string_view kUsage = "\"usage\"";
constexpr std::string_view kNoChoices = "\"choices\":[]";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::string_view kCrLf = "\r\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";

bool ends_event(std::string_view data) {
  return data.ends_with("\n\n") || data.ends_with("\n\r\n");
}

// The {...} of `"usage": {...}` at the end of a JSON answer.
std::string_view usage_object(std::string_view tail) {
  const size_t key = tail.rfind(kUsage);
  if (key == std::string_view::npos) return {};
  const size_t begin = tail.find_first_not_of(": \t\r\n", key + kUsage.size());
  if (begin == std::string_view::npos || tail[begin] != '{') return {};
  size_t depth = 0;
  for (size_t i = begin; i < tail.size(); ++i) {
    if (tail[i] == '{') ++depth;
    if (tail[i] == '}' && --depth == 0) return tail.substr(begin, i + 1 - begin);
  }
  return {};
}

}  // namespace

AnswerFilter::AnswerFilter(const Options& options)
    : options_(options), decoder_(options.body, options.length), splitter_(kEventHeldMax) {
  ended_ = decoder_.ended();
}

AnswerFilter::Decoded AnswerFilter::decode(std::string_view bytes) {
  Decoded result;
  result.began_between_chunks = decoder_.between_chunks();
  data_.clear();
  do {
    const net::BodyDecoder::Step step = decoder_.step(bytes.substr(result.consumed));
    result.consumed += step.consumed;
    result.status = step.status;
    if (step.data.empty()) continue;
    data_.push_back(step.data);
    result.whole_events = result.whole_events && ends_event(step.data);
  } while (result.status == DecoderStatus::kMore);
  return result;
}

bool AnswerFilter::passes_as_is(std::string_view bytes, const Decoded& decoded) const {
  if (options_.client != Client::kChunked || options_.body != net::BodyKind::kChunked) return false;
  if (!decoder_.plain() || !decoded.began_between_chunks || !decoder_.between_chunks())
    return false;
  if (!options_.events || !splitting_) return true;
  if (!decoded.whole_events || !splitter_.pending().empty()) return false;
  return !options_.cut_usage || !codec::mentions(bytes.substr(0, decoded.consumed), kNoChoices);
}

AnswerFilter::Taken AnswerFilter::take(std::string_view bytes, Pieces& out) {
  const Decoded decoded = decode(bytes);
  if (passes_as_is(bytes, decoded)) {
    if (decoded.consumed > 0) out.push_back(net::iovec_of(bytes.substr(0, decoded.consumed)));
    if (!data_.empty()) done_ = data_.back().ends_with(kDone);
    for (const std::string_view data : data_) {
      options_.events ? note_usage(data) : keep_tail(data);
    }
  } else {
    options_.events&& splitting_ ? take_events(out) : take_data(out);
    if (decoded.status == DecoderStatus::kEnd) emit_end(out);
  }
  if (decoded.status == DecoderStatus::kError) return {Status::kError, decoded.consumed};
  if (decoded.status != DecoderStatus::kEnd) return {Status::kMore, decoded.consumed};
  ended_ = true;
  if (!options_.events) note_usage_of_json();
  return {Status::kEnd, decoded.consumed};
}

void AnswerFilter::take_events(Pieces& out) {
  events_.clear();
  for (const std::string_view data : data_) {
    const std::string held(splitter_.pending());
    size_t split = 0;
    const bool holds = splitting_ && splitter_.feed(data, [&](std::string_view event) {
      split += event.size();
      if (codec::mentions(event, kUsage)) {
        std::string joined;
        const codec::ChunkScan scan = codec::scan_chunk(codec::sse_data(event, joined));
        if (scan.usage) usage_ = scan.usage;
        if (options_.cut_usage && scan.usage_only()) return;
      }
      events_ += event;
    });
    // An event too large to hold: from here on all passes in the pieces in which it comes.
    if (!holds)
      events_.append(splitting_ ? (held + std::string(data)).substr(split) : std::string(data));
    splitting_ = holds;
  }
  if (events_.empty()) return;
  done_ = events_.ends_with(kDone);
  emit_data(events_, out);
}

void AnswerFilter::take_data(Pieces& out) {
  if (data_.size() == 1) {
    emit_data(data_[0], out);
  } else if (!data_.empty()) {
    events_.clear();
    for (const std::string_view data : data_) events_ += data;
    emit_data(events_, out);
  }
  for (const std::string_view data : data_) {
    options_.events ? note_usage(data) : keep_tail(data);
  }
}

void AnswerFilter::emit_data(std::string_view data, Pieces& out) {
  if (options_.client == Client::kPlain) {
    out.push_back(net::iovec_of(data));
    return;
  }
  chunk_size_.clear();
  base::append_hex(chunk_size_, data.size());
  chunk_size_ += kCrLf;
  out.push_back(net::iovec_of(chunk_size_));
  out.push_back(net::iovec_of(data));
  out.push_back(net::iovec_of(kCrLf));
}

void AnswerFilter::emit_end(Pieces& out) {
  if (options_.events && splitting_ && !splitter_.pending().empty()) {
    // The engine's last event had no blank line; the client gets it all the same. A chunk of its
    // own may already be in `out`, so sizes must not share memory.
    tail_.assign(
        options_.client == Client::kPlain
            ? std::string(splitter_.pending())
            : fmt::format("{:x}\r\n{}\r\n", splitter_.pending().size(), splitter_.pending()));
    out.push_back(net::iovec_of(tail_));
  }
  if (options_.client == Client::kChunked) out.push_back(net::iovec_of(kLastChunk));
}

AnswerFilter::Status AnswerFilter::close(Pieces& out) {
  if (!decoder_.may_end_by_close()) return Status::kError;
  if (!ended_) emit_end(out);
  ended_ = true;
  if (!options_.events) note_usage_of_json();
  return Status::kEnd;
}

void AnswerFilter::break_off(std::string_view error_json, Pieces& out) {
  if (!done_) {
    // What was split off in parts may stand in the middle of an event.
    events_ = splitting_ ? "" : "\n\n";
    events_.append("data: ").append(error_json).append("\n\n").append(kDone);
    emit_data(events_, out);
  }
  if (options_.client == Client::kChunked) out.push_back(net::iovec_of(kLastChunk));
}

// The last usage among whole events.
void AnswerFilter::note_usage(std::string_view bytes) {
  const size_t key = bytes.rfind(kUsage);
  if (key == std::string_view::npos) return;
  if (bytes.substr(key + kUsage.size()).starts_with(":null")) return;
  std::string joined;
  const size_t before = bytes.rfind("\n\n", key);
  const std::string_view event =
      before == std::string_view::npos ? bytes : bytes.substr(before + 2);
  const std::string_view json = codec::sse_data(event.substr(0, event.find("\n\n") + 2), joined);
  const codec::ChunkScan scan = codec::scan_chunk(json);
  if (scan.usage) usage_ = scan.usage;
}

void AnswerFilter::note_usage_of_json() {
  const std::string_view object = usage_object(tail_);
  if (object.empty()) return;
  rt::PooledString json("{\"usage\":");
  json.append(object).append("}");
  const codec::ChunkScan scan = codec::scan_chunk(json);
  if (scan.usage) usage_ = scan.usage;
}

void AnswerFilter::keep_tail(std::string_view data) {
  if (data.size() >= kTailBytes) {
    tail_.assign(data.substr(data.size() - kTailBytes));
    return;
  }
  if (tail_.size() + data.size() > kTailBytes)
    tail_.erase(0, tail_.size() + data.size() - kTailBytes);
  tail_ += data;
}

FirstEvent classify_first_event(std::string_view data) {
  size_t end = data.find("\n\n");
  if (end == std::string_view::npos) end = data.find("\n\r\n");
  if (end == std::string_view::npos) {
    return data.size() < kFirstEventMax ? FirstEvent::kIncomplete : FirstEvent::kGood;
  }
  const std::string_view event = data.substr(0, end + 2);
  if (!codec::mentions(event, "\"error\"")) return FirstEvent::kGood;
  std::string joined;
  const codec::ChunkScan scan = codec::scan_chunk(codec::sse_data(event, joined));
  if (!scan.is_error) return FirstEvent::kGood;
  return scan.error_code.value_or(500) >= 500 ? FirstEvent::kError : FirstEvent::kGood;
}

}  // namespace fairlead::router
