// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/violations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "berth/base/check.h"
#include "berth/base/hash_map.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/back_to_spot.h"
#include "berth/rebalance/cheaper_node.h"
#include "berth/rebalance/custom_metric.h"
#include "berth/rebalance/node_fit.h"
#include "berth/rebalance/utilization.h"
#include "berth/rebalance/zone_repair.h"
#include "berth/whatif/replacement.h"

namespace berth::rebalance {
namespace {

std::string CountChange(const std::string& from, std::int64_t from_count, const std::string& to,
                        std::int64_t to_count) {
  return from + ' ' + std::to_string(from_count) + " to " + std::to_string(from_count - 1) + ", " + to + ' ' +
         std::to_string(to_count) + " to " + std::to_string(to_count + 1);
}

// The change of the sum of squares when one of `from` pods goes to `to` others.
double SquaresChange(std::int64_t from, std::int64_t to) { return 2.0 * static_cast<double>(to - from + 1); }

class AffinityViolation final : public Violation {
 public:
  AffinityViolation(const NodeAffinityArgs& args, const ClusterView& view) : args_(args), view_(view) {}

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    return args_.pods.Takes(*pod.pod) ? Of(pod, to) - Of(pod, pod.node) : 0;
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    const std::int32_t before = PreferredWeight(pod, view_.node(pod.node));
    const std::int32_t after = PreferredWeight(pod, view_.node(to));
    if (before == after) return "1 violation fewer";
    return "weight " + std::to_string(before) + " to " + std::to_string(after);
  }

 private:
  // A required affinity is above all weights of preferred ones.
  double Of(const PodView& pod, NodeNumber node) const {
    constexpr double kRequired = 1e10;
    double sum = 0;
    for (const std::string& type : args_.types) {
      if (!type.starts_with("required")) {
        sum -= PreferredWeight(pod, view_.node(node));
      } else if (pod.pod->spec.node_affinity && pod.pod->spec.node_affinity->required &&
                 !pod.required->Matches(*view_.node(node).node)) {
        sum += kRequired;
      }
    }
    return sum;
  }

  const NodeAffinityArgs& args_;
  const ClusterView& view_;
};

class TaintViolation final : public Violation {
 public:
  TaintViolation(const NodeTaintsArgs& args, const ClusterView& view) : args_(args), view_(view) {}
  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    return args_.pods.Takes(*pod.pod) ? Of(pod, to) - Of(pod, pod.node) : 0;
  }

 private:
  double Of(const PodView& pod, NodeNumber node) const {
    return UntoleratedTaint(args_, *pod.pod, *view_.node(node).node) == nullptr ? 0 : 1;
  }

  const NodeTaintsArgs& args_;
  const ClusterView& view_;
};

// Counts pairs of pods of which one excludes the other.
class AntiAffinityViolation final : public Violation {
 public:
  AntiAffinityViolation(const InterPodAntiAffinityArgs& args, const ClusterView& view, std::vector<NodeNumber> nodes)
      : args_(args), view_(view), nodes_(std::move(nodes)) {
    for (const PodView& pod : view.pods()) has_terms_ |= !pod.pod->spec.pod_anti_affinity.required.empty();
  }
  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    if (!has_terms_ || !args_.pods.Takes(*pod.pod)) return 0;
    double change = 0;
    for (const NodeNumber number : nodes_) {
      for (const PodNumber other_number : view_.node(number).pods) {
        const PodView& other = view_.pod(other_number);
        if (&other == &pod || other.is_finished || !args_.pods.Takes(*other.pod)) continue;
        change += Pairs(pod, other, to) - Pairs(pod, other, pod.node);
      }
    }
    return change;
  }

 private:
  double Pairs(const PodView& pod, const PodView& other, NodeNumber at) const {
    const auto excludes = [&](const api::Pod& of, const api::Pod& excluded) {
      return std::ranges::count_if(of.spec.pod_anti_affinity.required, [&](const api::PodAffinityTerm& term) {
        return IsInTerm(term, of, excluded) && (at == other.node || IsTogether(at, other.node, term.topology_key));
      });
    };
    return static_cast<double>(excludes(*pod.pod, *other.pod) + excludes(*other.pod, *pod.pod));
  }
  bool IsTogether(NodeNumber a, NodeNumber b, std::string_view key) const {
    const std::string* const value = view_.node(a).node->metadata.labels.Find(key);
    const std::string* const other = view_.node(b).node->metadata.labels.Find(key);
    return value != nullptr && other != nullptr && *value == *other;
  }

  const InterPodAntiAffinityArgs& args_;
  const ClusterView& view_;
  std::vector<NodeNumber> nodes_;
  bool has_terms_ = false;
};

