#include "codec/sse.h"

#include <charconv>
#include <cstring>

#include "codec/json_scanner.h"

namespace fairlead::codec {
namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

template <class T>
std::optional<T> read_number(std::string_view raw) {
  T value = 0;
  const auto [end, ec] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (ec != std::errc() || end != raw.data() + raw.size()) return std::nullopt;
  return value;
}

// Calls on_member(key, value bytes) for each member; nothing for what is no object.
template <class OnMember>
bool each_member(std::string_view json, OnMember on_member) {
  JsonScanner in(json);
  if (in.peek() != '{') return false;
  const bool ok = in.object([&](const JsonText& key) {
    std::string_view value;
    if (!in.skip(value)) return false;
    on_member(key.raw, value);
    return true;
  });
  return ok && in.finish();
}

std::optional<Usage> read_usage(std::string_view json) {
  Usage usage;
  bool counted = false;
  const bool ok = each_member(json, [&](std::string_view key, std::string_view value) {
    if (key == "prompt_tokens" || key == "input_tokens") {
      if (const auto n = read_number<uint64_t>(value)) usage.prompt_tokens = *n, counted = true;
    } else if (key == "completion_tokens" || key == "output_tokens") {
      if (const auto n = read_number<uint64_t>(value)) usage.completion_tokens = *n, counted = true;
    } else if (key == "cache_read_input_tokens") {
      usage.cached_tokens = read_number<uint64_t>(value);
    } else if (key == "prompt_tokens_details" || key == "input_tokens_details") {
      each_member(value, [&](std::string_view name, std::string_view number) {
        if (name == "cached_tokens") usage.cached_tokens = read_number<uint64_t>(number);
      });
    }
  });
  if (!ok || !counted) return std::nullopt;
  return usage;
}

bool is_empty_array(std::string_view value) {
  JsonScanner in(value);
  return in.peek() == '[' && in.array([] { return false; });
}

void read_error(std::string_view error, ChunkScan& chunk) {
  chunk.is_error = true;
  each_member(error, [&](std::string_view key, std::string_view value) {
    if (key == "code") chunk.error_code = read_number<int>(value);
  });
}

}  // namespace

size_t SseSplitter::find_end(std::string_view bytes, size_t from) {
  while (true) {
    const size_t line_end = bytes.find('\n', from);
    if (line_end == std::string_view::npos) return line_end;
    size_t next = line_end + 1;
    if (next < bytes.size() && bytes[next] == '\r') ++next;
    if (next < bytes.size() && bytes[next] == '\n') return next + 1;
    from = line_end + 1;
  }
}

std::string_view sse_data(std::string_view event, std::string& joined) {
  std::string_view data;
  size_t lines = 0;
  while (!event.empty()) {
    std::string_view line = take_line(event);
    if (!line.starts_with("data:")) continue;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (++lines == 1) {
      data = line;
      continue;
    }
    if (lines == 2) joined.assign(data);
    joined.append("\n").append(line);
  }
  return lines > 1 ? std::string_view(joined) : data;
}

bool mentions(std::string_view bytes, std::string_view needle) {
  return memmem(bytes.data(), bytes.size(), needle.data(), needle.size()) != nullptr;
}

ChunkScan scan_chunk(std::string_view json) {
  ChunkScan chunk;
  const bool ok = each_member(json, [&](std::string_view key, std::string_view value) {
    if (key == "usage") {
      chunk.usage = read_usage(value);
    } else if (key == "choices") {
      chunk.choices_empty = is_empty_array(value);
    } else if (key == "error" && value != "null") {
      read_error(value, chunk);
    } else if ((key == "object" || key == "type") && value == "\"error\"") {
      chunk.is_error = true;
    } else if (key == "code") {
      chunk.error_code = read_number<int>(value);
    } else if (key == "response" || key == "message") {
      each_member(value, [&](std::string_view name, std::string_view inner) {
        if (name == "usage") chunk.usage = read_usage(inner);
      });
    }
  });
  if (!ok) return {};
  if (!chunk.is_error) chunk.error_code.reset();
  return chunk;
}

}  // namespace fairlead::codec
