// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/scheduling.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "berth/api/names.h"

namespace berth::objects::internal {
namespace {

// Upstream reports a Node's taints below metadata, although they are in spec.
constexpr std::string_view kSchedulingRules = R"(
@core
Affinity nodeAffinity/ podAffinity/ podAntiAffinity/
Node spec/ status/
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution*/ preferredDuringSchedulingIgnoredDuringExecution/
NodeSelector nodeSelectorTerms!{must have at least one node selector term}/
NodeSelectorRequirement @NodeRequirement
NodeSelectorTerm matchExpressions/ matchFields/
NodeSpec taints<$.metadata.taints>/
NodeStatus capacity@NodeAmounts allocatable@NodeAmounts
PodAffinity requiredDuringSchedulingIgnoredDuringExecution/ preferredDuringSchedulingIgnoredDuringExecution/
PodAffinityTerm labelSelector*/ namespaceSelector*/ namespaces@Namespaces @LabelKeys topologyKey!{can not be empty}
  topologyKey:qualified
PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution/ preferredDuringSchedulingIgnoredDuringExecution/
PodSchedulingGate name<>:qualified&
PreferredSchedulingTerm weight(1..100){must be in the range 1-100} preference/
Taint key:qualified value:labelvalue effect!=NoSchedule|PreferNoSchedule|NoExecute @UniqueTaint
Toleration key?:qualified @TolerationOperator effect=NoSchedule|PreferNoSchedule|NoExecute
TopologySpreadConstraint maxSkew>0{must be greater than zero} topologyKey!{can not be empty}
  whenUnsatisfiable==DoNotSchedule|ScheduleAnyway @UniqueSpread minDomains*>0{must be greater than zero}@MinDomains
  nodeAffinityPolicy=Honor|Ignore nodeTaintsPolicy=Honor|Ignore @LabelKeys labelSelector/
WeightedPodAffinityTerm weight(1..100){must be in the range 1-100} podAffinityTerm/
@meta
LabelSelector matchLabels@Labels matchExpressions/
LabelSelectorRequirement @LabelRequirement key:qualified values:labelvalue
)";

void CheckLabels(const Place& labels) {
  for (const auto& [key, value] : labels.object()) {
    labels.AddInvalid(key, api::NotQualifiedName(key));
    if (value.is_string()) labels.AddInvalid(View(value.get_string()), api::NotLabelValue(View(value.get_string())));
  }
}

// False when the operator is none that only asks whether the key is there, or whether its value is listed.
bool CheckSetOperator(const Place& requirement) {
  const std::string_view op = requirement["operator"].text();
  const Place values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.array().empty()) values.Required("must be specified when `operator` is 'In' or 'NotIn'");
    return true;
  }
  if (op != "Exists" && op != "DoesNotExist") return false;
  if (!values.array().empty()) {
    values.Forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
  return true;
}

void RefuseOperator(const Place& requirement) {
  const Place op = requirement["operator"];
  op.Invalid(json::value(op.text()), "not a valid selector operator");
}

void CheckLabelRequirement(const Place& requirement) {
  if (!CheckSetOperator(requirement)) RefuseOperator(requirement);
}

