// SPDX-License-Identifier: Apache-2.0
// The fields of PodDetails, which is another view of the kind Pod, and of BudgetDetails, one of PodDisruptionBudget.
// Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/fields.h"
#include "berth/api/fields_meta.h"
#include "berth/api/pod_details.h"

namespace berth::api::internal {

inline void KeepAnyOwner(PodDetails::Meta& out, Owner&& owner) {
  out.owners.push_back(std::move(static_cast<OwnerReference&>(owner)));
}
inline void ForgetAnyOwners(PodDetails::Meta& out) { out.owners.clear(); }
template <>
inline constexpr auto kFields<PodDetails::Meta> = Fields{
    Field{"name", 1, &PodDetails::Meta::name},
    Field{"ownerReferences", 13, Each{&KeepAnyOwner, &ForgetAnyOwners}},
};

// For these messages only their presence matters.
struct HostPathSource;
template <>
inline constexpr auto kFields<HostPathSource> = Fields{Field{"path", 1, Self{}}};
struct EmptyDirSource;
template <>
inline constexpr auto kFields<EmptyDirSource> = Fields{Field{"medium", 1, Self{}}};

struct LocalVolumeParts {
  std::optional<std::string_view> host_path;
  std::optional<std::string_view> empty_dir;
};
template <>
inline constexpr auto kFields<LocalVolumeParts> = Fields{
    Inlined{2,
            Fields{
                Field{"hostPath", 1, As<HostPathSource>(&LocalVolumeParts::host_path)},
                Field{"emptyDir", 2, As<EmptyDirSource>(&LocalVolumeParts::empty_dir)},
            }},
};
inline void RecordLocalVolume(PodDetails::Spec& out, LocalVolumeParts&& volume) {
  if (volume.host_path || volume.empty_dir) out.has_local_storage = true;
}
inline void ForgetLocalVolumes(PodDetails::Spec& out) { out.has_local_storage = false; }
template <>
inline constexpr auto kFields<PodDetails::Spec> = Fields{
    Field{"volumes", 1, Each{&RecordLocalVolume, &ForgetLocalVolumes}},
    Field{"priorityClassName", 24, &PodDetails::Spec::priority_class_name},
};

template <>
inline constexpr auto kFields<TimedCondition> = Fields{
    Field{"type", 1, &TimedCondition::type},
    Field{"status", 2, &TimedCondition::status},
    Field{"lastTransitionTime", 4, &TimedCondition::last_transition_time},
    Field{"reason", 5, &TimedCondition::reason},
};

struct WaitingState {
  std::string reason;
};
template <>
inline constexpr auto kFields<WaitingState> = Fields{Field{"reason", 1, &WaitingState::reason}};
struct TerminatedState {
  std::int32_t exit_code = 0;
  std::string reason;
};
template <>
inline constexpr auto kFields<TerminatedState> = Fields{
    Field{"exitCode", 1, &TerminatedState::exit_code},
    Field{"reason", 3, &TerminatedState::reason},
};
inline void RecordWaiting(ContainerState& out, WaitingState&& waiting) {
  out.is_waiting = true;
  out.waiting_reason = std::move(waiting.reason);
}
inline void RecordTerminated(ContainerState& out, TerminatedState&& terminated) {
  out.exit_code = terminated.exit_code;
  out.terminated_reason = std::move(terminated.reason);
}
template <>
inline constexpr auto kFields<ContainerState> = Fields{
    Field{"state", 2,
          Fields{
              Field{"waiting", 1, &RecordWaiting},
              Field{"terminated", 3, &RecordTerminated},
          }},
    Field{"restartCount", 5, &ContainerState::restart_count},
};

template <>
inline constexpr auto kFields<PodDetails::Status> = Fields{
    Field{"phase", 1, &PodDetails::Status::phase},
    Field{"conditions", 2, &PodDetails::Status::conditions},
    Field{"reason", 4, &PodDetails::Status::reason},
    Field{"containerStatuses", 8, &PodDetails::Status::containers},
    Field{"qosClass", 9, &PodDetails::Status::qos_class},
    Field{"initContainerStatuses", 10, &PodDetails::Status::init_containers},
    Field{"ephemeralContainerStatuses", 13, &PodDetails::Status::ephemeral_containers},
};

template <>
inline constexpr std::string_view kKind<PodDetails> = "Pod";
template <>
inline constexpr auto kFields<PodDetails> = Fields{
    Field{"metadata", 1, &PodDetails::metadata},
    Field{"spec", 2, &PodDetails::spec},
    Field{"status", 3, &PodDetails::status},
};

template <>
inline constexpr std::string_view kKind<BudgetDetails> = "PodDisruptionBudget";
template <>
inline constexpr auto kFields<BudgetDetails> = Fields{
    Field{"metadata", 1, &BudgetDetails::metadata},
    Field{"spec", 2, Fields{Field{"unhealthyPodEvictionPolicy", 4, &BudgetDetails::unhealthy_pod_eviction_policy}}},
    Field{"status", 3,
          Fields{
              Field{"currentHealthy", 4, &BudgetDetails::current_healthy},
              Field{"desiredHealthy", 5, &BudgetDetails::desired_healthy},
          }},
};

}  // namespace berth::api::internal
