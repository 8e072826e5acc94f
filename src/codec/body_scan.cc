#include "codec/body_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "codec/json_scanner.h"

namespace fairlead::codec {
namespace {

struct Known {
  std::string_view key;
  BodySpan BodyScan::*span;
};

constexpr std::array<Known, 15> kKnown = {{
    {"model", &BodyScan::model_span},
    {"messages", &BodyScan::messages},
    {"prompt", &BodyScan::prompt},
    {"input", &BodyScan::input},
    {"system", &BodyScan::system},
    {"instructions", &BodyScan::instructions},
    {"tools", &BodyScan::tools},
    {"stream", &BodyScan::stream},
    {"stream_options", &BodyScan::stream_options},
    {"max_tokens", &BodyScan::max_tokens_span},
    {"max_completion_tokens", &BodyScan::max_completion_tokens_span},
    {"n", &BodyScan::n_span},
    {"user", &BodyScan::user},
    {"cache_salt", &BodyScan::cache_salt},
    {"priority", &BodyScan::priority_span},
}};

BodySpan BodyScan::*known_span(std::string_view key) {
  const auto it = std::find_if(kKnown.begin(), kKnown.end(),
                               [&](const Known& known) { return known.key == key; });
  return it == kKnown.end() ? nullptr : it->span;
}

BodySpan BodyScan::*known_span(const JsonText& key) {
  if (!key.escaped) return known_span(key.raw);
  std::string decoded;
  return key.decode(decoded) ? known_span(std::string_view(decoded)) : nullptr;
}

// The inside of a string without escapes, or the scalar itself.
std::string_view unquoted(std::string_view raw) {
  if (raw.size() >= 2 && raw.front() == '"') return raw.substr(1, raw.size() - 2);
  return raw;
}

bool lenient_bool(std::string_view raw) {
  constexpr size_t kLongest = 4;
  if (unquoted(raw).size() > kLongest) return false;
  std::string text(unquoted(raw));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  constexpr std::array<std::string_view, 7> kTrue = {"true", "1", "1.0", "on", "t", "y", "yes"};
  return std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end();
}

std::optional<int64_t> lenient_integer(std::string_view raw) {
  const std::string_view text = unquoted(raw);
  const char* const end = text.data() + text.size();
  int64_t integer = 0;
  const auto whole = std::from_chars(text.data(), end, integer);
  if (whole.ec == std::errc() && whole.ptr == end) return integer;
  double number = 0;
  const auto real = std::from_chars(text.data(), end, number);
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  if (real.ec != std::errc() || real.ptr != end || number != std::trunc(number) ||
      std::abs(number) > kExactMax) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number);
}

BodySpan span_of(std::string_view body, std::string_view value) {
  return {static_cast<size_t>(value.data() - body.data()), value.size()};
}

void read_stream_options(std::string_view body, BodyScan& scan) {
  const std::string_view options = scan.stream_options.in(body);
  if (!options.starts_with('{')) return;
  JsonScanner in(options);
  in.object([&](const JsonText& key) {
    std::string_view value;
    if (!in.skip(value)) return false;
    if (key.equals("include_usage")) scan.include_usage_span = span_of(body, value);
    return true;
  });
  scan.include_usage = lenient_bool(scan.include_usage_span.in(body));
}

}  // namespace

std::string_view body_text(std::string_view body, BodySpan span, std::string& decoded) {
  JsonText text;
  JsonScanner in(span.in(body));
  if (in.peek() != '"' || !in.string(text)) return {};
  if (!text.escaped) return text.raw;
  return text.decode(decoded) ? std::string_view(decoded) : std::string_view();
}

std::string body_text(std::string_view body, BodySpan span) {
  std::string decoded;
  return std::string(body_text(body, span, decoded));
}

base::Result<BodyScan> scan_body(std::string_view body) {
  if (!valid_utf8(body)) return utf8_error(body);
  BodyScan scan;
  JsonScanner in(body);
  if (in.peek() == '{') scan.after_brace = in.offset() + 1;
  const bool ok = in.object([&](const JsonText& key) {
    scan.has_members = true;
    BodySpan BodyScan::*const span = known_span(key);
    std::string_view value;
    if (!in.skip(value)) return false;
    if (span != nullptr) scan.*span = span_of(body, value);
    return true;
  });
  if (!ok || !in.finish()) return in.error();

  scan.streams = lenient_bool(scan.stream.in(body));
  scan.max_tokens = lenient_integer(scan.max_tokens_span.in(body));
  scan.max_completion_tokens = lenient_integer(scan.max_completion_tokens_span.in(body));
  scan.n = lenient_integer(scan.n_span.in(body));
  scan.priority = lenient_integer(scan.priority_span.in(body));
  read_stream_options(body, scan);
  return scan;
}

}  // namespace fairlead::codec
