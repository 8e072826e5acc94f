#include "kube/store.h"

#include <utility>

#include "base/check.h"

namespace fairlead::kube {

IndexFunction label_index(std::string label) {
  return [label = std::move(label)](const Object& object, std::vector<std::string>& values) {
    if (std::optional<std::string> value = object.label(label)) values.push_back(std::move(*value));
  };
}

IndexFunction owner_index() {
  return [](const Object& object, std::vector<std::string>& values) {
    for (OwnerReference& owner : object.owners()) values.push_back(std::move(owner.uid));
  };
}

IndexFunction space_index() {
  return [](const Object& object, std::vector<std::string>& values) {
    values.emplace_back(object.space());
  };
}

void Store::add_index(std::string name, IndexFunction function) {
  CHECK(objects_.empty(), "an index is added before the first object");
  indexes_.emplace(std::move(name), Index{std::move(function), {}});
}

ObjectPtr Store::find(std::string_view key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::by_index(std::string_view index, std::string_view value) const {
  const auto chosen = indexes_.find(index);
  CHECK(chosen != indexes_.end(), "the index was added");
  const auto found = chosen->second.keys.find(value);
  std::vector<ObjectPtr> objects;
  if (found == chosen->second.keys.end()) return objects;
  objects.reserve(found->second.size());
  for (const std::string_view key : found->second) objects.push_back(objects_.find(key)->second);
  return objects;
}

void Store::enter(Place place) {
  text_bytes_ += place->second->json().size();
  std::vector<std::string> values;
  for (auto& [name, index] : indexes_) {
    values.clear();
    index.function(*place->second, values);
    for (std::string& value : values) index.keys[std::move(value)].insert(place->first);
  }
}

void Store::leave(Place place) {
  text_bytes_ -= place->second->json().size();
  std::vector<std::string> values;
  for (auto& [name, index] : indexes_) {
    values.clear();
    index.function(*place->second, values);
    for (const std::string& value : values) {
      const auto entry = index.keys.find(value);
      if (entry == index.keys.end()) continue;  // a function that gave the same value twice
      entry->second.erase(place->first);
      if (entry->second.empty()) index.keys.erase(entry);
    }
  }
}

void Store::remove(Place place, ObjectPtr last, LastState state,
                   std::vector<Notification>& changes) {
  leave(place);
  changes.push_back({Change::kDeleted, std::move(last), nullptr, state});
  objects_.erase(place);
}

void Store::put(ObjectPtr object, std::vector<Notification>& changes) {
  std::string key = object->key();
  put(std::move(key), std::move(object), changes);
}

void Store::put(std::string key, ObjectPtr object, std::vector<Notification>& changes) {
  Place place = objects_.lower_bound(key);
  bool known = place != objects_.end() && place->first == key;
  if (known && place->second->uid() != object->uid()) {
    const Place next = std::next(place);
    remove(place, place->second, LastState::kMissed, changes);
    place = next;
    known = false;
  }
  if (!known) {
    enter(objects_.emplace_hint(place, std::move(key), object));
    changes.push_back({Change::kAdded, std::move(object)});
    return;
  }
  if (place->second->resource_version() == object->resource_version()) return;
  leave(place);
  ObjectPtr before = std::exchange(place->second, object);
  enter(place);
  changes.push_back({Change::kUpdated, std::move(object), std::move(before)});
}

void Store::erase(const ObjectPtr& last, std::vector<Notification>& changes) {
  const Place place = objects_.find(last->key());
  if (place == objects_.end()) return;
  const bool same = place->second->uid() == last->uid();
  if (!same) return;  // of an object before the one that is here
  remove(place, last, LastState::kKnown, changes);
}

void Store::replace(std::vector<ObjectPtr> list, std::vector<Notification>& changes) {
  std::vector<std::string> keys;
  keys.reserve(list.size());
  for (const ObjectPtr& object : list) keys.push_back(object->key());
  if (!objects_.empty()) remove_others(keys, changes);
  for (size_t i = 0; i < list.size(); ++i) put(std::move(keys[i]), std::move(list[i]), changes);
}

void Store::remove_others(const std::vector<std::string>& keys,
                          std::vector<Notification>& changes) {
  const std::set<std::string_view> listed(keys.begin(), keys.end());
  for (Place place = objects_.begin(); place != objects_.end();) {
    const Place next = std::next(place);
    if (!listed.contains(place->first)) {
      remove(place, place->second, LastState::kMissed, changes);
    }
    place = next;
  }
}

}  // namespace fairlead::kube
