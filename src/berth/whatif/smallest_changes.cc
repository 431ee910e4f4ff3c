// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/smallest_changes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "berth/plugins/names.h"
#include "berth/whatif/changes_together.h"
#include "berth/whatif/cluster_use.h"
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
constexpr std::string_view kNewNode = "berth-explain-new-node";  // no name of a node that exists
constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

// What the pod asks for. Not all refusals name the resource: devices may stand for one.
std::set<std::string> RequestedResources(const api::Pod& pod) {
  std::set<std::string> names;
  const auto add = [&](const api::ResourceList& list) {
    for (const auto& [name, amount] : list) names.insert(name);
  };
  add(pod.spec.requests);
  for (const auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (const api::Container& container : *containers) add(container.requests);
  }
  return names;
}

std::set<std::int32_t> HostPorts(const api::PodSpec& spec) {
  std::set<std::int32_t> ports;
  for (const auto* containers : {&spec.containers, &spec.init_containers}) {
    for (const api::Container& container : *containers) {
      for (const api::ContainerPort& port : container.ports) {
        if (port.host_port != 0) ports.insert(port.host_port);
      }
    }
  }
  return ports;
}

// The node with the labels that the pod asks for, and uncordoned; `what` gets what that changes.
api::Node Suited(const api::Pod& pod, const api::Node& node, std::vector<std::string>& what) {
  api::Node changed = node;
  for (const auto& [key, value] : MissingLabels(pod, node)) {
    changed.metadata.labels.Set(key, value);
    what.push_back("node " + node.metadata.name + ": label " + key + "=" + value);
  }
  if (node.unschedulable) {
    changed = Uncordoned(changed);
    what.push_back("node " + node.metadata.name + ": uncordoned");
  }
  return changed;
}

struct Tenant {
  NodeIndex row{};
  PodInfoPtr pod;
  std::size_t position = 0;  // the order in which they were found
};

// Whether a pod less on this node could make it feasible.
bool CanHelpItself(const std::vector<Status>& statuses) {
  return std::all_of(statuses.begin(), statuses.end(),
                     [](const Status& s) { return s.code() == framework::Code::kUnschedulable; });
}

// Whether a pod less on another node could make this one feasible: affinity and spreading look at whole zones, and a
// volume may be in use elsewhere.
bool CanBeHelped(const std::vector<Status>& statuses) {
  return CanHelpItself(statuses) && std::any_of(statuses.begin(), statuses.end(), [](const Status& s) {
           return s.plugin() != plugins::names::kNodeResourcesFit && s.plugin() != plugins::names::kNodePorts &&
                  s.plugin() != plugins::names::kNodeVolumeLimits;
         });
}

// The pods on these rows whose place could be free, the least important first: no DaemonSet's and no static ones.
std::vector<Tenant> Tenants(const Overlay& overlay, const RefusalsByRow& refusals, const std::vector<NodeIndex>& rows) {
  std::vector<Tenant> tenants;
  const bool anywhere =
      std::any_of(refusals.begin(), refusals.end(), [](const auto& of_row) { return CanBeHelped(of_row.second); });
  for (const NodeIndex row : rows) {
    if (!anywhere && !CanHelpItself(refusals.at(row))) continue;
    for (const PodInfoPtr& each : overlay.nodes().Info(row).pods()) {
      if (!IsBoundToNode(each->pod_class->controller)) tenants.push_back({row, each, tenants.size()});
    }
  }
  const auto rank = [](const Tenant& t) {
    const framework::Resource& r = t.pod->pod_class->requests;
    return std::tuple(t.pod->priority(), r.cpu_milli, r.memory_bytes, t.position);
  };
  // One more than are tried, so that the search sees whether there are more.
  const std::size_t count = std::min(tenants.size(), kTriesMax + 1);
  std::partial_sort(tenants.begin(), tenants.begin() + static_cast<std::ptrdiff_t>(count), tenants.end(),
                    [&](const Tenant& a, const Tenant& b) { return rank(a) < rank(b); });
  tenants.resize(count, Tenant{});
  return tenants;
}

