// SPDX-License-Identifier: Apache-2.0
// Value: a value in a CEL expression. Cheap to copy: large contents are shared. Errors are values, because && and ||
// may absorb them. The behaviour is that of cel-go (v0.26), even where it is surprising.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "berth/languages/cel/kubernetes_values.h"
#include "berth/languages/cel/type.h"

namespace berth::cel {

class Value;
class List;
class Map;

// In the order of the alternatives of Value.
enum class ValueKind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kType,
  kOptional,
  kDuration,
  kTimestamp,
  kQuantity,
  kSemver,
  kIp,
  kCidr,
  kError,
};

struct Null {};
struct StringValue {
  std::shared_ptr<const std::string> text;
};
struct BytesValue {
  std::shared_ptr<const std::string> bytes;
};
struct ErrorValue {
  std::shared_ptr<const std::string> message;
};
struct OptionalValue {
  std::shared_ptr<const Value> value;  // null: the optional has no value
};
struct Duration {
  std::int64_t nanos = 0;
};
struct Timestamp {
  std::int64_t seconds = 0;  // since 1970, UTC
  std::int32_t nanos = 0;    // 0..999999999
  std::int32_t offset = 0;   // seconds east of UTC, used for printing only
};

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // the first four for IPv4
  bool is_v4 = false;
  bool operator==(const IpAddress&) const = default;
};
struct Cidr {
  IpAddress address;
  int bits = 0;
  bool operator==(const Cidr&) const = default;
};

class Value {
 public:
  Value() = default;  // null

  static Value Bool(bool value) { return Value(Data(std::in_place_index<1>, value)); }
  static Value Int(std::int64_t value) { return Value(Data(std::in_place_index<2>, value)); }
  static Value Uint(std::uint64_t value) { return Value(Data(std::in_place_index<3>, value)); }
  static Value Double(double value) { return Value(Data(std::in_place_index<4>, value)); }
  static Value String(std::string value);
  static Value Bytes(std::string value);
  static Value Of(std::shared_ptr<List> list) { return Value(Data(std::move(list))); }
  static Value Of(std::shared_ptr<Map> map) { return Value(Data(std::move(map))); }
  static Value OfList(std::vector<Value> items);
  static Value Of(TypePtr type) { return Value(Data(std::move(type))); }
  static Value OptionalOf(Value value);
  static Value OptionalNone() { return Value(Data(OptionalValue{})); }
  static Value Of(Duration duration) { return Value(Data(duration)); }
  static Value Of(Timestamp timestamp) { return Value(Data(timestamp)); }
  static Value Of(QuantityValue quantity);
  static Value Of(Semver version);
  static Value Of(const IpAddress& address);
  static Value Of(const Cidr& cidr);
  static Value Error(std::string message);
  static Value NoSuchOverload() { return Error("no such overload"); }

  ValueKind kind() const { return static_cast<ValueKind>(data_.index()); }
  bool Is(ValueKind kind) const { return this->kind() == kind; }
  bool IsError() const { return Is(ValueKind::kError); }
  bool IsTrue() const { return Is(ValueKind::kBool) && AsBool(); }
  bool IsFalse() const { return Is(ValueKind::kBool) && !AsBool(); }

  // The content; the kind must match.
  bool AsBool() const { return std::get<1>(data_); }
  std::int64_t AsInt() const { return std::get<2>(data_); }
  std::uint64_t AsUint() const { return std::get<3>(data_); }
  double AsDouble() const { return std::get<4>(data_); }
  const std::string& AsString() const { return *std::get<5>(data_).text; }
  const std::string& AsBytes() const { return *std::get<6>(data_).bytes; }
  const std::shared_ptr<List>& AsList() const { return std::get<7>(data_); }
  const std::shared_ptr<Map>& AsMap() const { return std::get<8>(data_); }
  const TypePtr& AsType() const { return std::get<9>(data_); }
  const std::shared_ptr<const Value>& AsOptional() const { return std::get<10>(data_).value; }
  Duration AsDuration() const { return std::get<11>(data_); }
  Timestamp AsTimestamp() const { return std::get<12>(data_); }
  const QuantityValue& AsQuantity() const { return *std::get<13>(data_); }
  const Semver& AsSemver() const { return *std::get<14>(data_); }
  const IpAddress& AsIp() const { return *std::get<15>(data_); }
  const Cidr& AsCidr() const { return *std::get<16>(data_); }
  const std::string& ErrorMessage() const { return *std::get<17>(data_).message; }

 private:
  using Data = std::variant<Null, bool, std::int64_t, std::uint64_t, double, StringValue, BytesValue,
                            std::shared_ptr<List>, std::shared_ptr<Map>, TypePtr, OptionalValue, Duration, Timestamp,
                            std::shared_ptr<const QuantityValue>, std::shared_ptr<const Semver>,
                            std::shared_ptr<const IpAddress>, std::shared_ptr<const Cidr>, ErrorValue>;
  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

// A list: elements, or the concatenation of two lists without copying (upstream's concatList, whose length may double
// with each +). Only modified while a comprehension builds it.
class List {
 public:
  List() = default;
  explicit List(std::vector<Value> items) : items_(std::move(items)) {}
  // Both must be non-empty, with a total length of at most kSizeMax. Short lists are copied.
  List(std::shared_ptr<List> front, std::shared_ptr<List> back);

  static constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;

