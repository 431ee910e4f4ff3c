// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/smallest_changes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "berth/whatif/pod_changes.h"

namespace berth::whatif {
namespace {

using framework::NodeIndex;
using framework::PodInfoPtr;
using framework::Status;
using scheduler::Overlay;

constexpr std::size_t kTriesMax = 2000;    // of pods that a node could do without
constexpr std::size_t kKindTriesMax = 50;  // of taints, of nodes to change, of shapes of nodes
constexpr std::size_t kTogetherTriesMax = 20;
constexpr std::size_t kChangesOfKindMax = 5;
constexpr std::size_t kNodesNamedMax = 3;
constexpr std::string_view kInsufficient = "Insufficient ";
constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";

class Search {
 public:
  Search(Overlay& overlay, const api::Pod& pod, const RefusalsByRow& refusals)
      : overlay_(overlay), pod_(pod), refusals_(refusals) {
    for (const auto& [row, statuses] : refusals) by_nearness_.push_back(row);
    std::stable_sort(by_nearness_.begin(), by_nearness_.end(),
                     [&](NodeIndex a, NodeIndex b) { return refusals.at(a).size() < refusals.at(b).size(); });
  }

  ChangeSearch Go() {
    TryRequests();
    TryTolerations();
    TrySelectors();
    TryNodes();
    TryPodsLess();
    TryNewNodes();
    if (found_.changes.empty()) TryTogether();
    return std::move(found_);
  }

 private:
  // How many nodes such a pod fits, and the first of them.
  void Judge(const api::Pod& pod, Change& change) {
    const auto [evaluator, outcome] = overlay_.Evaluate(overlay_.MakePod(pod), Overlay::Detail::kAll);
    change.node_count = outcome.feasible.size();
    for (const NodeIndex row : outcome.best) {
      if (change.nodes.size() == kNodesNamedMax) break;
      change.nodes.push_back(overlay_.nodes().Info(row).name());
    }
    std::sort(change.nodes.begin(), change.nodes.end());
  }

  bool Fits(const api::Pod& pod) {
    const auto answer = overlay_.Evaluate(overlay_.MakePod(pod), Overlay::Detail::kChoice);
    return answer.outcome.result == runtime::Result::kFeasible;
  }

  void Found(ChangeKind kind, std::vector<std::string> what, const api::Pod& pod) {
    Change change{kind, std::move(what), 0, {}};
    Judge(pod, change);
    found_.changes.push_back(std::move(change));
  }

  // The least number in (no, yes] that `fits` agrees to, where it agrees to `yes` and to all between it and the least.
  static std::int64_t Least(std::int64_t no, std::int64_t yes, const std::function<bool(std::int64_t)>& fits) {
    while (yes - no > 1) {
      const std::int64_t middle = no + (yes - no) / 2;
      (fits(middle) ? yes : no) = middle;
    }
    return yes;
  }

  std::set<std::string> LackingResources() const {
    std::set<std::string> names;
    for (const auto& [row, statuses] : refusals_) {
      for (const Status& status : statuses) {
        for (const std::string& reason : status.reasons()) {
          if (reason.starts_with(kInsufficient)) names.insert(reason.substr(kInsufficient.size()));
        }
      }
    }
    return names;
  }

  void TryRequests() {
    const framework::Resource requests = overlay_.MakePod(pod_)->pod_class->requests;
    for (const std::string& name : LackingResources()) {
      const std::int64_t total = requests.Get(name);
      if (total <= 0 || !Fits(WithRequestAtMost(pod_, name, 0))) continue;
      const std::int64_t less =
          Least(0, total, [&](std::int64_t taken) { return Fits(WithRequestAtMost(pod_, name, total - taken)); });
      std::vector<std::string> what;
      const api::Pod changed = WithRequestAtMost(pod_, name, total - less, &what);
      Found(ChangeKind::kRequest, std::move(what), changed);
    }
  }

  void TryTolerations() {
    std::map<std::string, api::Taint> taints;
    for (const NodeIndex row : by_nearness_) {
      if (taints.size() >= kKindTriesMax) break;
      for (api::Taint& taint : UntoleratedTaints(pod_, overlay_.nodes().Info(row).node()))
        taints.emplace(TaintText(taint), std::move(taint));
    }
    std::vector<Change> changes;
    for (const auto& [text, taint] : taints) {
      api::Pod changed = pod_;
      changed.spec.tolerations.push_back(TolerationOf(taint));
      if (!Fits(changed)) continue;
      Change change{ChangeKind::kToleration, {"a toleration of " + text}, 0, {}};
      Judge(changed, change);
      changes.push_back(std::move(change));
    }
    Keep(std::move(changes));
  }

