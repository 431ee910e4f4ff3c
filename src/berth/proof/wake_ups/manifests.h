// SPDX-License-Identifier: Apache-2.0
// The objects of a small random cluster. Each is made from a few dice, and rolling one die again changes one field.
// Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::wake_ups {

// What the waiting pods ask for, and with it what else is in the cluster.
enum class Family : std::uint8_t {
  kRoom,
  kSpread,
  kAffinity,
  kVolumes,
  kDevices,
  kDefaultSpread,  // pods have no constraints: the profile has default ones, by Services and ReplicaSets
  kPolicies,       // what berth's own filters refuse: labels, prices, spot nodes and shares of them
  // Groups of pods, and a single pod beside them.
  kAnnotatedGangs,  // the pods' annotations name the group
  kReservedGangs,   // as kAnnotatedGangs, with room kept for the group that waits longest
  // PodGroups as objects, which Kubernetes 1.36 does not have.
  kGangs,
  kTopologyGangs,    // all members in one topology domain
  kCompositeGangs,   // groups of groups, within one topology domain
  kSharedClaims,     // members that share ResourceClaims
  kGroupClaims,      // ResourceClaims that are reserved for a group
  kPreemptingGangs,  // groups that preempt, and victims that end later
};
inline constexpr std::size_t kFamilyCount = 15;

const char* NameOf(Family family);
// The number of families for Kubernetes 1.`release_minor`: it has the first ones of the enum.
std::size_t FamilyCountOf(int release_minor);

inline bool HasGroups(Family family) { return family >= Family::kAnnotatedGangs; }
// Whether groups are objects, and not annotations.
inline bool HasPodGroups(Family family) { return family >= Family::kGangs; }

enum class Kind : std::uint8_t {
  kNode,
  kPod,         // on a node
  kWaitingPod,  // one in each case without groups, none or one beside groups
  kNamespace,
  kStorageClass,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
  kVolumeAttachment,
  kDeviceClass,
  kResourceSlice,
  kResourceClaim,
  kDeviceTaintRule,
  kService,
  kReplicaSet,
  kMember,  // a pod of a group, which waits until it is placed; later ones have higher indexes
  kPodGroup,
  kCompositePodGroup,
};
inline constexpr std::size_t kKindCount = 20;

inline constexpr std::size_t kDiceCount = 24;

struct Item {
  Kind kind = Kind::kNode;
  std::uint8_t index = 0;  // its name is made of the kind and this
  std::array<std::uint8_t, kDiceCount> dice{};
  bool operator==(const Item&) const = default;
};

// Dice of the kind before this one are for immutable fields.
std::size_t FirstMutableDie(Kind kind);
// The dice that the kind uses.
std::size_t DiceUsed(Kind kind, Family family);
// Whether an object may change in this way. For example, a pod that has ended does not run again.
bool MayBecome(const Item& before, const Item& after, Family family);
// The pod as it is while it is being deleted.
Item BeingDeleted(const Item& pod);

// The kind as the API spells it.
const char* NameOf(Kind kind);
// Kubernetes' feature gates that the family is about, as --feature-gates has them.
std::vector<std::string> GatesOf(Family family);
// The profile by which the family's pods are scheduled: a KubeSchedulerConfiguration.
std::string ConfigurationOf(Family family);
// The object as JSON.
std::string ManifestOf(const Item& item, Family family);
// The uid in it.
std::string UidOf(const Item& item, Family family);
// The number of the group that a member names.
int GroupOf(const Item& member, Family family);

}  // namespace berth::wake_ups
