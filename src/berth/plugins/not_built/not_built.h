// NotBuilt: stands for plugins of the default profile that this version does not have. A pod that does not use what
// such a plugin decides is passed (PreFilter and PreScore skip); one that does is refused with an error that names the
// plugin and the reason, so that no pod is ever placed against its own rules.
#pragma once

#include <string>
#include <string_view>

#include "berth/framework/plugin.h"

namespace berth::plugins {

// What a pod must use to concern the plugin.
struct NotBuiltFeature {
  std::string_view plugin;
  bool api::PodFeatures::* flag;
  std::string_view what;  // "pod uses ..."
};

// The extension points of VolumeRestrictions, NodeVolumeLimits, VolumeZone and NodeDeclaredFeatures.
class NotBuilt : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  // `feature` must outlive the plugin.
  explicit NotBuilt(const NotBuiltFeature& feature) : feature_(feature) {}

  std::string_view Name() const override { return feature_.plugin; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  // Reached only where a profile turns PreFilter off.
  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;

 protected:
  // Success when the pod does not use the feature.
  framework::Status Check(const framework::PodInfo& pod) const;

 private:
  const NotBuiltFeature& feature_;
};

// ... and of PodTopologySpread and InterPodAffinity, which score as well.
class NotBuiltScoring : public NotBuilt, public framework::PreScorePlugin, public framework::ScorePlugin {
 public:
  using NotBuilt::NotBuilt;

  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;
  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
};

// ... and of VolumeBinding, which also takes part in binding.
class NotBuiltBinding final : public NotBuiltScoring, public framework::ReservePlugin, public framework::PreBindPlugin {
 public:
  using NotBuiltScoring::NotBuiltScoring;

  framework::Status Reserve(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::string_view node_name) override;
  void Unreserve(const framework::PodInfo&, std::string_view) override {}
  framework::Operation PreBind(const framework::PodInfo& pod) override {
    return framework::Operation::Done(Check(pod));
  }
};

}  // namespace berth::plugins
