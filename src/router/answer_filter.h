// AnswerFilter: what of an engine's answer goes to the client, in which framing. Pure: bytes in,
// pieces out.
//
// The usual read is one or more whole chunks of whole events with nothing to cut: its bytes are
// passed on as they are, framing included, after two byte searches. Otherwise events are put
// together again: the chunk that only carries the usage we asked for is cut out, and an event that
// is not complete yet waits for its rest, so that the client's stream always stands between two
// events when the engine breaks off.
//
//   AnswerFilter filter({.body = head.body, .length = head.content_length, .events = true});
//   auto taken = filter.take(bytes, pieces);    // show what was not consumed again, in front
//   if (taken.status == AnswerFilter::Status::kEnd) ...
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/sse.h"
#include "net/http_body.h"
#include "rt/pooled.h"

namespace fairlead::router {

// What is written to a peer, piece by piece.
using Pieces = rt::PooledVector<iovec>;

class AnswerFilter {
 public:
  enum class Client : uint8_t { kChunked, kPlain };  // kPlain: counted, or until close

  struct Options {
    net::BodyKind body = net::BodyKind::kNone;
    uint64_t length = 0;
    bool events = false;     // text/event-stream
    bool cut_usage = false;  // the client did not ask for the usage chunk
    Client client = Client::kChunked;
  };

  enum class Status : uint8_t { kMore, kEnd, kError };
  struct Taken {
    Status status = Status::kMore;
    size_t consumed = 0;
  };

  explicit AnswerFilter(const Options& options);

  // Appends to `out` what goes to the client: views of `bytes` and of this filter, valid until the
  // next call. Call with what was left and more until kEnd.
  Taken take(std::string_view bytes, Pieces& out);
  // The engine closed the connection: kEnd if that is how its answer ends, else kError.
  Status close(Pieces& out);
  // The engine broke off a stream of events that had begun: ends it with an error event and [DONE],
  // unless [DONE] had come already and the client has all there is.
  void break_off(std::string_view error_json, Pieces& out);

  // The last usage that the answer reported.
  const std::optional<codec::Usage>& usage() const { return usage_; }
  const Options& options() const { return options_; }
  // How many pieces of data the last take() met, [DONE] not among them: of a stream, about as many
  // events.
  size_t pieces() const { return data_.size() - (done_ && !data_.empty() ? 1 : 0); }
  // The body ended in order.
  bool ended() const { return ended_; }

 private:
  struct Decoded {
    net::BodyDecoder::Status status = net::BodyDecoder::Status::kMore;
    size_t consumed = 0;
    bool began_between_chunks = true;
    bool whole_events = true;  // every piece of data ends with an event
  };
  Decoded decode(std::string_view bytes);
  bool passes_as_is(std::string_view bytes, const Decoded& decoded) const;
  void take_events(Pieces& out);
  void take_data(Pieces& out);
  void emit_data(std::string_view data, Pieces& out);
  void emit_end(Pieces& out);
  void note_usage(std::string_view bytes);
  void keep_tail(std::string_view data);
  void note_usage_of_json();

  Options options_;
  net::BodyDecoder decoder_;
  codec::SseSplitter splitter_;
  bool splitting_ = true;  // until an event is too large to hold
  bool ended_ = false;
  bool done_ = false;                        // the client's last event is [DONE]
  rt::PooledVector<std::string_view> data_;  // of the bytes being taken
  rt::PooledString events_;
  std::string chunk_size_;  // short enough to need no memory of its own
  rt::PooledString tail_;
  std::optional<codec::Usage> usage_;
};

// Does the data begin with an event that is an error object with a 5xx code (or none)? Nothing
// until the first event is complete; not an error once `data` exceeds what a first event may hold.
enum class FirstEvent : uint8_t { kIncomplete, kError, kGood };
FirstEvent classify_first_event(std::string_view data);

}  // namespace fairlead::router
