// SPDX-License-Identifier: Apache-2.0
// Nominator: pods that are expected to run on a node once its room is free, after preemption or because an outside
// component said so. The two-pass filter and preemption read it. Within turns only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/pod_info.h"

namespace berth::queue {

class Nominator {
 public:
  // Nominates the pod for `node_name`; nullopt stands for the node that its status names. This replaces an earlier
  // nomination of the uid; an empty name only removes it. The pod must exist and have no node.
  void AddNominatedPod(framework::PodInfoPtr pod, std::optional<std::string_view> node_name = std::nullopt);

  // No effect on a pod that is not nominated.
  void DeleteNominated(std::string_view uid);

  // Replaces the pod's object. A nomination that exists only in memory survives an update that does not mention it,
  // because the update may have been sent before the nomination was made. `old_pod` may be null.
  void UpdateNominated(const framework::PodInfo* old_pod, framework::PodInfoPtr new_pod);

  // In order of nomination. Valid until the next change.
  std::span<const framework::PodInfoPtr> PodsForNode(std::string_view node_name) const;

  // The pod's object at its nomination; null if it is not nominated.
  framework::PodInfoPtr FindPod(std::string_view uid) const;

  // Empty: the pod is not nominated. Valid until the next change.
  std::string_view NominatedNode(std::string_view uid) const;

  // Calls visit(node_name, pods) for each node that has nominated pods, in no particular order.
  template <typename Visit>
  void ForEachNode(Visit&& visit) const {
    for (const auto& [node_name, pods] : pods_by_node_)
      visit(std::string_view(node_name), std::span<const framework::PodInfoPtr>(pods));
  }

  // The version grows with every change. ChangedSince(v) lists the names of the nodes whose pods changed after version
  // v, each at least once; nullopt: the log does not reach back to v.
  std::uint64_t version() const { return log_base_ + log_.size(); }
  std::optional<std::span<const std::string>> ChangedSince(std::uint64_t version) const;

  bool empty() const { return node_by_uid_.empty(); }
  std::size_t size() const { return node_by_uid_.size(); }

 private:
  using PodsByNode = StringHashMap<std::vector<framework::PodInfoPtr>>;

  void Touch(std::string_view node_name);

  PodsByNode pods_by_node_;  // has no empty lists
  StringHashMap<std::string> node_by_uid_;
  // The newest changes, oldest first: entry i made version log_base_ + i + 1.
  std::vector<std::string> log_;
  std::uint64_t log_base_ = 0;
};

}  // namespace berth::queue
