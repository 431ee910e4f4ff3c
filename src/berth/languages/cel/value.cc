// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "berth/base/utf8.h"

namespace berth::cel {
namespace {

constexpr std::size_t kMapLinearMax = 8;
constexpr std::size_t kShownMax = 4096;  // limit on a value in a message, in bytes
constexpr int kShownDepthMax = 16;

bool SameMapKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kNull: return true;
    case ValueKind::kBool: return a.AsBool() == b.AsBool();
    case ValueKind::kInt: return a.AsInt() == b.AsInt();
    case ValueKind::kUint: return a.AsUint() == b.AsUint();
    case ValueKind::kDouble: return a.AsDouble() == b.AsDouble();
    case ValueKind::kString: return a.AsString() == b.AsString();
    case ValueKind::kType: return a.AsType() == b.AsType();
    case ValueKind::kDuration: return a.AsDuration().nanos == b.AsDuration().nanos;
    case ValueKind::kTimestamp:
      return a.AsTimestamp().seconds == b.AsTimestamp().seconds && a.AsTimestamp().nanos == b.AsTimestamp().nanos;
    case ValueKind::kIp: return a.AsIp() == b.AsIp();
    case ValueKind::kCidr: return a.AsCidr() == b.AsCidr();
    // Compares identity, as Go compares pointers.
    case ValueKind::kList: return a.AsList() == b.AsList();
    case ValueKind::kMap: return a.AsMap() == b.AsMap();
    case ValueKind::kOptional: return a.AsOptional() == b.AsOptional();
    case ValueKind::kQuantity: return &a.AsQuantity() == &b.AsQuantity();
    default: return false;
  }
}

std::size_t HashMapKey(const Value& key) {
  switch (key.kind()) {
    case ValueKind::kBool: return key.AsBool() ? 1 : 2;
    case ValueKind::kInt: return std::hash<std::int64_t>()(key.AsInt());
    case ValueKind::kUint: return std::hash<std::uint64_t>()(key.AsUint()) + 1;
    case ValueKind::kDouble: return std::hash<double>()(key.AsDouble());
    case ValueKind::kString: return std::hash<std::string_view>()(key.AsString());
    default: return 0;
  }
}

