// SPDX-License-Identifier: Apache-2.0
// AdmissionRules: what fills a pod of a manifest in before a scheduler would see it: PriorityClasses, RuntimeClasses
// and ResourceClaimTemplates, of the manifests first and then of the cluster. Which pods quotas refuse is what
// PodQuotas says. Immutable once it is made; any thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/manifests.h"

namespace berth::whatif {

class AdmissionRules {
 public:
  // Both must outlive it.
  AdmissionRules(const Manifests& manifests, const ClusterState& state);

  // As admission changes a Pod on its creation. An error has `path_prefix` before its field: "spec.template.".
  Expected<void> Admit(codec::json::object& pod, std::string_view path_prefix) const;
  // Fills in a PodGroup or a CompositePodGroup likewise; `what` is "pod group" or "composite pod group".
  Expected<void> AdmitPodGroup(codec::json::object& group, std::string_view what) const;
  // The spec of a template's claims; null: there is none of the name.
  const codec::json::object* ClaimTemplate(const std::string& namespace_name, const std::string& name) const;
  // Whether the cluster has a ResourceQuota in the namespace.
  bool HasQuotas(const std::string& namespace_name) const { return quota_namespaces_.contains(namespace_name); }

  // The cluster's were listed, so that one which is not there does not exist.
  bool knows_runtime_classes() const { return knows_runtime_classes_; }
  bool knows_claim_templates() const { return knows_claim_templates_; }

 private:
  Error BadPriority(std::string_view path_prefix, const std::string& why) const;
  void Add(std::string_view kind, const std::string& namespace_name, const std::string& name,
           const codec::json::object& object);

  // Later ones count before earlier ones of the same name.
  std::vector<const codec::json::object*> priority_classes_;
  std::vector<const codec::json::object*> runtime_classes_;
  std::map<std::pair<std::string, std::string>, const codec::json::object*> claim_templates_;
  std::set<std::string> quota_namespaces_;
  bool knows_priority_classes_ = true;
  bool knows_runtime_classes_ = true;
  bool knows_claim_templates_ = true;
};

}  // namespace berth::whatif
