// Describes a configuration struct (see described.h) from its members and a table of their meaning.
// Costs half a second of compile time: include it in the .cc beside the struct, not in a header.
//
//   BOOST_DESCRIBE_STRUCT(RouterConfig, (), (port, connect_timeout, policy))
//   BOOST_DESCRIBE_ENUM(Policy, kRoundRobin, kPrefixCache)      // "round-robin", "prefix-cache"
//
//   auto fields_of(const RouterConfig*) {
//     return std::tuple{
//         Field<&RouterConfig::port>{.doc = "port to listen on", .min = 1},
//         Field<&RouterConfig::connect_timeout>{.doc = "until connected", .min = 1ms, .max = 1min},
//         Field<&RouterConfig::policy>{.doc = "how replicas are picked"}};
//   }
//   const codec::StructInfo& info_of(const RouterConfig*) {
//     return codec::describe<RouterConfig>();
//   }
//
// Every described member has one line in the table. Types: bool, integers, double, std::string,
// described enums, base::Bytes ("64MiB"), base::Nanos ("1.5s"), structs with an info_of, and
// std::optional and std::vector of these. A trailing underscore is not part of the name.
#pragma once

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/duration.h"
#include "codec/described.h"

namespace fairlead::codec {

namespace reflect {

template <class T>
struct Wrapped {
  using Inner = T;
  static constexpr FieldShape kShape = FieldShape::kOne;
};
template <class T>
struct Wrapped<std::optional<T>> {
  using Inner = T;
  static constexpr FieldShape kShape = FieldShape::kOptional;
};
template <class T>
struct Wrapped<std::vector<T>> {
  using Inner = T;
  static constexpr FieldShape kShape = FieldShape::kList;
};

template <class Pointer>
struct MemberOf;
template <class Owner, class T>
struct MemberOf<T Owner::*> {
  using Type = T;
};

struct Unbounded {};

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
using Bound = std::conditional_t<
    kIsNumber<T> || std::is_same_v<T, base::Bytes> || std::is_same_v<T, base::Nanos>, T, Unbounded>;

// The limits of a field, without its type.
struct Limits {
  int64_t integer_min = std::numeric_limits<int64_t>::min();
  uint64_t integer_max = std::numeric_limits<uint64_t>::max();
  double number_min = -std::numeric_limits<double>::infinity();
  double number_max = std::numeric_limits<double>::infinity();
  std::string_view one_of;  // strings: "a|b|c"
};

// One value of each kind: false after reader.fail(). Integers come back as their bits.
bool read_bool(Reader& reader, const Json& value, bool& out);
bool read_integer(Reader& reader, const Json& value, const Limits& limits, uint64_t& out);
bool read_double(Reader& reader, const Json& value, const Limits& limits, double& out);
bool read_string(Reader& reader, const Json& value, const Limits& limits, std::string& out);
bool read_bytes(Reader& reader, const Json& value, const Limits& limits, base::Bytes& out);
bool read_nanos(Reader& reader, const Json& value, const Limits& limits, base::Nanos& out);
bool read_enum(Reader& reader, const Json& value, std::span<const std::string> names, size_t& out);
std::string enum_name(std::string_view enumerator);  // kRoundRobin: "round-robin"
std::string type_text(ValueKind kind, const Limits& limits, std::span<const std::string> names,
                      FieldShape shape);

}  // namespace reflect

template <auto Member>
struct Field {
  using Type = typename reflect::MemberOf<decltype(Member)>::Type;
  using Value = typename reflect::Wrapped<Type>::Inner;

