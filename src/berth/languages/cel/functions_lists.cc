// SPDX-License-Identifier: Apache-2.0
// Lists, sets and optionals: Kubernetes' list library, cel-go's list and set extensions, CEL's optional types.
#include "berth/languages/cel/functions_lists.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::cel {
namespace {

using Arguments = std::span<const Value>;

// Limit on the length of new lists.
constexpr std::uint64_t kListMadeMax = 4'000'000;

bool IsOrdered(const Value& value) { return HasTrait(value, Trait::kComparer); }

Value IsSorted(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    if (!IsOrdered(list.at(i))) return Value::NoSuchOverload();
    if (i == 0) continue;
    const Value order = Compare(list.at(i - 1), list.at(i));
    if (order.Is(ValueKind::kInt) && order.AsInt() == 1) return Value::Bool(false);
  }
  return Value::Bool(true);
}

// The sum starts with the zero of the overload's type.
template <int zero>
Value Sum(Arguments arguments, WorkLimit& work) {
  const Function& add = *FindFunction("_+_");
  const std::array<Value, 4> zeros = {Value::Int(0), Value::Uint(0), Value::Double(0), Value::Of(Duration{})};
  Value sum = zeros[zero];
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    const Value& item = list.at(i);
    if (!HasTrait(item, Trait::kAdder)) return Value::NoSuchOverload();
    const std::array<Value, 2> operands = {sum, item};
    sum = add.singleton(operands, work);
    if (sum.IsError()) return sum;
  }
  return sum;
}

// The minimum or maximum; `better` is the comparison result that makes another element replace the current one.
template <int better>
Value Extreme(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  const Value* best = nullptr;
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    const Value& item = list.at(i);
    if (!IsOrdered(item)) return Value::NoSuchOverload();
    if (best == nullptr) {
      best = &item;
      continue;
    }
    const Value order = Compare(*best, item);
    if (order.Is(ValueKind::kInt) && order.AsInt() == better) best = &item;
  }
  if (best == nullptr) return Value::Error(std::string(better == 1 ? "min" : "max") + " called on empty list");
  return *best;
}

Value IndexOfItem(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    if (EqualTo(list.at(i), arguments[1], work).IsTrue()) return Value::Int(static_cast<std::int64_t>(i));
  }
  return Value::Int(-1);
}

Value LastIndexOfItem(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = list.size(); i-- > 0 && work.Spend(list.element_work());) {
    if (EqualTo(list.at(i), arguments[1], work).IsTrue()) return Value::Int(static_cast<std::int64_t>(i));
  }
  return Value::Int(-1);
}

Value Slice(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  const std::int64_t begin = arguments[1].AsInt();
  const std::int64_t end = arguments[2].AsInt();
  const std::string call = "cannot slice(" + std::to_string(begin) + ", " + std::to_string(end) + "), ";
  if (begin < 0 || end < 0) return Value::Error(call + "negative indexes not supported");
  if (begin > end) return Value::Error(call + "start index must be less than or equal to end index");
  if (list.size() < static_cast<std::uint64_t>(end))
    return Value::Error(call + "list is length " + std::to_string(list.size()));
  std::vector<Value> items;
  for (auto i = static_cast<std::uint64_t>(begin); i < static_cast<std::uint64_t>(end) && work.Spend(); ++i) {
    items.push_back(list.at(i));
  }
  return Value::OfList(std::move(items));
}

// Returns false if the work limit is used up.
bool FlattenInto(const List& list, std::int64_t depth, std::vector<Value>& items, WorkLimit& work) {
  const Descent descent(work);
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    if (!work.Spend() || items.size() > kListMadeMax) {
      work.left = 0;
      return false;
    }
    const Value& item = list.at(i);
    if (!item.Is(ValueKind::kList) || depth == 0) {
      items.push_back(item);
    } else if (!FlattenInto(*item.AsList(), depth - 1, items, work)) {
      return false;
    }
  }
  return true;
}

Value Flatten(Arguments arguments, WorkLimit& work) {
  std::int64_t depth = 1;
  if (arguments.size() == 2) {
    if (!arguments[0].Is(ValueKind::kList) || !arguments[1].Is(ValueKind::kInt)) {
      return Value::Error("no such overload: " + TypeString(*TypeOfValue(arguments[0])) + ".flatten(" +
                          TypeString(*TypeOfValue(arguments[1])) + ")");
    }
    depth = arguments[1].AsInt();
    if (depth < 0) return Value::Error("level must be non-negative");
  } else if (!arguments[0].Is(ValueKind::kList)) {
    return Value::Error("no such overload: " + TypeString(*TypeOfValue(arguments[0])) + ".flatten()");
  }
  std::vector<Value> items;
  FlattenInto(*arguments[0].AsList(), depth, items, work);
  return Value::OfList(std::move(items));
}

