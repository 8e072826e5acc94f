// The structured log: a level, a constant message, and key-value pairs for everything that varies.
//
//   log.info("listening", {{"port", port}, {"shards", shards}});
//   2026-11-29T17:38:09.123Z info  listening port=8080 shards=2
//
// A message is a string literal (checked at compile time), so lines can be counted and searched,
// and one that repeats is limited: after `burst` lines within `window` the rest are counted, and
// the next window's first line carries `suppressed=N`. Any thread; a disabled level costs one
// comparison.
#pragma once

#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"
#include "obs/fields.h"
#include "obs/sink.h"

namespace fairlead::obs {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

std::string_view to_string(LogLevel level);
base::Result<LogLevel> parse_log_level(std::string_view text);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LineFormat format = LineFormat::kText;
  size_t burst = 20;
  base::Nanos window = std::chrono::seconds(10);
};

class LogMessage {
 public:
  consteval LogMessage(const char* text) : text_(text) {}  // NOLINT: implicit by design
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Logger {
 public:
  using Fields = std::initializer_list<Field>;

  // The clock outlives the logger.
  explicit Logger(const base::Clock& clock, LogOptions options = {}, Sink sink = stderr_sink());

  bool enabled(LogLevel level) const { return level >= options_.level; }
  void debug(LogMessage message, Fields fields = {}) { log(LogLevel::kDebug, message, fields); }
  void info(LogMessage message, Fields fields = {}) { log(LogLevel::kInfo, message, fields); }
  void warn(LogMessage message, Fields fields = {}) { log(LogLevel::kWarn, message, fields); }
  void error(LogMessage message, Fields fields = {}) { log(LogLevel::kError, message, fields); }
  void log(LogLevel level, LogMessage message, Fields fields = {}) {
    if (enabled(level)) write(level, message.text(), fields);
  }

 private:
  struct Window {
    base::TimePoint start{};
    size_t lines = 0;
    uint64_t suppressed = 0;
  };

  void write(LogLevel level, std::string_view message, Fields fields);
  // How many lines were left out before this one; nullopt if this one is left out as well.
  std::optional<uint64_t> admit(std::string_view message);

  const base::Clock& clock_;
  const LogOptions options_;
  const Sink sink_;
  std::mutex mutex_;
  std::unordered_map<std::string_view, Window> windows_;  // one a literal: bounded by the program
  std::string line_;
};

}  // namespace fairlead::obs
