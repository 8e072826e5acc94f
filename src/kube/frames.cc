#include "kube/frames.h"

#include <fmt/format.h>

#include "codec/json_scanner.h"
#include "kube/status.h"

namespace fairlead::kube {
namespace {

using codec::JsonScanner;
using codec::JsonText;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

base::Error no_event(std::string_view why) {
  return base::Error(base::ErrorCode::kProtocol, fmt::format("not a watch event: {}", why));
}

std::optional<WatchEvent::Type> type_of(std::string_view name) {
  if (name == "ADDED") return WatchEvent::Type::kAdded;
  if (name == "MODIFIED") return WatchEvent::Type::kModified;
  if (name == "DELETED") return WatchEvent::Type::kDeleted;
  if (name == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

}  // namespace

base::Result<std::optional<std::string_view>> FrameSplitter::next() {
  while (true) {
    const size_t end = piece_.find('\n');
    const std::string_view line = piece_.substr(0, end);
    if (pending_.size() + line.size() > frame_bytes_max_.count) {
      return base::Error(base::ErrorCode::kProtocol,
                         fmt::format("a watch event of more than {}", to_string(frame_bytes_max_)));
    }
    if (end == std::string_view::npos) {
      pending_ += piece_;
      piece_ = {};
      return std::optional<std::string_view>();
    }
    piece_.remove_prefix(end + 1);
    if (pending_.empty()) {
      if (is_blank(line)) continue;
      return std::optional(line);
    }
    pending_ += line;
    frame_.swap(pending_);
    pending_.clear();
    if (!is_blank(frame_)) return std::optional(std::string_view(frame_));
  }
}

base::Result<WatchEvent> parse_frame(std::string_view frame) {
  JsonScanner scanner(frame);
  std::string_view type;
  ObjectPtr object;
  const bool read = scanner.object([&](const JsonText& key) {
    if (key.raw == "type") {
      JsonText value;
      if (!scanner.string(value)) return false;
      type = value.raw;
      return true;
    }
    if (key.raw != "object") return scanner.skip();
    object = Object::scan(scanner, frame);
    return object != nullptr;
  });
  if (!read || !scanner.finish()) return no_event(scanner.error().message());
  if (object == nullptr) return no_event("it has no object");
  if (type == "ERROR") return status_error(0, object->json(), std::nullopt);
  const std::optional<WatchEvent::Type> known = type_of(type);
  if (!known) return no_event(fmt::format("its type is '{}'", type));
  if (object->resource_version().empty()) return no_event("its object has no resourceVersion");
  if (*known != WatchEvent::Type::kBookmark && object->name().empty()) {
    return no_event("its object has no name");
  }
  return WatchEvent{*known, std::move(object)};
}

}  // namespace fairlead::kube
