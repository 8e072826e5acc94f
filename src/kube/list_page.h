// One answer to a list request: its objects, and from where to go on. Pure.
//
//   ListReader reader;
//   while (...) reader.feed(piece);
//   Result<ListPage> page = reader.finish();
//
// Objects are made as their bytes come, so that of an answer of many megabytes only the last few
// objects lie in memory as they were sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_scanner.h"
#include "kube/object.h"

namespace fairlead::kube {

struct ListPage {
  std::vector<ObjectPtr> items;
  std::string resource_version;  // opaque; what a watch of all that was listed begins from
  std::string continue_token;    // empty on the last page
};

class ListReader {
 public:
  // Bytes that are gathered before objects are looked for in them.
  static constexpr size_t kStepBytes = 128 * 1024;

  explicit ListReader(size_t step_bytes = kStepBytes)
      : step_bytes_(step_bytes), wanted_(step_bytes) {}

  void feed(std::string_view piece);
  // The body is complete. kProtocol: it is not a list.
  base::Result<ListPage> finish();

 private:
  enum class Place : uint8_t { kBeforeItems, kInItems, kAfterItems };
  void advance();
  bool find_items();
  bool read_items(codec::JsonScanner& in);
  bool read_around(codec::JsonScanner& in);

  size_t step_bytes_;
  size_t wanted_;  // before it looks again
  Place place_ = Place::kBeforeItems;
  std::string buffer_;  // in the items: the array of those that have not been read
  size_t read_ = 0;     // bytes of it that became items
  std::string around_;  // the list without its items
  ListPage page_;
};

}  // namespace fairlead::kube
