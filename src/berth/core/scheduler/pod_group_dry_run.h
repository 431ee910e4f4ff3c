// SPDX-License-Identifier: Apache-2.0
// PodGroupTrialRun: the dry run that PodGroupPostFilter plugins use; it changes the live cache. Its destructor restores
// everything. Within turns only; nothing else may use the cache while it lives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "berth/base/random.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/pod_group_trial.h"
#include "berth/framework/pod_group_post_filter.h"

namespace berth::scheduler {

class PodGroupTrialRun final : public framework::PodGroupDryRun {
 public:
  // All arguments must outlive it. `members` are the cycle's members; none of them is placed.
  PodGroupTrialRun(CoreState& state, Profile& profile, Random& random, const queue::QueuedPodGroup& group,
                   std::span<const GroupMember> members);
  ~PodGroupTrialRun() override;
  PodGroupTrialRun(const PodGroupTrialRun&) = delete;
  PodGroupTrialRun& operator=(const PodGroupTrialRun&) = delete;

  const framework::NodeList& nodes() const override { return state_.cache.nodes(); }
  Time wall_now() const override { return state_.WallNow(); }
  Time now() const override { return state_.now; }
  Time waiting_since() const override { return waiting_since_; }
  void RemovePod(const framework::PodInfoPtr& pod) override;
  void RestorePod(const framework::PodInfoPtr& pod) override;
  framework::Status TryGroup(framework::NodeRanking* ranking) override;
  const std::vector<framework::PodGroupAssignment>& assignments() const override { return assignments_; }
  bool DoAssignmentsFit() override;

 private:
  // One pod taken off its node, or put on it again.
  struct Change {
    framework::PodInfoPtr pod;
    std::optional<std::size_t> place;  // of a pod taken off, among its node's pods
    bool was_assumed = false;
  };

  CoreState& state_;
  Profile& profile_;
  Random& random_;
  const framework::PodGroupKey group_;
  const Time waiting_since_;
  const std::span<const GroupMember> members_;
  const cache::PodGroupStates::Trial groups_;
  std::vector<Change> changes_;  // undone in reverse, so that each node's pods keep their order
  absl::flat_hash_map<std::string, std::size_t> removed_;  // uid -> the change that took the pod off
  std::vector<framework::PodGroupAssignment> assignments_;
  absl::flat_hash_set<std::string> assigned_nodes_;
  // The filters looked at single nodes only, so that an assignment depends on nothing but its node.
  bool are_filters_local_ = false;
  bool has_restored_repellent_ = false;   // a restored pod has required anti-affinity
  std::vector<std::string> restored_on_;  // nodes of the pods restored since the last DoAssignmentsFit()
};

}  // namespace berth::scheduler
