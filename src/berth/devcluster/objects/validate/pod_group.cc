// SPDX-License-Identifier: Apache-2.0
// Upstream: the declarative validation of k8s.io/api/scheduling/v1beta1 and v1alpha3, and
// pkg/apis/scheduling/validation.
#include "berth/devcluster/objects/validate/pod_group.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/device.h"

namespace berth::objects::internal {
namespace {

constexpr std::size_t kTemplatesMax = 8;  // on each level
constexpr int kTreeDepthMax = 4;          // the groups of pods are a level, too
constexpr std::size_t kClaimsMax = 4;
constexpr std::int64_t kPriorityMax = 1'000'000'000;
constexpr const char* kImmutable = "field is immutable";

constexpr const char* kPodGroupTemplates = "podGroupTemplates";
constexpr const char* kCompositeTemplates = "compositePodGroupTemplates";

FieldError Changed(std::string field, std::string_view why = kImmutable) {
  return Invalid(std::move(field), json::value(nullptr), why);
}

// An object or its part, and where it stands; `old` is null on create.
struct Place {
  const json::object& now;
  const json::object* old;
  std::string field;

  std::string PathOf(std::string_view member) const { return field + "." + std::string(member); }
  // The member as a place of its own; the old one is null when it was absent.
  Place Member(std::string_view member) const {
    return {Part(now, member), old == nullptr ? nullptr : ObjectMember(*old, member), PathOf(member)};
  }
  bool Has(std::string_view member) const { return FindMember(now, member) != nullptr; }
  bool Had(std::string_view member) const { return old != nullptr && FindMember(*old, member) != nullptr; }
};

// False, with an error, when an update changes the member: nothing more is said of it then.
bool StaysSame(const Place& of, std::string_view member, Errors& errors) {
  if (of.old == nullptr || ValueOrNull(of.now, member) == ValueOrNull(*of.old, member)) return true;
  errors.push_back(Changed(of.PathOf(member)));
  return false;
}

void ValidateUnion(const json::object& object, const std::string& field, const std::vector<std::string_view>& members,
                   Errors& errors) {
  std::string all, set;
  int set_count = 0;
  for (const std::string_view member : members) {
    const json::value* value = FindMember(object, member);
    const bool is_empty_list = value != nullptr && value->is_array() && value->get_array().empty();
    all += (all.empty() ? "" : ", ") + std::string(member);
    if (value == nullptr || is_empty_list) continue;
    ++set_count;
    set += (set.empty() ? "" : ", ") + std::string(member);
  }
  if (set_count == 0) errors.push_back(Invalid(field, "", "must specify one of: " + all));
  if (set_count > 1)
    errors.push_back(Invalid(field, json::value("{" + set + "}"), "must specify exactly one of: " + all));
}

void ValidateRequiredName(const json::object& object, std::string_view member, const std::string& field, NameRule rule,
                          Errors& errors) {
  const std::string path = field + "." + std::string(member);
  const std::string_view name = StringMember(object, member);
  if (name.empty()) {
    errors.push_back(Required(path));
  } else {
    AddInvalid(errors, path, name, rule(name));
  }
}

std::vector<std::string> NotPathSegment(std::string_view text) {
  std::vector<std::string> why;
  if (text == "." || text == "..") return {"may not be '" + std::string(text) + "'"};
  for (const char* each : {"/", "%"}) {
    if (text.find(each) != std::string_view::npos) why.push_back("may not contain '" + std::string(each) + "'");
  }
  return why;
}

// The smallest number is 1; 0 counts as absent.
void ValidateMinimum(const json::object& gang, std::string_view member, const std::string& field, Errors& errors) {
  const std::int64_t count = IntMember(gang, member);
  const std::string path = field + "." + std::string(member);
  if (count == 0) errors.push_back(Required(path));
  if (count < 0) errors.push_back(Invalid(path, count, "must be greater than or equal to 1"));
}

// Which of the two it is stays; the number may change.
void ValidatePolicy(const Place& policy, std::string_view minimum, Errors& errors) {
  ValidateUnion(policy.now, policy.field, {"basic", "gang"}, errors);
  StaysSame(policy, "basic", errors);
  if (policy.old != nullptr && policy.Has("gang") != policy.Had("gang")) {
    errors.push_back(Changed(policy.PathOf("gang"), policy.Has("gang") ? "field cannot be set once created"
                                                                       : "field cannot be cleared once set"));
    return;
  }
  if (policy.Has("gang")) ValidateMinimum(Part(policy.now, "gang"), minimum, policy.PathOf("gang"), errors);
}

void ValidateConstraints(const Place& of, Errors& errors) {
  constexpr const char* kMember = "schedulingConstraints";
  if (!StaysSame(of, kMember, errors) || !of.Has(kMember)) return;
  const json::object& constraints = Part(of.now, kMember);
  const std::string field = of.PathOf(kMember);
  const std::size_t count = ObjectsOf(constraints, "topology").size();
  if (count > 1) {
    errors.push_back(TooMany(field + ".topology", count, 1));
    return;
  }
  ForEachIn(constraints, "topology", field, [&](const json::object& constraint, const std::string& path) {
    ValidateRequiredName(constraint, "key", path, api::NotQualifiedName, errors);
  });
}

// One error for each name that comes again in the list.
void ValidateUniqueNames(const Place& of, std::string_view list, Errors& errors) {
  std::set<std::string> seen;
  ForEachIn(of.now, list, of.field, [&](const json::object& each, const std::string& path) {
    if (!seen.insert(std::string(StringMember(each, "name"))).second) errors.push_back(Duplicate(path, each));
  });
}

void ValidateClaims(const Place& of, Errors& errors) {
  constexpr const char* kMember = "resourceClaims";
  if (!StaysSame(of, kMember, errors)) return;
  const std::size_t count = ObjectsOf(of.now, kMember).size();
  if (count > kClaimsMax) {
    errors.push_back(TooMany(of.PathOf(kMember), count, kClaimsMax));
    return;
  }
  ValidateUniqueNames(of, kMember, errors);
  ForEachIn(of.now, kMember, of.field, [&](const json::object& claim, const std::string& path) {
    ValidateUnion(claim, path, {"resourceClaimName", "resourceClaimTemplateName"}, errors);
    ValidateRequiredName(claim, "name", path, api::NotDnsLabel, errors);
    for (const char* member : {"resourceClaimName", "resourceClaimTemplateName"})
      ValidateNameMember(claim, member, path, api::NotDnsSubdomain, errors);
  });
}

void ValidateDisruptionMode(const Place& of, bool is_required, Errors& errors) {
  constexpr const char* kMember = "disruptionMode";
  if (!StaysSame(of, kMember, errors)) return;
  if (of.Has(kMember)) {
    ValidateUnion(Part(of.now, kMember), of.PathOf(kMember), {"single", "all"}, errors);
  } else if (is_required) {
    errors.push_back(Required(of.PathOf(kMember)));
  }
}

void ValidatePriority(const Place& of, Errors& errors) {
  if (StaysSame(of, "priorityClassName", errors))
    ValidateNameMember(of.now, "priorityClassName", of.field, api::NotDnsSubdomain, errors);
  if (StaysSame(of, "priority", errors) && IntMember(of.now, "priority") > kPriorityMax) {
    errors.push_back(Invalid(of.PathOf("priority"), IntMember(of.now, "priority"),
                             "must be less than or equal to " + std::to_string(kPriorityMax)));
  }
  if (StaysSame(of, "preemptionPolicy", errors))
    ValidateOneOf(of.now, "preemptionPolicy", of.field, {"Never", "PreemptLowerPriority"}, errors);
}

void ValidateWorkloadReference(const Place& of, bool is_required, Errors& errors) {
  constexpr const char* kMember = "workloadRef";
  if (!StaysSame(of, kMember, errors)) return;
  if (!of.Has(kMember)) {
    if (is_required) errors.push_back(Required(of.PathOf(kMember)));
    return;
  }
  const json::object& reference = Part(of.now, kMember);
  ValidateRequiredName(reference, "workloadName", of.PathOf(kMember), api::NotDnsSubdomain, errors);
  ValidateRequiredName(reference, "templateName", of.PathOf(kMember), api::NotDnsLabel, errors);
}

void ValidateParent(const Place& of, Errors& errors) {
  constexpr const char* kMember = "parentCompositePodGroupName";
  if (StaysSame(of, kMember, errors)) ValidateNameMember(of.now, kMember, of.field, api::NotDnsSubdomain, errors);
}

Place SpecOf(const json::object& object, const json::object* old) {
  return {Part(object, "spec"), old == nullptr ? nullptr : &Part(*old, "spec"), "spec"};
}

// --- Templates -------------------------------------------------------------------------------------------------------

// The template of that name in the old list; null when there was none.
const json::object* OldTemplate(const Place& of, std::string_view list, std::string_view name) {
  if (of.old == nullptr) return nullptr;
  for (const json::object* each : ObjectsOf(*of.old, list)) {
    if (StringMember(*each, "name") == name) return each;
  }
  return nullptr;
}

// Of a list of templates: how many, which names, and that an update neither adds nor removes one. False: nothing more
// is said of them.
bool ValidateTemplateList(const Place& of, std::string_view list, Errors& errors) {
  const std::vector<const json::object*> templates = ObjectsOf(of.now, list);
  const std::size_t before = errors.size();
  if (templates.size() > kTemplatesMax) errors.push_back(TooMany(of.PathOf(list), templates.size(), kTemplatesMax));
  if (of.old != nullptr) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < templates.size(); ++i) {
      const std::string name(StringMember(*templates[i], "name"));
      names.insert(name);
      if (OldTemplate(of, list, name) == nullptr)
        errors.push_back(Forbidden(Indexed(of.PathOf(list), i), "item may not be added"));
    }
    for (const json::object* each : ObjectsOf(*of.old, list)) {
      if (!names.contains(std::string(StringMember(*each, "name"))))
        errors.push_back(Forbidden(of.PathOf(list), "item may not be removed"));
    }
  }
  if (errors.size() > before) return false;
  ValidateUniqueNames(of, list, errors);
  return true;
}

