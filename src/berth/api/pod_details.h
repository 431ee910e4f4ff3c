// SPDX-License-Identifier: Apache-2.0
// PodDetails and BudgetDetails: fields of a core/v1 Pod and a PodDisruptionBudget that moving pods needs in addition to
// those of scheduling (pod.h, workloads.h). Plain values. The scheduler never decodes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/meta.h"

namespace berth::api {

struct ContainerState {
  std::int32_t restart_count = 0;
  std::string waiting_reason;
  std::string terminated_reason;
  std::optional<std::int32_t> exit_code;  // set if it has terminated
  bool is_waiting = false;
  bool operator==(const ContainerState&) const = default;
};

struct TimedCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::optional<Time> last_transition_time;
  bool operator==(const TimedCondition&) const = default;
};

struct PodDetails {
  struct Meta {
    std::string name;
    std::vector<OwnerReference> owners;  // all owners, in the object's order
    bool operator==(const Meta&) const = default;
  };
  struct Spec {
    std::string priority_class_name;
    bool has_local_storage = false;  // has a hostPath or an emptyDir volume
    bool operator==(const Spec&) const = default;
  };
  struct Status {
    std::string phase;  // the original text
    std::string reason;
    std::string qos_class;  // "Guaranteed"; set by the API server
    std::vector<TimedCondition> conditions;
    std::vector<ContainerState> containers, init_containers, ephemeral_containers;
    bool operator==(const Status&) const = default;
  };

  Meta metadata;
  Spec spec;
  Status status;
  bool operator==(const PodDetails&) const = default;
};

// Whether its condition Ready is true.
inline bool IsReady(const PodDetails& pod) {
  return std::any_of(pod.status.conditions.begin(), pod.status.conditions.end(), [](const TimedCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

// Which unready pods a PodDisruptionBudget allows to be evicted.
struct BudgetDetails {
  std::string unhealthy_pod_eviction_policy;  // "IfHealthyBudget", "AlwaysAllow"; empty: IfHealthyBudget
  std::int32_t current_healthy = 0;
  std::int32_t desired_healthy = 0;
  PodDetails::Meta metadata{};
  bool operator==(const BudgetDetails&) const = default;
};

}  // namespace berth::api
