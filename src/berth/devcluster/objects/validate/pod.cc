// SPDX-License-Identifier: Apache-2.0
// Validation of pods and pod templates: the spec, put together from its parts, and the status.
#include "berth/devcluster/objects/validate/pod.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "berth/api/names.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/container.h"
#include "berth/devcluster/objects/validate/pod_update.h"
#include "berth/devcluster/objects/validate/rules.h"
#include "berth/devcluster/objects/validate/scheduling.h"
#include "berth/devcluster/objects/validate/storage.h"

namespace berth::objects::internal {
namespace {

// Members that a volume's source must have; `said_of` is the path that upstream reports, which is not always the
// field's.
struct NeededField {
  const char* source;
  const char* member;
  const char* said_of;
};
constexpr NeededField kNeededFields[] = {
    {"persistentVolumeClaim", "claimName", "persistentVolumeClaim.claimName"},
    {"secret", "secretName", "secret.secretName"},
    {"configMap", "name", "configMap.name"},
    {"hostPath", "path", "hostPath.path"},
    {"gcePersistentDisk", "pdName", "persistentDisk.pdName"},
    {"awsElasticBlockStore", "volumeID", "awsElasticBlockStore.volumeID"},
    {"azureDisk", "diskName", "azureDisk.diskName"},
    {"azureDisk", "diskURI", "azureDisk.diskURI"},
    {"iscsi", "targetPortal", "iscsi.targetPortal"},
    {"iscsi", "iqn", "iscsi.iqn"},
    {"rbd", "image", "rbd.image"},
    {"nfs", "server", "nfs.server"},
    {"nfs", "path", "nfs.path"},
    {"cinder", "volumeID", "cinder.volumeID"},
    {"csi", "driver", "csi.driver"},
};

void ValidateVolumeSource(const json::object& volume, const std::string& path, Errors& errors) {
  for (const NeededField& needed : kNeededFields) {
    const json::object* source = ObjectMember(volume, needed.source);
    if (source != nullptr && StringMember(*source, needed.member).empty()) {
      errors.push_back(Required(path + "." + needed.said_of));
    }
  }
  if (const json::object* rbd = ObjectMember(volume, "rbd")) {
    const json::array* monitors = ArrayMember(*rbd, "monitors");
    if (monitors == nullptr || monitors->empty()) errors.push_back(Required(path + ".rbd.monitors"));
  }
  if (const json::object* ephemeral = ObjectMember(volume, "ephemeral")) {
    const std::string field = path + ".ephemeral.volumeClaimTemplate";
    const json::object* claim = ObjectMember(*ephemeral, "volumeClaimTemplate");
    if (claim == nullptr) {
      errors.push_back(Required(field));
    } else {
      ValidateClaimSpecOfVolume(Part(*claim, "spec"), field + ".spec", errors);
    }
  }
}

void ValidateVolumes(const json::object& spec, const std::string& field, ContainerContext& context, Errors& errors) {
  ForEachIn(spec, "volumes", field, [&](const json::object& volume, const std::string& path) {
    ValidateUniqueLabelName(volume, path, context.volumes, errors);
    bool has_source = false;
    for (const auto& [member, source] : volume) {
      if (member == "name" || !source.is_object()) continue;
      if (has_source) {
        errors.push_back(Forbidden(path + "." + std::string(member), "may not specify more than 1 volume type"));
      }
      has_source = true;
    }
    ValidateVolumeSource(volume, path, errors);
  });
}

void ValidateClaims(const json::object& spec, const std::string& field, ContainerContext& context, Errors& errors) {
  ForEachIn(spec, "resourceClaims", field, [&](const json::object& claim, const std::string& path) {
    const std::string name(StringMember(claim, "name"));
    if (name.empty()) {
      errors.push_back(Required(path + ".name"));
    } else if (!context.claims.insert(name).second) {
      errors.push_back(Duplicate(path + ".name", json::value(name)));
    } else {
      AddInvalid(errors, path + ".name", name, api::NotDnsLabel(name));
    }
    int ways = 0;
    for (const char* member : {"resourceClaimName", "resourceClaimTemplateName"}) {
      if (FindMember(claim, member) == nullptr) continue;
      ++ways;
      const std::string_view meant = StringMember(claim, member);
      AddInvalid(errors, path + "." + member, meant, api::NotDnsSubdomain(meant));
    }
    if (ways > 1) {
      errors.push_back(
          Invalid(path, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    } else if (ways == 0) {
      errors.push_back(Invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
  });
}

void ValidateActiveDeadline(const json::object& spec, const std::string& field, Errors& errors) {
  const json::value* deadline = FindMember(spec, "activeDeadlineSeconds");
  if (deadline == nullptr) return;
  const std::int64_t seconds = IntMember(spec, "activeDeadlineSeconds");
  if (seconds < 1 || seconds > std::numeric_limits<std::int32_t>::max()) {
    errors.push_back(
        Invalid(field + ".activeDeadlineSeconds", *deadline, "must be between 1 and 2147483647, inclusive"));
  }
}

// --- Status ----------------------------------------------------------------------------------------------------------

// The claims that were made for the pod.
void ValidateClaimStatuses(const json::object& status, const json::object& spec, Errors& errors) {
  std::set<std::string> known;
  for (const json::object* claim : ObjectsOf(spec, "resourceClaims")) known.emplace(StringMember(*claim, "name"));
  std::set<std::string> seen;
  ForEachIn(status, "resourceClaimStatuses", "status", [&](const json::object& claim, const std::string& path) {
    const std::string name(StringMember(claim, "name"));
    if (!known.contains(name)) {
      errors.push_back(
          Invalid(path + ".name", json::value(name), "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!seen.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    if (FindMember(claim, "resourceClaimName") == nullptr) return;
    const std::string_view made = StringMember(claim, "resourceClaimName");
    AddInvalid(errors, path + ".resourceClaimName", made, api::NotDnsSubdomain(made));
  });
}

const json::object* FindContainer(const json::object& spec, std::string_view name) {
  const json::object* found = nullptr;
  for (const char* list : {"initContainers", "containers"}) {
    for (const json::object* container : ObjectsOf(spec, list)) {
      if (StringMember(*container, "name") == name) found = container;
    }
  }
  return found;
}

// The claim that the scheduler made for extended resources that devices stand for.
void ValidateExtendedClaimStatus(const json::object& status, const json::object& spec, Errors& errors) {
  const json::object* claim = ObjectMember(status, "extendedResourceClaimStatus");
  if (claim == nullptr) return;
  const std::string field = "status.extendedResourceClaimStatus";
  if (ObjectsOf(*claim, "requestMappings").empty()) {
    errors.push_back(Required(field + ".requestMappings", "at least one request mapping is required"));
  }
  ForEachIn(*claim, "requestMappings", field, [&](const json::object& mapping, const std::string& path) {
    const std::string_view wanted = StringMember(mapping, "containerName");
    const std::string_view resource = StringMember(mapping, "resourceName");
    const json::object* container = FindContainer(spec, wanted);
    if (container == nullptr) {
      errors.push_back(Invalid(path + ".containerName", json::value(wanted),
                               "must match the name of an entry in spec.initContainers.name or spec.containers.name"));
    } else if (FindMember(Part(Part(*container, "resources"), "requests"), resource) == nullptr) {
      errors.push_back(Invalid(path + ".resourceName", json::value(resource),
                               "must match the extended resource name of an entry in "
                               "spec.initContainers.resources.requests or spec.containers.resources.requests"));
    }
    // Upstream leaves out which mapping it is.
    const std::string_view request = StringMember(mapping, "requestName");
    AddInvalid(errors, field + ".requestName", request, api::NotDnsLabel(request));
  });
  const std::string_view name = StringMember(*claim, "resourceClaimName");
  if (name.empty()) {
    errors.push_back(Required(field + ".resourceClaimName"));
  } else {
    AddInvalid(errors, field + ".resourceClaimName", name, api::NotDnsSubdomain(name));
  }
}

void ValidatePodStatus(const json::object& status, const json::object& spec, Errors& errors) {
  ValidateNameMember(status, "nominatedNodeName", "status", api::NotDnsSubdomain, errors);
  ForEachIn(status, "conditions", "status", [&](const json::object& condition, const std::string& path) {
    const std::string_view type = StringMember(condition, "type");
    AddInvalid(errors, path + ".Type", type, api::NotQualifiedName(type));
  });
  ValidateClaimStatuses(status, spec, errors);
  ValidateExtendedClaimStatus(status, spec, errors);
}

}  // namespace

void ValidatePodSpec(const json::object& spec, const std::string& field, Errors& errors) {
  ContainerContext context;
  context.is_host_network = BoolMember(spec, "hostNetwork");
  ValidateVolumes(spec, field, context, errors);
  ValidateClaims(spec, field, context, errors);
  if (ObjectsOf(spec, "containers").empty()) errors.push_back(Required(field + ".containers"));
  for (const char* list : {"containers", "initContainers"}) {
    const bool is_init = list == std::string_view("initContainers");
    ForEachIn(spec, list, field, [&](const json::object& container, const std::string& path) {
      ValidateContainer(container, path, context, is_init, errors);
    });
  }
  ValidateResources(spec, field, context.claims, errors);
  ValidateOneOf(spec, "restartPolicy", field, {"Always", "OnFailure", "Never"}, errors);
  ValidateOneOf(spec, "dnsPolicy", field, {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"}, errors);
  ValidateLabels(spec, "nodeSelector", field + ".nodeSelector", errors);
  ValidateAffinity(spec, field, errors);
  ForEachIn(spec, "readinessGates", field, [&](const json::object& gate, const std::string& path) {
    const std::string_view type = StringMember(gate, "conditionType");
    AddInvalid(errors, path + ".conditionType", type, api::NotQualifiedName(type));
  });
  ValidateTopologySpread(spec, field, errors);
  ValidateSchedulingGates(spec, field, errors);
  ValidateTolerations(spec, field, errors);
  if (const std::string_view os = StringAt(spec, {"os", "name"}); !os.empty() && os != "linux" && os != "windows") {
    errors.push_back(NotSupported(field + ".os", json::value(os), {"linux", "windows"}));
  }
  for (const char* member : {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"}) {
    ValidateNameMember(spec, member, field, api::NotDnsSubdomain, errors);
  }
  ValidateNameMember(spec, "hostname", field, api::NotDnsLabel, errors);
  ValidateNameMember(spec, "subdomain", field, api::NotDnsLabel, errors);
  ValidateOneOf(spec, "preemptionPolicy", field, {"PreemptLowerPriority", "Never"}, errors);
  ValidateActiveDeadline(spec, field, errors);
}

void ValidatePodTemplateSpec(const json::object& spec, const std::string& field, Errors& errors) {
  ValidatePodSpec(spec, field, errors);
  // The pods of every workload there is are made again whenever they end.
  if (const std::string_view policy = StringMember(spec, "restartPolicy"); policy == "Never" || policy == "OnFailure") {
    errors.push_back(NotSupported(field + ".restartPolicy", json::value(policy), {"Always"}));
  }
  if (FindMember(spec, "activeDeadlineSeconds") != nullptr) {
    errors.push_back(
        Forbidden(field + ".activeDeadlineSeconds", "activeDeadlineSeconds in ReplicaSet is not Supported"));
  }
}

void ValidatePod(const json::object& pod, const json::object* old, Errors& errors) {
  const json::object& spec = Part(pod, "spec");
  const json::object* old_spec = old == nullptr ? nullptr : ObjectMember(*old, "spec");
  // A status update, a label: nothing of the spec is to be looked at again.
  if (old_spec == nullptr || spec != *old_spec) ValidatePodSpec(spec, "spec", errors);
  if (old == nullptr) {
    if (!ObjectsOf(spec, "ephemeralContainers").empty()) {
      errors.push_back(Forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if (!StringMember(spec, "nodeName").empty() && !ObjectsOf(spec, "schedulingGates").empty()) {
      errors.push_back(Forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
    }
  } else if (old_spec != nullptr) {
    ValidatePodSpecUpdate(spec, *old_spec, errors);
  }
  ValidatePodStatus(Part(pod, "status"), spec, errors);
}

}  // namespace berth::objects::internal
