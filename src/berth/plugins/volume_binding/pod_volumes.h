// SPDX-License-Identifier: Apache-2.0
// What a pod's claims ask of a node, prepared once for the pod, and the decision about one node. Upstream: binder.go's
// GetPodVolumeClaims and FindPodVolumes. Valid during one scheduling cycle: it points into the object store, and keeps
// what is assumed alive, since a pod group's trial takes assumptions back and makes them again within its cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "berth/plugins/volume_binding/assume_cache.h"
#include "berth/plugins/volume_binding/capacity_index.h"
#include "berth/plugins/volume_binding/volume_affinity.h"
#include "berth/plugins/volume_binding/volume_index.h"

namespace berth::plugins::volumes {

inline constexpr std::string_view kReasonNodeConflict = "node(s) didn't match PersistentVolume's node affinity";
inline constexpr std::string_view kReasonBindConflict = "node(s) didn't find available persistent volumes to bind";
inline constexpr std::string_view kReasonNotEnoughSpace = "node(s) did not have enough free storage";
inline constexpr std::string_view kReasonVolumeMissing =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
inline constexpr std::string_view kReasonUnboundImmediate = "pod has unbound immediate PersistentVolumeClaims";

inline constexpr std::string_view kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kBindCompletedAnnotation = "pv.kubernetes.io/bind-completed";

// Reasons against a node, in the order in which messages name them.
using ReasonSet = std::uint8_t;
inline constexpr ReasonSet kNodeConflict = 1;
inline constexpr ReasonSet kBindConflict = 2;
inline constexpr ReasonSet kNotEnoughSpace = 4;
inline constexpr ReasonSet kVolumeMissing = 8;
inline constexpr ReasonSet kReasonSetCount = 16;
// kUnschedulableAndUnresolvable; `reasons` is not empty.
framework::Status RefusalFor(ReasonSet reasons);

// The store and what the plugin keeps beside it. Outlives every cycle.
struct Sources {
  const framework::Objects& objects;
  std::shared_ptr<VolumeCache> volumes;
  std::shared_ptr<ClaimCache> claims;
  std::shared_ptr<const VolumeIndex> index;
  std::shared_ptr<const CapacityIndex> capacities;
};

// The name of the claim behind a volume of the pod; nullopt for volumes without one.
std::optional<std::string> ClaimNameOf(const framework::PodInfo& pod, const api::Volume& volume);
bool HasClaims(const framework::PodInfo& pod);
bool IsFullyBound(const api::PersistentVolumeClaim& claim);
// All claims of the pod, assumptions included.
bool AreAllBound(const Sources& sources, const framework::PodInfo& pod);
// spec.claimRef names the claim, by uid too if it has one.
bool IsBoundTo(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim);
std::string KeyOf(const api::PersistentVolumeClaim& claim);
// spec.resources.requests.storage; 0 when it says nothing.
api::Quantity RequestOf(const api::PersistentVolumeClaim& claim);

struct BoundClaim {
  std::shared_ptr<const api::PersistentVolume> volume;  // null: it is not there
  NodeDependentAffinity affinity;
};

// A volume that would do for a claim, where its affinity agrees.
struct Candidate {
  const api::PersistentVolume* volume = nullptr;
  const VolumeAffinity* affinity = nullptr;
};

// Whether and where a volume for the claim can be made.
struct Provisioning {
  bool is_supported = false;
  // allowedTopologies: alternatives; nullopt: everywhere.
  std::optional<std::vector<std::vector<api::Requirement>>> topologies;
  // The published capacities that are large enough, with the nodes that can use them; nullopt when the driver publishes
  // none, so that capacity is not checked.
  std::optional<std::vector<const CapacityIndex::Entry*>> capacities;
};

struct DelayedClaim {
  std::shared_ptr<const api::PersistentVolumeClaim> claim;
  // Provisioning on that node alone: no volume is looked for.
  const std::string* selected_node = nullptr;
  // Volumes that are reserved for the claim. The first one decides, whether it matches the node or not.
  std::vector<Candidate> prebound;
  std::vector<Candidate> free;  // the first that matches the node is taken
  std::vector<std::unique_ptr<const VolumeAffinity>> prebound_affinities;
  // The volumes of `prebound` that the store does not have.
  std::vector<std::shared_ptr<const api::PersistentVolume>> assumed;
  std::string error;  // its selector is none: ends the cycle
  Provisioning provisioning;
};

struct PodVolumes final : framework::StateData {
  std::vector<BoundClaim> bound;
  std::vector<DelayedClaim> delayed;         // in the order of the pod's volumes
  std::vector<std::size_t> with_node;        // of `delayed`: those with a selected node
  std::vector<std::size_t> by_request_size;  // of `delayed`: the others, smallest first
};

struct PreparedVolumes {
  framework::Status status;             // not success: PreFilter's answer
  std::shared_ptr<PodVolumes> volumes;  // null: the pod has no claims, or was refused
};
PreparedVolumes Prepare(const Sources& sources, const framework::PodInfo& pod);

// What would be done for the pod on a node. Indices are of PodVolumes::delayed.
struct NodeDecision {
  struct Match {
    std::size_t claim = 0;
    const api::PersistentVolume* volume = nullptr;
  };
  ReasonSet reasons = 0;
  std::string error;  // not empty: the cycle ends with it
  std::vector<Match> matches;
  std::vector<std::size_t> provisions;