  std::uint64_t size() const { return front_ == nullptr ? items_.size() : size_; }
  const Value& at(std::uint64_t index) const;
  bool is_concatenation() const { return is_concatenation_; }
  // The work of accessing one element.
  std::uint64_t element_work() const { return front_ == nullptr ? 1 : 16; }
  // is_mutable: a comprehension is still building the list. is_named: the expression has a name for it (cel.bind).
  bool is_mutable() const { return is_mutable_; }
  bool is_named() const { return is_named_; }
  void set_mutable(bool value) { is_mutable_ = value; }
  void set_named(bool value) { is_named_ = value; }
  // Only while is_mutable().
  void Append(Value value) { items_.push_back(std::move(value)); }

 private:
  std::vector<Value> items_;
  std::shared_ptr<List> front_;
  std::shared_ptr<List> back_;
  std::uint64_t size_ = 0;
  bool is_concatenation_ = false;
  bool is_mutable_ = false;
  bool is_named_ = false;
};

// A map in insertion order (upstream's order is random).
class Map {
 public:
  // The value of missing keys, in maps of a device's domains.
  void SetDefault(Value value) { default_ = std::make_shared<const Value>(std::move(value)); }
  // Inserts or replaces. Keys are distinguished like with Go's ==: 1, 1u and 1.0 are three keys.
  void Put(const Value& key, Value value);
  void Erase(const Value& key);

  // A number finds an equal number of another type.
  const Value* Find(const Value& key) const;
  // The lookup of a field or index selection: includes the default.
  const Value* Select(const Value& key) const;
  // The map is an input with string keys only: in upstream, a lookup of other keys in such a map does not panic.
  bool is_input() const { return is_input_; }
  void set_input(bool value) { is_input_ = value; }
  // Whether this very key exists, distinguished as in Put.
  bool FindSame(const Value& key) const { return FindExact(key).has_value(); }
  std::size_t size() const { return entries_.size(); }
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  bool is_mutable() const { return is_mutable_; }
  void set_mutable(bool value) { is_mutable_ = value; }

 private:
  std::optional<std::size_t> FindExact(const Value& key) const;

  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_multimap<std::size_t, std::size_t> index_;  // hash of the key -> position; unused while small
  std::shared_ptr<const Value> default_;
  bool is_input_ = false;
  bool is_mutable_ = false;
};

// The remaining work of an evaluation for traversing values. Nested sharing allows small expressions with huge values,
// and the cost limit does not cover comparing these.
struct WorkLimit {
  explicit WorkLimit(std::uint64_t work, std::uint64_t cost = 0) : left(work), cost_limit(cost) {}

  std::uint64_t left;
  // A function whose charge is known in advance to exceed this limit does not run, and sets refused_cost instead.
  std::uint64_t cost_limit;
  std::uint64_t refused_cost = 0;
  // Set where upstream's evaluation ends with a panic, which && and || do not absorb: upstream's message.
  std::string panic;
  int depth = 0;

  bool Spend(std::uint64_t amount = 1) {
    left = left > amount ? left - amount : 0;
    return left > 0;
  }
};

// Scope of a recursion into a value; values that are nested too deeply use up all work.
class Descent {
 public:
  static constexpr int kDepthMax = 1000;
  explicit Descent(WorkLimit& work) : work_(work) {
    if (++work_.depth > kDepthMax) work_.left = 0;
  }
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;
  ~Descent() { --work_.depth; }

 private:
  WorkLimit& work_;
};

// The type's name at run time ("int", "kubernetes.Quantity"), and the type.
std::string_view TypeName(const Value& value);
TypePtr TypeOfValue(const Value& value);
// The name of the Go type, which some of upstream's messages show ("types.Int").
std::string_view GoTypeName(const Value& value);
// Whether the type is allowed for keys of maps, and for elements of constant lists that are looked up.
bool IsPrimitive(const Value& value);
// Whether Go can use the value as a map key; for other values upstream panics.
bool IsHashable(const Value& value);
std::string UnhashablePanic(const Value& value);
// The value as Go's %v prints it, limited in length.
std::string GoString(const Value& value);

// a == b: a bool or an error. `Equals` is the operator ==, `EqualTo` the method of the left value.
Value Equals(const Value& a, const Value& b, WorkLimit& work);
Value EqualTo(const Value& a, const Value& b, WorkLimit& work);
// -1, 0 or 1, or an error. The kind of `a` must be ordered (HasTrait kComparer).
Value Compare(const Value& a, const Value& b);
// item in list, like cel-go's Contains.
bool ListContains(const List& list, const Value& item, WorkLimit& work);

// The operators that upstream's types support.
enum class Trait : std::uint8_t {
  kNone,
  kAdder,
  kComparer,
  kDivider,
  kModder,
  kMultiplier,
  kNegator,
  kSubtractor,
  kSizer,
  kMatcher,
  kReceiver,
  kIterable,
  kContainer,
  kLister
};
bool HasTrait(const Value& value, Trait trait);
// Number of elements, entries, characters or bytes; nullopt for values without a size.
std::optional<std::uint64_t> SizeOf(const Value& value);
std::uint64_t RuneCount(std::string_view text);

// Converts a value to an index of a list, or returns an error.
Expected<std::int64_t> IndexOf(const Value& index);

std::optional<std::int64_t> DoubleToInt(double value);
std::optional<std::uint64_t> DoubleToUint(double value);
std::string FormatDouble(double value);  // Go's %g and %v

}  // namespace berth::cel
