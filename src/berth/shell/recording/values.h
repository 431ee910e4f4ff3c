// SPDX-License-Identifier: Apache-2.0
// Writes values to bytes and reads them back, field by field: any plain struct (by Boost.PFR, so that a new field of an
// API type is recorded without a line here), and the few classes that structs are made of. The value read equals the
// one written, apart from annotations that nobody reads (AnnotationFilter). A delta has only the fields in which a
// value differs from an earlier one, its base. Layout() differs between builds that write a type differently.
// Templates; no state.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/pfr/core.hpp>

#include "berth/api/meta.h"
#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/api/quantity.h"
#include "berth/api/selector.h"
#include "berth/framework/status.h"
#include "berth/shell/recording/bytes.h"

namespace berth::recording {

// The key of an annotation that holds a hash of those that were left out, so that objects which differ in these alone
// still differ. No object has the key, and no plugin's prefix matches it.
inline constexpr std::string_view kLeftOutAnnotations = "#";

// Selects the annotations that are recorded: those whose key is among `keys`, or begins with an entry that ends with
// '/' or '*'.
class AnnotationFilter {
 public:
  // Keeps all annotations.
  AnnotationFilter() = default;
  explicit AnnotationFilter(std::vector<std::string> keys) : keeps_all_(false), keys_(std::move(keys)) {}

  bool keeps_all() const { return keeps_all_; }
  const std::vector<std::string>& keys() const { return keys_; }
  bool Keeps(std::string_view key) const;
  // The annotations that are kept.
  api::StringMap Of(const api::StringMap& annotations) const;

 private:
  bool keeps_all_ = true;
  std::vector<std::string> keys_;
};

// The filters for nodes, and for pods and all other objects.
struct AnnotationFilters {
  AnnotationFilter of_nodes;
  AnnotationFilter of_others;
};

template <typename T, template <typename...> typename Template>
inline constexpr bool kIsOf = false;
template <template <typename...> typename Template, typename... T>
inline constexpr bool kIsOf<Template<T...>, Template> = true;

template <typename T>
inline constexpr bool kIsLeaf =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Time> ||
    std::is_same_v<T, Duration> || std::is_same_v<T, api::Quantity> || std::is_same_v<T, framework::Status> ||
    std::is_same_v<T, std::monostate>;

// Types whose fields are compared one by one in a delta.
template <typename T>
inline constexpr bool kIsStruct = std::is_aggregate_v<T> && !kIsLeaf<T>;

template <typename T>
using FieldIndices = std::make_index_sequence<boost::pfr::tuple_size_v<T>>;

// `Out` is a ByteWriter or a ByteHasher.
template <typename Out>
class ValueWriter {
 public:
  // Both must outlive it.
  ValueWriter(Out& out, const AnnotationFilter& annotations) : out_(out), annotations_(annotations) {}

  template <typename T>
  void Put(const T& value) {
    if constexpr (kIsLeaf<T>) {
      PutLeaf(value);
    } else if constexpr (std::is_same_v<T, api::StringMap>) {
      out_.Number(value.size());
      for (const auto& entry : value) Put(entry);
    } else if constexpr (kIsOf<T, std::optional>) {
      out_.Byte(value.has_value() ? 1 : 0);
      if (value) Put(*value);
    } else if constexpr (kIsOf<T, std::shared_ptr>) {
      out_.Byte(value != nullptr ? 1 : 0);
      if (value) Put(*value);
    } else if constexpr (kIsOf<T, std::vector>) {
      out_.Number(value.size());
      for (const auto& item : value) Put(static_cast<const typename T::value_type&>(item));
    } else if constexpr (kIsOf<T, std::pair>) {
      Put(value.first);
      Put(value.second);
    } else if constexpr (kIsOf<T, std::variant>) {
      out_.Byte(static_cast<std::uint8_t>(value.index()));
      std::visit([this](const auto& alternative) { this->Put(alternative); }, value);
    } else {
      static_assert(kIsStruct<T>);
      boost::pfr::for_each_field(value, [&](const auto& field) { PutField(value, field); });
    }
  }