  // Those that fit most nodes.
  void Keep(std::vector<Change> changes) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.node_count > b.node_count; });
    if (changes.size() > kChangesOfKindMax) {
      changes.resize(kChangesOfKindMax);
      found_.is_complete = false;
    }
    for (Change& change : changes) found_.changes.push_back(std::move(change));
  }

  void TrySelector(const std::string& what, const std::function<void(api::PodSpec&)>& change) {
    api::Pod changed = pod_;
    change(changed.spec);
    if (Fits(changed)) Found(ChangeKind::kSelector, {what}, changed);
  }

  void TrySelectors() {
    const api::PodSpec& spec = pod_.spec;
    for (const auto& [key, value] : spec.node_selector)
      TrySelector("without spec.nodeSelector[" + key + "]", [&](api::PodSpec& s) { s.node_selector.Erase(key); });
    if (spec.node_affinity && spec.node_affinity->required) {
      TrySelector("without spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
                  [](api::PodSpec& s) { s.node_affinity->required.reset(); });
    }
    const auto without_term = [&](const std::string& path, api::PodAffinity api::PodSpec::* affinity) {
      for (std::size_t i = 0; i < (spec.*affinity).required.size(); ++i) {
        TrySelector("without spec.affinity." + path + ".requiredDuringSchedulingIgnoredDuringExecution[" +
                        std::to_string(i) + "]",
                    [&](api::PodSpec& s) {
                      auto& terms = (s.*affinity).required;
                      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
                    });
      }
    };
    without_term("podAffinity", &api::PodSpec::pod_affinity);
    without_term("podAntiAffinity", &api::PodSpec::pod_anti_affinity);
    for (std::size_t i = 0; i < spec.topology_spread_constraints.size(); ++i) TrySkew(i);
    for (const api::Container& container : spec.containers) {
      for (const api::ContainerPort& port : container.ports) {
        if (port.host_port == 0) continue;
        TrySelector("without host port " + std::to_string(port.host_port), [&](api::PodSpec& s) {
          for (api::Container& c : s.containers)
            std::erase_if(c.ports, [&](const api::ContainerPort& p) { return p.host_port == port.host_port; });
        });
      }
    }
  }

  // The least skew that a spreading constraint would have to allow.
  void TrySkew(std::size_t i) {
    const api::TopologySpreadConstraint& constraint = pod_.spec.topology_spread_constraints[i];
    if (constraint.when_unsatisfiable != api::UnsatisfiableConstraintAction::kDoNotSchedule) return;
    const auto with_skew = [&](std::int64_t skew) {
      api::Pod changed = pod_;
      changed.spec.topology_spread_constraints[i].max_skew = static_cast<std::int32_t>(skew);
      return changed;
    };
    constexpr std::int64_t kSkewMax = 1 << 24;
    if (!Fits(with_skew(kSkewMax))) return;
    const std::int64_t skew =
        Least(constraint.max_skew, kSkewMax, [&](std::int64_t each) { return Fits(with_skew(each)); });
    Found(ChangeKind::kSelector,
          {"spec.topologySpreadConstraints[" + std::to_string(i) + "].maxSkew: " + std::to_string(skew) +
           " instead of " + std::to_string(constraint.max_skew)},
          with_skew(skew));
  }

  // The node with the labels that the pod asks for, and uncordoned; `what` gets what that changes.
  api::Node Suited(const api::Node& node, std::vector<std::string>& what) const {
    api::Node changed = node;
    for (const auto& [key, value] : MissingLabels(pod_, node)) {
      changed.metadata.labels.Set(key, value);
      what.push_back("node " + node.metadata.name + ": label " + key + "=" + value);
    }
    if (node.unschedulable) {
      changed.unschedulable = false;
      std::erase_if(changed.taints, [](const api::Taint& taint) { return taint.key == kCordonTaint; });
      what.push_back("node " + node.metadata.name + ": uncordoned");
    }
    return changed;
  }

  void TryNodes() {
    std::size_t tries = 0;
    std::vector<Change> changes;
    for (const NodeIndex row : by_nearness_) {
      if (tries >= kKindTriesMax || changes.size() >= kChangesOfKindMax) break;
      std::vector<std::string> what;
      const api::Node& node = overlay_.nodes().Info(row).node();
      auto changed = std::make_shared<const api::Node>(Suited(node, what));
      if (what.size() != 1) continue;
      ++tries;
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(changed);
      if (Fits(pod_)) {
        Change change{ChangeKind::kNode, std::move(what), 0, {}};
        Judge(pod_, change);
        changes.push_back(std::move(change));
      }
      overlay_.UndoTo(before);
    }
    if (tries >= kKindTriesMax) found_.is_complete = false;
    Keep(std::move(changes));
  }

  struct Tenant {
    NodeIndex row;
    PodInfoPtr pod;
  };

  // Pods whose place could be free: not those that a node has for itself.
  std::vector<Tenant> Tenants() {
    std::vector<Tenant> tenants;
    for (const NodeIndex row : by_nearness_) {
      const std::vector<Status>& statuses = refusals_.at(row);
      const bool can_help = !statuses.empty() && std::all_of(statuses.begin(), statuses.end(), [](const Status& s) {
        return s.code() == framework::Code::kUnschedulable;
      });
      if (!can_help) continue;
      for (const PodInfoPtr& pod : overlay_.nodes().Info(row).pods()) {
        const auto& controller = pod->pod_class->controller;
        if (controller && (controller->kind == "DaemonSet" || controller->kind == "Node")) continue;
        tenants.push_back({row, pod});
      }
    }
    const auto rank = [](const Tenant& t) {
      const framework::Resource& r = t.pod->pod_class->requests;
      return std::tuple(t.pod->priority(), r.cpu_milli, r.memory_bytes);
    };
    std::stable_sort(tenants.begin(), tenants.end(),
                     [&](const Tenant& a, const Tenant& b) { return rank(a) < rank(b); });
    return tenants;
  }

  // The least important pod without which there is room, and of these the smallest.
  void TryPodsLess() {
    std::size_t tries = 0;
    for (const Tenant& tenant : Tenants()) {
      if (++tries > kTriesMax) {
        found_.is_complete = false;
        return;
      }
      const Overlay::Mark before = overlay_.mark();
      overlay_.RemovePod(tenant.pod->uid);
      const bool fits = Fits(pod_);
      if (fits) {
        Found(ChangeKind::kPodLess,
              {"without pod " + tenant.pod->Key() + " (priority " + std::to_string(tenant.pod->priority()) + ") on " +
               overlay_.nodes().Info(tenant.row).name()},
              pod_);
      }
      overlay_.UndoTo(before);
      if (fits) return;
    }
  }

  // What makes two nodes alike to an autoscaler: all but the name.
  static std::string ShapeOf(const api::Node& node) {
    std::string shape;
    for (const auto& [name, quantity] : node.allocatable)
      shape += name + '=' + std::to_string(quantity.MilliValue()) + ' ';
    for (const api::Taint& taint : node.taints) shape += TaintText(taint) + ' ';
    for (const auto& [key, value] : node.metadata.labels) {
      if (key != kHostnameLabel && value != node.metadata.name) shape += key + '=' + value + ' ';
    }
    return shape;
  }

  void TryNewNodes() {
    std::set<std::string> shapes;
    std::vector<Change> changes;
    for (const NodeIndex row : by_nearness_) {
      const api::Node& node = overlay_.nodes().Info(row).node();
      if (node.unschedulable || !shapes.insert(ShapeOf(node)).second) continue;
      if (shapes.size() > kKindTriesMax) {
        found_.is_complete = false;
        break;
      }
      auto another = std::make_shared<api::Node>(node);
      another->metadata.name = "berth-explain-new-node";
      for (const auto& [key, value] : node.metadata.labels) {
        if (value == node.metadata.name) another->metadata.labels.Set(key, another->metadata.name);
      }
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(another);
      if (Fits(pod_)) {
        Change change{ChangeKind::kNewNode, {"one more node like " + node.metadata.name}, 1, {}};
        changes.push_back(std::move(change));
      }
      overlay_.UndoTo(before);
      if (changes.size() >= kChangesOfKindMax) break;
    }
    Keep(std::move(changes));
  }

  // For the node that lacks least, all at once: labels, uncordoned, tolerations, and requests cut to what is free.
  void TryTogether() {
    std::size_t tries = 0;
    for (const NodeIndex row : by_nearness_) {
      if (++tries > kTogetherTriesMax) break;
      std::vector<std::string> what;
      const framework::NodeInfo& info = overlay_.nodes().Info(row);
      auto node = std::make_shared<const api::Node>(Suited(info.node(), what));
      api::Pod changed = pod_;
      for (const api::Taint& taint : UntoleratedTaints(pod_, *node)) {
        changed.spec.tolerations.push_back(TolerationOf(taint));
        what.push_back("a toleration of " + TaintText(taint));
      }
      for (const Status& status : refusals_.at(row)) {
        for (const std::string& reason : status.reasons()) {
          if (!reason.starts_with(kInsufficient)) continue;
          const std::string name = reason.substr(kInsufficient.size());
          const std::int64_t free = info.allocatable().Get(name) - info.requested().Get(name);
          changed = WithRequestAtMost(changed, name, std::max<std::int64_t>(free, 0), &what);
        }
      }
      if (what.size() < 2) continue;
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(node);
      const bool fits = Fits(changed);
      if (fits) Found(ChangeKind::kTogether, std::move(what), changed);
      overlay_.UndoTo(before);
      if (fits) return;
    }
  }

  Overlay& overlay_;
  const api::Pod& pod_;
  const RefusalsByRow& refusals_;
  std::vector<NodeIndex> by_nearness_;
  ChangeSearch found_;
};

}  // namespace

std::string_view ToString(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kRequest: return "request";
    case ChangeKind::kToleration: return "toleration";
    case ChangeKind::kSelector: return "selector";
    case ChangeKind::kNode: return "node";
    case ChangeKind::kPodLess: return "podLess";
    case ChangeKind::kNewNode: return "newNode";
    case ChangeKind::kTogether: return "together";
  }
  return "";
}

ChangeSearch FindSmallestChanges(Overlay& overlay, const api::Pod& pod, const RefusalsByRow& refusals) {
  return Search(overlay, pod, refusals).Go();
}

}  // namespace berth::whatif
