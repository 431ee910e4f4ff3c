// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/bookings.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <variant>

#include "berth/api/resource_claim.h"
#include "berth/core/runtime/evaluator.h"
#include "berth/core/scheduler/reserve_and_permit.h"
#include "berth/core/scheduler/scheduling_failure.h"
#include "berth/framework/object_kinds.h"

namespace berth::scheduler {

using framework::PodInfo;
using framework::PodInfoPtr;

namespace {

std::string_view RequestOf(const api::Pod& pod) {
  for (const std::string_view key : {kConsumeAnnotation, kConsumeAnnotationOld}) {
    if (const std::string* const name = pod.metadata.annotations.Find(key)) return *name;
  }
  return {};
}

bool IsStandIn(const std::string& name) { return name.find(kStandInMark) != std::string::npos; }

}  // namespace

Overlay& Bookings::Ready() {
  if (overlay_ == nullptr) overlay_ = std::make_unique<Overlay>(state_);
  return *overlay_;
}

void Bookings::DropIdle() {
  opened_.reset();
  if (overlay_ != nullptr) overlay_->DropIdle();
}

Bookings::Part* Bookings::Find(const PartRef& ref) {
  const auto booking = bookings_.find(ref.first);
  return booking == bookings_.end() ? nullptr : &booking->second.parts[ref.second];
}

// --- Promises ---

void Bookings::Ask(BookingAsked&& asked) {
  Drop(asked.request);
  Booking booking;
  booking.number = ++promises_;
  booking.uid = asked.uid;
  std::uint64_t count = 0;
  for (const BookingSet& set : asked.sets) {
    booking.sets.push_back({set.name, set.count});
    count += set.count;
  }
  if (count > pods_max_ - std::min(pods_max_, stand_ins_.size())) {
    return Report(asked.request, booking, BookingState::kRefused,
                  "room for " + std::to_string(count) + " pods is asked for; room is kept for at most " +
                      std::to_string(pods_max_) + " pods at once, and for " + std::to_string(stand_ins_.size()) +
                      " it is kept already");
  }
  MakeParts(asked, booking);
  if (asked.is_restored) UseUp(asked.request, booking);
  Nominations nominations = TakeNominations(asked.request);
  if (PlaceAll(asked, booking)) {
    Booking& booked = bookings_[asked.request] = std::move(booking);
    for (std::size_t i = 0; i < booked.parts.size(); ++i) {
      const Part& part = booked.parts[i];
      if (part.state != PartState::kHeld) continue;
      stand_ins_[part.stand_in->Key()] = {asked.request, i};
      booked.held.Add(i, part.stand_in->pod_class, part.node_name);
    }
    Report(asked.request, booked, BookingState::kBooked, {});
  }
  ReturnNominations(std::move(nominations));
}

void Bookings::MakeParts(const BookingAsked& asked, Booking& booking) {
  for (std::size_t set = 0; set < asked.sets.size(); ++set) {
    const BookingSet& of = asked.sets[set];
    PodInfoPtr first;
    std::size_t node = 0;
    std::uint64_t on_node = 0;
    for (std::uint64_t i = 0; i < of.count; ++i) {
      const bool is_own = of.pods.size() > 1;
      std::shared_ptr<PodInfo> pod;
      if (is_own || first == nullptr) {
        pod = std::make_shared<PodInfo>(*state_.MakePodInfo(*of.pods[is_own ? i : 0]));
        // A stand-in is a member of no group: all of the request has room anyway, or none of it.
        pod->pod_group_name.clear();
        first = pod;
      } else {
        pod = std::make_shared<PodInfo>(*first);
        const std::string number = "-" + std::to_string(i);
        pod->name = of.pods.front()->metadata.name + number;
        pod->uid = of.pods.front()->metadata.uid + number;
      }
      Part& part = booking.parts.emplace_back();
      part.stand_in = std::move(pod);
      part.set = set;
      part.state = PartState::kHeld;
      while (node < of.nodes.size() && on_node == of.nodes[node].second) {
        ++node;
        on_node = 0;
      }
      if (node == of.nodes.size()) continue;
      part.node_name = of.nodes[node].first;
      ++on_node;
    }
  }
}

// The pods that have come already have used up their part of the room.
void Bookings::UseUp(const std::string& request, Booking& booking) const {
  const auto comers = comers_.find(request);
  if (comers == comers_.end()) return;
  HeldParts open;
  for (std::size_t i = 0; i < booking.parts.size(); ++i)
    open.Add(i, booking.parts[i].stand_in->pod_class, booking.parts[i].node_name);
  for (const std::string& uid : comers->second) {
    const PodInfoPtr* const pod = state_.cache.FindPod(uid);
    if (pod == nullptr) continue;
    const std::optional<std::size_t> best = open.BestFor(**pod);
    if (!best) break;
    Part& part = booking.parts[*best];
    open.Remove(*best, *part.stand_in->pod_class, part.node_name);
    part.state = PartState::kUsed;
  }
}

// Places all stand-ins, or none and reports why. Each set gets its own reason, with all earlier sets placed.
bool Bookings::PlaceAll(const BookingAsked& asked, Booking& booking) {
  Overlay& overlay = Ready();
  for (const framework::AnyObject& object : asked.objects) {
    overlay.SetObject(object);
    booking.objects.emplace_back(framework::KindOf(object), framework::KeyOf(object));
  }
  std::string why;
  for (Part& part : booking.parts) {
    BookedSet& set = booking.sets[part.set];
    if (!set.why.empty()) continue;
    if (state_.profiles.Find(*part.stand_in) == nullptr) {
      set.why = "its pods are for the scheduler \"" + part.stand_in->spec().scheduler_name + "\", and this one is \"" +
                state_.profiles.first() + "\"";
    } else if (part.state == PartState::kUsed || Place(part, set.why)) {
      ++set.fitting;
    } else if (set.why.empty()) {
      set.why = "no node is feasible";
    }
    if (!set.why.empty() && why.empty()) {
      why = "pod set " + set.name + ": " + std::to_string(set.fitting) + " of " + std::to_string(set.count) +
            " pods have room; " + set.why;
    }
  }
  if (why.empty()) {
    overlay.Keep();
    return true;
  }
  overlay.UndoTo(0);
  Report(asked.request, booking, BookingState::kRefused, std::move(why));
  return false;
}

// Puts the stand-in where the scheduler would put the pod; where it was before, if it still fits there. The caller
// keeps the change or takes it back.
bool Bookings::Place(Part& part, std::string& why) {
  Overlay& overlay = Ready();
  PodInfoPtr pod = part.stand_in;
  if (!part.node_name.empty()) {
    auto nominated = std::make_shared<PodInfo>(*pod);
    nominated->nominated_node_name = part.node_name;
    pod = std::move(nominated);
  }
  const auto answer = overlay.Evaluate(pod, Overlay::Detail::kChoice, ++seed_);
  if (answer.outcome.result != runtime::Result::kFeasible) {
    why = answer.outcome.result == runtime::Result::kError ? answer.outcome.error : answer.evaluator.Message();
    return false;
  }
  const framework::NodeIndex row = answer.outcome.node;
  const framework::Status placed = overlay.Place(pod, row);
  if (!placed.IsSuccess()) {
    why = placed.Message();
    return false;
  }
  part.node_name = state_.cache.nodes().Name(row);
  return true;
}

void Bookings::End(const BookingEnded& ended) {
  const auto booking = bookings_.find(ended.request);
  if (booking != bookings_.end() && booking->second.uid == ended.uid) Drop(ended.request);
}

// Ends the promise.
void Bookings::Drop(const std::string& request) {
  const auto booking = bookings_.find(request);
  if (booking == bookings_.end()) return;
  // Pods that wait are told once for all stand-ins that were alike and on one node, when all of them have gone: they
  // look at the node as it is then.
  std::map<std::pair<std::string_view, std::uint64_t>, const Part*> gone;
  for (std::size_t i = 0; i < booking->second.parts.size(); ++i) {
    Part& part = booking->second.parts[i];
    if (part.state == PartState::kOpen) holders_.erase(part.holder);
    if (part.state != PartState::kHeld) continue;
    Release({request, i}, part, false);
    gone.emplace(std::pair(std::string_view(part.node_name), part.stand_in->pod_class->id), &part);
  }
  for (const auto& [which, part] : gone) Wake(*part);
  std::shared_ptr<const api::ResourceClaim> claim;
  for (const auto& [kind, key] : booking->second.objects) {
    const framework::AnyObject removed = state_.objects.Remove(kind, key);
    if (const auto* const each = std::get_if<std::shared_ptr<const api::ResourceClaim>>(&removed)) claim = *each;
  }
  bookings_.erase(booking);
  // For pods that wait for devices one claim that had some has gone. What it had was reserved, and never written.
  if (claim == nullptr) return;
  auto allocated = std::make_shared<api::ResourceClaim>(*claim);
  allocated->allocation.emplace();
  queue::EventSource source;
  source.old_object = std::shared_ptr<const api::ResourceClaim>(std::move(allocated));
  constexpr framework::ClusterEvent kGone{framework::EventResource::kResourceClaim, framework::action::kDelete};
  state_.queue.Move(kGone, source, state_.now);
}

void Bookings::Lose(const std::string& request, const std::string& why) {
  const auto booking = bookings_.find(request);
  if (booking == bookings_.end()) return;
  Report(request, booking->second, BookingState::kLost, why);
  Drop(request);
}

// --- Stand-ins ---

// Takes the stand-in off its node, if it is held. `wakes`: pods that wait for room are told.
void Bookings::Release(const PartRef& ref, Part& part, bool wakes) {
  if (part.state != PartState::kHeld) return;
  part.state = PartState::kUsed;
  stand_ins_.erase(part.stand_in->Key());
  bookings_.find(ref.first)->second.held.Remove(ref.second, *part.stand_in->pod_class, part.node_name);
  if (const PodInfoPtr* const known = state_.cache.FindPod(part.stand_in->uid)) {
    const PodInfoPtr assumed = *known;
    Unreserve(state_, *state_.profiles.Find(*assumed), *assumed);
  }
  if (wakes) Wake(part);
}

void Bookings::Wake(const Part& part) {
  constexpr framework::ClusterEvent kDeleted{framework::EventResource::kAssignedPod, framework::action::kDelete};
  state_.queue.Move(kDeleted, {.old_pod = WithNode(*part.stand_in, part.node_name)}, state_.now);
}

// The part's stand-in has been placed.
void Bookings::Hold(const PartRef& ref, Part& part) {
  Ready().Keep();
  part.state = PartState::kHeld;
  part.holder.clear();
  stand_ins_[part.stand_in->Key()] = ref;
  bookings_.find(ref.first)->second.held.Add(ref.second, part.stand_in->pod_class, part.node_name);
}

// These stand-ins may not be where they are any more: looks for room anew, for the oldest promise first.
void Bookings::Replace(std::vector<PartRef> lost, const std::string& why) {
  std::ranges::sort(lost, {},
                    [this](const PartRef& ref) { return std::pair(bookings_.at(ref.first).number, ref.second); });
  for (const PartRef& ref : lost) Release(ref, *Find(ref), false);
  std::vector<std::string> moved;
  for (const PartRef& ref : lost) {
    Part* const part = Find(ref);
    if (part == nullptr) continue;  // the promise has ended
    const std::string before = part->node_name;
    std::string why_not;
    Nominations nominations = TakeNominations(ref.first);
    const bool is_placed = Place(*part, why_not);
    if (is_placed) Hold(ref, *part);
    ReturnNominations(std::move(nominations));
    if (is_placed) {
      if (part->node_name != before && (moved.empty() || moved.back() != ref.first)) moved.push_back(ref.first);
      continue;
    }
    for (const PartRef& each : lost) {
      if (each.first == ref.first && Find(each)->state == PartState::kUsed) Wake(*Find(each));
    }
    Lose(ref.first, why + "; elsewhere there is no room: " + why_not);
  }
  for (const std::string& request : moved) {
    const auto booking = bookings_.find(request);
    if (booking != bookings_.end()) Report(request, booking->second, BookingState::kMoved, why);
  }
}

void Bookings::NodeChanged(std::string_view node_name) {
  if (stand_ins_.empty()) return;
  const framework::NodeIndex row = state_.cache.nodes().Find(node_name);
  if (row == framework::kNoNode) return;
  std::vector<PartRef> there;
  for (const PodInfoPtr& pod : state_.cache.nodes().Info(row).pods()) {
    if (!IsStandIn(pod->name)) continue;
    const auto stand_in = stand_ins_.find(pod->Key());
    if (stand_in != stand_ins_.end()) there.push_back(stand_in->second);
  }
  if (!there.empty()) Replace(std::move(there), "node \"" + std::string(node_name) + "\" has changed");
}

void Bookings::PodsLostNode(std::span<const PodInfoPtr> pods) {
  if (stand_ins_.empty()) return;
  std::vector<PartRef> lost;
  std::string node_name;
  for (const PodInfoPtr& pod : pods) {
    if (!IsStandIn(pod->name)) continue;
    const auto stand_in = stand_ins_.find(pod->Key());
    if (stand_in == stand_ins_.end()) continue;
    lost.push_back(stand_in->second);
    node_name = pod->node_name;
  }
  if (!lost.empty()) Replace(std::move(lost), "node \"" + node_name + "\" is gone");
}

// --- Pods that come ---

void Bookings::NotePod(const api::Pod& pod) {
  const std::string_view name = RequestOf(pod);
  if (name.empty()) return Leave(pod.metadata.uid);
  std::string request = pod.metadata.namespace_name + "/" + std::string(name);
  if (const auto known = requests_.find(pod.metadata.uid); known != requests_.end() && known->second == request) return;
  Leave(pod.metadata.uid);
  comers_[request].insert(pod.metadata.uid);
  requests_[pod.metadata.uid] = std::move(request);
}

// The pod names no request any more.
void Bookings::Leave(std::string_view uid) {
  if (requests_.empty()) return;
  const auto request = requests_.find(uid);
  if (request == requests_.end()) return;
  const auto comers = comers_.find(request->second);
  comers->second.erase(comers->second.find(uid));
  if (comers->second.empty()) comers_.erase(comers);
  requests_.erase(request);
}

void Bookings::PodWaits(std::string_view uid) {
  const auto request = requests_.find(uid);
  if (request == requests_.end()) return;
  const auto booking = bookings_.find(request->second);
  const std::string_view node_name = state_.queue.nominator().NominatedNode(uid);
  if (booking == bookings_.end() || node_name.empty()) return;
  if (booking->second.held.HasOn(node_name)) state_.queue.nominator().DeleteNominated(uid);
}

// While room is looked for, the request's own pods do not count: they come for this room.
Bookings::Nominations Bookings::TakeNominations(const std::string& request) {
  Nominations taken;
  queue::Nominator& nominator = state_.queue.nominator();
  const auto comers = comers_.find(request);
  if (nominator.empty() || comers == comers_.end()) return taken;
  if (comers->second.size() <= nominator.size()) {
    for (const std::string& uid : comers->second) {
      const std::string_view node_name = nominator.NominatedNode(uid);
      if (!node_name.empty()) taken.emplace_back(nominator.FindPod(uid), node_name);
    }
  } else {
    nominator.ForEachNode([&](std::string_view node_name, std::span<const PodInfoPtr> pods) {
      for (const PodInfoPtr& pod : pods) {
        if (comers->second.contains(pod->uid)) taken.emplace_back(pod, node_name);
      }
    });
    std::ranges::sort(taken, {}, [](const auto& each) -> const std::string& { return each.first->uid; });
  }
  for (const auto& [pod, node_name] : taken) nominator.DeleteNominated(pod->uid);
  return taken;
}

void Bookings::ReturnNominations(Nominations&& taken) {
  for (auto& [pod, node_name] : taken) {
    state_.queue.nominator().AddNominatedPod(pod, node_name);
    PodWaits(pod->uid);
  }
}

void Bookings::PodGone(std::string_view uid) {
  Leave(uid);
  Close(uid);
}

const PodInfoPtr& Bookings::Open(const PodInfoPtr& pod) {
  const auto request = requests_.find(pod->uid);
  if (request == requests_.end() || holders_.contains(pod->uid)) return pod;
  const auto booking = bookings_.find(request->second);
  if (booking == bookings_.end()) return pod;
  const std::optional<std::size_t> best = booking->second.held.BestFor(*pod);
  if (!best) return pod;
  const PartRef ref{request->second, *best};
  Part& part = booking->second.parts[*best];
  Release(ref, part, false);
  part.state = PartState::kOpen;
  part.holder = pod->uid;
  holders_[pod->uid] = ref;
  if (!pod->nominated_node_name.empty()) return pod;
  auto nominated = std::make_shared<PodInfo>(*pod);
  nominated->nominated_node_name = part.node_name;
  opened_ = std::move(nominated);
  return opened_;
}

void Bookings::Close(std::string_view uid) {
  const auto holder = holders_.find(uid);
  if (holder == holders_.end()) return;
  const PartRef ref = holder->second;
  holders_.erase(holder);
  Part& part = *Find(ref);
  std::string why;
  Nominations nominations = TakeNominations(ref.first);
  const bool is_placed = Place(part, why);
  if (is_placed) Hold(ref, part);
  ReturnNominations(std::move(nominations));
  if (is_placed) return;
  part.state = PartState::kUsed;
  Lose(ref.first, "a pod that came for the room was not bound, and meanwhile the room was taken: " + why);
}

void Bookings::PodAssigned(const PodInfo& pod) {
  const auto holder = holders_.find(pod.uid);
  if (holder != holders_.end()) {
    Part& part = *Find(holder->second);
    const bool is_elsewhere = part.node_name != pod.node_name;
    // A pod that does not suit the part has found another place: a better suited pod may still come.
    if (is_elsewhere && FitOf(*part.stand_in->pod_class, *pod.pod_class) > Fit::kKin) return Close(pod.uid);
    part.state = PartState::kUsed;
    part.holder.clear();
    if (is_elsewhere) Wake(part);
    holders_.erase(holder);
    return;
  }
  // Somebody else has bound it.
  const auto request = requests_.find(pod.uid);
  if (request == requests_.end()) return;
  const auto booking = bookings_.find(request->second);
  if (booking == bookings_.end()) return;
  const std::optional<std::size_t> best = booking->second.held.BestFor(pod);
  if (!best) return;
  Release({request->second, *best}, booking->second.parts[*best], true);
}

// --- Outputs ---

std::vector<std::uint64_t> Bookings::TakeOwn(std::vector<Output>& outputs) {
  std::vector<std::uint64_t> own;
  std::vector<PartRef> preempted;
  std::erase_if(outputs, [&](const Output& output) {
    if (const auto* const event = std::get_if<EmitEvent>(&output)) return IsStandIn(event->regarding.name);
    const auto* const write = std::get_if<Write>(&output);
    if (write == nullptr) return false;
    const auto* const patch = std::get_if<framework::ObjectPatch>(&write->write);
    const auto* const removal = std::get_if<framework::ObjectDelete>(&write->write);
    if (patch == nullptr && removal == nullptr) return false;
    const framework::ObjectRef& object = patch != nullptr ? patch->object : removal->object;
    if (object.resource != "pods" || !IsStandIn(object.name)) return false;
    own.push_back(write->operation);
    const auto stand_in = stand_ins_.find(framework::KeyOf(object.namespace_name, object.name));
    if (removal != nullptr && stand_in != stand_ins_.end()) preempted.push_back(stand_in->second);
    return true;
  });
  if (preempted.empty()) return own;
  std::ranges::sort(preempted);
  preempted.erase(std::ranges::unique(preempted).begin(), preempted.end());
  for (const PartRef& ref : preempted) {
    Part& part = *Find(ref);
    Release(ref, part, true);
    // Preemption remembers whom it has evicted: elsewhere it is another pod.
    auto other = std::make_shared<PodInfo>(*part.stand_in);
    other->uid += kStandInMark;
    part.stand_in = std::move(other);
  }
  Replace(std::move(preempted), "a pod of higher priority has taken the room");
  return own;
}

void Bookings::Report(const std::string& request, const Booking& booking, BookingState state, std::string why) {
  BookingReport report{request, booking.uid, state, std::move(why), booking.sets};
  if (state == BookingState::kBooked || state == BookingState::kMoved) {
    for (BookedSet& set : report.sets) {
      set.fitting = set.count;
      set.nodes.clear();
    }
    // Where each node is in the list of each set.
    std::vector<StringViewHashMap<std::size_t>> places(report.sets.size());
    for (const Part& part : booking.parts) {
      if (part.state == PartState::kUsed) continue;
      auto& nodes = report.sets[part.set].nodes;
      const auto [place, is_new] = places[part.set].try_emplace(part.node_name, nodes.size());
      if (is_new) nodes.emplace_back(part.node_name, 0);
      ++nodes[place->second].second;
    }
  }
  state_.outputs.AddReport(std::move(report));
}

}  // namespace berth::scheduler
