// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/pod_topology_spread.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <absl/container/inlined_vector.h>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/go_math.h"
#include "berth/plugins/pod_topology_spread/hints.h"

namespace berth::plugins {
namespace {

using api::UnsatisfiableConstraintAction;
using framework::Cycle;
using framework::NodeIndex;
using framework::NodeInfo;
using framework::PodInfo;
using framework::Status;

constexpr std::string_view kPreFilterKey = "PreFilterPodTopologySpread";
constexpr std::string_view kPreScoreKey = "PreScorePodTopologySpread";
constexpr std::string_view kHostname = kHostnameKey;
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::int64_t kInvalidScore = -1;
// Sorting the values of so few rows is cheaper than a bit for each value.
constexpr std::size_t kValuesPerSortedRow = 64;

// Pods that came to a domain or left it, in a clone of the state: as if they had.
struct DomainDifference {
  std::size_t constraint = 0;
  DomainId domain = 0;
  std::int32_t pods = 0;
};

// The DoNotSchedule constraints and their counts. Good until the node table changes.
struct PreFilterState final : framework::StateData {
  std::unique_ptr<framework::StateData> Clone() const override { return std::make_unique<PreFilterState>(*this); }

  void Add(std::size_t constraint, DomainId domain, std::int32_t pods) {
    for (DomainDifference& difference : differences) {
      if (difference.constraint != constraint || difference.domain != domain) continue;
      difference.pods += pods;
      return;
    }
    differences.push_back({constraint, domain, pods});
  }

  std::int32_t Count(std::size_t constraint, DomainId domain) const {
    std::int32_t count = counts->hard().domains[constraint]->Count(domain);
    for (const DomainDifference& difference : differences) {
      if (difference.constraint == constraint && difference.domain == domain) count += difference.pods;
    }
    return count;
  }

  // The smallest count of a domain.
  std::int32_t Minimum(std::size_t constraint) const {
    const DomainCounts& domains = *counts->hard().domains[constraint];
    // Upstream takes too few domains for one more that is empty.
    if (domains.size() < counts->hard().constraints[constraint].min_domains) return 0;
    if (differences.empty()) return domains.Minimum();
    std::vector<DomainId> changed;
    std::int32_t minimum = DomainCounts::kNoMinimum;
    for (const DomainDifference& difference : differences) {
      if (difference.constraint != constraint) continue;
      changed.push_back(difference.domain);
      minimum = std::min(minimum, Count(constraint, difference.domain));
    }
    return std::min(minimum, domains.MinimumWithout(changed));
  }

  // How many pods a domain may have for one more not to skew the constraint too much.
  std::int64_t CountMax(std::size_t constraint) const {
    const SpreadConstraint& c = counts->hard().constraints[constraint];
    const std::int64_t self = c.Matches(counts->pod_class().labels) ? 1 : 0;
    return std::int64_t{c.max_skew} + Minimum(constraint) - self;
  }

