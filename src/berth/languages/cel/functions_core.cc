// SPDX-License-Identifier: Apache-2.0
// Operators and conversions of CEL's standard library, with cel-go's errors.
#include "berth/languages/cel/functions_core.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "berth/base/utf8.h"
#include "berth/languages/cel/functions_time.h"

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;

Value IntOverflow() { return Value::Error("integer overflow"); }
Value UintOverflow() { return Value::Error("unsigned integer overflow"); }
Value IntOrOverflow(bool overflows, std::int64_t value) { return overflows ? IntOverflow() : Value::Int(value); }
Value UintOrOverflow(bool overflows, std::uint64_t value) { return overflows ? UintOverflow() : Value::Uint(value); }

// Whether the list is contained in the value.
bool IsWithin(const List& list, const Value& value, WorkLimit& work) {
  const Descent descent(work);
  if (!work.Spend()) return true;
  switch (value.kind()) {
    case ValueKind::kOptional: return value.AsOptional() != nullptr && IsWithin(list, *value.AsOptional(), work);
    case ValueKind::kMap:
      return std::ranges::any_of(value.AsMap()->entries(), [&](const auto& entry) {
        return IsWithin(list, entry.first, work) || IsWithin(list, entry.second, work);
      });
    case ValueKind::kList: {
      const List& inner = *value.AsList();
      if (&inner == &list) return true;
      for (std::uint64_t i = 0; i < inner.size(); ++i) {
        if (IsWithin(list, inner.at(i), work)) return true;
      }
      return false;
    }
    default: return false;
  }
}

// `list` is the result of an unfinished comprehension: it grows in place.
Value AppendTo(const Value& list, const List& items, WorkLimit& work) {
  const std::uint64_t size = items.size();
  for (std::uint64_t i = 0; i < size && work.Spend(); ++i) {
    Value item = items.at(i);
    // cel.bind(x, [], x + [x]) would make a list that contains itself.
    if (list.AsList()->is_named() && IsWithin(*list.AsList(), item, work)) {
      work.left = 0;
      break;
    }
    list.AsList()->Append(std::move(item));
  }
  return list;
}

Value AddLists(const Value& a, const Value& b, WorkLimit& work) {
  const auto& front = a.AsList();
  const auto& back = b.AsList();
  if (front->is_mutable()) return AppendTo(a, *back, work);
  if (front->size() == 0) return b;
  if (back->size() == 0) return a;
  if (front->size() + back->size() > List::kSizeMax) return Value::Error("list is too large");
  work.Spend(std::min<std::uint64_t>(front->size() + back->size(), 4096));
  return Value::Of(std::make_shared<List>(front, back));
}

Value Add(Arguments arguments, WorkLimit& work) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  switch (a.kind()) {
    case ValueKind::kDuration: return AddToDuration(a.AsDuration(), b);
    case ValueKind::kTimestamp:
      return b.Is(ValueKind::kDuration) ? AddToDuration(b.AsDuration(), a) : Value::NoSuchOverload();
    default: break;
  }
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  switch (a.kind()) {
    case ValueKind::kInt: {
      std::int64_t sum = 0;
      const bool overflows = __builtin_add_overflow(a.AsInt(), b.AsInt(), &sum);
      return IntOrOverflow(overflows, sum);
    }
    case ValueKind::kUint: {
      std::uint64_t sum = 0;
      const bool overflows = __builtin_add_overflow(a.AsUint(), b.AsUint(), &sum);
      return UintOrOverflow(overflows, sum);
    }
    case ValueKind::kDouble: return Value::Double(a.AsDouble() + b.AsDouble());
    case ValueKind::kString: return Value::String(a.AsString() + b.AsString());
    case ValueKind::kBytes: return Value::Bytes(a.AsBytes() + b.AsBytes());
    case ValueKind::kList: return AddLists(a, b, work);
    default: return Value::NoSuchOverload();
  }
}

