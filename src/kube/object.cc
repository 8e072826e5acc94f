#include "kube/object.h"

#include <limits>
#include <utility>

#include "kube/resource.h"

namespace fairlead::kube {

using codec::JsonScanner;
using codec::JsonText;

// One walk over an object's text.
struct Object::Scan {
  JsonScanner& scanner;
  std::string_view text;
  size_t begin = 0;  // of the object
  std::array<Span, kParts> parts{};
  size_t cut_begin = 0;  // managedFields with one of its commas
  size_t cut_end = 0;

  size_t place(std::string_view view) const {
    return static_cast<size_t>(view.data() - text.data());
  }
  void set(Part part, std::string_view view) {
    parts[static_cast<size_t>(part)] = {static_cast<uint32_t>(place(view) - begin),
                                        static_cast<uint32_t>(view.size())};
  }
  bool string(Part part) {
    if (scanner.peek() == 'n') return scanner.skip();  // null is absent
    JsonText value;
    if (!scanner.string(value)) return false;
    if (value.escaped) return scanner.fail("an escape in a name of the metadata");
    set(part, value.raw);
    return true;
  }
  bool raw(Part part) {
    std::string_view value;
    if (!scanner.skip(value)) return false;
    if (value != "null") set(part, value);
    return true;
  }
  bool managed_fields(const JsonText& key) {
    cut_begin = place(key.raw) - 1;
    if (!scanner.discard()) return false;
    const bool last = scanner.peek() != ',';
    cut_end = scanner.offset();
    if (!last) {
      ++cut_end;
      return true;
    }
    size_t before = cut_begin;
    while (text[before - 1] == ' ' || text[before - 1] == '\n' || text[before - 1] == '\r' ||
           text[before - 1] == '\t') {
      --before;
    }
    if (text[before - 1] == ',') cut_begin = before - 1;
    return true;
  }
  bool metadata() {
    parts = {};
    if (scanner.peek() == 'n') return scanner.skip();
    return scanner.object([this](const JsonText& key) {
      if (key.raw == "name") return string(Part::kName);
      if (key.raw == "namespace") return string(Part::kSpace);
      if (key.raw == "uid") return string(Part::kUid);
      if (key.raw == "resourceVersion") return string(Part::kResourceVersion);
      if (key.raw == "deletionTimestamp") return string(Part::kDeletionTimestamp);
      if (key.raw == "labels") return raw(Part::kLabels);
      if (key.raw == "ownerReferences") return raw(Part::kOwners);
      return key.raw == "managedFields" ? managed_fields(key) : scanner.skip();
    });
  }
  bool object() {
    scanner.peek();
    begin = scanner.offset();
    return scanner.object([this](const JsonText& key) {
      return key.raw == "metadata" ? metadata() : scanner.skip();
    });
  }
};

ObjectPtr Object::scan(JsonScanner& scanner, std::string_view text) {
  Scan scan{.scanner = scanner, .text = text};
  if (!scan.object()) return nullptr;
  const size_t end = scanner.offset();
  if (end - scan.begin > std::numeric_limits<uint32_t>::max()) {
    scanner.fail("an object of more than 4 GiB");
    return nullptr;
  }
  auto object = std::make_shared<Object>();
  const size_t cut = scan.cut_end - scan.cut_begin;
  object->json_.reserve(end - scan.begin - cut);
  if (cut > 0) {
    object->json_.append(text, scan.begin, scan.cut_begin - scan.begin);
    object->json_.append(text, scan.cut_end, end - scan.cut_end);
  } else {
    object->json_.append(text, scan.begin, end - scan.begin);
  }
  object->parts_ = scan.parts;
  for (Span& part : object->parts_) {
    if (cut > 0 && scan.begin + part.begin >= scan.cut_end) {
      part.begin -= static_cast<uint32_t>(cut);
    }
  }
  return object;
}

base::Result<ObjectPtr> Object::parse(std::string_view json) {
  JsonScanner scanner(json);
  ObjectPtr object = scan(scanner, json);
  if (object == nullptr || !scanner.finish()) return scanner.error();
  return object;
}

std::string Object::key() const { return key_of(space(), name()); }

std::optional<std::string> Object::label(std::string_view key) const {
  std::optional<std::string> found;
  JsonScanner scanner(text_of(Part::kLabels));
  scanner.object([&](const JsonText& name) {
    if (!name.equals(key)) return scanner.skip();
    JsonText value;
    std::string decoded;
    if (!scanner.string(value) || !value.decode(decoded)) return false;
    found = std::move(decoded);
    return true;
  });
  return found;
}

namespace {

bool read_owner(JsonScanner& scanner, OwnerReference& owner) {
  return scanner.object([&](const JsonText& key) {
    std::string* into = key.raw == "apiVersion" ? &owner.api_version
                        : key.raw == "kind"     ? &owner.kind
                        : key.raw == "name"     ? &owner.name
                        : key.raw == "uid"      ? &owner.uid
                                                : nullptr;
    if (into != nullptr) {
      JsonText value;
      return scanner.string(value) && value.decode(*into);
    }
    std::string_view value;
    if (!scanner.skip(value)) return false;
    if (key.raw == "controller") owner.controller = value == "true";
    return true;
  });
}

}  // namespace

std::vector<OwnerReference> Object::owners() const {
  std::vector<OwnerReference> owners;
  JsonScanner scanner(text_of(Part::kOwners));
  scanner.array([&] { return read_owner(scanner, owners.emplace_back()); });
  return owners;
}

}  // namespace fairlead::kube
