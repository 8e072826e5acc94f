// AnswerReader: reads one answer as a load generator needs it, as cheaply as it can be done: when
// the tokens came, how it ended, and the usage. A piece of a stream is looked at with byte
// searches; only one that mentions usage or an error is parsed. Pure: time comes in with the bytes.
//
//   AnswerReader answer({.stream = Streaming::kYes, .status = 200}, gaps);
//   answer.feed(bytes, now - started);
//   answer.end(now - started);
//   sample.outcome = answer.outcome();
//
// A token arrived with an event that carries text, reasoning or a tool call. vLLM's role event,
// which carries none, is not one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "codec/sse.h"
#include "workload/histogram.h"
#include "workload/samples.h"

namespace fairlead::bench {

enum class Streaming : uint8_t { kNo, kYes };

class AnswerReader {
 public:
  // The largest answer that is read whole.
  static constexpr size_t kBodyBytesMax = 64U << 20;

  // For reuse: forgets the last answer. `gaps` receives the time between its tokens, `text`, where
  // given, what the answer says, as the inside of a JSON string.
  void begin(Streaming streaming, int status, workload::Histogram& gaps,
             std::string* text = nullptr);
  // Bytes of the body, and the time since the request started. False once reading on is pointless.
  bool feed(std::string_view bytes, base::Nanos at);
  // The body ended in order.
  void end();

  // kOk, kHttpStatus, kStreamError or kProtocol; before end() of a stream kProtocol.
  workload::Outcome outcome() const;
  // Zero if none came.
  base::Nanos first_token() const { return first_token_; }
  base::Nanos last_token() const { return last_token_; }
  // The longest between two tokens.
  base::Nanos pause_max() const { return pause_max_; }
  const std::optional<codec::Usage>& usage() const { return usage_; }
  // By the usage, else as many events as carried one.
  uint64_t output_tokens() const { return usage_ ? usage_->completion_tokens : tokens_; }

 private:
  void take_event(std::string_view event, base::Nanos at);

  Streaming streaming_ = Streaming::kYes;
  int status_ = 0;
  workload::Histogram* gaps_ = nullptr;
  std::string* text_ = nullptr;
  codec::SseSplitter splitter_;
  std::string body_;  // not streamed
  std::string joined_;
  base::Nanos first_token_{0};
  base::Nanos last_token_{0};
  base::Nanos pause_max_{0};
  uint64_t tokens_ = 0;
  std::optional<codec::Usage> usage_;
  bool done_ = false;    // [DONE], or a whole body that is an answer
  bool error_ = false;   // an error event
  bool broken_ = false;  // no such stream
};

// Does an event carry (part of) a token? Byte searches only.
bool carries_token(std::string_view event);

// Appends the value of the first "content" that is a string, still escaped; nothing if there is
// none, or if it holds bytes that no JSON string may.
void append_content(std::string_view json, std::string& out);

}  // namespace fairlead::bench
