// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/controllers/object_graph.h"

#include <algorithm>
#include <vector>

namespace berth::controllers {

ObjectGraph::ObjectPtr ObjectGraph::Put(const KindPtr& kind, const ObjectPtr& object) {
  Node& node = nodes_[object->uid];
  const ObjectPtr before = node.object;
  node.kind = kind;
  node.object = object;
  if (before != nullptr && before->owners == object->owners) return before;
  // The reference is void from here on: linking may move the nodes.
  if (before != nullptr) Unlink(*before);
  Link(*object);
  return before;
}

void ObjectGraph::Erase(std::string_view uid) {
  const auto found = nodes_.find(uid);
  if (found == nodes_.end() || found->second.object == nullptr) return;
  const ObjectPtr object = found->second.object;
  found->second.object = nullptr;
  if (found->second.dependents.empty()) nodes_.erase(found);
  Unlink(*object);
}

const ObjectGraph::Node* ObjectGraph::Find(std::string_view uid) const {
  const auto found = nodes_.find(uid);
  return found == nodes_.end() ? nullptr : &found->second;
}

void ObjectGraph::ForEach(const std::function<void(const Node&)>& visit) const {
  std::vector<const Node*> seen;
  for (const auto& [uid, node] : nodes_) {
    if (node.object != nullptr) seen.push_back(&node);
  }
  // Sorted, so that the order is the same in each run.
  std::sort(seen.begin(), seen.end(), [](const Node* a, const Node* b) { return a->object->uid < b->object->uid; });
  for (const Node* node : seen) visit(*node);
}

void ObjectGraph::Link(const ObjectView& dependent) {
  for (const ObjectOwner& owner : dependent.owners) {
    Node& node = nodes_[owner.uid];
    bool& blocks = node.dependents.try_emplace(dependent.uid, false).first->second;
    if (owner.blocks_deletion.value_or(false) && !blocks) {
      blocks = true;
      ++node.blocking;
    }
  }
}

void ObjectGraph::Unlink(const ObjectView& dependent) {
  for (const ObjectOwner& owner : dependent.owners) {
    const auto found = nodes_.find(owner.uid);
    if (found == nodes_.end()) continue;
    Node& node = found->second;
    const auto at = node.dependents.find(dependent.uid);
    if (at == node.dependents.end()) continue;  // named twice
    if (at->second) --node.blocking;
    node.dependents.erase(at);
    if (node.object == nullptr && node.dependents.empty()) nodes_.erase(found);
  }
}

}  // namespace berth::controllers
