// Store: the objects of one list and watch, by key and by index, and what changed with each event.
// Pure and of one thread; the objects themselves may be read anywhere.
//
//   Store store;
//   store.add_index("node", [](const Object& pod, std::vector<std::string>& values) {...});
//   std::vector<Notification> changes;
//   store.replace(std::move(list), changes);
//   store.put(object, changes);
//   for (const ObjectPtr& pod : store.by_index("node", "n1")) ...
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/notification.h"
#include "kube/object.h"

namespace fairlead::kube {

// Appends the values under which an object is found, none or many.
using IndexFunction = std::function<void(const Object&, std::vector<std::string>&)>;

// By the value of a label, by the UIDs of the owners, by namespace.
IndexFunction label_index(std::string label);
IndexFunction owner_index();
IndexFunction space_index();

class Store {
 public:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  // Before the first object.
  void add_index(std::string name, IndexFunction function);

  // nullptr if there is none.
  ObjectPtr find(std::string_view key) const;
  // All, by key.
  const Objects& objects() const { return objects_; }
  // In the order of keys. The index exists.
  std::vector<ObjectPtr> by_index(std::string_view index, std::string_view value) const;

  // Added or modified. The same resourceVersion again is no change; another UID under the same name
  // is a deletion that was missed and an addition.
  void put(ObjectPtr object, std::vector<Notification>& changes);
  // Deleted; `last` is its last state.
  void erase(const ObjectPtr& last, std::vector<Notification>& changes);
  // The whole of a list: what it does not have was deleted unseen.
  void replace(std::vector<ObjectPtr> list, std::vector<Notification>& changes);

  // Bytes of JSON that are held.
  size_t text_bytes() const { return text_bytes_; }

 private:
  struct Index {
    IndexFunction function;
    std::map<std::string, std::set<std::string_view>, std::less<>> keys;  // views into objects_
  };
  using Place = Objects::iterator;
  void enter(Place place);
  void leave(Place place);
  void put(std::string key, ObjectPtr object, std::vector<Notification>& changes);
  void remove(Place place, ObjectPtr last, LastState state, std::vector<Notification>& changes);
  void remove_others(const std::vector<std::string>& keys, std::vector<Notification>& changes);

  Objects objects_;
  std::map<std::string, Index, std::less<>> indexes_;
  size_t text_bytes_ = 0;
};

}  // namespace fairlead::kube
