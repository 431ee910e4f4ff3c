// SPDX-License-Identifier: Apache-2.0
// Reads the protobuf of one object by the tables of fields_*.h. Field numbers are those of generated.proto in
// k8s.io/api and k8s.io/apimachinery 0.36. Unknown fields are skipped by their length. As protobuf specifies, a message
// field that occurs twice is merged. One thread, one object. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/api/decode_rules.h"
#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/protobuf_leaves.h"
#include "berth/base/expected.h"

namespace berth::api::internal {

// State of a field until the end of its message: labels, which become a StringMap once; whether a map has to be sorted;
// the number of elements of a list, for error paths.
struct Nothing {};
struct Labels {
  std::vector<StringMap::Entry> entries;
};
struct HasEntries {
  bool value = false;
};
struct ItemCount {
  std::size_t value = 0;
};
template <typename Shape, typename Kept>
struct GatheredInSlot {
  using Type = std::conditional_t<Reading<Shape, Kept>::kForm == Form::kMap, HasEntries, Nothing>;
};
template <typename Shape>
struct GatheredInSlot<Shape, StringMap> {
  using Type = Labels;
};
template <typename Shape, typename Kept>
struct GatheredInSlot<Shape, std::optional<Kept>> : GatheredInSlot<Shape, Kept> {};

template <typename T, typename Entry>
struct GatheredOf {
  using Type = Nothing;
};
template <typename T, typename Function, typename Reset>
struct GatheredOf<T, Field<Each<Function, Reset>>> {
  using Type = ItemCount;
};
template <typename T, typename Where>
  requires(!kIsFunction<Where> && !kIsFields<Where>)
struct GatheredOf<T, Field<Where>>
    : GatheredInSlot<typename ShapeOf<Where>::Type,
                     std::remove_cvref_t<decltype(Slot(std::declval<T&>(), std::declval<Where>()))>> {};

class ProtobufDecoder : public ProtobufLeaves {
 public:
  template <typename T>
  static Expected<std::shared_ptr<const T>> Decode(std::string_view raw) {
    ProtobufDecoder decoder(kKind<T>);
    auto out = std::make_shared<T>();
    if (decoder.Object<T>(raw, *out) && (!out->metadata.name.empty() || decoder.NameMissing())) {
      return std::shared_ptr<const T>(std::move(out));
    }
    return decoder.Failure(out->metadata.namespace_name, out->metadata.name);
  }

 private:
  using ProtobufLeaves::ProtobufLeaves;

  // --- Messages ------------------------------------------------------------------------------------------------------

  template <typename Message, typename T>
  bool Object(std::string_view bytes, T& out) {
    if constexpr (kIsSet<decltype(kMake<Message>)>) {
      typename Taken<std::remove_cvref_t<decltype(kMake<Message>)>>::Type parts;
      if (!Fields<Place<decltype(parts)>>(bytes, parts)) return false;
      kMake<Message>(out, std::move(parts));
      return true;
    } else {
      if constexpr (kIsSet<decltype(kBefore<Message>)>) kBefore<Message>(out);
      const bool is_good = Fields<Place<Message>>(bytes, out);
      if constexpr (kIsSet<decltype(kAfter<Message>)>) kAfter<Message>(out);
      return is_good;
    }
  }

  template <typename Where, typename T>
  bool Fields(std::string_view bytes, T& out) {
    return Fields<Where>(bytes, out, std::make_index_sequence<Where::kSize>());
  }
  template <typename Where, typename T, std::size_t... kIndex>
  bool Fields(std::string_view bytes, T& out, std::index_sequence<kIndex...>) {
    std::tuple<typename GatheredOf<T, typename Where::template Entry<kIndex>>::Type...> gathered;
    Wire in(bytes);
    while (in.Next()) {
      bool is_good = true;
      (void)(Try<Where, kIndex>(in, out, std::get<kIndex>(gathered), is_good) || ...);
      if (!is_good) return false;
    }
    if (in.is_malformed()) return Malformed();
    (Settle(out, Where::template At<kIndex>(), std::get<kIndex>(gathered)), ...);
    return true;
  }

  // Reads the entry if it has this number. Returns true if no further entry can match.
  template <typename Where, std::size_t kIndex, typename T, typename Gathered>
  [[gnu::always_inline]] bool Try(const Wire& in, T& out, Gathered& gathered, bool& is_good) {
    if (in.number() != Where::template At<kIndex>().number) return false;
    is_good = Entered<Where, kIndex>(in, out, gathered);
    return !Where::template IsAlso<kIndex>() || !is_good;
  }

