// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/binding_table.h"

#include <algorithm>
#include <utility>

#include "berth/base/check.h"
#include "berth/base/reset_to_default.h"

namespace berth::scheduler {

BindingCycle& BindingTable::Add(Profile& profile, queue::QueuedPodInfo&& queued, const framework::PodInfoPtr& assumed) {
  std::unique_ptr<BindingCycle> made;
  if (free_.empty()) {
    made = std::make_unique<BindingCycle>();
  } else {
    made = std::move(free_.back());
    free_.pop_back();
  }
  BindingCycle& cycle = *made;
  cycle.profile = &profile;
  cycle.queued = std::move(queued);
  cycle.assumed = assumed;
  by_uid_.emplace(assumed->uid, std::move(made));
  return cycle;
}

BindingCycle* BindingTable::Find(std::string_view uid) {
  if (by_uid_.empty()) return nullptr;
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? nullptr : it->second.get();
}

std::unique_ptr<BindingCycle> BindingTable::Take(BindingCycle& cycle) {
  DropDeadlines(cycle);
  DropOperation(cycle);
  const auto it = by_uid_.find(cycle.assumed->uid);
  BERTH_CHECK(it != by_uid_.end(), cycle.assumed->uid);
  if (cycle.is_in_doubt) {
    --in_doubt_count_;
    const auto in_doubt = in_doubt_.find(cycle.assumed->namespace_name());
    if (--in_doubt->second.cycles == 0) in_doubt_.erase(in_doubt);
  }
  std::unique_ptr<BindingCycle> taken = std::move(it->second);
  by_uid_.erase(it);
  return taken;
}

void BindingTable::Recycle(std::unique_ptr<BindingCycle> taken) {
  if (free_.size() >= kFreeMax) return;
  ResetToDefault(*taken);
  free_.push_back(std::move(taken));
}

std::vector<framework::PodInfoPtr> BindingTable::AssumedPods() const {
  std::vector<framework::PodInfoPtr> pods;
  pods.reserve(by_uid_.size());
  for (const auto& [uid, cycle] : by_uid_) pods.push_back(cycle->assumed);
  return pods;
}

std::vector<const BindingCycle*> BindingTable::AtPermit(std::size_t count_max) const {
  std::vector<const BindingCycle*> waiting;
  for (const auto& [uid, cycle] : by_uid_) {
    if (waiting.size() == count_max) break;
    if (cycle->phase == BindingPhase::kPermit && !cycle->permits.empty()) waiting.push_back(cycle.get());
  }
  return waiting;
}

std::uint64_t BindingTable::SetOperation(BindingCycle& cycle, std::uint64_t operation, Time now, bool is_wait) {
  DropOperation(cycle);
  cycle.operation = operation;
  if (!is_wait) {
    cycle.is_busy = true;
    ++busy_count_;
    begun_.emplace_back(now, operation);
  }
  by_operation_.emplace(operation, &cycle);
  return operation;
}

BindingCycle* BindingTable::TakeByOperation(std::uint64_t operation) {
  const auto it = by_operation_.find(operation);
  if (it == by_operation_.end()) return nullptr;
  BindingCycle* const cycle = it->second;
  by_operation_.erase(it);
  cycle->operation = 0;
  EndBusy(*cycle);
  return cycle;
}

bool BindingTable::EndPermitWait(BindingCycle& cycle, std::string_view plugin) {
  const auto wait = std::find_if(cycle.permits.begin(), cycle.permits.end(),
                                 [plugin](const PermitWait& each) { return each.plugin == plugin; });
  if (wait == cycle.permits.end()) return false;
  const Time deadline = wait->deadline;
  cycle.permits.erase(wait);
  // Two Permit plugins may have the same deadline.
  if (std::none_of(cycle.permits.begin(), cycle.permits.end(),
                   [deadline](const PermitWait& other) { return other.deadline == deadline; }))
    deadlines_.erase({deadline, cycle.assumed->uid});
  return true;
}

BindingCycle* BindingTable::TakeDue(Time now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::string uid = std::move(deadlines_.extract(deadlines_.begin()).value().second);
    if (BindingCycle* const cycle = Find(uid)) return cycle;
  }
  return nullptr;
}

std::optional<Time> BindingTable::NextDeadline() const {
  std::optional<Time> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (!begun_.empty()) next = std::min(next.value_or(Time::max()), begun_.front().first + late_after_);
  if (!late_.empty()) next = std::min(next.value_or(Time::max()), late_.front().first + very_late_after_);
  return next;
}

BindingCycle* BindingTable::TakeLate(Time now) {
  while (!begun_.empty() && begun_.front().first + late_after_ <= now) {
    const auto began = begun_.front();
    begun_.pop_front();
    const auto it = by_operation_.find(began.second);
    if (it == by_operation_.end()) continue;
    late_.push_back(began);
    EndBusy(*it->second);
    return it->second;
  }
  return nullptr;
}

BindingCycle* BindingTable::TakeVeryLate(Time now) {
  while (!late_.empty() && late_.front().first + very_late_after_ <= now) {
    const auto it = by_operation_.find(late_.front().second);
    late_.pop_front();
    if (it != by_operation_.end()) return it->second;
  }
  return nullptr;
}

void BindingTable::SetInDoubt(BindingCycle& cycle) {
  if (std::exchange(cycle.is_in_doubt, true)) return;
  ++in_doubt_count_;
  ++in_doubt_[cycle.assumed->namespace_name()].cycles;
}

void BindingTable::RecordBound(const BindingCycle& cycle) {
  if (in_doubt_.empty()) return;
  const auto it = in_doubt_.find(cycle.assumed->namespace_name());
  if (it != in_doubt_.end()) ++it->second.bound;
}

BindingTable::InDoubt BindingTable::InDoubtOf(std::string_view namespace_name) const {
  if (in_doubt_.empty()) return {};
  const auto it = in_doubt_.find(namespace_name);
  return it == in_doubt_.end() ? InDoubt() : it->second;
}

void BindingTable::DropOperation(BindingCycle& cycle) {
  if (cycle.operation != 0) by_operation_.erase(cycle.operation);
  cycle.operation = 0;
  EndBusy(cycle);
}

void BindingTable::EndBusy(BindingCycle& cycle) {
  if (!std::exchange(cycle.is_busy, false)) return;
  --busy_count_;
  while (!begun_.empty() && !by_operation_.contains(begun_.front().second)) begun_.pop_front();
}

void BindingTable::DropDeadlines(const BindingCycle& cycle) {
  const std::string& uid = cycle.assumed->uid;
  for (const PermitWait& wait : cycle.permits) deadlines_.erase({wait.deadline, uid});
  if (cycle.is_waiting_to_read) deadlines_.erase({cycle.read_at, uid});
}

}  // namespace berth::scheduler
