// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <absl/container/inlined_vector.h>
#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/core/config/args.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/index_per_table.h"
#include "berth/plugins/inter_pod_affinity/affinity_index.h"
#include "berth/plugins/inter_pod_affinity/hints.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kPreFilterStateKey = "PreFilterInterPodAffinity";
constexpr std::string_view kPreScoreStateKey = "PreScoreInterPodAffinity";

// How many pods more than counted a what-if trial puts into a domain.
struct Delta {
  CountKind kind = CountKind::kAffinity;
  Topology::KeyIndex key = 0;
  Topology::Ordinal ordinal = 0;
  std::int64_t pods = 0;
};

struct PreFilterState final : StateData {
  std::shared_ptr<AffinityIndex> index;
  std::shared_ptr<const AffinityCounts> counts;
  std::vector<Delta> deltas;
  std::size_t affinity_pair_count = 0;  // (key, value) pairs with a count for affinity

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<PreFilterState>(*this); }

  std::int64_t Count(CountKind kind, Topology::KeyIndex key, Topology::Ordinal ordinal) const {
    std::int64_t count = counts->Get(kind, key, ordinal);
    for (const Delta& delta : deltas) {
      if (delta.kind == kind && delta.key == key && delta.ordinal == ordinal) count += delta.pods;
    }
    return count;
  }
  // The count of the domain that a node with that label is in.
  std::int64_t Count(CountKind kind, std::string_view key, std::string_view value) const {
    const Topology::KeyIndex index_of_key = index->topology().Find(key);
    if (index_of_key == Topology::kNoKey) return 0;
    return Count(kind, index_of_key, index->topology().FindOrdinal(index_of_key, value));
  }
  bool Any(CountKind kind) const { return !deltas.empty() || counts->Any(kind); }

  void Add(CountKind kind, Topology::KeyIndex key, Topology::Ordinal ordinal, std::int64_t pods) {
    const bool had_any = Count(kind, key, ordinal) != 0;
    deltas.push_back({kind, key, ordinal, pods});
    const bool has_any = Count(kind, key, ordinal) != 0;
    if (kind != CountKind::kAffinity || had_any == has_any) return;
    affinity_pair_count = has_any ? affinity_pair_count + 1 : affinity_pair_count - 1;
  }
};

struct PreScoreState final : StateData {
  std::shared_ptr<const AffinityIndex> index;
  std::shared_ptr<const AffinityCounts> counts;
};

Status NoPreFilterState() {
  return Status::Error("error reading \"" + std::string(kPreFilterStateKey) + "\" from cycleState: not found");
}

Status NoPreScoreState() {
  return Status::Error("failed to read \"" + std::string(kPreScoreStateKey) + "\" from cycleState: not found");
}

// Every required affinity term needs a matching pod in the node's domain.
bool SatisfiesAffinity(const PreFilterState& state, const NodeInfo& node) {
  bool pods_exist = true;
  for (const AffinityTerm& term : state.counts->terms().required_affinity) {
    const std::string* value = node.node().metadata.labels.Find(term.topology_key());
    if (value == nullptr) return false;
    if (state.Count(CountKind::kAffinity, term.topology_key(), *value) <= 0) pods_exist = false;
  }
  // The first pod of a group that wants to be together: nobody matches anywhere, and the pod would match itself.
  return pods_exist || (state.affinity_pair_count == 0 && state.counts->matches_itself());
}

bool SatisfiesAntiAffinity(const PreFilterState& state, const NodeInfo& node) {
  for (const AffinityTerm& term : state.counts->terms().required_anti_affinity) {
    const std::string* value = node.node().metadata.labels.Find(term.topology_key());
    if (value != nullptr && state.Count(CountKind::kAntiAffinity, term.topology_key(), *value) > 0) return false;
  }
  return true;
}

bool SatisfiesExistingAntiAffinity(const PreFilterState& state, const NodeInfo& node) {
  if (!state.Any(CountKind::kExistingAntiAffinity)) return true;
  for (const auto& [key, value] : node.node().metadata.labels) {
    if (state.Count(CountKind::kExistingAntiAffinity, key, value) > 0) return false;
  }
  return true;
}

