// SPDX-License-Identifier: Apache-2.0
// TestedPlugin: a plugin as its factory made it, with all extension points at hand. A call to one that the plugin does
// not have throws std::bad_cast. Tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/registry.h"

namespace berth::plugins {

class TestedPlugin {
 public:
  TestedPlugin(std::unique_ptr<framework::Plugin> plugin) : plugin_(std::move(plugin)) {}
  TestedPlugin(Expected<std::unique_ptr<framework::Plugin>> made) : plugin_(std::move(made).value()) {}

  template <typename Point>
  Point& As() const {
    return dynamic_cast<Point&>(*plugin_);
  }

  std::string_view Name() const { return plugin_->Name(); }
  bool ReadsPlacementOnly() const { return As<FastPlugin>().ReadsPlacementOnly(); }
  void DropIdle() const { As<FastPlugin>().DropIdle(); }
  std::uint64_t Epoch() const { return plugin_->Epoch(); }

  void SetProfile(std::string_view name) const { As<framework::ProfileAware>().SetProfile(name); }
  Dependency PreFilterDependsOn() const { return As<PreFilterPlugin>().PreFilterDependsOn(); }
  Dependency FilterDependsOn() const { return As<FilterPlugin>().FilterDependsOn(); }
  Dependency ScoreDependsOn() const { return As<ScorePlugin>().ScoreDependsOn(); }

  Status PreEnqueue(const PodInfo& pod) const { return As<PreEnqueuePlugin>().PreEnqueue(pod); }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const {
    return As<PreFilterPlugin>().PreFilter(cycle, pod);
  }
  Status AddPod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const {
    return As<PreFilterPlugin>().AddPod(cycle, pod, other, node);
  }
  Status RemovePod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const {
    return As<PreFilterPlugin>().RemovePod(cycle, pod, other, node);
  }
  Status Filter(const Cycle& cycle, const PodInfo& pod, const NodeInfo& node) const {
    return As<FilterPlugin>().Filter(cycle, pod, node);
  }
  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const {
    As<FastFilter>().FilterRows(cycle, pod, rows, verdicts, statuses);
  }
  bool RefusesNone(const Cycle& cycle, const PodInfo& pod) const { return As<FastFilter>().RefusesNone(cycle, pod); }
  PostFilterResult PostFilter(const Cycle& cycle, const PodInfo& pod, const NodeStatuses& statuses,
                              FilterRunner& filters) const {
    return As<PostFilterPlugin>().PostFilter(cycle, pod, statuses, filters);
  }

  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const {
    return As<PreScorePlugin>().PreScore(cycle, pod, feasible);
  }
  bool PreScoreSkips(const Cycle& cycle, const PodInfo& pod) const {
    return As<FastPreScore>().PreScoreSkips(cycle, pod);
  }
  Normalization ScoreNormalization() const { return As<ScorePlugin>().ScoreNormalization(); }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex row, const NodeInfo& node,
                     Status& status) const {
    return As<ScorePlugin>().Score(cycle, pod, row, node, status);
  }
  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const {
    As<FastScore>().ScoreRows(cycle, pod, rows, scores, status);
  }
  bool ScoresNothing(const Cycle& cycle, const PodInfo& pod) const { return As<FastScore>().ScoresNothing(cycle, pod); }
  std::optional<std::int64_t> ScoreOfAll(const Cycle& cycle, const PodInfo& pod) const {
    return As<FastScore>().ScoreOfAll(cycle, pod);
  }
  Status NormalizeScore(const Cycle& cycle, const PodInfo& pod, std::span<NodeScore> scores) const {
    return As<ScorePlugin>().NormalizeScore(cycle, pod, scores);
  }

  std::optional<GroupingPlugin::Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const {
    return As<GroupingPlugin>().MarksOf(cycle, pod);
  }
  std::optional<GroupingPlugin::Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t special_max,
                                                     std::vector<NodeIndex>& special) const {
    return As<GroupingPlugin>().SharedMarksOf(cycle, pod, special_max, special);
  }
  void MarkRows(const Cycle& cycle, const PodInfo& pod, GroupingPlugin::MarkScope scope,
                std::span<const NodeIndex> rows, std::span<std::uint32_t> marks, std::size_t stride) const {
    As<GroupingPlugin>().MarkRows(cycle, pod, scope, rows, marks, stride);
  }
  void SingleOut(const Cycle& cycle, const PodInfo& pod, std::vector<NodeIndex>& rows) const {
    As<GroupingPlugin>().SingleOut(cycle, pod, rows);
  }
  Status PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                        std::span<const std::size_t> sizes) const {
    return As<GroupingPlugin>().PreScoreGroups(cycle, pod, feasible, sizes);
  }

  Status Reserve(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) const {
    return As<ReservePlugin>().Reserve(cycle, pod, node_name);
  }
  void Unreserve(const PodInfo& pod, std::string_view node_name) const {
    As<ReservePlugin>().Unreserve(pod, node_name);
  }
  PermitResult Permit(const Cycle& cycle, const PodInfo& pod, std::string_view node_name) const {
    return As<PermitPlugin>().Permit(cycle, pod, node_name);
  }
  Status PreBindPreFlight(const PodInfo& pod) const { return As<PreBindPlugin>().PreBindPreFlight(pod); }
  Operation PreBind(const PodInfo& pod) const { return As<PreBindPlugin>().PreBind(pod); }
  Operation Bind(const PodInfo& pod) const { return As<BindPlugin>().Bind(pod); }

  std::vector<ObjectKind> ObjectsRead() const { return As<ObjectReader>().ObjectsRead(); }
  std::vector<ClusterEventWithHint> EventsToRegister() const { return As<EnqueueExtensions>().EventsToRegister(); }
  std::vector<std::string> PodAnnotationsRead() const { return As<AnnotationReader>().PodAnnotationsRead(); }
  std::vector<framework::OutsideSource> OutsideSources() const {
    return As<framework::OutsideDataReader>().OutsideSources();
  }
  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) const {
    return As<framework::OutsideDataReader>().OnOutsideData(source, data, wall_now);
  }

 private:
  std::unique_ptr<framework::Plugin> plugin_;
};

// The plugin of that name as a profile makes it, from its arguments in JSON.
inline Expected<std::unique_ptr<framework::Plugin>> MakeFromJson(std::string_view name, const std::string& json,
                                                                 Handle& handle) {
  return config::FindPlugin(InTreePlugins(), name)->create(config::RawArgs{json}, handle);
}

}  // namespace berth::plugins
