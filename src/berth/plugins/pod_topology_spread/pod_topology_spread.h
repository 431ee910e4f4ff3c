// SPDX-License-Identifier: Apache-2.0
// PodTopologySpread: spreads pods over topology domains, such as zones and nodes, as topologySpreadConstraints or the
// profile's default constraints say. See README.md in this folder. Within turns only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/helper/class_cache.h"
#include "berth/plugins/names.h"
#include "berth/plugins/pod_topology_spread/constraint.h"
#include "berth/plugins/pod_topology_spread/default_selector.h"
#include "berth/plugins/pod_topology_spread/spread_counts.h"
#include "berth/plugins/pod_topology_spread/spread_index.h"
#include "berth/plugins/pod_topology_spread/spread_marks.h"

namespace berth::config {
struct PodTopologySpreadArgs;
}

namespace berth::plugins {

class PodTopologySpread final : public framework::PreFilterPlugin,
                                public framework::FastFilter,
                                public framework::FastPreScore,
                                public framework::FastScore,
                                public framework::GroupingPlugin,
                                public framework::EnqueueExtensions,
                                public framework::ObjectReader {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match pod topology spread constraints";
  static constexpr std::string_view kReasonMissingLabel =
      "node(s) didn't match pod topology spread constraints (missing required label)";

  // Bounds on what is kept between the pods of a class.
  static constexpr std::size_t kClassesMax = 8192;
  static constexpr std::size_t kClassBytesMax = std::size_t{64} << 20;
  // Bound on the node tables that anything is kept for.
  static constexpr std::size_t kTablesMax = 4;

  // `handle` must outlive the plugin.
  PodTopologySpread(const config::PodTopologySpreadArgs& args, const framework::Handle& handle);

  std::string_view Name() const override { return names::kPodTopologySpread; }

  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kCycle; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  bool HasPreFilterExtensions() const override { return true; }
  framework::Status AddPod(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::PodInfo& other, const framework::NodeInfo& node) const override;
  framework::Status RemovePod(const framework::Cycle& cycle, const framework::PodInfo& pod,
                              const framework::PodInfo& other, const framework::NodeInfo& node) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;

  framework::Dependency PreScoreDependsOn() const override { return framework::Dependency::kCycle; }
  bool PreScoreSkips(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  framework::Status PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                             std::span<const framework::NodeIndex> feasible) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kCycle; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kCustom; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  framework::Status NormalizeScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<framework::NodeScore> scores) const override;

  // A row's marks are its topology values, and where those tell the nodes apart the number of matching pods there.
  std::optional<Marks> MarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
  // Shared marks leave the pods out.
  std::optional<Marks> SharedMarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                     std::size_t special_max,
                                     std::vector<framework::NodeIndex>& special) const override;
  void MarkRows(const framework::Cycle& cycle, const framework::PodInfo& pod, MarkScope scope,
                std::span<const framework::NodeIndex> rows, std::span<std::uint32_t> marks,
                std::size_t stride) const override;
  framework::Status PreScoreGroups(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                   std::span<const framework::NodeIndex> feasible,
                                   std::span<const std::size_t> sizes) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;
  std::vector<framework::ObjectKind> ObjectsRead() const override;

  void DropIdle() override;

 private:
  using Constraints = Expected<std::vector<SpreadConstraint>>;

  // What is kept for a pod class.
  struct KeptClass {
    // Counts belong to the index of their table.
    std::size_t Bytes() const { return sizeof(*this) + constraint_bytes; }

    Constraints hard = std::vector<SpreadConstraint>();
    Constraints soft = std::vector<SpreadConstraint>();
    DefaultSelector default_selector;    // of default constraints
    std::uint64_t selector_version = 0;  // the one that the constraints were made for
    std::size_t constraint_bytes = 0;
    // Of its own marks: what they were given for.
    std::uint64_t marks_version = 0;  // 0: none yet
    std::uint64_t marks_numbering = 0;
    std::uint64_t marks_by_count = 0;
    std::size_t marks_constraint_count = 0;
    std::weak_ptr<SpreadCounts> counts;  // of the table that was looked at last
  };

  bool HasDefaults(const framework::PodInfo& pod) const;
  KeptClass& ClassFor(const framework::PodInfo& pod) const;
  void UseDefaults(const framework::PodClass& pod_class, KeptClass& kept) const;
  SpreadIndex& IndexFor(const framework::NodeTable& nodes) const;
  std::shared_ptr<SpreadCounts> CountsFor(const framework::PodInfo& pod, KeptClass& kept,
                                          const framework::NodeTable& nodes) const;
  framework::Status WritePreScoreState(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                       std::span<const framework::NodeIndex> feasible,
                                       std::span<const std::size_t> sizes) const;
  framework::Status UpdateState(const framework::Cycle& cycle, const framework::PodInfo& other,
                                const framework::NodeInfo& node, std::int32_t difference) const;

  const framework::Objects& objects_;
  bool is_system_defaulted_ = false;
  std::vector<api::TopologySpreadConstraint> default_constraints_;
  mutable std::uint64_t numbers_ = 0;                          // versions given so far, to marks and to numberings
  mutable std::vector<std::unique_ptr<SpreadIndex>> indexes_;  // the one used last first
  mutable bool is_used_ = false;                               // an index was, since the last DropIdle()
  mutable SpreadMarkVersions mark_versions_{numbers_};
  mutable ServiceIndex services_;
  mutable ClassCache<KeptClass> classes_{kClassesMax, kClassBytesMax};
};

}  // namespace berth::plugins
