// Watch streams: JSON objects, one a line, wherever the bytes were split.
//
//   FrameSplitter frames;
//   frames.feed(piece);
//   while (true) {
//     auto frame = frames.next();          // error: a line past the bound
//     if (!frame || !*frame) break;
//     auto event = parse_frame(**frame);   // error: an ERROR event, or no event at all
//   }
//
// Pure: bytes in, events out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "kube/object.h"

namespace fairlead::kube {

// etcd takes objects of 1.5 MiB; their JSON is larger than what is stored.
inline constexpr base::Bytes kFrameBytesMax{16u << 20};

class FrameSplitter {
 public:
  explicit FrameSplitter(base::Bytes frame_bytes_max = kFrameBytesMax)
      : frame_bytes_max_(frame_bytes_max) {}

  // `piece` stays valid until next() has nothing more.
  void feed(std::string_view piece) { piece_ = piece; }
  // The next whole line that is not blank, valid until the next call; nothing if there is none yet.
  base::Result<std::optional<std::string_view>> next();
  // Bytes of a line whose end has not come.
  size_t pending() const { return pending_.size(); }

 private:
  base::Bytes frame_bytes_max_;
  std::string_view piece_;
  std::string pending_;
  std::string frame_;
};

struct WatchEvent {
  enum class Type : uint8_t { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  ObjectPtr object;  // of a bookmark only its resource_version() says something
};

// An ERROR event is the error of its Status. kProtocol: not a watch event.
base::Result<WatchEvent> parse_frame(std::string_view frame);

}  // namespace fairlead::kube
