// Describes the structs of an API: each member's meaning, limits and default once, from which come
// reader, writer, schema, CustomResourceDefinition and reference page. Costs compile time: include
// it in the .cc beside the struct, never in a header.
//
//   BOOST_DESCRIBE_ENUM(Protocol, http, https)
//   const TypeInfo& type_of(const Protocol*) {
//     static const TypeInfo kType = describe_enum<Protocol>();
//     return kType;
//   }
//
//   BOOST_DESCRIBE_STRUCT(WorkloadPort, (), (port, protocol))
//   const TypeInfo& type_of(const WorkloadPort*) {
//     static const TypeInfo kType = describe<WorkloadPort>(
//         {.doc = "Where the engines listen."},
//         {field<&WorkloadPort::port>({.doc = "TCP port.", .required = true, .min = 1, .max =
//         65535}),
//          field<&WorkloadPort::protocol>({.doc = "...", .default_json = R"("http")"})});
//     return kType;
//   }
//
// Types: bool, int32_t, int64_t, double, std::string, codec::Json, described enums and structs, the
// value types of this folder, and std::optional, std::vector and std::map<std::string, T> of these.
// Every described member has exactly one line; the first use aborts otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/type_info.h"
#include "codec/reflect.h"

namespace fairlead::api {

// What a field adds to the schema of its type.
struct FieldSpec {
  std::string_view doc = {};
  bool required = false;
  std::string_view default_json = {};
  std::optional<double> min = std::nullopt;
  std::optional<double> max = std::nullopt;
  std::optional<uint64_t> min_length = std::nullopt;
  std::optional<uint64_t> max_length = std::nullopt;
  std::optional<uint64_t> min_items = std::nullopt;
  std::optional<uint64_t> max_items = std::nullopt;
  std::optional<uint64_t> min_properties = std::nullopt;
  std::optional<uint64_t> max_properties = std::nullopt;
  std::string_view pattern = {};
  std::string_view format = {};
  std::string_view one_of = {};  // strings: "a|b|c"
  std::string_view list_type = {};
  std::string_view list_map_key = {};
  std::string_view core = {};  // Json and lists of it: the Kubernetes type it, or each item, is
  std::string_view nested_defaults = {};  // an object: defaults of the value's own fields
  std::vector<Rule> rules = {};
  std::vector<WebhookRule> webhook = {};
};

struct StructSpec {
  std::string_view doc = {};
  std::string_view map_type = {};
  std::vector<Rule> rules = {};
  std::vector<WebhookRule> webhook = {};
};

namespace describe_detail {

struct FieldLine {
  const void* tag;  // which member, see kTag
  const TypeInfo* type;
  void* (*member)(void* owner);
  FieldSpec spec;
  bool is_unknown = false;
};

struct Named {
  const void* tag;
  std::string_view name;
};

template <auto Member>
inline constexpr char kTag = 0;

template <class Pointer>
struct MemberOf;
template <class Owner_, class T>
struct MemberOf<T Owner_::*> {
  using Owner = Owner_;
  using Type = T;
};

TypeInfo scalar(std::string_view type, std::string_view format);
TypeInfo enumeration(std::vector<std::string> names);
TypeInfo structure(const StructSpec& spec, std::vector<FieldLine> lines,
                   const std::vector<Named>& members);
TypeInfo list_of(const TypeInfo& item);
TypeInfo map_of(const TypeInfo& item);
TypeInfo optional_of(const TypeInfo& value);
bool read_integer(Reader& reader, const Json& value, int64_t min, int64_t max, int64_t& out);
// The place of the value among the schema's names; false after reader.fail().
bool read_enum(const TypeInfo& self, Reader& reader, const Json& value, size_t& out);

const TypeInfo& type_for(const bool*);
const TypeInfo& type_for(const int32_t*);
const TypeInfo& type_for(const int64_t*);
const TypeInfo& type_for(const double*);
const TypeInfo& type_for(const std::string*);
const TypeInfo& type_for(const Json*);
template <class T>
const TypeInfo& type_for(const std::optional<T>*);
template <class T>
const TypeInfo& type_for(const std::vector<T>*);
template <class T>
const TypeInfo& type_for(const std::map<std::string, T>*);
template <class T>
  requires requires(const T* p) { type_of(p); }
const TypeInfo& type_for(const T* p) {
  return type_of(p);
}

template <class T>
const TypeInfo& type_for(const std::optional<T>*) {
  using Value = std::optional<T>;
  static const TypeInfo kType = [] {
    TypeInfo type = optional_of(type_for(static_cast<const T*>(nullptr)));
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      auto& out = *static_cast<Value*>(object);
      out.reset();
      if (value.is_null()) return true;
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      return inner.read(inner, reader, value, &out.emplace());
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      const auto& value = *static_cast<const Value*>(object);
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      value ? inner.write(inner, out, &*value) : static_cast<void>(out.null());
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return !static_cast<const Value*>(object)->has_value();
    };
    return type;
  }();
  return kType;
}

template <class T>
const TypeInfo& type_for(const std::vector<T>*) {
  using Value = std::vector<T>;
  static const TypeInfo kType = [] {
    TypeInfo type = list_of(type_for(static_cast<const T*>(nullptr)));
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      auto& out = *static_cast<Value*>(object);
      out.clear();
      if (value.is_null()) return true;
      if (!value.is_array()) return reader.fail(value, "must be a list");
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      out.reserve(value.items().size());
      for (const Json& item : value.items()) {
        const Reader::Step step(reader, out.size());
        if (!inner.read(inner, reader, item, &out.emplace_back())) return false;
      }
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      out.begin_array();
      for (const T& item : *static_cast<const Value*>(object)) inner.write(inner, out, &item);
      out.end_array();
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return static_cast<const Value*>(object)->empty();
    };
    return type;
  }();
  return kType;
}

