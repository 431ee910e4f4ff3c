// SPDX-License-Identifier: Apache-2.0
// Validation of what an update may change in a pod's spec.
#include "berth/devcluster/objects/validate/pod_update.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/container.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

// Go's zero values and absent fields are one: an update that writes "" where there was nothing changes nothing.
bool IsZero(const json::value& value) {
  if (value.is_null()) return true;
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  return false;
}

bool SameDocument(const json::value& a, const json::value& b);

bool SameDocument(const json::object& a, const json::object& b) {
  for (const auto& [key, value] : a) {
    const json::value* other = b.if_contains(key);
    if (other == nullptr ? !IsZero(value) : !SameDocument(value, *other)) return false;
  }
  return std::all_of(b.begin(), b.end(),
                     [&](const auto& pair) { return a.contains(pair.key()) || IsZero(pair.value()); });
}

bool SameDocument(const json::value& a, const json::value& b) {
  if (a.is_object() && b.is_object()) return SameDocument(a.get_object(), b.get_object());
  if (!a.is_array() || !b.is_array()) return a == b;
  const json::array& left = a.get_array();
  const json::array& right = b.get_array();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const json::value& one, const json::value& other) { return SameDocument(one, other); });
}

bool SameMember(const json::object& a, const json::object& b, std::string_view member) {
  static const json::value kAbsent;
  const json::value* left = FindMember(a, member);
  const json::value* right = FindMember(b, member);
  if (left == nullptr) return right == nullptr || IsZero(*right);
  return right == nullptr ? IsZero(*left) : SameDocument(*left, *right);
}

void CopyMember(json::object& to, const json::object& from, std::string_view member) {
  if (const json::value* value = FindMember(from, member)) {
    const json::value copy = *value;
    to[member] = copy;
  } else {
    to.erase(member);
  }
}

json::value ValueOrNull(const json::object* object) {
  return object == nullptr ? json::value(nullptr) : json::value(*object);
}

