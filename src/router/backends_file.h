// --backends-file: a YAML file that lists the back ends.
//
//   backends:
//     - http://10.0.0.1:8000
//     - https://engines.example.svc:8000    # each address of a name is one replica
//
// An empty list is allowed: back ends may come later.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "net/address.h"
#include "router/watched_file.h"

namespace fairlead::router {

inline constexpr base::Bytes kBackendsFileBytesMax{1u << 20};

// Errors name the line.
base::Result<std::vector<net::HostPort>> parse_backends(std::string_view text);

// The back ends in a file that is read again and again.
class BackendsFile {
 public:
  explicit BackendsFile(std::string path) : file_(std::move(path), kBackendsFileBytesMax) {}

  const std::string& path() const { return file_.path(); }
  // The back ends if the content is another one than at the last call; an error only once for the
  // same content or cause.
  base::Result<std::optional<std::vector<net::HostPort>>> changed();

 private:
  WatchedFile file_;
};

}  // namespace fairlead::router
