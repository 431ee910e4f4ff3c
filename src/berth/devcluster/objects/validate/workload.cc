// SPDX-License-Identifier: Apache-2.0
// Validation of the kinds that make pods or look after them: Deployments, ReplicaSets, StatefulSets, DaemonSets,
// ReplicationControllers, PodDisruptionBudgets.
#include "berth/devcluster/objects/validate/workload.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/pod.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

bool SelectorMatches(const json::object& selector, const json::object& labels) {
  for (const auto& [key, value] : Part(selector, "matchLabels")) {
    const json::value* own = labels.if_contains(key);
    if (own == nullptr || *own != value) return false;
  }
  for (const json::object* requirement : ObjectsOf(selector, "matchExpressions")) {
    const json::value* own = FindMember(labels, StringMember(*requirement, "key"));
    const json::array* values = ArrayMember(*requirement, "values");
    const bool is_listed =
        own != nullptr && values != nullptr && std::find(values->begin(), values->end(), *own) != values->end();
    const std::string_view op = StringMember(*requirement, "operator");
    if (op == "In" && !is_listed) return false;
    if (op == "NotIn" && is_listed) return false;
    if (op == "Exists" && own == nullptr) return false;
    if (op == "DoesNotExist" && own != nullptr) return false;
  }
  return true;
}

bool IsEmptySelector(const json::object& selector) {
  return Part(selector, "matchLabels").empty() && ObjectsOf(selector, "matchExpressions").empty();
}

// What a workload does its own way.
struct WorkloadRules {
  std::string_view kind_word;  // "deployment"
  bool is_selector_required = true;
  bool is_selector_immutable = true;
};

// Whether labels can be compared with the selector.
bool ValidateSelector(const json::object& spec, const WorkloadRules& rules, Errors& errors) {
  const json::object* selector = ObjectMember(spec, "selector");
  if (selector == nullptr) {
    if (rules.is_selector_required) errors.push_back(Required("spec.selector"));
    return false;
  }
  const std::size_t before = errors.size();
  ValidateLabelSelector(*selector, "spec.selector", errors);
  if (errors.size() != before) {
    errors.push_back(Invalid("spec.selector", *selector, "invalid label selector"));
    return false;
  }
  if (!IsEmptySelector(*selector)) return true;
  errors.push_back(
      Invalid("spec.selector", *selector, "empty selector is invalid for " + std::string(rules.kind_word)));
  return false;
}

void ReportMismatch(const json::object& metadata, Errors& errors) {
  errors.push_back(Invalid("spec.template.metadata.labels", ValueOrNull(metadata, "labels"),
                           "`selector` does not match template `labels`"));
}

// The selector and the template, which all workloads have.
void ValidateWorkload(const json::object& object, const json::object* old, const WorkloadRules& rules, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const bool is_usable = ValidateSelector(spec, rules, errors);
  const json::object& pod_template = Part(spec, "template");
  const json::object& metadata = Part(pod_template, "metadata");
  const json::object* selector = ObjectMember(spec, "selector");
  if (selector == nullptr || (is_usable && !SelectorMatches(*selector, Part(metadata, "labels")))) {
    ReportMismatch(metadata, errors);
  }
  ValidateLabels(metadata, "labels", "spec.template.labels", errors);
  const json::object* old_spec = old == nullptr ? nullptr : ObjectMember(*old, "spec");
  // Scaling and status updates leave the template as it was found good.
  const json::object* old_template = old_spec == nullptr ? nullptr : ObjectMember(*old_spec, "template");
  if (old_template == nullptr || *old_template != pod_template) {
    ValidatePodTemplateSpec(Part(pod_template, "spec"), "spec.template.spec", errors);
  }
  if (old_spec != nullptr && rules.is_selector_immutable) {
    ValidateImmutable(spec, *old_spec, "selector", "spec.selector", errors);
  }
}

std::int64_t PercentOf(const json::object& object, std::string_view member) {
  const std::string_view text = StringMember(object, member);
  if (text.empty() || text.size() > 10 || !api::NotPercent(text).empty()) return 0;
  return std::stoll(std::string(text.substr(0, text.size() - 1)));
}

void ValidateAtMostAll(const json::object& object, std::string_view member, const std::string& field, Errors& errors) {
  if (PercentOf(object, member) > 100) {
    errors.push_back(
        Invalid(field + "." + std::string(member), *FindMember(object, member), "must not be greater than 100%"));
  }
}

bool IsZeroAmount(const json::object& object, std::string_view member) {
  const json::value* value = FindMember(object, member);
  if (value == nullptr) return true;
  return value->is_string() ? PercentOf(object, member) == 0 : IntMember(object, member) == 0;
}

void ValidateStatusCounts(const json::object& object, std::initializer_list<std::string_view> members, Errors& errors) {
  for (const std::string_view member : members) ValidateNonNegative(Part(object, "status"), member, "status", errors);
}

