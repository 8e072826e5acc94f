#include "router/cors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"

namespace fairlead::router {
namespace {

// What clients of OpenAI's API read beside the body: who was asked, and when to come back.
constexpr std::string_view kExposed =
    "Access-Control-Expose-Headers: x-request-id, retry-after, x-should-retry, "
    "x-fairlead-explain\r\n";
// Browsers keep it for two hours at most; what is allowed changes only with a restart.
constexpr std::string_view kMaxAge = "Access-Control-Max-Age: 7200\r\n";

// As browsers send it: lower case, no path.
bool is_origin(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == 0 || colon == std::string_view::npos) return false;
  const auto in_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  const auto in_host = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':' ||
           c == '[' || c == ']' || c == '_';
  };
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view host = text.substr(colon + 3);
  return std::all_of(scheme.begin(), scheme.end(), in_scheme) && !host.empty() &&
         std::all_of(host.begin(), host.end(), in_host);
}

}  // namespace

base::Result<Cors> Cors::parse(std::string_view list) {
  Cors cors;
  for (bool more = !list.empty(); more;) {
    const size_t end = list.find(',');
    const std::string_view entry = base::trimmed(list.substr(0, end));
    more = end != std::string_view::npos;
    if (more) list.remove_prefix(end + 1);
    if (entry == "*") {
      cors.any_ = true;
    } else if (!is_origin(entry)) {
      return base::invalid_argument(fmt::format(
          "'{}' is no origin: scheme://host[:port] in lower case without a path, such as "
          "https://chat.example, or * for all",
          entry));
    } else if (cors.origins_.size() == kOriginsMax) {
      return base::invalid_argument(fmt::format("more than {} origins", kOriginsMax));
    } else {
      cors.origins_.emplace_back(entry);
    }
  }
  if (cors.any_ && !cors.origins_.empty()) {
    return base::invalid_argument("* already allows every origin: give it alone");
  }
  return cors;
}

bool Cors::allows(std::string_view origin) const {
  return any_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

void Cors::append_answer_fields(std::string& out, const net::RequestHead& head) const {
  if (!on()) return;
  if (any_) {
    if (head.find("origin") == nullptr) return;
    out.append("Access-Control-Allow-Origin: *\r\n").append(kExposed);
    return;
  }
  // The answer depends on who asks, and a cache must know it in any case.
  out.append("Vary: Origin\r\n");
  const std::string_view origin = head.value("origin");
  if (origin.empty() || !allows(origin)) return;
  out.append("Access-Control-Allow-Origin: ").append(origin).append("\r\n").append(kExposed);
}

bool Cors::is_preflight(const net::RequestHead& head) {
  return head.method == "OPTIONS" && head.find("origin") != nullptr &&
         head.find("access-control-request-method") != nullptr;
}

std::string Cors::preflight_fields(const net::RequestHead& head, std::string_view method) {
  std::string fields = fmt::format("Access-Control-Allow-Methods: {}\r\n", method);
  // What the page wants to send is a matter between it and the engine. (A "*" would not cover
  // Authorization.)
  const std::string_view wanted = head.value("access-control-request-headers");
  if (!wanted.empty()) {
    fields.append("Access-Control-Allow-Headers: ").append(wanted).append("\r\n");
  }
  fields.append(kMaxAge);
  return fields;
}

}  // namespace fairlead::router