// Puts by_ordinal[ordinal of the row] where a row has no verdict yet; it may be kVerdictOk. Without a branch that
// depends on the row: which rows are refused is as good as random.
void Refuse(const std::vector<VerdictId>& by_ordinal, const std::vector<Topology::Ordinal>& ordinals,
            std::span<const NodeIndex> rows, std::span<VerdictId> verdicts) {
  static_assert(kVerdictOk == 0);
  const VerdictId* verdict_of = by_ordinal.data();
  const Topology::Ordinal* ordinal_of = ordinals.data();
  VerdictId* out = verdicts.data();
  for (const NodeIndex row : rows) {
    const VerdictId own = verdict_of[ordinal_of[row]];
    const VerdictId before = out[row];
    out[row] = before == 0 ? own : before;
  }
}

// More counters than these are rare, and tell too many groups apart.
constexpr std::size_t kMarksMax = 16;

// Whether a counter marks a row by its sum there, and not by the row's value of the key.
bool MarksBySum(const TopologyCounter& counter, const Topology& topology) {
  return topology.OrdinalCount(counter.key()) > TopologyCounter::kListMax && topology.IsUnique(counter.key());
}

// The sum at `ordinal` for a score; for a filter, which asks only whether it is positive, 2, 1 or 0.
std::uint64_t MarkOfSum(const TopologyCounter& counter, Topology::Ordinal ordinal) {
  const std::int64_t sum = counter.Get(ordinal);
  if (counter.kind() == CountKind::kScore) return static_cast<std::uint64_t>(sum);
  return ordinal == 0 ? 0 : sum > 0 ? 2 : 1;
}

// A key of counters, and how it marks.
struct SharedKey {
  Topology::KeyIndex key = 0;
  bool is_by_sum = false;
  auto operator<=>(const SharedKey&) const = default;
};
using SharedKeys = absl::InlinedVector<SharedKey, kMarksMax>;

SharedKeys SharedKeysOf(const AffinityCounts& counts, const Topology& topology) {
  SharedKeys keys;
  for (const TopologyCounter& counter : counts.counters())
    keys.push_back({counter.key(), MarksBySum(counter, topology)});
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Whether to look sums up for these rows instead of laying out all sums first.
bool AreFew(std::span<const NodeIndex> rows, const TopologyCounter& counter, const Topology& topology) {
  return rows.size() < topology.OrdinalCount(counter.key()) / 4;
}

// Refuses the rows in whose domain the counter's sum is above 0.
void RefuseWherePositive(const TopologyCounter& counter, const Topology& topology, std::span<const NodeIndex> rows,
                         std::span<VerdictId> verdicts, CachedRefusal& refusal) {
  if (counter.nonzero_count() == 0) return;
  if (AreFew(rows, counter, topology)) {
    const std::vector<Topology::Ordinal>& ordinals = topology.OrdinalsOf(counter.key());
    for (const NodeIndex row : rows) {
      if (verdicts[row] == kVerdictOk && counter.Get(ordinals[row]) > 0) verdicts[row] = refusal.Get();
    }
    return;
  }
  std::vector<std::int64_t> scratch;
  const std::span<const std::int64_t> sums = counter.Array(scratch);
  std::vector<VerdictId> by_ordinal(topology.OrdinalCount(counter.key()), kVerdictOk);
  const VerdictId verdict = refusal.Get();
  for (std::size_t i = 0; i < sums.size(); ++i) by_ordinal[i] = sums[i] > 0 ? verdict : kVerdictOk;
  Refuse(by_ordinal, topology.OrdinalsOf(counter.key()), rows, verdicts);
}

// Refuses the rows without the counter's key, and unless `any_domain` those in whose domain the sum is not above 0.
void RefuseUnlessPositive(const TopologyCounter& counter, const Topology& topology, bool any_domain,
                          std::span<const NodeIndex> rows, std::span<VerdictId> verdicts, CachedRefusal& refusal) {
  if (AreFew(rows, counter, topology)) {
    const std::vector<Topology::Ordinal>& ordinals = topology.OrdinalsOf(counter.key());
    for (const NodeIndex row : rows) {
      const bool has_domain = ordinals[row] != 0 && (any_domain || counter.Get(ordinals[row]) > 0);
      if (verdicts[row] == kVerdictOk && !has_domain) verdicts[row] = refusal.Get();
    }
    return;
  }
  std::vector<std::int64_t> scratch;
  const std::span<const std::int64_t> sums = counter.Array(scratch);
  const VerdictId verdict = refusal.Get();
  std::vector<VerdictId> by_ordinal(topology.OrdinalCount(counter.key()), any_domain ? kVerdictOk : verdict);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] > 0) by_ordinal[i] = kVerdictOk;
  }
  by_ordinal[0] = verdict;
  Refuse(by_ordinal, topology.OrdinalsOf(counter.key()), rows, verdicts);
}

