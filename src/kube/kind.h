// Typed objects over the raw client: a kind says what resource it is and how it is read from and
// written as JSON.
//
//   TypedClient<ModelServing> servings(client);
//   auto serving = co_await servings.get("default", "llama");   // ->value, ->object
//
// `object` goes with the value, as a typed view may not know every field of it.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "codec/json.h"
#include "kube/client.h"

namespace fairlead::kube {

template <class K>
concept Kind = requires(const codec::Json& json, const K& value) {
  { K::resource() } -> std::convertible_to<const Resource&>;
  { K::from_json(json) } -> std::same_as<base::Result<K>>;
  { K::to_json(value) } -> std::same_as<std::string>;
};

template <Kind K>
struct Typed {
  K value;
  ObjectPtr object;
};

// The error names the object.
template <Kind K>
base::Result<Typed<K>> decode(ObjectPtr object) {
  const auto named = [&](const base::Error& error) {
    return error.wrap(fmt::format("{} {}", K::resource().kind, object->key()));
  };
  const base::Result<codec::Json> tree = object->tree();
  if (!tree) return named(tree.error());
  base::Result<K> value = K::from_json(*tree);
  if (!value) return named(value.error());
  return Typed<K>{std::move(*value), std::move(object)};
}

template <Kind K>
class TypedClient {
 public:
  using Answer = rt::Task<base::Result<Typed<K>>>;

  explicit TypedClient(Client& client) : client_(client) {}

  Answer get(std::string space, std::string name) const {
    return decoded(client_.get({K::resource(), std::move(space), std::move(name)}));
  }
  Answer create(std::string space, const K& value, WriteOptions options) const {
    return decoded(
        client_.create({K::resource(), std::move(space)}, K::to_json(value), std::move(options)));
  }
  // Server-side apply of what `value` says.
  Answer apply(std::string space, std::string name, const K& value, WriteOptions options,
               std::string subresource = {}) const {
    return decoded(
        client_.patch({K::resource(), std::move(space), std::move(name), std::move(subresource)},
                      PatchKind::kApply, K::to_json(value), std::move(options)));
  }

 private:
  static Answer decoded(rt::Task<base::Result<ObjectPtr>> task) {
    base::Result<ObjectPtr> object = co_await std::move(task);
    if (!object) co_return object.error();
    co_return decode<K>(std::move(*object));
  }

  Client& client_;
};

}  // namespace fairlead::kube