  bool IsTaken(const api::PersistentVolume* volume) const {
    for (const Match& match : matches) {
      if (match.volume == volume) return true;
    }
    return false;
  }
};

enum class BoundVerdict : std::uint8_t { kFits, kMismatch, kError };

// FindPodVolumes. `node` answers for one node, from its labels or from a row of the node table:
//   BoundVerdict Bound(std::size_t bound, std::string& error)
//   bool IsNamed(const std::string& name)
//   const api::PersistentVolume* Find(std::size_t delayed, const NodeDecision& decision)   an untaken volume, or null
//   bool IsInTopology(std::size_t delayed)
//   const CapacityIndex::Entry* FindCapacity(std::size_t delayed)   null: there is none, or it is not checked
template <typename Node>
void Decide(const PodVolumes& pod, Node& node, NodeDecision& decision) {
  decision.reasons = 0;
  decision.error.clear();
  decision.matches.clear();
  decision.provisions.clear();
  // The first bound claim that does not fit ends the check of the bound ones.
  for (std::size_t i = 0; i < pod.bound.size() && decision.reasons == 0; ++i) {
    if (pod.bound[i].volume == nullptr) {
      decision.reasons |= kVolumeMissing;
      continue;
    }
    const BoundVerdict verdict = node.Bound(i, decision.error);
    if (verdict == BoundVerdict::kError) return;
    if (verdict == BoundVerdict::kMismatch) decision.reasons |= kNodeConflict;
  }
  for (const std::size_t i : pod.with_node) {
    if (!node.IsNamed(*pod.delayed[i].selected_node)) {
      decision.reasons |= kBindConflict;
      return;
    }
    decision.provisions.push_back(i);
  }
  for (const std::size_t i : pod.by_request_size) {
    if (!pod.delayed[i].error.empty()) {
      decision.error = pod.delayed[i].error;
      return;
    }
    if (const api::PersistentVolume* volume = node.Find(i, decision)) {
      decision.matches.push_back({i, volume});
    } else {
      decision.provisions.push_back(i);
    }
  }
  for (const std::size_t i : decision.provisions) {
    if (!pod.delayed[i].provisioning.is_supported || !node.IsInTopology(i)) {
      decision.reasons |= kBindConflict;
      return;
    }
    if (pod.delayed[i].provisioning.capacities && node.FindCapacity(i) == nullptr) {
      decision.reasons |= kNotEnoughSpace;
      return;
    }
  }
}

// Decide's view of a node object. All must outlive it.
class PlainNode {
 public:
  PlainNode(const Sources& sources, const PodVolumes& pod, const api::Node& node);

  BoundVerdict Bound(std::size_t i, std::string& error) const;
  bool IsNamed(const std::string& name) const;
  const api::PersistentVolume* Find(std::size_t i, const NodeDecision& decision) const;
  bool IsInTopology(std::size_t i) const;
  const CapacityIndex::Entry* FindCapacity(std::size_t i) const;

 private:
  const PodVolumes& pod_;
  const api::Node& node_;
  const api::StringMap& labels_;
  const api::CsiNode* csi_node_;
};

// The plain form: one node by its object.
NodeDecision DecideNode(const Sources& sources, const PodVolumes& pod, const api::Node& node);

}  // namespace berth::plugins::volumes
