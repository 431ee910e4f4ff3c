// SPDX-License-Identifier: Apache-2.0
#include "berth/languages/cel/cost.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

namespace berth::cel {
namespace {

constexpr double kTraversal = 0.1;     // for each character of a string
constexpr double kRegexLength = 0.25;  // for each character of a pattern

std::uint64_t Ceil(double cost) { return static_cast<std::uint64_t>(std::ceil(cost)); }

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// Upstream has two definitions of size: the Kubernetes libraries do not look into optionals.
std::uint64_t LibrarySize(const Value& value) { return SizeOf(value).value_or(1); }
double Size(const Value& value) { return static_cast<double>(LibrarySize(value)); }
std::uint64_t CoreSize(const Value& value) {
  const Value* content = &value;
  while (content->Is(ValueKind::kOptional) && content->AsOptional() != nullptr) content = content->AsOptional().get();
  return LibrarySize(*content);
}

std::uint64_t TraversalCost(const Value& value, WorkLimit& work) {
  const Descent descent(work);
  if (!work.Spend()) return 0;
  std::uint64_t cost = 0;
  switch (value.kind()) {
    case ValueKind::kString:
      return static_cast<std::uint64_t>(static_cast<double>(value.AsString().size()) * kTraversal);
    case ValueKind::kBytes: return static_cast<std::uint64_t>(static_cast<double>(value.AsBytes().size()) * kTraversal);
    case ValueKind::kList:
      for (std::uint64_t i = 0; i < value.AsList()->size() && work.left > 0; ++i) {
        cost += TraversalCost(value.AsList()->at(i), work);
      }
      return cost;
    case ValueKind::kMap:
      for (const auto& [key, entry] : value.AsMap()->entries())
        cost += TraversalCost(key, work) + TraversalCost(entry, work);
      return cost;
    default: return 1;
  }
}

std::uint64_t RegexCost(double text_size, double pattern_size) {
  return Ceil((1.0 + text_size) * kTraversal) * Ceil(pattern_size * kRegexLength);
}

std::uint64_t AllocatingListCost(double factor, std::uint64_t size) {
  // Converted through a signed number like Go on amd64: a negative depth of flatten wraps around.
  const double charge = static_cast<double>(size) * factor;
  const std::uint64_t whole = charge < 0x1p62
                                  ? static_cast<std::uint64_t>(static_cast<std::int64_t>(std::max(charge, -0x1p62)))
                                  : static_cast<std::uint64_t>(std::min(charge, 0x1p63));
  return whole + 1 + kListCreateCost;
}

// Upstream assumes that the argument is a list, and panics if it is not.
bool PanicsUnlessList(const Value& value, WorkLimit& work) {
  if (value.Is(ValueKind::kList)) return false;
  const bool has_add = HasTrait(value, Trait::kAdder);
  work.panic = "internal error: interface conversion: " + std::string(GoTypeName(value)) +
               " is not traits.Lister: missing method " + (has_add ? "Contains" : "Add");
  return true;
}

std::uint64_t SelfCompareCost(const Value& list, WorkLimit& work) {
  if (PanicsUnlessList(list, work)) return 0;
  const std::uint64_t size = LibrarySize(list);
  double factor = 2.0;
  if (size > 0) {
    const Value& first = list.AsList()->at(0);
    if (first.Is(ValueKind::kString) || first.Is(ValueKind::kBytes)) factor += kTraversal;
  }
  return AllocatingListCost(factor, size * size);
}

// The list and set libraries define costs of their overloads.
std::optional<std::uint64_t> OverloadCost(std::string_view overload, std::span<const Value> arguments,
                                          const Value& result, WorkLimit& work) {
  const auto set_cost = [&](double factor) {
    return 1 + static_cast<std::uint64_t>(static_cast<double>(LibrarySize(arguments[0]) * LibrarySize(arguments[1])) *
                                          factor);
  };
  if (IsOneOf(overload, {"list_sets_contains_list", "list_sets_intersects_list"})) return set_cost(1);
  if (overload == "list_sets_equivalent_list") return set_cost(2);
  if (IsOneOf(overload, {"list_slice", "lists_range", "list_reverse"}))
    return AllocatingListCost(1, LibrarySize(result));
  if (IsOneOf(overload, {"list_flatten", "list_flatten_int"})) {
    double depth = 1;
    if (arguments.size() == 2 && !arguments[1].Is(ValueKind::kInt)) {
      work.panic = "internal error: interface conversion: ref.Val is " + std::string(GoTypeName(arguments[1])) +
                   ", not types.Int";
      return 0;
    }
    if (arguments.size() == 2) depth = static_cast<double>(arguments[1].AsInt());
    return AllocatingListCost(depth, LibrarySize(arguments[0]));
  }
  if (overload == "list_distinct") return SelfCompareCost(arguments[0], work);
  if (overload.starts_with("list_") && overload.ends_with("_sort")) return SelfCompareCost(arguments[0], work);
  if (overload.starts_with("list_") && overload.ends_with("_sortByAssociatedKeys"))
    return SelfCompareCost(arguments[1], work);
  return std::nullopt;
}

bool HasUnitCost(std::string_view function) {
  return IsOneOf(function, {"serviceAccount",
                            "path",
                            "group",
                            "resource",
                            "subresource",
                            "namespace",
                            "name",
                            "allowed",
                            "reason",
                            "error",
                            "errored",
                            "masked",
                            "prefixLength",
                            "family",
                            "isUnspecified",
                            "isLoopback",
                            "isLinkLocalMulticast",
                            "isLinkLocalUnicast",
                            "isGlobalUnicast",
                            "sign",
                            "asInteger",
                            "isInteger",
                            "asApproximateFloat",
                            "isGreaterThan",
                            "isLessThan",
                            "compareTo",
                            "add",
                            "sub",
                            "major",
                            "minor",
                            "patch"});
}

// A selector is parsed into requirements; this is upstream's estimate.
std::uint64_t SelectorCost(const Value& selector) {
  const double length = Size(selector);
  return kListCreateCost + Ceil(length * kTraversal) + Ceil(Ceil(length * 0.5) * 50.0);
}

std::uint64_t CidrCost(std::string_view function, std::string_view overload, std::span<const Value> arguments) {
  const double size = Size(arguments[0]);
  std::uint64_t cost = Ceil((size + size) * kTraversal);
  if (function == "containsCIDR") cost += Ceil(size * kTraversal) + 1;
  if (overload.ends_with("_string")) cost += Ceil(Size(arguments[1]) * kTraversal);
  return cost;
}

// Kubernetes' estimator selects by the function's name.
std::optional<std::uint64_t> LibraryCost(std::string_view function, std::string_view overload,
                                         std::span<const Value> arguments, const Value& result, WorkLimit& work) {
  const std::size_t count = arguments.size();
  if (HasUnitCost(function)) return 1;
  if (function == "check") return 350'000;
  if (IsOneOf(function, {"fieldSelector", "labelSelector"}) && count >= 2) return SelectorCost(arguments[1]);
  if (IsOneOf(function, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})) {
    return count > 0 ? TraversalCost(arguments[0], work) : 0;
  }
  if (count == 0) return std::nullopt;
  if (IsOneOf(function, {"lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity",
                         "isQuantity", "semver", "isSemver"})) {
    return Ceil(Size(arguments[0]) * kTraversal);
  }
  if (function == "ip") return overload == "cidr_ip" ? 1 : Ceil(Size(arguments[0]) * kTraversal);
  if (IsOneOf(function, {"replace", "split", "ip.isCanonical"})) return Ceil(Size(arguments[0]) * 2 * kTraversal);
  if (function == "join") return Ceil(Size(result) * 2 * kTraversal);
  if (count < 2) return std::nullopt;
  if (IsOneOf(function, {"find", "findAll"})) return RegexCost(Size(arguments[0]), Size(arguments[1]));
  if (IsOneOf(function, {"containsIP", "containsCIDR"})) return CidrCost(function, overload, arguments);
  if (function == "_==_") {
    const ValueKind kind = arguments[0].kind();
    if (kind == ValueKind::kQuantity || kind == ValueKind::kSemver || kind == ValueKind::kIp ||
        kind == ValueKind::kCidr) {
      return 1;
    }
  }
  return std::nullopt;
}

}  // namespace

