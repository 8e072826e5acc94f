// Typed objects over the raw client: what src/api describes is what resource it is, how it is read
// and how it is written.
//
//   TypedClient<api::ModelServing> servings(client);
//   auto serving = co_await servings.get("default", "llama");   // ->value, ->object
//   Informer pods(client, resource_of<api::Pod>(), {});
//   auto pod = decode<api::Pod>(pods.store().find("default/web-0"));
//
// `object` goes with the value. A partial view keeps what it does not name, so that update() loses
// nothing; controllers write by apply() all the same, which touches but the fields they own.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/meta.h"
#include "api/type_info.h"
#include "kube/client.h"

namespace fairlead::kube {

template <class K>
concept Kind = requires(const K* value) {
  { K::kKind } -> std::convertible_to<const api::Kind&>;
  { type_of(value) } -> std::same_as<const api::TypeInfo&>;
};

inline Resource resource_of(const api::Kind& kind) {
  return {.group = std::string(kind.group),
          .version = std::string(kind.version),
          .plural = std::string(kind.plural),
          .kind = std::string(kind.kind),
          .namespaced = kind.scope == api::Scope::kNamespaced};
}

template <Kind K>
const Resource& resource_of() {
  static const Resource kResource = resource_of(K::kKind);
  return kResource;
}

template <Kind K>
struct Typed {
  K value;
  ObjectPtr object;
};

// The error names object and field.
template <Kind K>
base::Result<Typed<K>> decode(ObjectPtr object) {
  const auto named = [&](const base::Error& error) {
    return error.wrap(fmt::format("{} {}", K::kKind.kind, object->key()));
  };
  const base::Result<codec::Json> tree = object->tree();
  if (!tree) return named(tree.error());
  base::Result<K> value = api::read<K>(*tree);
  if (!value) return named(value.error());
  return Typed<K>{std::move(*value), std::move(object)};
}

// `space` is empty for kinds of the whole cluster.
template <Kind K>
class TypedClient {
 public:
  using Answer = rt::Task<base::Result<Typed<K>>>;

  explicit TypedClient(Client& client) : client_(client) {}

  Answer get(std::string space, std::string name) const {
    return decoded(client_.get({resource_of<K>(), std::move(space), std::move(name)}));
  }
  // All, page by page. The error is that of the first object that cannot be read.
  rt::Task<base::Result<std::vector<Typed<K>>>> list(std::string space, ListOptions options) const {
    const base::Result<ListPage> page =
        co_await client_.list_all({resource_of<K>(), std::move(space)}, std::move(options));
    if (!page) co_return page.error();
    std::vector<Typed<K>> all;
    all.reserve(page->items.size());
    for (const ObjectPtr& object : page->items) {
      base::Result<Typed<K>> typed = decode<K>(object);
      if (!typed) co_return typed.error();
      all.push_back(std::move(*typed));
    }
    co_return all;
  }
  Answer create(const std::string& space, const K& value, const WriteOptions& options) const {
    return decoded(client_.create({resource_of<K>(), space}, api::write(value), options));
  }
  // A PUT at the resourceVersion in `value`; kConflict if there is a newer one.
  Answer update(const K& value, const WriteOptions& options,
                const std::string& subresource = {}) const {
    return decoded(client_.update(one(value, subresource), api::write(value), options));
  }
  // Server-side apply of what `value` says.
  Answer apply(const K& value, const WriteOptions& options,
               const std::string& subresource = {}) const {
    return decoded(
        client_.patch(one(value, subresource), PatchKind::kApply, api::write(value), options));
  }

 private:
  static Target one(const K& value, const std::string& subresource) {
    return {resource_of<K>(), value.metadata.namespace_, value.metadata.name, subresource};
  }
  static Answer decoded(rt::Task<base::Result<ObjectPtr>> task) {
    base::Result<ObjectPtr> object = co_await std::move(task);
    if (!object) co_return object.error();
    co_return decode<K>(std::move(*object));
  }

  Client& client_;
};

}  // namespace fairlead::kube
