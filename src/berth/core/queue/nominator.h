// SPDX-License-Identifier: Apache-2.0
// Nominator: pods that are expected to run on a node once its room is free (after preemption, or because an outside
// component said so). The two-pass filter and preemption read it. Within turns only.
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
  // Nominates the pod for `node_name`, or, without one, for the node that its status names. An earlier nomination of
  // the same uid is removed first; an empty name leaves it at that. Not for pods that are gone or have a node.
  void AddNominatedPod(framework::PodInfoPtr pod, std::optional<std::string_view> node_name = std::nullopt);

  // Without effect for a pod that is not nominated.
  void DeleteNominated(std::string_view uid);

  // Takes the newer object. A nomination that was only ever in memory survives an update that says nothing about it:
  // the update may have been under way when the nomination was made. `old_pod` may be null.
  void UpdateNominated(const framework::PodInfo* old_pod, framework::PodInfoPtr new_pod);

  // In the order in which they were nominated. Valid until the next change.
  std::span<const framework::PodInfoPtr> PodsForNode(std::string_view node_name) const;

  // The pod as it was nominated; null when it is not.
  framework::PodInfoPtr FindPod(std::string_view uid) const;

  // The node that the pod is nominated for; empty: none. Valid until the next change.
  std::string_view NominatedNode(std::string_view uid) const;

  // Calls visit(node_name, pods) for each node that has nominated pods, in no particular order.
  template <typename Visit>
  void ForEachNode(Visit&& visit) const {
    for (const auto& [node_name, pods] : pods_by_node_)
      visit(std::string_view(node_name), std::span<const framework::PodInfoPtr>(pods));
  }

  // Grows with every change. ChangedSince(v) lists the names of the nodes whose pods changed after version() was v,
  // each at least once; nullopt when that is too long ago.
  std::uint64_t version() const { return log_base_ + log_.size(); }
  std::optional<std::span<const std::string>> ChangedSince(std::uint64_t version) const;

  bool empty() const { return node_by_uid_.empty(); }
  std::size_t size() const { return node_by_uid_.size(); }

 private:
  using PodsByNode = StringHashMap<std::vector<framework::PodInfoPtr>>;

  void Touch(std::string_view node_name);

  PodsByNode pods_by_node_;  // no empty lists
  StringHashMap<std::string> node_by_uid_;
  // The newest changes, oldest first; the entry at i brought the object to version log_base_ + i + 1.
  std::vector<std::string> log_;
  std::uint64_t log_base_ = 0;
};

}  // namespace berth::queue
