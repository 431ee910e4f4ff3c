// SPDX-License-Identifier: Apache-2.0
// PodDetails: what moving pods reads of a core/v1 Pod beside what scheduling reads (pod.h). A plain value. The
// scheduler never decodes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/meta.h"

namespace berth::api {

// The state of one container: whatever of it is told.
struct ContainerState {
  std::int32_t restart_count = 0;
  std::string waiting_reason;
  std::string terminated_reason;
  std::optional<std::int32_t> exit_code;  // present: it has terminated
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
    std::vector<OwnerReference> owners;  // all of them, in the object's order
    bool operator==(const Meta&) const = default;
  };
  struct Spec {
    std::string priority_class_name;
    bool has_local_storage = false;  // a hostPath or an emptyDir
    bool operator==(const Spec&) const = default;
  };
  struct Status {
    std::string phase;  // as it is spelled
    std::string reason;
    std::string qos_class;  // "Guaranteed"; the API server sets it
    std::vector<TimedCondition> conditions;
    std::vector<ContainerState> containers, init_containers, ephemeral_containers;
    bool operator==(const Status&) const = default;
  };

  Meta metadata;
  Spec spec;
  Status status;
  bool operator==(const PodDetails&) const = default;
};

}  // namespace berth::api
