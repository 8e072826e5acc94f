// For tests with hostile bytes: changes valid messages at random, and reads requests by a reading
// of RFC 9112 of its own, to compare the router's with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace fairlead::router {

// `bytes` with one to four changes: bits, bytes and ranges changed, dropped, repeated or cut off,
// pieces of HTTP put in.
std::string mutate(std::string bytes, base::Random& random);

// The bodies of the requests in `bytes`, as far as their framing is beyond doubt.
std::vector<std::string> reference_bodies(std::string_view bytes);

// Answers as a client reads them.
struct ParsedAnswers {
  struct Answer {
    int status = 0;
    std::string body;
  };
  std::vector<Answer> answers;
  bool whole = false;   // nothing is left over
  std::string problem;  // where it is not HTTP
};
ParsedAnswers parse_answers(std::string_view bytes);

}  // namespace fairlead::router
