// ApiKeyControl: the keys of --api-key-file, read again when it changes. Of a file that is no good
// nothing is used and the keys stay, so that a file caught half written locks nobody out; log and
// metric say so. A key that goes ends new requests; what it has begun goes on. Control loop.
//
//   ApiKeyControl control(path, loop, log);
//   auto keys = control.load();                             // an error ends the start
//   group.spawn(control.run([&](auto keys) { for (Shard& s : shards) s.use_keys(keys); }));
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "obs/log.h"
#include "router/api_keys.h"
#include "router/watched_file.h"
#include "rt/loop.h"
#include "rt/task.h"

namespace fairlead::router {

using SharedKeys = std::shared_ptr<const ApiKeys>;

class ApiKeyControl {
 public:
  static constexpr base::Bytes kFileBytesMax{1u << 20};
  static constexpr base::Nanos kInterval = std::chrono::seconds(1);
  using Use = std::function<void(SharedKeys)>;

  ApiKeyControl(std::string path, rt::Loop& loop, obs::Logger& log)
      : file_(std::move(path), kFileBytesMax), loop_(loop), log_(log) {}

  // Reads the file for the first time; errors name file and line.
  base::Result<SharedKeys> load();
  // Until its scope is cancelled. `use` outlives it.
  rt::Task<void> run(const Use& use);

  size_t keys() const { return keys_; }
  uint64_t errors_total() const { return errors_; }

 private:
  base::Result<SharedKeys> make(std::string_view content);

  WatchedFile file_;
  rt::Loop& loop_;
  obs::Logger& log_;
  size_t keys_ = 0;
  uint64_t errors_ = 0;
};

}  // namespace fairlead::router
