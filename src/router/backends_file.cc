#include "router/backends_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "codec/yaml.h"

namespace fairlead::router {
namespace {

base::Error at_line(uint32_t line, std::string_view what) {
  return base::invalid_argument(fmt::format("line {}: {}", line, what));
}

}  // namespace

base::Result<std::vector<net::HostPort>> parse_backends(std::string_view text) {
  const auto tree = codec::parse_yaml(text);
  if (!tree) return tree.error();
  const codec::Json* list = tree->find("backends");
  if (list == nullptr || !(list->is_array() || list->is_null())) {
    return base::invalid_argument("expected \"backends:\" with a list of URLs");
  }
  for (const auto& [key, value] : tree->members()) {
    if (key != "backends") {
      return at_line(value.line(), fmt::format("unknown field \"{}\": only \"backends\"", key));
    }
  }
  std::vector<net::HostPort> hosts;
  for (const codec::Json& item : list->items()) {
    if (!item.is_string()) return at_line(item.line(), "a back end is a URL: http://host:port");
    const auto host = net::parse_backend_url(item.as_string());
    if (!host) return at_line(item.line(), host.error().message());
    hosts.push_back(*host);
  }
  return hosts;
}

base::Result<std::string> BackendsFile::read() const {
  const auto failed = [&] {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
  };
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed();
  std::string content(kBackendsFileBytesMax.count + 1, '\0');
  size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < content.size()) {
    got = ::read(fd, content.data() + size, content.size() - size);
    if (got > 0) size += static_cast<size_t>(got);
  }
  base::Result<std::string> error = got < 0 ? failed() : base::Result<std::string>("");
  close(fd);
  if (!error) return error;
  if (size > kBackendsFileBytesMax.count) {
    return base::invalid_argument(
        fmt::format("{} is larger than {}", path_, to_string(kBackendsFileBytesMax)));
  }
  content.resize(size);
  return content;
}

base::Result<std::optional<std::vector<net::HostPort>>> BackendsFile::changed() {
  const auto content = read();
  std::string state = content ? "+" + *content : "-" + content.error().message();
  if (state == last_) return std::optional<std::vector<net::HostPort>>();
  last_ = std::move(state);
  if (!content) return content.error();
  auto hosts = parse_backends(*content);
  if (!hosts) return hosts.error().wrap(path_);
  return std::optional(std::move(*hosts));
}

}  // namespace fairlead::router
