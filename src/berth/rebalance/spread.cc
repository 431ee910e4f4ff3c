// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "berth/plugins/helper/label_selector.h"
#include "berth/plugins/helper/required_node_affinity.h"
#include "berth/plugins/helper/tolerations.h"
#include "berth/rebalance/node_fit.h"

namespace berth::rebalance {
namespace {

using Inclusion = api::NodeInclusionPolicy;

SpreadConstraint MakeConstraint(const api::TopologySpreadConstraint& of, const api::Pod& pod) {
  SpreadConstraint made;
  made.namespace_name = pod.metadata.namespace_name;
  made.max_skew = of.max_skew;
  made.topology_key = of.topology_key;
  made.selector = of.selector;
  for (const std::string& key : of.match_label_keys) {
    const std::string* const value = pod.metadata.labels.Find(key);
    if (value != nullptr && made.selector)
      made.selector->requirements.push_back({key, api::SelectorOperator::kIn, {*value}, {}});
  }
  if (made.selector) std::ranges::stable_sort(made.selector->requirements, {}, &api::Requirement::key);
  if (of.node_affinity_policy.value_or(Inclusion::kHonor) == Inclusion::kHonor) {
    made.node_selector = pod.spec.node_selector;
    if (pod.spec.node_affinity && pod.spec.node_affinity->required)
      made.node_affinity = api::NodeAffinity{pod.spec.node_affinity->required, {}};
  }
  if (of.node_taints_policy.value_or(Inclusion::kIgnore) == Inclusion::kHonor) made.tolerations = pod.spec.tolerations;
  return made;
}

struct Domain {
  std::string value;
  std::vector<PodNumber> pods;
};

// Evicts from the end: the pods that a node selector or affinity binds come first, then by priority. Equal ones are
// turned around where they have a priority, as the descheduler's comparison does it.
void SortForEviction(const ClusterView& view, std::vector<PodNumber>& pods) {
  const auto is_before = [&view](PodNumber a, PodNumber b) {
    const api::PodSpec& x = view.pod(a).pod->spec;
    const api::PodSpec& y = view.pod(b).pod->spec;
    const bool is_bound = !x.node_selector.empty() || x.node_affinity;
    const bool is_other_bound = !y.node_selector.empty() || y.node_affinity;
    if (is_bound != is_other_bound) return is_bound;
    if (x.priority && y.priority) return *x.priority <= *y.priority;
    return !x.priority && y.priority.has_value();
  };
  // The comparison is no strict weak order, so that the standard's algorithms do not apply. Insertion sort, as Go does
  // it for a dozen elements and fewer; binary insertion finds the same place, behind the last one that is not after the
  // pod.
  std::vector<PodNumber> sorted;
  sorted.reserve(pods.size());
  for (const PodNumber pod : pods) {
    const auto at =
        std::partition_point(sorted.begin(), sorted.end(), [&](PodNumber other) { return !is_before(pod, other); });
    sorted.insert(at, pod);
  }
  pods = std::move(sorted);
}

class Balancing {
 public:
  Balancing(const TopologySpreadArgs& args, const StrategyRun& run, const SpreadConstraint& constraint,
            const std::vector<PodNumber>& pods)
      : args_(args), round_(run), constraint_(constraint) {
    std::map<std::string_view, std::size_t> index;
    const auto domain_of = [&](std::string_view value) -> Domain& {
      const auto [at, is_new] = index.emplace(value, domains_.size());
      if (is_new) domains_.push_back({std::string(value), {}});
      return domains_[at->second];
    };
    for (const NodeNumber number : run.nodes) {
      const std::string* const value = ValueAt(number);
      if (value == nullptr || !constraint.TakesNode(*run.view.node(number).node)) continue;
      eligible_.push_back(number);
      domain_of(*value);
    }
    for (const PodNumber number : pods) {
      const PodView& pod = run.view.pod(number);
      if (pod.pod->metadata.deletion_time || !constraint.Selects(*pod.pod)) continue;
      const std::string* const value = ValueAt(pod.node);
      if (value == nullptr) continue;
      domain_of(*value).pods.push_back(number);
      ++pod_count_;
    }
  }

  bool IsBalanced() const {
    if (domains_.empty()) return true;
    const auto [least, most] = std::ranges::minmax(domains_, {}, [](const Domain& each) { return each.pods.size(); });
    return static_cast<std::int64_t>(most.pods.size() - least.pods.size()) <= constraint_.max_skew;
  }

