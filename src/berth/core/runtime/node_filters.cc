// SPDX-License-Identifier: Apache-2.0
#include "berth/core/runtime/node_filters.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "berth/core/runtime/charged.h"
#include "berth/core/runtime/kept_evaluation.h"

namespace berth::runtime {

using framework::CycleState;
using framework::NodeInfo;
using framework::PodInfo;
using framework::PodInfoPtr;
using framework::Status;
using framework::VerdictId;

namespace {

Status ExtensionError(std::string_view call, std::string_view plugin, const Status& status) {
  std::string text = "running ";
  text.append(call).append(" on PreFilter plugin \"").append(plugin).append("\": ").append(status.Message());
  return Status::Error(std::move(text));
}

framework::Cycle ForPlugins(const EvaluationCycle& cycle, CycleState& state) {
  return {cycle.nodes(), state, cycle.request.seed, cycle.request.wall_now};
}

bool IsOwn(const EvaluationCycle& cycle, const framework::PreFilterPlugin& plugin) {
  return cycle.work != nullptr && cycle.profile.IsOwn(plugin);
}

}  // namespace

Status RunFilters(const EvaluationCycle& cycle, CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  const framework::Cycle for_plugins = ForPlugins(cycle, state);
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    if (!cycle.plan.is_filter_active[f]) continue;
    const framework::FilterPlugin& plugin = *cycle.profile.filters[f].plugin;
    const Status status = Charged(cycle, cycle.profile.filters[f].is_own, kUnitsPerCall,
                                  [&] { return plugin.Filter(for_plugins, pod, node); });
    if (!status.IsSuccess()) return status.WithPlugin(plugin.Name());
  }
  return {};
}

std::vector<Status> RunAllFilters(const EvaluationCycle& cycle, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node) {
  std::vector<Status> refusals;
  const framework::Cycle for_plugins = ForPlugins(cycle, state);
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    if (!cycle.plan.is_filter_active[f]) continue;
    const framework::FilterPlugin& plugin = *cycle.profile.filters[f].plugin;
    const Status status = Charged(cycle, cycle.profile.filters[f].is_own, kUnitsPerCall,
                                  [&] { return plugin.Filter(for_plugins, pod, node); });
    if (!status.IsSuccess()) refusals.push_back(status.WithPlugin(plugin.Name()));
  }
  return refusals;
}

Status RunFiltersWithNominated(const EvaluationCycle& cycle, CycleState& state, const PodInfo& pod,
                               const NodeInfo& node, std::span<const PodInfoPtr> nominated) {
  const auto counts = [&pod](const PodInfoPtr& other) {
    return other->uid != pod.uid && other->priority() >= pod.priority();
  };
  // The nominated pods may or may not run there in the end.
  if (std::any_of(nominated.begin(), nominated.end(), counts)) {
    CycleState with_state = state.Clone();
    NodeInfo with_node = node;
    for (const PodInfoPtr& other : nominated) {
      if (!counts(other)) continue;
      with_node.AddPod(other);
      const Status added = RunAddPod(cycle, with_state, pod, *other, with_node);
      if (!added.IsSuccess()) return added;
    }
    const Status status = RunFilters(cycle, with_state, pod, with_node);
    if (!status.IsSuccess()) return status;
  }
  return RunFilters(cycle, state, pod, node);
}

Status RunAddPod(const EvaluationCycle& cycle, CycleState& state, const PodInfo& pod, const PodInfo& other,
                 const NodeInfo& node) {
  const framework::Cycle for_plugins = ForPlugins(cycle, state);
  for (const framework::PreFilterPlugin* plugin : cycle.plan.extensions) {
    const Status status = Charged(cycle, IsOwn(cycle, *plugin), kUnitsPerCall,
                                  [&] { return plugin->AddPod(for_plugins, pod, other, node); });
    if (!status.IsSuccess()) return ExtensionError("AddPod", plugin->Name(), status);
  }
  return {};
}

Status RunRemovePod(const EvaluationCycle& cycle, CycleState& state, const PodInfo& pod, const PodInfo& other,
                    const NodeInfo& node) {
  const framework::Cycle for_plugins = ForPlugins(cycle, state);
  for (const framework::PreFilterPlugin* plugin : cycle.plan.extensions) {
    const Status status = Charged(cycle, IsOwn(cycle, *plugin), kUnitsPerCall,
                                  [&] { return plugin->RemovePod(for_plugins, pod, other, node); });
    if (!status.IsSuccess()) return ExtensionError("RemovePod", plugin->Name(), status);
  }
  return {};
}

std::string FilterErrorText(const Status& status) {
  if (status.plugin().empty()) return status.Message();
  return "running \"" + std::string(status.plugin()) + "\" filter plugin: " + status.Message();
}

VerdictId VerdictOf(EvaluationCycle& cycle, const Status& status) {
  if (status.IsSuccess()) return framework::kVerdictOk;
  int position = 0;
  for (std::size_t f = 0; f < cycle.profile.filters.size(); ++f) {
    if (cycle.profile.filters[f].plugin->Name() == status.plugin()) position = static_cast<int>(f);
  }
  cycle.kept->statuses.SetPlugin(status.plugin(), position);
  return cycle.kept->statuses.Intern(status);
}

}  // namespace berth::runtime
