#include "bench/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "rt/waiter.h"

namespace fairlead::bench {
namespace {

constexpr base::Nanos kGap = std::chrono::milliseconds(200);

size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_text(std::span<LoadTarget* const> targets, base::Nanos elapsed,
                          size_t columns) {
  std::string line;
  for (const LoadTarget* target : targets) {
    line += fmt::format("{} {}", target->endpoint().label, target->log().samples.size());
    if (target->under_way() > 0) line += fmt::format(" ({} under way)", target->under_way());
    if (target->errors() > 0) line += fmt::format(", {} errors", target->errors());
    line += "   ";
  }
  line += fmt::format("{:.0f} s", base::to_seconds(elapsed));
  if (line.size() > columns) line.resize(columns);
  return line;
}

rt::Task<void> show_progress(std::span<LoadTarget* const> targets) {
  if (targets.empty() || isatty(STDERR_FILENO) == 0) co_return;
  const rt::Loop& loop = targets.front()->loop();
  const base::TimePoint begin = loop.now();
  rt::WaitStatus status = rt::WaitStatus::kTimedOut;
  while (status != rt::WaitStatus::kCancelled) {
    const std::string line = progress_text(targets, loop.now() - begin, terminal_columns() - 1);
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    status = co_await rt::sleep_until(base::after(loop.now(), kGap));
  }
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace fairlead::bench
