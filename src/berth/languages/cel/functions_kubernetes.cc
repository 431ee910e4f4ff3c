// SPDX-License-Identifier: Apache-2.0
// Quantities and semantic versions like k8s.io/apiserver/pkg/cel/library, and includes() of dynamic resource
// allocation.
#include "berth/languages/cel/functions_kubernetes.h"

#include <array>
#include <cmath>
#include <utility>

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;
using Scaled = QuantityValue::Scaled;

Value ToQuantity(Arguments arguments, WorkLimit&) {
  const auto quantity = ParseQuantity(arguments[0].AsString());
  return quantity.ok() ? Value::Of(*quantity) : Value::Error(quantity.error().message);
}
Value IsQuantity(Arguments arguments, WorkLimit&) { return Value::Bool(ParseQuantity(arguments[0].AsString()).ok()); }

int Order(const QuantityValue& a, const QuantityValue& b) {
  return a.amount < b.amount ? -1 : b.amount < a.amount ? 1 : 0;
}

template <int wanted>
Value QuantityOrder(Arguments arguments, WorkLimit&) {
  return Value::Bool(Order(arguments[0].AsQuantity(), arguments[1].AsQuantity()) == wanted);
}
Value QuantityCompare(Arguments arguments, WorkLimit&) {
  return Value::Int(Order(arguments[0].AsQuantity(), arguments[1].AsQuantity()));
}
Value QuantitySign(Arguments arguments, WorkLimit&) {
  const api::Quantity& amount = arguments[0].AsQuantity().amount;
  return Value::Int(amount.IsZero() ? 0 : amount.IsNegative() ? -1 : 1);
}

// The mantissa for an exponent smaller by `places`; nullopt on overflow.
std::optional<std::int64_t> ScaleUp(std::int64_t mantissa, std::int32_t places) {
  for (; places > 0 && mantissa != 0; --places) {
    if (__builtin_mul_overflow(mantissa, 10, &mantissa)) return std::nullopt;
  }
  return mantissa;
}

// Like upstream's AsInt64: amounts with a fraction or a small suffix are no integers, even "1000m".
std::optional<std::int64_t> AsInteger(const QuantityValue& quantity) {
  if (!quantity.scaled || quantity.scaled->exponent < 0) return std::nullopt;
  return ScaleUp(quantity.scaled->mantissa, quantity.scaled->exponent);
}

Value QuantityIsInteger(Arguments arguments, WorkLimit&) {
  return Value::Bool(AsInteger(arguments[0].AsQuantity()).has_value());
}
Value QuantityAsInteger(Arguments arguments, WorkLimit&) {
  const auto number = AsInteger(arguments[0].AsQuantity());
  return number ? Value::Int(*number) : Value::Error("cannot convert value to integer");
}
Value QuantityAsFloat(Arguments arguments, WorkLimit&) {
  const QuantityValue& quantity = arguments[0].AsQuantity();
  if (!quantity.scaled) return Value::Double(static_cast<double>(quantity.amount.nanos()) * 1e-9);
  if (quantity.scaled->exponent == 0) return Value::Double(static_cast<double>(quantity.scaled->mantissa));
  return Value::Double(static_cast<double>(quantity.scaled->mantissa) * std::pow(10.0, quantity.scaled->exponent));
}

// The sum like upstream's int64Amount.Add; nullopt where that switches to big decimals.
std::optional<Scaled> AddScaled(const std::optional<Scaled>& a, const std::optional<Scaled>& b) {
  if (!a || !b) return std::nullopt;
  if (b->mantissa == 0) return a;
  if (a->mantissa == 0) return b;
  const std::int32_t exponent = std::min(a->exponent, b->exponent);
  const auto left = ScaleUp(a->mantissa, a->exponent - exponent);
  const auto right = ScaleUp(b->mantissa, b->exponent - exponent);
  std::int64_t sum = 0;
  if (!left || !right || __builtin_add_overflow(*left, *right, &sum)) return std::nullopt;
  return Scaled{sum, exponent};
}

Value AddQuantities(const QuantityValue& a, const QuantityValue& b, int sign) {
  std::optional<Scaled> other = b.scaled;
  if (other && sign < 0)
    other->mantissa = static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(other->mantissa));
  return Value::Of(QuantityValue{api::Quantity::FromNanos(a.amount.nanos() + sign * b.amount.nanos()),
                                 AddScaled(a.scaled, other), true});
}

