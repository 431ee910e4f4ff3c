// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/group_manifests.h"

#include <string>
#include <utility>

namespace berth::wake_ups {
namespace {

using codec::json::array;
using codec::json::object;

constexpr const char* kGroupAnnotation = "berth.dev/pod-group";
constexpr const char* kCountAnnotation = "berth.dev/min-count";

// The number of groups that have members: g0, g1 and so on. Composite groups are not counted.
int GroupCount(Family family) { return family == Family::kCompositeGangs ? 3 : 2; }

// In kPreemptingGangs group 0 has the highest priority and group 1 the next; all others have priority 0.
int PriorityOf(Family family, int group) {
  if (family != Family::kPreemptingGangs) return 0;
  return group == 0 ? 10 : group == 1 ? 5 : 0;
}

// A pod whose annotation is invalid is in no group until the annotation is corrected.
bool HasValidCount(const Dice& dice) { return dice.At(13, 8) < 6; }
bool IsGated(const Dice& dice) { return dice.Is(12, 16); }
bool IsBeingDeleted(const Dice& dice) { return dice.Is(kMemberDeletionDie, 24); }
bool HasFailed(const Dice& dice) { return dice.Is(15, 24); }

void Name(object& metadata, object& spec, const std::string& group, const char* min_count, Family family) {
  if (HasPodGroups(family)) {
    spec["schedulingGroup"] = object{{"podGroupName", group}};
    return;
  }
  object annotations{{kGroupAnnotation, group}};
  Put(annotations, kCountAnnotation, min_count);
  metadata["annotations"] = std::move(annotations);
}

// A term of affinity or anti-affinity.
object OnNodesWith(const char* app) {
  return {{"topologyKey", kHostname}, {"labelSelector", object{{"matchLabels", object{{"app", app}}}}}};
}

object SpreadOverZones(const char* app) {
  return {{"topologyKey", kZone},
          {"maxSkew", 1},
          {"whenUnsatisfiable", "DoNotSchedule"},
          {"labelSelector", object{{"matchLabels", object{{"app", app}}}}}};
}

object GroupMetadata(const char* prefix, int index, const Dice& dice) {
  const std::string name = prefix + std::to_string(index);
  object metadata = Metadata(name, "default");
  // A group that is made again has another uid.
  metadata["uid"] = "u-" + name + dice.Name("-", 5, 256);
  metadata["generation"] = 1;
  return metadata;
}

object Topology(const char* key) { return {{"topology", array{object{{"key", key}}}}}; }

}  // namespace

int GroupOf(const Dice& dice, Family family) { return dice.At(1, GroupCount(family)); }

object Member(const Dice& dice, int index, Family family) {
  const std::string name = (index < 10 ? "m0" : "m") + std::to_string(index);
  const int group = GroupOf(dice, family);
  object metadata = Metadata(name, "default");
  const char* const app = dice.Of(5, {"x", "x", "y"});
  metadata["labels"] = Labels(app, dice.Of(10, {nullptr, nullptr, "r"}));
  if (IsBeingDeleted(dice)) AddDeletion(metadata);
  object container = Container(dice.Of(0, {"500m", "500m", "1", "2"}), nullptr);
  if (dice.Is(3, 8)) AddPort(container);
  // A member with another priority than its group keeps the group from being scheduled.
  const int priority = PriorityOf(family, group) + (dice.Is(7, 64) ? 1 : 0);
  object spec{{"schedulerName", "default-scheduler"}, {"priority", priority}};
  Name(metadata, spec, "g" + std::to_string(group), dice.Of(13, {"1", "2", "2", "3", "3", "4", "two", nullptr}),
       family);
  if (dice.Is(2, 5)) spec["nodeSelector"] = object{{"pool", "x"}};
  switch (dice.At(4, 8)) {
    case 0: spec["affinity"] = object{{"podAntiAffinity", Required({OnNodesWith(app)})}}; break;
    case 1: spec["topologySpreadConstraints"] = array{SpreadOverZones(app)}; break;
    case 2: spec["affinity"] = object{{"podAffinity", Required({OnNodesWith("y")})}}; break;
    default: break;
  }
  if (dice.Is(11, 3)) spec["tolerations"] = array{object{{"key", "k"}, {"operator", "Exists"}}};
  if (IsGated(dice)) spec["schedulingGates"] = array{object{{"name", "example.com/wait"}}};
  const bool has_claims = family == Family::kSharedClaims || family == Family::kGroupClaims;
  // Most members use the claim of their group and have none of their own.
  if (has_claims && !dice.Is(8, 4)) AddResourceClaim(spec, "m" + std::to_string(dice.Is(8, 7) ? 2 : group));
  spec["containers"] = array{std::move(container)};
  return {{"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", object{{"phase", HasFailed(dice) ? "Failed" : "Pending"}}}};
}

bool MayMemberBecome(const Dice& before, const Dice& after, Family family) {
  if (IsGated(after) && !IsGated(before)) return false;
  if (IsBeingDeleted(before) && !IsBeingDeleted(after)) return false;
  if (HasFailed(before) && !HasFailed(after)) return false;
  return HasPodGroups(family) || HasValidCount(after) || !HasValidCount(before);
}

object PodGroup(const Dice& dice, int index, Family family) {
  object policy{{"basic", object{}}};
  if (!dice.Is(0, 5)) policy = object{{"gang", object{{"minCount", 1 + dice.At(6, 4)}}}};
  object spec{{"schedulingPolicy", std::move(policy)}, {"priority", PriorityOf(family, index)}};
  if (family == Family::kCompositeGangs) {
    Put(spec, "parentCompositePodGroupName", dice.Of(1, {"c0", "c0", "c0", "c1", nullptr}));
    if (dice.Is(2, 3)) spec["schedulingConstraints"] = Topology("pool");
  }
  if (family == Family::kTopologyGangs) {
    const char* const key = dice.Of(2, {kZone, kZone, "pool", nullptr});
    if (key != nullptr) spec["schedulingConstraints"] = Topology(key);
  }
  if (dice.Is(3, 2)) spec["disruptionMode"] = object{{"all", object{}}};
  if (family == Family::kGroupClaims && !dice.Is(4, 4))
    spec["resourceClaims"] = array{object{{"name", "r"}, {"resourceClaimName", "m" + std::to_string(index)}}};
  return {{"metadata", GroupMetadata("g", index, dice)}, {"spec", std::move(spec)}};
}

object CompositePodGroup(const Dice& dice, int index, Family) {
  object policy{{"basic", object{}}};
  if (!dice.Is(0, 4)) policy = object{{"gang", object{{"minGroupCount", 1 + dice.At(3, 2)}}}};
  object spec{{"schedulingPolicy", std::move(policy)}, {"priority", 0}};
  // A composite group may have the other one as its parent.
  Put(spec, "parentCompositePodGroupName",
      index == 0 ? dice.Of(1, {nullptr, nullptr, "c1"}) : dice.Of(1, {nullptr, nullptr, nullptr, nullptr, "c0"}));
  if (dice.Is(2, 3)) spec["schedulingConstraints"] = Topology(kZone);
  return {{"metadata", GroupMetadata("c", index, dice)}, {"spec", std::move(spec)}};
}

void JoinGroup(object& pod, const Dice& dice, int index, Family family) {
  object& spec = pod["spec"].as_object();
  const bool preempts = family == Family::kPreemptingGangs;
  // The last group has running pods only.
  const int group = dice.At(5, preempts ? 3 : GroupCount(family));
  object& metadata = pod["metadata"].as_object();
  metadata["uid"] = "u-o" + std::to_string(index) + dice.Name("-", 13, 256);
  const bool is_member = dice.Is(4, 2) && metadata["namespace"].as_string() == "default";
  if (is_member) Name(metadata, spec, "g" + std::to_string(group), dice.Of(6, {"1", "2", "3"}), family);
  spec["priority"] = is_member ? PriorityOf(family, group) : preempts ? -5 * dice.At(7, 3) : 0;
  spec["schedulerName"] = "default-scheduler";
}

}  // namespace berth::wake_ups
