// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/recent_changes.h"

#include <utility>

#include "berth/shadow/held_inputs.h"
#include "berth/shadow/sighting.h"

namespace berth::shadow {
namespace {

std::shared_ptr<const api::Node> FindNode(const cache::Cache& cache, const std::string& name) {
  const framework::NodeIndex row = cache.nodes().Find(name);
  if (row == framework::kNoNode || !cache.nodes().Info(row).has_node()) return nullptr;
  return cache.nodes().Info(row).node_ptr();
}

// Whether nothing that scheduling reads has changed.
bool IsHeartbeat(const api::Node& before, const api::Node& after) {
  return before.unschedulable == after.unschedulable && before.taints == after.taints &&
         before.allocatable == after.allocatable && before.images == after.images &&
         before.declared_features == after.declared_features && before.metadata.labels == after.metadata.labels &&
         before.metadata.annotations == after.metadata.annotations;
}

}  // namespace

template <typename What>
void RecentChanges::Add(Time at, What what) {
  if (changes_.size() == kChangesMax) changes_.pop_back();
  changes_.push_front({at, std::move(what)});
}

void RecentChanges::Note(const scheduler::Input& input, const cache::Cache& cache, Time at) {
  const auto note_gone = [&](const std::string& uid) {
    if (const framework::PodInfoPtr* const pod = cache.FindPod(uid)) Add(at, PodLeft{*pod});
  };
  if (const auto* set = std::get_if<scheduler::PodSet>(&input)) {
    const api::Pod& pod = *set->pod;
    if (HasEnded(pod)) {
      note_gone(pod.metadata.uid);
    } else if (!pod.spec.node_name.empty() && cache.FindPod(pod.metadata.uid) == nullptr) {
      Add(at, PodCame{pod.metadata.uid});
    }
  } else if (const auto* gone = std::get_if<scheduler::PodGone>(&input)) {
    note_gone(gone->uid);
  } else if (const auto* node = std::get_if<scheduler::NodeSet>(&input)) {
    auto before = FindNode(cache, node->node->metadata.name);
    if (before != nullptr && IsHeartbeat(*before, *node->node)) return;
    Add(at, NodeChanged{node->node->metadata.name, std::move(before)});
  } else if (const auto* lost = std::get_if<scheduler::NodeGone>(&input)) {
    if (auto before = FindNode(cache, lost->name)) Add(at, NodeChanged{lost->name, std::move(before)});
  }
}

void RecentChanges::DropOld(Time at) {
  while (!changes_.empty() && changes_.back().at + HeldInputs::kWindow < at) changes_.pop_back();
}

void RecentChanges::TakeBack(std::size_t index, scheduler::Overlay& overlay) const {
  const auto& what = changes_[index].what;
  if (const auto* came = std::get_if<PodCame>(&what)) {
    overlay.RemovePod(came->uid);
  } else if (const auto* left = std::get_if<PodLeft>(&what)) {
    overlay.AddPod(left->pod);
  } else if (const auto& node = std::get<NodeChanged>(what); node.before) {
    overlay.SetNode(node.before);
  } else {
    overlay.RemoveNode(node.name);
  }
}

}  // namespace berth::shadow
