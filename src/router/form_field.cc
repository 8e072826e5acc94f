#include "router/form_field.h"

#include <optional>
#include <string>

#include "base/ascii.h"
#include "net/http_head.h"

namespace fairlead::router {
namespace {

constexpr size_t kNotFound = std::string_view::npos;
constexpr std::string_view kFormLineEnd = "\r\n";
constexpr std::string_view kBlankLine = "\r\n\r\n";

// Of `form-data; name="x"` the value of a parameter; the last one of that name.
std::optional<std::string_view> parameter(std::string_view field, std::string_view name) {
  std::optional<std::string_view> found;
  for (size_t at = field.find(';'); at != kNotFound; at = field.find(';')) {
    field.remove_prefix(at + 1);
    const size_t equals = field.find_first_of("=;");
    if (equals == kNotFound || field[equals] == ';') continue;
    const std::string_view key = base::trimmed(field.substr(0, equals));
    field.remove_prefix(equals + 1);
    std::string_view value = base::trimmed(field.substr(0, field.find(';')));
    if (base::trimmed(field).starts_with('"')) {
      field.remove_prefix(field.find('"') + 1);
      const size_t close = field.find('"');
      if (close == kNotFound) break;
      value = field.substr(0, close);
      field.remove_prefix(close + 1);
    }
    if (net::equals_ignoring_case(key, name)) found = value;
  }
  return found;
}

// The value of Content-Disposition among the lines of a part's head.
std::string_view disposition(std::string_view head) {
  for (;;) {
    const size_t end = head.find(kFormLineEnd);
    const std::string_view line = head.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != kNotFound &&
        net::equals_ignoring_case(base::trimmed(line.substr(0, colon)), "content-disposition")) {
      return line.substr(colon + 1);
    }
    if (end == kNotFound) return {};
    head.remove_prefix(end + kFormLineEnd.size());
  }
}

// Where the next "CRLF delimiter" lies that is followed by the end of its line or of the form.
size_t find_delimiter(std::string_view body, std::string_view line_delimiter) {
  size_t at = body.find(line_delimiter);
  while (at != kNotFound) {
    const std::string_view behind = body.substr(at + line_delimiter.size());
    if (behind.starts_with(kFormLineEnd) || behind.starts_with("--")) break;
    at = body.find(line_delimiter, at + 1);
  }
  return at;
}

}  // namespace

std::string_view form_field(std::string_view content_type, std::string_view body,
                            std::string_view name) {
  const std::string_view boundary = parameter(content_type, "boundary").value_or("");
  if (boundary.empty()) return {};
  const std::string line_delimiter = std::string("\r\n--").append(boundary);
  const std::string_view delimiter = std::string_view(line_delimiter).substr(kFormLineEnd.size());
  if (!body.starts_with(delimiter)) return {};
  std::string_view found;
  body.remove_prefix(delimiter.size());
  while (body.starts_with(kFormLineEnd)) {
    const size_t blank = body.find(kBlankLine);
    if (blank == kNotFound) break;
    const std::string_view head = body.substr(0, blank);
    body.remove_prefix(blank + kBlankLine.size());
    const size_t end = find_delimiter(body, line_delimiter);
    if (end == kNotFound) break;
    const std::string_view value = body.substr(0, end);
    body.remove_prefix(end + line_delimiter.size());
    const std::string_view says = disposition(head);
    if (parameter(says, "name") == name && !parameter(says, "filename") &&
        !parameter(says, "filename*")) {
      found = value;
    }
  }
  return found;
}

}  // namespace fairlead::router
