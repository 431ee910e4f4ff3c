// SPDX-License-Identifier: Apache-2.0
// Reads the JSON of one object (simdjson DOM) by the tables of fields_*.h. Members are visited once, in the document's
// order, because each lookup by name would scan the object again. Null counts as absent; of duplicate members the last
// one wins. One thread, one object. Private to this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "berth/api/decode_rules.h"
#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/json_leaves.h"
#include "berth/base/expected.h"

namespace berth::api::internal {

class JsonDecoder : public JsonLeaves {
 public:
  template <typename T>
  static Expected<std::shared_ptr<const T>> Decode(element object) {
    JsonDecoder decoder(kKind<T>);
    auto out = std::make_shared<T>();
    if (decoder.Whole(object, *out)) return std::shared_ptr<const T>(std::move(out));
    return decoder.Failed(object);
  }

 private:
  using JsonLeaves::JsonLeaves;

  // --- Objects -------------------------------------------------------------------------------------------------------

  template <typename T>
  bool Whole(element value, T& out) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return WrongType(value, "an object");
    for (const auto member : object) {
      if (member.key == "kind" && !Kind(member.value)) return false;
      if (!Member<Place<T>>(member.key, member.value, out)) return false;
    }
    if constexpr (kIsSet<decltype(kAfter<T>)>) kAfter<T>(out);
    return !out.metadata.name.empty() || NameMissing();
  }

  template <typename Message, typename T>
  bool Object(element value, T& out) {
    if constexpr (kIsSet<decltype(kMake<Message>)>) {
      if (value.is_null()) return true;
      typename Taken<std::remove_cvref_t<decltype(kMake<Message>)>>::Type parts;
      if (!Object<decltype(parts)>(value, parts)) return false;
      kMake<Message>(out, std::move(parts));
      return true;
    } else {
      if constexpr (kIsSet<decltype(kBefore<Message>)>) {
        if (!value.is_null()) kBefore<Message>(out);
      }
      const bool is_good = Members<Place<Message>>(value, out);
      if constexpr (kIsSet<decltype(kAfter<Message>)>) kAfter<Message>(out);
      return is_good;
    }
  }

