// SPDX-License-Identifier: Apache-2.0
// Upstream: the declarative validation of k8s.io/api/scheduling/v1beta1 and v1alpha3, and
// pkg/apis/scheduling/validation, of 1.37 with the feature gates of pod groups on.
#include "berth/devcluster/objects/validate/pod_group.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::objects::internal {
namespace {

constexpr std::string_view kPodGroupRules = R"(
@schedulingv1beta1
CompositeDisruptionMode |single|all
CompositeGangSchedulingPolicy minGroupCount!>=1
CompositePodGroupSchedulingConstraints topology#1/
CompositePodGroupSchedulingPolicy |basic|gang basic~ @GangKept
CompositePodGroupTemplate name!:label schedulingPolicy/ schedulingConstraints~*/ disruptionMode~*/
  priorityClassName~?:subdomain priority~(..1000000000) preemptionPolicy~=Never|PreemptLowerPriority
  podGroupTemplates@Templates compositePodGroupTemplates@Templates
DisruptionMode |single|all
GangSchedulingPolicy minCount!>=1
PodGroup spec/
PodGroupResourceClaim |resourceClaimName|resourceClaimTemplateName name!:label resourceClaimName?:subdomain
  resourceClaimTemplateName?:subdomain
PodGroupSchedulingConstraints topology#1/
PodGroupSchedulingPolicy |basic|gang basic~ @GangKept
PodGroupSpec @WorkloadOfParent parentCompositePodGroupName~?:subdomain workloadRef~*/ schedulingPolicy/
  schedulingConstraints~*/ resourceClaims~#4@UniqueNames/ disruptionMode~!/ priorityClassName~?:subdomain
  priority~(..1000000000) preemptionPolicy~=Never|PreemptLowerPriority
PodGroupTemplate name!:label schedulingPolicy/ schedulingConstraints~*/ resourceClaims~#4@UniqueNames/
  disruptionMode~*/ priorityClassName~?:subdomain priority~(..1000000000)
  preemptionPolicy~=Never|PreemptLowerPriority
TopologyConstraint key!:qualified
TypedLocalObjectReference apiGroup?:subdomain kind!:segment name!:segment
Workload spec@Workload
WorkloadReference workloadName!:subdomain templateName!:label
WorkloadSpec |podGroupTemplates|compositePodGroupTemplates controllerRef~*/ podGroupTemplates@Templates
  compositePodGroupTemplates@Templates
@schedulingv1alpha3
CompositeDisruptionMode |single|all
CompositeGangSchedulingPolicy minGroupCount!>=1
CompositePodGroup spec/
CompositePodGroupSchedulingConstraints topology#1/
CompositePodGroupSchedulingPolicy |basic|gang basic~ @GangKept
CompositePodGroupSpec parentCompositePodGroupName~?:subdomain workloadRef~!/ schedulingPolicy~/
  schedulingConstraints~*/ disruptionMode~!/ priorityClassName~?:subdomain priority~(..1000000000)
  preemptionPolicy~=Never|PreemptLowerPriority
TopologyConstraint key!:qualified
WorkloadReference workloadName!:subdomain templateName!:label
)";

constexpr std::size_t kTemplatesMax = 8;  // on each level
constexpr int kTreeDepthMax = 4;          // the groups of pods are a level, too

constexpr const char* kPodGroupTemplates = "podGroupTemplates";
constexpr const char* kCompositeTemplates = "compositePodGroupTemplates";

void CheckWorkloadOfParent(const Place& spec) {
  if (spec.Has("parentCompositePodGroupName") && !spec.Has("workloadRef"))
    spec["workloadRef"].Required("must be set when parentCompositePodGroupName is set");
}

// Which of the two it is stays; the number may change.
void CheckGangKept(const Place& policy) {
  const Place gang = policy["gang"];
  if (policy.old().is_object() && gang.is_set() == gang.old().is_null()) {
    gang.Invalid(nullptr, gang.is_set() ? "field cannot be set once created" : "field cannot be cleared once set");
  } else if (gang.is_set()) {
    gang.Walk();
  }
}

// One error for each name that comes again in the list.
void CheckUniqueNames(const Place& list) {
  std::set<std::string_view> seen;
  list.ForEach([&](const Place& each) {
    if (!seen.insert(each["name"].text()).second) each.Duplicate(each.value());
  });
}

// --- Templates -------------------------------------------------------------------------------------------------------

const json::object* FindTemplate(const json::array& list, std::string_view name) {
  for (const json::value& each : list) {
    if (each.is_object() && StringMember(each.get_object(), "name") == name) return &each.get_object();
  }
  return nullptr;
}

