// SPDX-License-Identifier: Apache-2.0
// Places pods that need not exist on an overlay, one after the other, and says why one cannot be placed: what the
// questions of `berth capacity`, `berth can-drain` and `berth headroom` have in common. One thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "berth/api/pod.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"

namespace berth::whatif {

struct RefusalReason {
  std::string reason;  // upstream's: "Insufficient cpu"
  std::string plugin;
  std::size_t node_count = 0;  // nodes that it holds for
  bool operator==(const RefusalReason&) const = default;
};

// Why a pod has no place.
struct PlacementRefusal {
  std::string message;                 // what the pod's event and condition would say
  std::vector<RefusalReason> reasons;  // the one of the most nodes first
  // Where preemption would make room, and for whom it would have to go ("namespace/name"); empty: nowhere.
  std::string preemption_node;
  std::vector<std::string> preemption_victims;
};

// "4000 Insufficient cpu, 900 node(s) had untolerated taint(s)"; the message where no node gave a reason.
std::string ReasonsText(const PlacementRefusal& refusal);

// The pod as if it were created now: no node, no status, another uid, and a name that the uid tells.
api::Pod AsNew(api::Pod pod, const std::string& uid);

// A copy of `pod` under another name and uid, of the same class: what `AsNew` and MakePod() give, at the cost of two
// strings.
framework::PodInfoPtr Another(const framework::PodInfo& pod, std::string name);

// "web" as "default/web".
std::string KeyOf(const api::Pod& pod);

class Placer {
 public:
  // The overlay must outlive the placer.
  explicit Placer(scheduler::Overlay& overlay) : overlay_(overlay) {}

  // Puts the pod where the scheduler would; kNoNode when it fits nowhere. A profile must schedule it.
  framework::NodeIndex Place(const framework::PodInfoPtr& pod);
  // Why the last Place() gave no node. `with_preemption` asks whether somebody's eviction would help, which costs more
  // than the placement did.
  PlacementRefusal Explain(const framework::PodInfoPtr& pod, bool with_preemption);

 private:
  PlacementRefusal ExplainFilters(const framework::PodInfoPtr& pod, bool with_preemption);

  scheduler::Overlay& overlay_;
  std::uint64_t seed_ = 0;            // another one for each pod, as in a scheduler
  framework::Status reserve_status_;  // of the last Place(): what refused the node that was chosen
};

}  // namespace berth::whatif