  template <typename Where, typename T>
  bool Members(element value, T& out) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return value.is_null() || WrongType(value, "an object");
    for (const auto member : object) {
      if (!Member<Where>(member.key, member.value, out)) return false;
    }
    return true;
  }

  // Reads a member that the table may not know.
  template <typename Where, typename T>
  [[gnu::always_inline]] bool Member(std::string_view key, element value, T& out) {
    if (key.empty()) return true;
    bool is_good = true;
    Find<Where>(key, value, out, is_good, std::make_index_sequence<Where::kSize>());
    return is_good;
  }

  // Reads the entries of `Where` with the name `key`, in order. Returns true if no further entry can match.
  template <typename Where, typename T, std::size_t... kIndex>
  [[gnu::always_inline]] bool Find(std::string_view key, [[maybe_unused]] element value, [[maybe_unused]] T& out,
                                   [[maybe_unused]] bool& is_good, std::index_sequence<kIndex...>) {
    static constexpr NameTable kNames = NamesOf(Where::kEntries);
    for (std::uint32_t left = kNames[NameHash(key)]; left != 0; left &= left - 1) {
      [[maybe_unused]] const auto index = static_cast<std::size_t>(std::countr_zero(left));
      bool is_found = false;
      // Compiles to a jump table.
      (void)((index == kIndex ? (is_found = Try<Where, kIndex>(key, value, out, is_good), true) : false) || ...);
      if (is_found) return true;
    }
    return false;
  }
  template <typename Where, std::size_t kIndex, typename T>
  [[gnu::always_inline]] bool Try(std::string_view key, element value, T& out, bool& is_good) {
    using Entry = typename Where::template Entry<kIndex>;
    if constexpr (kIsInlined<Entry>) {
      using Nested = typename Where::template Nested<kIndex>;
      return Find<Nested>(key, value, out, is_good, std::make_index_sequence<Nested::kSize>());
    } else {
      // With the constant length the compiler compares words instead of calling memcmp.
      constexpr std::string_view kName = Where::template At<kIndex>().name;
      if (key.size() != kName.size() || std::memcmp(key.data(), kName.data(), kName.size()) != 0) return false;
      is_good = Entered<Where, kIndex>(value, out) || At(kName);
      return !Where::template IsAlso<kIndex>() || !is_good;
    }
  }

  template <typename Where, std::size_t kIndex, typename T>
  [[gnu::always_inline]] bool Entered(element value, T& out) {
    constexpr auto kKept = Where::template At<kIndex>().where;
    if constexpr (kIsFields<std::remove_cv_t<decltype(kKept)>>) {
      return Members<typename Where::template Nested<kIndex>>(value, out);
    } else {
      return Kept(value, out, kKept);
    }
  }

  // Reads a value into its destination.
  template <typename T, typename Where>
  [[gnu::always_inline]] bool Kept(element value, T& out, Where where) {
    if constexpr (kIsFunction<Where>) {
      if (value.is_null()) return true;
      typename Taken<Where>::Type taken{};
      if (!Value<ByType>(value, taken)) return false;
      where(out, std::move(taken));
      return true;
    } else if constexpr (kIsEach<Where>) {
      if constexpr (kIsSet<decltype(where.reset)>) where.reset(out);
      return Array(value, [&](element item) {
        typename Taken<decltype(where.function)>::Type taken{};
        if (!Value<ByType>(item, taken)) return false;
        where.function(out, std::move(taken));
        return true;
      });
    } else {
      if constexpr (kMakesSlot<Where>) {
        if (value.is_null()) return true;
      }
      return Value<typename ShapeOf<Where>::Type>(value, Slot(out, where));
    }
  }

  // --- Values --------------------------------------------------------------------------------------------------------

  template <typename Shape, typename T>
  [[gnu::always_inline]] bool Value(element value, std::optional<T>& out) {
    out.reset();
    return value.is_null() || Value<Shape>(value, out.emplace());
  }
  template <typename Shape, typename T>
  [[gnu::always_inline]] bool Value(element value, T& out) {
    using Way = Reading<Shape, T>;
    if constexpr (Way::kForm == Form::kList) {
      return List<typename Way::ItemShape>(value, out);
    } else if constexpr (Way::kForm == Form::kMap) {
      return Map<typename Way::ItemShape>(value, out);
    } else if constexpr (Way::kForm == Form::kKeys) {
      return Keys(value, out);
    } else if constexpr (Way::kForm == Form::kMessage) {
      return Object<typename Way::Message>(value, out);
    } else {
      return Leaf(value, out);
    }
  }

  template <typename Visit>
  bool Array(element value, Visit visit) {
    simdjson::dom::array array;
    if (value.get(array) != simdjson::SUCCESS) return value.is_null() || WrongType(value, "an array");
    std::size_t index = 0;
    for (const element item : array) {
      if (!visit(item)) return AtItem(index);
      ++index;
    }
    return true;
  }

  template <typename ItemShape, typename Item>
  bool List(element value, std::vector<Item>& out) {
    simdjson::dom::array array;
    out.clear();
    if (value.get(array) != simdjson::SUCCESS) return value.is_null() || WrongType(value, "an array");
    out.reserve(array.size());
    for (const element item : array) {
      if (!Append<ItemShape>(item, out)) return AtItem(out.size() - 1);
    }
    return true;
  }
  template <typename ItemShape, typename Item>
  [[gnu::always_inline]] bool Append(element item, std::vector<Item>& out) {
    if constexpr (std::is_same_v<Item, bool>) {
      bool flag = false;
      const bool is_good = Leaf(item, flag);
      out.push_back(flag);
      return is_good;
    } else {
      return Value<ItemShape>(item, out.emplace_back());
    }
  }

  // Sorted by key.
  template <typename ItemShape, typename Item>
  bool Map(element value, std::vector<std::pair<std::string, Item>>& out) {
    const auto read = [this](element item, Item& kept) { return Value<ItemShape>(item, kept); };
    if (!Entries(value, out, read)) return false;
    SortMap(out);
    return true;
  }
};

}  // namespace berth::api::internal