// Every old toleration must still be there; only its seconds may differ.
void ValidateTolerationsKept(const json::object& spec, const json::object& old_spec, Errors& errors) {
  for (const json::object* old : ObjectsOf(old_spec, "tolerations")) {
    bool is_kept = false;
    for (const json::object* now : ObjectsOf(spec, "tolerations")) {
      json::object munged = *now;
      CopyMember(munged, *old, "tolerationSeconds");
      is_kept = is_kept || SameDocument(munged, *old);
    }
    if (is_kept) continue;
    errors.push_back(
        Forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void ValidateGatesOnlyDeleted(const json::object& spec, const json::object& old_spec, Errors& errors) {
  const auto old_gates = ObjectsOf(old_spec, "schedulingGates");
  ForEachIn(spec, "schedulingGates", "spec", [&](const json::object& gate, const std::string& path) {
    const std::string name(StringMember(gate, "name"));
    const bool is_old = std::any_of(old_gates.begin(), old_gates.end(),
                                    [&](const json::object* old) { return StringMember(*old, "name") == name; });
    if (is_old) return;
    errors.push_back(
        Forbidden(path + ".name", "only deletion is allowed, but found new scheduling gate '" + name + "'"));
  });
}

// --- Gated pods ------------------------------------------------------------------------------------------------------

bool TermOnlyGrew(const json::object& term, const json::object& old_term) {
  for (const char* list : {"matchExpressions", "matchFields"}) {
    const auto now = ObjectsOf(term, list);
    const auto before = ObjectsOf(old_term, list);
    if (now.size() < before.size()) return false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!SameDocument(*now[i], *before[i])) return false;
    }
  }
  return true;
}

void ValidateNodeSelectorOnlyGrew(const json::object& spec, const json::object& old_spec, Errors& errors) {
  const json::object* now = ObjectMember(spec, "nodeSelector");
  for (const auto& [key, value] : Part(old_spec, "nodeSelector")) {
    const json::value* kept = now == nullptr ? nullptr : now->if_contains(key);
    if (kept != nullptr && *kept == value) continue;
    errors.push_back(Invalid("spec.nodeSelector", ValueOrNull(now),
                             "only additions are allowed to spec.nodeSelector (no mutations or deletions)"));
    return;
  }
}

void ValidateNodeAffinityOnlyGrew(const json::object& affinity, const json::object& old_affinity, Errors& errors) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kTerms = "nodeSelectorTerms";
  const std::string path = "spec.affinity.nodeAffinity." + std::string(kRequired) + "." + std::string(kTerms);
  const auto terms = ObjectsOf(Part(affinity, kRequired), kTerms);
  const auto old_terms = ObjectsOf(Part(old_affinity, kRequired), kTerms);
  if (!old_terms.empty() && terms.size() != old_terms.size()) {
    const json::value* shown = FindPath(affinity, {kRequired, kTerms});
    errors.push_back(Invalid(path, shown == nullptr ? json::value(nullptr) : *shown,
                             "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (std::size_t i = 0; i < old_terms.size(); ++i) {
    if (TermOnlyGrew(*terms[i], *old_terms[i])) continue;
    errors.push_back(Invalid(Indexed(path, i), *terms[i], "only additions are allowed (no mutations or deletions)"));
  }
}

// A gated pod may still be narrowed down: more node selector entries, more node affinity expressions. Puts the old
// values into `munged` and reports what is no narrowing.
void AcceptGatedNarrowing(json::object& munged, const json::object& old_spec, Errors& errors) {
  if (!SameMember(munged, old_spec, "nodeSelector")) {
    ValidateNodeSelectorOnlyGrew(munged, old_spec, errors);
    CopyMember(munged, old_spec, "nodeSelector");
  }
  const json::object& old_affinity = Part(old_spec, "affinity");
  const json::object& now = Part(Part(munged, "affinity"), "nodeAffinity");
  const json::object& before = Part(old_affinity, "nodeAffinity");
  if (SameDocument(now, before)) return;
  ValidateNodeAffinityOnlyGrew(now, before, errors);
  json::object& affinity = MutableObject(munged, "affinity");
  CopyMember(affinity, old_affinity, "nodeAffinity");
  if (affinity.empty()) munged.erase("affinity");
}

// --- The spec as a whole ---------------------------------------------------------------------------------------------

// False when it grew, which ends the validation.
bool ValidateDeadline(const json::object& spec, const json::object& old_spec, Errors& errors) {
  constexpr std::string_view kMember = "activeDeadlineSeconds";
  const json::value* deadline = FindMember(spec, kMember);
  if (FindMember(old_spec, kMember) == nullptr) return true;
  if (deadline == nullptr) {
    errors.push_back(
        Invalid("spec.activeDeadlineSeconds", nullptr, "must not update from a positive integer to nil value"));
  } else if (IntMember(old_spec, kMember) < IntMember(spec, kMember)) {
    errors.push_back(Invalid("spec.activeDeadlineSeconds", *deadline, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

// `spec` with the old values of all that may be changed.
json::object WithoutAllowedChanges(const json::object& spec, const json::object& old_spec, Errors& errors) {
  json::object munged = spec;
  for (const char* list : {"containers", "initContainers"}) {
    const auto old_containers = ObjectsOf(old_spec, list);
    std::size_t index = 0;
    for (json::object* container : MutableObjectsOf(munged, list)) {
      CopyMember(*container, *old_containers[index++], "image");
    }
  }
  for (const char* member : {"activeDeadlineSeconds", "schedulingGates", "tolerations"}) {
    CopyMember(munged, old_spec, member);
  }
  if (IntMember(old_spec, "terminationGracePeriodSeconds") < 0 &&
      IntMember(munged, "terminationGracePeriodSeconds") == 1) {
    CopyMember(munged, old_spec, "terminationGracePeriodSeconds");
  }
  if (!ObjectsOf(old_spec, "schedulingGates").empty()) AcceptGatedNarrowing(munged, old_spec, errors);
  return munged;
}

std::string ListChanges(const json::object& spec, const json::object& old_spec) {
  std::string changes;
  for (const auto& pair : spec) {
    if (!SameMember(spec, old_spec, pair.key())) changes += "\n spec." + std::string(pair.key()) + " changed";
  }
  for (const auto& pair : old_spec) {
    if (!spec.contains(pair.key()) && !SameMember(spec, old_spec, pair.key())) {
      changes += "\n spec." + std::string(pair.key()) + " removed";
    }
  }
  return changes;
}

// Those that are there stay as they are: a container cannot be taken back.
void ValidateEphemeralContainersKept(const json::object& spec, const json::object& old_spec, Errors& errors) {
  const auto now = ObjectsOf(spec, "ephemeralContainers");
  for (const json::object* old : ObjectsOf(old_spec, "ephemeralContainers")) {
    const std::string name(StringMember(*old, "name"));
    const auto same = std::find_if(now.begin(), now.end(),
                                   [&](const json::object* each) { return StringMember(*each, "name") == name; });
    if (same == now.end()) {
      errors.push_back(
          Forbidden("spec.ephemeralContainers", "existing ephemeral containers \"" + name + "\" may not be removed\n"));
    } else if (!SameDocument(**same, *old)) {
      errors.push_back(
          Forbidden("spec.ephemeralContainers", "existing ephemeral containers \"" + name + "\" may not be changed\n"));
    }
  }
}

}  // namespace

void ValidateEphemeralContainersUpdate(const json::object& spec, const json::object& old_spec, Errors& errors) {
  ContainerContext context;
  std::set<std::string> targets;
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::object* container : ObjectsOf(spec, list)) targets.emplace(StringMember(*container, "name"));
  }
  context.names = targets;
  for (const json::object* volume : ObjectsOf(spec, "volumes")) context.volumes.emplace(StringMember(*volume, "name"));
  ForEachIn(spec, "ephemeralContainers", "spec", [&](const json::object& container, const std::string& path) {
    ValidateContainer(container, path, context, false, errors);
    const std::string target(StringMember(container, "targetContainerName"));
    if (!target.empty() && !targets.contains(target)) {
      errors.push_back(NotFoundValue(path + ".targetContainerName", json::value(target)));
    }
    for (const char* member : {"ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources"}) {
      const json::value* value = FindMember(container, member);
      if (value == nullptr || IsZero(*value)) continue;
      errors.push_back(Forbidden(path + '.' + member, "cannot be set for an Ephemeral Container"));
    }
  });
  ValidateEphemeralContainersKept(spec, old_spec, errors);
}

void ValidatePodSpecUpdate(const json::object& spec, const json::object& old_spec, Errors& errors) {
  for (const char* list : {"containers", "initContainers"}) {
    if (ObjectsOf(spec, list).size() != ObjectsOf(old_spec, list).size()) {
      errors.push_back(Forbidden(std::string("spec.") + list, "pod updates may not add or remove containers"));
      return;
    }
  }
  if (!ValidateDeadline(spec, old_spec, errors)) return;
  ValidateTolerationsKept(spec, old_spec, errors);
  ValidateGatesOnlyDeleted(spec, old_spec, errors);
  if (SameDocument(spec, old_spec)) return;
  const json::object munged = WithoutAllowedChanges(spec, old_spec, errors);
  if (SameDocument(munged, old_spec)) return;
  errors.push_back(Forbidden(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
      "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)" +
          ListChanges(munged, old_spec)));
}

}  // namespace berth::objects::internal
