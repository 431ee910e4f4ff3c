// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/case.h"

#include <algorithm>

namespace berth::wake_ups {
namespace {

struct Share {
  Kind kind;
  int count_max;
};

// How many of each kind a cluster of the family has at most.
std::vector<Share> SharesOf(Family family) {
  std::vector<Share> shares = {{Kind::kNode, 4}, {Kind::kPod, 5}};
  const auto add = [&](std::initializer_list<Share> more) { shares.insert(shares.end(), more); };
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
    case Family::kDevices:
      add({{Kind::kDeviceClass, 2}, {Kind::kResourceSlice, 2}, {Kind::kResourceClaim, 3}, {Kind::kDeviceTaintRule, 1}});
      break;
    case Family::kDefaultSpread: add({{Kind::kService, 2}, {Kind::kReplicaSet, 2}}); break;
    case Family::kPolicies: add({{Kind::kReplicaSet, 2}}); break;
  }
  return shares;
}

void Roll(Item& item, std::size_t die, Random& random) { item.dice[die] = static_cast<std::uint8_t>(random.Next()); }

Item RollAll(Kind kind, std::uint8_t index, Random& random) {
  Item item{kind, index, {}};
  for (std::size_t die = 0; die < kDiceCount; ++die) Roll(item, die, random);
  return item;
}

// A few rolls of one die: most show another side at once.
Item Changed(const Item& item, Family family, Random& random) {
  const std::size_t first = FirstMutableDie(item.kind);
  const std::size_t count = DiceUsed(item.kind, family) - first;
  if (count == 0) return item;
  const std::size_t die = first + random.Below(count);
  const std::string text = ManifestOf(item, family);
  Item changed = item;
  for (int roll = 0; roll < 4 && ManifestOf(changed, family) == text; ++roll) Roll(changed, die, random);
  return changed;
}

}  // namespace

void Case::Apply(const Change& change) {
  if (change.after && change.after->kind == Kind::kWaitingPod) {
    waiting = *change.after;
    return;
  }
  if (change.before) std::erase(items, *change.before);
  if (change.after) items.push_back(*change.after);
}

std::string Case::Describe() const {
  std::string text = "1." + std::to_string(release_minor) + "\n";
  const auto add = [&](const Item& item) {
    text += std::string("  ") + NameOf(item.kind) + " " + ManifestOf(item, family) + "\n";
  };
  for (const Item& item : items) add(item);
  add(waiting);
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
  made.family = static_cast<Family>(random.Below(kFamilyCount));
  for (const Share& share : SharesOf(made.family)) {
    for (int index = 0; index < share.count_max; ++index) {
      const bool is_there = random.Below(4) != 0 || (share.kind == Kind::kNode && index == 0);
      if (is_there) made.items.push_back(RollAll(share.kind, static_cast<std::uint8_t>(index), random));
    }
  }
  made.waiting = RollAll(Kind::kWaitingPod, 0, random);
  return made;
}

Change MakeChange(const Case& test, Random& random) {
  if (random.Below(12) == 0) return {test.waiting, Changed(test.waiting, test.family, random)};
  const std::vector<Share> shares = SharesOf(test.family);
  const Share& share = shares[random.Below(shares.size())];
  const auto index = static_cast<std::uint8_t>(random.Below(static_cast<std::uint64_t>(share.count_max)));
  const auto found = std::find_if(test.items.begin(), test.items.end(),
                                  [&](const Item& item) { return item.kind == share.kind && item.index == index; });
  if (found == test.items.end()) return {std::nullopt, RollAll(share.kind, index, random)};
  if (random.Below(4) == 0) return {*found, std::nullopt};
  return {*found, Changed(*found, test.family, random)};
}

}  // namespace berth::wake_ups
