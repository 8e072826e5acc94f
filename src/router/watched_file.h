// WatchedFile: a file that is read again to see whether it has changed. By content, so it does not
// matter how it is replaced (a symbolic link that moves, as in a ConfigMap, included). Reads the
// disk: for the control loop.
//
//   WatchedFile file("/etc/fairlead/backends.yaml", base::Bytes(1 << 20));
//   auto content = file.changed();          // now and then
//   if (!content) complain(content.error());
//   else if (*content) use(**content);
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace fairlead::router {

class WatchedFile {
 public:
  WatchedFile(std::string path, base::Bytes bytes_max)
      : path_(std::move(path)), bytes_max_(bytes_max) {}

  const std::string& path() const { return path_; }
  // The content if it is another one than at the last call; an error only once for the same cause.
  base::Result<std::optional<std::string>> changed();

 private:
  base::Result<std::string> read() const;

  std::string path_;
  base::Bytes bytes_max_;
  std::optional<std::string> last_;  // content, or the reason why there is none
};

}  // namespace fairlead::router