  // Adds the pods that should go, those of the fullest domain first: if not all of them may, each is one that had to.
  void Balance(std::vector<PodNumber>& out) {
    std::vector<std::pair<std::size_t, PodNumber>> leaving;  // with how many pods its domain has at that time
    for (Domain& domain : domains_) SortForEviction(round_.view, domain.pods);
    std::ranges::stable_sort(domains_, [](const Domain& a, const Domain& b) {
      return std::pair(a.pods.size(), std::string_view(a.value)) < std::pair(b.pods.size(), std::string_view(b.value));
    });
    const double average = static_cast<double>(pod_count_) / static_cast<double>(domains_.size());
    const std::vector<NodeNumber> below = NodesBelow(average);
    std::size_t i = 0, j = domains_.size() - 1;
    while (i < j) {
      if (static_cast<double>(domains_[j].pods.size()) <= average) --j;
      std::vector<PodNumber>& from = domains_[j].pods;
      std::vector<PodNumber>& to = domains_[i].pods;
      const double skew = static_cast<double>(from.size()) - static_cast<double>(to.size());
      if (static_cast<std::int32_t>(skew) <= constraint_.max_skew) {
        ++i;
        continue;
      }
      const double above_average = std::ceil(static_cast<double>(from.size()) - average);
      const double below_average = std::ceil(average - static_cast<double>(to.size()));
      const double half_skew = std::ceil((skew - constraint_.max_skew) / 2);
      const double count = std::min({above_average, below_average, half_skew});
      if (count <= 0) {
        ++i;
        continue;
      }
      const auto fits = [&](PodNumber pod) { return FitsAnyOtherNode(round_.view, round_.view.pod(pod), below); };
      std::ranges::stable_partition(from, [&](PodNumber pod) { return !fits(pod); });
      const auto first = from.end() - static_cast<std::ptrdiff_t>(count);
      for (auto at = first; at != from.end(); ++at) {
        const auto gone = static_cast<std::size_t>(at - first);
        if (!args_.topology_balance_node_fit || fits(*at)) leaving.emplace_back(from.size() - gone, *at);
      }
      to.insert(to.end(), first, from.end());
      from.erase(first, from.end());
    }
    std::ranges::stable_sort(leaving, std::ranges::greater(), &std::pair<std::size_t, PodNumber>::first);
    for (const auto& [pods_there, pod] : leaving) out.push_back(pod);
  }

 private:
  const std::string* ValueAt(NodeNumber node) const {
    return round_.view.node(node).node->metadata.labels.Find(constraint_.topology_key);
  }

  std::vector<NodeNumber> NodesBelow(double average) const {
    std::vector<NodeNumber> nodes;
    for (const Domain& domain : domains_) {
      if (static_cast<double>(domain.pods.size()) >= average) continue;
      for (const NodeNumber node : eligible_) {
        if (*ValueAt(node) == domain.value) nodes.push_back(node);
      }
    }
    return nodes;
  }

  const TopologySpreadArgs& args_;
  const StrategyRun& round_;
  const SpreadConstraint& constraint_;
  std::vector<Domain> domains_;
  std::vector<NodeNumber> eligible_;  // that have the key
  std::size_t pod_count_ = 0;
};

}  // namespace

bool SpreadConstraint::Selects(const api::Pod& pod) const {
  return pod.metadata.namespace_name == namespace_name && selector && selector->Matches(pod.metadata.labels);
}

bool SpreadConstraint::TakesNode(const api::Node& node) const {
  if (node_selector) {
    api::PodSpec spec;
    spec.node_selector = *node_selector;
    spec.node_affinity = node_affinity;
    if (!plugins::RequiredNodeAffinity(spec).Matches(node)) return false;
  }
  return !tolerations || !plugins::HasUntoleratedHardTaint(node.taints, *tolerations);
}

std::vector<SpreadConstraint> ConstraintsOf(const TopologySpreadArgs& args, const ClusterView& view,
                                            const std::vector<PodNumber>& pods) {
  std::vector<SpreadConstraint> constraints;
  for (const PodNumber number : pods) {
    const api::Pod& pod = *view.pod(number).pod;
    for (const api::TopologySpreadConstraint& each : pod.spec.topology_spread_constraints) {
      if (std::ranges::find(args.constraints, each.when_unsatisfiable) == args.constraints.end()) continue;
      if (each.selector && !plugins::LabelSelectorError(*each.selector).empty()) continue;
      SpreadConstraint made = MakeConstraint(each, pod);
      if (std::ranges::find(constraints, made) == constraints.end()) constraints.push_back(std::move(made));
    }
  }
  return constraints;
}

void Run(const TopologySpreadArgs& args, const StrategyRun& run) {
  std::map<std::string_view, std::vector<PodNumber>> by_namespace;
  for (const NodeNumber node : run.nodes) {
    for (const PodNumber number : run.view.node(node).pods) {
      const PodView& pod = run.view.pod(number);
      if (!pod.is_finished && args.pods.Takes(*pod.pod) && run.evictor.Filter(pod))
        by_namespace[pod.pod->metadata.namespace_name].push_back(number);
    }
  }
  std::vector<std::pair<PodNumber, std::string>> wanted;
  for (const auto& [name, pods] : by_namespace) {
    for (const SpreadConstraint& constraint : ConstraintsOf(args, run.view, pods)) {
      Balancing balancing(args, run, constraint, pods);
      if (balancing.IsBalanced()) continue;
      std::vector<PodNumber> out;
      balancing.Balance(out);
      for (const PodNumber pod : out) {
        wanted.emplace_back(pod, "its " + constraint.topology_key +
                                     " has too many pods of its spread constraint (maxSkew " +
                                     std::to_string(constraint.max_skew) + ")");
      }
    }
  }
  std::set<PodNumber> seen;
  std::set<NodeNumber> full;
  for (auto& [number, reason] : wanted) {
    const PodView& pod = run.view.pod(number);
    if (!seen.insert(number).second || full.contains(pod.node) || !run.evictor.PreEvictionFilter(pod)) continue;
    const EvictionAnswer answer = run.Evict(number, std::move(reason));
    if (answer == EvictionAnswer::kNodeLimit) full.insert(pod.node);
    if (answer == EvictionAnswer::kTotalLimit) return;
  }
}

}  // namespace berth::rebalance
