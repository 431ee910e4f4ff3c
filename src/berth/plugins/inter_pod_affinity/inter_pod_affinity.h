// SPDX-License-Identifier: Apache-2.0
// InterPodAffinity: keeps a pod away from, or brings it near to, nodes by the pods that run there or in the same
// topology domain (zone, host name). Terms of running pods count as well: their required anti-affinity refuses, all
// others score. Upstream: pkg/scheduler/framework/plugins/interpodaffinity.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/plugins/inter_pod_affinity/affinity_index.h"
#include "berth/plugins/names.h"

namespace berth::config {
struct InterPodAffinityArgs;
}

namespace berth::plugins {

class InterPodAffinity final : public framework::PreFilterPlugin,
                               public framework::FastFilter,
                               public framework::FastPreScore,
                               public framework::FastScore,
                               public framework::GroupingPlugin,
                               public framework::ObjectReader,
                               public framework::EnqueueExtensions {
 public:
  static constexpr std::string_view kAffinityReason = "node(s) didn't match pod affinity rules";
  static constexpr std::string_view kAntiAffinityReason = "node(s) didn't match pod anti-affinity rules";
  static constexpr std::string_view kExistingAntiAffinityReason =
      "node(s) didn't satisfy existing pods anti-affinity rules";
  // Node tables that are told apart, by the plugin instances of a test; production has one.
  static constexpr std::size_t kTablesMax = 4;

  // `handle` must outlive the plugin.
  InterPodAffinity(const config::InterPodAffinityArgs& args, const framework::Handle& handle);

  std::string_view Name() const override { return names::kInterPodAffinity; }

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

  std::vector<framework::ObjectKind> ObjectsRead() const override { return {framework::ObjectKind::kNamespace}; }
  // A row's marks are its values of keys with few values, and its sums of keys that tell the nodes apart.
  std::optional<Marks> MarksOf(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;
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

  void DropIdle() override;

 private:
  // Good until the next one is prepared.
  struct Prepared {
    const std::shared_ptr<AffinityIndex>& index;
    const std::shared_ptr<const AffinityCounts>& counts;  // null: neither the pod nor a running one has terms
  };

  // Brought up to date.
  const std::shared_ptr<AffinityIndex>& IndexFor(const framework::NodeTable& table) const;
  Prepared Prepare(const framework::Cycle& cycle, const framework::PodInfo& pod) const;
  bool IgnoresPodsWithout(const framework::PodInfo& pod) const;
  framework::Status UpdateWithPod(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                  const framework::PodInfo& other, const framework::NodeInfo& node,
                                  std::int64_t sign) const;

  const std::int32_t hard_affinity_weight_;
  const bool ignores_preferred_terms_of_existing_pods_;
  const framework::Handle& handle_;
  // Kept between pods; the most recently used table first.
  mutable std::vector<std::shared_ptr<AffinityIndex>> indexes_;
  mutable std::uint64_t indexes_made_ = 0;
  mutable bool is_used_ = false;  // an index was, since the last DropIdle()
  // Versions of shared marks, by what they rest on. Bounded; numbers are not used again.
  static constexpr std::size_t kSharedVersionsMax = 4096;
  mutable StringHashMap<std::uint64_t> shared_versions_;
  mutable std::uint64_t versions_made_ = 0;  // of marks, those of a class included
};

}  // namespace berth::plugins