Value Subtract(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  if (a.Is(ValueKind::kTimestamp)) return SubtractFromTimestamp(a.AsTimestamp(), b);
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  switch (a.kind()) {
    case ValueKind::kInt: {
      std::int64_t difference = 0;
      const bool overflows = __builtin_sub_overflow(a.AsInt(), b.AsInt(), &difference);
      return IntOrOverflow(overflows, difference);
    }
    case ValueKind::kUint: {
      std::uint64_t difference = 0;
      const bool overflows = __builtin_sub_overflow(a.AsUint(), b.AsUint(), &difference);
      return UintOrOverflow(overflows, difference);
    }
    case ValueKind::kDouble: return Value::Double(a.AsDouble() - b.AsDouble());
    case ValueKind::kDuration: {
      std::int64_t difference = 0;
      if (__builtin_sub_overflow(a.AsDuration().nanos, b.AsDuration().nanos, &difference)) return IntOverflow();
      return Value::Of(Duration{difference});
    }
    default: return Value::NoSuchOverload();
  }
}

Value Multiply(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  if (a.Is(ValueKind::kInt)) {
    std::int64_t product = 0;
    const bool overflows = __builtin_mul_overflow(a.AsInt(), b.AsInt(), &product);
    return IntOrOverflow(overflows, product);
  }
  if (a.Is(ValueKind::kUint)) {
    std::uint64_t product = 0;
    const bool overflows = __builtin_mul_overflow(a.AsUint(), b.AsUint(), &product);
    return UintOrOverflow(overflows, product);
  }
  return Value::Double(a.AsDouble() * b.AsDouble());
}

bool OverflowsDivision(std::int64_t a, std::int64_t b) {
  return a == std::numeric_limits<std::int64_t>::min() && b == -1;
}

Value Divide(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  if (a.Is(ValueKind::kInt)) {
    if (b.AsInt() == 0) return Value::Error("division by zero");
    return OverflowsDivision(a.AsInt(), b.AsInt()) ? IntOverflow() : Value::Int(a.AsInt() / b.AsInt());
  }
  if (a.Is(ValueKind::kUint)) {
    return b.AsUint() == 0 ? Value::Error("division by zero") : Value::Uint(a.AsUint() / b.AsUint());
  }
  return Value::Double(a.AsDouble() / b.AsDouble());
}

Value Modulo(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  const Value& b = arguments[1];
  if (a.kind() != b.kind()) return Value::NoSuchOverload();
  if (a.Is(ValueKind::kInt)) {
    if (b.AsInt() == 0) return Value::Error("modulus by zero");
    return OverflowsDivision(a.AsInt(), b.AsInt()) ? IntOverflow() : Value::Int(a.AsInt() % b.AsInt());
  }
  return b.AsUint() == 0 ? Value::Error("modulus by zero") : Value::Uint(a.AsUint() % b.AsUint());
}

Value Negate(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  const auto negated = [](std::int64_t value, auto wrap) {
    return value == std::numeric_limits<std::int64_t>::min() ? IntOverflow() : wrap(-value);
  };
  switch (a.kind()) {
    case ValueKind::kInt: return negated(a.AsInt(), [](std::int64_t value) { return Value::Int(value); });
    case ValueKind::kDuration:
      return negated(a.AsDuration().nanos, [](std::int64_t value) { return Value::Of(Duration{value}); });
    case ValueKind::kDouble: return Value::Double(-a.AsDouble());
    default: return Value::NoSuchOverload();
  }
}

Value Not(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  return a.Is(ValueKind::kBool) ? Value::Bool(!a.AsBool()) : Value::NoSuchOverload();
}

// Implements a comparison operator: true if the order is one of `wanted`.
template <int... wanted>
Value Ordered(Arguments arguments, WorkLimit&) {
  Value order = Compare(arguments[0], arguments[1]);
  if (order.IsError()) return order;
  return Value::Bool(((order.AsInt() == wanted) || ...));
}

