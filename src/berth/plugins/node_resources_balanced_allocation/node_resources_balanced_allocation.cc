// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_resources_balanced_allocation/node_resources_balanced_allocation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "berth/core/config/args.h"
#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/scored_resources.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kPreScoreKey = "PreScoreNodeResourcesBalancedAllocation";

struct PreScoreState final : StateData {
  std::vector<std::int64_t> pod_requests;  // parallel to the scored resources
};

// How evenly the resources are used: 100 × (1 - standard deviation of the used fractions). In floating point and in
// upstream's order of operations: the last bit decides which integer comes out.
template <typename Fraction>
std::int64_t Balance(std::size_t resource_count, const Fraction& fraction) {
  std::size_t count = 0;
  double total = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < resource_count; ++i) {
    const double f = fraction(i);
    if (f < 0) continue;
    total += f;
    (count == 0 ? first : second) = f;
    ++count;
  }
  double deviation = 0;
  if (count == 2) {
    deviation = std::abs((first - second) / 2);
  } else if (count > 2) {
    const double mean = total / static_cast<double>(count);
    double sum = 0;
    for (std::size_t i = 0; i < resource_count; ++i) {
      const double f = fraction(i);
      if (f >= 0) sum = sum + (f - mean) * (f - mean);
    }
    deviation = std::sqrt(sum / static_cast<double>(count));
  }
  return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(framework::kNodeScoreMax));
}

constexpr double kNotCounted = -1;

// How releases score.
struct Rules {
  BalanceScore score = BalanceScore::kChange;
  bool saturates = false;  // Release::saturates_scores
};

template <typename Source>
std::int64_t ScoreOf(const Rules& rules, const Source& source, const std::vector<std::int64_t>& pod_requests) {
  const auto fraction = [&](std::size_t i, std::int64_t pod_request) {
    if (!source.resources.IsScored(i, pod_requests[i])) return kNotCounted;
    const ScoredResources::Amounts amounts = source.Of(i);
    if (amounts.allocatable == 0) return kNotCounted;
    const double used = static_cast<double>(SumOf(amounts.allocated, pod_request, rules.saturates)) /
                        static_cast<double>(amounts.allocatable);
    return std::clamp(used, 0.0, 1.0);
  };
  const std::size_t count = pod_requests.size();
  const std::int64_t with_pod = Balance(count, [&](std::size_t i) { return fraction(i, pod_requests[i]); });
  if (rules.score == BalanceScore::kOutcome) return with_pod;
  const std::int64_t without_pod = Balance(count, [&](std::size_t i) { return fraction(i, 0); });
  constexpr std::int64_t kHalf = framework::kNodeScoreMax / 2;
  return kHalf + (kHalf + with_pod - without_pod) / 2;
}

bool RequestsNothing(const std::vector<std::int64_t>& pod_requests) {
  return std::all_of(pod_requests.begin(), pod_requests.end(), [](std::int64_t request) { return request == 0; });
}

class NodeResourcesBalancedAllocation final : public PreScorePlugin,
                                              public FastScore,
                                              public AmountsPlugin,
                                              public ObjectReader {
 public:
  NodeResourcesBalancedAllocation(const config::NodeResourcesBalancedAllocationArgs& args, Handle& handle)
      : rules_{handle.release().scores_change_of_balance ? BalanceScore::kChange : BalanceScore::kOutcome,
               handle.release().saturates_scores},
        scored_(args.resources, PodAmounts::kActual, DeviceState::Of(handle)) {}

  std::string_view Name() const override { return names::kNodeResourcesBalancedAllocation; }
  bool ReadsPlacementOnly() const override { return true; }

  // Skips pods that request none of the resources, or many of them would gather on one node.
  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex>) const override {
    auto state = std::make_shared<PreScoreState>();
    state->pod_requests = scored_.PodRequests(*pod.pod_class);
    if (RequestsNothing(state->pod_requests)) return Status::Skip();
    cycle.state.Write(kPreScoreKey, std::move(state));
    return Status::Success();
  }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    const NodeAmounts source{scored_, node};
    if (const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey)) {
      return ScoreOf(rules_, source, state->pod_requests);
    }
    const std::vector<std::int64_t> pod_requests = scored_.PodRequests(*pod.pod_class);
    return RequestsNothing(pod_requests) ? 0 : ScoreOf(rules_, source, pod_requests);
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    std::vector<std::int64_t> own;
    if (state == nullptr) own = scored_.PodRequests(*pod.pod_class);
    const std::vector<std::int64_t>& pod_requests = state != nullptr ? state->pod_requests : own;
    if (RequestsNothing(pod_requests)) return framework::FillRows<std::int64_t>(rows, scores, 0);
    const auto score_row = [&](NodeIndex row) {
      scores[row] = ScoreOf(rules_, RowAmounts{scored_, cycle.table, row}, pod_requests);
    };
    // Most pods are asked about a single row, that of the pod before them.
    const bool are_many = rows.size() >= kKernelRowsMin;
    const auto columns = are_many ? scored_.CpuAndMemoryRows(cycle.table, pod_requests) : std::nullopt;
    if (!columns) {
      for (const NodeIndex row : rows) score_row(row);
      return;
    }
    const bool are_exact = cycle.table.columns().unusual_count == 0;
    framework::ForEachRun(rows, kKernelRows, [&](NodeIndex first, std::size_t count) {
      const std::array<ResourceRows, 2> piece = From(*columns, first);
      if (count >= kKernelRowsMin && (are_exact || AreExact(piece, count))) {
        BalanceOfTwo(rules_.score, piece, count, &scores[first]);
      } else {
        for (std::size_t i = 0; i < count; ++i) score_row(first + static_cast<NodeIndex>(i));
      }
    });
  }

  bool RestsOnAmounts(const Cycle& cycle, const PodInfo&) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    return state != nullptr && scored_.CpuAndMemoryRows(cycle.table, state->pod_requests);
  }

  void ScoreBounds(const Cycle& emptiest, const Cycle& fullest, const PodInfo&,
                   std::span<std::int64_t> bounds) const override {
    const auto* state = emptiest.state.Read<PreScoreState>(kPreScoreKey);
    const auto low = scored_.CpuAndMemoryRows(emptiest.table, state->pod_requests);
    const auto high = scored_.CpuAndMemoryRows(fullest.table, state->pod_requests);
    BoundsOfBalance(rules_.score, *low, *high, bounds.size(), bounds.data());
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    if (!scored_.MayCountDevices()) return {};
    return {kDeviceClass, kResourceSlice, kResourceClaim};
  }
  std::uint64_t Epoch() const override { return scored_.MayCountDevices() ? scored_.DeviceEpoch() : 0; }

 private:
  const Rules rules_;
  ScoredResources scored_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeResourcesBalancedAllocation(
    const config::NodeResourcesBalancedAllocationArgs& args, Handle& handle) {
  return std::make_unique<NodeResourcesBalancedAllocation>(args, handle);
}

}  // namespace berth::plugins
