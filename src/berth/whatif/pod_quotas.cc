// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_quotas.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "berth/api/decode.h"
#include "berth/api/decode_admission.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/devcluster/objects/canonical_quantity.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/pod_requests.h"
#include "berth/framework/resource.h"

namespace berth::whatif {
namespace {

namespace json = codec::json;
namespace resources = framework::resources;
using controllers::ObjectOf;
using controllers::StringOf;

constexpr std::string_view kRequests = "requests";
constexpr std::string_view kLimits = "limits";
constexpr std::string_view kRequestsPrefix = "requests.";
constexpr std::string_view kLimitsPrefix = "limits.";
constexpr std::string_view kHugePagesPrefix = "hugepages-";
constexpr std::string_view kPodCount = "count/pods";
constexpr std::string_view kExists = "Exists";
// What quotas count of all pods. Sorted.
constexpr std::array<std::string_view, 11> kPodResources = {"count/pods",
                                                            "cpu",
                                                            "ephemeral-storage",
                                                            "limits.cpu",
                                                            "limits.ephemeral-storage",
                                                            "limits.memory",
                                                            "memory",
                                                            "pods",
                                                            "requests.cpu",
                                                            "requests.ephemeral-storage",
                                                            "requests.memory"};
static_assert(std::ranges::is_sorted(kPodResources));
// What each container must name where a quota counts it.
constexpr std::array<std::string_view, 6> kDemandedOfContainers = {"cpu",    "limits.cpu",   "limits.memory",
                                                                   "memory", "requests.cpu", "requests.memory"};

QuotaAmount AmountOf(const json::value& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : codec::WriteJson(value);
  const auto quantity = api::Quantity::Parse(text);
  return {quantity.ok() ? *quantity : api::Quantity(), text.ends_with('i')};
}

QuotaAmounts AmountsOf(const json::object* list) {
  QuotaAmounts amounts;
  if (list == nullptr) return amounts;
  for (const auto& [name, value] : *list) amounts[std::string(name)] = AmountOf(value);
  return amounts;
}

// As resource.Quantity writes it.
std::string TextOf(const QuotaAmount& amount) {
  constexpr api::Quantity::Nanos kThousand = 1'000;
  constexpr std::int64_t kKibi = 1'024;
  api::Quantity::Nanos number = amount.quantity.nanos();
  std::size_t unit = 0;
  constexpr std::array<std::string_view, 4> kUnits = {"n", "u", "m", ""};
  while (unit + 1 < kUnits.size() && number % kThousand == 0) {
    number /= kThousand;
    ++unit;
  }
  // Beyond int64 there are fractions of amounts that nobody has.
  const auto whole = static_cast<std::int64_t>(number);
  const bool is_large = whole <= -kKibi || whole >= kKibi;
  if (amount.is_binary && kUnits[unit].empty() && is_large) {
    if (whole % kKibi != 0) return std::to_string(whole);
    return objects::CanonicalQuantity(std::to_string(whole / kKibi) + "Ki");
  }
  return objects::CanonicalQuantity(std::to_string(whole) + std::string(kUnits[unit]));
}

std::string TextOf(const QuotaAmounts& amounts, const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    const auto at = amounts.find(name);
    if (at == amounts.end()) continue;
    text.append(text.empty() ? "" : ",").append(name).append("=").append(TextOf(at->second));
  }
  return text;
}

// The receiver's form stays, unless it is nothing.
void Add(const QuotaAmount& more, QuotaAmount& to) {
  if (to.quantity.IsZero()) to.is_binary = more.is_binary;
  to.quantity = api::Quantity::FromNanos(to.quantity.nanos() + more.quantity.nanos());
}

// Calls use(resources) for those of the pod as a whole and of each container.
template <typename Use>
void ForEachResources(const json::object& spec, Use use) {
  if (const json::object* of_pod = ObjectOf(spec, "resources")) use(*of_pod);
  for (const char* list : {"containers", "initContainers"}) {
    const json::value* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (const json::value& container : containers->get_array()) {
      const json::object* of_container =
          container.is_object() ? ObjectOf(container.get_object(), "resources") : nullptr;
      if (of_container != nullptr) use(*of_container);
    }
  }
}

// Whether the first amount of the resource is written so.
bool IsBinary(const json::object& spec, std::string_view list, std::string_view resource) {
  std::optional<bool> is_binary;
  ForEachResources(spec, [&](const json::object& of) {
    const json::object* amounts = ObjectOf(of, list);
    const json::value* amount = amounts == nullptr ? nullptr : amounts->if_contains(resource);
    if (amount != nullptr && !is_binary) is_binary = AmountOf(*amount).is_binary;
  });
  return is_binary.value_or(false);
}

framework::Resource RequestsOf(const api::PodSpec& spec) {
  framework::PodClass pod_class;
  pod_class.spec = spec;
  framework::DerivePodClass(pod_class);
  return std::move(pod_class.requests);
}

// Limits add up as requests do.
void SetLimitsAsRequests(json::object& of) {
  json::value* const found = of.if_contains("resources");
  if (found == nullptr || !found->is_object()) return;
  json::object& amounts = found->get_object();
  amounts.erase(kRequests);
  if (const json::object* limits = ObjectOf(amounts, kLimits)) {
    json::object copy = *limits;
    amounts[kRequests] = std::move(copy);
  }
}

Expected<framework::Resource> LimitsOf(json::object pod) {
  if (json::object* spec = pod.contains("spec") ? pod["spec"].if_object() : nullptr) {
    spec->erase("overhead");
    SetLimitsAsRequests(*spec);
    for (const char* list : {"containers", "initContainers"}) {
      json::value* containers = spec->if_contains(list);
      if (containers == nullptr || !containers->is_array()) continue;
      for (json::value& container : containers->get_array()) {
        if (container.is_object()) SetLimitsAsRequests(container.get_object());
      }
    }
  }
  BERTH_ASSIGN_OR_RETURN(const auto decoded, api::DecodePod(codec::WriteJson(pod)));
  return RequestsOf(decoded->spec);
}

// PodResourceLimits adds the overhead to limits that there are.
void AddOverhead(const api::PodSpec& spec, framework::Resource& limits) {
  const framework::Resource overhead = framework::Resource::FromList(spec.overhead);
  if (limits.cpu_milli > 0) limits.cpu_milli += overhead.cpu_milli;
  if (limits.memory_bytes > 0) limits.memory_bytes += overhead.memory_bytes;
  if (limits.ephemeral_storage_bytes > 0) limits.ephemeral_storage_bytes += overhead.ephemeral_storage_bytes;
}

// What PodLevelResources makes of a pod: containers need name nothing then.
bool HasPodLevelResources(const json::object& spec) {
  const json::object* const of_pod = ObjectOf(spec, "resources");
  if (of_pod == nullptr) return false;
  return std::ranges::any_of(std::array{kRequests, kLimits}, [&](std::string_view list) {
    const json::object* const amounts = ObjectOf(*of_pod, list);
    return amounts != nullptr && std::ranges::any_of(*amounts, [](const auto& amount) {
             const std::string_view name = amount.key();
             return name == resources::kCpu || name == resources::kMemory || name.starts_with(kHugePagesPrefix);
           });
  });
}

void FindLacking(const json::object& spec, QuotaDemand& demand) {
  if (HasPodLevelResources(spec)) return;
  for (const char* list : {"containers", "initContainers"}) {
    const json::value* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (const json::value& each : containers->get_array()) {
      if (!each.is_object()) continue;
      const json::object& container = each.get_object();
      const json::object* const of_container = ObjectOf(container, "resources");
      for (const std::string_view name : kDemandedOfContainers) {
        const bool is_limit = name.starts_with(kLimitsPrefix);
        const std::size_t dot = name.find('.');
        const std::string_view resource = dot == std::string_view::npos ? name : name.substr(dot + 1);
        const json::object* const amounts =
            of_container == nullptr ? nullptr : ObjectOf(*of_container, is_limit ? kLimits : kRequests);
        if (amounts == nullptr || !amounts->contains(resource))
          demand.lacking[std::string(name)].emplace(StringOf(container, "name"));
      }
    }
  }
}

bool IsAcrossNamespaces(const api::PodAffinity& affinity) {
  const auto is_so = [](const api::PodAffinityTerm& term) {
    return !term.namespaces.empty() || term.namespace_selector.has_value();
  };
  return std::ranges::any_of(affinity.required, is_so) ||
         std::ranges::any_of(affinity.preferred, is_so, &api::WeightedPodAffinityTerm::term);
}

bool IsOfPods(std::string_view name) {
  if (std::ranges::binary_search(kPodResources, name)) return true;
  if (name.starts_with(kHugePagesPrefix)) return true;
  if (!name.starts_with(kRequestsPrefix)) return false;
  const std::string_view resource = name.substr(kRequestsPrefix.size());
  return resource.starts_with(kHugePagesPrefix) ||
         (name.find('/') != std::string_view::npos && name.find("kubernetes.io/") == std::string_view::npos);
}

bool IsInPriorityScope(const api::QuotaScope& scope, const std::string& name) {
  const bool is_named = std::ranges::find(scope.values, name) != scope.values.end();
  if (scope.op == kExists) return !name.empty();
  if (scope.op == "DoesNotExist") return name.empty();
  if (scope.op == "In") return !name.empty() && is_named;
  return scope.op == "NotIn" && (name.empty() || !is_named);
}

bool IsInScope(const api::QuotaScope& scope, const QuotaDemand& demand) {
  if (scope.name == "Terminating") return demand.has_deadline;
  if (scope.name == "NotTerminating") return !demand.has_deadline;
  if (scope.name == "BestEffort") return demand.is_best_effort;
  if (scope.name == "NotBestEffort") return !demand.is_best_effort;
  if (scope.name == "PriorityClass") return IsInPriorityScope(scope, demand.priority_class_name);
  return scope.name == "CrossNamespacePodAffinity" && demand.has_affinity_across_namespaces;
}

std::string LackingText(const QuotaAmounts& hard, const QuotaDemand& demand) {
  std::string text;
  for (const auto& [resource, containers] : demand.lacking) {
    if (!hard.contains(resource)) continue;
    text.append(text.empty() ? "" : "; ").append(resource).append(" for: ");
    bool is_first = true;
    for (const std::string& container : containers)
      text.append(std::exchange(is_first, false) ? "" : ",").append(container);
  }
  return text;
}

}  // namespace