void CostTracker::Truncate(std::size_t size) {
  while (stack_.size() > size) {
    positions_[static_cast<std::size_t>(stack_.back().id)].pop_back();
    stack_.pop_back();
  }
}

void CostTracker::Drop(ExprId id) {
  const auto at = static_cast<std::size_t>(id);
  if (is_cancelled() || at >= positions_.size() || positions_[at].empty()) return;
  Truncate(positions_[at].back());
}

bool CostTracker::DropArguments(std::span<const ExprId> ids, std::vector<Value>& values) {
  if (is_cancelled()) return false;
  values.resize(ids.size());
  for (std::size_t i = ids.size(); i-- > 0;) {
    const auto at = static_cast<std::size_t>(ids[i]);
    if (at >= positions_.size() || positions_[at].empty()) return false;
    const std::uint32_t position = positions_[at].back();
    values[i] = std::move(stack_[position].value);
    Truncate(position);
  }
  return true;
}

void CostTracker::Push(const Value& value, ExprId id) {
  if (is_cancelled()) return;
  const auto at = static_cast<std::size_t>(id);
  if (at >= positions_.size()) positions_.resize(at + 1);
  positions_[at].push_back(static_cast<std::uint32_t>(stack_.size()));
  stack_.push_back({value, id});
  if (cost_ > limit_) Cancel(std::string(kCostLimitMessage));
}

std::uint64_t CallCost(std::string_view function, std::string_view overload, std::span<const Value> arguments,
                       const Value& result, WorkLimit& work) {
  if (const auto cost = OverloadCost(overload, arguments, result, work)) return *cost;
  if (const auto cost = LibraryCost(function, overload, arguments, result, work)) return *cost;
  const auto size = [&](std::size_t i) { return static_cast<double>(CoreSize(arguments[i])); };
  if (IsOneOf(overload,
              {"starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "strings_quote"})) {
    return Ceil(size(0) * kTraversal);
  }
  if (overload == "in_list") return CoreSize(arguments[1]);
  if (IsOneOf(overload, {"less_string", "greater_string", "less_equals_string", "greater_equals_string", "less_bytes",
                         "greater_bytes", "less_equals_bytes", "greater_equals_bytes", "equals", "not_equals"})) {
    return Ceil(std::min(size(0), size(1)) * kTraversal);
  }
  if (IsOneOf(overload, {"add_string", "add_bytes"})) return Ceil((size(0) + size(1)) * kTraversal);
  if (overload == "matches_string") return RegexCost(size(0), size(1));
  if (overload == "contains_string") return Ceil(size(0) * kTraversal) * Ceil(size(1) * kTraversal);
  return 1;
}

}  // namespace berth::cel
