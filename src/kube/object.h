// Object: one Kubernetes object as the server sent it, as JSON text without managedFields, and what
// a cache needs to know of it: where in the text name, namespace, UID and resourceVersion are.
//
//   Result<ObjectPtr> pod = Object::parse(text);
//   (*pod)->name(); (*pod)->label("app");
//   Result<codec::Json> tree = (*pod)->tree();     // for everything else
//
// A tree of values costs several times the memory of the text and most objects of a cache are never
// looked into, so a tree is made when it is asked for. Nothing of the text is lost but
// managedFields. Immutable and shared: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/json_scanner.h"

namespace fairlead::kube {

class Object;
using ObjectPtr = std::shared_ptr<const Object>;

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
};

class Object {
 public:
  // One JSON object and nothing else.
  static base::Result<ObjectPtr> parse(std::string_view json);
  // The next value of `scanner`, which reads `text`; nullptr when that fails.
  static ObjectPtr scan(codec::JsonScanner& scanner, std::string_view text);

  std::string_view json() const { return json_; }
  base::Result<codec::Json> tree() const { return codec::parse_json(json_); }

  // "" where the object has none.
  std::string_view name() const { return text_of(Part::kName); }
  std::string_view space() const { return text_of(Part::kSpace); }
  std::string_view uid() const { return text_of(Part::kUid); }
  std::string_view resource_version() const { return text_of(Part::kResourceVersion); }
  // It has a deletionTimestamp.
  bool deleting() const { return !text_of(Part::kDeletionTimestamp).empty(); }
  std::string key() const;

  std::optional<std::string> label(std::string_view key) const;
  std::vector<OwnerReference> owners() const;

 private:
  enum class Part : uint8_t {
    kName,
    kSpace,
    kUid,
    kResourceVersion,
    kDeletionTimestamp,
    kLabels,
    kOwners
  };
  static constexpr size_t kParts = 7;
  struct Span {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  struct Scan;

  std::string_view text_of(Part part) const {
    const Span& span = parts_[static_cast<size_t>(part)];
    return std::string_view(json_).substr(span.begin, span.size);
  }

  std::string json_;
  std::array<Span, kParts> parts_{};
};

}  // namespace fairlead::kube
