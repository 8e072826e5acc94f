#include "kube/list_page.h"

#include <utility>

#include "codec/json_scanner.h"

namespace fairlead::kube {
namespace {

using codec::JsonScanner;
using codec::JsonText;

bool read_metadata(JsonScanner& scanner, ListPage& page) {
  return scanner.object([&](const JsonText& key) {
    std::string* into = key.raw == "resourceVersion" ? &page.resource_version
                        : key.raw == "continue"      ? &page.continue_token
                                                     : nullptr;
    JsonText value;
    if (into == nullptr) return scanner.skip();
    return scanner.string(value) && value.decode(*into);
  });
}

bool read_items(JsonScanner& scanner, std::string_view body, ListPage& page) {
  if (scanner.peek() == 'n') return scanner.skip();  // null is an empty list
  return scanner.array([&] {
    ObjectPtr object = Object::scan(scanner, body);
    if (object == nullptr) return false;
    if (object->name().empty()) return scanner.fail("an item without a name");
    page.items.push_back(std::move(object));
    return true;
  });
}

}  // namespace

base::Result<ListPage> parse_list(std::string_view body) {
  JsonScanner scanner(body);
  ListPage page;
  bool has_items = false;
  const bool read = scanner.object([&](const JsonText& key) {
    if (key.raw == "metadata") return read_metadata(scanner, page);
    if (key.raw != "items") return scanner.skip();
    has_items = true;
    return read_items(scanner, body, page);
  });
  if (!read || !scanner.finish()) {
    return base::Error(base::ErrorCode::kProtocol, "not a list: " + scanner.error().message());
  }
  if (!has_items) return base::Error(base::ErrorCode::kProtocol, "not a list: it has no items");
  return page;
}

}  // namespace fairlead::kube
