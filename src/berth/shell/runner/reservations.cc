// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/reservations.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace berth::runner {
namespace {

using PodPtr = std::shared_ptr<const api::Pod>;

// A pod that takes the room of `evicted` on the node, in the core only.
PodPtr MakeStandIn(const api::Pod& evicted, const std::string& node_name) {
  api::Pod pod = evicted;
  pod.metadata.name = "reserved-" + evicted.metadata.uid;
  pod.metadata.uid = "reserved-" + evicted.metadata.uid;
  pod.metadata.deletion_time.reset();
  pod.spec.node_name = node_name;
  pod.status = {};
  pod.status.phase = api::PodPhase::kRunning;
  return std::make_shared<const api::Pod>(std::move(pod));
}

bool IsPending(const api::Pod& pod) { return pod.spec.node_name.empty() && !pod.metadata.deletion_time; }

}  // namespace

Reservations::Reservations(client::EventLoop& loop, Push push) : loop_(loop), push_(std::move(push)) {}

Reservations::~Reservations() { *alive_ = false; }

bool Reservations::Reserve(const api::Pod& evicted, const std::string& node_name, Duration time_max) {
  if (!evicted.metadata.controller) return false;
  PodPtr stand_in = MakeStandIn(evicted, node_name);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const bool is_there =
        std::ranges::any_of(places_, [&](const auto& each) { return each.second.evicted_uid == evicted.metadata.uid; });
    if (is_there || places_.size() >= kMax) return false;
    number = next_++;
    places_[number] = {evicted.metadata.uid, evicted.metadata.controller->uid, node_name, stand_in, {}};
  }
  push_(scheduler::PodSet{stand_in});
  bool is_over = false;
  {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(number);
    is_over = at == places_.end() || !at->second.arrived_uid.empty();
  }
  // If the replacement came before the core got the stand-in, nothing else would remove the stand-in.
  if (is_over) push_(GoneOf(*stand_in));
  loop_.PostAfter(time_max, [this, alive = alive_, number] {
    if (*alive) End(number);
  });
  return true;
}

void Reservations::Cancel(const std::string& evicted_uid) {
  std::optional<std::uint64_t> number;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [each, place] : places_) {
      if (place.evicted_uid == evicted_uid && place.arrived_uid.empty()) number = each;
    }
  }
  if (number) End(*number);
}

void Reservations::End(std::uint64_t number) {
  Inputs out;
  {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(number);
    if (at == places_.end()) return;
    if (at->second.arrived_uid.empty()) out.emplace_back(GoneOf(*at->second.stand_in));
    places_.erase(at);
  }
  PushAll(std::move(out));
}

scheduler::PodGone Reservations::GoneOf(const api::Pod& stand_in) {
  const api::ObjectMeta& pod = stand_in.metadata;
  return {pod.namespace_name, pod.name, pod.uid};
}

void Reservations::Take(scheduler::Input input) {
  Inputs out;
  {
    const std::lock_guard lock(mutex_);
    if (!places_.empty()) {
      if (auto* const set = std::get_if<scheduler::PodSet>(&input)) set->pod = Changed(std::move(set->pod), out);
      if (const auto* const gone = std::get_if<scheduler::PodGone>(&input)) Forget(gone->uid);
    }
  }
  out.push_back(std::move(input));
  PushAll(std::move(out));
}

PodPtr Reservations::Changed(PodPtr pod, Inputs& out) {
  if (!pod->metadata.controller) return pod;
  if (!IsPending(*pod)) {
    Forget(pod->metadata.uid);
    return pod;
  }
  Place* mine = nullptr;
  for (auto& [number, place] : places_) {
    if (place.arrived_uid == pod->metadata.uid) mine = &place;
  }
  for (auto at = places_.begin(); mine == nullptr && at != places_.end(); ++at) {
    Place& place = at->second;
    const bool is_awaited = place.arrived_uid.empty() && place.controller_uid == pod->metadata.controller->uid;
    if (!is_awaited || place.evicted_uid == pod->metadata.uid) continue;
    place.arrived_uid = pod->metadata.uid;
    out.emplace_back(GoneOf(*place.stand_in));
    mine = &place;
  }
  // A pod that the scheduler has nominated meanwhile keeps its nomination.
  if (mine == nullptr || !pod->status.nominated_node_name.empty()) return pod;
  auto nominated = std::make_shared<api::Pod>(*pod);
  nominated->status.nominated_node_name = mine->node_name;
  return nominated;
}

// Ends the reservation of a pod that has got a node or was deleted.
void Reservations::Forget(const std::string& pod_uid) {
  std::erase_if(places_, [&](const auto& each) { return each.second.arrived_uid == pod_uid; });
}

bool Reservations::Perform(const scheduler::Output& output) {
  const auto* const write = std::get_if<scheduler::Write>(&output);
  if (write == nullptr) return false;
  const auto* const patch = std::get_if<framework::ObjectPatch>(&write->write);
  const auto* const removal = std::get_if<framework::ObjectDelete>(&write->write);
  if (patch == nullptr && removal == nullptr) return false;
  const framework::ObjectRef& object = patch != nullptr ? patch->object : removal->object;
  if (object.resource != "pods") return false;
  std::optional<std::uint64_t> number;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [each, place] : places_) {
      const api::ObjectMeta& stand_in = place.stand_in->metadata;
      if (stand_in.name == object.name && stand_in.namespace_name == object.namespace_name) number = each;
    }
  }
  if (!number) return false;
  push_(scheduler::WriteDone{write->operation, std::nullopt});
  if (removal != nullptr) End(*number);
  return true;
}

void Reservations::PushAll(Inputs inputs) const {
  for (scheduler::Input& input : inputs) push_(std::move(input));
}

std::size_t Reservations::size() const {
  const std::lock_guard lock(mutex_);
  return places_.size();
}

}  // namespace berth::runner