Expected<QuotaDemand> QuotaDemandOf(const json::object& pod, const api::Pod& decoded) {
  QuotaDemand demand;
  const json::object* const spec = ObjectOf(pod, "spec");
  if (spec == nullptr) return demand;
  const auto set = [&](std::string name, api::Quantity quantity, bool is_binary) {
    if (!quantity.IsZero()) demand.amounts[std::move(name)] = {quantity, is_binary};
  };
  set(std::string(kPodCount), api::Quantity::FromValue(1), false);
  set(std::string(resources::kPods), api::Quantity::FromValue(1), false);
  const framework::Resource requests = RequestsOf(decoded.spec);
  BERTH_ASSIGN_OR_RETURN(framework::Resource limits, LimitsOf(pod));
  AddOverhead(decoded.spec, limits);
  for (const std::string_view name : {resources::kCpu, resources::kMemory, resources::kEphemeralStorage}) {
    const auto quantity = [&](const framework::Resource& of) {
      return name == resources::kCpu ? api::Quantity::FromMilli(of.Get(name)) : api::Quantity::FromValue(of.Get(name));
    };
    const bool is_binary = IsBinary(*spec, kRequests, name);
    set(std::string(name), quantity(requests), is_binary);
    set(std::string(kRequestsPrefix).append(name), quantity(requests), is_binary);
    set(std::string(kLimitsPrefix).append(name), quantity(limits), IsBinary(*spec, kLimits, name));
  }
  for (const auto& [name, amount] : requests.scalars) {
    const bool is_huge = name.starts_with(kHugePagesPrefix);
    if (!is_huge && !framework::IsExtendedResourceName(name)) continue;
    const bool is_binary = IsBinary(*spec, kRequests, name);
    if (is_huge) set(name, api::Quantity::FromValue(amount), is_binary);
    set(std::string(kRequestsPrefix).append(name), api::Quantity::FromValue(amount), is_binary);
  }
  FindLacking(*spec, demand);
  demand.priority_class_name = StringOf(*spec, "priorityClassName");
  const json::value* const deadline = spec->if_contains("activeDeadlineSeconds");
  demand.has_deadline = deadline != nullptr && deadline->is_number();
  const json::object* const status = ObjectOf(pod, "status");
  demand.is_best_effort = status != nullptr && StringOf(*status, "qosClass") == "BestEffort";
  demand.has_affinity_across_namespaces =
      IsAcrossNamespaces(decoded.spec.pod_affinity) || IsAcrossNamespaces(decoded.spec.pod_anti_affinity);
  return demand;
}

