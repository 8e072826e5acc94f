#include "kube/resource.h"

#include <fmt/format.h>

namespace fairlead::kube {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool fits_in_path(std::string_view name) { return name != "." && name != ".."; }

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

base::Result<std::string> path_of(const Target& target) {
  const Resource& resource = target.resource;
  for (const std::string* part : {&target.space, &target.name, &target.subresource}) {
    if (!fits_in_path(*part)) {
      return base::invalid_argument(
          fmt::format("'{}' is not the name of a {}", *part, resource.kind));
    }
  }
  if (resource.namespaced && target.space.empty() && !target.name.empty()) {
    return base::invalid_argument(
        fmt::format("{} {} needs a namespace", resource.kind, target.name));
  }
  std::string path = resource.group.empty() ? "/api/" : fmt::format("/apis/{}/", resource.group);
  path += resource.version;
  if (resource.namespaced && !target.space.empty()) {
    path += "/namespaces/";
    append_escaped(path, target.space);
  }
  path += '/';
  path += resource.plural;
  for (const std::string* part : {&target.name, &target.subresource}) {
    if (part->empty()) continue;
    path += '/';
    append_escaped(path, *part);
  }
  return path;
}

std::string key_of(std::string_view space, std::string_view name) {
  std::string key;
  key.reserve(space.size() + 1 + name.size());
  if (!space.empty()) key.append(space) += '/';
  key += name;
  return key;
}

SplitKey split_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {{}, key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace fairlead::kube
