// SPDX-License-Identifier: Apache-2.0
// SpotFirst: a policy of berth's own. Spot nodes before on-demand ones, which are for what the spot nodes have no room
// for; a pod may insist on spot nodes or stay off them, and a share of each controller's pods may have to run on
// demand. See README.md in this folder. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/owner_pods.h"
#include "berth/plugins/names.h"
#include "berth/plugins/spot_first/spot_first_args.h"
#include "berth/plugins/spot_first/spot_labels.h"

namespace berth::plugins {

class SpotFirst final : public framework::PreFilterPlugin,
                        public framework::FastFilter,
                        public framework::FastScore,
                        public framework::GroupingPlugin,
                        public framework::AnnotationReader,
                        public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kAnnotation = "berth.dev/spot";
  static constexpr std::string_view kReasonNotSpot = "node(s) weren't spot nodes, which the pod requires";
  static constexpr std::string_view kReasonSpot = "node(s) were spot nodes, which the pod stays off";
  static constexpr std::string_view kReasonShare =
      "node(s) were spot nodes, of which the pod's controller may use no more yet";

  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  // `handle` must outlive the plugin.
  SpotFirst(const SpotFirstArgs& args, const framework::Handle& handle);

  std::string_view Name() const override { return names::kSpotFirst; }
  // The kind of the controller counts where pods without a wish do not prefer.
  bool ReadsPlacementOnly() const override { return default_wish_ == SpotWish::kPreferred; }
  std::vector<std::string> PodAnnotationsRead() const override { return {std::string(kAnnotation)}; }

  framework::Dependency PreFilterDependsOn() const override { return DependsOn(); }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return DependsOn(); }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  // 0 for the nodes that come first, and 1 for the others.
  framework::Dependency ScoreDependsOn() const override { return DependsOn(); }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;

  // A row's mark is whether it is a spot node: the same for all classes.
  std::optional<Marks> MarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  std::optional<Marks> SharedMarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                     std::size_t special_max,
                                     std::vector<framework::NodeIndex>& special) const override;
  void MarkRows(const framework::Cycle& cycle, const framework::PodInfo& pod, MarkScope scope,
                std::span<const framework::NodeIndex> rows, std::span<std::uint32_t> marks,
                std::size_t stride) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  // Domains of rows.
  static constexpr OwnerPods::DomainId kOnDemand = 0;
  static constexpr OwnerPods::DomainId kSpot = 1;
  // The pods of a controller.
  struct Shares {
    std::int64_t on_demand = 0;
    std::int64_t spot = 0;
  };

  framework::Dependency DependsOn() const {
    return on_demand_share_ > 0 ? framework::Dependency::kCycle : framework::Dependency::kNode;
  }
  // What the pod's annotation says or, where it says nothing, the profile.
  SpotWish WishOf(const framework::PodClass& pod_class) const;
  bool HasShare(const framework::PodClass& pod_class) const;
  Shares SharesOf(const framework::NodeTable& nodes, const framework::PodClass& pod_class) const;
  // One more pod on a spot node would leave too few on demand.
  bool NeedsOnDemand(const Shares& shares) const;
  bool IsOnDemandFirst(const framework::Cycle& cycle, const framework::PodInfo& pod) const;
  // Why nodes of a kind are refused; null: they are not.
  struct Refusals {
    const framework::Status* of_spot = nullptr;
    const framework::Status* of_on_demand = nullptr;
  };
  Refusals RefusalsFor(const framework::Cycle& cycle, const framework::PodInfo& pod) const;
  bool IsSpotRow(framework::NodeIndex row) const { return pods_.domain(row) == kSpot; }
  framework::QueueingHint AfterPodChange(const framework::PodInfo& pod, const framework::EventObjects& event) const;
  framework::QueueingHint AfterNodeChange(const framework::PodInfo& pod, const framework::EventObjects& event) const;

  const framework::Handle& handle_;
  const SpotLabels labels_;
  const std::int32_t on_demand_share_;
  const SpotWish default_wish_;
  const framework::Status not_spot_, spot_, share_;
  mutable OwnerPods pods_;
};

}  // namespace berth::plugins