  std::shared_ptr<const SpreadCounts> counts;
  std::vector<DomainDifference> differences;
};

// The ScheduleAnyway constraints and their counts.
struct PreScoreState final : framework::StateData {
  std::shared_ptr<const SpreadCounts> counts;
  std::vector<double> weights;  // by constraint
};

Status NoState(std::string_view prefix, std::string_view key) {
  return Status::Error(std::string(prefix) + " \"" + std::string(key) + "\" from cycleState: not found");
}
Status NoPreFilterState() { return NoState("reading", kPreFilterKey); }
Status NoPreScoreState() { return NoState("error reading", kPreScoreKey); }

// The share of one constraint in a node's score. Upstream's order of operations: the last bit decides how it is
// rounded.
double ScoreForCount(std::int32_t count, std::int32_t max_skew, double weight) {
  return static_cast<double>(count) * weight + static_cast<double>(std::int64_t{max_skew} - 1);
}

// math.Round: halves away from zero. The scores are far below 2^53.
std::int64_t Rounded(double score) {
  const auto whole = static_cast<std::int64_t>(score);
  const double rest = score - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

// How many domains of a soft constraint there are among these nodes, those that lack a key left out.
std::size_t CountDomains(const SpreadCounts& counts, std::size_t constraint, std::span<const NodeIndex> feasible) {
  const SpreadCounts::Group& soft = counts.soft();
  const SpreadKey& key = soft.key(constraint);
  const auto domain_of = [&key](NodeIndex row) { return key.by_row[row] != 0 ? key.by_row[row] : kEmptyDomain; };
  if (feasible.size() * kValuesPerSortedRow < key.rows_of.size()) {
    absl::InlinedVector<DomainId, 64> seen;
    for (const NodeIndex row : feasible) {
      if (!soft.LacksKey(row)) seen.push_back(domain_of(row));
    }
    std::sort(seen.begin(), seen.end());
    return static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
  }
  const std::size_t all = counts.SoftDomainCount(constraint);
  std::vector<bool> is_seen(key.rows_of.size());
  std::size_t domains = 0;
  for (const NodeIndex row : feasible) {
    if (soft.LacksKey(row)) continue;
    const DomainId domain = domain_of(row);
    if (is_seen[domain]) continue;
    is_seen[domain] = true;
    if (++domains == all) break;
  }
  return domains;
}

// Of constraints with many domains the counts per domain are small; the weight makes up for it. feasible[i] stands for
// sizes[i] rows, or without sizes for itself.
std::vector<double> Weights(const SpreadCounts& counts, std::span<const NodeIndex> feasible,
                            std::span<const std::size_t> sizes) {
  const SpreadCounts::Group& soft = counts.soft();
  std::vector<double> weights;
  for (std::size_t i = 0; i < soft.constraints.size(); ++i) {
    std::size_t domains = 0;
    if (soft.constraints[i].topology_key != kHostname) {
      domains = CountDomains(counts, i, feasible);
    } else if (sizes.empty() && soft.key_set->lacking_rows == 0) {
      domains = feasible.size();
    } else {
      for (std::size_t r = 0; r < feasible.size(); ++r) {
        if (!soft.LacksKey(feasible[r])) domains += sizes.empty() ? 1 : sizes[r];
      }
    }
    weights.push_back(GoLog(static_cast<double>(domains + 2)));
  }
  return weights;
}

// Divides by the largest score, as many times as there are distinct scores where these are close together: a division
// takes longer than all the rest.
class ScoreShares {
 public:
  ScoreShares(std::int64_t min, std::int64_t max) : min_(min), max_(max) {
    if (max_ - min_ < kDistinctMax) known_.assign(static_cast<std::size_t>(max_ - min_ + 1), kUnknown);
  }

  std::int64_t Of(std::int64_t score) {
    if (known_.empty() || score < min_) return Divide(score);
    std::int64_t& known = known_[static_cast<std::size_t>(score - min_)];
    if (known == kUnknown) known = Divide(score);
    return known;
  }

 private:
  static constexpr std::int64_t kDistinctMax = 1024;
  static constexpr std::int64_t kUnknown = INT64_MIN;

  std::int64_t Divide(std::int64_t score) const { return framework::kNodeScoreMax * (max_ + min_ - score) / max_; }

  std::int64_t min_;
  std::int64_t max_;
  std::vector<std::int64_t> known_;  // by distance from the smallest score
};

api::NodeInclusionPolicy ToPolicy(const std::string& text) {
  return text == "Ignore" ? api::NodeInclusionPolicy::kIgnore : api::NodeInclusionPolicy::kHonor;
}

// Its matchLabelKeys are left out: upstream merges them into the selector that a default constraint does not have.
api::TopologySpreadConstraint ToConstraint(const config::TopologySpreadConstraint& source) {
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = source.max_skew;
  constraint.topology_key = source.topology_key;
  constraint.when_unsatisfiable =
      source.when_unsatisfiable == "DoNotSchedule"    ? UnsatisfiableConstraintAction::kDoNotSchedule
      : source.when_unsatisfiable == "ScheduleAnyway" ? UnsatisfiableConstraintAction::kScheduleAnyway
                                                      : UnsatisfiableConstraintAction::kUnknown;
  constraint.min_domains = source.min_domains;
  if (!source.node_affinity_policy.empty()) constraint.node_affinity_policy = ToPolicy(source.node_affinity_policy);
  if (!source.node_taints_policy.empty()) constraint.node_taints_policy = ToPolicy(source.node_taints_policy);
  return constraint;
}

api::TopologySpreadConstraint SystemDefault(std::string_view topology_key, std::int32_t max_skew) {
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = max_skew;
  constraint.topology_key = topology_key;
  constraint.when_unsatisfiable = UnsatisfiableConstraintAction::kScheduleAnyway;
  return constraint;
}

}  // namespace

PodTopologySpread::PodTopologySpread(const config::PodTopologySpreadArgs& args, const framework::Handle& handle)
    : objects_(handle.objects()), is_system_defaulted_(!args.is_list_defaulting) {
  if (is_system_defaulted_) {
    default_constraints_ = {SystemDefault(kHostname, 3), SystemDefault(kZone, 5)};
    return;
  }
  for (const auto& constraint : args.default_constraints) default_constraints_.push_back(ToConstraint(constraint));
}

std::vector<framework::ObjectKind> PodTopologySpread::ObjectsRead() const {
  if (default_constraints_.empty()) return {};
  using enum framework::ObjectKind;
  return {kService, kReplicationController, kReplicaSet, kStatefulSet};
}

// A pod with constraints of its own, of whichever kind, gets none of the default ones.
bool PodTopologySpread::HasDefaults(const PodInfo& pod) const {
  return pod.spec().topology_spread_constraints.empty() && !default_constraints_.empty();
}

PodTopologySpread::KeptClass& PodTopologySpread::ClassFor(const PodInfo& pod) const {
  KeptClass& kept = classes_.Get(pod.pod_class, [&] {
    KeptClass made;
    const auto& own = pod.spec().topology_spread_constraints;
    made.hard = CompileConstraints(own, pod.labels(), UnsatisfiableConstraintAction::kDoNotSchedule);
    made.soft = CompileConstraints(own, pod.labels(), UnsatisfiableConstraintAction::kScheduleAnyway);
    made.constraint_bytes = (made.hard.ok() ? BytesOf(*made.hard) : 0) + (made.soft.ok() ? BytesOf(*made.soft) : 0);
    return made;
  });
  if (HasDefaults(pod)) UseDefaults(*pod.pod_class, kept);
  return kept;
}

// Default constraints, for the pods that belong together with this one by services and controllers. Without any of
// those there is nothing to spread.
void PodTopologySpread::UseDefaults(const framework::PodClass& pod_class, KeptClass& kept) const {
  const api::LabelSelector& selector = kept.default_selector.Get(pod_class, objects_, services_);
  if (kept.selector_version == kept.default_selector.version()) return;
  kept.selector_version = kept.default_selector.version();
  kept.counts.reset();
  kept.marks_version = 0;
  for (const auto& [action, constraints] : {std::pair(UnsatisfiableConstraintAction::kDoNotSchedule, &kept.hard),
                                            std::pair(UnsatisfiableConstraintAction::kScheduleAnyway, &kept.soft)}) {
    *constraints = std::vector<SpreadConstraint>();
    if (selector.requirements.empty()) continue;
    *constraints = CompileConstraints(default_constraints_, pod_class.labels, action);
    for (SpreadConstraint& constraint : constraints->value()) constraint.selector = selector;
  }
  kept.constraint_bytes = BytesOf(*kept.hard) + BytesOf(*kept.soft);
}

SpreadIndex& PodTopologySpread::IndexFor(const framework::NodeTable& nodes) const {
  const auto it =
      std::find_if(indexes_.begin(), indexes_.end(), [&](const auto& index) { return index->table() == &nodes; });
  if (it == indexes_.end()) {
    if (indexes_.size() == kTablesMax) indexes_.pop_back();
    indexes_.insert(indexes_.begin(), std::make_unique<SpreadIndex>(numbers_));
  } else {
    std::rotate(indexes_.begin(), it, it + 1);
  }
  is_used_ = true;
  indexes_.front()->Sync(nodes);
  return *indexes_.front();
}

void PodTopologySpread::DropIdle() {
  classes_.DropIdle();
  // Without a pod in all that time it is cheaper to begin anew than to hold every running pod.
  if (!is_used_) indexes_.clear();
  is_used_ = false;
}

std::shared_ptr<SpreadCounts> PodTopologySpread::CountsFor(const PodInfo& pod, KeptClass& kept,
                                                           const framework::NodeTable& nodes) const {
  SpreadIndex& index = IndexFor(nodes);
  std::shared_ptr<SpreadCounts> counts = kept.counts.lock();
  if (counts != nullptr && counts->IsOf(index)) {
    counts->Update(index);
    return counts;
  }
  static const std::vector<SpreadConstraint> kNone;
  const auto valid = [](const Constraints& constraints) -> const std::vector<SpreadConstraint>& {
    return constraints.ok() ? *constraints : kNone;
  };
  const bool soft_needs_all_keys = !HasDefaults(pod) || !is_system_defaulted_;
  counts =
      std::make_shared<SpreadCounts>(pod.pod_class, valid(kept.hard), valid(kept.soft), soft_needs_all_keys, index);
  index.Keep(counts);
  kept.counts = counts;
  return counts;
}

framework::PreFilterResult PodTopologySpread::PreFilter(const Cycle& cycle, const PodInfo& pod) const {
  KeptClass& kept = ClassFor(pod);
  if (!kept.hard.ok()) {
    return {Status::Error("get constraints from pod: obtaining pod's hard topology spread constraints: " +
                          kept.hard.error().message),
            std::nullopt};
  }
  if (kept.hard->empty()) return {Status::Skip(), std::nullopt};
  auto state = std::make_shared<PreFilterState>();
  state->counts = CountsFor(pod, kept, cycle.table);
  cycle.state.Write(kPreFilterKey, std::move(state));
  return {};
}

// Unlike the counts, this looks neither at whether the pod is being deleted nor at whether the selector is empty:
// upstream's oddity.
Status PodTopologySpread::UpdateState(const Cycle& cycle, const PodInfo& other, const NodeInfo& node,
                                      std::int32_t difference) const {
  const auto* state = cycle.state.Read<PreFilterState>(kPreFilterKey);
  if (state == nullptr) return NoPreFilterState();
  const SpreadCounts& counts = *state->counts;
  if (!node.has_node() || other.namespace_name() != counts.pod_class().namespace_name) return {};
  const NodeIndex row = cycle.nodes.Find(node.name());
  if (row == framework::kNoNode) return {};
  const SpreadCounts::Group& hard = counts.hard();
  for (std::size_t i = 0; i < hard.constraints.size(); ++i) {
    const DomainId domain = hard.domains[i]->layout().DomainOf(row);
    if (domain == 0 || !hard.constraints[i].Matches(other.labels())) continue;
    cycle.state.Mutable<PreFilterState>(kPreFilterKey)->Add(i, domain, difference);
  }
  return {};
}

Status PodTopologySpread::AddPod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo& node) const {
  return UpdateState(cycle, other, node, 1);
}

Status PodTopologySpread::RemovePod(const Cycle& cycle, const PodInfo&, const PodInfo& other,
                                    const NodeInfo& node) const {
  return UpdateState(cycle, other, node, -1);
}

Status PodTopologySpread::Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const {
  const auto* state = cycle.state.Read<PreFilterState>(kPreFilterKey);
  if (state == nullptr) return NoPreFilterState();
  const SpreadCounts::Group& hard = state->counts->hard();
  for (std::size_t i = 0; i < hard.constraints.size(); ++i) {
    const std::string* value = node.node().metadata.labels.Find(hard.constraints[i].topology_key);
    if (value == nullptr) return Status::UnschedulableAndUnresolvable(std::string(kReasonMissingLabel));
    // The domain may have no node that counts, and so no pods.
    const DomainId domain = hard.key(i).Find(*value, cycle.table);
    if (state->Count(i, domain) > state->CountMax(i)) return Status::Unschedulable(std::string(kReason));
  }
  return Status::Success();
}

void PodTopologySpread::FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                                   std::span<framework::VerdictId> verdicts, framework::StatusTable& statuses) const {
  const auto* state = cycle.state.Read<PreFilterState>(kPreFilterKey);
  if (state == nullptr || !state->differences.empty()) {
    return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
  }
  // Made once: nearly every pod meets them.
  static const Status kMissing = Status::UnschedulableAndUnresolvable(std::string(kReasonMissingLabel));
  static const Status kSkewed = Status::Unschedulable(std::string(kReason));
  framework::VerdictId missing = framework::kVerdictOk;
  framework::VerdictId skewed = framework::kVerdictOk;
  const auto refuse = [&](NodeIndex row, const Status& status, framework::VerdictId& id) {
    if (id == framework::kVerdictOk) id = statuses.Intern(status);
    verdicts[row] = id;
  };
  const SpreadCounts::Group& hard = state->counts->hard();
  for (std::size_t i = 0; i < hard.constraints.size(); ++i) {
    const std::vector<DomainId>& domain_of = hard.key(i).by_row;
    const CountReader counts(hard.domains[i]->counts(), rows.size());
    const std::int64_t count_max = state->CountMax(i);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != framework::kVerdictOk) continue;
      const DomainId domain = domain_of[row];
      if (domain == 0) {
        refuse(row, kMissing, missing);
      } else if (counts[domain] > count_max) {
        refuse(row, kSkewed, skewed);
      }
    }
  }
}

