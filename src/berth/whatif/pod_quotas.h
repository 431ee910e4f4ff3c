// SPDX-License-Identifier: Apache-2.0
// PodQuotas: which new pods the API server would refuse because of a ResourceQuota of their namespace. It decides as
// the admission plugin ResourceQuota of kube-apiserver 1.36 with its evaluator of pods
// (pkg/quota/v1/evaluator/core/pods.go). One thread's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/api/admission.h"
#include "berth/api/pod.h"
#include "berth/api/quantity.h"
#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {

struct QuotaAmount {
  api::Quantity quantity;
  bool is_binary = false;  // it is written with a suffix such as Mi
};
using QuotaAmounts = std::map<std::string, QuotaAmount, std::less<>>;

// What a pod takes of quotas, and what their scopes ask of it.
struct QuotaDemand {
  QuotaAmounts amounts;  // by the names that quotas use: "pods", "requests.cpu", "limits.memory"
  // The names of amounts that a quota demands of each container, with the containers that lack them.
  std::map<std::string, std::set<std::string>, std::less<>> lacking;
  std::string priority_class_name;
  bool has_deadline = false;
  bool is_best_effort = false;
  bool has_affinity_across_namespaces = false;
};

// `pod` is a Pod as it is when quotas are checked, with all defaults; `decoded` is the same pod.
Expected<QuotaDemand> QuotaDemandOf(const codec::json::object& pod, const api::Pod& decoded);

class PodQuotas {
 public:
  // The quotas of the state, with what they say is used.
  explicit PodQuotas(const ClusterState& state);

  // Counts the pod against each quota of the namespace that is about it. Where one of them has not enough left, counts
  // nothing and gives the API server's reason: "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2".
  std::optional<std::string> Admit(const std::string& namespace_name, const QuotaDemand& demand);

 private:
  struct Quota {
    std::string name;
    std::vector<api::QuotaScope> scopes;  // a pod must be in all of them
    QuotaAmounts hard;
    QuotaAmounts used;
  };

  static std::optional<std::string> Refusal(const Quota& quota, const QuotaDemand& demand);

  std::map<std::string, std::vector<Quota>, std::less<>> quotas_;  // by namespace, sorted by name
};

}  // namespace berth::whatif
