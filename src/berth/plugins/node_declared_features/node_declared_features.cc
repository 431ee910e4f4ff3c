// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_declared_features/node_declared_features.h"

#include <algorithm>
#include <memory>
#include <string>

#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::Status;

constexpr std::string_view kPreFilterKey = "PreFilterNodeDeclaredFeatures";

struct Requirements final : framework::StateData {
  explicit Requirements(const api::PodSpec& spec) {
    const auto restarts_all = [](const api::Container& container) { return container.restarts_all_containers; };
    if (std::any_of(spec.containers.begin(), spec.containers.end(), restarts_all) ||
        std::any_of(spec.init_containers.begin(), spec.init_containers.end(), restarts_all)) {
      features.push_back(NodeDeclaredFeatures::kRestartAllContainers);
    }
    if (spec.host_network && !spec.host_users) features.push_back(NodeDeclaredFeatures::kUserNamespacesHostNetwork);
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

framework::QueueingHint AfterNodeChange(const framework::PodInfo&, const framework::EventObjects& event) {
  if (event.new_node == nullptr || event.old_node == nullptr) return framework::QueueingHint::kQueue;
  return QueueIf(event.old_node->declared_features != event.new_node->declared_features);
}

framework::QueueingHint AfterPodUpdate(const framework::PodInfo& pod, const framework::EventObjects& event) {
  if (event.old_pod == nullptr || event.new_pod == nullptr) return framework::QueueingHint::kQueue;
  return QueueIf(IsOwnUpdate(pod, event) &&
                 Requirements(event.old_pod->spec()).features != Requirements(event.new_pod->spec()).features);
}

}  // namespace

framework::PreFilterResult NodeDeclaredFeatures::PreFilter(const framework::Cycle& cycle,
                                                           const framework::PodInfo& pod) const {
  auto required = std::make_shared<Requirements>(pod.spec());
  if (required->features.empty()) return {Status::Skip(), std::nullopt};
  cycle.state.Write(kPreFilterKey, std::move(required));
  return {};
}

Status NodeDeclaredFeatures::Filter(const framework::Cycle& cycle, const framework::PodInfo&,
                                    const framework::NodeInfo& node) const {
  const auto* required = cycle.state.Read<Requirements>(kPreFilterKey);
  if (required == nullptr) {
    return Status::Error("error reading \"" + std::string(kPreFilterKey) + "\" from cycle-state: not found");
  }
  if (DeclaresAll(node.node(), *required)) return Status::Success();
  return Status::UnschedulableAndUnresolvable(std::string(kReason));
}

void NodeDeclaredFeatures::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                      std::span<const framework::NodeIndex> rows,
                                      std::span<framework::VerdictId> verdicts,
                                      framework::StatusTable& statuses) const {
  const auto* required = cycle.state.Read<Requirements>(kPreFilterKey);
  if (required == nullptr) return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
  CachedRefusal refusal(statuses, framework::Code::kUnschedulableAndUnresolvable, kReason);
  for (const framework::NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    if (!DeclaresAll(cycle.nodes.Info(row).node(), *required)) verdicts[row] = refusal.Get();
  }
}

std::vector<framework::ClusterEventWithHint> NodeDeclaredFeatures::EventsToRegister() const {
  using namespace framework::action;
  return {OnNode(kAdd | kUpdateNodeDeclaredFeature, AfterNodeChange), OnPod(kUpdate, AfterPodUpdate)};
}

}  // namespace berth::plugins