bool PodTopologySpread::PreScoreSkips(const Cycle&, const PodInfo& pod) const {
  const KeptClass& kept = ClassFor(pod);
  return kept.soft.ok() && kept.soft->empty();
}

Status PodTopologySpread::PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const {
  return WritePreScoreState(cycle, pod, feasible, {});
}

Status PodTopologySpread::PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                                         std::span<const std::size_t> sizes) const {
  return WritePreScoreState(cycle, pod, feasible, sizes);
}

Status PodTopologySpread::WritePreScoreState(const Cycle& cycle, const PodInfo& pod,
                                             std::span<const NodeIndex> feasible,
                                             std::span<const std::size_t> sizes) const {
  KeptClass& kept = ClassFor(pod);
  if (!kept.soft.ok()) {
    return Status::Error("calculating preScoreState: obtaining pod's soft topology spread constraints: " +
                         kept.soft.error().message);
  }
  if (kept.soft->empty()) return Status::Skip();
  auto state = std::make_shared<PreScoreState>();
  state->counts = CountsFor(pod, kept, cycle.table);
  state->weights = Weights(*state->counts, feasible, sizes);
  cycle.state.Write(kPreScoreKey, std::move(state));
  return Status::Success();
}

// The raw score is about how many matching pods there are in the node's domains: more is worse.
std::int64_t PodTopologySpread::Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node,
                                      Status& status) const {
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  if (state == nullptr) {
    status = NoPreScoreState();
    return 0;
  }
  const SpreadCounts::Group& soft = state->counts->soft();
  const api::StringMap& labels = node.node().metadata.labels;
  if (soft.key_set->needs_all_keys && !HasAllTopologyKeys(labels, soft.constraints)) return 0;
  double score = 0;
  for (std::size_t i = 0; i < soft.constraints.size(); ++i) {
    const SpreadConstraint& constraint = soft.constraints[i];
    const std::string* value = labels.Find(constraint.topology_key);
    if (value == nullptr) continue;
    std::int32_t count = 0;
    if (constraint.topology_key == kHostname) {
      // Whether or not the node is included.
      for (const framework::PodInfoPtr& other : node.pods()) {
        if (other->deletion_time || other->namespace_name() != pod.namespace_name()) continue;
        if (constraint.Counts(other->labels())) ++count;
      }
    } else {
      count = soft.domains[i]->Count(soft.key(i).Find(*value, cycle.table));
    }
    score += ScoreForCount(count, constraint.max_skew, state->weights[i]);
  }
  return Rounded(score);
}

