// Watch frames and lists: whatever comes, no crash; what is an event has an object whose parts lie
// in its text, and the frames are the same however the bytes were split.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "kube/frames.h"
#include "kube/list_page.h"

using namespace fairlead::kube;

namespace {

std::vector<std::string> frames_of(std::string_view text, size_t step) {
  FrameSplitter splitter;
  std::vector<std::string> frames;
  for (size_t i = 0; i < text.size(); i += step) {
    splitter.feed(text.substr(i, step));
    while (true) {
      const auto frame = splitter.next();
      if (!frame || !*frame) break;
      frames.emplace_back(**frame);
    }
  }
  return frames;
}

void check(const Object& object) {
  object.owners();
  object.label("app");
  // The text without managedFields is still JSON, and says the same of the object.
  const auto again = Object::parse(object.json());
  CHECK(again.ok(), "an object's text is an object");
  CHECK((*again)->key() == object.key() && (*again)->uid() == object.uid() &&
            (*again)->resource_version() == object.resource_version(),
        "and the same one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> frames = frames_of(text, size + 1);
  CHECK(frames == frames_of(text, 1) && frames == frames_of(text, 7), "frames are frames");
  for (const std::string& frame : frames) {
    const auto event = parse_frame(frame);
    if (event) check(*event->object);
  }
  const auto page = parse_list(text);
  if (page) {
    for (const ObjectPtr& object : page->items) check(*object);
  }
  return 0;
}
