// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/extender_preemption.h"

#include <algorithm>
#include <utility>

#include "berth/base/shown_url.h"

namespace berth::scheduler {
namespace {

using framework::NodeIndex;
using framework::NodeTable;
using framework::PodInfoPtr;

// Null when no pod with this uid is on the node.
PodInfoPtr FindOnNode(const NodeTable& nodes, NodeIndex row, const std::string& uid) {
  const auto& pods = nodes.Info(row).pods();
  const auto found = std::find_if(pods.begin(), pods.end(), [&](const PodInfoPtr& pod) { return pod->uid == uid; });
  return found == pods.end() ? nullptr : *found;
}

}  // namespace

bool ExtenderPreemption::IsWantedFor(const framework::PodInfo& pod, std::span<const config::Extender> extenders) {
  return std::any_of(extenders.begin(), extenders.end(), [&](const config::Extender& extender) {
    return !extender.preempt_verb.empty() && extender.IsInterested(pod.spec());
  });
}

void ExtenderPreemption::Begin(const NodeTable& nodes) {
  for (const auto& candidate : review_.candidates) {
    VictimsOnNode& named = candidates_.emplace_back();
    named.node_name = nodes.Info(candidate.row).name();
    named.pdb_violations = candidate.pdb_violations;
    auto& offered = offered_[named.node_name];
    for (const PodInfoPtr& victim : candidate.victims) {
      named.pod_uids.push_back(victim->uid);
      offered.emplace(victim->uid, victim->node_name);
    }
  }
}

// As upstream, a response is accepted as a whole or not at all.
Expected<void> ExtenderPreemption::Check(const config::Extender& extender, std::vector<VictimsOnNode>& victims,
                                         const NodeTable& nodes) const {
  for (const VictimsOnNode& each : victims) {
    const NodeIndex row = nodes.Find(each.node_name);
    // A node of the request may have been deleted meanwhile.
    const auto offered = offered_.find(each.node_name);
    if (row == framework::kNoNode && offered == offered_.end())
      return InvalidError("nodeinfo not found for node name \"" + each.node_name + "\"");
    if (row == framework::kNoNode) continue;  // deleted, with all its pods
    for (const std::string& uid : each.pod_uids) {
      if (offered != offered_.end() && offered->second.contains(uid)) continue;
      if (FindOnNode(nodes, row, uid) != nullptr) continue;
      return InvalidError("extender: " + ShownUrl(extender.url_prefix) + " claims to preempt pod (UID: " + uid +
                          ") on node: " + each.node_name + ", but the pod is not found on that node");
    }
  }
  for (const VictimsOnNode& each : victims) {
    if (each.pod_uids.empty() && !extender.ignorable)
      return InvalidError("expected at least one victim pod on node \"" + each.node_name + "\"");
  }
  std::erase_if(victims, [](const VictimsOnNode& each) { return each.pod_uids.empty(); });
  return {};
}

bool ExtenderPreemption::Take(const config::Extender& extender, Expected<ExtenderAnswer>&& answer,
                              const NodeTable& nodes) {
  Expected<void> checked = answer.ok() ? Check(extender, answer->victims, nodes) : Expected<void>(answer.error());
  if (checked.ok()) {
    candidates_ = std::move(answer->victims);
  } else if (!extender.ignorable) {
    review_.error = checked.error().message;
    return false;
  }
  return true;
}

// Null when the victim is gone. Pods of a group that is evicted as a whole may run on other nodes.
PodInfoPtr ExtenderPreemption::FindVictim(const NodeTable& nodes, NodeIndex row, const std::string& uid) const {
  if (PodInfoPtr victim = FindOnNode(nodes, row, uid); victim != nullptr) return victim;
  const auto offered = offered_.find(nodes.Info(row).name());
  if (offered == offered_.end()) return nullptr;
  const auto found = offered->second.find(uid);
  if (found == offered->second.end()) return nullptr;
  const NodeIndex its_row = nodes.Find(found->second);
  return its_row == framework::kNoNode ? nullptr : FindOnNode(nodes, its_row, uid);
}

void ExtenderPreemption::End(const NodeTable& nodes) {
  review_.is_answered = true;
  review_.candidates.clear();
  for (const VictimsOnNode& each : candidates_) {
    const NodeIndex row = nodes.Find(each.node_name);
    if (row == framework::kNoNode) continue;
    framework::PreemptionReport::Candidate candidate{row, {}, each.pdb_violations};
    StringHashSet named;  // an extender may name a pod twice
    for (const std::string& uid : each.pod_uids) {
      PodInfoPtr victim = FindVictim(nodes, row, uid);
      if (victim != nullptr && named.insert(uid).second) candidate.victims.push_back(std::move(victim));
    }
    // If all victims have gone by themselves, their deletion wakes the pod.
    if (!candidate.victims.empty()) review_.candidates.push_back(std::move(candidate));
  }
}

}  // namespace berth::scheduler
