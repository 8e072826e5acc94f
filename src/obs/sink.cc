#include "obs/sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace fairlead::obs {
namespace {

// What cannot be written is lost: there is nowhere left to say so.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

Sink stderr_sink() {
  return [](std::string_view lines) { write_all(STDERR_FILENO, lines); };
}

base::Result<Sink> file_sink(const std::string& path) {
  if (path == "-") return Sink([](std::string_view lines) { write_all(STDOUT_FILENO, lines); });
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    return base::invalid_argument("cannot open " + path +
                                  " for appending: " + std::generic_category().message(errno));
  }
  const std::shared_ptr<void> owner(nullptr, [fd](void*) { ::close(fd); });
  return Sink([fd, owner](std::string_view lines) { write_all(fd, lines); });
}

}  // namespace fairlead::obs
