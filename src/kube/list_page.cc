#include "kube/list_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::kube {
namespace {

using codec::JsonScanner;
using codec::JsonText;

// Items lie in an array in the list.
constexpr size_t kItemsDepthMax = codec::kJsonDepthMax - 1;

base::Error no_list(std::string_view why) {
  return base::Error(base::ErrorCode::kProtocol, fmt::format("not a list: {}", why));
}

bool read_metadata(JsonScanner& in, ListPage& page) {
  return in.object([&](const JsonText& key) {
    std::string* into = key.raw == "resourceVersion" ? &page.resource_version
                        : key.raw == "continue"      ? &page.continue_token
                                                     : nullptr;
    JsonText value;
    if (into == nullptr) return in.skip();
    return in.string(value) && value.decode(*into);
  });
}

}  // namespace

void ListReader::feed(std::string_view piece) {
  if (place_ == Place::kAfterItems) {
    around_ += piece;
    return;
  }
  buffer_ += piece;
  if (buffer_.size() < wanted_) return;
  advance();
  // What is not whole, or broken, is not looked at again for each piece that follows.
  wanted_ = buffer_.size() + std::max(step_bytes_, buffer_.size());
}

void ListReader::advance() {
  if (place_ == Place::kBeforeItems && !find_items()) return;
  JsonScanner in(buffer_, kItemsDepthMax);
  if (read_items(in) || read_ == 0) return;
  buffer_[read_ - 1] = '[';
  buffer_.erase(0, read_ - 1);
}

// Divides what there is before the first item.
bool ListReader::find_items() {
  JsonScanner in(buffer_);
  bool found = false;
  in.object([&](const JsonText& key) {
    found = key.raw == "items" && in.peek() == '[';
    return !found && in.skip();
  });
  if (!found) return false;
  around_.assign(buffer_, 0, in.offset());
  buffer_.erase(0, in.offset());
  place_ = Place::kInItems;
  return true;
}

// False if the array does not end within the buffer; `read_` says how far it was good.
bool ListReader::read_items(JsonScanner& in) {
  ObjectPtr item;  // taken once there is what follows it
  read_ = 0;
  const bool ended = in.array([&] {
    if (item != nullptr) page_.items.push_back(std::move(item));
    read_ = in.offset();
    item = Object::scan(in, buffer_);
    if (item == nullptr) return false;
    return !item->name().empty() || in.fail("an item without a name");
  });
  if (!ended) return false;
  if (item != nullptr) {
    page_.items.push_back(std::move(item));
  } else if (!page_.items.empty()) {
    return in.fail("a comma without an item");
  }
  around_ += "[]";
  around_.append(buffer_, in.offset());
  buffer_.clear();
  place_ = Place::kAfterItems;
  return true;
}

bool ListReader::read_around(JsonScanner& in) {
  bool has_items = false;
  const bool read = in.object([&](const JsonText& key) {
    if (key.raw == "metadata") return read_metadata(in, page_);
    if (key.raw != "items") return in.skip();
    has_items = true;
    if (in.peek() == 'n') return in.skip();  // null is an empty list
    return in.array([&] { return in.fail("items twice"); });
  });
  return read && in.finish() && (has_items || in.fail("it has no items"));
}

base::Result<ListPage> ListReader::finish() {
  if (place_ == Place::kBeforeItems && !find_items()) around_.swap(buffer_);
  if (place_ == Place::kInItems) {
    JsonScanner in(buffer_, kItemsDepthMax);
    if (!read_items(in)) {
      return no_list(fmt::format("after {} items: {}", page_.items.size(), in.error().message()));
    }
  }
  JsonScanner in(around_);
  if (!read_around(in)) return no_list(in.error().message());
  return std::move(page_);
}

}  // namespace fairlead::kube
