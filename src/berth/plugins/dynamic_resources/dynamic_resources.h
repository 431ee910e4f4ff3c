// DynamicResources, for pods without resource claims: scores 0 everywhere and says at PostFilter that it has nothing to
// give back. Allocating devices is not built: a pod with claims is refused with an error.
#pragma once

#include "berth/framework/plugin.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class DynamicResources final : public framework::PreEnqueuePlugin,
                               public framework::PreFilterPlugin,
                               public framework::FilterPlugin,
                               public framework::PostFilterPlugin,
                               public framework::ScorePlugin,
                               public framework::ReservePlugin,
                               public framework::PreBindPlugin {
 public:
  std::string_view Name() const override { return names::kDynamicResources; }

  framework::Status PreEnqueue(const framework::PodInfo&) const override { return {}; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  // Reached only where a profile turns PreFilter off.
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;

  // Upstream reads the state that its PreFilter wrote and fails with "not found" where an earlier plugin's PreFilter
  // refused the pod, so that its own never ran; so do we.
  framework::PostFilterResult PostFilter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                         const framework::NodeStatuses& statuses,
                                         framework::FilterRunner& filters) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kMax; }
  std::int64_t Score(const framework::Cycle&, const framework::PodInfo&, framework::NodeIndex,
                     const framework::NodeInfo&, framework::Status&) const override {
    return 0;
  }
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  framework::Status Reserve(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::string_view node_name) override;
  void Unreserve(const framework::PodInfo&, std::string_view) override {}
  framework::Operation PreBind(const framework::PodInfo& pod) override;
};

}  // namespace berth::plugins
