// SPDX-License-Identifier: Apache-2.0
#include "berth/replay/recorded_objects.h"

#include <variant>

#include "berth/framework/object_kinds.h"

namespace berth::replay {

void RecordedObjects::Take(const scheduler::Input& input) {
  if (const auto* const node = std::get_if<scheduler::NodeSet>(&input)) {
    nodes_[node->node->metadata.name] = node->node;
  } else if (const auto* const gone_node = std::get_if<scheduler::NodeGone>(&input)) {
    nodes_.erase(gone_node->name);
  } else if (const auto* const pod = std::get_if<scheduler::PodSet>(&input)) {
    pods_[pod->pod->metadata.uid] = pod->pod;
  } else if (const auto* const gone_pod = std::get_if<scheduler::PodGone>(&input)) {
    pods_.erase(gone_pod->uid);
  } else if (const auto* const object = std::get_if<scheduler::ObjectSet>(&input)) {
    const framework::ObjectKind kind = framework::KindOf(object->object);
    objects_.insert_or_assign({kind, framework::KeyOf(object->object)}, object->object);
  } else if (const auto* const gone = std::get_if<scheduler::ObjectGone>(&input)) {
    objects_.erase({gone->kind, gone->key});
  }
}

whatif::ClusterState RecordedObjects::State() const {
  whatif::ClusterState state;
  for (const auto& [name, node] : nodes_) state.nodes.push_back(node);
  for (const auto& [uid, pod] : pods_) state.pods.push_back(pod);
  for (const auto& [key, object] : objects_) state.objects.push_back(object);
  return state;
}

}  // namespace berth::replay
