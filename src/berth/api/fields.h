// SPDX-License-Identifier: Apache-2.0
// A small language that describes API types: fields_*.h list the fields of each message once, and the readers of JSON
// (json_decoder.h) and protobuf (protobuf_decoder.h) use these tables. Tables are compile-time constants; any thread
// may use them. Private to this folder.
//
//   template <> inline constexpr auto kFields<Taint> = Fields{
//       Field{"key", 1, &Taint::key},          // its name in JSON, its number in protobuf, where it is stored
//       Field{"effect", 3, &Taint::effect},    // fields that no table names are skipped
//   };
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/meta.h"

namespace berth::api::internal {

// --- Tables ----------------------------------------------------------------------------------------------------------

// The fields of a message. `Message` is the struct in which it is stored or, if it is stored as something else (As,
// ListOf, MapOf), a name for it.
template <typename Message>
inline constexpr auto kFields = nullptr;

// Optional: functions that are called with the object before and after a message is read into it.
template <typename Message>
inline constexpr auto kBefore = nullptr;
template <typename Message>
inline constexpr auto kAfter = nullptr;

// Optional: void(T& object, Parts&& read). The message is read into a `Parts` (which has the kFields), from which the
// function sets the object.
template <typename Message>
inline constexpr auto kMake = nullptr;

// The `kind` of a top-level object.
template <typename Object>
inline constexpr std::string_view kKind;

template <typename... Entries>
struct Fields {
  constexpr explicit Fields(Entries... each) : entries(each...) {}
  std::tuple<Entries...> entries;
};

// One field. `where` says where it is stored:
//   &Taint::key        in a member
//   Self{}             in the object itself, for a message that is stored as its only field
//   Fields{...}        a message whose fields are stored in this object as well
//   Via{&A::b, &B::c}  in a member of a member; an optional on the way is created
//   Alternative<T>{}   the object is a variant, and this field is its T
//   &Function          void(T& object, U value): the function stores it; U is read like a member of that type
//   Each{&Function}    the same for each element of a list; a second function, void(T& object), clears the elements
//   when
//                      the JSON member occurs again
// The type of the destination determines how it is read, unless As, ListOf, MapOf or KeysOf says otherwise.
template <typename Where>
struct Field {
  std::string_view name;
  std::uint32_t number;
  Where where;
};

// A field that a later entry also reads.
template <typename Entry>
struct Also {
  Entry entry;
};

// A message in protobuf whose fields are among the others in JSON (a struct embedded in Go).
template <typename Nested>
struct Inlined {
  std::uint32_t number;
  Nested fields;
};

struct Self {};

template <typename... Members>
struct Via {
  constexpr explicit Via(Members... each) : members(each...) {}
  std::tuple<Members...> members;
};

template <typename T>
struct Alternative {};

template <typename Function, typename Reset = std::nullptr_t>
struct Each {
  Function function;
  Reset reset = {};
};

// --- Readings that differ from the destination's type ----------------------------------------------------------------

struct ByType {};
template <typename Message>
struct AsMessage {};
template <typename Message>
struct AsList {};
template <typename Message>
struct AsMap {};
struct AsKeys {};

template <typename Shape, typename Where>
struct Shaped {
  Where where;
};

// Reads the field as this message, as a list or map of it, or as a map of which only the keys are kept.
template <typename Message, typename Where>
constexpr Shaped<AsMessage<Message>, Where> As(Where where) {
  return {where};
}
template <typename Message, typename Where>
constexpr Shaped<AsList<Message>, Where> ListOf(Where where) {
  return {where};
}
template <typename Message, typename Where>
constexpr Shaped<AsMap<Message>, Where> MapOf(Where where) {
  return {where};
}
template <typename Where>
constexpr Shaped<AsKeys, Where> KeysOf(Where where) {
  return {where};
}

// --- For the readers of tables ---------------------------------------------------------------------------------------

template <typename T>
inline constexpr bool kIsSet = !std::is_same_v<std::remove_cvref_t<T>, std::nullptr_t>;

template <typename Entry>
constexpr const Entry& WithoutAlso(const Entry& entry) {
  return entry;
}
template <typename Entry>
constexpr const Entry& WithoutAlso(const Also<Entry>& entry) {
  return entry.entry;
}

// The fields inside an entry that has some.
template <typename... Entries>
constexpr const auto& FieldsIn(const Field<Fields<Entries...>>& entry) {
  return entry.where;
}
template <typename Nested>
constexpr const auto& FieldsIn(const Inlined<Nested>& entry) {
  return entry.fields;
}

template <typename List>
constexpr const auto& EntriesAt(const List& list) {
  return list.entries;
}
template <std::size_t kFirst, std::size_t... kRest, typename List>
constexpr const auto& EntriesAt(const List& list) {
  return EntriesAt<kRest...>(FieldsIn(WithoutAlso(std::get<kFirst>(list.entries))));
}

// A list of entries: the fields of a message or, with a path of indices, those of an entry inside it.
template <typename Message, std::size_t... kPath>
struct Place {
  static constexpr const auto& kEntries = EntriesAt<kPath...>(kFields<Message>);
  static constexpr std::size_t kSize = std::tuple_size_v<std::remove_cvref_t<decltype(kEntries)>>;

