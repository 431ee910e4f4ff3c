// SPDX-License-Identifier: Apache-2.0
#include "berth/proof/wake_ups/manifests.h"

#include <utility>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/proof/wake_ups/group_manifests.h"
#include "berth/proof/wake_ups/manifest_parts.h"

namespace berth::wake_ups {
namespace {

namespace json = codec::json;
using json::array;
using json::object;

constexpr const char* kDriver = "d.example.com";

struct Shape {
  const char* name;
  std::size_t immutable_dice;
  std::size_t dice;
};

const Shape& ShapeOf(Kind kind) {
  // In the order of Kind.
  static constexpr std::array<Shape, kKindCount> kShapes = {{{"Node", 0, 8},
                                                             {"Pod", 8, 13},
                                                             {"Pod", 18, 21},
                                                             {"Namespace", 0, 1},
                                                             {"StorageClass", 2, 3},
                                                             {"PersistentVolume", 3, 7},
                                                             {"PersistentVolumeClaim", 3, 5},
                                                             {"CSINode", 0, 3},
                                                             {"CSIDriver", 0, 2},
                                                             {"CSIStorageCapacity", 2, 4},
                                                             {"VolumeAttachment", 3, 3},
                                                             {"DeviceClass", 0, 2},
                                                             {"ResourceSlice", 2, 8},
                                                             {"ResourceClaim", 5, 7},
                                                             {"DeviceTaintRule", 0, 3},
                                                             {"Service", 0, 1},
                                                             {"ReplicaSet", 1, 2},
                                                             {"Pod", 10, 16},
                                                             {"PodGroup", 6, 7},
                                                             {"CompositePodGroup", 6, 6}}};
  return kShapes.at(static_cast<std::size_t>(kind));
}

object ZoneTerms(const char* zone) {
  return {{"nodeSelectorTerms", array{Matching(Requirement(kZone, "In", {zone}))}}};
}

// A node's price, its label for a rule, and whether it is a spot node.
void AddPolicies(const Dice& dice, object& labels, object& annotations) {
  Put(labels, "example.com/team", dice.Of(4, {"a", "a", "b", nullptr}));
  Put(labels, "karpenter.sh/capacity-type", dice.Of(2, {"spot", "on-demand", "spot", nullptr}));
  Put(annotations, "berth.dev/price", dice.Of(6, {"0.1", "0.5", "2", nullptr}));
}

object Node(const Dice& dice, int index, Family family) {
  const std::string name = "n" + std::to_string(index);
  object labels{{kHostname, name}};
  Put(labels, kZone, dice.Of(1, {"a", "b", "a", "b", "c", nullptr}));
  Put(labels, "pool", dice.Of(2, {"x", "x", "y", nullptr}));
  object annotations;
  if (family == Family::kPolicies) AddPolicies(dice, labels, annotations);
  object spec;
  if (dice.Is(3, 8)) spec["unschedulable"] = true;
  array taints;
  const auto taint = [&](const char* key, const char* effect) {
    taints.push_back(object{{"key", key}, {"effect", effect}});
  };
  switch (dice.At(4, 9)) {
    case 0: taint("k", "NoSchedule"); break;
    case 1: taint("other", "NoSchedule"); break;
    case 2: taint("k", "NoExecute"); break;
    case 3: taint("soft", "PreferNoSchedule"); break;
    default: break;
  }
  if (!taints.empty()) spec["taints"] = std::move(taints);
  object amounts{{"cpu", dice.Of(0, {"1", "2", "4", "4"})},
                 {"memory", dice.Of(7, {"1Gi", "8Gi", "8Gi"})},
                 {"pods", dice.Of(5, {"1", "110", "110", "110", "110", "3"})}};
  Put(amounts, "example.com/gpu", dice.Of(6, {nullptr, nullptr, "1", "2"}));
  object metadata = Metadata(name);
  metadata["labels"] = std::move(labels);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", object{{"allocatable", amounts}}}};
}

object Term(const Dice& dice, std::size_t first) {
  object term{{"topologyKey", dice.Of(first, {kZone, kZone, kHostname, "pool"})}};
  const object app_x{{"matchLabels", object{{"app", "x"}}}};
  const object app_y{{"matchLabels", object{{"app", "y"}}}};
  switch (dice.At(first + 1, 7)) {
    case 0:
    case 1:
    case 2: term["labelSelector"] = app_x; break;
    case 3: term["labelSelector"] = app_y; break;
    case 4: term["labelSelector"] = Matching(Requirement("role", "Exists")); break;
    case 5: term["labelSelector"] = Matching(Requirement("role", "DoesNotExist")); break;
    default: term["labelSelector"] = object{}; break;
  }
  switch (dice.At(first + 2, 12)) {
    case 0: term["namespaces"] = array{"red"}; break;
    case 1: term["namespaceSelector"] = object{}; break;
    case 2:
    case 3: term["namespaceSelector"] = object{{"matchLabels", object{{"team", "t1"}}}}; break;
    case 4: term["namespaceSelector"] = Matching(Requirement("team", "NotIn", {"t1"})); break;
    case 5: term["namespaceSelector"] = Matching(Requirement("team", "DoesNotExist")); break;
    default: break;
  }
  return term;
}

object Spread(const Dice& dice, std::size_t first) {
  object constraint{{"topologyKey", dice.Of(first, {kZone, kZone, kHostname, "pool"})},
                    {"maxSkew", 1 + (dice.Is(first, 5) ? 1 : 0)},
                    {"whenUnsatisfiable", "DoNotSchedule"}};
  const char* app = dice.Of(first + 1, {"x", "x", "x", "y"});
  constraint["labelSelector"] = object{{"matchLabels", object{{"app", app}}}};
  if (dice.Is(first + 1, 5)) constraint["minDomains"] = 2;
  Put(constraint, "nodeAffinityPolicy", dice.Of(first + 2, {nullptr, nullptr, "Honor", "Ignore"}));
  Put(constraint, "nodeTaintsPolicy", dice.Of(first + 2, {nullptr, "Honor", "Honor", nullptr, "Ignore"}));
  return constraint;
}

void AddVolume(object& spec, const std::string& claim) {
  if (!spec.contains("volumes")) spec["volumes"] = array{};
  array& volumes = spec["volumes"].as_array();
  volumes.push_back(
      object{{"name", "v" + std::to_string(volumes.size())}, {"persistentVolumeClaim", object{{"claimName", claim}}}});
}

// Whether pods of the family may belong to a ReplicaSet.
bool HasOwners(Family family) { return family == Family::kDefaultSpread || family == Family::kPolicies; }

void AddOwner(object& metadata, const std::string& replica_set) {
  metadata["ownerReferences"] = array{object{{"apiVersion", "apps/v1"},
                                             {"kind", "ReplicaSet"},
                                             {"name", replica_set},
                                             {"uid", "u-" + replica_set},
                                             {"controller", true}}};
}

constexpr std::size_t kPodDeletionDie = 11;
bool IsPodBeingDeleted(const Dice& dice) { return dice.Is(kPodDeletionDie, 8); }

object Pod(const Dice& dice, int index, Family family) {
  const char* namespace_name = dice.Of(1, {"default", "default", "red", "blue"});
  object metadata = Metadata("o" + std::to_string(index), namespace_name);
  metadata["labels"] = Labels(dice.Of(9, {"x", "x", "y", nullptr}), dice.Of(10, {nullptr, nullptr, "r"}));
  if (IsPodBeingDeleted(dice)) AddDeletion(metadata);
  if (HasOwners(family) && !dice.Is(5, 3)) AddOwner(metadata, dice.Name("rs", 6, 2));
  object container = Container(dice.Of(8, {"100m", "500m", "1", "2"}), dice.Of(2, {nullptr, nullptr, nullptr, "1"}));
  if (dice.Is(3, family == Family::kRoom ? 3 : 12)) AddPort(container);
  object spec{{"nodeName", dice.Name("n", 0, 4)}, {"containers", array{std::move(container)}}};
  if (dice.Is(4, family == Family::kAffinity ? 3 : 20) && !HasGroups(family))
    spec["affinity"] = object{{"podAntiAffinity", Required({Term(dice, 5)})}};
  if (family == Family::kVolumes && dice.At(4, 3) != 0) AddVolume(spec, dice.Name("c", 5, 3));
  if (family == Family::kDevices && dice.Is(4, 4)) AddResourceClaim(spec, dice.Name("m", 5, 3));
  const char* phase = dice.Is(12, 8) ? "Succeeded" : "Running";
  object pod{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", object{{"phase", phase}}}};
  if (HasGroups(family)) JoinGroup(pod, dice, index, family);
  return pod;
}

object NodeAffinity(const Dice& dice, std::size_t die) {
  array terms;
  switch (dice.At(die, 5)) {
    case 0: terms.push_back(Matching(Requirement(kZone, "In", {"a"}))); break;
    case 1: terms.push_back(Matching(Requirement("pool", "NotIn", {"y"}))); break;
    case 2: terms.push_back(Matching(Requirement("pool", "Exists"))); break;
    case 3: terms.push_back(object{{"matchFields", array{Requirement("metadata.name", "In", {"n1"})}}}); break;
    default:
      terms.push_back(Matching(Requirement(kZone, "In", {"b"})));
      terms.push_back(Matching(Requirement("pool", "In", {"y"})));
  }
  return {{"requiredDuringSchedulingIgnoredDuringExecution", object{{"nodeSelectorTerms", std::move(terms)}}}};
}

// Dice 0 to 4 are used by every family, 5 to 17 have a meaning for each family, and those from 18 on may change.
object WaitingPod(const Dice& dice, Family family) {
  object metadata = Metadata("w", "default");
  metadata["labels"] = Labels(dice.Of(18, {"x", "x", "y", nullptr}), dice.Of(19, {nullptr, "r"}));
  if (HasOwners(family) && !dice.Is(5, 3)) AddOwner(metadata, "rs0");
  if (family == Family::kPolicies) {
    object annotations;
    Put(annotations, "example.com/team", dice.Of(21, {"a", "b", nullptr, nullptr}));
    Put(annotations, "berth.dev/spot", dice.Of(22, {"required", "never", "preferred", nullptr, nullptr}));
    Put(annotations, "berth.dev/max-price", dice.Of(23, {"0.2", "1", "cheap", nullptr, nullptr}));
    metadata["annotations"] = std::move(annotations);
  }
  const bool is_about_room = family == Family::kRoom;
  object container = Container(dice.Of(0, {"100m", "100m", "1", "2"}),
                               is_about_room ? dice.Of(1, {nullptr, nullptr, "1", "2"}) : nullptr);
  if (is_about_room && dice.Is(2, 3)) AddPort(container);
  object spec{{"schedulerName", "default-scheduler"}, {"priority", 0}};
  if (dice.Is(3, is_about_room ? 3 : 6)) spec["nodeSelector"] = object{{"pool", "x"}};
  object affinity;
  if (dice.Is(4, is_about_room ? 2 : 6)) affinity["nodeAffinity"] = NodeAffinity(dice, 5);
  if (dice.At(20, 3) == 0) spec["tolerations"] = array{object{{"key", "k"}, {"operator", "Exists"}}};
  if (family == Family::kSpread) {
    array constraints{Spread(dice, 6)};
    if (dice.Is(9, 3)) constraints.push_back(Spread(dice, 10));
    spec["topologySpreadConstraints"] = std::move(constraints);
  }
  if (family == Family::kAffinity) {
    if (dice.At(6, 3) != 0) {
      array terms{Term(dice, 7)};
      if (dice.Is(6, 4)) terms.push_back(Term(dice, 10));
      affinity["podAffinity"] = Required(std::move(terms));
    }
    if (dice.At(6, 3) != 1) {
      array terms{Term(dice, 12)};
      if (dice.Is(17, 3)) terms.push_back(Term(dice, 14));
      affinity["podAntiAffinity"] = Required(std::move(terms));
    }
  }
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
  if (family == Family::kVolumes) {
    AddVolume(spec, "c0");
    if (dice.Is(6, 4)) AddVolume(spec, "c1");
    if (dice.Is(7, 8)) {
      AddVolume(spec, "c2");
      object& last = spec["volumes"].as_array().back().as_object();
      last.erase("persistentVolumeClaim");
      last["csi"] = object{{"driver", kDriver}};
    }
  }
  if (family == Family::kDevices) {
    if (dice.At(6, 5) != 0) {
      AddResourceClaim(spec, "m0");
    } else {
      container["resources"].as_object()["requests"].as_object()["example.com/ext"] = "1";
    }
  }
  spec["containers"] = array{std::move(container)};
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", object{{"phase", "Pending"}}}};
}

object Namespace(const Dice& dice, int index) {
  static constexpr std::array<const char*, 3> kNames = {"default", "red", "blue"};
  object metadata = Metadata(kNames.at(static_cast<std::size_t>(index)));
  object labels;
  Put(labels, "team", dice.Of(0, {nullptr, "t1", "t2"}));
  metadata["labels"] = std::move(labels);
  return {{"metadata", std::move(metadata)}};
}

object StorageClass(const Dice& dice, int index) {
  object made{{"metadata", Metadata("sc" + std::to_string(index))},
              {"provisioner", dice.Of(0, {"kubernetes.io/no-provisioner", kDriver})},
              {"volumeBindingMode", dice.At(1, 4) != 0 ? "WaitForFirstConsumer" : "Immediate"}};
  if (const char* zone = dice.Of(2, {nullptr, nullptr, "a", "b"})) {
    const object expression{{"key", kZone}, {"values", array{zone}}};
    made["allowedTopologies"] = array{object{{"matchLabelExpressions", array{expression}}}};
  }
  return made;
}

object PersistentVolume(const Dice& dice, int index) {
  object metadata = Metadata("v" + std::to_string(index));
  object labels;
  Put(labels, kZone, dice.Of(3, {nullptr, nullptr, "a", "b"}));
  metadata["labels"] = std::move(labels);
  object spec{{"capacity", object{{"storage", dice.Of(0, {"1Gi", "5Gi"})}}},
              {"accessModes", array{"ReadWriteOnce", "ReadWriteOncePod"}},
              {"storageClassName", dice.Of(1, {"sc0", "sc0", "sc1", ""})},
              {"csi", object{{"driver", kDriver}, {"volumeHandle", "h" + std::to_string(index)}}}};
  if (const char* zone = dice.Of(2, {nullptr, "a", "b"})) spec["nodeAffinity"] = object{{"required", ZoneTerms(zone)}};
  if (dice.At(4, 3) != 0)
    spec["claimRef"] =
        object{{"namespace", "default"}, {"name", dice.Name("c", 5, 3)}, {"uid", dice.Name("u-c", 5, 3)}};
  return {{"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", object{{"phase", dice.Of(6, {"Available", "Bound", "Released"})}}}};
}

object PersistentVolumeClaim(const Dice& dice, int index) {
  object metadata = Metadata("c" + std::to_string(index), "default");
  object spec{{"accessModes", array{dice.Of(1, {"ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"})}},
              {"storageClassName", dice.Of(0, {"sc0", "sc0", "sc1", ""})},
              {"resources", object{{"requests", object{{"storage", dice.Of(2, {"1Gi", "5Gi"})}}}}}};
  const int state = dice.At(3, 3);
  if (state != 0) {
    spec["volumeName"] = dice.Name("v", 4, 3);
    if (state == 1) metadata["annotations"] = object{{"pv.kubernetes.io/bind-completed", "yes"}};
  }
  return {{"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", object{{"phase", state == 1 ? "Bound" : "Pending"}}}};
}

object CsiNode(const Dice& dice, int index) {
  array drivers;
  if (dice.At(0, 4) != 0) {
    object driver{{"name", kDriver}, {"nodeID", "n" + std::to_string(index)}, {"topologyKeys", array{}}};
    const int count = dice.At(1, 4);
    if (count < 3) driver["allocatable"] = object{{"count", count}};
    drivers.push_back(std::move(driver));
  }
  object metadata = Metadata("n" + std::to_string(index));
  if (dice.Is(2, 5)) {
    metadata["annotations"] =
        object{{"storage.alpha.kubernetes.io/migrated-plugins", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"}};
  }
  return {{"metadata", std::move(metadata)}, {"spec", object{{"drivers", std::move(drivers)}}}};
}

object CsiDriver(const Dice& dice) {
  object spec{{"attachRequired", true}};
  if (dice.At(0, 3) != 2) spec["storageCapacity"] = dice.At(0, 3) == 0;
  return {{"metadata", Metadata(kDriver)}, {"spec", std::move(spec)}};
}

object CsiStorageCapacity(const Dice& dice, int index) {
  object made{{"metadata", Metadata("k" + std::to_string(index), "default")},
              {"storageClassName", dice.Of(0, {"sc0", "sc0", "sc1"})}};
  Put(made, "capacity", dice.Of(2, {nullptr, "1Gi", "10Gi"}));
  Put(made, "maximumVolumeSize", dice.Of(3, {nullptr, nullptr, "1Gi", "10Gi"}));
  if (const char* zone = dice.Of(1, {"a", "b", nullptr}))
    made["nodeTopology"] = object{{"matchLabels", object{{kZone, zone}}}};
  return made;
}

object VolumeAttachment(const Dice& dice, int index) {
  return {{"metadata", Metadata("va" + std::to_string(index))},
          {"spec", object{{"attacher", kDriver},
                          {"nodeName", dice.Name("n", 0, 4)},
                          {"source", object{{"persistentVolumeName", dice.Name("v", 1, 4)}}}}}};
}

object Cel(const char* expression) { return {{"cel", object{{"expression", expression}}}}; }

object DeviceClass(const Dice& dice, int index) {
  object spec;
  if (const char* expression =
          dice.Of(0, {nullptr, nullptr, "true", "false", "device.attributes['d.example.com'].color == 'red'"})) {
    spec["selectors"] = array{Cel(expression)};
  }
  // Only one class has an extendedResourceName: which of two classes with the same name wins depends on their history
  // (ADR 4).
  if (index == 0) Put(spec, "extendedResourceName", dice.Of(1, {nullptr, "example.com/ext", "example.com/ext"}));
  return {{"metadata", Metadata("k" + std::to_string(index))}, {"spec", std::move(spec)}};
}

object ResourceSlice(const Dice& dice, int index) {
  array devices;
  for (int i = 0; i < dice.At(2, 4); ++i) {
    object device{{"name", "d" + std::to_string(i)},
                  {"attributes", object{{"color", object{{"string", dice.Of(3, {"red", "blue"})}}}}}};
    if (dice.Is(4, 5)) device["taints"] = array{object{{"key", "broken"}, {"effect", "NoSchedule"}}};
    devices.push_back(std::move(device));
  }
  object spec{{"driver", kDriver},
              {"pool", object{{"name", dice.Name("p", 0, 2)},
                              {"generation", 1 + dice.At(5, 2)},
                              {"resourceSliceCount", 1 + (dice.Is(6, 4) ? 1 : 0)}}},
              {"devices", std::move(devices)}};
  switch (dice.At(1, 4)) {
    case 0: spec["allNodes"] = true; break;
    case 1: spec["nodeSelector"] = ZoneTerms("a"); break;
    default: spec["nodeName"] = dice.Name("n", 1, 4); break;
  }
  return {{"metadata", Metadata("s" + std::to_string(index))}, {"spec", std::move(spec)}};
}

object ResourceClaim(const Dice& dice, int index) {
  const std::string name = "m" + std::to_string(index);
  object exactly{{"deviceClassName", dice.Of(0, {"k0", "k0", "k1"})}};
  const bool is_all = dice.Is(1, 5);
  exactly["allocationMode"] = is_all ? "All" : "ExactCount";
  if (!is_all) exactly["count"] = 1 + (dice.Is(1, 4) ? 1 : 0);
  if (const char* expression =
          dice.Of(2, {nullptr, nullptr, nullptr, "device.attributes['d.example.com'].color == 'red'"})) {
    exactly["selectors"] = array{Cel(expression)};
  }
  if (dice.Is(3, 6)) exactly["tolerations"] = array{object{{"operator", "Exists"}}};
  object request{{"name", "r"}};
  if (dice.Is(4, 6)) {
    exactly["name"] = "first";
    request["firstAvailable"] = array{std::move(exactly)};
  } else {
    request["exactly"] = std::move(exactly);
  }
  object made{{"metadata", Metadata(name, "default")},
              {"spec", object{{"devices", object{{"requests", array{std::move(request)}}}}}}};
  // Other pods may have the device that the waiting pod wants.
  if (dice.At(5, 3) != 0 && (index != 0 || dice.Is(5, 7))) {
    const object result{{"request", "r"}, {"driver", kDriver}, {"pool", dice.Name("p", 6, 2)}, {"device", "d0"}};
    object allocation{{"devices", object{{"results", array{result}}}}};
    if (dice.Is(6, 3)) allocation["nodeSelector"] = ZoneTerms("a");
    made["status"] = object{{"allocation", std::move(allocation)}};
  }
  return made;
}

object DeviceTaintRule(const Dice& dice, int index) {
  object selector;
  Put(selector, "pool", dice.Of(0, {"p0", "p1"}));
  Put(selector, "driver", dice.Of(1, {kDriver, kDriver, "other.example.com"}));
  return {{"metadata", Metadata("r" + std::to_string(index))},
          {"spec", object{{"deviceSelector", std::move(selector)},
                          {"taint", object{{"key", "off"}, {"effect", dice.Of(2, {"NoSchedule", "NoExecute"})}}}}}};
}

object Service(const Dice& dice, int index) {
  object selector;
  Put(selector, "app", dice.Of(0, {"x", "x", "y", nullptr}));
  return {{"metadata", Metadata("svc" + std::to_string(index), "default")},
          {"spec", object{{"selector", std::move(selector)}}}};
}

object ReplicaSet(const Dice& dice, int index) {
  object selector;
  Put(selector, "app", dice.Of(0, {"x", "y"}));
  Put(selector, "role", dice.Of(1, {nullptr, nullptr, "r"}));
  return {{"metadata", Metadata("rs" + std::to_string(index), "default")},
          {"spec", object{{"selector", object{{"matchLabels", std::move(selector)}}}}}};
}

object ObjectOf(const Item& item, Family family) {
  const Dice dice(item);
  const int index = item.index;
  switch (item.kind) {
    case Kind::kNode: return Node(dice, index, family);
    case Kind::kPod: return Pod(dice, index, family);
    case Kind::kWaitingPod: return WaitingPod(dice, family);
    case Kind::kNamespace: return Namespace(dice, index);
    case Kind::kStorageClass: return StorageClass(dice, index);
    case Kind::kPersistentVolume: return PersistentVolume(dice, index);
    case Kind::kPersistentVolumeClaim: return PersistentVolumeClaim(dice, index);
    case Kind::kCsiNode: return CsiNode(dice, index);
    case Kind::kCsiDriver: return CsiDriver(dice);
    case Kind::kCsiStorageCapacity: return CsiStorageCapacity(dice, index);
    case Kind::kVolumeAttachment: return VolumeAttachment(dice, index);
    case Kind::kDeviceClass: return DeviceClass(dice, index);
    case Kind::kResourceSlice: return ResourceSlice(dice, index);
    case Kind::kResourceClaim: return ResourceClaim(dice, index);
    case Kind::kDeviceTaintRule: return DeviceTaintRule(dice, index);
    case Kind::kService: return Service(dice, index);
    case Kind::kReplicaSet: return ReplicaSet(dice, index);
    case Kind::kMember: return Member(dice, index, family);
    case Kind::kPodGroup: return PodGroup(dice, index, family);
    case Kind::kCompositePodGroup: return CompositePodGroup(dice, index, family);
  }
  BERTH_CHECK(false, static_cast<int>(item.kind));
  return {};
}

// Once a claim has a volume, the API server refuses to change it.
bool KeepsItsVolume(const Dice& before, const Dice& after) {
  return before.At(3, 3) == 0 || (after.At(3, 3) != 0 && after.At(4, 3) == before.At(4, 3));
}

}  // namespace

std::size_t FirstMutableDie(Kind kind) { return ShapeOf(kind).immutable_dice; }
std::size_t DiceUsed(Kind kind, Family family) {
  // In kPolicies the last dice are the waiting pod's annotations.
  return kind == Kind::kWaitingPod && family == Family::kPolicies ? kDiceCount : ShapeOf(kind).dice;
}
bool MayBecome(const Item& before, const Item& after, Family family) {
  if (before.kind == Kind::kPersistentVolumeClaim) return KeepsItsVolume(Dice(before), Dice(after));
  if (before.kind == Kind::kMember) return MayMemberBecome(Dice(before), Dice(after), family);
  const bool begins_again =
      before.kind == Kind::kPod && IsPodBeingDeleted(Dice(before)) && !IsPodBeingDeleted(Dice(after));
  return !HasGroups(family) || !begins_again;
}
Item BeingDeleted(const Item& pod) {
  Item deleted = pod;
  deleted.dice.at(pod.kind == Kind::kMember ? kMemberDeletionDie : kPodDeletionDie) = 0;
  return deleted;
}
const char* NameOf(Kind kind) { return ShapeOf(kind).name; }
const char* NameOf(Family family) {
  static constexpr std::array<const char*, kFamilyCount> kNames = {
      "room",          "spread",         "affinity",       "volumes",       "devices",
      "defaultSpread", "policies",       "annotatedGangs", "reservedGangs", "gangs",
      "topologyGangs", "compositeGangs", "sharedClaims",   "groupClaims",   "preemptingGangs"};
  return kNames.at(static_cast<std::size_t>(family));
}

std::size_t FamilyCountOf(int release_minor) {
  return release_minor < 37 ? static_cast<std::size_t>(Family::kGangs) : kFamilyCount;
}

std::vector<std::string> GatesOf(Family family) {
  if (!HasPodGroups(family)) return {};
  std::vector<std::string> gates = {"GenericWorkload=true"};
  const auto add = [&](const char* gate) { gates.push_back(gate + std::string("=true")); };
  if (family == Family::kTopologyGangs || family == Family::kCompositeGangs) add("TopologyAwareWorkloadScheduling");
  if (family == Family::kCompositeGangs) add("CompositePodGroup");
  if (family == Family::kGroupClaims) add("DRAWorkloadResourceClaims");
  return gates;
}

std::string ConfigurationOf(Family family) {
  std::string text = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
)";
  if (family == Family::kDefaultSpread) {
    text += R"(profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}
      - {topologyKey: kubernetes.io/hostname, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}
)";
  }
  if (family == Family::kPolicies) {
    text += R"(profiles:
- plugins: {multiPoint: {enabled: [{name: NodeLabelMatch}, {name: SpotFirst}, {name: BestPrice}]}}
  pluginConfig:
  - {name: NodeLabelMatch, args: {keys: [{key: example.com/team}]}}
  - {name: SpotFirst, args: {onDemandShare: 50}}
  - {name: BestPrice, args: {unpricedNodes: refused}}
)";
  }
  if (family == Family::kAnnotatedGangs) {
    text += R"(profiles:
- plugins: {multiPoint: {enabled: [{name: GangScheduling}, {name: PodGroupAnnotations}]}}
)";
  }
  if (family == Family::kReservedGangs) {
    text += R"(profiles:
- plugins: {multiPoint: {enabled: [{name: GangScheduling}, {name: PodGroupAnnotations}, {name: PodGroupReservation}]}}
  pluginConfig: [{name: PodGroupReservation, args: {after: 5s}}]
)";
  }
  return text;
}

std::string ManifestOf(const Item& item, Family family) { return codec::WriteJson(ObjectOf(item, family)); }
std::string UidOf(const Item& item, Family family) {
  object made = ObjectOf(item, family);
  return std::string(made["metadata"].as_object()["uid"].as_string());
}
int GroupOf(const Item& member, Family family) { return GroupOf(Dice(member), family); }

}  // namespace berth::wake_ups