int Sign(std::int64_t value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// cel-go's comparisons of numbers of different types, including their rounding.
int OrderDoubleInt(double d, std::int64_t i) {
  if (d < -0x1p63) return -1;
  if (d > 0x1p63) return 1;
  return Order(d, static_cast<double>(i));
}
int OrderDoubleUint(double d, std::uint64_t u) {
  if (d < 0) return -1;
  if (d > 0x1p64) return 1;
  return Order(d, static_cast<double>(u));
}
int OrderIntUint(std::int64_t i, std::uint64_t u) {
  if (i < 0 || u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -1;
  return Sign(i - static_cast<std::int64_t>(u));
}

bool IsNumber(const Value& value) {
  return value.Is(ValueKind::kInt) || value.Is(ValueKind::kUint) || value.Is(ValueKind::kDouble);
}

// Both must be numbers and not NaN.
int OrderNumbers(const Value& a, const Value& b) {
  switch (a.kind()) {
    case ValueKind::kInt:
      if (b.Is(ValueKind::kInt)) return Order(a.AsInt(), b.AsInt());
      if (b.Is(ValueKind::kUint)) return OrderIntUint(a.AsInt(), b.AsUint());
      return -OrderDoubleInt(b.AsDouble(), a.AsInt());
    case ValueKind::kUint:
      if (b.Is(ValueKind::kInt)) return -OrderIntUint(b.AsInt(), a.AsUint());
      if (b.Is(ValueKind::kUint)) return Order(a.AsUint(), b.AsUint());
      return -OrderDoubleUint(b.AsDouble(), a.AsUint());
    default:
      if (b.Is(ValueKind::kInt)) return OrderDoubleInt(a.AsDouble(), b.AsInt());
      if (b.Is(ValueKind::kUint)) return OrderDoubleUint(a.AsDouble(), b.AsUint());
      return Order(a.AsDouble(), b.AsDouble());
  }
}

bool IsNan(const Value& value) { return value.Is(ValueKind::kDouble) && std::isnan(value.AsDouble()); }

Value MaybeNoSuchOverload(const Value& other) { return other.IsError() ? other : Value::NoSuchOverload(); }

Value ListEqualTo(const List& a, const Value& other, WorkLimit& work) {
  if (!other.Is(ValueKind::kList)) return Value::Bool(false);
  const List& b = *other.AsList();
  if (a.size() != b.size()) return Value::Bool(false);
  Value error;
  for (std::uint64_t i = 0; i < a.size() && work.Spend(a.element_work() + b.element_work()); ++i) {
    Value equal = Equals(a.at(i), b.at(i), work);
    if (equal.IsFalse()) return equal;
    // As in upstream, a plain list ignores errors in comparisons of elements, while a concatenated one reports them.
    if (a.is_concatenation() && equal.IsError() && !error.IsError()) error = std::move(equal);
  }
  return error.IsError() ? error : Value::Bool(true);
}

Value MapEqualTo(const Map& a, const Value& other, WorkLimit& work) {
  if (!other.Is(ValueKind::kMap)) return Value::Bool(false);
  const Map& b = *other.AsMap();
  if (a.size() != b.size()) return Value::Bool(false);
  for (const auto& [key, value] : a.entries()) {
    if (!work.Spend()) break;
    const Value* found = b.Select(key);
    if (found == nullptr || Equals(value, *found, work).IsFalse()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

void AppendGoString(const Value& value, int depth, std::string& text) {
  if (text.size() > kShownMax || depth > kShownDepthMax) return;
  switch (value.kind()) {
    case ValueKind::kNull: text += "0"; break;
    case ValueKind::kBool: text += value.AsBool() ? "true" : "false"; break;
    case ValueKind::kInt: text += std::to_string(value.AsInt()); break;
    case ValueKind::kUint: text += std::to_string(value.AsUint()); break;
    case ValueKind::kDouble: text += FormatDouble(value.AsDouble()); break;
    case ValueKind::kString: text += value.AsString(); break;
    case ValueKind::kBytes: {
      text += "[";
      for (std::size_t i = 0; i < value.AsBytes().size() && text.size() <= kShownMax; ++i) {
        text += (i > 0 ? " " : "") + std::to_string(static_cast<unsigned char>(value.AsBytes()[i]));
      }
      text += "]";
      break;
    }
    case ValueKind::kList: {
      text += "[";
      const List& list = *value.AsList();
      for (std::uint64_t i = 0; i < list.size() && text.size() <= kShownMax; ++i) {
        if (i > 0) text += ", ";
        AppendGoString(list.at(i), depth + 1, text);
      }
      text += "]";
      break;
    }
    case ValueKind::kMap: {
      text += "{";
      bool first = true;
      for (const auto& [key, entry] : value.AsMap()->entries()) {
        if (!first) text += ", ";
        first = false;
        AppendGoString(key, depth + 1, text);
        text += ": ";
        AppendGoString(entry, depth + 1, text);
      }
      text += "}";
      break;
    }
    case ValueKind::kType: text += TypeString(*value.AsType()); break;
    case ValueKind::kOptional:
      if (value.AsOptional() == nullptr) {
        text += "optional.none()";
      } else {
        text += "optional(";
        AppendGoString(*value.AsOptional(), depth + 1, text);
        text += ")";
      }
      break;
    case ValueKind::kSemver: text += value.AsSemver().ToString(); break;
    case ValueKind::kError: text += value.ErrorMessage(); break;
    default: text += TypeName(value); break;
  }
}

}  // namespace

Value Value::String(std::string value) {
  return Value(Data(StringValue{std::make_shared<const std::string>(std::move(value))}));
}
Value Value::Bytes(std::string value) {
  return Value(Data(BytesValue{std::make_shared<const std::string>(std::move(value))}));
}
Value Value::OfList(std::vector<Value> items) { return Of(std::make_shared<List>(std::move(items))); }
Value Value::OptionalOf(Value value) {
  return Value(Data(OptionalValue{std::make_shared<const Value>(std::move(value))}));
}
Value Value::Of(QuantityValue quantity) { return Value(Data(std::make_shared<const QuantityValue>(quantity))); }
Value Value::Of(Semver version) { return Value(Data(std::make_shared<const Semver>(std::move(version)))); }
Value Value::Of(const IpAddress& address) { return Value(Data(std::make_shared<const IpAddress>(address))); }
Value Value::Of(const Cidr& cidr) { return Value(Data(std::make_shared<const Cidr>(cidr))); }
Value Value::Error(std::string message) {
  return Value(Data(ErrorValue{std::make_shared<const std::string>(std::move(message))}));
}

List::List(std::shared_ptr<List> front, std::shared_ptr<List> back) : is_concatenation_(true) {
  constexpr std::uint64_t kCopiedMax = 4096;
  size_ = front->size() + back->size();
  if (size_ > kCopiedMax) {
    front_ = std::move(front);
    back_ = std::move(back);
    return;
  }
  items_.reserve(size_);
  for (const List* part : {front.get(), back.get()}) {
    for (std::uint64_t i = 0; i < part->size(); ++i) items_.push_back(part->at(i));
  }
}

const Value& List::at(std::uint64_t index) const {
  const List* list = this;
  while (list->front_ != nullptr) {
    const std::uint64_t front_size = list->front_->size();
    if (index < front_size) {
      list = list->front_.get();
    } else {
      index -= front_size;
      list = list->back_.get();
    }
  }
  return list->items_[index];
}

std::optional<std::size_t> Map::FindExact(const Value& key) const {
  if (entries_.size() <= kMapLinearMax) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (SameMapKey(entries_[i].first, key)) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(HashMapKey(key));
  for (auto it = begin; it != end; ++it) {
    if (SameMapKey(entries_[it->second].first, key)) return it->second;
  }
  return std::nullopt;
}

void Map::Put(const Value& key, Value value) {
  if (const auto at = FindExact(key)) {
    entries_[*at].second = std::move(value);
    return;
  }
  index_.emplace(HashMapKey(key), entries_.size());
  entries_.emplace_back(key, std::move(value));
}

void Map::Erase(const Value& key) {
  const auto at = FindExact(key);
  if (!at) return;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(*at));
  index_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(HashMapKey(entries_[i].first), i);
}

const Value* Map::Find(const Value& key) const {
  if (entries_.empty()) return nullptr;
  const auto entry = [&](std::size_t at) { return &entries_[at].second; };
  if (const auto at = FindExact(key)) return entry(*at);
  if (key.Is(ValueKind::kDouble)) {
    const double number = key.AsDouble();
    if (const auto as_int = DoubleToInt(number); as_int && static_cast<double>(*as_int) == number) {
      if (const auto at = FindExact(Value::Int(*as_int))) return entry(*at);
    }
    if (const auto as_uint = DoubleToUint(number); as_uint && static_cast<double>(*as_uint) == number) {
      if (const auto at = FindExact(Value::Uint(*as_uint))) return entry(*at);
    }
  } else if (key.Is(ValueKind::kInt) && key.AsInt() >= 0) {
    if (const auto at = FindExact(Value::Uint(static_cast<std::uint64_t>(key.AsInt())))) return entry(*at);
  } else if (key.Is(ValueKind::kUint) && std::in_range<std::int64_t>(key.AsUint())) {
    if (const auto at = FindExact(Value::Int(static_cast<std::int64_t>(key.AsUint())))) return entry(*at);
  }
  return nullptr;
}

const Value* Map::Select(const Value& key) const {
  const Value* found = Find(key);
  return found != nullptr ? found : default_.get();
}

std::string_view TypeName(const Value& value) { return TypeOfValue(value)->name; }

TypePtr TypeOfValue(const Value& value) {
  static const TypePtr kList = ListType(DynType());
  static const TypePtr kMap = MapType(DynType(), DynType());
  static const TypePtr kOptional = OpaqueType("optional_type");
  static const TypePtr kIp = OpaqueType("net.IP");
  static const TypePtr kCidr = OpaqueType("net.CIDR");
  switch (value.kind()) {
    case ValueKind::kNull: return NullType();
    case ValueKind::kBool: return BoolType();
    case ValueKind::kInt: return IntType();
    case ValueKind::kUint: return UintType();
    case ValueKind::kDouble: return DoubleType();
    case ValueKind::kString: return StringType();
    case ValueKind::kBytes: return BytesType();
    case ValueKind::kList: return kList;
    case ValueKind::kMap: return kMap;
    case ValueKind::kType: return TypeType();
    case ValueKind::kOptional: return kOptional;
    case ValueKind::kDuration: return DurationType();
    case ValueKind::kTimestamp: return TimestampType();
    case ValueKind::kQuantity: return QuantityType();
    case ValueKind::kSemver: return SemverType();
    case ValueKind::kIp: return kIp;
    case ValueKind::kCidr: return kCidr;
    case ValueKind::kError: return ErrorType();
  }
  return DynType();
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull: return "types.Null";
    case ValueKind::kBool: return "types.Bool";
    case ValueKind::kInt: return "types.Int";
    case ValueKind::kUint: return "types.Uint";
    case ValueKind::kDouble: return "types.Double";
    case ValueKind::kString: return "types.String";
    case ValueKind::kBytes: return "types.Bytes";
    case ValueKind::kList: return value.AsList()->is_concatenation() ? "*types.concatList" : "*types.baseList";
    case ValueKind::kMap: return "*types.baseMap";
    case ValueKind::kType: return "*types.Type";
    case ValueKind::kOptional: return "*types.Optional";
    case ValueKind::kDuration: return "types.Duration";
    case ValueKind::kTimestamp: return "types.Timestamp";
    case ValueKind::kQuantity: return value.AsQuantity().is_computed ? "*cel.Quantity" : "cel.Quantity";
    case ValueKind::kSemver: return "cel.Semver";
    case ValueKind::kIp: return "cel.IP";
    case ValueKind::kCidr: return "cel.CIDR";
    case ValueKind::kError: return "*types.Err";
  }
  return "";
}

bool IsPrimitive(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
    case ValueKind::kString: return true;
    default: return false;
  }
}

bool IsHashable(const Value& value) { return !value.Is(ValueKind::kBytes) && !value.Is(ValueKind::kSemver); }

std::string UnhashablePanic(const Value& value) {
  return "internal error: runtime error: hash of unhashable type " + std::string(GoTypeName(value));
}

std::string GoString(const Value& value) {
  std::string text;
  AppendGoString(value, 0, text);
  return text;
}

Value Equals(const Value& a, const Value& b, WorkLimit& work) {
  const Descent descent(work);
  if (a.Is(ValueKind::kNull) || b.Is(ValueKind::kNull)) return Value::Bool(a.kind() == b.kind());
  return EqualTo(a, b, work);
}

Value EqualTo(const Value& a, const Value& b, WorkLimit& work) {
  if (IsNumber(a)) return Value::Bool(IsNumber(b) && !IsNan(a) && !IsNan(b) && OrderNumbers(a, b) == 0);
  const bool same_kind = a.kind() == b.kind();
  switch (a.kind()) {
    case ValueKind::kNull: return Value::Bool(same_kind);
    case ValueKind::kBool: return Value::Bool(same_kind && a.AsBool() == b.AsBool());
    case ValueKind::kString: return Value::Bool(same_kind && a.AsString() == b.AsString());
    case ValueKind::kBytes: return Value::Bool(same_kind && a.AsBytes() == b.AsBytes());
    case ValueKind::kList: return ListEqualTo(*a.AsList(), b, work);
    case ValueKind::kMap: return MapEqualTo(*a.AsMap(), b, work);
    case ValueKind::kType: return Value::Bool(same_kind && a.AsType()->name == b.AsType()->name);
    case ValueKind::kOptional: {
      if (!same_kind) return Value::Bool(false);
      const Value* left = a.AsOptional().get();
      const Value* right = b.AsOptional().get();
      if (left == nullptr || right == nullptr) return Value::Bool(left == right);
      const Descent descent(work);
      return work.Spend() ? EqualTo(*left, *right, work) : Value::Bool(false);
    }
    case ValueKind::kDuration: return Value::Bool(same_kind && a.AsDuration().nanos == b.AsDuration().nanos);
    case ValueKind::kTimestamp:
      return Value::Bool(same_kind && a.AsTimestamp().seconds == b.AsTimestamp().seconds &&
                         a.AsTimestamp().nanos == b.AsTimestamp().nanos);
    case ValueKind::kQuantity:
      if (!same_kind || b.AsQuantity().is_computed) return MaybeNoSuchOverload(b);
      return Value::Bool(a.AsQuantity().amount == b.AsQuantity().amount);
    case ValueKind::kSemver:
      if (!same_kind) return MaybeNoSuchOverload(b);
      return Value::Bool(a.AsSemver().Compare(b.AsSemver()) == 0);
    case ValueKind::kIp: return same_kind ? Value::Bool(a.AsIp() == b.AsIp()) : MaybeNoSuchOverload(b);
    case ValueKind::kCidr: return same_kind ? Value::Bool(a.AsCidr() == b.AsCidr()) : MaybeNoSuchOverload(b);
    default: return a;
  }
}

Value Compare(const Value& a, const Value& b) {
  if (IsNan(a)) return Value::Error("NaN values cannot be ordered");
  if (IsNumber(a) && IsNumber(b)) {
    return IsNan(b) ? Value::Error("NaN values cannot be ordered") : Value::Int(OrderNumbers(a, b));
  }
  if (a.kind() != b.kind()) return MaybeNoSuchOverload(b);
  switch (a.kind()) {
    case ValueKind::kBool: return Value::Int(Order(a.AsBool(), b.AsBool()));
    case ValueKind::kString: return Value::Int(Order(a.AsString(), b.AsString()));
    case ValueKind::kBytes: return Value::Int(Order(a.AsBytes(), b.AsBytes()));
    case ValueKind::kDuration: return Value::Int(Order(a.AsDuration().nanos, b.AsDuration().nanos));
    case ValueKind::kTimestamp:
      return Value::Int(Order(std::pair(a.AsTimestamp().seconds, a.AsTimestamp().nanos),
                              std::pair(b.AsTimestamp().seconds, b.AsTimestamp().nanos)));
    default: return Value::NoSuchOverload();
  }
}

bool ListContains(const List& list, const Value& item, WorkLimit& work) {
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    if (EqualTo(item, list.at(i), work).IsTrue()) return true;
  }
  return false;
}