// Adds the counter's sum of each row's domain to the row's score, or makes it the score.
void AddSums(const TopologyCounter& counter, const Topology& topology, bool is_first, std::span<const NodeIndex> rows,
             std::span<std::int64_t> scores) {
  if (AreFew(rows, counter, topology)) {
    const std::vector<Topology::Ordinal>& ordinals = topology.OrdinalsOf(counter.key());
    for (const NodeIndex row : rows) scores[row] = counter.Get(ordinals[row]) + (is_first ? 0 : scores[row]);
    return;
  }
  std::vector<std::int64_t> scratch;
  std::span<const std::int64_t> sums = counter.Array(scratch);
  const std::size_t ordinal_count = topology.OrdinalCount(counter.key());
  std::vector<std::int64_t> all;
  if (sums.size() < ordinal_count) {
    all.resize(ordinal_count);
    std::copy(sums.begin(), sums.end(), all.begin());
    sums = all;
  }
  const std::int64_t* sum_of = sums.data();
  const Topology::Ordinal* ordinal_of = topology.OrdinalsOf(counter.key()).data();
  std::int64_t* out = scores.data();
  if (is_first) {
    for (const NodeIndex row : rows) out[row] = sum_of[ordinal_of[row]];
  } else {
    for (const NodeIndex row : rows) out[row] += sum_of[ordinal_of[row]];
  }
}

// Upstream computes in float64; so does this, once for each distinct score where they lie close together.
void Normalize(std::span<NodeScore> scores) {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = std::numeric_limits<std::int64_t>::min();
  for (const NodeScore& score : scores) {
    min = std::min(min, score.score);
    max = std::max(max, score.score);
  }
  if (max <= min) {
    for (NodeScore& score : scores) score.score = 0;
    return;
  }
  const std::int64_t range = max - min;
  const auto normalized = [range](std::int64_t above_min) {
    return static_cast<std::int64_t>(static_cast<double>(framework::kNodeScoreMax) *
                                     (static_cast<double>(above_min) / static_cast<double>(range)));
  };
  if (range >= static_cast<std::int64_t>(scores.size())) {
    for (NodeScore& score : scores) score.score = normalized(score.score - min);
    return;
  }
  std::vector<std::int64_t> by_distance(static_cast<std::size_t>(range) + 1, -1);
  for (NodeScore& score : scores) {
    std::int64_t& known = by_distance[static_cast<std::size_t>(score.score - min)];
    if (known < 0) known = normalized(score.score - min);
    score.score = known;
  }
}

