// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/pod.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/base/text.h"

namespace berth::objects::internal {
namespace {

constexpr std::string_view kPodRules = R"(
@core
AWSElasticBlockStoreVolumeSource volumeID!
AzureDiskVolumeSource diskName! diskURI!
CSIVolumeSource driver!
CinderVolumeSource volumeID!
ConfigMapVolumeSource name!
Container name!:label& image@Image terminationMessagePolicy=File|FallbackToLogsOnError livenessProbe*/ readinessProbe*/
  startupProbe*/ ports/ env/ volumeMounts/ imagePullPolicy=Always|IfNotPresent|Never
  restartPolicy=Always|Never|OnFailure resources*/
ContainerExtendedResourceRequest @RequestMapping
ContainerPort name?@PortName containerPort!(1..65535) hostPort?(1..65535)@HostPort protocol=SCTP|TCP|UDP
EnvVar name!:env valueFrom*@ValueFrom
EphemeralVolumeSource volumeClaimTemplate!/
GCEPersistentDiskVolumeSource pdName!
HostPathVolumeSource path!
ISCSIVolumeSource targetPortal! iqn!
NFSVolumeSource server! path!
PersistentVolumeClaimTemplate spec/
PersistentVolumeClaimVolumeSource claimName!
Pod @PodSpec @PodUpdate status/
PodCondition type<Type>:qualified
PodExtendedResourceClaimStatus requestMappings!{at least one request mapping is required}/ resourceClaimName!:subdomain
PodReadinessGate conditionType:qualified
PodResourceClaim name!&:label resourceClaimName*:subdomain resourceClaimTemplateName*:subdomain @OneClaim
PodResourceClaimStatus name@DeclaredClaim& resourceClaimName*:subdomain
PodSpec volumes/ resourceClaims/ containers!/ initContainers/ resources*/ restartPolicy=Always|OnFailure|Never
  dnsPolicy=ClusterFirstWithHostNet|ClusterFirst|Default|None nodeSelector@Labels affinity/ readinessGates/
  topologySpreadConstraints/ schedulingGates/ tolerations/ os.name<os>=linux|windows serviceAccountName?:subdomain
  nodeName?:subdomain priorityClassName?:subdomain runtimeClassName?:subdomain hostname?:label subdomain?:label
  preemptionPolicy=PreemptLowerPriority|Never activeDeadlineSeconds*(1..2147483647)
PodStatus nominatedNodeName?:subdomain conditions/ resourceClaimStatuses/ extendedResourceClaimStatus*/
Probe @Handlers initialDelaySeconds>=0 timeoutSeconds>=0 periodSeconds>=0 successThreshold>=0 failureThreshold>=0
RBDVolumeSource image!
ResourceClaim @ContainerClaim
ResourceRequirements limits@ContainerAmounts requests@ContainerAmounts @RequestsFitLimits @HugePages claims/
SecretVolumeSource secretName!
Volume name!:label& @OneSource persistentVolumeClaim*/ secret*/ configMap*/ hostPath*/
  gcePersistentDisk<persistentDisk>*/ awsElasticBlockStore*/ azureDisk*/ iscsi*/ rbd*/ nfs*/ cinder*/ csi*/
  rbd*@Monitors ephemeral*/
VolumeMount name! name@MountedVolume mountPath!
)";

// --- Resources -------------------------------------------------------------------------------------------------------

constexpr std::string_view kNotNegative = "must be greater than or equal to 0";

bool IsHugePages(std::string_view name) { return name.starts_with("hugepages-"); }
bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

std::string AsText(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::optional<api::Quantity> Amount(const json::value& value) {
  auto parsed = api::Quantity::Parse(AsText(value));
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

// Quantities are not negative, and whole where the resource is counted.
void CheckAmount(const Place& amount, std::string_view name) {
  const std::optional<api::Quantity> quantity = Amount(amount.value());
  if (!quantity) return;  // refused before as undecodable
  const json::value shown(AsText(amount.value()));
  if (quantity->IsNegative()) amount.Invalid(shown, kNotNegative);
  const bool is_counted = name == "pods" || !IsNative(name);
  if (is_counted && quantity->MilliValue() % 1000 != 0) amount.Invalid(shown, "must be an integer");
}

void CheckAmounts(const Place& amounts) {
  for (const auto& pair : amounts.object()) CheckAmount(amounts.Entry(pair.key()), pair.key());
}

// Upstream names an entry of a Node's amounts as if it were a field.
void CheckNodeAmounts(const Place& amounts) {
  for (const auto& pair : amounts.object()) CheckAmount(amounts.Field(pair.key()), pair.key());
}

void CheckContainerAmounts(const Place& amounts) {
  for (const auto& pair : amounts.object()) {
    const std::string_view name = pair.key();
    const Place amount = amounts.Entry(name);
    const std::vector<std::string> why = api::NotQualifiedName(name);
    amount.AddInvalid(name, why);
    if (name.find('/') != std::string_view::npos || api::IsContainerResource(name)) continue;
    if (why.empty() && name != "pods" && name != "storage" && name != "services") {
      amount.Invalid(json::value(name), "must be a standard resource type or fully qualified");
    }
    amount.Invalid(json::value(name), "must be a standard resource for containers");
  }
  CheckAmounts(amounts);
}

// Requests must have limits that are no lower, and for what cannot be overcommitted equal.
void CheckRequestsFitLimits(const Place& resources) {
  const Place requests = resources["requests"];
  const Place limits = resources["limits"];
  for (const auto& [name, request] : requests.object()) {
    const bool may_overcommit = IsNative(name) && !IsHugePages(name);
    const json::value* limit = FindMember(limits.object(), name);
    if (limit == nullptr) {
      if (!may_overcommit) limits.Required("Limit must be set for non overcommitable resources");
      continue;
    }
    const std::optional<api::Quantity> wanted = Amount(request);
    const std::optional<api::Quantity> most = Amount(*limit);
    if (!wanted || !most) continue;
    const std::string bound = std::string(name) + " limit of " + AsText(*limit);
    const json::value shown(AsText(request));
    if (!may_overcommit && *wanted != *most) {
      requests.Invalid(shown, "must be equal to " + bound);
    } else if (*wanted > *most) {
      requests.Invalid(shown, "must be less than or equal to " + bound);
    }
  }
}

void CheckHugePages(const Place& resources) {
  bool has_huge_pages = false;
  bool has_cpu_or_memory = false;
  for (const char* member : {"limits", "requests"}) {
    for (const auto& pair : Part(resources.object(), member)) {
      has_huge_pages = has_huge_pages || IsHugePages(pair.key());
      has_cpu_or_memory = has_cpu_or_memory || pair.key() == "cpu" || pair.key() == "memory";
    }
  }
  if (has_huge_pages && !has_cpu_or_memory) resources.Forbidden("HugePages require cpu or memory");
}

// --- Containers ------------------------------------------------------------------------------------------------------

bool IsEphemeral(const Place& part) { return part.Above("EphemeralContainer") != nullptr; }

void CheckContainerClaim(const Place& claim) {
  const std::string name(claim["name"].text());
  std::set<std::string_view> names;
  // Ephemeral containers have no resources, and so no claims either.
  if (const Place* spec = claim.Above("PodSpec"); !IsEphemeral(claim)) {
    for (const json::object* each : ObjectsOf(spec->object(), "resourceClaims")) {
      if (!StringMember(*each, "name").empty()) names.insert(StringMember(*each, "name"));
    }
  }
  if (name.empty()) {
    claim.Required();
  } else if (!claim.up().up().IsFirst("claims", name + '\n' + std::string(claim["request"].text()))) {
    claim.Duplicate(json::value(name));
  } else if (!names.contains(name)) {
    claim.NotFound(json::value(name), "must be one of the names in pod.spec.resourceClaims: " + Joined(names));
  }
}

void CheckImage(const Place& image) {
  const std::string_view text = image.text();
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  if (text.empty()) {
    image.Required();
  } else if (is_space(text.front()) || is_space(text.back())) {
    image.Invalid("must not have leading or trailing whitespace");
  }
}

void CheckHandlers(const Place& probe) {
  int handlers = 0;
  for (const char* handler : {"exec", "httpGet", "tcpSocket", "grpc"}) handlers += probe.Has(handler) ? 1 : 0;
  if (handlers == 0) probe.Required("must specify a handler type");
  if (handlers > 1) probe.Forbidden("may not specify more than 1 handler type");
}

void CheckPortName(const Place& name) {
  const std::vector<std::string> why = api::NotPortName(name.text());
  name.AddInvalid(name.text(), why);
  if (why.empty()) name.CheckUnique();
}

void CheckHostPort(const Place& host_port) {
  const Place& port = host_port.up();
  const Place& containers = port.up().up().up();
  const Place& spec = *port.Above("PodSpec");
  const std::int64_t number = host_port.number();
  if (!IsEphemeral(port) && spec["hostNetwork"].flag() && number != port["containerPort"].number()) {
    host_port.Invalid("must match `containerPort` when `hostNetwork` is true");
  }
  const std::string key =
      std::string(port["protocol"].text()) + "/" + std::string(port["hostIP"].text()) + "/" + std::to_string(number);
  // Init containers run one after the other and may use the same port again.
  if (containers.step() != "initContainers" && !spec.IsFirst("hostPort", key)) host_port.Duplicate(json::value(key));
}

void CheckValueFrom(const Place& from) {
  if (from.object().empty()) {
    from.Invalid(
        "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
  } else if (!from.up()["value"].text().empty()) {
    from.Invalid("", "may not be specified when `value` is not empty");
  } else if (from.object().size() > 1) {
    from.Invalid("", "may not have more than one field specified at a time");
  }
}

void CheckMountedVolume(const Place& name) {
  for (const json::object* volume : ObjectsOf(name.Above("PodSpec")->object(), "volumes")) {
    if (!name.text().empty() && StringMember(*volume, "name") == name.text()) return;
  }
  name.NotFound(json::value(name.text()));
}

// --- Volumes and claims ----------------------------------------------------------------------------------------------

void CheckOneSource(const Place& volume) {
  bool has_source = false;
  for (const auto& [member, source] : volume.object()) {
    if (member == "name" || !source.is_object()) continue;
    if (has_source) volume[member].Forbidden("may not specify more than 1 volume type");
    has_source = true;
  }
}

void CheckMonitors(const Place& rbd) {
  if (rbd["monitors"].array().empty()) rbd["monitors"].Required();
}

void CheckOneClaim(const Place& claim) {
  const bool by_name = claim.Has("resourceClaimName");
  const bool by_template = claim.Has("resourceClaimTemplateName");
  if (by_name && by_template) {
    claim.Invalid("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
  } else if (!by_name && !by_template) {
    claim.Invalid("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  }
}

// --- Status ----------------------------------------------------------------------------------------------------------

void CheckDeclaredClaim(const Place& name) {
  for (const json::object* claim : ObjectsOf(Part(name.root().object(), "spec"), "resourceClaims")) {
    if (StringMember(*claim, "name") == name.text()) return;
  }
  name.Invalid(json::value(name.text()), "must match the name of an entry in `spec.resourceClaims`");
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

// For an extended resource that devices stand for, the scheduler makes a claim; this is what a container gets of it.
void CheckRequestMapping(const Place& mapping) {
  const Place container_name = mapping["containerName"];
  const Place resource = mapping["resourceName"];
  const json::object* container = FindContainer(Part(mapping.root().object(), "spec"), container_name.text());
  if (container == nullptr) {
    container_name.Invalid(json::value(container_name.text()),
                           "must match the name of an entry in spec.initContainers.name or spec.containers.name");
  } else if (FindMember(Part(Part(*container, "resources"), "requests"), resource.text()) == nullptr) {
    resource.Invalid(json::value(resource.text()),
                     "must match the extended resource name of an entry in "
                     "spec.initContainers.resources.requests or spec.containers.resources.requests");
  }
  // Upstream leaves out which mapping it is.
  const std::string_view request = mapping["requestName"].text();
  mapping.up().up()["requestName"].AddInvalid(request, api::NotDnsLabel(request));
}

// --- The pod ---------------------------------------------------------------------------------------------------------

void CheckPodSpec(const Place& pod) {
  const Place spec = pod["spec"];
  // A status update or another label leaves the spec as it was found good.
  if (!pod.is_update() || !spec.IsSame()) spec.Walk();
  if (pod.is_update()) return;
  const Place node_name = spec["nodeName"];
  if (!ObjectsOf(spec.object(), "ephemeralContainers").empty()) {
    spec["ephemeralContainers"].Forbidden("cannot be set on create");
  }
  if (!node_name.text().empty() && !ObjectsOf(spec.object(), "schedulingGates").empty()) {
    node_name.Forbidden("cannot be set until all schedulingGates have been cleared");
  }
}

}  // namespace

RuleSet PodRules() {
  return {kPodRules,
          {{"Amounts", CheckAmounts},
           {"ContainerAmounts", CheckContainerAmounts},
           {"ContainerClaim", CheckContainerClaim},
           {"DeclaredClaim", CheckDeclaredClaim},
           {"Handlers", CheckHandlers},
           {"HostPort", CheckHostPort},
           {"HugePages", CheckHugePages},
           {"Image", CheckImage},
           {"Monitors", CheckMonitors},
           {"MountedVolume", CheckMountedVolume},
           {"NodeAmounts", CheckNodeAmounts},
           {"OneClaim", CheckOneClaim},
           {"OneSource", CheckOneSource},
           {"PodSpec", CheckPodSpec},
           {"PortName", CheckPortName},
           {"RequestMapping", CheckRequestMapping},
           {"RequestsFitLimits", CheckRequestsFitLimits},
           {"ValueFrom", CheckValueFrom}}};
}

}  // namespace berth::objects::internal