Value In(Arguments arguments, WorkLimit& work) {
  const Value& range = arguments[1];
  if (range.Is(ValueKind::kList)) return Value::Bool(ListContains(*range.AsList(), arguments[0], work));
  if (range.Is(ValueKind::kMap)) {
    const Map& map = *range.AsMap();
    if (map.size() > 0 && !map.is_input() && !IsHashable(arguments[0])) work.panic = UnhashablePanic(arguments[0]);
    return Value::Bool(map.Find(arguments[0]) != nullptr);
  }
  return Value::NoSuchOverload();
}

Value Size(Arguments arguments, WorkLimit&) {
  return Value::Int(static_cast<std::int64_t>(SizeOf(arguments[0]).value_or(0)));
}

Value NotStrictlyFalse(Arguments arguments, WorkLimit&) {
  return arguments[0].Is(ValueKind::kBool) ? arguments[0] : Value::Bool(true);
}

Value Identity(Arguments arguments, WorkLimit&) { return arguments[0]; }
Value TypeOfArgument(Arguments arguments, WorkLimit&) { return Value::Of(TypeOfValue(arguments[0])); }

Value ConversionError(const Value& from, const Type& to) {
  return Value::Error("type conversion error from '" + TypeString(*TypeOfValue(from)) + "' to '" + TypeString(to) +
                      "'");
}

// Parses an integer like strconv in base 10.
template <typename T>
bool ReadInteger(std::string_view text, T& number) {
  if (std::is_signed_v<T> && text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

// Parses a number like strconv.ParseFloat.
bool ReadDouble(std::string_view text, double& number) {
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string lower(rest);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower == "inf" || lower == "infinity") {
    number = is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return true;
  }
  if (lower == "nan") {
    number = std::numeric_limits<double>::quiet_NaN();
    return rest.size() == text.size();
  }
  const bool is_hex = lower.starts_with("0x");
  if (rest.empty() ||
      lower.find_first_not_of(is_hex ? "0123456789abcdefxp.+-" : "0123456789e.+-") != std::string::npos) {
    return false;
  }
  if (is_hex && lower.find('p') == std::string::npos) return false;
  if (!is_hex && lower.find_first_of("0123456789") == std::string::npos) return false;
  if (lower[0] == '+' || lower[0] == '-') return false;
  char* end = nullptr;
  number = std::strtod(lower.c_str(), &end);
  if (end != lower.c_str() + lower.size() || std::isinf(number)) return false;
  if (is_negative) number = -number;
  return true;
}

Value ToInt(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  switch (a.kind()) {
    case ValueKind::kDouble: {
      const auto whole = DoubleToInt(a.AsDouble());
      return whole ? Value::Int(*whole) : IntOverflow();
    }
    case ValueKind::kUint:
      return std::in_range<std::int64_t>(a.AsUint()) ? Value::Int(static_cast<std::int64_t>(a.AsUint()))
                                                     : IntOverflow();
    case ValueKind::kString: {
      std::int64_t number = 0;
      return ReadInteger(a.AsString(), number) ? Value::Int(number) : ConversionError(a, *IntType());
    }
    case ValueKind::kDuration: return Value::Int(a.AsDuration().nanos);
    case ValueKind::kTimestamp: return Value::Int(a.AsTimestamp().seconds);
    default: return a;
  }
}

Value ToUint(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  switch (a.kind()) {
    case ValueKind::kDouble: {
      const auto whole = DoubleToUint(a.AsDouble());
      return whole ? Value::Uint(*whole) : UintOverflow();
    }
    case ValueKind::kInt: return a.AsInt() >= 0 ? Value::Uint(static_cast<std::uint64_t>(a.AsInt())) : UintOverflow();
    case ValueKind::kString: {
      std::uint64_t number = 0;
      return ReadInteger(a.AsString(), number) ? Value::Uint(number) : ConversionError(a, *UintType());
    }
    default: return a;
  }
}

Value ToDouble(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  switch (a.kind()) {
    case ValueKind::kInt: return Value::Double(static_cast<double>(a.AsInt()));
    case ValueKind::kUint: return Value::Double(static_cast<double>(a.AsUint()));
    case ValueKind::kString: {
      double number = 0;
      return ReadDouble(a.AsString(), number) ? Value::Double(number) : ConversionError(a, *DoubleType());
    }
    default: return a;
  }
}

Value ToBool(Arguments arguments, WorkLimit&) {
  const std::string& text = arguments[0].AsString();
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return Value::Bool(false);
  }
  return ConversionError(arguments[0], *BoolType());
}