  template <typename Where, std::size_t kIndex, typename T, typename Gathered>
  [[gnu::always_inline]] bool Entered(const Wire& in, T& out, [[maybe_unused]] Gathered& gathered) {
    using Entry = typename Where::template Entry<kIndex>;
    constexpr const auto& kEntry = Where::template At<kIndex>();
    if constexpr (kIsInlined<Entry>) {
      return Nested<Where, kIndex>(in, out);
    } else if constexpr (kIsFields<std::remove_cvref_t<decltype(kEntry.where)>>) {
      return Nested<Where, kIndex>(in, out) || At(kEntry.name);
    } else {
      return Kept(in, out, kEntry.name, kEntry.where, gathered);
    }
  }
  template <typename Where, std::size_t kIndex, typename T>
  [[gnu::always_inline]] bool Nested(const Wire& in, T& out) {
    return in.is_bytes() ? Fields<typename Where::template Nested<kIndex>>(in.bytes(), out) : NoMessage(in);
  }

  // Reads a value, or one element or entry, into its destination.
  template <typename T, typename Where, typename Gathered>
  [[gnu::always_inline]] bool Kept(const Wire& in, T& out, std::string_view name, Where where,
                                   [[maybe_unused]] Gathered& gathered) {
    if constexpr (kIsFunction<Where>) {
      typename Taken<Where>::Type taken{};
      if (!Value<ByType>(in, taken, name)) return false;
      where(out, std::move(taken));
      return true;
    } else if constexpr (kIsEach<Where>) {
      typename Taken<decltype(where.function)>::Type taken{};
      if (!Item<ByType>(in, taken)) return AtItem(gathered.value) || At(name);
      ++gathered.value;
      where.function(out, std::move(taken));
      return true;
    } else if constexpr (std::is_same_v<Gathered, Labels>) {
      return Entry<ByType>(in, gathered.entries, name);
    } else {
      if constexpr (std::is_same_v<Gathered, HasEntries>) gathered.value = true;
      return Value<typename ShapeOf<Where>::Type>(in, Slot(out, where), name);
    }
  }

  template <typename T, typename Entry, typename Gathered>
  [[gnu::always_inline]] void Settle(T& out, const Entry& entry, Gathered& gathered) {
    if constexpr (std::is_same_v<Gathered, Labels>) {
      if (!gathered.entries.empty()) Present(Slot(out, entry.where)) = StringMap(std::move(gathered.entries));
    } else if constexpr (std::is_same_v<Gathered, HasEntries>) {
      if (gathered.value) SortMap(Present(Slot(out, entry.where)));
    }
  }

  // --- Values --------------------------------------------------------------------------------------------------------

  // Reads a value, or one element or entry of a list or map; sets its name for the error path.
  template <typename Shape, typename T>
  [[gnu::always_inline]] bool Value(const Wire& in, T& out, std::string_view name) {
    if constexpr (std::is_same_v<T, std::optional<Time>>) {
      return Leaf(in, out) || At(name);
    } else if constexpr (kIsOptional<T>) {
      return Value<Shape>(in, Present(out), name);
    } else {
      using Way = Reading<Shape, T>;
      if constexpr (Way::kForm == Form::kList) {
        return Element<typename Way::ItemShape>(in, out, name);
      } else if constexpr (Way::kForm == Form::kMap) {
        return Entry<typename Way::ItemShape>(in, out, name);
      } else if constexpr (Way::kForm == Form::kKeys) {
        return Key(in, out.emplace_back()) || At(name);
      } else {
        return Item<Shape>(in, out) || At(name);
      }
    }
  }

  // Reads a message or a leaf.
  template <typename Shape, typename T>
  [[gnu::always_inline]] bool Item(const Wire& in, T& out) {
    using Way = Reading<Shape, T>;
    if constexpr (Way::kForm == Form::kMessage) {
      return in.is_bytes() ? Object<typename Way::Message>(in.bytes(), out) : NoMessage(in);
    } else {
      static_assert(Way::kForm == Form::kLeaf);
      return Leaf(in, out);
    }
  }

  template <typename ItemShape, typename Kept>
  bool Element(const Wire& in, std::vector<Kept>& out, std::string_view name) {
    if (out.empty()) out.reserve(in.CountRun());
    if constexpr (std::is_same_v<Kept, bool>) {
      bool flag = false;
      const bool is_good = Leaf(in, flag);
      out.push_back(flag);
      if (is_good) return true;
    } else {
      if (Item<ItemShape>(in, out.emplace_back())) return true;
    }
    return AtItem(out.size() - 1) || At(name);
  }

  template <typename ItemShape, typename Kept>
  bool Entry(const Wire& in, std::vector<std::pair<std::string, Kept>>& out, std::string_view name) {
    if (out.empty()) out.reserve(in.CountRun());
    auto& [key, value] = out.emplace_back();
    if (!in.is_bytes()) return NoMessage(in) || AtEntry(key) || At(name);
    Wire part(in.bytes());
    while (part.Next()) {
      const bool is_good = part.number() == 1 ? Leaf(part, key) : part.number() != 2 || Item<ItemShape>(part, value);
      if (!is_good) return AtEntry(key) || At(name);
    }
    return !part.is_malformed() || Malformed() || AtEntry(key) || At(name);
  }
};

}  // namespace berth::api::internal
