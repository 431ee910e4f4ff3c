// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption: makes room for an unschedulable pod by evicting pods of lower priority from one node. PostFilter
// finds the node and its victims; the evictions run beside scheduling, and PreEnqueue holds the pod back meanwhile.
#pragma once

#include <memory>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_group_post_filter.h"
#include "berth/plugins/names.h"

namespace berth::config {
struct DefaultPreemptionArgs;
}

namespace berth::plugins {

class CandidateSearch;
class PreemptionExecutor;

class DefaultPreemption final : public framework::PreEnqueuePlugin,
                                public framework::PostFilterPlugin,
                                public framework::PodGroupPostFilterPlugin,
                                public framework::ObjectReader,
                                public framework::EnqueueExtensions,
                                public virtual framework::FastPlugin {
 public:
  // `handle` must outlive the plugin.
  DefaultPreemption(const config::DefaultPreemptionArgs& args, framework::Handle& handle);
  ~DefaultPreemption() override;

  std::string_view Name() const override { return names::kDefaultPreemption; }
  framework::Status PreEnqueue(const framework::PodInfo& pod) const override;
  framework::PostFilterResult PostFilter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                         const framework::NodeStatuses& statuses,
                                         framework::FilterRunner& filters) const override;
  bool IsPreemption() const override { return true; }
  bool AnswersDryRuns() const override { return true; }
  framework::PodGroupPostFilterResult PodGroupPostFilter(const framework::PodGroupKey& group,
                                                         std::span<const framework::PodGroupMember> members,
                                                         framework::PodGroupDryRun& dry_run) const override;
  std::vector<framework::ObjectKind> ObjectsRead() const override {
    return {framework::ObjectKind::kPodDisruptionBudget};
  }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
  void DropIdle() override;

 private:
  bool HasLeavingVictims(const framework::NodeInfo& node, const framework::PodInfo& pod) const;
  bool WaitsForVictims(const framework::Cycle& cycle, const framework::PodInfo& pod, std::string_view nominated,
                       const framework::NodeStatuses& statuses) const;
  framework::QueueingHint AfterPodDelete(const framework::PodInfo& pod, const framework::EventObjects& event) const;

  framework::Handle& handle_;
  const std::shared_ptr<PreemptionExecutor> executor_;
  const std::unique_ptr<CandidateSearch> search_;
};

}  // namespace berth::plugins
