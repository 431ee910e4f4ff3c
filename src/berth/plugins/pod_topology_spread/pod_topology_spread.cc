// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_topology_spread/pod_topology_spread.h"

#include <absl/container/inlined_vector.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/config/args.h"
#include "berth/plugins/helper/class_cache.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/go_math.h"
#include "berth/plugins/helper/index_per_table.h"
#include "berth/plugins/names.h"
#include "berth/plugins/pod_topology_spread/constraint.h"
#include "berth/plugins/pod_topology_spread/default_selector.h"
#include "berth/plugins/pod_topology_spread/hints.h"
#include "berth/plugins/pod_topology_spread/spread_counts.h"
#include "berth/plugins/pod_topology_spread/spread_index.h"
#include "berth/plugins/pod_topology_spread/spread_marks.h"

namespace berth::plugins {
namespace {

using api::UnsatisfiableConstraintAction;

constexpr std::string_view kPreFilterKey = "PreFilterPodTopologySpread";
constexpr std::string_view kPreScoreKey = "PreScorePodTopologySpread";
constexpr std::string_view kHostname = kHostnameKey;
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::int64_t kInvalidScore = -1;
// Sorting the values of so few rows is cheaper than a bit for each value.
constexpr std::size_t kValuesPerSortedRow = 64;

// How many pods more than counted a what-if trial puts into a domain.
struct DomainDifference {
  std::size_t constraint = 0;
  DomainId domain = 0;
  std::int32_t pods = 0;
};

// The DoNotSchedule constraints and their counts. Good until the node table changes.
struct PreFilterState final : StateData {
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<PreFilterState>(*this); }

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
struct PreScoreState final : StateData {
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

// Each soft constraint's weight. The counts per domain are small where there are many domains; the weight makes up for
// that. feasible[i] stands for sizes[i] rows, or without sizes for itself.
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

// matchLabelKeys are left out: upstream merges them into the selector, which a default constraint does not have.
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

using Constraints = Expected<std::vector<SpreadConstraint>>;

struct KeptClass {
  // Without the counts, which belong to the index of their table.
  std::size_t Bytes() const { return sizeof(*this) + constraint_bytes; }

  Constraints hard = std::vector<SpreadConstraint>();
  Constraints soft = std::vector<SpreadConstraint>();
  DefaultSelector default_selector;
  std::uint64_t selector_version = 0;  // of default_selector, when the constraints were made
  std::size_t constraint_bytes = 0;
  // The version of the class's own marks, 0 before the first, and what it was given for.
  std::uint64_t marks_version = 0;
  std::uint64_t marks_numbering = 0;
  std::uint64_t marks_by_count = 0;
  std::size_t marks_constraint_count = 0;
  std::weak_ptr<SpreadCounts> counts;  // in the table that was asked about last
};

// Keeps the constraints of pod classes and their counts in each node table.
class KeptClasses {
 public:
  KeptClasses(const config::PodTopologySpreadArgs& args, const Objects& objects, bool counts_by_empty)
      : objects_(objects), is_system_defaulted_(!args.is_list_defaulting), counts_by_empty_(counts_by_empty) {
    if (is_system_defaulted_) {
      default_constraints_ = {SystemDefault(kHostname, 3), SystemDefault(kZone, 5)};
      return;
    }
    for (const auto& constraint : args.default_constraints) default_constraints_.push_back(ToConstraint(constraint));
  }

  KeptClass& For(const PodInfo& pod) {
    KeptClass& kept = classes_.Get(pod.pod_class, [&] {
      KeptClass made;
      const auto& own = pod.spec().topology_spread_constraints;
      made.hard =
          CompileConstraints(own, pod.labels(), UnsatisfiableConstraintAction::kDoNotSchedule, counts_by_empty_);
      made.soft =
          CompileConstraints(own, pod.labels(), UnsatisfiableConstraintAction::kScheduleAnyway, counts_by_empty_);
      made.constraint_bytes = (made.hard.ok() ? BytesOf(*made.hard) : 0) + (made.soft.ok() ? BytesOf(*made.soft) : 0);
      return made;
    });
    if (HasDefaults(pod)) UseDefaults(*pod.pod_class, kept);
    return kept;
  }