  std::string_view doc;
  std::optional<reflect::Bound<Value>> min = std::nullopt;
  std::optional<reflect::Bound<Value>> max = std::nullopt;
  std::string_view one_of = {};  // strings: "a|b|c"
  bool required = false;
};

namespace reflect {

template <class T>
constexpr ValueKind kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return ValueKind::kBool;
  else if constexpr (std::is_integral_v<T>)
    return ValueKind::kInteger;
  else if constexpr (std::is_floating_point_v<T>)
    return ValueKind::kDouble;
  else if constexpr (std::is_same_v<T, std::string>)
    return ValueKind::kString;
  else if constexpr (std::is_enum_v<T>)
    return ValueKind::kEnum;
  else if constexpr (std::is_same_v<T, base::Bytes>)
    return ValueKind::kSize;
  else if constexpr (std::is_same_v<T, base::Nanos>)
    return ValueKind::kDuration;
  else
    return ValueKind::kStruct;
}

template <class E>
const std::vector<std::string>& enum_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>(
        [&](auto d) { names.push_back(enum_name(d.name)); });
    return names;
  }();
  return kNames;
}

template <class E>
E enum_at(size_t index) {
  E value{};
  size_t i = 0;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (i++ == index) value = d.value;
  });
  return value;
}

template <class E>
std::string_view name_of(E value) {
  size_t found = 0;
  size_t i = 0;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (d.value == value) found = i;
    ++i;
  });
  return enum_names<E>()[found];
}

template <class F>
Limits limits_of(const F& field) {
  using T = typename F::Value;
  Limits limits;
  limits.one_of = field.one_of;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const T low = field.min.value_or(std::numeric_limits<T>::min());
    const T high = field.max.value_or(std::numeric_limits<T>::max());
    limits.integer_min = std::in_range<int64_t>(low) ? static_cast<int64_t>(low)
                                                     : std::numeric_limits<int64_t>::max();
    limits.integer_max = std::in_range<uint64_t>(high) ? static_cast<uint64_t>(high) : 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (field.min) limits.number_min = *field.min;
    if (field.max) limits.number_max = *field.max;
  } else if constexpr (std::is_same_v<T, base::Bytes>) {
    limits.integer_min = field.min ? static_cast<int64_t>(field.min->count) : 0;
    if (field.max) limits.integer_max = field.max->count;
  } else if constexpr (std::is_same_v<T, base::Nanos>) {
    limits.integer_min = field.min ? field.min->count() : 0;
    limits.integer_max =
        static_cast<uint64_t>((field.max ? *field.max : base::Nanos::max()).count());
  }
  return limits;
}

template <class T>
bool read_value(Reader& reader, const Json& value, const Limits& limits, T& out) {
  constexpr ValueKind kKind = kind_of<T>();
  if constexpr (kKind == ValueKind::kBool) {
    return read_bool(reader, value, out);
  } else if constexpr (kKind == ValueKind::kInteger) {
    uint64_t bits = 0;
    if (!read_integer(reader, value, limits, bits)) return false;
    out = static_cast<T>(bits);
    return true;
  } else if constexpr (kKind == ValueKind::kDouble) {
    return read_double(reader, value, limits, out);
  } else if constexpr (kKind == ValueKind::kString) {
    return read_string(reader, value, limits, out);
  } else if constexpr (kKind == ValueKind::kEnum) {
    size_t index = 0;
    if (!read_enum(reader, value, enum_names<T>(), index)) return false;
    out = enum_at<T>(index);
    return true;
  } else if constexpr (kKind == ValueKind::kSize) {
    return read_bytes(reader, value, limits, out);
  } else if constexpr (kKind == ValueKind::kDuration) {
    return read_nanos(reader, value, limits, out);
  } else {
    return reader.read_struct(info_for<T>(), value, &out);
  }
}

template <class T>
bool read_shaped(Reader& reader, const Json& value, const Limits& limits, T& out) {
  if constexpr (Wrapped<T>::kShape == FieldShape::kOne) {
    return read_value(reader, value, limits, out);
  } else if constexpr (Wrapped<T>::kShape == FieldShape::kOptional) {
    out.reset();
    return value.is_null() || read_value(reader, value, limits, out.emplace());
  } else {
    if (!value.is_array()) return reader.fail(value, "must be a list");
    out.clear();
    for (const Json& item : value.items()) {
      const Reader::Step step(reader, out.size());
      typename T::value_type element{};
      if (!read_value(reader, item, limits, element)) return false;
      out.push_back(std::move(element));
    }
    return true;
  }
}

