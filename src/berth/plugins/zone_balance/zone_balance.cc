// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/zone_balance/zone_balance.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/owner_pods.h"
#include "berth/plugins/names.h"
#include "berth/plugins/zone_balance/zone_pools.h"

namespace berth::plugins {
namespace {

__extension__ using Wide = __int128;

constexpr std::string_view kStateKey = "PreScoreZoneBalance";
// Weights are in thousandths of a pod.
constexpr std::int64_t kPartsOfPod = 1000;
// Far more than any cluster has room for; two of them multiplied still fit.
constexpr Wide kWeightMax = Wide{1} << 60;

// A zone in which the pod can go.
struct Due {
  ZonePools::ZoneId zone = ZonePools::kNoZone;
  std::int64_t pods = 0;  // of the owner, with the one to be placed
  std::int64_t weight = 1;
  Wide cpu_milli = 0, memory_bytes = 0;  // free on feasible nodes

  // True when this zone has fewer pods for its weight than `other`.
  bool operator<(const Due& other) const { return Wide{pods} * other.weight < Wide{other.pods} * weight; }
};

// How many pods of the class the zone's free capacity has room for, in parts of a pod.
std::int64_t WeightOf(const Due& due, const framework::PodClass& pod_class) {
  const auto parts = [](Wide free, std::int64_t request) {
    return free * kPartsOfPod / std::max<std::int64_t>(request, 1);
  };
  const Wide weight = std::min(parts(due.cpu_milli, pod_class.nonzero_cpu_milli),
                               parts(due.memory_bytes, pod_class.nonzero_memory_bytes));
  return static_cast<std::int64_t>(std::clamp(weight, Wide{1}, kWeightMax));
}

class ZoneBalance final : public FastPreScore, public FastScore, public GroupingPlugin {
 public:
  explicit ZoneBalance(const ZoneBalanceArgs& args)
      : weights_(args.weights),
        pods_([this](const api::Node& node) { return zones_.ZoneOf(node); }, OwnerPods::Owners::kAll) {}

  std::string_view Name() const override { return names::kZoneBalance; }

  Dependency PreScoreDependsOn() const override { return Dependency::kCycle; }
  bool PreScoreSkips(const Cycle& cycle, const PodInfo&) const override {
    zones_.Sync(cycle.table);
    return zones_.live_zone_count() < 2;
  }

  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const override {
    return Rank(cycle, pod, feasible, {});
  }

  // The rank of the node's zone, from 0 for the one that is due; kNoRawScore for nodes without a zone.
  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  std::int64_t Score(const Cycle& cycle, const PodInfo&, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    if (state == nullptr) {
      status = Status::Error("reading \"" + std::string(kStateKey) + "\" from cycleState: not found");
      return 0;
    }
    const ZonePools::ZoneId zone = zones_.ZoneOf(node.node());
    return zone < state->ranks.size() ? state->ranks[zone] : framework::kNoRawScore;
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    if (state == nullptr) return FastScore::ScoreRows(cycle, pod, rows, scores, status);
    for (const NodeIndex row : rows) {
      const ZonePools::PoolId pool = zones_.pool_of(row);
      scores[row] = pool == ZonePools::kNoPool ? framework::kNoRawScore : state->ranks[zones_.pools()[pool].zone];
    }
  }

  // A row's mark is its pool: the same for all classes.
  std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo&) const override {
    zones_.Sync(cycle.table);
    return Marks{1, zones_.numbering()};
  }

  std::optional<Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t,
                                     std::vector<NodeIndex>&) const override {
    return MarksOf(cycle, pod);
  }

  void MarkRows(const Cycle& cycle, const PodInfo&, MarkScope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    zones_.Sync(cycle.table);
    for (std::size_t i = 0; i < rows.size(); ++i) marks[i * stride] = zones_.pool_of(rows[i]);
  }

  Status PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                        std::span<const std::size_t> sizes) const override {
    return Rank(cycle, pod, feasible, sizes);
  }

 private:
  // Good until the node table changes.
  struct State final : StateData {
    std::vector<std::int64_t> ranks;  // by zone
  };

  void Sync(const NodeTable& nodes) const {
    zones_.Sync(nodes);
    if (numbering_ != zones_.numbering()) {
      pods_.Forget();
      numbering_ = zones_.numbering();
    }
    pods_.Sync(nodes);
  }

  // feasible[i] stands for sizes[i] rows, or without sizes for itself.
  Status Rank(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
              std::span<const std::size_t> sizes) const {
    Sync(cycle.table);
    if (zones_.live_zone_count() < 2) return Status::Skip();
    std::vector<std::int64_t> feasible_in(zones_.pools().size());
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const ZonePools::PoolId pool = zones_.pool_of(feasible[i]);
      if (pool != ZonePools::kNoPool) feasible_in[pool] += sizes.empty() ? 1 : static_cast<std::int64_t>(sizes[i]);
    }

    std::vector<Due> dues;
    std::vector<std::size_t> due_of(zones_.zone_count(), SIZE_MAX);
    for (std::size_t p = 0; p < feasible_in.size(); ++p) {
      const ZonePools::Pool& pool = zones_.pools()[p];
      if (feasible_in[p] == 0 || pool.zone == ZonePools::kNoZone) continue;
      if (due_of[pool.zone] == SIZE_MAX) {
        due_of[pool.zone] = dues.size();
        dues.emplace_back();
        dues.back().zone = pool.zone;
        dues.back().pods = 1;
      }
      Due& due = dues[due_of[pool.zone]];
      due.cpu_milli += Wide{pool.free_cpu_milli} * feasible_in[p] / pool.nodes;
      due.memory_bytes += Wide{pool.free_memory_bytes} * feasible_in[p] / pool.nodes;
    }
    for (const OwnerPods::Count& count : pods_.CountsOf(*pod.pod_class)) {
      if (due_of[count.domain] != SIZE_MAX) dues[due_of[count.domain]].pods += count.pods;
    }
    if (weights_ == ZoneBalanceArgs::Weights::kFreeCapacity) {
      for (Due& due : dues) due.weight = WeightOf(due, *pod.pod_class);
    }

    std::sort(dues.begin(), dues.end());
    auto state = std::make_shared<State>();
    state->ranks.assign(zones_.zone_count(), framework::kNoRawScore);
    std::int64_t rank = 0;
    for (std::size_t i = 0; i < dues.size(); ++i) {
      if (i > 0 && dues[i - 1] < dues[i]) ++rank;
      state->ranks[dues[i].zone] = rank;
    }
    cycle.state.Write(kStateKey, std::move(state));
    return Status::Success();
  }

  const ZoneBalanceArgs::Weights weights_;
  mutable ZonePools zones_;
  mutable OwnerPods pods_;               // by zone
  mutable std::uint64_t numbering_ = 0;  // the numbering of zones that pods_ counts by
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateZoneBalance(const ZoneBalanceArgs& args, Handle&) {
  return std::make_unique<ZoneBalance>(args);
}

}  // namespace berth::plugins