Value ToBytes(Arguments arguments, WorkLimit&) { return Value::Bytes(arguments[0].AsString()); }

Value ToText(Arguments arguments, WorkLimit&) {
  const Value& a = arguments[0];
  switch (a.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble: return Value::String(GoString(a));
    case ValueKind::kBytes:
      if (!IsValidUtf8(a.AsBytes())) return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
      return Value::String(a.AsBytes());
    case ValueKind::kDuration: return Value::String(FormatDuration(a.AsDuration()));
    case ValueKind::kTimestamp: return Value::String(FormatTimestamp(a.AsTimestamp()));
    default: return a;
  }
}

}  // namespace

std::span<const SingletonBinding> OperatorBindings() {
  static constexpr std::array kBindings = {
      SingletonBinding{"_+_", Add, Trait::kAdder},
      SingletonBinding{"_-_", Subtract, Trait::kSubtractor},
      SingletonBinding{"_*_", Multiply, Trait::kMultiplier},
      SingletonBinding{"_/_", Divide, Trait::kDivider},
      SingletonBinding{"_%_", Modulo, Trait::kModder},
      SingletonBinding{"-_", Negate, Trait::kNegator},
      SingletonBinding{"!_", Not, Trait::kNone},
      SingletonBinding{"_<_", Ordered<-1>, Trait::kComparer},
      SingletonBinding{"_<=_", Ordered<-1, 0>, Trait::kComparer},
      SingletonBinding{"_>_", Ordered<1>, Trait::kComparer},
      SingletonBinding{"_>=_", Ordered<1, 0>, Trait::kComparer},
      SingletonBinding{"@in", In, Trait::kNone},
      SingletonBinding{"size", Size, Trait::kSizer},
      SingletonBinding{"type", TypeOfArgument, Trait::kNone},
      SingletonBinding{"dyn", Identity, Trait::kNone},
  };
  return kBindings;
}

std::span<const OverloadBinding> ConversionBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"not_strictly_false", NotStrictlyFalse},
      OverloadBinding{"bool_to_bool", Identity},
      OverloadBinding{"string_to_bool", ToBool},
      OverloadBinding{"bytes_to_bytes", Identity},
      OverloadBinding{"string_to_bytes", ToBytes},
      OverloadBinding{"double_to_double", Identity},
      OverloadBinding{"int64_to_double", ToDouble},
      OverloadBinding{"string_to_double", ToDouble},
      OverloadBinding{"uint64_to_double", ToDouble},
      OverloadBinding{"int64_to_int64", Identity},
      OverloadBinding{"double_to_int64", ToInt},
      OverloadBinding{"duration_to_int64", ToInt},
      OverloadBinding{"string_to_int64", ToInt},
      OverloadBinding{"timestamp_to_int64", ToInt},
      OverloadBinding{"uint64_to_int64", ToInt},
      OverloadBinding{"uint64_to_uint64", Identity},
      OverloadBinding{"double_to_uint64", ToUint},
      OverloadBinding{"int64_to_uint64", ToUint},
      OverloadBinding{"string_to_uint64", ToUint},
      OverloadBinding{"string_to_string", Identity},
      OverloadBinding{"bool_to_string", ToText},
      OverloadBinding{"bytes_to_string", ToText},
      OverloadBinding{"double_to_string", ToText},
      OverloadBinding{"duration_to_string", ToText},
      OverloadBinding{"int64_to_string", ToText},
      OverloadBinding{"timestamp_to_string", ToText},
      OverloadBinding{"uint64_to_string", ToText},
  };
  return kBindings;
}

}  // namespace berth::cel