// The squares of how many pods each constraint has in each domain.
class SpreadViolation final : public Violation {
 public:
  SpreadViolation(const TopologySpreadArgs& args, const ClusterView& view, const std::vector<NodeNumber>& nodes)
      : view_(view) {
    std::vector<PodNumber> pods;
    for (const NodeNumber node : nodes) {
      for (const PodNumber number : view.node(node).pods) {
        const PodView& pod = view.pod(number);
        if (!pod.is_finished && args.pods.Takes(*pod.pod)) pods.push_back(number);
      }
    }
    for (SpreadConstraint& constraint : ConstraintsOf(args, view, pods))
      by_namespace_[constraint.namespace_name].push_back({std::move(constraint), {}});
    for (const PodNumber number : pods) {
      const PodView& pod = view.pod(number);
      if (!pod.pod->metadata.deletion_time) Count(pod, pod.node, 1);
    }
  }

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    double change = 0;
    ForEach(pod, to, [&](const Counted& counted, const std::string* from_value, const std::string* to_value) {
      if (from_value != nullptr && to_value != nullptr) {
        change += SquaresChange(counted.At(*from_value), counted.At(*to_value));
      } else if (from_value != nullptr) {
        change -= 2.0 * static_cast<double>(counted.At(*from_value)) - 1;
      } else if (to_value != nullptr) {
        change += 2.0 * static_cast<double>(counted.At(*to_value)) + 1;
      }
    });
    return change;
  }

  std::string Describe(const PodView& pod, NodeNumber to) const override {
    std::string text;
    ForEach(pod, to, [&](const Counted& counted, const std::string* from_value, const std::string* to_value) {
      if (from_value == nullptr || to_value == nullptr) return;
      text += (text.empty() ? "" : "; ") +
              CountChange(*from_value, counted.At(*from_value), *to_value, counted.At(*to_value));
    });
    return text;
  }

  void OnMove(const PodView& pod, NodeNumber to) override {
    Count(pod, pod.node, -1);
    Count(pod, to, 1);
  }

 private:
  struct Counted {
    SpreadConstraint constraint;
    std::map<std::string, std::int64_t, std::less<>> counts;  // by domain
    std::int64_t At(const std::string& value) const {
      const auto at = counts.find(value);
      return at == counts.end() ? 0 : at->second;
    }
  };

  const std::string* ValueAt(const Counted& counted, NodeNumber node) const {
    return view_.node(node).node->metadata.labels.Find(counted.constraint.topology_key);
  }
  // The constraints that the pod counts for and whose domain it would leave.
  template <typename Visit>
  void ForEach(const PodView& pod, NodeNumber to, Visit visit) const {
    const auto at = by_namespace_.find(pod.pod->metadata.namespace_name);
    if (at == by_namespace_.end()) return;
    for (const Counted& counted : at->second) {
      if (!counted.constraint.Selects(*pod.pod)) continue;
      const std::string* const from_value = ValueAt(counted, pod.node);
      const std::string* const to_value = ValueAt(counted, to);
      const bool is_same = from_value != nullptr && to_value != nullptr && *from_value == *to_value;
      if (!is_same) visit(counted, from_value, to_value);
    }
  }
  void Count(const PodView& pod, NodeNumber node, std::int64_t by) {
    const auto at = by_namespace_.find(pod.pod->metadata.namespace_name);
    if (at == by_namespace_.end()) return;
    for (Counted& counted : at->second) {
      const std::string* const value = ValueAt(counted, node);
      if (value != nullptr && counted.constraint.Selects(*pod.pod)) counted.counts[*value] += by;
    }
  }

  const ClusterView& view_;
  StringHashMap<std::vector<Counted>> by_namespace_;
};

