// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/topology_distance/topology_distance.h"

#include <absl/container/flat_hash_map.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/expected.h"
#include "berth/framework/pod_groups.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"
#include "berth/plugins/topology_distance/placed_peers.h"

namespace berth::plugins {
namespace {

using DomainId = TopologyTree::DomainId;
constexpr DomainId kNoDomain = TopologyTree::kNoDomain;

constexpr std::string_view kStateKey = "PreScoreTopologyDistance";
// The most pods that a node or domain counts as having room for.
constexpr std::int64_t kRoomMax = std::int64_t{1} << 32;

// Nodes that are alike for the first pod of a pod group.
struct Span {
  // The smallest comes first: the distance within the narrowest domain that has room for all pods of the group; the
  // room of that one and of all wider ones; the feasible nodes of the leaf, negated.
  using Key = std::array<std::int64_t, kTopologyLevelsMax + 3>;

  DomainId leaf = kNoDomain;
  std::int64_t room_for_all = 0;  // on each of the nodes, if that is enough for all; else 0
  Key key{};
  std::int64_t rank = 0;
};

// How many such pods fit on the node by their requests; at least one, for it is feasible.
std::int64_t RoomOn(const NodeInfo& node, const framework::PodClass& pod_class) {
  std::int64_t room = kRoomMax;
  const auto limit = [&room](std::int64_t request, std::int64_t allocatable, std::int64_t requested) {
    if (request > 0) room = std::min(room, framework::WrappingSub(allocatable, requested) / request);
  };
  const framework::Resource& request = pod_class.requests;
  const framework::Resource& allocatable = node.allocatable();
  const framework::Resource& requested = node.requested();
  limit(request.cpu_milli, allocatable.cpu_milli, requested.cpu_milli);
  limit(request.memory_bytes, allocatable.memory_bytes, requested.memory_bytes);
  limit(request.ephemeral_storage_bytes, allocatable.ephemeral_storage_bytes, requested.ephemeral_storage_bytes);
  for (const auto& [name, amount] : request.scalars) limit(amount, allocatable.Scalar(name), requested.Scalar(name));
  if (allocatable.pods > 0) limit(1, allocatable.pods, static_cast<std::int64_t>(node.pods().size()));
  if (!pod_class.host_ports.empty()) room = 1;
  return std::clamp<std::int64_t>(room, 1, kRoomMax);
}

class TopologyDistance final : public FastPreScore, public FastScore, public GroupingPlugin {
 public:
  TopologyDistance(const TopologyDistanceArgs& args, Handle& handle)
      : levels_(args.levels), max_distance_(args.max_distance), handle_(handle), peers_(args) {}

  std::string_view Name() const override { return names::kTopologyDistance; }

  Dependency PreScoreDependsOn() const override { return Dependency::kCycle; }
  bool PreScoreSkips(const Cycle& cycle, const PodInfo& pod) const override {
    if (!peers_.HasPeers(pod)) return true;
    peers_.Sync(cycle.table);
    return peers_.Find(pod) == nullptr && WaitingPeers(pod).value_or(2) < 2;
  }

  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const override {
    return Prepare(cycle, pod, feasible, {});
  }

  // The sum of the distances to the placed peers. Where that is equal, the domain with more feasible nodes comes first.
  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  std::int64_t Score(const Cycle& cycle, const PodInfo&, NodeIndex row, const NodeInfo&,
                     Status& status) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    if (state == nullptr) {
      status = Status::Error("reading \"" + std::string(kStateKey) + "\" from cycleState: not found");
      return 0;
    }
    return state->RawOf(row, peers_.leaf(row));
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
    const auto* state = cycle.state.Read<State>(kStateKey);
    if (state == nullptr) return FastScore::ScoreRows(cycle, pod, rows, scores, status);
    for (const NodeIndex row : rows) scores[row] = state->RawOf(row, peers_.leaf(row));
  }

  // A row's shared mark is its narrowest domain; rows with peers are special. Its own marks are that domain and the
  // number of peers there. Rows cannot be grouped for the first pod of a pod group, which looks at each node's room.
  std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const override {
    peers_.Sync(cycle.table);
    if (IsFirstOfGroup(pod)) return std::nullopt;
    const Set* const set = peers_.Find(pod);
    return set == nullptr ? Marks{1, peers_.numbering()} : Marks{2, set->version};
  }

