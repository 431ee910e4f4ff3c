// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/priority.h"

#include <string_view>

#include "berth/devcluster/objects/reading.h"

namespace berth::objects {

namespace {

// The class of that name, or without a name the lowest of the defaults; null when there is none.
const json::object* Choose(std::string_view name, const std::vector<const json::object*>& priority_classes) {
  const json::object* chosen = nullptr;
  for (const json::object* each : priority_classes) {
    if (!name.empty()) {
      if (internal::StringAt(*each, {"metadata", "name"}) == name) chosen = each;
    } else if (internal::BoolMember(*each, "globalDefault") &&
               (chosen == nullptr || internal::IntMember(*each, "value") < internal::IntMember(*chosen, "value"))) {
      chosen = each;
    }
  }
  return chosen;
}

}  // namespace

std::optional<std::string> ResolvePodPriority(json::object& pod,
                                              const std::vector<const json::object*>& priority_classes) {
  json::object& spec = MutableObject(pod, "spec");
  const std::string name(StringMember(spec, "priorityClassName"));
  if (name == "system-node-critical" || name == "system-cluster-critical")
    return std::nullopt;  // set_defaults knows them
  const json::object* const chosen = Choose(name, priority_classes);
  if (chosen == nullptr && !name.empty()) return "no PriorityClass with name " + name + " was found";
  const std::int64_t priority = chosen == nullptr ? 0 : internal::IntMember(*chosen, "value");
  std::string policy(chosen == nullptr ? "" : StringMember(*chosen, "preemptionPolicy"));
  if (policy.empty()) policy = "PreemptLowerPriority";
  const json::value* given = FindMember(spec, "priority");
  if (given != nullptr && given->is_int64() && given->get_int64() != priority) {
    return "the integer value of priority (" + std::to_string(given->get_int64()) +
           ") must not be provided in pod spec; priority admission controller computed " + std::to_string(priority) +
           " from the given PriorityClass name";
  }
  const std::string_view given_policy = StringMember(spec, "preemptionPolicy");
  if (!given_policy.empty() && given_policy != policy) {
    return "the string value of PreemptionPolicy (" + std::string(given_policy) +
           ") must not be provided in pod spec; priority admission controller computed " + policy +
           " from the given PriorityClass name";
  }
  if (name.empty() && chosen != nullptr) spec["priorityClassName"] = internal::StringAt(*chosen, {"metadata", "name"});
  spec["priority"] = priority;
  spec["preemptionPolicy"] = policy;
  return std::nullopt;
}

std::optional<std::string> ResolvePodGroupPriority(json::object& group, std::string_view what,
                                                   const std::vector<const json::object*>& priority_classes) {
  json::object& spec = MutableObject(group, "spec");
  const std::string name(StringMember(spec, "priorityClassName"));
  const json::object* const chosen = Choose(name, priority_classes);
  if (chosen == nullptr && !name.empty()) return "no PriorityClass with name " + name + " was found";
  const std::int64_t priority = chosen == nullptr ? 0 : internal::IntMember(*chosen, "value");
  const json::value* given = FindMember(spec, "priority");
  if (given != nullptr && given->is_int64() && given->get_int64() != priority) {
    return "priority set in the " + std::string(what) + " (" + std::to_string(given->get_int64()) +
           ") must match the priority computed (" + std::to_string(priority) +
           ") based on the priority class set in the spec";
  }
  const std::string policy(chosen == nullptr ? "" : StringMember(*chosen, "preemptionPolicy"));
  const std::string_view given_policy = StringMember(spec, "preemptionPolicy");
  if (!policy.empty() && !given_policy.empty() && given_policy != policy) {
    return "the string value of PreemptionPolicy (" + std::string(given_policy) + ") must not be provided in " +
           std::string(what) + " spec; priority admission controller computed " + policy +
           " from the given PriorityClass name";
  }
  if (name.empty() && chosen != nullptr) spec["priorityClassName"] = internal::StringAt(*chosen, {"metadata", "name"});
  spec["priority"] = priority;
  if (!policy.empty()) spec["preemptionPolicy"] = policy;
  return std::nullopt;
}

}  // namespace berth::objects
