// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_declared_features/node_declared_features.h"

#include <algorithm>
#include <memory>
#include <string>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

constexpr std::string_view kPreFilterKey = "PreFilterNodeDeclaredFeatures";
// Needed where a container's rule has the action RestartAllContainers.
constexpr std::string_view kRestartAllContainers = "RestartAllContainersOnContainerExits";
// Needed for hostUsers: false together with hostNetwork.
constexpr std::string_view kUserNamespacesHostNetwork = "UserNamespacesHostNetworkSupport";

struct Requirements final : StateData {
  // `is_first`: of the first release that has the plugin, which knows one feature alone.
  Requirements(const api::PodSpec& spec, bool is_first) {
    const auto restarts_all = [](const api::Container& container) { return container.restarts_all_containers; };
    if (std::any_of(spec.containers.begin(), spec.containers.end(), restarts_all) ||
        std::any_of(spec.init_containers.begin(), spec.init_containers.end(), restarts_all)) {
      features.push_back(kRestartAllContainers);
    }
    if (!is_first && spec.host_network && !spec.host_users) features.push_back(kUserNamespacesHostNetwork);
  }

  std::vector<std::string_view> features;
};

// Upstream relies on a sorted list, as the API keeps it: what follows a larger name it does not find.
bool Declares(const std::vector<std::string>& declared, std::string_view feature) {
  for (const std::string& name : declared) {
    if (name >= feature) return name == feature;
  }
  return false;
}

bool DeclaresAll(const api::Node& node, const Requirements& required) {
  return std::all_of(required.features.begin(), required.features.end(),
                     [&](std::string_view feature) { return Declares(node.declared_features, feature); });
}

QueueingHint AfterNodeChange(const PodInfo&, const EventObjects& event) {
  if (event.new_node == nullptr || event.old_node == nullptr) return QueueingHint::kQueue;
  return QueueIf(event.old_node->declared_features != event.new_node->declared_features);
}

class NodeDeclaredFeatures final : public PreFilterPlugin, public FastFilter, public EnqueueExtensions {
 public:
  static constexpr std::string_view kReason = "node(s) didn't match Pod's required features";

  explicit NodeDeclaredFeatures(const Handle& handle) : is_first_(!handle.release().hides_missing_features) {}

  std::string_view Name() const override { return names::kNodeDeclaredFeatures; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    auto required = std::make_shared<Requirements>(pod.spec(), is_first_);
    if (required->features.empty()) return {Status::Skip(), std::nullopt};
    cycle.state.Write(kPreFilterKey, std::move(required));
    return {};
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    const auto* required = cycle.state.Read<Requirements>(kPreFilterKey);
    if (required == nullptr) {
      return Status::Error("error reading \"" + std::string(kPreFilterKey) + "\" from cycle-state: not found");
    }
    if (DeclaresAll(node.node(), *required)) return Status::Success();
    return Status::UnschedulableAndUnresolvable(ReasonOf(*required));
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* required = cycle.state.Read<Requirements>(kPreFilterKey);
    if (required == nullptr) return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
    const std::string reason = ReasonOf(*required);
    CachedRefusal refusal(statuses, Code::kUnschedulableAndUnresolvable, reason);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      if (!DeclaresAll(cycle.nodes.Info(row).node(), *required)) verdicts[row] = refusal.Get();
    }
  }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    return {
        OnNode(kAdd | kUpdateNodeDeclaredFeature, AfterNodeChange),
        OnPod(kUpdate, [this](const PodInfo& pod, const EventObjects& event) { return AfterPodUpdate(pod, event); })};
  }

 private:
  QueueingHint AfterPodUpdate(const PodInfo& pod, const EventObjects& event) const {
    if (event.old_pod == nullptr || event.new_pod == nullptr) return QueueingHint::kQueue;
    const auto features_of = [this](const PodInfo& of) { return Requirements(of.spec(), is_first_).features; };
    return QueueIf(IsOwnUpdate(pod, event) && features_of(*event.old_pod) != features_of(*event.new_pod));
  }

  // The one feature that the first release knows is the one that is missing.
  std::string ReasonOf(const Requirements& required) const {
    if (!is_first_) return std::string(kReason);
    return "node declared features check failed - unsatisfied requirements: " + std::string(required.features.front());
  }

  const bool is_first_;
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeDeclaredFeatures(Handle& handle) {
  return std::make_unique<NodeDeclaredFeatures>(handle);
}

}  // namespace berth::plugins
