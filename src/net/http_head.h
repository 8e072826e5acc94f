// HTTP/1.1 message heads, strictly by RFC 9112: what is ambiguous is refused, so that every hop
// frames a message in the same way (no request smuggling). Refused are: bare LF or CR, obsolete
// folding, space before a colon, control characters, Content-Length that is repeated, listed or not
// all digits, Content-Length together with Transfer-Encoding, any coding but a single "chunked",
// chunked in HTTP/1.0, a Host that is missing in HTTP/1.1, repeated or no host.
//
// A head holds views into the parsed bytes; its field list keeps its memory when it is parsed
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace fairlead::net {

struct HeadLimits {
  size_t head_bytes_max = 32 * 1024;
  size_t target_bytes_max = 8 * 1024;
  size_t fields_max = 100;
};

struct Field {
  std::string_view name;
  std::string_view value;
};

enum class BodyKind : uint8_t { kNone, kLength, kChunked, kUntilClose };

struct Head {
  std::vector<Field> fields;
  int minor_version = 1;
  BodyKind body = BodyKind::kNone;
  uint64_t content_length = 0;
  bool keep_alive = true;

  // The first field of that name, compared without case; nullptr if there is none.
  const Field* find(std::string_view name) const;
  std::string_view value(std::string_view name) const;  // "" if absent
};

struct RequestHead : Head {
  std::string_view method;
  std::string_view target;  // as sent
  std::string_view path;    // of the target, before '?'
  bool expect_continue = false;
  bool upgrade = false;
  Address peer;  // who sent it; not the parser's to know
};

struct ResponseHead : Head {
  int status = 0;
};

// Finds the blank line that ends a head, reading on where the last call stopped.
class HeadScanner {
 public:
  enum class Status : uint8_t { kMore, kComplete, kBareLf, kTooLarge };
  Status scan(std::string_view bytes, const HeadLimits& limits);
  // After kComplete: the bytes of the head with its blank line.
  size_t head_bytes() const { return position_; }
  void reset() { position_ = line_start_ = 0; }

 private:
  size_t position_ = 0;
  size_t line_start_ = 0;
};

// What to answer to a head that is refused.
struct HeadError {
  int status = 0;  // 0: none
  const char* message = "";
  explicit operator bool() const { return status != 0; }
};

// `head` ends with its blank line; an empty line before the request line was skipped by the caller.
HeadError parse_request_head(std::string_view head, const HeadLimits& limits, RequestHead& out);
// `to_head_request`: the answer to HEAD has no body whatever it says. A HeadError is a broken peer.
enum class AnswerTo : uint8_t { kHead, kOther };
HeadError parse_response_head(std::string_view head, const HeadLimits& limits, AnswerTo request,
                              ResponseHead& out);

bool equals_ignoring_case(std::string_view a, std::string_view b);
// Does the comma-separated list contain the token (without case)?
bool list_contains(std::string_view list, std::string_view token);
std::string_view reason_phrase(int status);
// True for Connection, Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade and what
// `connection` (the value of the Connection field) names: not for the next hop.
bool is_hop_by_hop(std::string_view name, std::string_view connection);

}  // namespace fairlead::net