Value SortByKeys(const List& list, const List& keys, WorkLimit& work) {
  if (list.size() != keys.size()) {
    return Value::Error(
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
        std::to_string(list.size()) + " and " + std::to_string(keys.size()) + " elements respectively");
  }
  if (list.size() == 0) return Value::OfList({});
  if (!IsOrdered(keys.at(0))) return Value::Error("list elements must be comparable");
  if (list.size() > kListMadeMax) {
    work.left = 0;
    return {};
  }
  for (std::uint64_t i = 1; i < keys.size(); ++i) {
    if (keys.at(i).kind() != keys.at(0).kind()) return Value::Error("list elements must have the same type");
  }
  work.Spend(list.size() * 20);
  std::vector<std::uint64_t> order(list.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) {
    const Value compared = Compare(keys.at(a), keys.at(b));
    return compared.Is(ValueKind::kInt) && compared.AsInt() == -1;
  });
  std::vector<Value> sorted;
  sorted.reserve(order.size());
  for (const std::uint64_t i : order) sorted.push_back(list.at(i));
  return Value::OfList(std::move(sorted));
}

Value Sort(Arguments arguments, WorkLimit& work) {
  return SortByKeys(*arguments[0].AsList(), *arguments[0].AsList(), work);
}

Value SortByAssociatedKeys(Arguments arguments, WorkLimit& work) {
  if (!arguments[1].Is(ValueKind::kList)) return Value::NoSuchOverload();
  return SortByKeys(*arguments[0].AsList(), *arguments[1].AsList(), work);
}

Value Range(Arguments arguments, WorkLimit& work) {
  const std::int64_t size = arguments[0].AsInt();
  std::vector<Value> items;
  if (size > 0) {
    if (static_cast<std::uint64_t>(size) > work.cost_limit) {
      work.refused_cost = static_cast<std::uint64_t>(size) + 11;
      return {};
    }
    for (std::int64_t i = 0; i < size; ++i) items.push_back(Value::Int(i));
  }
  return Value::OfList(std::move(items));
}

Value Reverse(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  std::vector<Value> items;
  for (std::uint64_t i = list.size(); i-- > 0 && work.Spend(list.element_work());) items.push_back(list.at(i));
  return Value::OfList(std::move(items));
}

Value Distinct(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    const Value& item = list.at(i);
    bool is_seen = false;
    // Like upstream, does not compare with the element at the same index.
    for (std::size_t j = 0; j < items.size() && !is_seen && work.Spend(); ++j) {
      is_seen = j != i && EqualTo(item, items[j], work).IsTrue();
    }
    if (!is_seen) items.push_back(item);
  }
  return Value::OfList(std::move(items));
}

bool ContainsAll(const List& list, const List& wanted, WorkLimit& work) {
  for (std::uint64_t i = 0; i < wanted.size() && work.Spend(); ++i) {
    if (!ListContains(list, wanted.at(i), work)) return false;
  }
  return true;
}

Value SetContains(Arguments arguments, WorkLimit& work) {
  return Value::Bool(ContainsAll(*arguments[0].AsList(), *arguments[1].AsList(), work));
}
Value SetEquivalent(Arguments arguments, WorkLimit& work) {
  return Value::Bool(ContainsAll(*arguments[0].AsList(), *arguments[1].AsList(), work) &&
                     ContainsAll(*arguments[1].AsList(), *arguments[0].AsList(), work));
}
Value SetIntersects(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    if (ListContains(*arguments[1].AsList(), list.at(i), work)) return Value::Bool(true);
  }
  return Value::Bool(false);
}

// Inserts a pair into the map, in place while a comprehension builds it.
Value Insert(const std::shared_ptr<Map>& map, const Value& key, const Value& value, WorkLimit& work) {
  if (map->Find(key) != nullptr) return Value::Error("insert failed: key " + GoString(key) + " already exists");
  if (map->is_mutable()) {
    map->Put(key, value);
    return Value::Of(map);
  }
  work.Spend(map->size());
  auto copy = std::make_shared<Map>();
  copy->Put(key, value);
  for (const auto& [known, entry] : map->entries()) copy->Put(known, entry);
  return Value::Of(std::move(copy));
}

Value InsertPair(Arguments arguments, WorkLimit& work) {
  return Insert(arguments[0].AsMap(), arguments[1], arguments[2], work);
}
Value InsertMap(Arguments arguments, WorkLimit& work) {
  Value result = arguments[0];
  for (const auto& [key, value] : arguments[1].AsMap()->entries()) {
    if (!work.Spend()) break;
    result = Insert(result.AsMap(), key, value, work);
    if (result.IsError()) break;
  }
  return result;
}