  std::shared_ptr<SpreadCounts> CountsFor(const PodInfo& pod, KeptClass& kept, const NodeTable& nodes) {
    SpreadIndex& index = *indexes_.For(nodes, [this] { return std::make_shared<SpreadIndex>(numbers_); });
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

  // The numbering of domains in the table that was asked about last.
  std::uint64_t numbering() { return indexes_.all().front()->numbering(); }
  SpreadMarkVersions& mark_versions() { return mark_versions_; }
  const std::vector<api::TopologySpreadConstraint>& default_constraints() const { return default_constraints_; }

  void DropIdle() {
    classes_.DropIdle();
    indexes_.DropIdle();
  }

 private:
  static constexpr std::size_t kClassesMax = 8192;
  static constexpr std::size_t kClassBytesMax = std::size_t{64} << 20;

  // A pod with constraints of its own, of whichever kind, gets none of the default ones.
  bool HasDefaults(const PodInfo& pod) const {
    return pod.spec().topology_spread_constraints.empty() && !default_constraints_.empty();
  }

  // The default constraints spread the pods that belong together with this one by services and controllers. Without a
  // service or controller there is nothing to spread.
  void UseDefaults(const framework::PodClass& pod_class, KeptClass& kept) {
    const api::LabelSelector& selector = kept.default_selector.Get(pod_class, objects_, services_);
    if (kept.selector_version == kept.default_selector.version()) return;
    kept.selector_version = kept.default_selector.version();
    kept.counts.reset();
    kept.marks_version = 0;
    for (const auto& [action, constraints] : {std::pair(UnsatisfiableConstraintAction::kDoNotSchedule, &kept.hard),
                                              std::pair(UnsatisfiableConstraintAction::kScheduleAnyway, &kept.soft)}) {
      *constraints = std::vector<SpreadConstraint>();
      if (selector.requirements.empty()) continue;
      *constraints = CompileConstraints(default_constraints_, pod_class.labels, action, counts_by_empty_);
      for (SpreadConstraint& constraint : constraints->value()) constraint.selector = selector;
    }
    kept.constraint_bytes = BytesOf(*kept.hard) + BytesOf(*kept.soft);
  }

  const Objects& objects_;
  const bool is_system_defaulted_;
  const bool counts_by_empty_;  // Release::spreads_by_empty_selectors
  std::vector<api::TopologySpreadConstraint> default_constraints_;
  std::uint64_t numbers_ = 0;  // versions given so far, to marks and to numberings
  IndexPerTable<SpreadIndex> indexes_;
  SpreadMarkVersions mark_versions_{numbers_};
  ServiceIndex services_;
  ClassCache<KeptClass> classes_{kClassesMax, kClassBytesMax};
};

class PodTopologySpread final : public PreFilterPlugin,
                                public FastFilter,
                                public FastPreScore,
                                public FastScore,
                                public GroupingPlugin,
                                public EnqueueExtensions,
                                public ObjectReader {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match pod topology spread constraints";
  static constexpr std::string_view kReasonMissingLabel =
      "node(s) didn't match pod topology spread constraints (missing required label)";

  PodTopologySpread(const config::PodTopologySpreadArgs& args, const Handle& handle)
      : classes_(args, handle.objects(), handle.release().spreads_by_empty_selectors) {}

  std::string_view Name() const override { return names::kPodTopologySpread; }

  Dependency PreFilterDependsOn() const override { return Dependency::kCycle; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    KeptClass& kept = classes_.For(pod);
    if (!kept.hard.ok()) {
      return {Status::Error("get constraints from pod: obtaining pod's hard topology spread constraints: " +
                            kept.hard.error().message),
              std::nullopt};
    }
    if (kept.hard->empty()) return {Status::Skip(), std::nullopt};
    auto state = std::make_shared<PreFilterState>();
    state->counts = classes_.CountsFor(pod, kept, cycle.table);
    cycle.state.Write(kPreFilterKey, std::move(state));
    return {};
  }
  bool HasPreFilterExtensions() const override { return true; }
  Status AddPod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo& node) const override {
    return UpdateState(cycle, other, node, 1);
  }

  Status RemovePod(const Cycle& cycle, const PodInfo&, const PodInfo& other, const NodeInfo& node) const override {
    return UpdateState(cycle, other, node, -1);
  }

