// SPDX-License-Identifier: Apache-2.0
// ObjectBases: pods and nodes that were written, or read, before. Another one is written as a delta (values.h) to one
// of them, its base: of a pod, one of the same workload; of a node, its earlier version. Writer and reader keep the
// same, in tables of fixed size, where a newer object takes the place of an older one. One thread.
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

  // Where the base of such a pod or node is looked for, from 0.
  static std::size_t SlotOf(const api::Pod& pod);
  static std::size_t SlotOf(const api::Node& node);

  // Null: there is nothing in the slot, or no such slot.
  const api::Pod* PodAt(std::size_t slot) const { return slot < pods_.size() ? pods_[slot].get() : nullptr; }
  const api::Node* NodeAt(std::size_t slot) const { return slot < nodes_.size() ? nodes_[slot].get() : nullptr; }

  // A pod lives as long as it is here. Others of its workload are freed as if nobody recorded them, which keeps their
  // memory in the caches of the CPU: replace the base seldom.
  void Set(std::size_t slot, std::shared_ptr<const api::Pod> pod) { pods_.at(slot) = std::move(pod); }
  void Set(std::size_t slot, std::shared_ptr<const api::Node> node) { nodes_.at(slot) = std::move(node); }

 private:
  std::vector<std::shared_ptr<const api::Pod>> pods_ = std::vector<std::shared_ptr<const api::Pod>>(kPodsMax);
  std::vector<std::shared_ptr<const api::Node>> nodes_ = std::vector<std::shared_ptr<const api::Node>>(kNodesMax);
};

}  // namespace berth::recording
