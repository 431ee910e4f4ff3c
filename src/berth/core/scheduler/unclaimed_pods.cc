// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/unclaimed_pods.h"

#include <algorithm>
#include <utility>

#include "berth/base/edit_distance.h"

namespace berth::scheduler {
namespace {

constexpr std::size_t kNameBytesMax = 100;  // a longer name is no misspelling
constexpr std::size_t kShort = 6;

std::string List(const std::vector<std::string>& names) {
  constexpr std::size_t kShownMax = 10;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kShownMax; ++i) list += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShownMax ? list + ", ..." : list;
}

}  // namespace

std::string_view NearMiss(std::string_view name, const std::vector<std::string>& names) {
  std::string_view nearest;
  std::size_t least = name.size() < kShort ? 2 : 3;  // exclusive limit on the edit distance
  for (const std::string& each : names) {
    if (each.size() > kNameBytesMax || name.size() > kNameBytesMax) continue;
    const std::size_t distance = EditDistance(name, each);
    if (distance >= least || distance == 0) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

void UnclaimedPods::Note(const framework::PodInfoPtr& pod, Time now) {
  const auto known = pods_.find(pod->uid);
  // Another scheduler has handled the pod, so its name is right.
  if (pod->scheduled_condition != nullptr) {
    if (known != pods_.end()) pods_.erase(known);
    return;
  }
  if (known != pods_.end()) {
    known->second.pod = pod;
    return;
  }
  if (pods_.size() >= kPodsMax) return;
  const std::string_view nearest = NearMiss(pod->spec().scheduler_name, names_);
  if (!nearest.empty()) pods_.emplace(pod->uid, Waiting{pod, std::string(nearest), now + kPatience});
}

void UnclaimedPods::Forget(std::string_view uid) {
  if (pods_.empty()) return;
  if (const auto known = pods_.find(uid); known != pods_.end()) pods_.erase(known);
}

std::vector<UnclaimedPods::Notice> UnclaimedPods::TakeDue(Time now) {
  std::vector<Notice> due;
  for (auto& [uid, waiting] : pods_) {
    if (waiting.is_reported || waiting.due > now) continue;
    waiting.is_reported = true;
    due.push_back({waiting.pod, waiting.nearest,
                   "no scheduler has said anything about this pod: schedulerName is \"" +
                       waiting.pod->spec().scheduler_name + "\", the nearest that berth takes is \"" + waiting.nearest +
                       "\" (of " + List(names_) + ")"});
  }
  return due;
}

std::optional<Time> UnclaimedPods::NextWake() const {
  std::optional<Time> wake;
  for (const auto& [uid, waiting] : pods_) {
    if (!waiting.is_reported && (!wake || waiting.due < *wake)) wake = waiting.due;
  }
  return wake;
}

}  // namespace berth::scheduler