// The squares of how many pods of an owner are on each node.
class DuplicateViolation final : public Violation {
 public:
  DuplicateViolation(const RemoveDuplicatesArgs& args, const ClusterView& view, std::vector<NodeNumber> nodes)
      : args_(args), view_(view), nodes_(std::move(nodes)) {
    for (const PodView& pod : view.pods()) Count(pod, pod.node, 1);
  }

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    double change = 0;
    if (!IsDuplicable(args_, pod) || to == pod.node) return 0;
    for (const auto& owner : pod.details->metadata.owners) {
      const std::string key = DuplicateKey(pod, owner);
      change += SquaresChange(At(key, pod.node), At(key, to));
    }
    return change;
  }
  // A move to a node where the pod would be objected to in turn gains nothing.
  std::string WhyNotTarget(const PodView& pod, NodeNumber to) const override {
    for (const auto& owner : pod.details->metadata.owners) {
      const std::string key = DuplicateKey(pod, owner);
      const std::int64_t share = ShareOf(key, pod);
      if (At(key, to) >= share) {
        return std::to_string(At(key, to)) + " of " + owner.kind + ' ' + owner.name + " are already, and " +
               std::to_string(share) + " would do";
      }
    }
    return {};
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    std::string text;
    if (!IsDuplicable(args_, pod)) return text;
    for (const auto& owner : pod.details->metadata.owners) {
      const std::string key = DuplicateKey(pod, owner);
      text += (text.empty() ? "" : "; ") +
              CountChange(view_.node(pod.node).name(), At(key, pod.node), view_.node(to).name(), At(key, to));
    }
    return text;
  }
  void OnMove(const PodView& pod, NodeNumber to) override {
    Count(pod, pod.node, -1);
    Count(pod, to, 1);
  }

 private:
  std::int64_t At(const std::string& key, NodeNumber node) const {
    const auto at = counts_.find({key, node});
    return at == counts_.end() ? 0 : at->second;
  }
  void Count(const PodView& pod, NodeNumber node, std::int64_t by) {
    if (!IsDuplicable(args_, pod)) return;
    for (const auto& owner : pod.details->metadata.owners) counts_[{DuplicateKey(pod, owner), node}] += by;
  }
  // The most pods that a node has if they are spread evenly over the nodes that the pod can be on. Moves do not change
  // it.
  std::int64_t ShareOf(const std::string& key, const PodView& pod) const {
    const auto [at, is_new] = shares_.emplace(key, 0);
    if (!is_new) return at->second;
    std::int64_t pods = 0;
    for (auto each = counts_.lower_bound({key, 0}); each != counts_.end() && each->first.first == key; ++each)
      pods += each->second;
    const auto targets = std::ranges::count_if(nodes_, [&](NodeNumber number) {
      const api::Node& node = *view_.node(number).node;
      return !plugins::HasUntoleratedHardTaint(node.taints, pod.pod->spec.tolerations) && pod.required->Matches(node);
    });
    at->second = targets == 0 ? pods : (pods + targets - 1) / targets;
    return at->second;
  }

  const RemoveDuplicatesArgs& args_;
  const ClusterView& view_;
  std::vector<NodeNumber> nodes_;
  std::map<std::pair<std::string, NodeNumber>, std::int64_t> counts_;
  mutable std::map<std::string, std::int64_t> shares_;  // by DuplicateKey, once asked for
};

// The sum over nodes and resources of used times used by capacity: smallest where all are equally full. A share that a
// query measures counts as that share of the node's CPUs, so that what leaves one node is what comes to the other.
class ImbalanceViolation final : public Violation {
 public:
  ImbalanceViolation(const Thresholds& thresholds, const ClusterView& view, UseSource source)
      : view_(view), source_(source) {
    for (const auto& each : thresholds) {
      double total = 0;
      for (const NodeView& node : view.nodes()) total += CapacityOf(node, each.first);
      if (total > 0) total_[each.first] = total;
    }
  }

  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    if (to == pod.node) return 0;
    double change = 0;
    for (const auto& [resource, total] : total_) {
      const double amount = AmountOf(pod, resource);
      change += (Of(to, resource, amount) - Of(to, resource, 0) + Of(pod.node, resource, -amount) -
                 Of(pod.node, resource, 0)) /
                total;
    }
    return change;
  }
  std::string Describe(const PodView& pod, NodeNumber to) const override {
    std::string text;
    for (const auto& each : total_) {
      const std::string& resource = each.first;
      const double amount = AmountOf(pod, resource);
      text += (text.empty() ? "" : "; ") + (resource == kMetricResource ? "" : resource + ' ') +
              Text(pod.node, resource, -amount) + ", " + Text(to, resource, amount);
    }
    return text;
  }

 private:
  static double CapacityOf(const NodeView& node, const std::string& resource) {
    if (resource == kMetricResource) return static_cast<double>(std::max<std::int64_t>(node.allocatable.cpu_milli, 1));
    return static_cast<double>(Capacity(node, resource));
  }
  double UsedOf(const NodeView& node, const std::string& resource) const {
    const double used = Used(node, resource, source_);
    return resource == kMetricResource ? used / 100 * CapacityOf(node, resource) : used;
  }
  double AmountOf(const PodView& pod, const std::string& resource) const {
    const double amount = UsedBy(pod, resource, source_);
    return resource == kMetricResource ? amount / 100 * CapacityOf(view_.node(pod.node), resource) : amount;
  }
  double Of(NodeNumber number, const std::string& resource, double more) const {
    const NodeView& node = view_.node(number);
    const double capacity = CapacityOf(node, resource);
    const double used = UsedOf(node, resource) + more;
    // On a node without capacity any use is too much.
    return capacity > 0 ? used * used / capacity : used * used;
  }
  // "node-1 85 % to 80 %".
  std::string Text(NodeNumber number, const std::string& resource, double more) const {
    const NodeView& node = view_.node(number);
    const double capacity = CapacityOf(node, resource);
    const double after = capacity > 0 ? (UsedOf(node, resource) + more) / capacity * 100 : 0;
    return node.name() + ' ' + PercentText(PercentUsed(node, resource, source_)) + " to " + PercentText(after);
  }

  const ClusterView& view_;
  const UseSource source_;
  Thresholds total_;  // capacity of all nodes; resources that no node has are left out
};