void PodTopologySpread::ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                                  std::span<std::int64_t> scores, Status& status) const {
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  if (state == nullptr) return FastScore::ScoreRows(cycle, pod, rows, scores, status);
  const SpreadCounts::Group& soft = state->counts->soft();
  // The constraints' shares are added in their order, as for one node.
  std::vector<double> sums(rows.size());
  for (std::size_t i = 0; i < soft.constraints.size(); ++i) {
    const SpreadConstraint& constraint = soft.constraints[i];
    const DomainId* const domain_of = soft.key(i).by_row.data();  // without the checks of a vector
    const bool is_hostname = soft.domains[i] == nullptr;
    const CountReader pods(is_hostname ? soft.pods[i]->by_row() : soft.domains[i]->counts(), rows.size());
    const double weight = state->weights[i];
    double* sum = sums.data();
    for (const NodeIndex row : rows) {
      const DomainId domain = domain_of[row];
      if (domain != 0) *sum += ScoreForCount(pods[is_hostname ? row : domain], constraint.max_skew, weight);
      ++sum;
    }
  }
  const double* sum = sums.data();
  std::int64_t* const score_of = scores.data();
  for (const NodeIndex row : rows) {
    score_of[row] = soft.LacksKey(row) ? 0 : Rounded(*sum);
    ++sum;
  }
}