  std::optional<Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t special_max,
                                     std::vector<NodeIndex>& special) const override {
    peers_.Sync(cycle.table);
    if (IsFirstOfGroup(pod)) return std::nullopt;
    if (const Set* const set = peers_.Find(pod)) {
      if (set->by_row.size() > special_max) return std::nullopt;
      const auto begin = static_cast<std::ptrdiff_t>(special.size());
      for (const auto& [row, count] : set->by_row) special.push_back(row);
      // The map has no order that would be the same in another process.
      std::sort(special.begin() + begin, special.end());
    }
    return Marks{1, peers_.numbering()};
  }

  void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    peers_.Sync(cycle.table);
    const Set* const set = scope == MarkScope::kOwn ? peers_.Find(pod) : nullptr;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      marks[i * stride] = peers_.leaf(rows[i]);
      if (set == nullptr) continue;
      const auto it = set->by_row.find(rows[i]);
      marks[i * stride + 1] = it == set->by_row.end() ? 0 : static_cast<std::uint32_t>(it->second);
    }
  }

  Status PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                        std::span<const std::size_t> sizes) const override {
    return Prepare(cycle, pod, feasible, sizes);
  }

 private:
  using Set = PlacedPeers::Set;

  // Good until the node table changes.
  struct State final : StateData {
    // A narrowest domain.
    struct Leaf {
      std::int64_t nodes = 0;      // how many of its nodes are feasible
      std::int64_t distance = 0;   // sum of the distances to placed peers, from a node without any
      std::int64_t to_nearby = 0;  // the distance between two of its nodes
    };
    std::vector<Leaf> leaves;    // by number
    std::int64_t nodes_max = 0;  // the most feasible nodes of a leaf
    const Set* set = nullptr;    // null: no peer is placed
    // Raw scores by row, for the first pod of a pod group; empty for others.
    std::vector<std::int64_t> by_room;

    std::int64_t RawOf(NodeIndex row, DomainId leaf_of_row) const {
      if (leaf_of_row >= leaves.size()) return framework::kNoRawScore;
      if (!by_room.empty()) return row < by_room.size() ? by_room[row] : framework::kNoRawScore;
      const Leaf& leaf = leaves[leaf_of_row];
      std::int64_t here = 0;
      if (set != nullptr) {
        if (const auto it = set->by_row.find(row); it != set->by_row.end()) here = it->second;
      }
      // Between leaves of equal distance, the one with more feasible nodes comes first.
      return (leaf.distance - here * leaf.to_nearby) * (nodes_max + 1) + (nodes_max - leaf.nodes);
    }
  };

  // How many pods of its pod group have no node, this one counted; nullopt where nobody knows.
  std::optional<std::size_t> WaitingPeers(const PodInfo& pod) const {
    const framework::PodGroups* const groups = handle_.pod_groups();
    if (groups == nullptr || pod.pod_group_name.empty()) return std::nullopt;
    return groups->CountsOf(framework::GroupOf(pod)).unscheduled;
  }

  bool IsFirstOfGroup(const PodInfo& pod) const {
    return peers_.Find(pod) == nullptr && WaitingPeers(pod).value_or(0) > 1;
  }

  // feasible[i] stands for sizes[i] rows, or without sizes for itself.
  Status Prepare(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                 std::span<const std::size_t> sizes) const {
    if (PreScoreSkips(cycle, pod)) return Status::Skip();
    auto state = std::make_shared<State>();
    state->leaves.resize(peers_.domains().size());
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const DomainId leaf = peers_.leaf(feasible[i]);
      if (leaf == kNoDomain) continue;
      std::int64_t& nodes = state->leaves[leaf].nodes;
      nodes += sizes.empty() ? 1 : static_cast<std::int64_t>(sizes[i]);
      state->nodes_max = std::max(state->nodes_max, nodes);
    }
    state->set = peers_.Find(pod);
    if (state->set != nullptr) {
      AddDistances(*state->set, *state);
    } else if (IsFirstOfGroup(pod) && sizes.empty()) {
      RankByRoom(cycle, pod, feasible, static_cast<std::int64_t>(*WaitingPeers(pod)), *state);
    }
    cycle.state.Write(kStateKey, std::move(state));
    return Status::Success();
  }

  void AddDistances(const Set& set, State& state) const {
    const std::vector<TopologyTree::Domain>& domains = peers_.domains();
    std::vector<std::int64_t> pods(domains.size());
    for (const auto& [row, count] : set.by_row) pods[peers_.leaf(row)] += count;
    for (std::size_t d = domains.size(); d-- > 0;) {
      if (domains[d].parent != kNoDomain) pods[domains[d].parent] += pods[d];
    }
    for (std::size_t l = 0; l < domains.size(); ++l) {
      State::Leaf& leaf = state.leaves[l];
      if (leaf.nodes == 0) continue;
      std::int64_t joined = 0;
      bool is_joined = false;
      leaf.to_nearby = max_distance_;
      for (DomainId d = static_cast<DomainId>(l); d != kNoDomain; d = domains[d].parent) {
        if (!domains[d].is_labelled) continue;
        const std::int64_t distance = levels_[domains[d].level].distance;
        leaf.distance += (pods[d] - joined) * distance;
        joined = pods[d];
        if (!is_joined) leaf.to_nearby = distance;
        is_joined = true;
      }
      leaf.distance += (set.pods - joined) * max_distance_;
    }
  }

  // How far apart the group's pods have to be if this one goes to the row: the narrowest domain around it that has room
  // for all tells. Of such domains the one with the least room comes first, and of equal ones that in the wider domain
  // with the least, so that larger domains stay whole.
  void RankByRoom(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible, std::int64_t wanted,
                  State& state) const {
    const std::vector<TopologyTree::Domain>& domains = peers_.domains();
    std::vector<std::int64_t> room(domains.size());
    std::vector<Span> spans;
    std::vector<std::size_t> span_of(feasible.size(), SIZE_MAX);
    absl::flat_hash_map<std::pair<DomainId, std::int64_t>, std::size_t> known;
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      const DomainId leaf = peers_.leaf(feasible[i]);
      if (leaf == kNoDomain) continue;
      const std::int64_t room_on_node = RoomOn(cycle.table.Info(feasible[i]), *pod.pod_class);
      room[leaf] += room_on_node;
      const std::int64_t room_for_all = room_on_node < wanted ? 0 : room_on_node;
      const auto [it, is_new] = known.try_emplace({leaf, room_for_all}, spans.size());
      if (is_new) spans.push_back({.leaf = leaf, .room_for_all = room_for_all});
      span_of[i] = it->second;
    }
    for (std::size_t d = domains.size(); d-- > 0;) {
      if (domains[d].parent != kNoDomain) room[domains[d].parent] += room[d];
    }
    for (Span& span : spans) {
      span.key.fill(kRoomMax);
      auto next = span.key.begin();
      *next++ = max_distance_;
      const auto add = [&](std::int64_t distance, std::int64_t room_there) {
        if (room_there < wanted) return;
        if (next == span.key.begin() + 1) span.key.front() = distance;
        *next++ = std::min(room_there, kRoomMax);
      };
      add(0, span.room_for_all);
      for (DomainId d = span.leaf; d != kNoDomain; d = domains[d].parent) {
        if (domains[d].is_labelled) add(levels_[domains[d].level].distance, room[d]);
      }
      span.key.back() = -state.leaves[span.leaf].nodes;
    }
    std::vector<Span::Key> keys;
    for (const Span& span : spans) keys.push_back(span.key);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    state.by_room.assign(cycle.table.row_count(), framework::kNoRawScore);
    for (Span& span : spans) span.rank = std::lower_bound(keys.begin(), keys.end(), span.key) - keys.begin();
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      if (span_of[i] != SIZE_MAX) state.by_room[feasible[i]] = spans[span_of[i]].rank;
    }
  }

  const std::vector<TopologyDistanceArgs::Level> levels_;
  const std::int64_t max_distance_;
  const Handle& handle_;
  mutable PlacedPeers peers_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateTopologyDistance(const TopologyDistanceArgs& args, Handle& handle) {
  return std::make_unique<TopologyDistance>(args, handle);
}

}  // namespace berth::plugins
