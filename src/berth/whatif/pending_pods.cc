// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pending_pods.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "berth/whatif/alike_pods.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/pod_group_warnings.h"
#include "berth/whatif/waking_events.h"

namespace berth::whatif {
namespace {

using framework::PodInfoPtr;
using Reason = std::pair<PodState, std::string>;

// What is told of a reason beside it.
struct Details {
  PlacementRefusal refusal;
  std::vector<std::string> woken_by;
};

// What pods wait for; those of one kind wait for the same.
class Reasons {
 public:
  explicit Reasons(OfflineCluster& cluster) : cluster_(cluster), overlay_(cluster.MakeOverlay()), placer_(*overlay_) {}

  // Of a reason that was returned; null: there are none.
  const Details* DetailsOf(const Reason& reason) const {
    const auto known = details_.find(reason);
    return known == details_.end() ? nullptr : &known->second;
  }

  // Null: too many kinds of pods were evaluated.
  const Reason* Of(const api::Pod& pod) {
    const Reason* const reason = OfPodAlone(pod);
    const bool is_of_group = cluster_.pod_groups() == nullptr && !pod.spec.pod_group_name.empty();
    if (reason == nullptr || reason->first != PodState::kFits || !is_of_group) return reason;
    own_ = {PodState::kWaits, "the PodGroup " + pod.spec.pod_group_name + ", which counts with " +
                                  PodGroupFlags(cluster_.options().configuration.release.minor) +
                                  ": by itself it fits"};
    return &own_;
  }

 private:
  const Reason* OfPodAlone(const api::Pod& pod) {
    const PodInfoPtr info = overlay_->MakePod(pod);
    if (auto gate = cluster_.GateOf(pod)) {
      own_ = {PodState::kGated, std::move(*gate)};
      return &own_;
    }
    if (overlay_->ProfileOf(*info) == nullptr) {
      own_ = {PodState::kWaits, "a scheduler called \"" + pod.spec.scheduler_name + "\", which was not asked"};
      return &own_;
    }
    const AlikeKey key = AlikeKeyOf(*info);
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return &known->second.second;
    if (by_key_.size() == kPendingKindsMax) return nullptr;
    // The pod is kept, so that no other class comes to its place in memory.
    auto& [kept, reason] = by_key_[key];
    kept = info;
    reason = Evaluated(info);
    return &reason;
  }

  Reason Evaluated(const PodInfoPtr& info) {
    const scheduler::Overlay::Mark mark = overlay_->mark();
    const bool fits = placer_.Place(info) != framework::kNoNode;
    overlay_->UndoTo(mark);
    if (fits && !info->pod_group_name.empty())
      return {PodState::kWaits,
              "the PodGroup " + info->pod_group_name + ", with which it is placed: by itself it fits"};
    if (fits) return {PodState::kFits, "its turn: a node would take it now"};
    PlacementRefusal refusal = placer_.Explain(info, false);
    Reason reason{PodState::kRefused, ReasonsText(refusal)};
    std::set<std::string> plugins;
    for (const RefusalReason& of : refusal.reasons) plugins.insert(of.plugin);
    std::vector<std::string> woken_by = WakingEvents(*overlay_->ProfileOf(*info), plugins);
    details_.try_emplace(reason, Details{std::move(refusal), std::move(woken_by)});
    return reason;
  }

  OfflineCluster& cluster_;
  const std::unique_ptr<scheduler::Overlay> overlay_;
  Placer placer_;
  std::map<AlikeKey, std::pair<PodInfoPtr, Reason>> by_key_;
  std::map<Reason, Details> details_;
  Reason own_;
};

void Add(const api::Pod& pod, Duration waits_for, PendingOfOwner& to) {
  ++to.count;
  if (!to.longest.empty() && waits_for <= to.waits_for) return;
  to.longest = pod.metadata.name;
  to.waits_for = waits_for;
}

}  // namespace

std::size_t PendingReason::Count() const {
  std::size_t count = 0;
  for (const PendingOfOwner& owner : owners) count += owner.count;
  return count;
}

std::size_t PendingPods::Count() const {
  std::size_t count = not_looked_at;
  for (const PendingReason& reason : reasons) count += reason.Count();
  return count;
}

PendingPods FindPendingPods(OfflineCluster& cluster, const ClusterState& state, const std::string& namespace_name) {
  Reasons reasons(cluster);
  std::map<Reason, std::map<Workload, PendingOfOwner>> found;
  PendingPods pending;
  for (const auto& pod : state.pods) {
    if (!pod->spec.node_name.empty() || pod->metadata.deletion_time) continue;
    if (!namespace_name.empty() && pod->metadata.namespace_name != namespace_name) continue;
    const Reason* const reason = reasons.Of(*pod);
    if (reason == nullptr) {
      ++pending.not_looked_at;
      continue;
    }
    const Time since = pod->metadata.creation_time.value_or(cluster.now());
    Add(*pod, std::max(cluster.now() - since, Duration{0}), found[*reason][WorkloadOf(*pod)]);
  }
  for (auto& [reason, owners] : found) {
    PendingReason& entry = pending.reasons.emplace_back(PendingReason{reason.first, reason.second, {}, {}, {}});
    if (const Details* const details = reasons.DetailsOf(reason)) {
      entry.refusal = details->refusal;
      entry.woken_by = details->woken_by;
    }
    for (auto& [owner, of_owner] : owners) {
      of_owner.owner = owner;
      entry.owners.push_back(std::move(of_owner));
    }
    std::ranges::stable_sort(entry.owners, std::greater<>(), &PendingOfOwner::waits_for);
  }
  std::ranges::stable_sort(pending.reasons, std::greater<>(),
                           [](const PendingReason& reason) { return reason.owners.front().waits_for; });
  return pending;
}

}  // namespace berth::whatif
