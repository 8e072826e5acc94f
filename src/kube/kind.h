// Typed objects over the raw client: what src/api describes is what resource it is, how it is read
// and how it is written.
//
//   TypedClient<api::ModelServing> servings(client);
//   auto serving = co_await servings.get("default", "llama");   // ->value, ->object
//   api::ModelServing wanted = serving->value;
//   wanted.spec.replicas = 3;
//   co_await servings.merge(serving->value, wanted, {});
//   Informer pods(client, resource_of<api::Pod>(), {});
//   auto pod = decode<api::Pod>(pods.store().find("default/web-0"));
//
// `object` goes with the value. A partial view keeps what it does not name, so that update() loses
// nothing; controllers write by apply() all the same, which touches but the fields they own.
// Options and errors are those of client.h.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/apps.h"
#include "api/meta.h"
#include "api/type_info.h"
#include "kube/client.h"
#include "kube/merge_patch.h"

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

template <Kind K>
struct TypedPage {
  std::vector<Typed<K>> items;
  std::string resource_version;  // to watch from
  std::string continue_token;    // empty on the last page
};

template <Kind K>
struct TypedEvent {
  WatchEvent::Type type = WatchEvent::Type::kAdded;
  Typed<K> what;  // of a bookmark only the object's resource_version() says something
};

template <Kind K>
class TypedWatch {
 public:
  explicit TypedWatch(std::unique_ptr<WatchStream> stream) : stream_(std::move(stream)) {}

  // As WatchStream::next(); kInvalidArgument: an object that cannot be read, the stream goes on.
  rt::Task<base::Result<std::optional<TypedEvent<K>>>> next(base::TimePoint deadline) {
    base::Result<std::optional<WatchEvent>> event = co_await stream_->next(deadline);
    if (!event) co_return event.error();
    if (!*event) co_return std::optional<TypedEvent<K>>();
    WatchEvent& raw = **event;
    if (raw.type == WatchEvent::Type::kBookmark) {
      co_return std::optional(TypedEvent<K>{raw.type, {K{}, std::move(raw.object)}});
    }
    base::Result<Typed<K>> typed = decode<K>(std::move(raw.object));
    if (!typed) co_return typed.error();
    co_return std::optional(TypedEvent<K>{raw.type, std::move(*typed)});
  }

 private:
  std::unique_ptr<WatchStream> stream_;
};

// `space` is empty for kinds of the whole cluster; `subresource` is "status" or another one that
// shows the object itself.
template <Kind K>
class TypedClient {
 public:
  using Answer = rt::Task<base::Result<Typed<K>>>;

  explicit TypedClient(Client& client) : client_(client) {}

  Answer get(std::string space, std::string name) const {
    return decoded(client_.get({resource_of<K>(), std::move(space), std::move(name)}));
  }
  // One page.
  rt::Task<base::Result<TypedPage<K>>> list(std::string space, const ListOptions& options) const {
    return decoded_page(client_.list({resource_of<K>(), std::move(space)}, options));
  }
  // All pages.
  rt::Task<base::Result<TypedPage<K>>> list_all(std::string space,
                                                const ListOptions& options) const {
    return decoded_page(client_.list_all({resource_of<K>(), std::move(space)}, options));
  }
  rt::Task<base::Result<TypedWatch<K>>> watch(std::string space,
                                              const WatchOptions& options) const {
    return decoded_watch(client_.watch({resource_of<K>(), std::move(space)}, options));
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
  // A merge patch of what is different in `after`: what others change meanwhile stays.
  Answer merge(const K& before, const K& after, const WriteOptions& options,
               const std::string& subresource = {}) const {
    base::Result<std::string> patch = merge_patch(api::write(before), api::write(after));
    if (!patch) return failed(patch.error());
    return decoded(
        client_.patch(one(after, subresource), PatchKind::kMerge, std::move(*patch), options));
  }
  // `json` is a patch of this kind, such as the operations of a JSON patch.
  Answer patch(const std::string& space, const std::string& name, PatchKind kind,
               const std::string& json, const WriteOptions& options,
               const std::string& subresource = {}) const {
    return decoded(
        client_.patch({resource_of<K>(), space, name, subresource}, kind, json, options));
  }
  rt::Task<base::Result<>> remove(std::string space, std::string name,
                                  const DeleteOptions& options) const {
    return client_.remove({resource_of<K>(), std::move(space), std::move(name)}, options);
  }

  rt::Task<base::Result<Typed<api::Scale>>> scale(std::string space, std::string name) const {
    return decoded<api::Scale>(
        client_.get({resource_of<K>(), std::move(space), std::move(name), "scale"}));
  }
  // A PUT of spec.replicas: kConflict unless the object is at the resourceVersion in `scale`, where
  // it has one.
  rt::Task<base::Result<Typed<api::Scale>>> update_scale(const api::Scale& scale,
                                                         const WriteOptions& options) const {
    const api::ObjectMeta& metadata = scale.metadata;
    return decoded<api::Scale>(
        client_.update({resource_of<K>(), metadata.namespace_, metadata.name, "scale"},
                       api::write(scale), options));
  }

 private:
  static Target one(const K& value, const std::string& subresource) {
    return {resource_of<K>(), value.metadata.namespace_, value.metadata.name, subresource};
  }
  // The error is that of the first object that cannot be read.
  static rt::Task<base::Result<TypedPage<K>>> decoded_page(rt::Task<base::Result<ListPage>> task) {
    base::Result<ListPage> page = co_await std::move(task);
    if (!page) co_return page.error();
    TypedPage<K> typed{{}, std::move(page->resource_version), std::move(page->continue_token)};
    typed.items.reserve(page->items.size());
    for (ObjectPtr& object : page->items) {
      base::Result<Typed<K>> item = decode<K>(std::move(object));
      if (!item) co_return item.error();
      typed.items.push_back(std::move(*item));
    }
    co_return typed;
  }
  static rt::Task<base::Result<TypedWatch<K>>> decoded_watch(
      rt::Task<base::Result<std::unique_ptr<WatchStream>>> task) {
    base::Result<std::unique_ptr<WatchStream>> stream = co_await std::move(task);
    if (!stream) co_return stream.error();
    co_return TypedWatch<K>(std::move(*stream));
  }
  static Answer failed(base::Error error) { co_return error; }
  template <Kind Read = K>
  static rt::Task<base::Result<Typed<Read>>> decoded(rt::Task<base::Result<ObjectPtr>> task) {
    base::Result<ObjectPtr> object = co_await std::move(task);
    if (!object) co_return object.error();
    co_return decode<Read>(std::move(*object));
  }

  Client& client_;
};

}  // namespace fairlead::kube
