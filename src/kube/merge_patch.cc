#include "kube/merge_patch.h"

#include <utility>
#include <vector>

namespace fairlead::kube {

using codec::Json;

Json merge_patch(const Json& before, const Json& after) {
  if (!before.is_object() || !after.is_object()) return after;
  std::vector<Json::Member> members;
  for (const auto& [key, value] : before.members()) {
    if (after.find(key) == nullptr) members.emplace_back(key, Json());
  }
  for (const auto& [key, value] : after.members()) {
    const Json* old = before.find(key);
    if (old != nullptr && *old == value) continue;
    members.emplace_back(key, old == nullptr ? value : merge_patch(*old, value));
  }
  return Json::object(std::move(members));
}

base::Result<std::string> merge_patch(std::string_view before, std::string_view after) {
  const base::Result<Json> left = codec::parse_json(before);
  if (!left) return left.error();
  const base::Result<Json> right = codec::parse_json(after);
  if (!right) return right.error();
  return to_string(merge_patch(*left, *right));
}

}  // namespace fairlead::kube