// Whether the pod would still find one of its ports taken without the tenant. Nodes keep used ports as a set, as
// kube-scheduler does, so that an evaluation without the tenant says that the port is free.
bool HoldsPortTogether(Overlay& overlay, const api::Pod& pod, const Tenant& tenant) {
  const auto conflicts = [](const auto& ports, const framework::HostPort& with) {
    return std::any_of(ports.begin(), ports.end(),
                       [&](const framework::HostPort& port) { return framework::HostPortsConflict(port, with); });
  };
  for (const framework::HostPort& port : overlay.MakePod(pod)->pod_class->host_ports) {
    if (!conflicts(tenant.pod->pod_class->host_ports, port)) continue;
    for (const PodInfoPtr& other : overlay.nodes().Info(tenant.row).pods()) {
      if (other != tenant.pod && conflicts(other->pod_class->host_ports, port)) return true;
    }
  }
  return false;
}

// What makes two nodes alike to an autoscaler: all but the name.
std::string ShapeOf(const api::Node& node) {
  std::string shape;
  for (const auto& [name, quantity] : node.allocatable)
    shape += name + '=' + std::to_string(quantity.MilliValue()) + ' ';
  for (const api::Taint& taint : node.taints) shape += TaintText(taint) + ' ';
  for (const auto& [key, value] : node.metadata.labels) {
    if (key != kHostnameLabel && value != node.metadata.name) shape += key + '=' + value + ' ';
  }
  return shape;
}

// Tries changes of each kind on the overlay and takes them back.
class SmallestChangeSearch {
 public:
  SmallestChangeSearch(Overlay& overlay, const api::Pod& pod, const RefusalsByRow& refusals,
                       const std::function<bool()>& is_over)
      : overlay_(overlay), pod_(pod), refusals_(refusals), is_over_(is_over) {
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
  // The change that leads to `pod`, with the nodes that such a pod fits.
  Change Judged(ChangeKind kind, std::vector<std::string> what, const api::Pod& pod) {
    ++found_.evaluation_count;
    const auto [evaluator, outcome] = overlay_.Evaluate(overlay_.MakePod(pod), Overlay::Detail::kAll);
    Change change{kind, std::move(what), outcome.feasible.size(), {}};
    for (const NodeIndex row : outcome.best) change.nodes.push_back(overlay_.nodes().Info(row).name());
    // Sorted, so that the answer does not depend on the order in which the nodes were added.
    std::sort(change.nodes.begin(), change.nodes.end());
    if (change.nodes.size() > kNodesNamedMax) change.nodes.resize(kNodesNamedMax);
    return change;
  }

  // Whether the caller has ended the search. From then on Fits() says no, so that each loop ends soon.
  bool IsOver() {
    if (!has_ended_ && is_over_ && is_over_()) {
      has_ended_ = true;
      found_.is_complete = false;
    }
    return has_ended_;
  }

  bool Fits(const api::Pod& pod) {
    if (IsOver()) return false;
    ++found_.evaluation_count;
    const auto answer = overlay_.Evaluate(overlay_.MakePod(pod), Overlay::Detail::kChoice);
    return answer.outcome.result == runtime::Result::kFeasible;
  }

  void Found(ChangeKind kind, std::vector<std::string> what, const api::Pod& pod) {
    found_.changes.push_back(Judged(kind, std::move(what), pod));
  }

  void TryRequests() {
    const framework::Resource requests = overlay_.MakePod(pod_)->pod_class->requests;
    for (const std::string& name : RequestedResources(pod_)) {
      const std::int64_t total = requests.Get(name);
      if (total <= 0 || !Fits(WithRequestAtMost(pod_, name, 0))) continue;
      const std::int64_t less =
          Least(0, total, [&](std::int64_t taken) { return Fits(WithRequestAtMost(pod_, name, total - taken)); });
      if (has_ended_) return;  // It may not be the least.
      std::vector<std::string> what;
      const api::Pod changed = WithRequestAtMost(pod_, name, total - less, &what);
      Found(ChangeKind::kRequest, std::move(what), changed);
    }
  }

  void TryTolerations() {
    std::map<std::string, api::Taint> taints;
    for (const NodeIndex row : by_nearness_) {
      if (taints.size() >= kKindTriesMax || IsOver()) {
        found_.is_complete = false;
        break;
      }
      for (api::Taint& taint : UntoleratedTaints(pod_, overlay_.nodes().Info(row).node()))
        taints.emplace(TaintText(taint), std::move(taint));
    }
    std::vector<Change> changes;
    for (const auto& [text, taint] : taints) {
      api::Pod changed = pod_;
      changed.spec.tolerations.push_back(TolerationOf(taint));
      if (Fits(changed)) changes.push_back(Judged(ChangeKind::kToleration, {"a toleration of " + text}, changed));
    }
    Keep(std::move(changes));
  }

  // Keeps the changes after which the pod fits most nodes.
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
    for (const std::int32_t port : HostPorts(spec)) {
      TrySelector("without host port " + std::to_string(port), [&](api::PodSpec& s) {
        const auto erase = [&](api::Container& c) {
          std::erase_if(c.ports, [&](const api::ContainerPort& p) { return p.host_port == port; });
        };
        std::for_each(s.containers.begin(), s.containers.end(), erase);
        std::for_each(s.init_containers.begin(), s.init_containers.end(), erase);
      });
    }
  }

