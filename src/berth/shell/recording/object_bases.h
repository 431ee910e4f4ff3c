// SPDX-License-Identifier: Apache-2.0
// ObjectBases: pods and nodes that were written or read before. An object is written as a delta (values.h) to one of
// them, its base: for a pod, one of the same workload; for a node, its earlier version. Writer and reader keep the same
// bases, in tables of fixed size, where newer objects replace older ones. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "berth/api/node.h"
#include "berth/api/pod.h"

namespace berth::recording {

class ObjectBases {
 public:
  static constexpr std::size_t kPodsMax = 1024;
  static constexpr std::size_t kNodesMax = 16'384;

  // The slot of the object's base, from 0.
  static std::size_t SlotOf(const api::Pod& pod);
  static std::size_t SlotOf(const api::Node& node);

  // Null if the slot is empty or does not exist.
  const api::Pod* PodAt(std::size_t slot) const { return slot < pods_.size() ? pods_[slot].get() : nullptr; }
  const api::Node* NodeAt(std::size_t slot) const { return slot < nodes_.size() ? nodes_[slot].get() : nullptr; }

  // Replace the base of a pod seldom: a base lives as long as it is here, while other pods are freed early, which keeps
  // their memory in the caches of the CPU.
  void Set(std::size_t slot, std::shared_ptr<const api::Pod> pod) { pods_.at(slot) = std::move(pod); }
  void Set(std::size_t slot, std::shared_ptr<const api::Node> node) { nodes_.at(slot) = std::move(node); }

 private:
  std::vector<std::shared_ptr<const api::Pod>> pods_ = std::vector<std::shared_ptr<const api::Pod>>(kPodsMax);
  std::vector<std::shared_ptr<const api::Node>> nodes_ = std::vector<std::shared_ptr<const api::Node>>(kNodesMax);
};

}  // namespace berth::recording
