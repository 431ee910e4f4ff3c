// SPDX-License-Identifier: Apache-2.0
// PodIndex: what answers would otherwise look for among all pods of a state: those of a workload, and those that wait
// or go. For who keeps a state whose pods are in the order in which the API server lists them. One thread's.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/whatif/additions.h"

namespace berth::whatif {

using PodPtrs = std::vector<std::shared_ptr<const api::Pod>>;

// The order in which the API server lists: by the bytes of "namespace/name". Negative, 0 or positive.
int CompareListed(std::string_view namespace_a, std::string_view a, std::string_view namespace_b, std::string_view b);
bool IsListedBefore(const std::shared_ptr<const api::Pod>& a, const std::shared_ptr<const api::Pod>& b);
// In pods of that order; null: there is none of the name.
std::shared_ptr<const api::Pod> FindListed(const PodPtrs& pods, std::string_view namespace_name, std::string_view name);

class PodIndex {
 public:
  PodIndex() = default;
  explicit PodIndex(const PodPtrs& pods);

  void Add(const std::shared_ptr<const api::Pod>& pod);
  // No effect on a pod that is not there.
  void Remove(const std::shared_ptr<const api::Pod>& pod);

  // All that follows is in the order of the list.
  const PodPtrs& PodsOf(const Workload& workload) const;
  const std::map<Workload, PodPtrs>& by_workload() const { return by_workload_; }
  // Pods that have no node, or are being deleted.
  const PodPtrs& unsettled() const { return unsettled_; }

 private:
  std::map<Workload, PodPtrs> by_workload_;
  PodPtrs unsettled_;
};

}  // namespace berth::whatif