  // Finds the least skew that the pod's i-th spreading constraint would have to allow.
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
    if (has_ended_) return;  // It may not be the least.
    Found(ChangeKind::kSelector,
          {"spec.topologySpreadConstraints[" + std::to_string(i) + "].maxSkew: " + std::to_string(skew) +
           " instead of " + std::to_string(constraint.max_skew)},
          with_skew(skew));
  }

  void TryNodes() {
    std::size_t tries = 0;
    std::vector<Change> changes;
    for (const NodeIndex row : by_nearness_) {
      if (tries >= kKindTriesMax || changes.size() >= kChangesOfKindMax || IsOver()) {
        found_.is_complete = false;
        break;
      }
      std::vector<std::string> what;
      const api::Node& node = overlay_.nodes().Info(row).node();
      auto changed = std::make_shared<const api::Node>(Suited(pod_, node, what));
      if (what.size() != 1) continue;
      ++tries;
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(changed);
      if (Fits(pod_)) changes.push_back(Judged(ChangeKind::kNode, std::move(what), pod_));
      overlay_.UndoTo(before);
    }
    Keep(std::move(changes));
  }

  // Finds the least important pod without which there is room, and of these the smallest.
  void TryPodsLess() {
    std::size_t tries = 0;
    if (IsOver()) return;
    for (const Tenant& tenant : Tenants(overlay_, refusals_, by_nearness_)) {
      if (IsOver()) return;
      if (++tries > kTriesMax) {
        found_.is_complete = false;
        return;
      }
      if (HoldsPortTogether(overlay_, pod_, tenant)) continue;
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

  void TryNewNodes() {
    std::set<std::string> shapes;
    std::vector<Change> changes;
    for (const NodeIndex row : by_nearness_) {
      const api::Node& node = overlay_.nodes().Info(row).node();
      if (node.unschedulable || !shapes.insert(ShapeOf(node)).second) continue;
      if (shapes.size() > kKindTriesMax || IsOver()) {
        found_.is_complete = false;
        break;
      }
      auto another = std::make_shared<api::Node>(node);
      another->metadata.name = kNewNode;
      for (const auto& [key, value] : node.metadata.labels) {
        if (value == node.metadata.name || key == kHostnameLabel)
          another->metadata.labels.Set(key, another->metadata.name);
      }
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(another);
      if (Fits(pod_)) {
        changes.push_back(Judged(ChangeKind::kNewNode, {"one more node like " + node.metadata.name}, pod_));
        changes.back().nodes.clear();  // the name that the new node has here means nothing to anybody
      }
      overlay_.UndoTo(before);
      if (changes.size() >= kChangesOfKindMax) {
        found_.is_complete = false;
        break;
      }
    }
    Keep(std::move(changes));
  }

  // Several changes at once, for the nearest node that they help.
  void TryTogether() {
    std::size_t tries = 0;
    for (const NodeIndex row : by_nearness_) {
      if (IsOver()) return;
      if (++tries > kTogetherTriesMax) {
        found_.is_complete = false;
        return;
      }
      auto together = ChangesTogether(overlay_, pod_, row, refusals_.at(row));
      if (!together) continue;
      const Overlay::Mark before = overlay_.mark();
      overlay_.SetNode(together->node);
      Found(ChangeKind::kTogether, std::move(together->what), together->pod);
      overlay_.UndoTo(before);
      return;
    }
  }

  Overlay& overlay_;
  const api::Pod& pod_;
  const RefusalsByRow& refusals_;
  const std::function<bool()>& is_over_;
  bool has_ended_ = false;  // is_over_ has said so
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

ChangeSearch FindSmallestChanges(Overlay& overlay, const api::Pod& pod, const RefusalsByRow& refusals,
                                 const std::function<bool()>& is_over) {
  return SmallestChangeSearch(overlay, pod, refusals, is_over).Go();
}

}  // namespace berth::whatif