  Dependency FilterDependsOn() const override { return Dependency::kCycle; }
  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
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

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* state = cycle.state.Read<PreFilterState>(kPreFilterKey);
    if (state == nullptr || !state->differences.empty()) {
      return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
    }
    // Static, because nearly every pod meets them.
    static const Status kMissing = Status::UnschedulableAndUnresolvable(std::string(kReasonMissingLabel));
    static const Status kSkewed = Status::Unschedulable(std::string(kReason));
    VerdictId missing = kVerdictOk;
    VerdictId skewed = kVerdictOk;
    const auto refuse = [&](NodeIndex row, const Status& status, VerdictId& id) {
      if (id == kVerdictOk) id = statuses.Intern(status);
      verdicts[row] = id;
    };
    const SpreadCounts::Group& hard = state->counts->hard();
    for (std::size_t i = 0; i < hard.constraints.size(); ++i) {
      const std::vector<DomainId>& domain_of = hard.key(i).by_row;
      const CountReader counts(hard.domains[i]->counts(), rows.size());
      const std::int64_t count_max = state->CountMax(i);
      for (const NodeIndex row : rows) {
        if (verdicts[row] != kVerdictOk) continue;
        const DomainId domain = domain_of[row];
        if (domain == 0) {
          refuse(row, kMissing, missing);
        } else if (counts[domain] > count_max) {
          refuse(row, kSkewed, skewed);
        }
      }
    }
  }

  Dependency PreScoreDependsOn() const override { return Dependency::kCycle; }
  bool PreScoreSkips(const Cycle&, const PodInfo& pod) const override {
    const KeptClass& kept = classes_.For(pod);
    return kept.soft.ok() && kept.soft->empty();
  }

  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible) const override {
    return WritePreScoreState(cycle, pod, feasible, {});
  }