bool HasTrait(const Value& value, Trait trait) {
  if (trait == Trait::kNone) return true;
  switch (value.kind()) {
    case ValueKind::kBool: return trait == Trait::kComparer || trait == Trait::kNegator;
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
      switch (trait) {
        case Trait::kAdder:
        case Trait::kComparer:
        case Trait::kDivider:
        case Trait::kMultiplier:
        case Trait::kSubtractor: return true;
        case Trait::kModder: return !value.Is(ValueKind::kDouble);
        case Trait::kNegator: return !value.Is(ValueKind::kUint);
        default: return false;
      }
    case ValueKind::kString:
      return trait == Trait::kAdder || trait == Trait::kComparer || trait == Trait::kMatcher ||
             trait == Trait::kReceiver || trait == Trait::kSizer;
    case ValueKind::kBytes: return trait == Trait::kAdder || trait == Trait::kComparer || trait == Trait::kSizer;
    case ValueKind::kList:
      return trait == Trait::kAdder || trait == Trait::kContainer || trait == Trait::kIterable ||
             trait == Trait::kSizer || trait == Trait::kLister;
    case ValueKind::kMap: return trait == Trait::kContainer || trait == Trait::kIterable || trait == Trait::kSizer;
    case ValueKind::kDuration:
      return trait == Trait::kAdder || trait == Trait::kComparer || trait == Trait::kNegator ||
             trait == Trait::kReceiver || trait == Trait::kSubtractor;
    case ValueKind::kTimestamp:
      return trait == Trait::kAdder || trait == Trait::kComparer || trait == Trait::kReceiver ||
             trait == Trait::kSubtractor;
    default: return false;
  }
}

