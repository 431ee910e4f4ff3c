// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/case.h"

#include <algorithm>

namespace berth::wake_ups {
namespace {

constexpr std::size_t kMembersMax = 7;

struct Share {
  Kind kind;
  int count_max;
};

// The largest number of objects of each kind in a cluster of the family.
std::vector<Share> SharesOf(Family family) {
  std::vector<Share> shares = {{Kind::kNode, 4}, {Kind::kPod, 5}};
  const auto add = [&](std::initializer_list<Share> more) { shares.insert(shares.end(), more); };
  const auto add_devices = [&] {
    add({{Kind::kDeviceClass, 2}, {Kind::kResourceSlice, 2}, {Kind::kResourceClaim, 3}, {Kind::kDeviceTaintRule, 1}});
  };
  constexpr Share kMembers = {Kind::kMember, 5};
  switch (family) {
    case Family::kRoom: break;
    case Family::kSpread: break;
    case Family::kAffinity: add({{Kind::kNamespace, 3}}); break;
    case Family::kVolumes:
      add({{Kind::kStorageClass, 2},
           {Kind::kPersistentVolume, 3},
           {Kind::kPersistentVolumeClaim, 3},
           {Kind::kCsiNode, 4},
           {Kind::kCsiDriver, 1},
           {Kind::kCsiStorageCapacity, 2},
           {Kind::kVolumeAttachment, 2}});
      break;
    case Family::kDevices: add_devices(); break;
    case Family::kDefaultSpread: add({{Kind::kService, 2}, {Kind::kReplicaSet, 2}}); break;
    case Family::kPolicies: add({{Kind::kReplicaSet, 2}}); break;
    case Family::kAnnotatedGangs:
    case Family::kReservedGangs: add({kMembers}); break;
    case Family::kGangs:
    case Family::kTopologyGangs: add({kMembers, {Kind::kPodGroup, 2}}); break;
    case Family::kCompositeGangs: add({kMembers, {Kind::kPodGroup, 3}, {Kind::kCompositePodGroup, 2}}); break;
    case Family::kSharedClaims:
    case Family::kGroupClaims:
      add({kMembers, {Kind::kPodGroup, 2}});
      add_devices();
      break;
    case Family::kPreemptingGangs: add({kMembers, {Kind::kPodGroup, 3}}); break;
  }
  return shares;
}

void Roll(Item& item, std::size_t die, Random& random) { item.dice[die] = static_cast<std::uint8_t>(random.Next()); }

Item RollAll(Kind kind, std::uint8_t index, Random& random) {
  Item item{kind, index, {}};
  for (std::size_t die = 0; die < kDiceCount; ++die) Roll(item, die, random);
  return item;
}

// Rolls a random die again, a few times at most, until the item has changed.
Item Changed(const Item& item, Family family, Random& random) {
  const std::size_t first = FirstMutableDie(item.kind);
  const std::size_t count = DiceUsed(item.kind, family) - first;
  if (count == 0) return item;
  const std::size_t die = first + random.Below(count);
  const std::string text = ManifestOf(item, family);
  Item changed = item;
  for (int roll = 0; roll < 4 && ManifestOf(changed, family) == text; ++roll) Roll(changed, die, random);
  return MayBecome(item, changed, family) ? changed : item;
}

bool IsGroup(Kind kind) { return kind == Kind::kPodGroup || kind == Kind::kCompositePodGroup; }

// Members never get the name of an earlier one, so that their order by name is their order by age.
Change ChangeOfMember(const Case& test, Random& random) {
  std::vector<const Item*> members;
  for (const Item& item : test.items) {
    if (item.kind == Kind::kMember) members.push_back(&item);
  }
  const std::uint64_t way = random.Below(4);
  if (members.empty() || (way == 0 && members.size() < kMembersMax))
    return {std::nullopt, RollAll(Kind::kMember, test.members_made, random)};
  const Item& member = *members[random.Below(members.size())];
  if (way == 1) return {member, std::nullopt};
  return {member, Changed(member, test.family, random)};
}

}  // namespace

void Case::Apply(const Change& change) {
  if (change.after && change.after->kind == Kind::kWaitingPod) {
    waiting = *change.after;
    return;
  }
  if (change.before) std::erase(items, *change.before);
  if (!change.after) return;
  items.push_back(*change.after);
  if (change.after->kind == Kind::kMember)
    members_made = std::max(members_made, static_cast<std::uint8_t>(change.after->index + 1));
}

void Case::RecordEvicted(const std::string& uid) {
  for (Item& item : items) {
    if ((item.kind == Kind::kPod || item.kind == Kind::kMember) && UidOf(item, family) == uid)
      item = BeingDeleted(item);
  }
}

std::string Case::Describe() const {
  std::string text = "1." + std::to_string(release_minor) + "\n";
  const auto add = [&](const Item& item) {
    text += std::string("  ") + NameOf(item.kind) + " " + ManifestOf(item, family) + "\n";
  };
  for (const Item& item : items) add(item);
  if (waiting) add(*waiting);
  return text;
}

std::string Case::Describe(const Change& change) const {
  const auto text = [&](const std::optional<Item>& item) {
    return item ? NameOf(item->kind) + (" " + ManifestOf(*item, family)) : std::string("nothing");
  };
  return "before: " + text(change.before) + "\nafter:  " + text(change.after) + "\n";
}

Case MakeCase(Random& random, int release_minor) {
  Case made;
  made.release_minor = release_minor;
  made.family = static_cast<Family>(random.Below(FamilyCountOf(release_minor)));
  for (const Share& share : SharesOf(made.family)) {
    for (int index = 0; index < share.count_max; ++index) {
      const bool is_there = random.Below(4) != 0 || (share.kind == Kind::kNode && index == 0);
      if (is_there) made.items.push_back(RollAll(share.kind, static_cast<std::uint8_t>(index), random));
    }
  }
  for (const Item& item : made.items) {
    if (item.kind == Kind::kMember)
      made.members_made = std::max(made.members_made, static_cast<std::uint8_t>(item.index + 1));
  }
  if (!HasGroups(made.family) || random.Below(2) == 0) made.waiting = RollAll(Kind::kWaitingPod, 0, random);
  return made;
}

Change MakeChange(const Case& test, Random& random) {
  if (test.waiting && random.Below(12) == 0) return {test.waiting, Changed(*test.waiting, test.family, random)};
  const std::vector<Share> shares = SharesOf(test.family);
  const Share& share = shares[random.Below(shares.size())];
  if (share.kind == Kind::kMember) return ChangeOfMember(test, random);
  const auto index = static_cast<std::uint8_t>(random.Below(static_cast<std::uint64_t>(share.count_max)));
  const auto found = std::find_if(test.items.begin(), test.items.end(),
                                  [&](const Item& item) { return item.kind == share.kind && item.index == index; });
  if (found == test.items.end()) return {std::nullopt, RollAll(share.kind, index, random)};
  if (random.Below(4) == 0) return {*found, std::nullopt};
  // The group is deleted and made again under the same name, in one change.
  if (IsGroup(share.kind) && random.Below(4) == 0) return {*found, RollAll(share.kind, index, random)};
  return {*found, Changed(*found, test.family, random)};
}

}  // namespace berth::wake_ups