template <int sign>
Value QuantityAdd(Arguments arguments, WorkLimit& work) {
  // The sum cannot overflow 128 bits: each addition costs work, and each operand is at most 2^63 units.
  work.Spend();
  return AddQuantities(arguments[0].AsQuantity(), arguments[1].AsQuantity(), sign);
}
template <int sign>
Value QuantityAddInt(Arguments arguments, WorkLimit& work) {
  work.Spend();
  const std::int64_t number = arguments[1].AsInt();
  const QuantityValue other{api::Quantity::FromValue(number), Scaled{number, 0}, false};
  return AddQuantities(arguments[0].AsQuantity(), other, sign);
}

Expected<Semver> ReadSemver(Arguments arguments) {
  const bool is_normalized = arguments.size() == 2 && arguments[1].AsBool();
  return is_normalized ? Semver::ParseNormalized(arguments[0].AsString()) : Semver::Parse(arguments[0].AsString());
}
Value ToSemver(Arguments arguments, WorkLimit&) {
  auto version = ReadSemver(arguments);
  return version.ok() ? Value::Of(std::move(*version)) : Value::Error(version.error().message);
}
Value IsSemver(Arguments arguments, WorkLimit&) { return Value::Bool(ReadSemver(arguments).ok()); }

template <int wanted>
Value SemverOrder(Arguments arguments, WorkLimit&) {
  return Value::Bool(arguments[0].AsSemver().Compare(arguments[1].AsSemver()) == wanted);
}
Value SemverCompare(Arguments arguments, WorkLimit&) {
  return Value::Int(arguments[0].AsSemver().Compare(arguments[1].AsSemver()));
}
template <std::uint64_t Semver::* part>
Value SemverPart(Arguments arguments, WorkLimit&) {
  return Value::Int(static_cast<std::int64_t>(arguments[0].AsSemver().*part));
}

// Whether the attribute, which is a value or a list of at most 48, contains the argument.
Value Includes(Arguments arguments, WorkLimit& work) {
  constexpr std::uint64_t kListMax = 48;
  const auto equals = [&](const Value& value) { return EqualTo(value, arguments[1], work).IsTrue(); };
  if (!arguments[0].Is(ValueKind::kList)) return Value::Bool(equals(arguments[0]));
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    if (i >= kListMax) {
      return Value::Error("'includes' function cannot be applied to lists longer than " + std::to_string(kListMax) +
                          " values");
    }
    if (equals(list.at(i))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace

std::span<const OverloadBinding> KubernetesBindings() {
  static constexpr std::array kBindings = {
      OverloadBinding{"string_to_quantity", ToQuantity},
      OverloadBinding{"is_quantity_string", IsQuantity},
      OverloadBinding{"quantity_sign", QuantitySign},
      OverloadBinding{"quantity_is_greater_than", QuantityOrder<1>},
      OverloadBinding{"quantity_is_less_than", QuantityOrder<-1>},
      OverloadBinding{"quantity_compare_to", QuantityCompare},
      OverloadBinding{"quantity_get_float", QuantityAsFloat},
      OverloadBinding{"quantity_get_int", QuantityAsInteger},
      OverloadBinding{"quantity_is_integer", QuantityIsInteger},
      OverloadBinding{"quantity_add", QuantityAdd<1>},
      OverloadBinding{"quantity_add_int", QuantityAddInt<1>},
      OverloadBinding{"quantity_sub", QuantityAdd<-1>},
      OverloadBinding{"quantity_sub_int", QuantityAddInt<-1>},
      OverloadBinding{"string_to_semver", ToSemver},
      OverloadBinding{"string_bool_to_semver", ToSemver},
      OverloadBinding{"is_semver_string", IsSemver},
      OverloadBinding{"is_semver_string_bool", IsSemver},
      OverloadBinding{"semver_is_greater_than", SemverOrder<1>},
      OverloadBinding{"semver_is_less_than", SemverOrder<-1>},
      OverloadBinding{"semver_compare_to", SemverCompare},
      OverloadBinding{"semver_major", SemverPart<&Semver::major>},
      OverloadBinding{"semver_minor", SemverPart<&Semver::minor>},
      OverloadBinding{"semver_patch", SemverPart<&Semver::patch>},
      OverloadBinding{"dra_includes_dyn_dyn", Includes},
  };
  return kBindings;
}

}  // namespace berth::cel