// How many templates there are, which names they have, and that an update neither adds nor removes one; only when all
// that is so, what each one says. The depth is bounded before: see CheckWorkload().
void CheckTemplates(const Place& list) {
  const json::array* found = ArrayMember(list.up().old_object(), list.step());
  const json::array old = found == nullptr ? json::array() : *found;
  const std::size_t before = list.errors().size();
  if (list.array().size() > kTemplatesMax) list.TooMany(list.array().size(), kTemplatesMax);
  if (list.is_update()) {
    list.ForEach([&](const Place& each) {
      if (FindTemplate(old, each["name"].text()) == nullptr) each.Forbidden("item may not be added");
    });
    for (const json::object* each : ObjectsOf(list.up().old_object(), list.step())) {
      if (FindTemplate(list.array(), StringMember(*each, "name")) == nullptr) list.Forbidden("item may not be removed");
    }
  }
  if (list.errors().size() > before) return;
  CheckUniqueNames(list);
  list.ForEach([&](const Place& each) { each.WithOld(FindTemplate(old, each["name"].text())).Walk(); });
}

// How many levels of composite templates there are, down to one more than may be.
int DepthOf(const json::object& templates, int depth = 0) {
  int deepest = depth;
  if (depth >= kTreeDepthMax) return depth;
  for (const json::object* each : ObjectsOf(templates, kCompositeTemplates))
    deepest = std::max(deepest, DepthOf(*each, depth + 1));
  return deepest;
}

// Names are unique in the whole tree. CheckUniqueNames() reports those that come twice in one list.
void CheckTreeNames(const Place& parent, std::set<std::string>& names) {
  for (const char* list : {kPodGroupTemplates, kCompositeTemplates}) {
    std::set<std::string> of_list;
    const Place templates = parent[list];
    templates.ForEach([&](const Place& each) {
      const Place name = each["name"];
      if (names.contains(std::string(name.text()))) name.Duplicate(json::value(name.text()));
      of_list.emplace(name.text());
    });
    names.merge(of_list);
  }
  const Place composites = parent[kCompositeTemplates];
  composites.ForEach([&](const Place& each) { CheckTreeNames(each, names); });
}

void CheckChildren(const Place& parent) {
  const Place composites = parent[kCompositeTemplates];
  composites.ForEach([&](const Place& each) {
    if (each[kPodGroupTemplates].array().empty() && each[kCompositeTemplates].array().empty()) {
      each.Invalid(json::value(each["name"].text()),
                   "must have at least one child PodGroupTemplate or CompositePodGroupTemplate");
    }
    CheckChildren(each);
  });
}

using Priority = std::pair<std::string, std::optional<std::int64_t>>;

void CollectPriorities(const json::object& parent, std::set<Priority>& priorities) {
  for (const char* list : {kPodGroupTemplates, kCompositeTemplates}) {
    for (const json::object* each : ObjectsOf(parent, list)) {
      const bool has_number = FindMember(*each, "priority") != nullptr;
      priorities.emplace(StringMember(*each, "priorityClassName"),
                         has_number ? std::optional(IntMember(*each, "priority")) : std::nullopt);
      if (list == kCompositeTemplates) CollectPriorities(*each, priorities);
    }
  }
}

void CheckTreePriorities(const Place& spec) {
  std::set<Priority> priorities;
  CollectPriorities(spec.object(), priorities);
  if (priorities.size() <= 1) return;
  const bool is_flat = spec[kCompositeTemplates].array().empty();
  spec.Invalid(nullptr, is_flat ? "detected multiple priority configurations"
                                : "all priority and priorityClassName values must be identical, detected multiple "
                                  "values");
}

void CheckWorkload(const Place& spec) {
  const Place composites = spec[kCompositeTemplates];
  composites.ForEach([](const Place& each) {
    if (DepthOf(each.object(), 1) < kTreeDepthMax) return;
    each.Invalid(each[kCompositeTemplates].value(),
                 "maximum template hierarchy depth is " + std::to_string(kTreeDepthMax));
  });
  // What is below is walked level by level.
  if (!spec.errors().empty()) return;
  spec.Walk();
  std::set<std::string> names;
  CheckTreeNames(spec, names);
  CheckTreePriorities(spec);
  CheckChildren(spec);
}

}  // namespace

RuleSet PodGroupRules() {
  return {kPodGroupRules,
          {{"GangKept", CheckGangKept},
           {"Templates", CheckTemplates},
           {"UniqueNames", CheckUniqueNames},
           {"Workload", CheckWorkload},
           {"WorkloadOfParent", CheckWorkloadOfParent}}};
}

}  // namespace berth::objects::internal
