// SPDX-License-Identifier: Apache-2.0
// Bookings: room that was promised to ProvisioningRequests and is kept until their pods come. For each pod of a request
// the core holds a stand-in: a pod that does not exist, assumed on a node and reserved, so that requests, devices,
// ports and topology count it like any other pod. A pod that names the request takes a stand-in's part when it is
// tried, and gives it back if it finds no node:
//
//              Ask                 Open (a pod is tried)            the pod is seen on a node
//   (no room) -----> kHeld ------------------------------> kOpen ------------------------------> kUsed
//      ^               |  ^                                  |
//      |               |  +----- Close (no node), PodGone ---+
//      +---------------+
//        the node is gone or full, or a pod of higher priority preempted the stand-in: room elsewhere is looked for;
//        if there is none, the promise has ended and the room of the request's other pods is free as well
//
// Within turns only. It decides nothing about pods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/core_state.h"
#include "berth/core/scheduler/held_parts.h"
#include "berth/core/scheduler/io.h"
#include "berth/core/scheduler/overlay.h"
#include "berth/framework/pod_info.h"

namespace berth::scheduler {

// The annotations with which a pod names the request in its namespace whose room it uses; the second is the older one.
inline constexpr std::string_view kConsumeAnnotation = "autoscaling.x-k8s.io/consume-provisioning-request";
inline constexpr std::string_view kConsumeAnnotationOld =
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request";

// The name of each stand-in has this character, which no object of an API server has in its name.
inline constexpr char kStandInMark = ':';

class Bookings {
 public:
  // `state` must outlive it.
  explicit Bookings(CoreState& state) : state_(state) {}
  Bookings(const Bookings&) = delete;
  Bookings& operator=(const Bookings&) = delete;

  void SetPodsMax(std::size_t pods_max) { pods_max_ = pods_max; }

  // Books room and adds the answer to the outputs. An earlier promise to a request of this name ends.
  void Ask(BookingAsked&& asked);
  void End(const BookingEnded& ended);

  // A pod was added or changed. Notes which request's room it uses.
  void NotePod(const api::Pod& pod);
  // The pod waits. If it is nominated for a node on which a stand-in keeps its room, the nomination ends: the room
  // would be kept twice.
  void PodWaits(std::string_view uid);
  void PodGone(std::string_view uid);
  // The API server shows the pod on a node.
  void PodAssigned(const framework::PodInfo& pod);
  // Gives the pod, which is tried now, the room of its request. Returns the pod as it is to be evaluated: nominated for
  // the node of that room. Valid until the next call, and as long as `pod` is.
  const framework::PodInfoPtr& Open(const framework::PodInfoPtr& pod);
  // The attempt did not bind the pod. The room is held again.
  void Close(std::string_view uid);

  // The node, or what is on it, was changed from outside: looks whether its stand-ins still fit.
  void NodeChanged(std::string_view node_name);
  // These pods were on a node that is gone.
  void PodsLostNode(std::span<const framework::PodInfoPtr> pods);
  // Takes what is about stand-ins out of the outputs: events, and writes, whose operations it returns. A stand-in whose
  // deletion is written loses its room.
  std::vector<std::uint64_t> TakeOwn(std::vector<Output>& outputs);

  // For the idle sweep: drops what evaluations keep for pods of requests that nobody has asked for since the last call.
  void DropIdle();

  // Stand-ins that hold room now.
  std::size_t held_count() const { return stand_ins_.size(); }

 private:
  enum class PartState : std::uint8_t { kHeld, kOpen, kUsed };
  // The room of one pod.
  struct Part {
    framework::PodInfoPtr stand_in;  // without a node
    std::size_t set = 0;
    std::string node_name;  // where it is, or was last
    PartState state = PartState::kUsed;
    std::string holder;  // kOpen: the uid of the pod that has it
  };
  struct Booking {
    std::uint64_t number = 0;  // ascends with each promise
    std::string uid;
    std::vector<BookedSet> sets;  // names and counts
    std::vector<Part> parts;      // in the order of the sets
    HeldParts held;               // those that are kHeld
    std::vector<std::pair<framework::ObjectKind, std::string>> objects;
  };
  using Nominations = std::vector<std::pair<framework::PodInfoPtr, std::string>>;  // pods, and their nodes
  using PartRef = std::pair<std::string, std::size_t>;  // a request, and an index into its parts

  Part* Find(const PartRef& ref);
  Overlay& Ready();
  void MakeParts(const BookingAsked& asked, Booking& booking);
  void UseUp(const std::string& request, Booking& booking) const;
  bool PlaceAll(const BookingAsked& asked, Booking& booking);
  bool Place(Part& part, std::string& why);
  void Hold(const PartRef& ref, Part& part);
  void Leave(std::string_view uid);
  Nominations TakeNominations(const std::string& request);
  void ReturnNominations(Nominations&& taken);
  void Release(const PartRef& ref, Part& part, bool wakes);
  void Wake(const Part& part);
  void Drop(const std::string& request);
  void Lose(const std::string& request, const std::string& why);
  void Replace(std::vector<PartRef> lost, const std::string& why);
  void Report(const std::string& request, const Booking& booking, BookingState state, std::string why);

  CoreState& state_;
  std::size_t pods_max_ = 0;
  std::uint64_t promises_ = 0;                                // so far
  std::unique_ptr<Overlay> overlay_;                          // made when it is needed first
  framework::PodInfoPtr opened_;                              // the last one that Open() made
  std::uint64_t seed_ = 0;                                    // another one for each stand-in, as in a scheduler
  std::map<std::string, Booking> bookings_;                   // by request
  StringHashMap<PartRef> stand_ins_;                          // held parts, by the stand-in's "namespace/name"
  StringHashMap<PartRef> holders_;                            // open parts, by the pod that has them
  StringHashMap<std::string> requests_;                       // by the uid of each pod that names one
  StringHashMap<std::set<std::string, std::less<>>> comers_;  // the same: uids, by request
};

}  // namespace berth::scheduler
