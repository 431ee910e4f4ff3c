// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/binding_table.h"

#include <algorithm>

#include "berth/base/check.h"

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
  std::unique_ptr<BindingCycle> taken = std::move(it->second);
  by_uid_.erase(it);
  return taken;
}

void BindingTable::Recycle(std::unique_ptr<BindingCycle> taken) {
  if (free_.size() >= kFreeMax) return;
  *taken = BindingCycle();
  free_.push_back(std::move(taken));
}

std::vector<framework::PodInfoPtr> BindingTable::AssumedPods() const {
  std::vector<framework::PodInfoPtr> pods;
  pods.reserve(by_uid_.size());
  for (const auto& [uid, cycle] : by_uid_) pods.push_back(cycle->assumed);
  return pods;
}

std::uint64_t BindingTable::SetOperation(BindingCycle& cycle, std::uint64_t operation) {
  DropOperation(cycle);
  cycle.operation = operation;
  by_operation_.emplace(operation, &cycle);
  return operation;
}

BindingCycle* BindingTable::TakeByOperation(std::uint64_t operation) {
  const auto it = by_operation_.find(operation);
  if (it == by_operation_.end()) return nullptr;
  BindingCycle* const cycle = it->second;
  by_operation_.erase(it);
  cycle->operation = 0;
  return cycle;
}

bool BindingTable::EndPermitWait(BindingCycle& cycle, std::string_view plugin) {
  const auto wait = std::find_if(cycle.permits.begin(), cycle.permits.end(),
                                 [plugin](const PermitWait& each) { return each.plugin == plugin; });
  if (wait == cycle.permits.end()) return false;
  const Time deadline = wait->deadline;
  cycle.permits.erase(wait);
  // Another plugin may wait until the same moment.
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
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

void BindingTable::DropOperation(BindingCycle& cycle) {
  if (cycle.operation != 0) by_operation_.erase(cycle.operation);
  cycle.operation = 0;
}

void BindingTable::DropDeadlines(const BindingCycle& cycle) {
  const std::string& uid = cycle.assumed->uid;
  for (const PermitWait& wait : cycle.permits) deadlines_.erase({wait.deadline, uid});
  if (cycle.is_waiting_to_read) deadlines_.erase({cycle.read_at, uid});
}

}  // namespace berth::scheduler
