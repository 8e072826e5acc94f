#include "bench/answer.h"

#include <algorithm>

namespace fairlead::bench {
namespace {

// Is there a `key` whose value is a string that is not empty? Within JSON text a quote is escaped,
// so `key` with its closing quote and colon is found only where it is a key.
bool has_text(std::string_view event, std::string_view key) {
  for (size_t at = event.find(key); at != std::string_view::npos; at = event.find(key, at)) {
    at += key.size();
    const size_t value = event.find_first_not_of(' ', at);
    if (value == std::string_view::npos || value + 1 >= event.size()) return false;
    if (event[value] == '"' && event[value + 1] != '"') return true;
  }
  return false;
}

}  // namespace

bool carries_token(std::string_view event) {
  // `content":` also ends "reasoning_content":, and "reasoning": is what newer engines write.
  return has_text(event, "content\":") || has_text(event, "\"text\":") ||
         has_text(event, "\"reasoning\":") || codec::mentions(event, "\"tool_calls\":[{");
}

void append_content(std::string_view json, std::string& out) {
  constexpr std::string_view kKey = "\"content\":";
  for (size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at)) {
    at += kKey.size();
    const size_t value = json.find_first_not_of(' ', at);
    if (value == std::string_view::npos) return;
    if (json[value] != '"') continue;
    size_t end = value + 1;
    while (end < json.size() && json[end] != '"') {
      if (static_cast<unsigned char>(json[end]) < 0x20) return;
      end += json[end] == '\\' ? 2 : 1;
    }
    if (end < json.size()) out += json.substr(value + 1, end - value - 1);
    return;
  }
}

void AnswerReader::begin(Streaming streaming, int status, workload::Histogram& gaps,
                         std::string* text) {
  streaming_ = streaming;
  status_ = status;
  gaps_ = &gaps;
  text_ = text;
  splitter_ = codec::SseSplitter();
  body_.clear();
  first_token_ = last_token_ = pause_max_ = base::Nanos(0);
  tokens_ = 0;
  usage_.reset();
  done_ = error_ = broken_ = false;
}

bool AnswerReader::feed(std::string_view bytes, base::Nanos at) {
  if (status_ / 100 != 2) return true;  // read past, to keep the connection
  if (streaming_ == Streaming::kYes) {
    broken_ = broken_ || !splitter_.feed(bytes, [&](std::string_view e) { take_event(e, at); });
  } else {
    broken_ = broken_ || body_.size() + bytes.size() > kBodyBytesMax;
    if (!broken_) body_ += bytes;
  }
  return !broken_;
}

void AnswerReader::take_event(std::string_view event, base::Nanos at) {
  if (carries_token(event)) {
    if (tokens_++ == 0) {
      first_token_ = at;
    } else {
      gaps_->add(at - last_token_);
      pause_max_ = std::max(pause_max_, at - last_token_);
    }
    last_token_ = at;
    if (text_ != nullptr) append_content(event, *text_);
  }
  const bool usage = codec::mentions(event, "\"usage\":");
  const bool error = codec::mentions(event, "\"error\":");
  if (!usage && !error) {
    done_ = done_ || codec::mentions(event, "[DONE]");
    return;
  }
  const codec::ChunkScan scan = codec::scan_chunk(codec::sse_data(event, joined_));
  if (scan.usage) usage_ = scan.usage;
  error_ = error_ || scan.is_error;
}

void AnswerReader::end() {
  if (streaming_ == Streaming::kYes || status_ / 100 != 2) return;
  const codec::ChunkScan scan = codec::scan_chunk(body_);
  if (text_ != nullptr) append_content(body_, *text_);
  usage_ = scan.usage;
  done_ = scan.usage.has_value() || (codec::mentions(body_, "\"choices\":") && !scan.is_error);
}

workload::Outcome AnswerReader::outcome() const {
  if (status_ / 100 != 2) return workload::Outcome::kHttpStatus;
  if (error_) return workload::Outcome::kStreamError;
  return done_ && !broken_ ? workload::Outcome::kOk : workload::Outcome::kProtocol;
}

}  // namespace fairlead::bench
