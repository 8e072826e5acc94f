// Which objects a request is about: a resource as the API server knows it, and one object of it.
//
//   path_of({resource_of<api::Pod>(), "default", "web-0", "status"})   // kind.h
//     == "/api/v1/namespaces/default/pods/web-0/status"
//
// Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead::kube {

struct Resource {
  std::string group;  // "" is the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  bool operator==(const Resource&) const = default;
  // "v1", "apps/v1"
  std::string api_version() const;
};

// One object, or all of a namespace (no name), or all of the cluster (neither). A cluster-wide
// resource has no namespace.
struct Target {
  Resource resource;
  std::string space{};
  std::string name{};
  std::string subresource{};  // "status", "scale"
};

// kInvalidArgument for a name that cannot be part of a path, and for one object of a namespaced
// resource without its namespace.
base::Result<std::string> path_of(const Target& target);

// "namespace/name", or the name alone where there is no namespace.
std::string key_of(std::string_view space, std::string_view name);
struct SplitKey {
  std::string_view space;
  std::string_view name;
};
SplitKey split_key(std::string_view key);

// Everything but letters, digits and -._~ as %XX.
void append_escaped(std::string& out, std::string_view text);

}  // namespace fairlead::kube