  Dependency ScoreDependsOn() const override { return Dependency::kCycle; }
  Normalization ScoreNormalization() const override { return Normalization::kCustom; }
  // The raw score is about how many matching pods there are in the node's domains: more is worse.
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node,
                     Status& status) const override {
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
        // Pods count here whether or not the constraint's node policies include the node.
        for (const PodInfoPtr& other : node.pods()) {
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

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status& status) const override {
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

  Status NormalizeScore(const Cycle& cycle, const PodInfo&, std::span<NodeScore> scores) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    if (state == nullptr) return NoPreScoreState();
    const SpreadCounts::Group& soft = state->counts->soft();
    std::int64_t min = INT64_MAX;
    std::int64_t max = 0;
    for (NodeScore& score : scores) {
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
    for (NodeScore& score : scores) {
      score.score = score.score == kInvalidScore ? 0 : shares.Of(score.score);
    }
    return Status::Success();
  }

  // A row's marks are its topology values, and where those tell the nodes apart the number of matching pods there.
  std::optional<Marks> MarksOf(const Cycle& cycle, const PodInfo& pod) const override {
    KeptClass& kept = classes_.For(pod);
    if (!kept.hard.ok() || !kept.soft.ok()) return std::nullopt;
    if (kept.hard->empty() && kept.soft->empty()) return Marks{};
    const auto counts = classes_.CountsFor(pod, kept, cycle.table);
    const std::size_t constraint_count = counts->hard().constraints.size() + counts->soft().constraints.size();
    const auto by_count = ConstraintsByCount(*counts);
    if (!by_count) return std::nullopt;
    // The last mark tells whether soft constraints know the row at all.
    const std::uint64_t numbering = classes_.numbering();
    if (kept.marks_version == 0 || kept.marks_numbering != numbering || kept.marks_by_count != *by_count ||
        kept.marks_constraint_count != constraint_count) {
      kept.marks_version = classes_.mark_versions().New();
      kept.marks_numbering = numbering;
      kept.marks_by_count = *by_count;
      kept.marks_constraint_count = constraint_count;
    }
    return Marks{constraint_count + 1, kept.marks_version};
  }

  // Shared marks leave the pods out.
  std::optional<Marks> SharedMarksOf(const Cycle& cycle, const PodInfo& pod, std::size_t special_max,
                                     std::vector<NodeIndex>& special) const override {
    KeptClass& kept = classes_.For(pod);
    if (!kept.hard.ok() || !kept.soft.ok()) return std::nullopt;
    if (kept.hard->empty() && kept.soft->empty()) return Marks{};
    const auto counts = classes_.CountsFor(pod, kept, cycle.table);
    const std::size_t constraint_count = counts->hard().constraints.size() + counts->soft().constraints.size();
    const auto by_count = ConstraintsByCount(*counts);
    if (!by_count) return std::nullopt;
    if (!CollectSpecialRows(*counts, *by_count, special_max, special)) return std::nullopt;
    return Marks{constraint_count + 1, classes_.mark_versions().Shared(*counts, classes_.numbering(), *by_count)};
  }

  void MarkRows(const Cycle& cycle, const PodInfo& pod, MarkScope scope, std::span<const NodeIndex> rows,
                std::span<std::uint32_t> marks, std::size_t stride) const override {
    WriteMarks(*classes_.CountsFor(pod, classes_.For(pod), cycle.table), scope, rows, marks, stride);
  }

  Status PreScoreGroups(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                        std::span<const std::size_t> sizes) const override {
    return WritePreScoreState(cycle, pod, feasible, sizes);
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    std::vector<ClusterEventWithHint> events = {
        OfClass(OnPod(kAdd | kUpdatePodLabel | kUpdatePodToleration | kUpdatePodDeletion | kDelete,
                      [this](const PodInfo& pod, const EventObjects& event) {
                        return SpreadHintAfterPodChange(
                            pod, event, [this, &pod]() -> const Constraints& { return classes_.For(pod).hard; });
                      })),
        OfClass(OnNode(kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint,
                       [this](const PodInfo& pod, const EventObjects& event) {
                         return SpreadHintAfterNodeChange(
                             pod, event, [this, &pod]() -> const Constraints& { return classes_.For(pod).hard; });
                       }))};
    const bool refuses_by_default = std::ranges::any_of(classes_.default_constraints(), [](const auto& constraint) {
      return constraint.when_unsatisfiable == UnsatisfiableConstraintAction::kDoNotSchedule;
    });
    if (!refuses_by_default) return events;
    for (const EventResource resource : {EventResource::kService, EventResource::kReplicationController,
                                         EventResource::kReplicaSet, EventResource::kStatefulSet}) {
      events.push_back(OfClass({{resource, kAdd | kUpdate | kDelete}, SpreadHintAfterSelectorChange}));
    }
    return events;
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    if (classes_.default_constraints().empty()) return {};
    using enum ObjectKind;
    return {kService, kReplicationController, kReplicaSet, kStatefulSet};
  }

  void DropIdle() override { classes_.DropIdle(); }

 private:
  Status WritePreScoreState(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> feasible,
                            std::span<const std::size_t> sizes) const {
    KeptClass& kept = classes_.For(pod);
    if (!kept.soft.ok()) {
      return Status::Error("calculating preScoreState: obtaining pod's soft topology spread constraints: " +
                           kept.soft.error().message);
    }
    if (kept.soft->empty()) return Status::Skip();
    auto state = std::make_shared<PreScoreState>();
    state->counts = classes_.CountsFor(pod, kept, cycle.table);
    state->weights = Weights(*state->counts, feasible, sizes);
    cycle.state.Write(kPreScoreKey, std::move(state));
    return Status::Success();
  }

  // Unlike the counts, this looks neither at whether the pod is being deleted nor at whether the selector is empty:
  // upstream's oddity.
  Status UpdateState(const Cycle& cycle, const PodInfo& other, const NodeInfo& node, std::int32_t difference) const {
    const auto* state = cycle.state.Read<PreFilterState>(kPreFilterKey);
    if (state == nullptr) return NoPreFilterState();
    const SpreadCounts& counts = *state->counts;
    if (!node.has_node() || other.namespace_name() != counts.pod_class().namespace_name) return {};
    const NodeIndex row = cycle.nodes.Find(node.name());
    if (row == kNoNode) return {};
    const SpreadCounts::Group& hard = counts.hard();
    for (std::size_t i = 0; i < hard.constraints.size(); ++i) {
      const DomainId domain = hard.domains[i]->layout().DomainOf(row);
      if (domain == 0 || !hard.constraints[i].Matches(other.labels())) continue;
      cycle.state.Mutable<PreFilterState>(kPreFilterKey)->Add(i, domain, difference);
    }
    return {};
  }

  mutable KeptClasses classes_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreatePodTopologySpread(const config::PodTopologySpreadArgs& args, Handle& handle) {
  return std::make_unique<PodTopologySpread>(args, handle);
}

}  // namespace berth::plugins