Value OptionalOf(Arguments arguments, WorkLimit&) { return Value::OptionalOf(arguments[0]); }
Value OptionalNone(Arguments, WorkLimit&) { return Value::OptionalNone(); }

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull: return true;
    case ValueKind::kBool: return !value.AsBool();
    case ValueKind::kInt: return value.AsInt() == 0;
    case ValueKind::kUint: return value.AsUint() == 0;
    case ValueKind::kDouble: return value.AsDouble() == 0;
    case ValueKind::kString: return value.AsString().empty();
    case ValueKind::kBytes: return value.AsBytes().empty();
    case ValueKind::kList: return value.AsList()->size() == 0;
    case ValueKind::kMap: return value.AsMap()->size() == 0;
    case ValueKind::kDuration: return value.AsDuration().nanos == 0;
    case ValueKind::kTimestamp: return value.AsTimestamp().seconds == -62'135'596'800 && value.AsTimestamp().nanos == 0;
    default: return false;
  }
}

Value OptionalOfNonZero(Arguments arguments, WorkLimit&) {
  return IsZero(arguments[0]) ? Value::OptionalNone() : Value::OptionalOf(arguments[0]);
}
Value OptionalValueOf(Arguments arguments, WorkLimit&) {
  const auto& content = arguments[0].AsOptional();
  return content == nullptr ? Value::Error("optional.none() dereference") : Value(*content);
}
Value OptionalHasValue(Arguments arguments, WorkLimit&) { return Value::Bool(arguments[0].AsOptional() != nullptr); }

Value First(Arguments arguments, WorkLimit&) {
  const List& list = *arguments[0].AsList();
  return list.size() == 0 ? Value::OptionalNone() : Value::OptionalOf(list.at(0));
}
Value Last(Arguments arguments, WorkLimit&) {
  const List& list = *arguments[0].AsList();
  return list.size() == 0 ? Value::OptionalNone() : Value::OptionalOf(list.at(list.size() - 1));
}

Value Unwrap(Arguments arguments, WorkLimit& work) {
  const List& list = *arguments[0].AsList();
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < list.size() && work.Spend(list.element_work()); ++i) {
    const Value& item = list.at(i);
    if (!item.Is(ValueKind::kOptional)) return Value::Error("value " + GoString(item) + " is not optional");
    if (item.AsOptional() != nullptr) items.push_back(*item.AsOptional());
  }
  return Value::OfList(std::move(items));
}

}  // namespace

std::span<const SingletonBinding> ListSingletons() {
  static constexpr std::array kBindings = {
      SingletonBinding{"sort", Sort, Trait::kLister},
      SingletonBinding{"@sortByAssociatedKeys", SortByAssociatedKeys, Trait::kLister},
  };
  return kBindings;
}

std::span<const OverloadBinding> ListBindings() {
  static const std::vector<OverloadBinding> kBindings = [] {
    std::vector<OverloadBinding> bindings = {
        {"list_int_sum_int", Sum<0>},
        {"list_uint_sum_uint", Sum<1>},
        {"list_double_sum_double", Sum<2>},
        {"list_duration_sum_duration", Sum<3>},
        {"list_a_index_of_int", IndexOfItem},
        {"list_a_last_index_of_int", LastIndexOfItem},
        {"list_slice", Slice},
        {"list_flatten", Flatten},
        {"list_flatten_int", Flatten},
        {"lists_range", Range},
        {"list_reverse", Reverse},
        {"list_distinct", Distinct},
        {"list_sets_contains_list", SetContains},
        {"list_sets_equivalent_list", SetEquivalent},
        {"list_sets_intersects_list", SetIntersects},
        {"@mapInsert_map_key_value", InsertPair},
        {"@mapInsert_map_map", InsertMap},
        {"optional_of", OptionalOf},
        {"optional_ofNonZeroValue", OptionalOfNonZero},
        {"optional_none", OptionalNone},
        {"optional_value", OptionalValueOf},
        {"optional_hasValue", OptionalHasValue},
        {"list_first", First},
        {"list_last", Last},
        {"optional_unwrap", Unwrap},
        {"optional_unwrapOpt", Unwrap},
    };
    static const std::array<std::string_view, 8> kSorted = {
        "list_int_is_sorted_bool",    "list_uint_is_sorted_bool",     "list_double_is_sorted_bool",
        "list_bool_is_sorted_bool",   "list_duration_is_sorted_bool", "list_timestamp_is_sorted_bool",
        "list_string_is_sorted_bool", "list_bytes_is_sorted_bool"};
    static const std::array<std::string_view, 8> kMin = {
        "list_int_min_int",           "list_uint_min_uint",           "list_double_min_double", "list_bool_min_bool",
        "list_duration_min_duration", "list_timestamp_min_timestamp", "list_string_min_string", "list_bytes_min_bytes"};
    static const std::array<std::string_view, 8> kMax = {
        "list_int_max_int",           "list_uint_max_uint",           "list_double_max_double", "list_bool_max_bool",
        "list_duration_max_duration", "list_timestamp_max_timestamp", "list_string_max_string", "list_bytes_max_bytes"};
    for (const std::string_view id : kSorted) bindings.push_back({id, IsSorted});
    for (const std::string_view id : kMin) bindings.push_back({id, Extreme<1>});
    for (const std::string_view id : kMax) bindings.push_back({id, Extreme<-1>});
    return bindings;
  }();
  return kBindings;
}

}  // namespace berth::cel
