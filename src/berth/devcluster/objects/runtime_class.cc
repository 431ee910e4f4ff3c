// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/runtime_class.h"

#include <algorithm>
#include <string_view>

#include "berth/api/quantity.h"
#include "berth/devcluster/objects/reading.h"

namespace berth::objects {
namespace {

std::optional<api::Quantity> AmountOf(const json::value& value) {
  if (value.is_int64()) return api::Quantity::FromValue(value.get_int64());
  if (!value.is_string()) return std::nullopt;
  const auto amount = api::Quantity::Parse(std::string_view(value.get_string()));
  return amount.ok() ? std::optional(*amount) : std::nullopt;
}

// "1000m" is "1".
bool AreEqualAmounts(const json::object& a, const json::object& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           const json::value* const other = FindMember(b, entry.key());
           if (other == nullptr) return false;
           const auto one = AmountOf(entry.value());
           const auto two = AmountOf(*other);
           return one && two && *one == *two;
         });
}

std::optional<std::string> AddOverhead(json::object& spec, const json::object& runtime_class) {
  const json::object* const fixed = internal::ObjectAt(runtime_class, {"overhead", "podFixed"});
  if (fixed == nullptr) return std::nullopt;
  const json::object* const given = internal::ObjectAt(spec, {"overhead"});
  if (given != nullptr && !AreEqualAmounts(*fixed, *given))
    return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  spec["overhead"] = *fixed;
  return std::nullopt;
}

std::optional<std::string> AddNodeSelector(json::object& spec, const json::object& runtime_class) {
  const json::object* const wanted = internal::ObjectAt(runtime_class, {"scheduling", "nodeSelector"});
  if (wanted == nullptr || wanted->empty()) return std::nullopt;
  json::object& selector = MutableObject(spec, "nodeSelector");
  for (const auto& [key, value] : *wanted) {
    const json::value* const given = FindMember(selector, key);
    if (given != nullptr && *given != value && given->is_string() && value.is_string()) {
      const std::string name(key);
      return "conflict: runtimeClass.scheduling.nodeSelector[" + name + "] = " + std::string(value.get_string()) +
             "; pod.spec.nodeSelector[" + name + "] = " + std::string(given->get_string());
    }
    selector[key] = value;
  }
  return std::nullopt;
}

void AddTolerations(json::object& spec, const json::object& runtime_class) {
  const json::object& scheduling = internal::Part(runtime_class, "scheduling");
  for (const json::object* const toleration : internal::ObjectsOf(scheduling, "tolerations")) {
    json::value& own = spec["tolerations"];
    if (!own.is_array()) own = json::array();
    if (std::ranges::find(own.get_array(), json::value(*toleration)) == own.get_array().end())
      own.get_array().push_back(*toleration);
  }
}

}  // namespace

std::optional<std::string> ApplyRuntimeClass(json::object& pod,
                                             const std::vector<const json::object*>& runtime_classes) {
  json::object& spec = MutableObject(pod, "spec");
  const std::string name(StringMember(spec, "runtimeClassName"));
  if (name.empty()) return std::nullopt;
  const json::object* chosen = nullptr;
  for (const json::object* const each : runtime_classes) {
    if (internal::StringAt(*each, {"metadata", "name"}) == name) chosen = each;
  }
  if (chosen == nullptr) return "pod rejected: RuntimeClass \"" + name + "\" not found";
  if (auto why = AddOverhead(spec, *chosen)) return why;
  if (auto why = AddNodeSelector(spec, *chosen)) return why;
  AddTolerations(spec, *chosen);
  return std::nullopt;
}

}  // namespace berth::objects
