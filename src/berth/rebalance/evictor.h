// SPDX-License-Identifier: Apache-2.0
// Evictor: which pods may be evicted at all, as the descheduler's DefaultEvictor has it, and how many may be. Its two
// questions are asked at different places by different strategies: whether the pod may be evicted, and, just before
// that is done, whether it fits elsewhere and its namespace is one that is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/selector.h"
#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/rebalance/cluster_view.h"
#include "berth/rebalance/policy.h"

namespace berth::rebalance {

class Evictor {
 public:
  // `args` and `view` must outlive it. Fails where a priority class is named whose value nothing tells.
  static Expected<Evictor> Make(const EvictorArgs& args, const ClusterView& view, Time now);

  // The first reason not to evict the pod: "it has local storage"; empty: it may be evicted.
  std::string_view WhyNot(const PodView& pod) const;
  bool Filter(const PodView& pod) const { return WhyNot(pod).empty(); }
  bool PreEvictionFilter(const PodView& pod) const;
  // The part of PreEvictionFilter() about the labels of the pod's namespace.
  bool TakesNamespace(const PodView& pod) const;

 private:
  Evictor(const EvictorArgs& args, const ClusterView& view, Time now) : args_(args), view_(view), now_(now) {}
  std::string_view WhyProtected(const PodView& pod) const;
  bool HasProtectedClaim(const PodView& pod) const;
  bool HasBudget(const PodView& pod) const;

  const EvictorArgs& args_;
  const ClusterView& view_;
  Time now_;
  std::int32_t priority_threshold_ = kSystemCriticalPriority;
  std::vector<NodeNumber> fit_nodes_;  // of nodeFit: those that are ready and match its nodeSelector
};

// The annotation by which a pod says that it would rather stay.
bool PrefersToStay(const PodView& pod);
// Whether the pod's annotations make an autoscaler keep its node.
bool KeepsItsNode(const PodView& pod);
bool IsStaticPod(const PodView& pod);
bool IsOfDaemonSet(const PodView& pod);

// Which of the nodes are ready and have the labels; all of them for an empty selector, which must parse.
std::vector<NodeNumber> ReadyNodes(const ClusterView& view, std::string_view selector);

// Counts evictions against limits.
class EvictionCounter {
 public:
  enum class Answer : std::uint8_t {
    kEvicted,
    kRefused,  // others may be evicted: the namespace's limit, or the pod itself
    kNodeLimit,
    kTotalLimit,
  };

  explicit EvictionCounter(const EvictionLimits& limits) : limits_(limits) {}
  Answer Evict(const PodView& pod);
  // What Evict() would answer; counts nothing.
  Answer Ask(const PodView& pod) const;
  // Undoes an eviction that was counted.
  void TakeBack(const PodView& pod);

 private:
  EvictionLimits limits_;
  StringHashMap<std::uint64_t> of_node_;
  StringHashMap<std::uint64_t> of_namespace_;
  std::uint64_t total_ = 0;
};

}  // namespace berth::rebalance
