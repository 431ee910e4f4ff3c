// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/storage.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/base/text.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kStorageRules = R"(
@core
PersistentVolume spec/
PersistentVolumeClaim spec/ @ClaimKept
PersistentVolumeClaimSpec
  accessModes!{at least 1 access mode is required}=ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod@AccessModes
  selector/ @RequestedStorage storageClassName?:subdomain volumeMode=Block|Filesystem
PersistentVolumeSpec accessModes!=ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod@AccessModes
  capacity!@Amounts persistentVolumeReclaimPolicy=Delete|Recycle|Retain volumeMode=Block|Filesystem
  nodeAffinity*/ @VolumeSource volumeMode<$.volumeMode>^ nodeAffinity<$.nodeAffinity>@NodeAffinityKept
VolumeNodeAffinity required!{must specify required node constraints}/
@storage
CSIDriver spec/
CSIDriverSpec fsGroupPolicy=File|None|ReadWriteOnceWithFSType volumeLifecycleModes=Persistent|Ephemeral
  attachRequired<attachedRequired>^ volumeLifecycleModes^
CSINode spec/
CSINodeDriver name! nodeID! allocatable/ name&
CSINodeSpec drivers/
CSIStorageCapacity storageClassName:subdomain capacity@NotNegative maximumVolumeSize@NotNegative
StorageClass provisioner!@Provisioner reclaimPolicy=Delete|Retain volumeBindingMode=Immediate|WaitForFirstConsumer
  provisioner^ reclaimPolicy^ volumeBindingMode^ parameters@ParametersKept
VolumeAttachment spec/ spec^
VolumeAttachmentSpec attacher! source@AttachmentSource nodeName:subdomain
VolumeNodeResources count>=0
)";

void CheckAccessModes(const Place& modes) {
  const json::array& all = modes.array();
  if (all.size() > 1 && std::find(all.begin(), all.end(), json::value("ReadWriteOncePod")) != all.end()) {
    modes.Forbidden("may not use ReadWriteOncePod with other access modes");
  }
}

bool IsVolumeSource(std::string_view name, const json::value& value) {
  return value.is_object() && name != "capacity" && name != "claimRef" && name != "nodeAffinity";
}

// The one source of a volume's spec. What a driver needs to grow the volume may be added to it later.
json::object VolumeSourceOf(const json::object& spec) {
  json::object source;
  for (const auto& [name, value] : spec) {
    if (!IsVolumeSource(name, value)) continue;
    source[name] = value;
    if (name == "csi") source[name].get_object().erase("controllerExpandSecretRef");
  }
  return source;
}

void CheckVolumeSource(const Place& spec) {
  int sources = 0;
  for (const auto& [name, value] : spec.object()) {
    if (!IsVolumeSource(name, value)) continue;
    if (++sources > 1) spec[name].Forbidden("may not specify more than 1 volume type");
  }
  if (sources == 0) spec.Required("must specify a volume type");
  if (spec.Has("local") && !spec.Has("nodeAffinity")) {
    spec["nodeAffinity"].Required("Local volume requires node affinity");
  }
  if (spec.is_update() && VolumeSourceOf(spec.object()) != VolumeSourceOf(spec.old_object())) {
    spec["persistentvolumesource"].Forbidden("spec.persistentvolumesource is immutable after creation");
  }
}

void CheckNodeAffinityKept(const Place& affinity) {
  if (affinity.old().is_object() && !affinity.IsSame()) affinity.Invalid("field is immutable");
}

// --- Claims ----------------------------------------------------------------------------------------------------------

std::optional<api::Quantity> AmountOf(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  auto parsed = api::Quantity::Parse(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

std::optional<api::Quantity> RequestedStorage(const json::object& claim_spec) {
  return AmountOf(FindPath(claim_spec, {"resources", "requests", "storage"}));
}

void CheckRequestedStorage(const Place& spec) {
  const Place shown = spec["resources[storage]"];
  const std::optional<api::Quantity> storage = RequestedStorage(spec.object());
  if (!storage) {
    shown.Required();
  } else if (storage->IsZero() || storage->IsNegative()) {
    shown.Invalid(spec["resources.requests.storage"].value(), "must be greater than zero");
  }
}

void CheckClaimKept(const Place& claim) {
  if (!claim.is_update()) return;
  const Place spec = claim["spec"];
  // The binder fills in the volume's name once; of a bound claim the size may be asked to grow.
  std::set<std::string_view> free_members;
  for (const char* member : {"volumeName", "storageClassName"}) {
    if (StringMember(spec.old_object(), member).empty()) free_members.insert(member);
  }
  if (claim["status.phase"].text() == "Bound") free_members.insert({"resources", "volumeAttributesClassName"});
  if (spec.DiffersBeyond(free_members)) {
    spec.Forbidden(
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims");
  }
  const std::optional<api::Quantity> size = RequestedStorage(spec.object());
  const std::optional<api::Quantity> old_size = RequestedStorage(spec.old_object());
  if (!size || !old_size || !(*size < *old_size)) return;
  const std::optional<api::Quantity> held = AmountOf(FindPath(claim.old_object(), {"status", "capacity", "storage"}));
  if (held && !(*held < *size)) {
    claim["spec.resources.requests.storage"].Forbidden("field can not be less than status.capacity");
  }
}

// --- Classes and drivers ---------------------------------------------------------------------------------------------

void CheckProvisioner(const Place& provisioner) {
  provisioner.AddInvalid(provisioner.text(), api::NotQualifiedName(LowerCase(provisioner.text())));
}

void CheckParametersKept(const Place& parameters) {
  if (parameters.is_update() && !parameters.IsSame()) parameters.Forbidden("updates to parameters are forbidden.");
}

void CheckNotNegative(const Place& amount) {
  const std::optional<api::Quantity> quantity = AmountOf(amount.is_set() ? &amount.value() : nullptr);
  if (quantity && quantity->IsNegative()) amount.Invalid("must be greater than or equal to 0");
}

void CheckAttachmentSource(const Place& source) {
  if (source.Has("persistentVolumeName") == source.Has("inlineVolumeSpec")) {
    source.Required("must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  }
}

}  // namespace

RuleSet StorageRules() {
  return {kStorageRules,
          {{"AccessModes", CheckAccessModes},
           {"AttachmentSource", CheckAttachmentSource},
           {"ClaimKept", CheckClaimKept},
           {"NodeAffinityKept", CheckNodeAffinityKept},
           {"NotNegative", CheckNotNegative},
           {"ParametersKept", CheckParametersKept},
           {"Provisioner", CheckProvisioner},
           {"RequestedStorage", CheckRequestedStorage},
           {"VolumeSource", CheckVolumeSource}}};
}

}  // namespace berth::objects::internal
