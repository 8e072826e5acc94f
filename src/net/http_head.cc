#include "net/http_head.h"

#include <array>
#include <cstring>

#include "base/ascii.h"

namespace fairlead::net {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kToken = make_token_table();

bool is_token(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!kToken[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

// What may stand in a host and port (RFC 3986 3.2.2), without a reading of its own.
constexpr std::array<bool, 256> make_host_table() {
  std::array<bool, 256> table = make_token_table();
  for (const char c : std::string_view("#^`|")) table[static_cast<unsigned char>(c)] = false;
  for (const char c : std::string_view("(),;=:[]")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kHost = make_host_table();

bool is_host(std::string_view text) {
  for (const char c : text) {
    if (!kHost[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

// Visible characters, space, tab and bytes past ASCII.
bool is_field_value(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
  }
  return true;
}

// Takes a line off the front; the head scanner has seen that lines end in CRLF.
std::string_view take_line(std::string_view& rest) {
  const size_t lf = rest.find('\n');
  const std::string_view line = rest.substr(0, lf - 1);
  rest.remove_prefix(lf + 1);
  return line;
}

// What the framing fields said; a second one of a kind is an error.
struct FramingFields {
  bool has_length = false;
  bool has_coding = false;
  uint64_t length = 0;
  std::string_view coding;
  bool says_close = false;
  bool says_keep_alive = false;
};

HeadError take_length(std::string_view value, FramingFields& framing) {
  constexpr size_t kDigitsMax = 18;
  if (framing.has_length) return {400, "repeated Content-Length"};
  if (value.empty() || value.size() > kDigitsMax) return {400, "invalid Content-Length"};
  for (const char c : value) {
    if (c < '0' || c > '9') return {400, "invalid Content-Length"};
    framing.length = framing.length * 10 + static_cast<uint64_t>(c - '0');
  }
  framing.has_length = true;
  return {};
}

HeadError take_field(std::string_view line, Field& field) {
  if (line.front() == ' ' || line.front() == '\t') return {400, "obsolete line folding"};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {400, "header line without a colon"};
  field.name = line.substr(0, colon);
  if (!is_token(field.name)) return {400, "invalid header name"};
  field.value = base::trimmed(line.substr(colon + 1));
  if (!is_field_value(field.value)) return {400, "invalid header value"};
  return {};
}

HeadError parse_fields(std::string_view rest, const HeadLimits& limits, Head& out,
                       FramingFields& framing) {
  out.fields.clear();
  for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
    if (out.fields.size() == limits.fields_max) return {431, "too many header fields"};
    Field field;
    if (const HeadError error = take_field(line, field)) return error;
    out.fields.push_back(field);
    switch (field.name.size()) {
      case 10:
        if (!equals_ignoring_case(field.name, "connection")) break;
        framing.says_close |= list_contains(field.value, "close");
        framing.says_keep_alive |= list_contains(field.value, "keep-alive");
        break;
      case 14:
        if (equals_ignoring_case(field.name, "content-length")) {
          if (const HeadError error = take_length(field.value, framing)) return error;
        }
        break;
      case 17:
        if (equals_ignoring_case(field.name, "transfer-encoding")) {
          if (framing.has_coding) return {400, "repeated Transfer-Encoding"};
          framing.has_coding = true;
          framing.coding = field.value;
        }
        break;
      default:
        break;
    }
  }
  return {};
}

HeadError apply_framing(const FramingFields& framing, Head& out) {
  if (framing.has_coding) {
    if (framing.has_length) return {400, "both Content-Length and Transfer-Encoding"};
    if (out.minor_version == 0) return {400, "Transfer-Encoding in HTTP/1.0"};
    if (!equals_ignoring_case(framing.coding, "chunked"))
      return {501, "unsupported Transfer-Encoding"};
    out.body = BodyKind::kChunked;
  } else if (framing.has_length) {
    out.body = BodyKind::kLength;
    out.content_length = framing.length;
  }
  out.keep_alive = !framing.says_close && (out.minor_version == 1 || framing.says_keep_alive);
  return {};
}

HeadError parse_version(std::string_view version, int& minor) {
  if (version.size() != 8 || !version.starts_with("HTTP/")) return {400, "invalid HTTP version"};
  if (version[5] != '1') return {505, "only HTTP/1.1 is spoken here"};
  if (version[6] != '.' || (version[7] != '0' && version[7] != '1'))
    return {400, "invalid HTTP version"};
  minor = version[7] - '0';
  return {};
}

HeadError parse_target(std::string_view target, const HeadLimits& limits, RequestHead& out) {
  if (target.size() > limits.target_bytes_max) return {414, "request target too long"};
  for (const char c : target) {
    if (c <= ' ' || c >= 0x7f) return {400, "invalid request target"};
  }
  out.target = target;
  if (target == "*" && out.method == "OPTIONS") {
    out.path = target;
    return {};
  }
  // The absolute form names the host again; what counts is its path.
  if (target.starts_with("http://")) {
    const size_t slash = target.find('/', 7);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (target.empty() || target[0] != '/') return {400, "invalid request target"};
  if (target.find('#') != std::string_view::npos) return {400, "invalid request target"};
  out.path = target.substr(0, target.find('?'));
  return {};
}

HeadError check_request_fields(RequestHead& out) {
  int hosts = 0;
  for (const Field& field : out.fields) {
    if (field.name.size() == 4 && equals_ignoring_case(field.name, "host")) {
      if (!is_host(field.value)) return {400, "invalid Host"};
      ++hosts;
    }
    if (field.name.size() == 7 && equals_ignoring_case(field.name, "upgrade")) out.upgrade = true;
    if (field.name.size() == 6 && equals_ignoring_case(field.name, "expect")) {
      if (!equals_ignoring_case(field.value, "100-continue")) return {417, "unknown expectation"};
      out.expect_continue = out.minor_version == 1;
    }
  }
  if (hosts > 1 || (hosts == 0 && out.minor_version == 1)) return {400, "Host must be sent once"};
  return {};
}

}  // namespace

const Field* Head::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

std::string_view Head::value(std::string_view name) const {
  const Field* field = find(name);
  return field == nullptr ? std::string_view() : field->value;
}

HeadScanner::Status HeadScanner::scan(std::string_view bytes, const HeadLimits& limits) {
  while (position_ < bytes.size()) {
    const void* found = std::memchr(bytes.data() + position_, '\n', bytes.size() - position_);
    if (found == nullptr) {
      position_ = bytes.size();
      break;
    }
    const auto lf = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    if (lf == line_start_ || bytes[lf - 1] != '\r') return Status::kBareLf;
    const bool blank = lf == line_start_ + 1;
    position_ = line_start_ = lf + 1;
    if (position_ > limits.head_bytes_max) return Status::kTooLarge;
    if (blank) return Status::kComplete;
  }
  return bytes.size() >= limits.head_bytes_max ? Status::kTooLarge : Status::kMore;
}

HeadError parse_request_head(std::string_view head, const HeadLimits& limits, RequestHead& out) {
  out.body = BodyKind::kNone;
  out.content_length = 0;
  out.expect_continue = out.upgrade = false;
  const std::string_view line = take_line(head);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {400, "invalid request line"};
  out.method = line.substr(0, first);
  if (!is_token(out.method)) return {400, "invalid method"};
  if (const HeadError error = parse_version(line.substr(last + 1), out.minor_version)) return error;
  if (const HeadError error = parse_target(line.substr(first + 1, last - first - 1), limits, out)) {
    return error;
  }
  FramingFields framing;
  if (const HeadError error = parse_fields(head, limits, out, framing)) return error;
  if (const HeadError error = apply_framing(framing, out)) return error;
  return check_request_fields(out);
}

HeadError parse_response_head(std::string_view head, const HeadLimits& limits, AnswerTo request,
                              ResponseHead& out) {
  out.body = BodyKind::kNone;
  out.content_length = 0;
  const std::string_view line = take_line(head);
  // "HTTP/1.1 200" with an optional reason.
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) {
    return {502, "invalid status line"};
  }
  if (parse_version(line.substr(0, 8), out.minor_version)) return {502, "invalid status line"};
  if (!is_field_value(line)) return {502, "invalid status line"};
  out.status = 0;
  for (const char c : line.substr(9, 3)) {
    if (c < '0' || c > '9') return {502, "invalid status"};
    out.status = out.status * 10 + (c - '0');
  }
  if (out.status < 100 || out.status > 599) return {502, "invalid status"};
  FramingFields framing;
  if (const HeadError error = parse_fields(head, limits, out, framing)) return {502, error.message};
  if (const HeadError error = apply_framing(framing, out)) return {502, error.message};
  const bool no_body =
      request == AnswerTo::kHead || out.status < 200 || out.status == 204 || out.status == 304;
  if (no_body) {
    out.body = BodyKind::kNone;
  } else if (!framing.has_coding && !framing.has_length) {
    out.body = BodyKind::kUntilClose;
    out.keep_alive = false;
  }
  return {};
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (base::lowered(a[i]) != base::lowered(b[i])) return false;
  }
  return true;
}

bool list_contains(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (equals_ignoring_case(base::trimmed(list.substr(0, comma)), token)) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

bool is_hop_by_hop(std::string_view name, std::string_view connection) {
  switch (name.size()) {
    case 2:
      if (equals_ignoring_case(name, "te")) return true;
      break;
    case 7:
      if (equals_ignoring_case(name, "trailer") || equals_ignoring_case(name, "upgrade"))
        return true;
      break;
    case 10:
      if (equals_ignoring_case(name, "connection") || equals_ignoring_case(name, "keep-alive"))
        return true;
      break;
    case 16:
      if (equals_ignoring_case(name, "proxy-connection")) return true;
      break;
    case 17:
      if (equals_ignoring_case(name, "transfer-encoding")) return true;
      break;
    case 18:
      if (equals_ignoring_case(name, "proxy-authenticate")) return true;
      break;
    case 19:
      if (equals_ignoring_case(name, "proxy-authorization")) return true;
      break;
    default:
      break;
  }
  return !connection.empty() && list_contains(connection, name);
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace fairlead::net
