// SPDX-License-Identifier: Apache-2.0
// Validation of what an update may change in a pod's spec.
#include "berth/devcluster/objects/validate/pod_update.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace berth::objects::internal {
namespace {

// Go's zero values and absent fields are one: an update that writes "" or false where there was nothing changes
// nothing. Numbers are not among them: most are pointers, for which 0 is a value.
bool IsZero(const json::value& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.get_bool();
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

// Every old toleration must still be there; only its seconds may differ.
void CheckTolerationsKept(const Place& spec) {
  for (const json::object* old : ObjectsOf(spec.old_object(), "tolerations")) {
    bool is_kept = false;
    for (const json::object* now : ObjectsOf(spec.object(), "tolerations")) {
      json::object munged = *now;
      CopyMember(munged, *old, "tolerationSeconds");
      is_kept = is_kept || SameDocument(munged, *old);
    }
    if (is_kept) continue;
    return spec["tolerations"].Forbidden("existing toleration can not be modified except its tolerationSeconds");
  }
}

void CheckGatesOnlyDeleted(const Place& spec) {
  const auto old_gates = ObjectsOf(spec.old_object(), "schedulingGates");
  const Place gates = spec["schedulingGates"];
  gates.ForEach([&](const Place& gate) {
    const std::string name(gate["name"].text());
    const bool is_old = std::any_of(old_gates.begin(), old_gates.end(),
                                    [&](const json::object* old) { return StringMember(*old, "name") == name; });
    if (!is_old) gate["name"].Forbidden("only deletion is allowed, but found new scheduling gate '" + name + "'");
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

void CheckNodeSelectorOnlyGrew(const Place& selector) {
  for (const auto& [key, value] : selector.old_object()) {
    const json::value* kept = FindMember(selector.object(), key);
    if (kept != nullptr && *kept == value) continue;
    return selector.Invalid("only additions are allowed to spec.nodeSelector (no mutations or deletions)");
  }
}

void CheckNodeAffinityOnlyGrew(const Place& affinity) {
  const Place terms = affinity["requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"];
  const json::value& old = terms.old();
  if (!old.is_array() || old.get_array().empty()) return;
  if (terms.array().size() != old.get_array().size()) {
    return terms.Invalid("no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  }
  std::size_t i = 0;
  terms.ForEach([&](const Place& term) {
    if (!TermOnlyGrew(term.object(), old.get_array()[i++].as_object()))
      term.Invalid("only additions are allowed (no mutations or deletions)");
  });
}

// A gated pod may still be narrowed down: more node selector entries, more node affinity expressions. Puts the old
// values into `munged` and reports what is no narrowing.
void AcceptGatedNarrowing(const Place& spec, json::object& munged) {
  const json::object& old_spec = spec.old_object();
  if (!SameMember(munged, old_spec, "nodeSelector")) {
    CheckNodeSelectorOnlyGrew(spec["nodeSelector"]);
    CopyMember(munged, old_spec, "nodeSelector");
  }
  const Place node_affinity = spec["affinity.nodeAffinity"];
  if (SameDocument(node_affinity.object(), node_affinity.old_object())) return;
  CheckNodeAffinityOnlyGrew(node_affinity);
  json::object& affinity = MutableObject(munged, "affinity");
  CopyMember(affinity, Part(old_spec, "affinity"), "nodeAffinity");
  if (affinity.empty()) munged.erase("affinity");
}

// --- The spec as a whole ---------------------------------------------------------------------------------------------

// False when it grew, which ends the validation.
bool CheckDeadline(const Place& deadline) {
  if (deadline.old().is_null()) return true;
  if (!deadline.is_set()) {
    deadline.Invalid("must not update from a positive integer to nil value");
  } else if (deadline.old().as_int64() < deadline.number()) {
    deadline.Invalid("must be less than or equal to previous value");
    return false;
  }
  return true;
}

// `spec` with the old values of all that may be changed.
json::object WithoutAllowedChanges(const Place& spec) {
  const json::object& old_spec = spec.old_object();
  json::object munged = spec.object();
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
  if (!ObjectsOf(old_spec, "schedulingGates").empty()) AcceptGatedNarrowing(spec, munged);
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

// No container may be called as another of the pod, of whatever kind.
void CheckTakenNames(const Place& spec) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::object* container : ObjectsOf(spec.object(), list)) {
      spec.IsFirst("EphemeralContainer", std::string(StringMember(*container, "name")));
    }
  }
}

void CheckAsContainer(const Place& container) { container.Walk("Container"); }

void CheckTarget(const Place& target) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const json::object* container : ObjectsOf(target.Above("PodSpec")->object(), list)) {
      if (StringMember(*container, "name") == target.text()) return;
    }
  }
  target.NotFound(json::value(target.text()));
}

void CheckNotEphemeral(const Place& member) {
  if (!IsZero(member.value())) member.Forbidden("cannot be set for an Ephemeral Container");
}

// Those that are there stay as they are: a container cannot be taken back.
void CheckEphemeralContainersKept(const Place& list) {
  const auto now = ObjectsOf(list.up().object(), "ephemeralContainers");
  for (const json::object* old : ObjectsOf(list.up().old_object(), "ephemeralContainers")) {
    const std::string name(StringMember(*old, "name"));
    const auto same = std::find_if(now.begin(), now.end(),
                                   [&](const json::object* each) { return StringMember(*each, "name") == name; });
    if (same == now.end()) {
      list.Forbidden("existing ephemeral containers \"" + name + "\" may not be removed\n");
    } else if (!SameDocument(**same, *old)) {
      list.Forbidden("existing ephemeral containers \"" + name + "\" may not be changed\n");
    }
  }
}

void CheckPodUpdate(const Place& pod) {
  const Place spec = pod["spec"];
  if (!spec.old().is_object()) return;
  for (const char* list : {"containers", "initContainers"}) {
    if (ObjectsOf(spec.object(), list).size() != ObjectsOf(spec.old_object(), list).size()) {
      return spec[list].Forbidden("pod updates may not add or remove containers");
    }
  }
  if (!CheckDeadline(spec["activeDeadlineSeconds"])) return;
  CheckTolerationsKept(spec);
  CheckGatesOnlyDeleted(spec);
  if (SameDocument(spec.object(), spec.old_object())) return;
  const json::object munged = WithoutAllowedChanges(spec);
  if (SameDocument(munged, spec.old_object())) return;
  spec.Forbidden(
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
      "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)" +
      ListChanges(munged, spec.old_object()));
}

}  // namespace

RuleSet PodUpdateRules() {
  return {R"(
@core
EphemeralContainer @AsContainer targetContainerName?@Target ports*@NotEphemeral livenessProbe*@NotEphemeral
  readinessProbe*@NotEphemeral startupProbe*@NotEphemeral lifecycle*@NotEphemeral resources*@NotEphemeral
PodSpec.ephemeral @TakenNames ephemeralContainers/@EphemeralContainersKept
)",
          {{"AsContainer", CheckAsContainer},
           {"EphemeralContainersKept", CheckEphemeralContainersKept},
           {"NotEphemeral", CheckNotEphemeral},
           {"PodUpdate", CheckPodUpdate},
           {"TakenNames", CheckTakenNames},
           {"Target", CheckTarget}}};
}

Errors ValidateEphemeralContainers(const json::object& pod, const json::object& old) {
  Findings findings;
  const Place whole(*FindSchema("", "v1", "Pod"), pod, &old, findings);
  whole["spec"].Walk("PodSpec.ephemeral");
  return std::move(findings.errors);
}

}  // namespace berth::objects::internal