void ValidateStrategy(const json::object& strategy, Errors& errors) {
  const std::string field = "spec.strategy.rollingUpdate";
  const std::string_view type = StringMember(strategy, "type");
  const json::object* rolling = ObjectMember(strategy, "rollingUpdate");
  if (type == "Recreate") {
    if (rolling != nullptr)
      errors.push_back(Forbidden(field, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(NotSupported("spec.strategy", strategy, {"Recreate", "RollingUpdate"}));
  } else if (rolling != nullptr) {
    ValidateIntOrPercent(*rolling, "maxUnavailable", field, errors);
    ValidateIntOrPercent(*rolling, "maxSurge", field, errors);
    if (IsZeroAmount(*rolling, "maxUnavailable") && IsZeroAmount(*rolling, "maxSurge")) {
      errors.push_back(Invalid(field + ".maxUnavailable", ValueOrNull(*rolling, "maxUnavailable"),
                               "may not be 0 when `maxSurge` is 0"));
    }
    ValidateAtMostAll(*rolling, "maxUnavailable", field, errors);
  }
}

// The set with a volume in its template for each claim that its pods get: containers may mount them.
json::object WithClaimVolumes(const json::object& set) {
  const std::vector<const json::object*> claims = ObjectsOf(Part(set, "spec"), "volumeClaimTemplates");
  json::object copy = set;
  if (claims.empty()) return copy;
  json::object& spec = MutableObject(MutableObject(MutableObject(copy, "spec"), "template"), "spec");
  json::value& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = json::array();
  for (const json::object* claim : claims) {
    const std::string_view name = StringMember(Part(*claim, "metadata"), "name");
    json::array& list = volumes.get_array();
    // One of the template's own of that name is replaced.
    list.erase(std::remove_if(list.begin(), list.end(),
                              [name](const json::value& each) {
                                return each.is_object() && StringMember(each.get_object(), "name") == name;
                              }),
               list.end());
    list.push_back(json::object{{"name", json::string(name)}, {"emptyDir", json::object()}});
  }
  return copy;
}

}  // namespace

void ValidateDeployment(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateWorkload(object, old, {"deployment"}, errors);
  if (const json::object* strategy = ObjectMember(spec, "strategy")) ValidateStrategy(*strategy, errors);
  for (const char* member : {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}) {
    ValidateNonNegative(spec, member, "spec", errors);
  }
  const std::int64_t deadline = IntMember(spec, "progressDeadlineSeconds");
  const std::int64_t min_ready = IntMember(spec, "minReadySeconds");
  if (FindMember(spec, "progressDeadlineSeconds") != nullptr && min_ready >= 0 && deadline <= min_ready) {
    errors.push_back(Invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
  }
  ValidateStatusCounts(object,
                       {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
                        "unavailableReplicas"},
                       errors);
}

void ValidateReplicaSet(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  ValidateWorkload(object, old, {"deployment"}, errors);
  ValidateStatusCounts(
      object, {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"}, errors);
}

void ValidateStatefulSet(const json::object& object, const json::object* old, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const std::string_view name = StringAt(object, {"metadata", "name"});
  AddInvalid(errors, "metadata.name", name, api::NotDnsLabel(name));
  const std::string_view policy = StringMember(spec, "podManagementPolicy");
  if (policy != "OrderedReady" && policy != "Parallel") {
    errors.push_back(Invalid("spec.podManagementPolicy", json::value(policy), "must be 'OrderedReady' or 'Parallel'"));
  }
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  ValidateNameMember(spec, "serviceName", "spec", api::NotDnsLabel, errors);
  ValidateWorkload(WithClaimVolumes(object), old, {"statefulset", true, false}, errors);
  if (old == nullptr) return;
  static const std::set<std::string_view> kMutable = {"replicas",
                                                      "ordinals",
                                                      "template",
                                                      "updateStrategy",
                                                      "revisionHistoryLimit",
                                                      "persistentVolumeClaimRetentionPolicy",
                                                      "minReadySeconds"};
  if (DiffersBeyond(kMutable, spec, Part(*old, "spec"))) {
    errors.push_back(Forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
        "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
  }
}

void ValidateDaemonSet(const json::object& object, const json::object* old, Errors& errors) {
  ValidateWorkload(object, old, {"daemonset", false}, errors);
  ValidateNonNegative(Part(object, "spec"), "minReadySeconds", "spec", errors);
  ValidateNonNegative(Part(object, "spec"), "revisionHistoryLimit", "spec", errors);
}

void ValidateReplicationController(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  ValidateNonNegative(spec, "replicas", "spec", errors);
  ValidateNonNegative(spec, "minReadySeconds", "spec", errors);
  const json::object* selector = ObjectMember(spec, "selector");
  if (selector == nullptr || selector->empty()) errors.push_back(Required("spec.selector"));
  ValidateLabels(spec, "selector", "spec.selector", errors);
  const json::object* pod_template = ObjectMember(spec, "template");
  if (pod_template == nullptr) {
    errors.push_back(Required("spec.template"));
    return;
  }
  const json::object& metadata = Part(*pod_template, "metadata");
  if (!SelectorMatches({{"matchLabels", Part(spec, "selector")}}, Part(metadata, "labels"))) {
    ReportMismatch(metadata, errors);
  }
  ValidatePodTemplateSpec(Part(*pod_template, "spec"), "spec.template.spec", errors);
}

void ValidatePodDisruptionBudget(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  if (FindMember(spec, "minAvailable") != nullptr && FindMember(spec, "maxUnavailable") != nullptr) {
    errors.push_back(Invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const char* member : {"minAvailable", "maxUnavailable"}) {
    ValidateIntOrPercent(spec, member, "spec", errors);
    ValidateAtMostAll(spec, member, "spec", errors);
  }
  ValidateOneOf(spec, "unhealthyPodEvictionPolicy", "spec", {"AlwaysAllow", "IfHealthyBudget"}, errors);
  ValidateLabelSelector(Part(spec, "selector"), "spec.selector", errors);
}

}  // namespace berth::objects::internal
