// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/nomination_moves.h"

#include <memory>
#include <string>
#include <utility>

namespace berth::scheduler {

void MoveForNomination(CoreState& state, const framework::PodInfo& pod, std::string_view node_name) {
  // Plugins' hints read the nomination from the pod object, which may lack it: the API server learns of it later, if at
  // all.
  auto nominated = std::make_shared<framework::PodInfo>(pod);
  nominated->node_name.clear();
  nominated->nominated_node_name = node_name;
  state.queue.Move({framework::EventResource::kAssignedPod, framework::action::kDelete},
                   {.old_pod = std::move(nominated)}, state.now, {pod.priority(), pod.uid});
}

void EndNomination(CoreState& state, const framework::PodInfo& placed) {
  queue::Nominator& nominator = state.queue.nominator();
  if (nominator.empty()) return;
  const std::string node_name(nominator.NominatedNode(placed.uid));
  nominator.DeleteNominated(placed.uid);
  if (!node_name.empty() && node_name != placed.node_name) MoveForNomination(state, placed, node_name);
}

}  // namespace berth::scheduler