std::uint64_t RuneCount(std::string_view text) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += DecodeRune(text.substr(at)).size;
  return count;
}

std::optional<std::uint64_t> SizeOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString: return RuneCount(value.AsString());
    case ValueKind::kBytes: return value.AsBytes().size();
    case ValueKind::kList: return value.AsList()->size();
    case ValueKind::kMap: return value.AsMap()->size();
    case ValueKind::kIp: return value.AsIp().is_v4 ? 4 : 16;
    case ValueKind::kCidr: return static_cast<std::uint64_t>((value.AsCidr().bits + 7) / 8);
    default: return std::nullopt;
  }
}

Expected<std::int64_t> IndexOf(const Value& index) {
  if (index.Is(ValueKind::kInt)) return index.AsInt();
  if (index.Is(ValueKind::kDouble)) {
    if (const auto i = DoubleToInt(index.AsDouble()); i && static_cast<double>(*i) == index.AsDouble()) return *i;
    return InvalidError("unsupported index value " + GoString(index) + " in list");
  }
  if (index.Is(ValueKind::kUint)) {
    if (std::in_range<std::int64_t>(index.AsUint())) return static_cast<std::int64_t>(index.AsUint());
    return InvalidError("unsupported index value " + GoString(index) + " in list");
  }
  return InvalidError("unsupported index type '" + TypeString(*TypeOfValue(index)) + "' in list");
}

std::optional<std::int64_t> DoubleToInt(double value) {
  if (std::isnan(value) || value <= -0x1p63 || value >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::uint64_t> DoubleToUint(double value) {
  if (std::isnan(value) || value < 0 || value >= 0x1p64) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  std::array<char, 64> buffer{};
  const auto scientific =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), scientific.ptr);
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::size_t exponent_at = e + 1 + (text[e + 1] == '+' ? 1 : 0);
  std::from_chars(text.data() + exponent_at, text.data() + text.size(), exponent);
  // Go's shortest %g uses no exponent for exponents from -4 to 5.
  if (exponent < -4 || exponent >= 6) return std::string(text);
  std::array<char, 64> plain{};
  const auto fixed = std::to_chars(plain.data(), plain.data() + plain.size(), value, std::chars_format::fixed);
  return std::string(plain.data(), fixed.ptr);
}

}  // namespace berth::cel