Status PodTopologySpread::NormalizeScore(const Cycle& cycle, const PodInfo&,
                                         std::span<framework::NodeScore> scores) const {
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  if (state == nullptr) return NoPreScoreState();
  const SpreadCounts::Group& soft = state->counts->soft();
  std::int64_t min = INT64_MAX;
  std::int64_t max = 0;
  for (framework::NodeScore& score : scores) {
    if (soft.LacksKey(score.row)) {
      score.score = kInvalidScore;
      continue;
    }
    min = std::min(min, score.score);
    max = std::max(max, score.score);
  }
  if (max == 0) {
    for (auto& score : scores) score.score = score.score == kInvalidScore ? 0 : framework::kNodeScoreMax;
    return Status::Success();
  }
  ScoreShares shares(min, max);
  for (framework::NodeScore& score : scores) {
    score.score = score.score == kInvalidScore ? 0 : shares.Of(score.score);
  }
  return Status::Success();
}

std::optional<framework::GroupingPlugin::Marks> PodTopologySpread::MarksOf(const Cycle& cycle,
                                                                           const PodInfo& pod) const {
  KeptClass& kept = ClassFor(pod);
  if (!kept.hard.ok() || !kept.soft.ok()) return std::nullopt;
  if (kept.hard->empty() && kept.soft->empty()) return Marks{};
  const auto counts = CountsFor(pod, kept, cycle.table);
  const std::size_t constraint_count = counts->hard().constraints.size() + counts->soft().constraints.size();
  const auto by_count = ConstraintsByCount(*counts);
  if (!by_count) return std::nullopt;
  // The last mark tells whether soft constraints know the row at all.
  const std::uint64_t numbering = indexes_.front()->numbering();
  if (kept.marks_version == 0 || kept.marks_numbering != numbering || kept.marks_by_count != *by_count ||
      kept.marks_constraint_count != constraint_count) {
    kept.marks_version = mark_versions_.New();
    kept.marks_numbering = numbering;
    kept.marks_by_count = *by_count;
    kept.marks_constraint_count = constraint_count;
  }
  return Marks{constraint_count + 1, kept.marks_version};
}

