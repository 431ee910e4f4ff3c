// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/held_inputs.h"

#include <iterator>
#include <string_view>
#include <variant>

#include "berth/framework/guarded.h"

namespace berth::shadow {
namespace {

// The uid of the pod that the input is about; empty: it is about no pod.
std::string_view UidOf(const scheduler::Input& input) {
  const auto* set = std::get_if<scheduler::PodSet>(&input);
  return set == nullptr ? std::string_view() : set->pod->metadata.uid;
}

}  // namespace

bool IsDecidedBefore(const Sighting& a, const Sighting& b, const framework::QueueSortPlugin& sort) {
  if (!a.is_fresh || !b.is_fresh || a.arrival >= b.arrival) return false;
  // The queue compares times; arrivals are as good, and never equal.
  const auto queued = [](const Sighting& each) {
    return framework::QueuedPod{*each.pod, Time(Duration(static_cast<Duration::rep>(each.arrival)))};
  };
  bool is_before = false;
  // A queue-sort plugin that throws gives no order.
  static_cast<void>(framework::GuardedCall([&] { is_before = sort.Less(queued(a), queued(b)); }));
  return is_before;
}

std::optional<HeldInput> HeldInputs::Take(Time now, bool is_ending) {
  if (inputs_.empty() || (!is_ending && inputs_.front().at + kWindow > now)) return std::nullopt;
  auto first = inputs_.begin();
  if (first->sighting) {
    for (auto at = std::next(first); at != inputs_.end(); ++at) {
      if (at->sighting && IsDecidedBefore(*at->sighting, *first->sighting, sort_)) first = at;
    }
  }
  return TakeAt(first);
}

// Drops earlier held inputs of the same pod, which are of no use any more.
HeldInput HeldInputs::TakeAt(Inputs::iterator at) {
  HeldInput taken = std::move(*at);
  const std::string_view uid = UidOf(taken.input);
  for (auto other = inputs_.begin(); other != at;) {
    const bool is_older = UidOf(other->input) == uid && !uid.empty();
    other = is_older ? inputs_.erase(other) : std::next(other);
  }
  inputs_.erase(at);
  return taken;
}

void HeldInputs::ForEachSighting(const std::function<bool(const Sighting&)>& visit) const {
  for (const HeldInput& held : inputs_) {
    if (held.sighting && !visit(*held.sighting)) return;
  }
}

}  // namespace berth::shadow
