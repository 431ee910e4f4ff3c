// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/move_allowance.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace berth::rebalance {
namespace {

using State = MoveRecord::State;

// Labels that tell which template a pod was made from: of Deployments, and of StatefulSets.
constexpr std::array<std::string_view, 2> kRevisionLabels = {"pod-template-hash", "controller-revision-hash"};

// The ReplicaSets of one owner replace each other: each is a revision of its own.
bool IsOfReplicaSet(const api::Pod& pod) {
  return pod.metadata.controller && pod.metadata.controller->kind == "ReplicaSet";
}

// The part of a workload that is rolled out by itself: all of it, or one of the StatefulSets that an owner has for
// good.
std::string PartOf(const api::Pod& pod) {
  return IsOfReplicaSet(pod) || !pod.metadata.controller ? std::string() : pod.metadata.controller->name;
}

// The pod's revision; all pods of a part that is not being rolled out have the same one.
std::string RevisionOf(const api::Pod& pod) {
  const std::string set = IsOfReplicaSet(pod) ? pod.metadata.controller->name + "/" : std::string();
  for (const std::string_view label : kRevisionLabels) {
    if (const std::string* const text = pod.metadata.labels.Find(label)) return set + *text;
  }
  return set;
}

// "Deployment web" of "default/Deployment web".
std::string OwnerName(const std::string& workload) { return workload.substr(workload.find('/') + 1); }

// Why the workload is held back after this move. This is looked at before its pods are: a replacement that is awaited
// is also a pod without a node.
Hold HoldOf(const MoveRecord& record, Duration cool_down, Time now) {
  switch (record.state) {
    case State::kIntended:
    case State::kEvicted:
      return {"replacement", "the replacement of " + record.key + " is not ready on " + record.to + " yet"};
    case State::kNotPlaced:
      return {"not_placed", "the replacement of " + record.key + " was not ready in time: nothing else of " +
                                OwnerName(record.workload) + " moves until it is"};
    case State::kSettled: break;
  }
  if (now - record.at >= cool_down) return {};
  return {"cool_down", OwnerName(record.workload) + " cools down for " + FormatGoDuration(cool_down) + " after a move"};
}

}  // namespace

std::optional<WorkloadShare> WorkloadShare::Parse(std::string_view text) {
  WorkloadShare share;
  share.is_percent = text.ends_with('%');
  if (share.is_percent) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share.count);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  const bool is_right = is_whole && share.count > 0 && share.count <= (share.is_percent ? 100 : kCountMax);
  return is_right ? std::optional(share) : std::nullopt;
}

std::size_t WorkloadShare::Of(std::size_t pods) const {
  return std::max<std::size_t>(1, is_percent ? pods * count / 100 : count);
}

// A hold that was found earlier stays.
void MoveAllowance::Look(const api::Pod& pod, Workload& workload) {
  ++workload.pods;
  const std::string revision = RevisionOf(pod);
  const std::string& first = workload.revisions.try_emplace(PartOf(pod), revision).first->second;
  if (!workload.hold.cause.empty()) return;
  const std::string key = pod.metadata.namespace_name + "/" + pod.metadata.name;
  if (pod.metadata.deletion_time) {
    workload.hold = {"deletion", key + " of the same owner is being deleted"};
  } else if (pod.spec.node_name.empty()) {
    workload.hold = {"pending", key + " of the same owner is pending"};
  } else if (revision != first) {
    workload.hold = {"rollout", "a rollout of its owner is under way"};
  }
}

MoveAllowance::MoveAllowance(const whatif::ClusterState& state, const MoveLedger& ledger, const AllowanceLimits& limits,
                             const RefusedUntil& refused, Time now) {
  auto facts = std::make_shared<Facts>();
  facts->limits = limits;
  facts->names = Workloads(state);
  for (const MoveRecord& record : ledger.records()) {
    if (now - record.at < MoveLedger::kMemory) ++taken_in_hour_;
    if (record.to.empty()) continue;
    Workload& workload = facts->workloads[record.workload];
    // An open move says more than one that is over.
    if (workload.hold.cause.empty() || workload.hold.cause == "cool_down") {
      Hold hold = HoldOf(record, limits.cool_down, now);
      if (!hold.cause.empty()) workload.hold = std::move(hold);
    }
    if (!record.replacement_uid.empty()) facts->came_for[record.replacement_uid] = record.strategy;
  }
  for (const auto& [name, until] : refused) {
    Workload& workload = facts->workloads[name];
    if (until > now && workload.hold.cause.empty()) {
      workload.hold = {"refused", "the API server has refused to evict a pod of " + OwnerName(name) +
                                      "; it is asked again at " + FormatRfc3339(until)};
    }
  }
  for (const auto& pod : state.pods) {
    if (std::string name = facts->names.Of(*pod); !name.empty()) Look(*pod, facts->workloads[std::move(name)]);
  }
  facts_ = std::move(facts);
}

Hold MoveAllowance::WhyNot(const api::Pod& pod, std::string_view strategy, bool is_for_itself, bool is_finished,
                           bool is_urgent) const {
  const AllowanceLimits& limits = facts_->limits;
  if (taken_in_hour_ >= limits.per_hour)
    return {"per_hour", std::to_string(limits.per_hour) + " pods have moved within an hour (--moves-per-hour)"};
  if (is_finished || is_urgent) return {};
  const auto came = facts_->came_for.find(pod.metadata.uid);
  if (came != facts_->came_for.end() && came->second == strategy && !is_for_itself)
    return {"same_reason", "it came here for the same reason less than an hour ago"};
  const auto at = facts_->workloads.find(facts_->names.Of(pod));
  if (at == facts_->workloads.end()) return {};
  const Workload& workload = at->second;
  if (!workload.hold.cause.empty()) return workload.hold;
  const auto taken = taken_.find(at->first);
  if (taken != taken_.end() && taken->second >= limits.per_workload.Of(workload.pods))
    return {"per_owner", "no more pods of " + OwnerName(at->first) + " move at once (--moves-per-owner)"};
  return {};
}

void MoveAllowance::Take(const api::Pod& pod, bool is_finished) {
  ++taken_in_hour_;
  if (!is_finished) ++taken_[facts_->names.Of(pod)];
}

void MoveAllowance::GiveBack(const api::Pod& pod) {
  --taken_in_hour_;
  --taken_[facts_->names.Of(pod)];
}

}  // namespace berth::rebalance