std::optional<framework::GroupingPlugin::Marks> PodTopologySpread::SharedMarksOf(
    const Cycle& cycle, const PodInfo& pod, std::size_t special_max, std::vector<NodeIndex>& special) const {
  KeptClass& kept = ClassFor(pod);
  if (!kept.hard.ok() || !kept.soft.ok()) return std::nullopt;
  if (kept.hard->empty() && kept.soft->empty()) return Marks{};
  const auto counts = CountsFor(pod, kept, cycle.table);
  const std::size_t constraint_count = counts->hard().constraints.size() + counts->soft().constraints.size();
  const auto by_count = ConstraintsByCount(*counts);
  if (!by_count) return std::nullopt;
  if (!CollectSpecialRows(*counts, *by_count, special_max, special)) return std::nullopt;
  return Marks{constraint_count + 1, mark_versions_.Shared(*counts, indexes_.front()->numbering(), *by_count)};
}

void PodTopologySpread::MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope,
                                 std::span<const NodeIndex> rows, std::span<std::uint32_t> marks,
                                 std::size_t stride) const {
  WriteMarks(*CountsFor(pod, ClassFor(pod), cycle.table), scope, rows, marks, stride);
}

std::vector<framework::ClusterEventWithHint> PodTopologySpread::EventsToRegister() const {
  using namespace framework::action;
  using framework::EventObjects;
  std::vector<framework::ClusterEventWithHint> events = {
      OfClass(OnPod(kAdd | kUpdatePodLabel | kUpdatePodToleration | kUpdatePodDeletion | kDelete,
                    [this](const PodInfo& pod, const EventObjects& event) {
                      return SpreadHintAfterPodChange(
                          pod, event, [this, &pod]() -> const Constraints& { return ClassFor(pod).hard; });
                    })),
      OfClass(OnNode(kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint,
                     [this](const PodInfo& pod, const EventObjects& event) {
                       return SpreadHintAfterNodeChange(
                           pod, event, [this, &pod]() -> const Constraints& { return ClassFor(pod).hard; });
                     }))};
  const bool refuses_by_default =
      std::any_of(default_constraints_.begin(), default_constraints_.end(), [](const auto& constraint) {
        return constraint.when_unsatisfiable == UnsatisfiableConstraintAction::kDoNotSchedule;
      });
  if (!refuses_by_default) return events;
  for (const framework::EventResource resource :
       {framework::EventResource::kService, framework::EventResource::kReplicationController,
        framework::EventResource::kReplicaSet, framework::EventResource::kStatefulSet}) {
    events.push_back(OfClass({{resource, kAdd | kUpdate | kDelete}, SpreadHintAfterSelectorChange}));
  }
  return events;
}

}  // namespace berth::plugins
