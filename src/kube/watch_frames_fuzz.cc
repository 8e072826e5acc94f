// Watch frames and lists: whatever comes, no crash; what is an event has an object whose parts lie
// in its text, and frames and lists are the same however the bytes were split.
#include <algorithm>
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

fairlead::base::Result<ListPage> list_of(std::string_view text, size_t step) {
  ListReader reader(step);
  for (size_t i = 0; i < text.size(); i += step) reader.feed(text.substr(i, step));
  return reader.finish();
}

bool same(const ListPage& a, const ListPage& b) {
  return a.resource_version == b.resource_version && a.continue_token == b.continue_token &&
         std::ranges::equal(a.items, b.items, [](const ObjectPtr& x, const ObjectPtr& y) {
           return x->json() == y->json() && x->key() == y->key();
         });
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
  const auto page = list_of(text, size + 1);
  for (const size_t step : {size_t{1}, size_t{7}}) {
    const auto split = list_of(text, step);
    CHECK(split.ok() == page.ok() && (!page || same(*split, *page)), "a list is a list");
  }
  if (page) {
    for (const ObjectPtr& object : page->items) check(*object);
  }
  return 0;
}