void ValidatePodGroupTemplates(const Place& of, Errors& errors) {
  if (!ValidateTemplateList(of, kPodGroupTemplates, errors)) return;
  ForEachIn(of.now, kPodGroupTemplates, of.field, [&](const json::object& each, const std::string& path) {
    const Place place{each, OldTemplate(of, kPodGroupTemplates, StringMember(each, "name")), path};
    ValidateRequiredName(each, "name", path, api::NotDnsLabel, errors);
    ValidatePolicy(place.Member("schedulingPolicy"), "minCount", errors);
    ValidateConstraints(place, errors);
    ValidateClaims(place, errors);
    ValidateDisruptionMode(place, false, errors);
    ValidatePriority(place, errors);
  });
}

// The depth is bounded before: see ValidateWorkload().
void ValidateCompositeTemplates(const Place& of, Errors& errors) {
  if (!ValidateTemplateList(of, kCompositeTemplates, errors)) return;
  ForEachIn(of.now, kCompositeTemplates, of.field, [&](const json::object& each, const std::string& path) {
    const Place place{each, OldTemplate(of, kCompositeTemplates, StringMember(each, "name")), path};
    ValidateRequiredName(each, "name", path, api::NotDnsLabel, errors);
    ValidatePolicy(place.Member("schedulingPolicy"), "minGroupCount", errors);
    ValidateConstraints(place, errors);
    ValidateDisruptionMode(place, false, errors);
    ValidatePriority(place, errors);
    ValidatePodGroupTemplates(place, errors);
    ValidateCompositeTemplates(place, errors);
  });
}