PodQuotas::PodQuotas(const ClusterState& state) {
  for (const AdmissionObject& object : state.admission) {
    if (object.kind != "ResourceQuota") continue;
    const std::string text = codec::WriteJson(object.object);
    const auto element = api::ParseObject(object.kind, text);
    if (!element.ok()) continue;
    const auto decoded = api::DecodeResourceQuota(*element);
    // What cannot be read has been left out of the state.
    if (!decoded.ok()) continue;
    Quota quota;
    quota.name = object.name;
    for (const std::string& scope : (*decoded)->scopes) quota.scopes.push_back({scope, std::string(kExists), {}});
    quota.scopes.insert(quota.scopes.end(), (*decoded)->scope_selector.begin(), (*decoded)->scope_selector.end());
    if (const json::object* status = ObjectOf(object.object, "status")) {
      quota.hard = AmountsOf(ObjectOf(*status, "hard"));
      quota.used = AmountsOf(ObjectOf(*status, "used"));
    }
    std::erase_if(quota.hard, [](const auto& each) { return !IsOfPods(each.first); });
    if (!quota.hard.empty()) quotas_[object.namespace_name].push_back(std::move(quota));
  }
  for (auto& [name, quotas] : quotas_) std::ranges::sort(quotas, {}, &Quota::name);
}

