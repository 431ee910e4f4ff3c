// SPDX-License-Identifier: Apache-2.0
// LoadAware: a policy of berth's own. Nodes in the order of their real use, as measured outside, rather than of what
// their pods request; and none that are hot. On top of a measurement it counts what has been placed since.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/outside_data.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/load_aware/load_aware_args.h"
#include "berth/plugins/load_aware/usage_report.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

// A node's use as a share of what it has to give (allocatable).
struct PredictedUse {
  double cpu = 0;
  std::optional<double> memory;  // absent: not measured, does not count
  bool is_measured = false;      // false: what its pods request, for want of fresh measurements
};

class LoadAware final : public framework::FastFilter,
                        public framework::ScorePlugin,
                        public framework::OutsideDataReader,
                        public framework::ProfileAware,
                        public framework::EnqueueExtensions {
 public:
  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  LoadAware(LoadAwareArgs args, framework::Handle& handle);

  std::string_view Name() const override { return names::kLoadAware; }
  bool ReadsPlacementOnly() const override { return true; }
  void SetProfile(std::string_view scheduler_name) override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  // Millionths of predicted use; with a target: of the distance below it, nodes above it behind all others.
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;

  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

  std::vector<framework::OutsideSource> OutsideSources() const override;
  framework::OutsideChange OnOutsideData(std::size_t source,
                                         const Expected<std::shared_ptr<const framework::OutsideData>>& data,
                                         Time wall_now) override;

  // Without the pod that is to be placed.
  PredictedUse Predict(const framework::NodeInfo& node) const;

 private:
  // A node's fresh measurements.
  struct Use {
    std::optional<double> cpu, memory;
    bool are_amounts = false;           // milli-CPUs and bytes; else shares
    std::optional<Time> counted_until;  // pods that started later are not in them, nor those that have not started
    bool operator==(const Use&) const = default;
  };
  // Annotations that do not say when.
  struct Timeless {
    NodeMeasurements said;
    Time first_seen;
  };
  std::optional<Use> FreshUse(const api::Node& node) const;
  std::optional<Use> UseOf(const NodeMeasurements& measured) const;
  AnnotatedUsage Annotated(const api::Node& node) const;
  void Take(std::size_t source, const UsageReport& report);
  std::vector<std::optional<Use>> AllUses() const;
  framework::OutsideChange ChangesSince(const std::vector<std::optional<Use>>& before) const;
  void LookAtAnnotations();
  void ReportFreshness();

  const LoadAwareArgs args_;
  framework::Handle& handle_;
  std::string profile_;
  framework::Gauge* without_fresh_data_ = nullptr;
  std::array<framework::Counter*, kRefusalCount> refused_{};

  // As of the last time that the shell told: what is fresh changes there and nowhere else, so that whoever keeps a
  // verdict hears of it.
  Time now_{};
  StringHashMap<NodeMeasurements> measured_;    // as the source says
  std::vector<bool> has_answered_;              // by source, an error counts
  std::vector<bool> was_refusing_;              // by source, said in the log
  StringHashMap<Refusal> refused_annotations_;  // by node
  StringHashMap<Timeless> timeless_;            // by node
  bool has_warned_ = false;
};

}  // namespace berth::plugins
