// BodyDecoder: takes a message body out of its HTTP/1.1 framing, piece by piece, wherever the bytes
// were split. Pure: bytes in, views out.
//
//   BodyDecoder body(head.body, head.content_length);
//   while (...) { auto step = body.step(bytes); use(step.data); bytes.remove_prefix(step.consumed);
//   }
//
// Chunked, strictly by RFC 9112 7.1: hexadecimal size of at most 15 digits, CRLF everywhere,
// extensions and trailers read past within a bound. A chunk's size line is consumed only once it is
// whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/http_head.h"

namespace fairlead::net {

class BodyDecoder {
 public:
  enum class Status : uint8_t {
    kMore,   // took a step: call again with what follows
    kInput,  // needs more bytes than there are
    kEnd,    // the body is complete; what follows belongs to the next message
    kError,  // broken framing
  };
  struct Step {
    Status status = Status::kMore;
    size_t consumed = 0;
    std::string_view data;  // body bytes, within the consumed ones; may come with kEnd
  };

  BodyDecoder() = default;
  BodyDecoder(BodyKind kind, uint64_t length)
      : kind_(kind),
        left_(length),
        ended_(kind == BodyKind::kNone || (kind == BodyKind::kLength && length == 0)) {}

  Step step(std::string_view in);
  bool ended() const { return ended_; }
  // What the peer's close means here: the end (kUntilClose or all read), or a truncated message.
  bool may_end_by_close() const { return ended_ || kind_ == BodyKind::kUntilClose; }
  // No chunk so far had extensions and there were no trailers: the raw bytes may be passed on as
  // they are.
  bool plain() const { return plain_; }
  // Chunked: no chunk is begun and not ended.
  bool between_chunks() const { return ended_ || state_ == Chunk::kSize; }
  BodyKind kind() const { return kind_; }

 private:
  enum class Chunk : uint8_t { kSize, kData, kDataEnd, kTrailer };
  Step chunked(std::string_view in);
  Step chunk_size(std::string_view in);
  Step trailer(std::string_view in);

  BodyKind kind_ = BodyKind::kNone;
  Chunk state_ = Chunk::kSize;
  uint64_t left_ = 0;
  uint32_t trailer_bytes_ = 0;
  bool ended_ = true;
  bool plain_ = true;
};

}  // namespace fairlead::net