// Nodes in use: those with a pod that does not come and go with its node. A single move changes their number by one at
// most; HighNodeUtilization moves all pods of a node or none, which the plan sees to.
class UsedNodesViolation final : public Violation {
 public:
  explicit UsedNodesViolation(const ClusterView& view) : view_(view) {}
  double ChangeOf(const PodView& pod, NodeNumber to) const override {
    if (to == pod.node) return 0;
    return (CountOf(to) == 0 ? 1.0 : 0.0) - (CountOf(pod.node) == 1 ? 1.0 : 0.0);
  }

 private:
  std::size_t CountOf(NodeNumber node) const { return CountMovable(view_, node); }

  const ClusterView& view_;
};

// What is violated counts more than what is paid for, and that more than balance.
int RankOf(const StrategyArgs& strategy) {
  if (std::holds_alternative<CheaperNodeArgs>(strategy) || std::holds_alternative<ConsolidateArgs>(strategy)) return 1;
  if (std::holds_alternative<LowNodeUtilizationArgs>(strategy) ||
      std::holds_alternative<HighNodeUtilizationArgs>(strategy) || std::holds_alternative<BetterScoreArgs>(strategy)) {
    return 2;
  }
  return 0;
}

std::unique_ptr<Violation> MakeStrategyViolation(const StrategyArgs& strategy, const ClusterView& view,
                                                 const std::vector<NodeNumber>& nodes, Time now,
                                                 const Measurements* measurements) {
  const auto make = [&]([[maybe_unused]] const auto& args) -> std::unique_ptr<Violation> {
    using Args = std::decay_t<decltype(args)>;
    if constexpr (std::is_same_v<Args, RemoveDuplicatesArgs>) {
      return std::make_unique<DuplicateViolation>(args, view, nodes);
    } else if constexpr (std::is_same_v<Args, NodeAffinityArgs>) {
      return std::make_unique<AffinityViolation>(args, view);
    } else if constexpr (std::is_same_v<Args, NodeTaintsArgs>) {
      return std::make_unique<TaintViolation>(args, view);
    } else if constexpr (std::is_same_v<Args, InterPodAntiAffinityArgs>) {
      return std::make_unique<AntiAffinityViolation>(args, view, nodes);
    } else if constexpr (std::is_same_v<Args, TopologySpreadArgs>) {
      return std::make_unique<SpreadViolation>(args, view, nodes);
    } else if constexpr (std::is_same_v<Args, LowNodeUtilizationArgs>) {
      return std::make_unique<ImbalanceViolation>(args.thresholds, view, view.FindSource(args.metrics));
    } else if constexpr (std::is_same_v<Args, HighNodeUtilizationArgs>) {
      return std::make_unique<UsedNodesViolation>(view);
    } else if constexpr (std::is_same_v<Args, ConsolidateArgs>) {
      return std::make_unique<UsedNodesViolation>(view);
    } else if constexpr (std::is_same_v<Args, BackToSpotArgs>) {
      return MakeViolation(args, view, now);
    } else if constexpr (std::is_same_v<Args, CheaperNodeArgs>) {
      return MakeViolation(args, view);
    } else if constexpr (std::is_same_v<Args, CustomMetricArgs>) {
      return MakeViolation(args, view, measurements);
    } else if constexpr (std::is_same_v<Args, ZoneRepairArgs>) {
      return MakeViolation(args, view);
    } else {
      return nullptr;  // about the pod, wherever it is
    }
  };
  return std::visit(make, strategy);
}

}  // namespace

