#include "router/testing/mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/ascii.h"

namespace fairlead::router {
namespace {

constexpr std::array<std::string_view, 40> kPieces = {"\r\n",
                                                      "\n",
                                                      "\r",
                                                      "\r\n\r\n",
                                                      "0\r\n\r\n",
                                                      "5\r\nhello\r\n",
                                                      " ",
                                                      "\t",
                                                      ":",
                                                      ",",
                                                      ";",
                                                      "\"",
                                                      "{",
                                                      "}",
                                                      "[",
                                                      "\\",
                                                      "/",
                                                      "?",
                                                      "#",
                                                      std::string_view("\0", 1),
                                                      "\x7f",
                                                      "\xff",
                                                      "-",
                                                      "+",
                                                      "0",
                                                      "f",
                                                      "99999999999999999999",
                                                      "Content-Length: 5\r\n",
                                                      "Content-Length: 0\r\n",
                                                      "Transfer-Encoding: chunked\r\n",
                                                      "Transfer-Encoding: gzip\r\n",
                                                      "Connection: close\r\n",
                                                      "Connection: content-length\r\n",
                                                      "Expect: 100-continue\r\n",
                                                      "Host: y\r\n",
                                                      " HTTP/1.1",
                                                      " HTTP/1.0",
                                                      "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
                                                      "HTTP/1.1 200 OK\r\n",
                                                      "\r\n folded"};

std::string_view strip(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class T>
bool number(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && text[0] != '-' && error == std::errc() &&
         end == text.data() + text.size();
}

// Takes one line that ends in CRLF; nothing where there is none, or one with another CR or LF.
std::optional<std::string_view> take_line(std::string_view& rest) {
  const size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  if (line.find_first_of("\r\n") != std::string_view::npos) return std::nullopt;
  rest.remove_prefix(end + 2);
  return line;
}

struct Fields {
  std::vector<std::string> lengths;
  std::vector<std::string> codings;
};

std::optional<Fields> take_fields(std::string_view& rest) {
  Fields fields;
  for (;;) {
    const auto line = take_line(rest);
    if (!line) return std::nullopt;
    if (line->empty()) return fields;
    const size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    const std::string name = base::lowered(line->substr(0, colon));
    if (strip(name) != name) return std::nullopt;
    if (name == "content-length") fields.lengths.emplace_back(strip(line->substr(colon + 1)));
    if (name == "transfer-encoding")
      fields.codings.push_back(base::lowered(strip(line->substr(colon + 1))));
  }
}

std::optional<std::string> take_chunks(std::string_view& rest) {
  std::string body;
  for (;;) {
    const auto line = take_line(rest);
    if (!line) return std::nullopt;
    uint64_t size = 0;
    if (!number(strip(line->substr(0, line->find(';'))), 16, size)) return std::nullopt;
    if (size == 0) break;
    if (size > rest.size() || rest.substr(size, 2) != "\r\n") return std::nullopt;
    body += rest.substr(0, size);
    rest.remove_prefix(size + 2);
  }
  for (;;) {  // trailers
    const auto line = take_line(rest);
    if (!line) return std::nullopt;
    if (line->empty()) return body;
  }
}

std::optional<std::string> take_counted(std::string_view& rest, const std::string& length) {
  uint64_t size = 0;
  if (!number(length, 10, size) || size > rest.size()) return std::nullopt;
  std::string body(rest.substr(0, size));
  rest.remove_prefix(size);
  return body;
}

std::optional<std::string> take_request(std::string_view& rest) {
  if (rest.starts_with("\r\n")) rest.remove_prefix(2);
  const auto line = take_line(rest);
  if (!line || std::count(line->begin(), line->end(), ' ') != 2) return std::nullopt;
  const auto fields = take_fields(rest);
  if (!fields || fields->lengths.size() + fields->codings.size() > 1) return std::nullopt;
  if (!fields->lengths.empty()) return take_counted(rest, fields->lengths[0]);
  if (fields->codings.empty()) return std::string();
  if (fields->codings[0] != "chunked") return std::nullopt;
  return take_chunks(rest);
}

}  // namespace

std::string mutate(std::string bytes, base::Random& random) {
  const uint64_t changes = 1 + random.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = random.below(bytes.size() + 1);
    const size_t span = std::min<size_t>(bytes.size() - at, 1 + random.below(20));
    switch (random.below(8)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random.next());
        break;
      case 2:
        bytes.erase(at, span);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, span));
        break;
      case 4:
        if (random.below(4) == 0) bytes.resize(at);
        break;
      case 5: {  // a whole line again, elsewhere
        const size_t start = bytes.rfind('\n', at) + 1;
        const size_t end = bytes.find('\n', at);
        if (end == std::string::npos) break;
        const std::string line = bytes.substr(start, end + 1 - start);
        const size_t other = bytes.find('\n', random.below(bytes.size()));
        bytes.insert(other == std::string::npos ? 0 : other + 1, line);
        break;
      }
      default:
        bytes.insert(at, kPieces[random.below(kPieces.size())]);
        break;
    }
  }
  return bytes;
}

std::vector<std::string> reference_bodies(std::string_view bytes) {
  std::vector<std::string> bodies;
  while (!bytes.empty()) {
    std::optional<std::string> body = take_request(bytes);
    if (!body) break;
    bodies.push_back(std::move(*body));
  }
  return bodies;
}

ParsedAnswers parse_answers(std::string_view bytes) {
  ParsedAnswers parsed;
  while (!bytes.empty()) {
    const auto line = take_line(bytes);
    if (!line) {
      // Cut off in a line, or not HTTP at all.
      const std::string_view start = std::string_view("HTTP/1.1 ").substr(0, bytes.size());
      if (!bytes.starts_with(start)) parsed.problem = "no status line";
      return parsed;
    }
    int status = 0;
    if (!line->starts_with("HTTP/1.1 ") || line->size() < 13 ||
        !number(line->substr(9, 3), 10, status)) {
      parsed.problem = fmt::format("status line '{}'", *line);
      return parsed;
    }
    std::string_view fields_from = bytes;
    const auto fields = take_fields(bytes);
    if (!fields) {
      if (fields_from.find("\r\n\r\n") != std::string_view::npos) parsed.problem = "bad fields";
      return parsed;
    }
    if (status == 100) continue;
    if (fields->lengths.size() + fields->codings.size() > 1) {
      parsed.problem = "framed twice";
      return parsed;
    }
    const bool no_body = status == 204 || status == 304;
    std::optional<std::string> body = std::string();
    if (!fields->codings.empty()) {
      body = take_chunks(bytes);
    } else if (!fields->lengths.empty() && !no_body) {
      body = take_counted(bytes, fields->lengths[0]);
    } else if (!no_body) {
      body = std::string(bytes);  // until it closes
      bytes = {};
    }
    if (!body) return parsed;
    parsed.answers.push_back({status, std::move(*body)});
  }
  parsed.whole = true;
  return parsed;
}

}  // namespace fairlead::router
