// SPDX-License-Identifier: Apache-2.0
// PodGroup and CompositePodGroup: the fields of these kinds (scheduling.k8s.io/v1beta1 and v1alpha3) that scheduling
// reads. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/meta.h"
#include "berth/api/pod.h"

namespace berth::api {

// The types of the conditions that the scheduler writes to the status of a PodGroup and of a CompositePodGroup.
inline constexpr std::string_view kPodGroupInitiallyScheduled = "PodGroupInitiallyScheduled";
inline constexpr std::string_view kCompositePodGroupInitiallyScheduled = "CompositePodGroupInitiallyScheduled";

// A metav1.Condition.
struct GroupCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  bool operator==(const GroupCondition&) const = default;
};

// A claim shared by the group's pods. A pod uses it by a claim with the same name and source in its own spec.
struct PodGroupResourceClaim {
  std::string name;
  std::optional<std::string> claim_name;  // exactly one of the two must be set
  std::optional<std::string> template_name;
  bool operator==(const PodGroupResourceClaim&) const = default;
};

struct PodGroup {
  ObjectMeta metadata;
  std::string parent_name;                // parentCompositePodGroupName; empty: no parent
  std::string workload_name;              // of the Workload whose template it was made from; empty: of none
  std::optional<std::int32_t> min_count;  // of the policy gang; nullopt: the policy is basic
  std::vector<std::string> topology_keys;
  bool is_disrupted_whole = false;   // disruptionMode all: if one pod is a victim of preemption, all are
  bool is_disrupted_singly = false;  // disruptionMode single; neither when there is no mode
  std::optional<std::int32_t> priority;
  std::optional<PreemptionPolicy> preemption_policy;
  std::vector<PodGroupResourceClaim> resource_claims;
  std::vector<GroupCondition> conditions;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;  // claims created from templates

  const GroupCondition* FindCondition(std::string_view type) const;
  bool operator==(const PodGroup&) const = default;
};

// A group of PodGroups and CompositePodGroups, which name it as their parent.
struct CompositePodGroup {
  ObjectMeta metadata;
  std::string parent_name;
  std::string workload_name;
  std::optional<std::int32_t> min_group_count;  // of the policy gang; nullopt: the policy is basic
  std::vector<std::string> topology_keys;
  bool is_disrupted_whole = false;
  bool is_disrupted_singly = false;
  std::optional<std::int32_t> priority;
  std::optional<PreemptionPolicy> preemption_policy;
  std::vector<GroupCondition> conditions;

  const GroupCondition* FindCondition(std::string_view type) const;
  bool operator==(const CompositePodGroup&) const = default;
};

}  // namespace berth::api
