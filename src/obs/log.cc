#include "obs/log.h"

#include <fmt/format.h>

#include <iterator>

#include "codec/json.h"

namespace fairlead::obs {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off";
  }
  return "off";
}

base::Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError, LogLevel::kOff}) {
    if (text == to_string(level)) return level;
  }
  return base::invalid_argument(
      fmt::format("\"{}\" is no log level; debug, info, warn, error and off are", text));
}

Logger::Logger(const base::Clock& clock, LogOptions options, Sink sink)
    : clock_(clock), options_(options), sink_(std::move(sink)) {}

std::optional<uint64_t> Logger::admit(std::string_view message) {
  const base::TimePoint now = clock_.now();
  Window& window = windows_.try_emplace(message, Window{.start = now}).first->second;
  uint64_t suppressed = 0;
  if (now - window.start >= options_.window) {
    suppressed = window.suppressed;
    window = Window{.start = now};
  }
  if (window.lines >= options_.burst) {
    ++window.suppressed;
    return std::nullopt;
  }
  ++window.lines;
  return suppressed;
}

void Logger::write(LogLevel level, std::string_view message, Fields fields) {
  const std::lock_guard lock(mutex_);
  const auto suppressed = admit(message);
  if (!suppressed) return;
  line_.clear();
  if (options_.format == LineFormat::kJson) {
    line_.append("{\"time\":\"");
    append_time(line_, clock_.wall());
    line_.append("\",\"level\":\"").append(to_string(level)).append("\",\"message\":");
    codec::append_json_string(line_, message);
  } else {
    append_time(line_, clock_.wall());
    fmt::format_to(std::back_inserter(line_), " {:<5} {}", to_string(level), message);
  }
  for (const Field& field : fields) append_field(line_, field, options_.format);
  if (*suppressed > 0) append_field(line_, {"suppressed", *suppressed}, options_.format);
  line_.append(options_.format == LineFormat::kJson ? "}\n" : "\n");
  sink_(line_);
}

}  // namespace fairlead::obs
