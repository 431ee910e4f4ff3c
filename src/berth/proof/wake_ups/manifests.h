// SPDX-License-Identifier: Apache-2.0
// The objects of a small random cluster, each made from a few dice: another roll of one die is a change of one field.
// Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace berth::wake_ups {

// What the waiting pod asks for, and with it what else is in the cluster.
enum class Family : std::uint8_t {
  kRoom,
  kSpread,
  kAffinity,
  kVolumes,
  kDevices,
  kDefaultSpread,  // nothing: the profile has constraints that must hold, by Services and ReplicaSets
  kPolicies,       // what berth's own filters refuse: labels, prices, spot nodes and shares of them
};
inline constexpr std::size_t kFamilyCount = 7;

enum class Kind : std::uint8_t {
  kNode,
  kPod,         // on a node
  kWaitingPod,  // one in each case
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
};

inline constexpr std::size_t kDiceCount = 24;

struct Item {
  Kind kind = Kind::kNode;
  std::uint8_t index = 0;  // its name is made of the kind and this
  std::array<std::uint8_t, kDiceCount> dice{};
  bool operator==(const Item&) const = default;
};

// The dice of the kind before this one stand for fields that the API server lets nobody change.
std::size_t FirstMutableDie(Kind kind);
// The dice that the kind uses.
std::size_t DiceUsed(Kind kind, Family family);

// The kind as the API spells it.
const char* NameOf(Kind kind);
// The profile by which the family's pods are scheduled: a KubeSchedulerConfiguration.
std::string ConfigurationOf(Family family);
// The object as JSON.
std::string ManifestOf(const Item& item, Family family);

}  // namespace berth::wake_ups
