// SPDX-License-Identifier: Apache-2.0
// The arguments of berth's own strategies, which stand in a DeschedulerPolicy beside the descheduler's. Plain values;
// docs/rebalance.md says what they mean, own_args_reader.h reads them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/selector.h"
#include "berth/base/time.h"
#include "berth/rebalance/pod_selection.h"

namespace berth::rebalance {

// BackToSpot moves pods to spot nodes when there is room, and away from nodes that are about to be taken back.
struct BackToSpotArgs {
  struct Label {
    std::string key;
    std::optional<std::string> value;  // absent: any
    bool operator==(const Label&) const = default;
  };

  PodSelection pods;
  std::vector<Label> spot_labels;                      // of spot nodes, beside those that are known
  bool is_wanted = true;                               // by pods without the annotation berth.dev/spot
  std::vector<std::string> reclaim_taints;             // keys, beside those that are known
  Duration reclaim_within = std::chrono::minutes(10);  // before the time of the annotation berth.dev/reclaim-at
  bool operator==(const BackToSpotArgs&) const = default;
};

// CheaperNode moves pods to cheaper nodes where that pays.
struct CheaperNodeArgs {
  PodSelection pods;
  std::vector<std::string> annotations;  // of nodes, that have prices an hour; empty: those of BestPrice
  Duration horizon = std::chrono::hours(24);
  std::int64_t restart_cost_micro = 10'000;
  // Hysteresis against prices that go up and down: a pod moves if that saves at least this share of what it costs, and
  // if it has been on its node at least as long as min_stay.
  double min_saving_percent = 10;
  Duration min_stay = std::chrono::hours(1);
  bool operator==(const CheaperNodeArgs&) const = default;
};

// BetterScore moves pods to where the scheduler would place them now.
struct BetterScoreArgs {
  static constexpr std::size_t kPodsPerRoundMax = 100'000;

  PodSelection pods;
  std::int64_t min_gain = 50;        // points: the weighted sum of the profile's scores
  std::size_t pods_per_round = 500;  // that are looked at; the next round goes on with others
  Duration min_stay = std::chrono::hours(1);
  bool operator==(const BetterScoreArgs&) const = default;
};

// Consolidate empties whole nodes.
struct ConsolidateArgs {
  std::string node_selector;  // of nodes that may be emptied; empty: all
  // Percent of allocatable that pods request; nodes above it are left alone. Empty: no node is.
  std::map<std::string, double, std::less<>> thresholds;
  std::size_t nodes_per_round = 1;
  std::size_t keep_nodes = 1;  // so many stay in use
  bool operator==(const ConsolidateArgs&) const = default;
};

// Pairs of pods that stand in for each other; both have the same value of a label.
struct CustomMetricPair {
  std::string label;
  std::string topology_key = "kubernetes.io/hostname";  // in whose domains they are kept apart
  std::optional<api::LabelSelector> active;             // which of them works now: it is moved last
  bool operator==(const CustomMetricPair&) const = default;
};

// CustomMetric: a rule on a query to Prometheus, for each pod or each node.
struct CustomMetricArgs {
  enum class Of : std::uint8_t { kPod, kNode };

  PodSelection pods;
  std::string query;
  Of of = Of::kPod;
  std::string pod_label = "pod";  // of the series
  std::string namespace_label = "namespace";
  std::string node_label = "node";
  std::optional<double> above;  // one of the two
  std::optional<double> below;
  Duration lasts{0};  // how long the rule must have held
  std::size_t moves_per_node = 1;
  std::optional<CustomMetricPair> pair;

  // The query, extended so that it asks whether the rule has held for `lasts`.
  std::string FullQuery() const;
  bool operator==(const CustomMetricArgs&) const = default;
};

// Spreads each owner's pods over zones again, after a zone was lost and has come back.
struct ZoneRepairArgs {
  PodSelection pods;
  std::string topology_key = "topology.kubernetes.io/zone";
  std::int64_t max_skew = 1;
  bool operator==(const ZoneRepairArgs&) const = default;
};

}  // namespace berth::rebalance
