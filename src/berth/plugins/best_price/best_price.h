// SPDX-License-Identifier: Apache-2.0
// BestPrice: the cheapest node that has room. A policy of berth's own: nodes of the lowest price get 100, all others 99
// at most and the less the dearer they are. Refuses nodes above the pod's ceiling (annotation berth.dev/max-price) and,
// where the arguments say so, nodes without a price.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/framework/fast_path.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/best_price/best_price_args.h"
#include "berth/plugins/best_price/price_column.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class BestPrice final : public framework::PreFilterPlugin,
                        public framework::FastFilter,
                        public framework::FastScore,
                        public framework::AnnotationReader,
                        public framework::NodeAnnotationReader,
                        public framework::ProfileAware,
                        public framework::EnqueueExtensions {
 public:
  // On a pod: the most that a node may cost, in the unit in which nodes are compared.
  static constexpr std::string_view kMaxPriceAnnotation = "berth.dev/max-price";
  static constexpr std::string_view kReasonTooDear = "node(s) cost more than the pod's berth.dev/max-price";
  static constexpr std::string_view kReasonNoPrice = "node(s) had no price";

  static Expected<std::unique_ptr<framework::Plugin>> Create(const config::PluginArgs& args, framework::Handle& handle);
  // `handle` must outlive it.
  BestPrice(BestPriceArgs args, framework::Handle& handle);

  std::string_view Name() const override { return names::kBestPrice; }
  bool ReadsPlacementOnly() const override { return true; }
  // Never grows: what is said of a node rests on that node. Being asked in every cycle it is where bad prices of all
  // nodes are noticed, those among them that a pod of the profile cannot have or that have no rival to be scored with.
  std::uint64_t Epoch() const override;
  void SetProfile(std::string_view scheduler_name) override { scheduler_name_ = scheduler_name; }

  // Refuses a pod whose ceiling is no price.
  framework::Dependency PreFilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::PreFilterResult PreFilter(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency FilterDependsOn() const override { return framework::Dependency::kNode; }
  framework::Status Filter(const framework::Cycle& cycle, const framework::PodInfo& pod,
                           const framework::NodeInfo& node) const override;
  void FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                  std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                  framework::StatusTable& statuses) const override;
  bool RefusesNone(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  framework::Dependency ScoreDependsOn() const override { return framework::Dependency::kNode; }
  framework::Normalization ScoreNormalization() const override { return framework::Normalization::kLowestFirst; }
  std::int64_t Score(const framework::Cycle& cycle, const framework::PodInfo& pod, framework::NodeIndex row,
                     const framework::NodeInfo& node, framework::Status& status) const override;
  void ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                 std::span<const framework::NodeIndex> rows, std::span<std::int64_t> scores,
                 framework::Status& status) const override;
  // Where all nodes cost the same, or none has a price.
  std::optional<std::int64_t> ScoreOfAll(const framework::Cycle& cycle, const framework::PodInfo& pod) const override;

  std::vector<std::string> PodAnnotationsRead() const override { return {std::string(kMaxPriceAnnotation)}; }
  std::vector<std::string> NodeAnnotationsRead() const override { return args_.annotations; }
  std::vector<framework::ClusterEventWithHint> EventsToRegister() const override;

 private:
  enum class Verdict : std::uint8_t { kOk, kNoPrice, kTooDear };

  Verdict VerdictOf(const NodePrice& price, std::optional<std::int64_t> ceiling_micro) const;
  bool Admits(const framework::PodInfo& pod, const api::Node& node) const;

  const BestPriceArgs args_;
  framework::Handle& handle_;
  mutable PriceColumn column_;
  std::string scheduler_name_;  // of the profile
};

}  // namespace berth::plugins
