#include "kube/access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"

namespace fairlead::kube {
namespace {

constexpr size_t kFileBytesMax = 1u << 20;

base::Result<std::string> text_of(std::string_view path, int descriptor) {
  std::string text;
  std::array<char, 16 * 1024> piece;
  while (true) {
    const ssize_t n = read(descriptor, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return base::Error(base::ErrorCode::kUnavailable,
                         fmt::format("{}: {}", path, std::strerror(errno)));
    }
    if (n == 0) return text;
    text.append(piece.data(), static_cast<size_t>(n));
    if (text.size() > kFileBytesMax) {
      return base::invalid_argument(fmt::format("{}: more than 1 MiB", path));
    }
  }
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

base::Result<Access> inside_cluster(const Surroundings& around) {
  const std::string host = around.service_host.find(':') == std::string::npos
                               ? around.service_host
                               : fmt::format("[{}]", around.service_host);
  base::Result<net::HostPort> server = net::parse_backend_url(
      fmt::format("https://{}:{}", host, around.service_port), net::Schemes::kHttpAndHttps);
  if (!server) return server.error().wrap("KUBERNETES_SERVICE_HOST and _PORT");
  Access access;
  access.server = *server;
  access.token.file = around.account_folder + "/token";
  access.authority.file = around.account_folder + "/ca.crt";
  const base::Result<std::string> token = read_small_file(access.token.file);
  if (!token) return token.error().wrap("no service account in this pod");
  const base::Result<std::string> space = read_small_file(around.account_folder + "/namespace");
  if (space && !space->empty()) access.space = *space;
  return access;
}

base::Result<Kubeconfig> load(const std::string& path) {
  const base::Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  base::Result<Kubeconfig> config = parse_kubeconfig(*text, folder);
  if (!config) return config.error().wrap(path);
  return config;
}

}  // namespace

base::Result<std::string> read_small_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return base::Error(errno == ENOENT ? base::ErrorCode::kNotFound : base::ErrorCode::kUnavailable,
                       fmt::format("{}: {}", path, std::strerror(errno)));
  }
  base::Result<std::string> text = text_of(path, descriptor);
  close(descriptor);
  return text;
}

Surroundings surroundings_of_process() {
  return {.service_host = from_environment("KUBERNETES_SERVICE_HOST"),
          .service_port = from_environment("KUBERNETES_SERVICE_PORT"),
          .kubeconfigs = from_environment("KUBECONFIG"),
          .home = from_environment("HOME")};
}

base::Result<Access> find_access(const AccessOptions& options, const Surroundings& around) {
  if (!options.kubeconfig.empty()) {
    const base::Result<Kubeconfig> config = load(options.kubeconfig);
    return config ? config->access(options.context) : config.error();
  }
  if (!around.service_host.empty() && options.context.empty()) return inside_cluster(around);
  Kubeconfig merged;
  std::string_view paths = around.kubeconfigs;
  const std::string of_home = around.home + "/.kube/config";
  if (paths.empty()) paths = of_home;
  bool found = false;
  while (!paths.empty()) {
    const size_t colon = paths.find(':');
    const std::string path(paths.substr(0, colon));
    paths = colon == std::string_view::npos ? std::string_view() : paths.substr(colon + 1);
    if (path.empty()) continue;
    base::Result<Kubeconfig> config = load(path);
    if (!config && config.error().code() == base::ErrorCode::kNotFound) continue;
    if (!config) return config.error();
    merged.merge(std::move(*config));
    found = true;
  }
  if (!found) {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("no kubeconfig: neither inside a cluster nor in {}",
                                   around.kubeconfigs.empty() ? of_home : around.kubeconfigs));
  }
  return merged.access(options.context);
}

}  // namespace fairlead::kube