const api::Taint* UntoleratedTaint(const NodeTaintsArgs& args, const api::Pod& pod, const api::Node& node) {
  const auto is_in = [](const std::vector<std::string>& taints, const api::Taint& taint) {
    return std::ranges::any_of(taints, [&taint](const std::string& each) {
      return each == taint.key || (!taint.value.empty() && each == taint.key + "=" + taint.value);
    });
  };
  for (const api::Taint& taint : node.taints) {
    const bool is_looked_at = taint.effect == api::TaintEffect::kNoSchedule ||
                              (args.include_prefer_no_schedule && taint.effect == api::TaintEffect::kPreferNoSchedule);
    if (!is_looked_at || is_in(args.excluded_taints, taint)) continue;
    if (args.included_taints && !is_in(*args.included_taints, taint)) continue;
    if (!plugins::Tolerates(pod.spec.tolerations, taint)) return &taint;
  }
  return nullptr;
}

bool IsDuplicable(const RemoveDuplicatesArgs& args, const PodView& pod) {
  const auto& owners = pod.details->metadata.owners;
  return !pod.is_finished && !owners.empty() && args.pods.Takes(*pod.pod) &&
         std::ranges::none_of(owners, [&args](const auto& owner) {
           return std::ranges::find(args.exclude_owner_kinds, owner.kind) != args.exclude_owner_kinds.end();
         });
}

std::string DuplicateKey(const PodView& pod, const api::OwnerReference& owner) {
  std::vector<std::string_view> images;
  for (const api::Container& container : pod.pod->spec.containers) images.push_back(container.image);
  std::ranges::sort(images);
  std::string key = pod.pod->metadata.namespace_name + '/' + owner.kind + '/' + owner.name;
  for (const std::string_view image : images) key.append("#").append(image);
  return key;
}

std::vector<std::string> DuplicateSignature(const PodView& pod) {
  std::vector<std::string> signature;
  for (const auto& owner : pod.details->metadata.owners) {
    for (const api::Container& container : pod.pod->spec.containers) {
      signature.push_back(pod.pod->metadata.namespace_name + '/' + owner.kind + '/' + owner.name + '/' +
                          container.image);
    }
  }
  std::ranges::sort(signature);
  return signature;
}

std::size_t CountMovable(const ClusterView& view, NodeNumber node) {
  return static_cast<std::size_t>(std::ranges::count_if(view.node(node).pods, [&view](PodNumber number) {
    const PodView& pod = view.pod(number);
    const whatif::PodKind kind = whatif::KindOf(*pod.pod);
    return !pod.is_finished && !pod.pod->metadata.deletion_time && kind != whatif::PodKind::kDaemon &&
           kind != whatif::PodKind::kStatic;
  }));
}

Violations::Violations(const Policy& policy, const ClusterView& view, std::vector<NodeNumber> nodes, Time now,
                       const Measurements* measurements)
    : nodes_(std::move(nodes)) {
  for (const StrategyArgs* strategy : StrategiesOf(policy))
    entries_.push_back({strategy, MakeStrategyViolation(*strategy, view, nodes_, now, measurements)});
  std::ranges::stable_sort(entries_, {}, [](const Entry& entry) { return RankOf(*entry.strategy); });
}

std::vector<ViolationChange> Violations::ChangesOf(const PodView& pod, NodeNumber to) const {
  std::vector<ViolationChange> changes;
  for (const Entry& entry : entries_) {
    const double change = entry.violation ? entry.violation->ChangeOf(pod, to) : 0;
    if (std::abs(change) > kViolationPrecision)
      changes.push_back({entry.strategy, change, entry.violation->Describe(pod, to)});
  }
  return changes;
}

std::string Violations::WhyWorse(const StrategyArgs& strategy, const PodView& pod, NodeNumber to, Wants wants) const {
  bool is_better = false;  // for a strategy that comes before
  for (const Entry& entry : entries_) {
    const double change = entry.violation ? entry.violation->ChangeOf(pod, to) : 0;
    if (entry.strategy == &strategy) {
      const bool is_enough =
          !entry.violation || change < (wants == Wants::kBetter ? -kViolationPrecision : kViolationPrecision);
      if (is_enough && entry.violation && wants == Wants::kBetter) return entry.violation->WhyNotTarget(pod, to);
      if (is_enough) return {};
      return "it is no better for " + std::string(NameOf(strategy));
    }
    if (change > kViolationPrecision && !is_better)
      return "it is worse for " + std::string(NameOf(*entry.strategy)) + ", which counts more";
    is_better = is_better || change < -kViolationPrecision;
  }
  BERTH_CHECK(false, NameOf(strategy));
  return {};
}

void Violations::Move(const PodView& pod, NodeNumber to) {
  for (const Entry& entry : entries_) {
    if (entry.violation) entry.violation->OnMove(pod, to);
  }
}

}  // namespace berth::rebalance