template <class T>
bool read_one(Reader& reader, const Json& value, const Limits& limits, T& out) {
  if constexpr (Wrapped<T>::kShape == FieldShape::kList) {
    typename T::value_type element{};
    if (!read_value(reader, value, limits, element)) return false;
    out.push_back(std::move(element));
    return true;
  } else {
    return read_shaped(reader, value, limits, out);
  }
}

template <class T>
void write_value(JsonWriter& out, const T& value) {
  if constexpr (Wrapped<T>::kShape == FieldShape::kOptional) {
    value ? write_value(out, *value) : static_cast<void>(out.null());
  } else if constexpr (Wrapped<T>::kShape == FieldShape::kList) {
    out.begin_array();
    for (const auto& item : value) write_value(out, item);
    out.end_array();
  } else if constexpr (kind_of<T>() == ValueKind::kBool) {
    out.boolean(value);
  } else if constexpr (kind_of<T>() == ValueKind::kInteger) {
    if constexpr (std::is_signed_v<T>)
      out.integer(value);
    else
      out.unsigned_integer(value);
  } else if constexpr (kind_of<T>() == ValueKind::kDouble) {
    out.number(value);
  } else if constexpr (kind_of<T>() == ValueKind::kString) {
    out.string(value);
  } else if constexpr (kind_of<T>() == ValueKind::kEnum) {
    out.string(name_of(value));
  } else if constexpr (kind_of<T>() == ValueKind::kStruct) {
    write_described(out, info_for<T>(), &value);
  } else {
    out.string(base::to_string(value));
  }
}

// The line of the table that is about `Member`.
template <class T, auto Member>
auto field_for() {
  using Wanted = Field<Member>;
  using Table = decltype(fields_of(static_cast<const T*>(nullptr)));
  static_assert(boost::mp11::mp_count<Table, Wanted>::value == 1,
                "every described member needs exactly one line in fields_of");
  return std::get<Wanted>(fields_of(static_cast<const T*>(nullptr)));
}

template <class T, auto Member>
FieldInfo field_info(std::string_view name) {
  using F = Field<Member>;
  using Value = typename F::Value;
  const F field = field_for<T, Member>();
  FieldInfo info;
  info.name = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  info.doc = field.doc;
  info.kind = kind_of<Value>();
  info.shape = Wrapped<typename F::Type>::kShape;
  info.required = field.required;
  std::span<const std::string> names;
  if constexpr (std::is_enum_v<Value>) names = enum_names<Value>();
  if constexpr (kind_of<Value>() == ValueKind::kStruct) info.nested = &info_for<Value>();
  info.type = type_text(info.kind, limits_of(field), names, info.shape);
  info.member = [](void* owner) -> void* { return &(static_cast<T*>(owner)->*Member); };
  info.read = [](Reader& reader, const Json& value, void* member) {
    return read_shaped(reader, value, limits_of(field_for<T, Member>()),
                       *static_cast<typename F::Type*>(member));
  };
  info.read_item = [](Reader& reader, const Json& value, void* member) {
    return read_one(reader, value, limits_of(field_for<T, Member>()),
                    *static_cast<typename F::Type*>(member));
  };
  info.write = [](JsonWriter& out, const void* owner) {
    write_value(out, static_cast<const T*>(owner)->*Member);
  };
  return info;
}

}  // namespace reflect

// The description of T, made once.
template <class T>
const StructInfo& describe() {
  static const StructInfo kInfo = [] {
    using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
    using Table = decltype(fields_of(static_cast<const T*>(nullptr)));
    static_assert(boost::mp11::mp_size<Members>::value == std::tuple_size_v<Table>,
                  "fields_of has a line for something that is not described");
    StructInfo info;
    boost::mp11::mp_for_each<Members>([&](auto d) {
      info.fields.push_back(reflect::field_info<T, decltype(d)::pointer>(d.name));
    });
    JsonWriter out(info.defaults);
    const T defaults{};
    write_described(out, info, &defaults);
    return info;
  }();
  return kInfo;
}

}  // namespace fairlead::codec