void CheckFieldRequirement(const Place& requirement) {
  const Place key = requirement["key"];
  const std::string_view op = requirement["operator"].text();
  const Place values = requirement["values"];
  if (op != "In" && op != "NotIn") {
    RefuseOperator(requirement);
  } else if (values.array().size() != 1) {
    values.Required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (key.text() != "metadata.name") return key.Invalid(json::value(key.text()), "not a valid field selector key");
  values.ForEach([](const Place& each) { each.AddInvalid(each.text(), api::NotDnsSubdomain(each.text())); });
}

void CheckNodeRequirement(const Place& requirement) {
  if (requirement.up().step() == "matchFields") return CheckFieldRequirement(requirement);
  const Place key = requirement["key"];
  const Place values = requirement["values"];
  const std::string_view op = requirement["operator"].text();
  const bool compares = op == "Gt" || op == "Lt";
  if (compares && values.array().size() != 1) {
    values.Required("must be specified single value when `operator` is 'Lt' or 'Gt'");
  }
  if (!compares) CheckLabelRequirement(requirement);
  key.AddInvalid(key.text(), api::NotQualifiedName(key.text()));
  if (compares) return;
  values.ForEach([](const Place& each) { each.AddInvalid(each.text(), api::NotLabelValue(each.text())); });
}

void CheckTolerationOperator(const Place& toleration) {
  const Place op = toleration["operator"];
  const Place effect = toleration["effect"];
  const std::string_view value = toleration["value"].text();
  if (toleration["key"].text().empty() && op.text() != "Exists") {
    op.Invalid(json::value(op.text()),
               "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
  }
  if (toleration.Has("tolerationSeconds") && effect.text() != "NoExecute") {
    effect.Invalid(json::value(effect.text()), "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (op.text().empty() || op.text() == "Equal") {
    op.AddInvalid(value, api::NotLabelValue(value));
  } else if (op.text() != "Exists") {
    op.NotSupported(json::value(op.text()), {"Equal", "Exists"});
  } else if (!value.empty()) {
    op.Invalid(json::value(value), "value must be empty when `operator` is 'Exists'");
  }
}

void CheckUniqueTaint(const Place& taint) {
  const std::string key = std::string(taint["key"].text()) + '\n' + std::string(taint["effect"].text());
  if (taint.up().up().IsFirst("taints", key)) return;
  taint.Duplicate(taint.value());
  taint.errors().back().message += ": taints must be unique by key and effect pair";
}

// --- Affinity and spreading ------------------------------------------------------------------------------------------

// Upstream names the one namespace, not its place in the list.
void CheckNamespaces(const Place& namespaces) {
  const Place shown = namespaces.up()["namespace"];
  namespaces.ForEach([&](const Place& each) { shown.AddInvalid(each.text(), api::NotDnsLabel(each.text())); });
}

void CheckLabelKeys(const Place& term) {
  const Place match = term["matchLabelKeys"];
  const Place mismatch = term["mismatchLabelKeys"];
  for (const Place* keys : {&match, &mismatch}) {
    if (keys->array().empty()) continue;
    if (!term.Has("labelSelector")) keys->Forbidden("must not be specified when labelSelector is not set");
    keys->ForEach([](const Place& each) { each.AddInvalid(each.text(), api::NotQualifiedName(each.text())); });
  }
  match.ForEach([&](const Place& key) {
    if (std::find(mismatch.array().begin(), mismatch.array().end(), key.value()) == mismatch.array().end()) return;
    key.Invalid("exists in both matchLabelKeys and mismatchLabelKeys");
  });
}

void CheckUniqueSpread(const Place& constraint) {
  const std::string key(constraint["topologyKey"].text());
  const std::string action(constraint["whenUnsatisfiable"].text());
  if (constraint.up().up().IsFirst("topologySpreadConstraints", key + '\n' + action)) return;
  constraint["{topologyKey, whenUnsatisfiable}"].Duplicate(json::value("{" + key + ", " + action + "}"));
}

void CheckMinDomains(const Place& domains) {
  const std::string action(domains.up()["whenUnsatisfiable"].text());
  if (action == "DoNotSchedule") return;
  domains.Invalid(domains.number(), "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + action);
}

}  // namespace

RuleSet SchedulingRules() {
  return {kSchedulingRules,
          {{"Labels", CheckLabels},
           {"LabelKeys", CheckLabelKeys},
           {"LabelRequirement", CheckLabelRequirement},
           {"MinDomains", CheckMinDomains},
           {"Namespaces", CheckNamespaces},
           {"NodeRequirement", CheckNodeRequirement},
           {"TolerationOperator", CheckTolerationOperator},
           {"UniqueSpread", CheckUniqueSpread},
           {"UniqueTaint", CheckUniqueTaint}}};
}

}  // namespace berth::objects::internal
