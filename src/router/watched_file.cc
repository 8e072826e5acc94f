#include "router/watched_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fairlead::router {

base::Result<std::string> WatchedFile::read() const {
  const auto failed = [&] {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
  };
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed();
  std::string content(bytes_max_.count + 1, '\0');
  size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < content.size()) {
    got = ::read(fd, content.data() + size, content.size() - size);
    if (got > 0) size += static_cast<size_t>(got);
  }
  base::Result<std::string> error = got < 0 ? failed() : base::Result<std::string>("");
  close(fd);
  if (!error) return error;
  if (size > bytes_max_.count) {
    return base::invalid_argument(
        fmt::format("{} is larger than {}", path_, to_string(bytes_max_)));
  }
  content.resize(size);
  return content;
}

base::Result<std::optional<std::string>> WatchedFile::changed() {
  base::Result<std::string> content = read();
  std::string state = content ? "+" + *content : "-" + content.error().message();
  if (state == last_) return std::optional<std::string>();
  last_ = std::move(state);
  if (!content) return content.error();
  return std::optional(std::move(*content));
}

}  // namespace fairlead::router