  // Writes a mask of the fields that differ from the base's, and these fields. Structs among them are written as
  // deltas.
  template <typename T>
  void PutDelta(const T& value, const T& base) {
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      static_assert(sizeof...(kIndex) <= 64);
      std::uint64_t mask = 0;
      ((mask |= std::uint64_t{Differs(boost::pfr::get<kIndex>(value), boost::pfr::get<kIndex>(base))} << kIndex), ...);
      out_.Number(mask);
      (PutFieldDelta(value, boost::pfr::get<kIndex>(value), boost::pfr::get<kIndex>(base), (mask >> kIndex & 1) != 0),
       ...);
    }(FieldIndices<T>());
  }

 private:
  template <typename Field>
  static bool Differs(const Field& field, const Field& base) {
    if constexpr (kIsStruct<Field>) {
      return false;  // the struct's own mask says whether it differs
    } else {
      return !(field == base);
    }
  }
  template <typename T, typename Field>
  void PutFieldDelta(const T& value, const Field& field, const Field& base, bool differs) {
    if constexpr (kIsStruct<Field>) {
      PutDelta(field, base);
    } else if (differs) {
      PutField(value, field);
    }
  }
  template <typename T, typename Field>
  void PutField(const T& value, const Field& field) {
    if constexpr (std::is_same_v<T, api::ObjectMeta> && std::is_same_v<Field, api::StringMap>) {
      if (&field == &value.annotations && !field.empty() && !annotations_.keeps_all())
        return Put(annotations_.Of(field));
    }
    Put(field);
  }

  template <typename T>
  void PutLeaf(const T& value) {
    if constexpr (std::is_same_v<T, std::monostate>) {
    } else if constexpr (std::is_same_v<T, bool>) {
      out_.Byte(value ? 1 : 0);
    } else if constexpr (std::is_enum_v<T>) {
      out_.Number(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_unsigned_v<T>) {
      out_.Number(value);
    } else if constexpr (std::is_integral_v<T>) {
      out_.Signed(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.Text(value);
    } else if constexpr (std::is_same_v<T, Time>) {
      out_.Signed(value.time_since_epoch().count());
    } else if constexpr (std::is_same_v<T, Duration>) {
      out_.Signed(value.count());
    } else if constexpr (std::is_same_v<T, api::Quantity>) {
      // The upper half is 0 or -1 for nearly all quantities.
      out_.Signed(static_cast<std::int64_t>(value.nanos() >> 64));
      out_.Number(static_cast<std::uint64_t>(value.nanos()));
    } else {
      static_assert(std::is_same_v<T, framework::Status>);
      out_.Byte(static_cast<std::uint8_t>(value.code()));
      if (value.IsSuccess()) return;
      Put(value.reasons());
      out_.Text(value.plugin());
    }
  }

  Out& out_;
  const AnnotationFilter& annotations_;
};

// Reads values. ByteReader::is_good() tells whether the bytes were valid.
class ValueReader {
 public:
  explicit ValueReader(ByteReader& in) : in_(in) {}

  template <typename T>
  T Get() {
    T value{};
    Get(value);
    return value;
  }
  // `value` is empty.
  template <typename T>
  void Get(T& value) {
    if constexpr (kIsLeaf<T>) {
      GetLeaf(value);
    } else if constexpr (std::is_same_v<T, api::StringMap>) {
      std::vector<api::StringMap::Entry> entries;
      for (std::size_t size = in_.Size(); size > 0 && in_.is_good(); --size) Get(entries.emplace_back());
      value = api::StringMap(std::move(entries));
    } else if constexpr (kIsOf<T, std::optional>) {
      if (in_.Byte() != 0) Get(value.emplace());
    } else if constexpr (kIsOf<T, std::shared_ptr>) {
      if (in_.Byte() == 0) return;
      auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
      Get(*made);
      value = std::move(made);
    } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      for (std::size_t size = in_.Size(); size > 0; --size) value.push_back(Get<bool>());
    } else if constexpr (kIsOf<T, std::vector>) {
      // A damaged recording may claim more elements than it has, so they are added one at a time.
      for (std::size_t size = in_.Size(); size > 0 && in_.is_good(); --size) Get(value.emplace_back());
    } else if constexpr (kIsOf<T, std::pair>) {
      Get(value.first);
      Get(value.second);
    } else if constexpr (kIsOf<T, std::variant>) {
      GetAlternative(value, in_.Byte());
    } else {
      boost::pfr::for_each_field(value, [this](auto& field) { this->Get(field); });
    }
  }

  // `value` is the base.
  template <typename T>
  void GetDelta(T& value) {
    const std::uint64_t mask = in_.Number();
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (GetFieldDelta(boost::pfr::get<kIndex>(value), (mask >> kIndex & 1) != 0), ...);
    }(FieldIndices<T>());
  }