template <class T>
const TypeInfo& type_for(const std::map<std::string, T>*) {
  using Value = std::map<std::string, T>;
  static const TypeInfo kType = [] {
    TypeInfo type = map_of(type_for(static_cast<const T*>(nullptr)));
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      auto& out = *static_cast<Value*>(object);
      out.clear();
      if (value.is_null()) return true;
      if (!value.is_object()) return reader.fail(value, "must be a mapping");
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      for (const auto& [key, item] : value.members()) {
        const Reader::Step step(reader, key);
        if (!inner.read(inner, reader, item, &out[key])) return false;
      }
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      const TypeInfo& inner = type_for(static_cast<const T*>(nullptr));
      out.begin_object();
      for (const auto& [key, item] : *static_cast<const Value*>(object)) {
        out.key(key);
        inner.write(inner, out, &item);
      }
      out.end_object();
    };
    type.absent = [](const TypeInfo&, const void* object) {
      return static_cast<const Value*>(object)->empty();
    };
    return type;
  }();
  return kType;
}

}  // namespace describe_detail

using Line = describe_detail::FieldLine;

template <auto Member>
Line field(FieldSpec spec) {
  using M = describe_detail::MemberOf<decltype(Member)>;
  return {&describe_detail::kTag<Member>,
          &describe_detail::type_for(static_cast<const typename M::Type*>(nullptr)),
          [](void* owner) -> void* { return &(static_cast<typename M::Owner*>(owner)->*Member); },
          std::move(spec)};
}

// The member that keeps what a partial view does not name.
template <auto Member>
Line unknown() {
  using M = describe_detail::MemberOf<decltype(Member)>;
  static_assert(std::is_same_v<typename M::Type, Unknown>);
  return {&describe_detail::kTag<Member>,
          nullptr,
          [](void* owner) -> void* { return &(static_cast<typename M::Owner*>(owner)->*Member); },
          {},
          true};
}

template <class T>
TypeInfo describe(const StructSpec& spec, std::vector<Line> lines) {
  std::vector<describe_detail::Named> members;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto d) {
        members.push_back({&describe_detail::kTag<decltype(d)::pointer>, d.name});
      });
  return describe_detail::structure(spec, std::move(lines), members);
}

// A partial view of a struct that others define: its members have no meaning of ours to tell, and a
// member of type Unknown keeps the rest.
template <class T>
TypeInfo describe_view() {
  std::vector<Line> lines;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto d) {
        constexpr auto kMember = decltype(d)::pointer;
        using Type = typename describe_detail::MemberOf<std::remove_cv_t<decltype(kMember)>>::Type;
        if constexpr (std::is_same_v<Type, Unknown>) {
          lines.push_back(unknown<kMember>());
        } else {
          lines.push_back(field<kMember>({}));
        }
      });
  return describe<T>({}, std::move(lines));
}

template <class T>
TypeInfo describe_kind_view() {
  TypeInfo type = describe_view<T>();
  type.api_version = T::kKind.api_version();
  type.kind = T::kKind.kind;
  return type;
}

// A kind: as describe, and apiVersion and kind are written first and compared when read.
template <class T>
TypeInfo describe_kind(const StructSpec& spec, std::vector<Line> lines) {
  TypeInfo type = describe<T>(spec, std::move(lines));
  type.api_version = T::kKind.api_version();
  type.kind = T::kKind.kind;
  return type;
}

// The values are the enumerators' names, without a trailing underscore.
template <class E>
TypeInfo describe_enum() {
  std::vector<std::string> names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    CHECK(static_cast<size_t>(d.value) == names.size(), "enumerators are numbered from 0");
    names.emplace_back(d.name);
  });
  TypeInfo type = describe_detail::enumeration(std::move(names));
  type.read = [](const TypeInfo& self, Reader& reader, const Json& value, void* object) {
    size_t index = 0;
    if (!describe_detail::read_enum(self, reader, value, index)) return false;
    *static_cast<E*>(object) = static_cast<E>(index);
    return true;
  };
  type.write = [](const TypeInfo& self, JsonWriter& out, const void* object) {
    out.string(self.schema.enum_values[static_cast<size_t>(*static_cast<const E*>(object))]);
  };
  return type;
}

}  // namespace fairlead::api
