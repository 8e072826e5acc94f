// Cors: which web pages may use the router from a browser (--cors-origins), by the Fetch standard's
// CORS protocol. Off by default. Pure.
//
// Credentials in the browser's sense (cookies) are never allowed: clients send a key in a header,
// which a page must have been given. So "*" lets any page ask, and says nothing about who it is.
// Engines are told no Origin and what they say of it does not pass: the router alone decides.
//
//   const auto cors = Cors::parse("https://chat.example,http://localhost:5173");
//   cors->append_answer_fields(head_out, head);              // to every answer
//   if (Cors::is_preflight(head)) answer(cors->preflight_fields(head, "POST"));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_head.h"

namespace fairlead::router {

class Cors {
 public:
  static constexpr size_t kOriginsMax = 1'000;

  // "*", or origins (scheme://host[:port]), comma separated; "" turns it off. Errors name the entry
  // and what it should be.
  static base::Result<Cors> parse(std::string_view list);

  bool on() const { return any_ || !origins_.empty(); }
  bool allows(std::string_view origin) const;

  // That the page may read the answer, and which of its fields; whole lines. Nothing for a request
  // that no page has sent, or one that may not.
  void append_answer_fields(std::string& out, const net::RequestHead& head) const;

  // The question that a browser asks before a request.
  static bool is_preflight(const net::RequestHead& head);
  // The answer to it beside append_answer_fields, where the path allows `method`: whole lines.
  static std::string preflight_fields(const net::RequestHead& head, std::string_view method);

 private:
  bool any_ = false;
  std::vector<std::string> origins_;
};

}  // namespace fairlead::router