 private:
  template <typename Field>
  void GetFieldDelta(Field& field, bool differs) {
    if constexpr (kIsStruct<Field>) {
      GetDelta(field);
    } else if (differs) {
      field = Field();
      Get(field);
    }
  }

  template <std::size_t kIndex = 0, typename... T>
  void GetAlternative(std::variant<T...>& value, std::size_t index) {
    if constexpr (kIndex < sizeof...(T)) {
      if (index == kIndex) return Get(value.template emplace<kIndex>());
      GetAlternative<kIndex + 1>(value, index);
    } else {
      in_.Fail();
    }
  }

  template <typename T>
  void GetLeaf(T& value) {
    if constexpr (std::is_same_v<T, std::monostate>) {
    } else if constexpr (std::is_same_v<T, bool>) {
      value = in_.Byte() != 0;
    } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
      value = static_cast<T>(in_.Number());
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(in_.Signed());
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = in_.Text();
    } else if constexpr (std::is_same_v<T, Time>) {
      value = Time(Duration(in_.Signed()));
    } else if constexpr (std::is_same_v<T, Duration>) {
      value = Duration(in_.Signed());
    } else if constexpr (std::is_same_v<T, api::Quantity>) {
      const auto upper = static_cast<api::Quantity::Nanos>(in_.Signed());
      value = api::Quantity::FromNanos(upper * kTwoTo64 + in_.Number());
    } else {
      const auto code = static_cast<framework::Code>(in_.Byte());
      if (code == framework::Code::kSuccess) return;
      auto reasons = Get<std::vector<std::string>>();
      const std::string plugin = in_.Text();
      const framework::Status status(code, std::move(reasons));
      value = plugin.empty() ? status : status.WithPlugin(plugin);
    }
  }

  static constexpr api::Quantity::Nanos kTwoTo64 = static_cast<api::Quantity::Nanos>(1) << 64;

  ByteReader& in_;
};

// A text about how values of the type are written. It is the same in two builds that can read each other's recordings.
// It does not cover the names of enumerators.
template <typename T>
void AddLayout(std::string& out) {
  if constexpr (kIsLeaf<T>) {
    const char* const kind = std::is_same_v<T, bool>                ? "b"
                             : std::is_enum_v<T>                    ? "e"
                             : std::is_unsigned_v<T>                ? "u"
                             : std::is_integral_v<T>                ? "i"
                             : std::is_same_v<T, std::string>       ? "s"
                             : std::is_same_v<T, Time>              ? "t"
                             : std::is_same_v<T, Duration>          ? "d"
                             : std::is_same_v<T, api::Quantity>     ? "q"
                             : std::is_same_v<T, framework::Status> ? "S"
                                                                    : "0";
    out += kind;
  } else if constexpr (std::is_same_v<T, api::StringMap>) {
    out += "m";
  } else if constexpr (kIsOf<T, std::optional> || kIsOf<T, std::vector>) {
    out += kIsOf<T, std::optional> ? "?" : "*";
    AddLayout<typename T::value_type>(out);
  } else if constexpr (kIsOf<T, std::shared_ptr>) {
    out += "?";
    AddLayout<std::remove_const_t<typename T::element_type>>(out);
  } else if constexpr (kIsOf<T, std::pair>) {
    AddLayout<typename T::first_type>(out);
    AddLayout<typename T::second_type>(out);
  } else if constexpr (kIsOf<T, std::variant>) {
    out += "<";
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (AddLayout<std::variant_alternative_t<kIndex, T>>(out), ...);
    }(std::make_index_sequence<std::variant_size_v<T>>());
    out += ">";
  } else {
    out += "(";
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (AddLayout<std::remove_cvref_t<boost::pfr::tuple_element_t<kIndex, T>>>(out), ...);
    }(std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
    out += ")";
  }
}

}  // namespace berth::recording
