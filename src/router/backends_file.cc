#include "router/backends_file.h"

#include <fmt/format.h>

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
    const auto host = net::parse_backend_url(item.as_string(), net::Schemes::kHttpAndHttps);
    if (!host) return at_line(item.line(), host.error().message());
    hosts.push_back(*host);
  }
  return hosts;
}

base::Result<std::optional<std::vector<net::HostPort>>> BackendsFile::changed() {
  const auto content = file_.changed();
  if (!content) return content.error();
  if (!*content) return std::optional<std::vector<net::HostPort>>();
  auto hosts = parse_backends(**content);
  if (!hosts) return hosts.error().wrap(path());
  return std::optional(std::move(*hosts));
}

}  // namespace fairlead::router
