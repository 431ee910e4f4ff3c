// SPDX-License-Identifier: Apache-2.0
// StatefulSets: pods with numbers, one after the other where the set is OrderedReady, and their claims. No
// ControllerRevisions are kept: a pod below the update's partition keeps its revision, but is made anew of the newest
// template when it is lost.
#include "berth/devcluster/controllers/stateful_set_decision.h"

#include <algorithm>
#include <map>
#include <utility>

#include "berth/devcluster/controllers/workload_pods.h"

namespace berth::controllers {
namespace {

// The number behind the last dash of the set's name; -1 for another name.
std::int64_t OrdinalOf(const WorkloadView& set, std::string_view name) {
  if (!name.starts_with(set.name + '-')) return -1;
  const std::string_view digits = name.substr(set.name.size() + 1);
  return digits.size() > 1 && digits.front() == '0' ? -1 : NumberIn(digits);
}

std::int64_t Partition(const WorkloadView& set) {
  const json::object* strategy = ObjectOf(set.spec, "updateStrategy");
  const json::object* rolling = strategy == nullptr ? nullptr : ObjectOf(*strategy, "rollingUpdate");
  return rolling == nullptr ? 0 : IntegerOf(*rolling, "partition", 0);
}

bool HasRevision(const PodView& pod, std::string_view revision) {
  const std::string* own = pod.labels.Find(kRevisionHashLabel);
  return own != nullptr && *own == revision;
}

}  // namespace

PodDecision DecideStatefulSet(const WorkloadView& set, const Pods& pods, Time now) {
  PodDecision decision;
  const json::object* ordinals = ObjectOf(set.spec, "ordinals");
  const std::int64_t first = ordinals == nullptr ? 0 : IntegerOf(*ordinals, "start", 0);
  const std::int64_t end = first + std::max<std::int64_t>(set.replicas, 0);
  const bool is_ordered = StringOf(set.spec, "podManagementPolicy") != "Parallel";
  const PodMaker maker("StatefulSet", set);
  const std::string& revision = maker.revision();

  std::map<std::int64_t, std::shared_ptr<const PodView>> by_ordinal;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t updated = 0;
  std::int64_t replicas = 0;
  for (const auto& pod : pods) {
    const std::int64_t ordinal = OrdinalOf(set, pod->name);
    if (ordinal < 0) continue;
    by_ordinal[ordinal] = pod;
    if (!pod->IsActive()) continue;
    ++replicas;
    updated += HasRevision(*pod, revision) ? 1 : 0;
    if (!pod->is_ready) continue;
    ++ready;
    const Time since = pod->ready_since.value_or(now) + std::chrono::seconds(set.min_ready_seconds);
    if (set.min_ready_seconds == 0 || since <= now) {
      ++available;
    } else {
      decision.again_after = since - now;
    }
  }

  // Lost and missing pods first, in order.
  bool waits = false;
  for (std::int64_t ordinal = first; ordinal < end && !(waits && is_ordered); ++ordinal) {
    if (static_cast<std::int64_t>(decision.pods.size()) >= kBurst) break;
    const auto found = by_ordinal.find(ordinal);
    if (found == by_ordinal.end()) {
      const std::string name = set.name + '-' + std::to_string(ordinal);
      for (PodDecision::New& claim : maker.Claims(ordinal)) decision.claims.push_back(std::move(claim));
      decision.pods.push_back({name, maker.Make(name, ordinal)});
      waits = true;
    } else if (found->second->is_deleted) {
      waits = true;  // its place is taken until it is gone
    } else if (found->second->IsFinished()) {
      decision.surplus.push_back(found->second);
      waits = true;
    } else if (!found->second->is_ready) {
      waits = true;
    }
  }
  // Then those that are too many, from the last one on.
  for (auto it = by_ordinal.rbegin(); it != by_ordinal.rend() && !(waits && is_ordered); ++it) {
    if (it->first >= first && it->first < end) continue;
    if (!it->second->is_deleted) decision.surplus.push_back(it->second);
    waits = true;
  }
  // Then those of older templates, one at a time, from the last one on.
  const bool is_rolling = UpdatesByItself(set);
  for (auto it = by_ordinal.rbegin(); is_rolling && !waits && it != by_ordinal.rend(); ++it) {
    if (it->first < std::max(first, Partition(set)) || it->first >= end || HasRevision(*it->second, revision)) continue;
    decision.surplus.push_back(it->second);
    waits = true;
  }

  std::string current(StringOf(set.status, "currentRevision"));
  if (current.empty() || updated == replicas) current = revision;
  const std::int64_t of_current = std::count_if(by_ordinal.begin(), by_ordinal.end(), [&current](const auto& each) {
    return each.second->IsActive() && HasRevision(*each.second, current);
  });
  decision.status = {{"replicas", replicas},
                     {"readyReplicas", ready},
                     {"availableReplicas", available},
                     {"currentReplicas", of_current},
                     {"updatedReplicas", updated},
                     {"currentRevision", current},
                     {"updateRevision", revision},
                     {"observedGeneration", set.generation},
                     {"collisionCount", 0}};
  return decision;
}

}  // namespace berth::controllers