  // The Field or Inlined at an index, and whether a later entry reads it as well.
  template <std::size_t kIndex>
  static constexpr const auto& At() {
    return WithoutAlso(std::get<kIndex>(kEntries));
  }
  template <std::size_t kIndex>
  using Entry = std::remove_cvref_t<decltype(At<kIndex>())>;
  template <std::size_t kIndex>
  static constexpr bool IsAlso() {
    return !std::is_same_v<Entry<kIndex>, std::remove_cvref_t<decltype(std::get<kIndex>(kEntries))>>;
  }
  template <std::size_t kIndex>
  using Nested = Place<Message, kPath..., kIndex>;
};

// The entries of a list that a JSON name may belong to, as a bit mask by a hash of the name's length, first and last
// character: most unknown names are skipped at once.
constexpr std::size_t kNameHashes = 64;
constexpr std::size_t NameHash(std::string_view name) {
  return (name.size() + 3 * static_cast<unsigned char>(name.front()) + 7 * static_cast<unsigned char>(name.back())) %
         kNameHashes;
}
using NameTable = std::array<std::uint32_t, kNameHashes>;

template <typename Where>
constexpr void AddName(const Field<Where>& field, std::uint32_t bit, NameTable& out) {
  out[NameHash(field.name)] |= bit;
}
template <typename Nested>
constexpr void AddName(const Inlined<Nested>& entry, std::uint32_t bit, NameTable& out) {
  std::apply([&](const auto&... each) { (AddName(WithoutAlso(each), bit, out), ...); }, entry.fields.entries);
}
template <typename... Entries>
constexpr NameTable NamesOf(const std::tuple<Entries...>& entries) {
  static_assert(sizeof...(Entries) <= 32, "one bit an entry");
  NameTable table{};
  std::uint32_t bit = 1;
  std::apply([&](const auto&... each) { ((AddName(WithoutAlso(each), bit, table), bit <<= 1), ...); }, entries);
  return table;
}

template <typename Where>
inline constexpr bool kIsFields = false;
template <typename... Entries>
inline constexpr bool kIsFields<Fields<Entries...>> = true;
template <typename Entry>
inline constexpr bool kIsInlined = false;
template <typename Nested>
inline constexpr bool kIsInlined<Inlined<Nested>> = true;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
T& Present(T& value) {
  return value;
}
template <typename T>
T& Present(std::optional<T>& value) {
  return value ? *value : value.emplace();
}

// The member of `object` that `where` names.
template <typename T, typename Owner, typename Member>
constexpr Member& Slot(T& object, Member Owner::* where) {
  return object.*where;
}
template <typename T>
constexpr T& Slot(T& object, Self) {
  return object;
}
template <typename T, typename First, typename Second>
auto& Slot(T& object, const Via<First, Second>& where) {
  return Slot(Present(Slot(object, std::get<0>(where.members))), std::get<1>(where.members));
}
template <typename T, typename Kept>
Kept& Slot(T& object, Alternative<Kept>) {
  Kept* held = std::get_if<Kept>(&object);
  return held != nullptr ? *held : object.template emplace<Kept>();
}
template <typename T, typename Shape, typename Where>
auto& Slot(T& object, const Shaped<Shape, Where>& where) {
  return Slot(object, where.where);
}

// Whether Slot() changes the object, so that it must not be called for a null.
template <typename Where>
inline constexpr bool kMakesSlot = false;
template <typename... Members>
inline constexpr bool kMakesSlot<Via<Members...>> = true;
template <typename T>
inline constexpr bool kMakesSlot<Alternative<T>> = true;
template <typename Shape, typename Where>
inline constexpr bool kMakesSlot<Shaped<Shape, Where>> = kMakesSlot<Where>;

template <typename Where>
struct ShapeOf {
  using Type = ByType;
};
template <typename Shape, typename Where>
struct ShapeOf<Shaped<Shape, Where>> {
  using Type = Shape;
};

// For a function: the type of its second parameter.
template <typename Function>
inline constexpr bool kIsFunction = false;
template <typename T, typename Value>
inline constexpr bool kIsFunction<void (*)(T&, Value)> = true;
template <typename Function>
struct Taken;
template <typename T, typename Value>
struct Taken<void (*)(T&, Value)> {
  using Type = std::remove_cvref_t<Value>;
};
template <typename Where>
inline constexpr bool kIsEach = false;
template <typename Function, typename Reset>
inline constexpr bool kIsEach<Each<Function, Reset>> = true;

enum class Form : std::uint8_t { kLeaf, kMessage, kList, kMap, kKeys };

// How a value of type `T`, which is no optional, is read: its form, and the shape of the items of lists and maps.
template <typename Shape, typename T>
struct Reading {
  using Message = T;
  static constexpr Form kForm =
      kIsSet<decltype(kFields<T>)> || kIsSet<decltype(kMake<T>)> ? Form::kMessage : Form::kLeaf;
};
template <typename Item>
struct Reading<ByType, std::vector<Item>> {
  static constexpr Form kForm = Form::kList;
  using ItemShape = ByType;
};
template <typename Value>
struct Reading<ByType, std::vector<std::pair<std::string, Value>>> {
  static constexpr Form kForm = Form::kMap;
  using ItemShape = ByType;
};
template <typename Name, typename T>
struct Reading<AsMessage<Name>, T> {
  using Message = Name;
  static constexpr Form kForm = Reading<ByType, Name>::kForm;
};
template <typename Name, typename T>
struct Reading<AsList<Name>, T> {
  static constexpr Form kForm = Form::kList;
  using ItemShape = AsMessage<Name>;
};
template <typename Name, typename T>
struct Reading<AsMap<Name>, T> {
  static constexpr Form kForm = Form::kMap;
  using ItemShape = AsMessage<Name>;
};
template <typename T>
struct Reading<AsKeys, T> {
  static constexpr Form kForm = Form::kKeys;
};

}  // namespace berth::api::internal