// How many levels of composite templates there are, down to one more than may be.
int DepthOf(const json::object& templates, int depth = 0) {
  int deepest = depth;
  if (depth >= kTreeDepthMax) return depth;
  for (const json::object* each : ObjectsOf(templates, kCompositeTemplates))
    deepest = std::max(deepest, DepthOf(*each, depth + 1));
  return deepest;
}

// Names are unique in the whole tree. Those that come twice in one list are told of by ValidateUniqueNames().
void ValidateTreeNames(const json::object& parent, const std::string& field, std::set<std::string>& names,
                       Errors& errors) {
  for (const char* list : {kPodGroupTemplates, kCompositeTemplates}) {
    std::set<std::string> of_list;
    ForEachIn(parent, list, field, [&](const json::object& each, const std::string& path) {
      std::string name(StringMember(each, "name"));
      if (names.contains(name)) errors.push_back(Duplicate(path + ".name", json::value(name)));
      of_list.insert(std::move(name));
    });
    names.merge(of_list);
  }
  ForEachIn(parent, kCompositeTemplates, field,
            [&](const json::object& each, const std::string& path) { ValidateTreeNames(each, path, names, errors); });
}

void ValidateChildren(const json::object& parent, const std::string& field, Errors& errors) {
  ForEachIn(parent, kCompositeTemplates, field, [&](const json::object& each, const std::string& path) {
    if (ObjectsOf(each, kPodGroupTemplates).empty() && ObjectsOf(each, kCompositeTemplates).empty()) {
      errors.push_back(Invalid(path, json::value(StringMember(each, "name")),
                               "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"));
    }
    ValidateChildren(each, path, errors);
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

void ValidateTreePriorities(const json::object& spec, Errors& errors) {
  std::set<Priority> priorities;
  CollectPriorities(spec, priorities);
  if (priorities.size() <= 1) return;
  const bool is_flat = ObjectsOf(spec, kCompositeTemplates).empty();
  errors.push_back(Changed("spec", is_flat ? "detected multiple priority configurations"
                                           : "all priority and priorityClassName values must be identical, detected "
                                             "multiple values"));
}

void ValidateController(const Place& of, Errors& errors) {
  constexpr const char* kMember = "controllerRef";
  if (!StaysSame(of, kMember, errors) || !of.Has(kMember)) return;
  const json::object& controller = Part(of.now, kMember);
  ValidateNameMember(controller, "apiGroup", of.PathOf(kMember), api::NotDnsSubdomain, errors);
  ValidateRequiredName(controller, "kind", of.PathOf(kMember), NotPathSegment, errors);
  ValidateRequiredName(controller, "name", of.PathOf(kMember), NotPathSegment, errors);
}

}  // namespace

void DefaultPodGroup(json::object& group) {
  json::object& spec = MutableObject(group, "spec");
  if (FindMember(spec, "disruptionMode") == nullptr) spec["disruptionMode"] = json::object{{"single", json::object()}};
  if (StringMember(spec, "preemptionPolicy").empty()) spec["preemptionPolicy"] = "PreemptLowerPriority";
}

void ValidatePodGroup(const json::object& group, const json::object* old, Errors& errors) {
  const Place spec = SpecOf(group, old);
  if (spec.Has("parentCompositePodGroupName") && !spec.Has("workloadRef"))
    errors.push_back(Required("spec.workloadRef", "must be set when parentCompositePodGroupName is set"));
  ValidateParent(spec, errors);
  ValidateWorkloadReference(spec, false, errors);
  ValidatePolicy(spec.Member("schedulingPolicy"), "minCount", errors);
  ValidateConstraints(spec, errors);
  ValidateClaims(spec, errors);
  ValidateDisruptionMode(spec, true, errors);
  ValidatePriority(spec, errors);
}

void ValidateCompositePodGroup(const json::object& group, const json::object* old, Errors& errors) {
  const Place spec = SpecOf(group, old);
  ValidateParent(spec, errors);
  ValidateWorkloadReference(spec, true, errors);
  if (StaysSame(spec, "schedulingPolicy", errors))
    ValidatePolicy(spec.Member("schedulingPolicy"), "minGroupCount", errors);
  ValidateConstraints(spec, errors);
  ValidateDisruptionMode(spec, true, errors);
  ValidatePriority(spec, errors);
}

void ValidateWorkload(const json::object& workload, const json::object* old, Errors& errors) {
  const Place spec = SpecOf(workload, old);
  const std::vector<const json::object*> composites = ObjectsOf(spec.now, kCompositeTemplates);
  for (std::size_t i = 0; i < composites.size(); ++i) {
    if (DepthOf(*composites[i], 1) < kTreeDepthMax) continue;
    const json::value* below = FindMember(*composites[i], kCompositeTemplates);
    errors.push_back(Invalid(Indexed(spec.PathOf(kCompositeTemplates), i),
                             below == nullptr ? json::value(nullptr) : *below,
                             "maximum template hierarchy depth is " + std::to_string(kTreeDepthMax)));
  }
  // What is below is walked level by level.
  if (!errors.empty()) return;
  ValidateUnion(spec.now, "spec", {kPodGroupTemplates, kCompositeTemplates}, errors);
  ValidateController(spec, errors);
  ValidatePodGroupTemplates(spec, errors);
  ValidateCompositeTemplates(spec, errors);
  std::set<std::string> names;
  ValidateTreeNames(spec.now, "spec", names, errors);
  ValidateTreePriorities(spec.now, errors);
  ValidateChildren(spec.now, "spec", errors);
}

}  // namespace berth::objects::internal