std::optional<std::string> PodQuotas::Refusal(const Quota& quota, const QuotaDemand& demand) {
  std::vector<std::string_view> exceeded;
  for (const auto& [name, amount] : demand.amounts) {
    const auto hard = quota.hard.find(name);
    if (hard == quota.hard.end()) continue;
    const auto used = quota.used.find(name);
    const api::Quantity::Nanos before = used == quota.used.end() ? 0 : used->second.quantity.nanos();
    if (before + amount.quantity.nanos() > hard->second.quantity.nanos()) exceeded.push_back(name);
  }
  if (exceeded.empty()) return std::nullopt;
  return "exceeded quota: " + quota.name + ", requested: " + TextOf(demand.amounts, exceeded) +
         ", used: " + TextOf(quota.used, exceeded) + ", limited: " + TextOf(quota.hard, exceeded);
}

std::optional<std::string> PodQuotas::Admit(const std::string& namespace_name, const QuotaDemand& demand) {
  const auto at = quotas_.find(namespace_name);
  if (at == quotas_.end()) return std::nullopt;
  std::vector<Quota*> matching;
  for (Quota& quota : at->second) {
    if (!std::ranges::all_of(quota.scopes, [&](const api::QuotaScope& scope) { return IsInScope(scope, demand); }))
      continue;
    if (const std::string lacking = LackingText(quota.hard, demand); !lacking.empty())
      return "failed quota: " + quota.name + ": must specify " + lacking;
    const bool is_known =
        std::ranges::all_of(quota.hard, [&](const auto& each) { return quota.used.contains(each.first); });
    if (!is_known) {
      std::string names;
      for (const auto& [name, amount] : quota.hard) names.append(names.empty() ? "" : ",").append(name);
      return "status unknown for quota: " + quota.name + ", resources: " + names;
    }
    matching.push_back(&quota);
  }
  for (const Quota* quota : matching) {
    if (auto why = Refusal(*quota, demand)) return why;
  }
  for (Quota* quota : matching) {
    for (const auto& [name, amount] : demand.amounts) {
      if (quota->hard.contains(name)) Add(amount, quota->used[name]);
    }
  }
  return std::nullopt;
}

}  // namespace berth::whatif