class InterPodAffinity final : public PreFilterPlugin,
                               public FastFilter,
                               public FastPreScore,
                               public FastScore,
                               public GroupingPlugin,
                               public ObjectReader,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kAffinityReason = "node(s) didn't match pod affinity rules";
  static constexpr std::string_view kAntiAffinityReason = "node(s) didn't match pod anti-affinity rules";
  static constexpr std::string_view kExistingAntiAffinityReason =
      "node(s) didn't satisfy existing pods anti-affinity rules";

  InterPodAffinity(const config::InterPodAffinityArgs& args, const Handle& handle)
      : hard_affinity_weight_(args.hard_pod_affinity_weight),
        ignores_preferred_terms_of_existing_pods_(args.ignore_preferred_terms_of_existing_pods),
        handle_(handle) {}

  std::string_view Name() const override { return names::kInterPodAffinity; }

  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    const auto [index, counts] = Prepare(cycle, pod);
    if (counts == nullptr) return {Status::Skip(), std::nullopt};
    const PodTerms& terms = counts->terms();
    if (!terms.error.empty()) {
      return {Status::UnschedulableAndUnresolvable("parsing pod: " + terms.error), std::nullopt};
    }
    if (terms.required_affinity.empty() && terms.required_anti_affinity.empty() &&
        !counts->Any(CountKind::kExistingAntiAffinity)) {
      return {Status::Skip(), std::nullopt};
    }
    auto state = std::make_shared<PreFilterState>();
    state->index = index;
    state->counts = counts;
    state->affinity_pair_count = counts->PairCount(CountKind::kAffinity);
    cycle.state.Write(kPreFilterStateKey, std::move(state));
    return {};
  }
  bool HasPreFilterExtensions() const override { return true; }
  Status AddPod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const override {
    return UpdateWithPod(cycle, pod, other, node, +1);
  }

  Status RemovePod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node) const override {
    return UpdateWithPod(cycle, pod, other, node, -1);
  }

  Dependency FilterDependsOn() const override { return Dependency::kCycle; }
  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    const auto* state = cycle.state.Read<PreFilterState>(kPreFilterStateKey);
    if (state == nullptr) return NoPreFilterState();
    if (!SatisfiesAffinity(*state, node)) return Status::UnschedulableAndUnresolvable(std::string(kAffinityReason));
    if (!SatisfiesAntiAffinity(*state, node)) return Status::Unschedulable(std::string(kAntiAffinityReason));
    if (!SatisfiesExistingAntiAffinity(*state, node)) {
      return Status::Unschedulable(std::string(kExistingAntiAffinityReason));
    }
    return {};
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* state = cycle.state.Read<PreFilterState>(kPreFilterStateKey);
    if (state == nullptr || !state->deltas.empty()) {
      FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
      return;
    }
    const AffinityCounts& counts = *state->counts;
    const Topology& topology = state->index->topology();
    CachedRefusal affinity(statuses, Code::kUnschedulableAndUnresolvable, kAffinityReason);
    CachedRefusal anti_affinity(statuses, Code::kUnschedulable, kAntiAffinityReason);
    CachedRefusal existing(statuses, Code::kUnschedulable, kExistingAntiAffinityReason);
    const bool is_first = state->affinity_pair_count == 0 && counts.matches_itself();
    const auto each = [&counts](CountKind kind, const auto& visit) {
      for (const TopologyCounter& counter : counts.counters()) {
        if (counter.kind() == kind) visit(counter);
      }
    };
    each(CountKind::kAffinity, [&](const TopologyCounter& counter) {
      RefuseUnlessPositive(counter, topology, is_first, rows, verdicts, affinity);
    });
    each(CountKind::kAntiAffinity, [&](const TopologyCounter& counter) {
      if (counter.pod_count() > 0) RefuseWherePositive(counter, topology, rows, verdicts, anti_affinity);
    });
    each(CountKind::kExistingAntiAffinity, [&](const TopologyCounter& counter) {
      if (counter.pod_count() > 0) RefuseWherePositive(counter, topology, rows, verdicts, existing);
    });
  }

  bool PreScoreSkips(const Cycle& cycle, const PodInfo& pod) const override {
    if (IgnoresPodsWithout(pod)) return true;
    const auto& counts = Prepare(cycle, pod).counts;
    return counts == nullptr || (counts->terms().error.empty() && !counts->Any(CountKind::kScore));
  }

  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex>) const override {
    if (IgnoresPodsWithout(pod)) return Status::Skip();
    const auto [index, counts] = Prepare(cycle, pod);
    if (counts == nullptr) return Status::Skip();
    // A profile may leave out PreFilter, which reports this first.
    if (!counts->terms().error.empty()) return Status::Error("failed to parse pod: " + counts->terms().error);
    if (!counts->Any(CountKind::kScore)) return Status::Skip();
    auto state = std::make_shared<PreScoreState>();
    state->index = index;
    state->counts = counts;
    cycle.state.Write(kPreScoreStateKey, std::move(state));
    return {};
  }

  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  Normalization ScoreNormalization() const override { return Normalization::kCustom; }
  std::int64_t Score(const Cycle& cycle, const PodInfo&, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreStateKey);
    if (state == nullptr) {
      status = NoPreScoreState();
      return 0;
    }
    std::int64_t score = 0;
    const Topology& topology = state->index->topology();
    for (const auto& [key, value] : node.node().metadata.labels) {
      const Topology::KeyIndex index = topology.Find(key);
      if (index == Topology::kNoKey) continue;
      score += state->counts->Get(CountKind::kScore, index, topology.FindOrdinal(index, value));
    }
    return score;
  }

  void ScoreRows(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> rows, std::span<std::int64_t> scores,
                 Status& status) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreStateKey);
    if (state == nullptr) {
      status = NoPreScoreState();
      return;
    }
    // There is at least one counter for scores: else PreScore returned kSkip.
    bool is_first = true;
    for (const TopologyCounter& counter : state->counts->counters()) {
      if (counter.kind() != CountKind::kScore) continue;
      AddSums(counter, state->index->topology(), is_first, rows, scores);
      is_first = false;
    }
  }

  Status NormalizeScore(const Cycle& cycle, const PodInfo&, std::span<NodeScore> scores) const override {
    if (cycle.state.Read<PreScoreState>(kPreScoreStateKey) == nullptr) return NoPreScoreState();
    Normalize(scores);
    return {};
  }

  std::vector<ObjectKind> ObjectsRead() const override { return {ObjectKind::kNamespace}; }
  // A row's marks are its values of keys with few values, and its sums of keys that tell the nodes apart.
  std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const override {
    const auto [index, counts] = Prepare(cycle, pod);
    if (counts == nullptr) return Marks{};
    // A counter of a key with many values marks by its sums where each node has a value of its own, and else by values:
    // a pod that comes must not change the marks of nodes that it did not come to.
    std::uint64_t by_sum = 0;
    const std::vector<TopologyCounter>& counters = counts->counters();
    if (counters.size() > kMarksMax) return std::nullopt;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (MarksBySum(counters[i], index->topology())) by_sum |= std::uint64_t{1} << i;
    }
    return Marks{2 * counters.size(), counts->MarksVersion(by_sum, versions_made_)};
  }

  // Shared marks are the values of the keys with few of them; of keys that tell the nodes apart only whether a node has
  // the label, and the nodes where there is a sum are special.
  std::optional<Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t special_max,
                                     std::vector<NodeIndex>& special) const override {
    const auto [index, counts] = Prepare(cycle, pod);
    if (counts == nullptr) return Marks{};
    if (counts->counters().size() > kMarksMax) return std::nullopt;
    const Topology& topology = index->topology();
    std::vector<Topology::Ordinal> ordinals;
    for (const TopologyCounter& counter : counts->counters()) {
      if (!MarksBySum(counter, topology)) continue;
      if (counter.nonzero_count() > special_max) return std::nullopt;
      ordinals.clear();
      counter.CollectNonzero(ordinals);
      for (const Topology::Ordinal ordinal : ordinals) {
        const NodeIndex row = topology.RowOf(counter.key(), ordinal);
        if (row != kNoNode) special.push_back(row);
      }
    }
    const SharedKeys keys = SharedKeysOf(*counts, topology);
    if (keys.empty()) return Marks{};
    std::string text = std::to_string(index->id()) + "/" + std::to_string(index->reset_count());
    for (const SharedKey& key : keys) text += (key.is_by_sum ? "?" : "=") + std::to_string(key.key);
    if (shared_versions_.size() > kSharedVersionsMax) shared_versions_.clear();
    const auto [it, is_new] = shared_versions_.try_emplace(std::move(text), versions_made_ + 1);
    if (is_new) ++versions_made_;
    return Marks{keys.size(), it->second};
  }

  void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    const auto [index, counts] = Prepare(cycle, pod);
    const Topology& topology = index->topology();
    std::size_t offset = 0;
    if (scope == MarkScope::kShared) {
      for (const SharedKey& key : SharedKeysOf(*counts, topology)) {
        const std::vector<Topology::Ordinal>& ordinals = topology.OrdinalsOf(key.key);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const Topology::Ordinal ordinal = ordinals[rows[i]];
          marks[i * stride + offset] = key.is_by_sum ? (ordinal != 0 ? 1 : 0) : ordinal;
        }
        ++offset;
      }
      return;
    }
    for (const TopologyCounter& counter : counts->counters()) {
      const std::vector<Topology::Ordinal>& ordinals = topology.OrdinalsOf(counter.key());
      const bool is_by_sum = MarksBySum(counter, topology);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Topology::Ordinal ordinal = ordinals[rows[i]];
        const std::uint64_t mark = is_by_sum ? MarkOfSum(counter, ordinal) : ordinal;
        marks[i * stride + offset] = static_cast<std::uint32_t>(mark);
        marks[i * stride + offset + 1] = static_cast<std::uint32_t>(mark >> 32);
      }
      offset += 2;
    }
  }

  Status PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                        std::span<const std::size_t>) const override {
    return PreScore(cycle, pod, feasible);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return PodAffinityEvents({handle_, [this]() -> AffinityIndex* {
                                const NodeTable* const table = handle_.node_table();
                                return table == nullptr ? nullptr : IndexFor(*table).get();
                              }});
  }

  void DropIdle() override {
    indexes_.DropIdle();
    for (const auto& index : indexes_.all()) index->DropIdle();
    // An index without a table is rebuilt when it is asked for again.
    std::erase_if(indexes_.all(), [](const auto& index) { return index->table() == nullptr; });
  }

 private:
  // The references are good until Prepare is called again.
  struct Prepared {
    const std::shared_ptr<AffinityIndex>& index;
    const std::shared_ptr<const AffinityCounts>& counts;  // null: neither the pod nor a running one has terms
  };

  // The table's index, brought up to date.
  const std::shared_ptr<AffinityIndex>& IndexFor(const NodeTable& table) const {
    return indexes_.For(table, [this] {
      return std::make_shared<AffinityIndex>(handle_.objects().Of<api::Namespace>(), hard_affinity_weight_,
                                             ++indexes_made_, handle_.release().resolves_namespace_selectors);
    });
  }

  Prepared Prepare(const Cycle& cycle, const PodInfo& pod) const {
    static const std::shared_ptr<const AffinityCounts> kNoCounts;
    const std::shared_ptr<AffinityIndex>& index = IndexFor(cycle.table);
    const bool has_terms = !pod.spec().pod_affinity.empty() || !pod.spec().pod_anti_affinity.empty();
    if (!has_terms && !index->HasCarriers()) return {index, kNoCounts};
    return {index, index->CountsFor(pod.pod_class)};
  }

  bool IgnoresPodsWithout(const PodInfo& pod) const {
    return ignores_preferred_terms_of_existing_pods_ && pod.spec().pod_affinity.preferred.empty() &&
           pod.spec().pod_anti_affinity.preferred.empty();
  }

  Status UpdateWithPod(const Cycle& cycle, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
                       std::int64_t sign) const {
    const auto* state = cycle.state.Read<PreFilterState>(kPreFilterStateKey);
    if (state == nullptr) return NoPreFilterState();
    std::vector<Delta> deltas;
    AffinityIndex& index = *state->index;
    for (const AffinityEffect& effect : index.EffectsOf(*state->counts, pod.pod_class, other.pod_class)) {
      const std::string* value = node.node().metadata.labels.Find(index.topology().name(effect.key));
      if (value == nullptr) continue;
      const Topology::Ordinal ordinal = index.topology().InternOrdinal(effect.key, *value);
      deltas.push_back({effect.kind, effect.key, ordinal, sign * effect.weight});
    }
    if (deltas.empty()) return {};
    auto* own = cycle.state.Mutable<PreFilterState>(kPreFilterStateKey);
    for (const Delta& delta : deltas) own->Add(delta.kind, delta.key, delta.ordinal, delta.pods);
    return {};
  }

  const std::int32_t hard_affinity_weight_;
  const bool ignores_preferred_terms_of_existing_pods_;
  const Handle& handle_;
  mutable IndexPerTable<AffinityIndex> indexes_;
  mutable std::uint64_t indexes_made_ = 0;
  // Versions of shared marks, by what they rest on. A version number is not used again.
  static constexpr std::size_t kSharedVersionsMax = 4096;
  mutable StringHashMap<std::uint64_t> shared_versions_;
  mutable std::uint64_t versions_made_ = 0;  // of shared marks and of those of classes
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateInterPodAffinity(const config::InterPodAffinityArgs& args, Handle& handle) {
  return std::make_unique<InterPodAffinity>(args, handle);
}

}  // namespace berth::plugins
