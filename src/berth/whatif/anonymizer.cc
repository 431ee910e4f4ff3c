// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/anonymizer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include <simdjson.h>

#include "berth/base/text.h"

namespace berth::whatif {
namespace {

using simdjson::dom::element;

constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kRadix[] = {10, 36, 62};
// A Feistel network with rounds enough for halves of one character.
constexpr int kRounds = 10;

// Words that decide something by themselves, or that say nothing about a cluster. Sorted.
constexpr std::string_view kPlainWords[] = {
    "DEMAND",      "Ec2Spot", "ON",    "SPOT",      "Spot",    "SpotAsPriceGo", "SpotWithPriceLimit",
    "UNSPECIFIED", "amd64",   "arm64", "aws",       "default", "demand",        "false",
    "kube",        "latest",  "lease", "lifecycle", "linux",   "node",          "on",
    "preemptible", "public",  "spot",  "system",    "true",    "vol",           "windows"};
static_assert(std::ranges::is_sorted(kPlainWords));

// Kubernetes' own types and reasons of conditions of pods, nodes and groups, its phases and the kubelet's reasons, and
// the kinds that own objects. Other controllers' name their makers, and types often an object as well. Sorted.
constexpr std::string_view kApiWords[] = {"Active",
                                          "AllContainersRestarting",
                                          "AlwaysAllow",
                                          "Available",
                                          "BestEffort",
                                          "Bound",
                                          "Burstable",
                                          "Completed",
                                          "CompositePodGroup",
                                          "ContainerCannotRun",
                                          "ContainerCreating",
                                          "ContainerStatusUnknown",
                                          "ContainersNotInitialized",
                                          "ContainersNotReady",
                                          "ContainersReady",
                                          "ControllerRevision",
                                          "CrashLoopBackOff",
                                          "CreateContainerConfigError",
                                          "CreateContainerError",
                                          "CronJob",
                                          "DaemonSet",
                                          "DeadlineExceeded",
                                          "Deferred",
                                          "DeletionByPodGC",
                                          "DeletionByTaintManager",
                                          "Deployment",
                                          "DiskPressure",
                                          "DisruptionTarget",
                                          "ErrImageNeverPull",
                                          "ErrImagePull",
                                          "ErrImagePullBackOff",
                                          "Error",
                                          "Evicted",
                                          "EvictionByEvictionAPI",
                                          "Failed",
                                          "False",
                                          "Guaranteed",
                                          "IfHealthyBudget",
                                          "ImageInspectError",
                                          "ImagePullBackOff",
                                          "Infeasible",
                                          "Initialized",
                                          "InvalidImageName",
                                          "Job",
                                          "Lost",
                                          "MemoryPressure",
                                          "NetworkUnavailable",
                                          "Node",
                                          "NodeAffinity",
                                          "NodeLost",
                                          "NodeShutdown",
                                          "OOMKilled",
                                          "OutOfDisk",
                                          "OutOfcpu",
                                          "OutOfmemory",
                                          "OutOfpods",
                                          "PIDPressure",
                                          "Pending",
                                          "Pod",
                                          "PodCompleted",
                                          "PodFailed",
                                          "PodGroup",
                                          "PodGroupInitiallyScheduled",
                                          "PodGroupScheduled",
                                          "PodHasNetwork",
                                          "PodInitializing",
                                          "PodReadyToStartContainers",
                                          "PodResizeInProgress",
                                          "PodResizePending",
                                          "PodScheduled",
                                          "Preempting",
                                          "PreemptionByKubeScheduler",
                                          "PreemptionByScheduler",
                                          "ReadinessGatesNotReady",
                                          "Ready",
                                          "RegistryUnavailable",
                                          "Released",
                                          "ReplicaSet",
                                          "ReplicationController",
                                          "ResourceClaim",
                                          "RunContainerError",
                                          "Running",
                                          "Scheduled",
                                          "SchedulerError",
                                          "SchedulingGated",
                                          "Shutdown",
                                          "StartError",
                                          "StatefulSet",
                                          "Succeeded",
                                          "Terminated",
                                          "Terminating",
                                          "TerminationByKubelet",
                                          "True",
                                          "UnexpectedAdmissionError",
                                          "Unknown",
                                          "UnknownContainerStatuses",
                                          "Unschedulable",
                                          "Workload",
                                          "podgroups",
                                          "pods",
                                          "scheduling.k8s.io"};
static_assert(std::ranges::is_sorted(kApiWords));

// Domains whose keys are the same in every cluster: of Kubernetes, of clouds (SpotFirst, volumes' topology) and
// berth's.
constexpr std::string_view kKnownDomains[] = {"kubernetes.io", "k8s.io",           "x-k8s.io",         "berth.dev",
                                              "hightower.com", "karpenter.sh",     "amazonaws.com",    "aws.amazon.com",
                                              "csi.aws.com",   "cloud.google.com", "gke.io",           "azure.com",
                                              "openshift.io",  "oraclecloud.com",  "alibabacloud.com", "spotinst.io",
                                              "cast.ai",       "openstack.org",    "vmware.com"};

// Features of nodes that scheduling asks for (plugins/node_declared_features). Sorted, as the lists of them are: others
// become a letter between the same two, so that a search finds and misses what it did.
constexpr std::string_view kFeatures[] = {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"};
constexpr std::string_view kOtherFeatures[] = {"A", "S", "Z"};

// Annotations that berth reads as a number, a time or a word of the API: such a value stays. Any other is changed as a
// name, as are the values of all other annotations, known domain or not: they hold what their tools like, a whole
// manifest with passwords among them. Sorted.
constexpr std::string_view kAnnotationsWithValues[] = {"berth.dev/consolidating",
                                                       "berth.dev/cpu-usage",
                                                       "berth.dev/max-price",
                                                       "berth.dev/memory-usage",
                                                       "berth.dev/min-count",
                                                       "berth.dev/price",
                                                       "berth.dev/reclaim-at",
                                                       "berth.dev/run-seconds",
                                                       "berth.dev/spot",
                                                       "berth.dev/usage-time",
                                                       "descheduler.alpha.kubernetes.io/evict",
                                                       "descheduler.alpha.kubernetes.io/prefer-no-eviction",
                                                       "hightower.com/cost",
                                                       "kubernetes.io/config.source",
                                                       "pv.kubernetes.io/bind-completed",
                                                       "pv.kubernetes.io/bound-by-controller",
                                                       "resource.kubernetes.io/extended-resource-claim",
                                                       "storage.alpha.kubernetes.io/migrated-plugins"};
static_assert(std::ranges::is_sorted(kAnnotationsWithValues));
// What these may say in words. Sorted.
constexpr std::string_view kAnnotationWords[] = {"after",
                                                 "api",
                                                 "false",
                                                 "file",
                                                 "http",
                                                 "kubernetes.io/aws-ebs",
                                                 "kubernetes.io/azure-disk",
                                                 "kubernetes.io/azure-file",
                                                 "kubernetes.io/cinder",
                                                 "kubernetes.io/gce-pd",
                                                 "kubernetes.io/portworx-volume",
                                                 "kubernetes.io/vsphere-volume",
                                                 "never",
                                                 "preferred",
                                                 "required",
                                                 "true",
                                                 "yes"};
static_assert(std::ranges::is_sorted(kAnnotationWords));

constexpr std::string_view kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";
constexpr std::string_view kQuotaPrefix = "requests.";
constexpr std::string_view kQuotasOfClasses[] = {
    ".storageclass.storage.k8s.io/", ".volumeattributesclass.storage.k8s.io/", ".deviceclass.resource.k8s.io/"};
constexpr std::string_view kAnyAddress[] = {"", "0.0.0.0", "127.0.0.1", "::", "::1"};

// 0 for digits alone, 1 with lower case, 2 with upper case.
std::size_t AlphabetOf(std::string_view word) {
  std::size_t alphabet = 0;
  for (const char c : word) alphabet = std::max<std::size_t>(alphabet, c <= '9' ? 0 : c >= 'a' ? 1 : 2);
  return alphabet;
}

bool IsPlainWord(std::string_view word) { return std::ranges::binary_search(kPlainWords, word); }

bool IsApiWord(std::string_view word) { return std::ranges::binary_search(kApiWords, word); }

// "v1", "apps/v1", "scheduling.k8s.io/v1".
bool IsApiGroup(std::string_view version) {
  const std::string_view group = version.substr(0, version.find('/'));
  return group.find('.') == std::string_view::npos || group.ends_with(".k8s.io");
}

// Whether Go's ParseInt takes it.
bool IsWholeNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "0.25", "-3", "1500m", "2Gi", "1e3".
bool IsQuantityLike(std::string_view text) {
  const std::size_t end = text.find_first_not_of("+-.0123456789");
  const std::string_view suffix = end == std::string_view::npos ? std::string_view() : text.substr(end);
  constexpr std::string_view kSuffixes[] = {"",  "n",  "u",  "m",  "k",  "M",  "G", "T",
                                            "P", "Ki", "Mi", "Gi", "Ti", "Pi", "%"};
  return end != 0 && !text.empty() && std::ranges::count(kSuffixes, suffix) > 0;
}

// "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00+02:00".
bool IsTimeLike(std::string_view text) {
  return text.size() > 10 && text[10] == 'T' && text.find_first_not_of("0123456789-:.+TZ") == std::string_view::npos;
}

// Whether the text consists of words, separated by spaces or commas, that all belong to the API or to berth.
bool IsAnnotationOfWords(std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!word.empty() && !std::ranges::binary_search(kAnnotationWords, word) && !IsQuantityLike(word) &&
        !IsTimeLike(word))
      return false;
    begin = end + 1;
  }
  return true;
}

// SipHash-2-4 (Aumasson and Bernstein): a pseudo-random function of short texts under a key of 128 bits.
class SipHash {
 public:
  SipHash(std::uint64_t k0, std::uint64_t k1)
      : v0_(k0 ^ 0x736f6d6570736575),
        v1_(k1 ^ 0x646f72616e646f6d),
        v2_(k0 ^ 0x6c7967656e657261),
        v3_(k1 ^ 0x7465646279746573) {}

  std::uint64_t Of(std::string_view bytes) && {
    const std::uint64_t length = bytes.size();
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) Take(Word(bytes, 8));
    Take(Word(bytes, bytes.size()) | length << 56);
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static std::uint64_t Word(std::string_view bytes, std::size_t size) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < size; ++i)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return word;
  }
  void Take(std::uint64_t word) {
    v3_ ^= word;
    Round();
    Round();
    v0_ ^= word;
  }
  void Round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

// --- What becomes of each field --------------------------------------------------------------------------------------

enum class Rule : std::uint8_t {
  kKeep,
  kText,
  kNodeValue,
  kKey,
  kPairs,      // a map of labels
  kNodePairs,  // of labels of nodes
  kResources,  // a map from resources
  kResource,
  kNames,  // a map of which only the keys count
  kAnnotations,
  kFeature,  // that a node declares
  kTime,     // stays if it looks like one
  kAddress,
  kApiWord,     // stays if it is Kubernetes' own
  kApiVersion,  // stays if the group is Kubernetes' own
  kBlank,       // a message for people
  kOpaque,      // what a driver gets
};

struct PathRule {
  std::string_view ending;  // of "KIND.path", at a dot
  Rule rule;
};

// The first that fits counts. No rule for a whole kind of fields but those of the last block: a field that is new
// should be thought about (anonymizer_test.cc).
constexpr PathRule kRules[] = {
    // Metadata.
    {"CSIDriver.metadata.name", Rule::kKeep},
    {"metadata.name", Rule::kText},
    {"metadata.namespace", Rule::kText},
    {"uid", Rule::kText},
    {"resourceVersion", Rule::kKeep},
    {"generation", Rule::kKeep},
    {"creationTimestamp", Rule::kTime},
    {"deletionTimestamp", Rule::kTime},
    {"Node.metadata.labels", Rule::kNodePairs},
    // VolumeZone compares them with labels of nodes.
    {"PersistentVolume.metadata.labels", Rule::kNodePairs},
    {"metadata.labels", Rule::kPairs},
    {"metadata.annotations", Rule::kAnnotations},
    {"metadata.finalizers", Rule::kKey},
    {"ownerReferences.kind", Rule::kApiWord},
    {"ownerReferences.name", Rule::kText},
    {"ownerReferences.apiVersion", Rule::kApiVersion},
    {"ownerReferences.controller", Rule::kKeep},
    // Selectors.
    {"nodeSelectorTerms.matchExpressions.values", Rule::kNodeValue},
    {"preference.matchExpressions.values", Rule::kNodeValue},
    {"nodeTopology.matchExpressions.values", Rule::kNodeValue},
    {"nodeTopology.matchLabels", Rule::kNodePairs},
    {"matchLabelExpressions.values", Rule::kNodeValue},
    {"PersistentVolumeClaim.spec.selector.matchExpressions.values", Rule::kNodeValue},
    {"PersistentVolumeClaim.spec.selector.matchLabels", Rule::kNodePairs},
    {"Pod.spec.nodeSelector", Rule::kNodePairs},
    {"matchExpressions.key", Rule::kKey},
    {"matchExpressions.operator", Rule::kKeep},
    {"matchExpressions.values", Rule::kText},
    {"matchFields.key", Rule::kKeep},
    {"matchFields.operator", Rule::kKeep},
    {"matchFields.values", Rule::kText},
    {"matchLabelExpressions.key", Rule::kKey},
    {"matchLabels", Rule::kPairs},
    {"Service.spec.selector", Rule::kPairs},
    {"ReplicationController.spec.selector", Rule::kPairs},
    // Taints and tolerations, of nodes and of devices.
    {"taints.key", Rule::kKey},
    {"taints.value", Rule::kNodeValue},
    {"taints.effect", Rule::kKeep},
    {"DeviceTaintRule.spec.taint.key", Rule::kKey},
    {"DeviceTaintRule.spec.taint.value", Rule::kNodeValue},
    {"DeviceTaintRule.spec.taint.effect", Rule::kKeep},
    {"tolerations.key", Rule::kKey},
    {"tolerations.operator", Rule::kKeep},
    {"tolerations.value", Rule::kNodeValue},
    {"tolerations.effect", Rule::kKeep},
    {"tolerations.tolerationSeconds", Rule::kKeep},
    // Nodes.
    {"Node.spec.unschedulable", Rule::kKeep},
    {"Node.status.allocatable", Rule::kResources},
    {"Node.status.conditions.type", Rule::kApiWord},
    {"Node.status.conditions.status", Rule::kApiWord},
    {"Node.status.images.names", Rule::kText},
    {"Node.status.images.sizeBytes", Rule::kKeep},
    {"Node.status.declaredFeatures", Rule::kFeature},
    // Pods.
    {"volumes.name", Rule::kText},
    {"volumes.csi.driver", Rule::kKeep},
    {"volumes.image.reference", Rule::kText},
    {"ontainers.name", Rule::kText},
    {"ontainers.image", Rule::kText},
    {"ontainers.ports.hostPort", Rule::kKeep},
    {"ontainers.ports.protocol", Rule::kKeep},
    {"ontainers.ports.hostIP", Rule::kAddress},
    {"ontainers.restartPolicy", Rule::kKeep},
    {"ontainers.restartPolicyRules.action", Rule::kKeep},
    {"capacity.requests", Rule::kKeep},
    {"resources.requests", Rule::kResources},
    {"allocatedResources", Rule::kResources},
    {"spec.overhead", Rule::kResources},
    {"nodeName", Rule::kText},
    {"nominatedNodeName", Rule::kText},
    {"spec.schedulerName", Rule::kKeep},
    {"spec.schedulingGroup.podGroupName", Rule::kText},
    {"spec.hostNetwork", Rule::kKeep},
    {"spec.hostUsers", Rule::kKeep},
    {"spec.priority", Rule::kKeep},
    {"spec.preemptionPolicy", Rule::kKeep},
    {"weight", Rule::kKeep},
    {"topologyKey", Rule::kKey},
    {"namespaces", Rule::kText},
    {"topologySpreadConstraints.maxSkew", Rule::kKeep},
    {"topologySpreadConstraints.whenUnsatisfiable", Rule::kKeep},
    {"topologySpreadConstraints.minDomains", Rule::kKeep},
    {"topologySpreadConstraints.nodeAffinityPolicy", Rule::kKeep},
    {"topologySpreadConstraints.nodeTaintsPolicy", Rule::kKeep},
    {"topologySpreadConstraints.matchLabelKeys", Rule::kKey},
    {"schedulingGates.name", Rule::kText},
    {"resourceClaims.name", Rule::kText},
    {"resourceClaimName", Rule::kText},
    {"resourceClaimTemplateName", Rule::kText},
    {"Pod.status.phase", Rule::kApiWord},
    {"Pod.status.startTime", Rule::kTime},
    {"Pod.status.conditions.type", Rule::kApiWord},
    {"Pod.status.conditions.status", Rule::kApiWord},
    {"Pod.status.conditions.reason", Rule::kApiWord},
    {"Pod.status.conditions.lastTransitionTime", Rule::kTime},
    {"Pod.status.reason", Rule::kApiWord},
    {"Pod.status.qosClass", Rule::kApiWord},
    {"ontainerStatuses.restartCount", Rule::kKeep},
    {"state.waiting.reason", Rule::kApiWord},
    {"state.terminated.reason", Rule::kApiWord},
    {"state.terminated.exitCode", Rule::kKeep},
    {"Pod.spec.priorityClassName", Rule::kText},
    {"volumes.hostPath.path", Rule::kText},
    {"volumes.emptyDir.medium", Rule::kKeep},
    {"conditions.message", Rule::kBlank},
    {"ontainerStatuses.name", Rule::kText},
    {"resourceClaimStatuses.name", Rule::kText},
    {"requestMappings.containerName", Rule::kText},
    {"requestMappings.resourceName", Rule::kResource},
    {"requestMappings.requestName", Rule::kText},
    // Volumes.
    {"readOnly", Rule::kKeep},
    {"gcePersistentDisk.pdName", Rule::kText},
    {"awsElasticBlockStore.volumeID", Rule::kText},
    {"iscsi.iqn", Rule::kText},
    {"persistentVolumeClaim.claimName", Rule::kText},
    {"rbd.monitors", Rule::kText},
    {"rbd.image", Rule::kText},
    {"rbd.pool", Rule::kText},
    {"cinder.volumeID", Rule::kText},
    {"azureFile.secretName", Rule::kText},
    {"azureFile.shareName", Rule::kText},
    {"vsphereVolume.volumePath", Rule::kText},
    {"azureDisk.diskURI", Rule::kText},
    {"azureDisk.kind", Rule::kKeep},
    {"portworxVolume.volumeID", Rule::kText},
    {"local.path", Rule::kText},
    {"csi.driver", Rule::kKeep},
    {"csi.volumeHandle", Rule::kText},
    {"claimRef.namespace", Rule::kText},
    {"claimRef.name", Rule::kText},
    {"accessModes", Rule::kKeep},
    {"storageClassName", Rule::kText},
    {"volumeAttributesClassName", Rule::kText},
    {"volumeMode", Rule::kKeep},
    {"volumeName", Rule::kText},
    {"persistentVolumeName", Rule::kText},
    {"PersistentVolume.spec.capacity", Rule::kKeep},
    {"inlineVolumeSpec.capacity", Rule::kKeep},
    {"PersistentVolume.status.phase", Rule::kApiWord},
    {"PersistentVolumeClaim.status.phase", Rule::kApiWord},
    {"StorageClass.provisioner", Rule::kKeep},
    {"StorageClass.volumeBindingMode", Rule::kKeep},
    {"CSINode.spec.drivers.name", Rule::kKeep},
    {"CSINode.spec.drivers.nodeID", Rule::kText},
    {"CSINode.spec.drivers.topologyKeys", Rule::kKey},
    {"CSINode.spec.drivers.allocatable.count", Rule::kKeep},
    {"CSIDriver.spec.preventPodSchedulingIfMissing", Rule::kKeep},
    {"CSIDriver.spec.storageCapacity", Rule::kKeep},
    {"CSIStorageCapacity.capacity", Rule::kKeep},
    {"CSIStorageCapacity.maximumVolumeSize", Rule::kKeep},
    {"VolumeAttachment.spec.attacher", Rule::kKeep},
    // Workloads.
    {"PodDisruptionBudget.spec.unhealthyPodEvictionPolicy", Rule::kApiWord},
    {"PodDisruptionBudget.status.currentHealthy", Rule::kKeep},
    {"PodDisruptionBudget.status.desiredHealthy", Rule::kKeep},
    {"PodDisruptionBudget.status.disruptedPods", Rule::kNames},
    {"PodDisruptionBudget.status.disruptionsAllowed", Rule::kKeep},
    // Pod groups.
    {"parentCompositePodGroupName", Rule::kText},
    {"gang.minCount", Rule::kKeep},
    {"gang.minGroupCount", Rule::kKeep},
    {"schedulingConstraints.topology.key", Rule::kKey},
    {"PodGroup.status.conditions.type", Rule::kApiWord},
    {"PodGroup.status.conditions.status", Rule::kApiWord},
    {"PodGroup.status.conditions.reason", Rule::kApiWord},
    {"PodGroup.status.conditions.observedGeneration", Rule::kKeep},
    {"CompositePodGroup.status.conditions.type", Rule::kApiWord},
    {"CompositePodGroup.status.conditions.status", Rule::kApiWord},
    {"CompositePodGroup.status.conditions.reason", Rule::kApiWord},
    {"CompositePodGroup.status.conditions.observedGeneration", Rule::kKeep},
    {"workloadRef.workloadName", Rule::kText},
    // What fills pods in.
    {"PriorityClass.value", Rule::kKeep},
    {"PriorityClass.globalDefault", Rule::kKeep},
    {"PriorityClass.preemptionPolicy", Rule::kKeep},
    {"RuntimeClass.overhead.podFixed", Rule::kResources},
    {"RuntimeClass.scheduling.nodeSelector", Rule::kNodePairs},
    {"ResourceQuota.spec.scopes", Rule::kKeep},
    {"scopeSelector.matchExpressions.scopeName", Rule::kKeep},
    {"ResourceQuota.status.hard", Rule::kResources},
    {"ResourceQuota.status.used", Rule::kResources},
    // Devices. Expressions of users read the attributes and the capacity.
    {"driver", Rule::kKeep},
    {"pool.name", Rule::kText},
    {"pool.resourceSliceCount", Rule::kKeep},
    {"results.pool", Rule::kText},
    {"deviceSelector.pool", Rule::kText},
    {"deviceSelector.device", Rule::kText},
    {"devices.pool", Rule::kText},
    {"results.device", Rule::kText},
    {"devices.device", Rule::kText},
    {"devices.name", Rule::kText},
    {"allNodes", Rule::kKeep},
    {"perDeviceNodeSelection", Rule::kKeep},
    {"attributes.int", Rule::kKeep},
    {"attributes.bool", Rule::kKeep},
    {"attributes.string", Rule::kKeep},
    {"attributes.version", Rule::kKeep},
    {"attributes.ints", Rule::kKeep},
    {"attributes.bools", Rule::kKeep},
    {"attributes.strings", Rule::kKeep},
    {"attributes.versions", Rule::kKeep},
    {"capacity.value", Rule::kKeep},
    {"requestPolicy.default", Rule::kKeep},
    {"requestPolicy.validValues", Rule::kKeep},
    {"validRange.min", Rule::kKeep},
    {"validRange.max", Rule::kKeep},
    {"validRange.step", Rule::kKeep},
    {"consumesCounters.counterSet", Rule::kText},
    {"sharedCounters.name", Rule::kText},
    {"counters.value", Rule::kKeep},
    {"bindsToNode", Rule::kKeep},
    {"bindingConditions", Rule::kText},
    {"bindingFailureConditions", Rule::kText},
    {"allowMultipleAllocations", Rule::kKeep},
    {"nodeAllocatableResourceMappings.capacityKey", Rule::kKeep},
    {"nodeAllocatableResourceMappings.allocationMultiplier", Rule::kKeep},
    {"cel.expression", Rule::kKeep},
    {"opaque", Rule::kOpaque},
    {"extendedResourceName", Rule::kResource},
    {"requests.name", Rule::kText},
    {"firstAvailable.name", Rule::kText},
    {"deviceClassName", Rule::kText},
    {"allocationMode", Rule::kKeep},
    {"exactly.count", Rule::kKeep},
    {"firstAvailable.count", Rule::kKeep},
    {"adminAccess", Rule::kKeep},
    {"constraints.requests", Rule::kText},
    {"constraints.matchAttribute", Rule::kKeep},
    {"constraints.distinctAttribute", Rule::kKeep},
    {"config.requests", Rule::kText},
    {"config.source", Rule::kKeep},
    {"results.request", Rule::kText},
    {"shareID", Rule::kText},
    {"consumedCapacity", Rule::kKeep},
    {"allocationTimestamp", Rule::kTime},
    {"reservedFor.apiGroup", Rule::kApiWord},
    {"reservedFor.resource", Rule::kApiWord},
    {"reservedFor.name", Rule::kText},
    {"ResourceClaim.status.devices.conditions.type", Rule::kText},
    {"ResourceClaim.status.devices.conditions.status", Rule::kApiWord},
    {"ResourceClaim.status.devices.conditions.reason", Rule::kBlank},
};

std::optional<Rule> RuleOf(std::string_view kind, std::string_view path) {
  const std::string whole = std::string(kind).append(".").append(path);
  for (const PathRule& rule : kRules) {
    if (!std::string_view(whole).ends_with(rule.ending)) continue;
    const std::size_t begin = whole.size() - rule.ending.size();
    // "ontainers" stands for containers and initContainers.
    if (begin == 0 || whole[begin - 1] == '.' || rule.ending.starts_with("ontainer")) return rule.rule;
  }
  return std::nullopt;
}

using Change = std::function<std::string(std::string_view)>;

void WriteText(const Change& change, const element& value, std::string& out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) {
    out += simdjson::minify(value);
    return;
  }
  api::AppendJsonText(change(text), out);
}

// `change_value` null: the values stay.
void WriteMap(const Change& change_key,
              const std::function<std::string(std::string_view, std::string_view)>& change_value, const element& value,
              std::string& out) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) {
    out += simdjson::minify(value);
    return;
  }
  out += '{';
  bool is_first = true;
  for (const auto member : object) {
    if (!std::exchange(is_first, false)) out += ',';
    api::AppendJsonText(change_key(member.key), out);
    out += ':';
    std::string_view text;
    if (change_value && member.value.get(text) == simdjson::SUCCESS) {
      api::AppendJsonText(change_value(member.key, text), out);
    } else {
      out += simdjson::minify(member.value);
    }
  }
  out += '}';
}

bool IsInDomain(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = key.substr(0, slash);
  return std::ranges::any_of(kKnownDomains, [domain](std::string_view known) {
    return domain.ends_with(known) &&
           (domain.size() == known.size() || domain[domain.size() - known.size() - 1] == '.');
  });
}

}  // namespace

Anonymizer::Anonymizer(AnonymizerKey key) : key_(key) {
  for (std::size_t a = 0; a < alphabets_.size(); ++a) {
    Alphabet& alphabet = alphabets_[a];
    alphabet.characters = kDigits.substr(0, kRadix[a]);
    for (std::size_t i = 0; i < kRadix[a]; ++i) {
      alphabet.digit_of[static_cast<unsigned char>(alphabet.characters[i])] = static_cast<std::uint8_t>(i);
      alphabet.permutation[i] = static_cast<std::uint8_t>(i);
    }
    for (std::size_t i = kRadix[a] - 1; i > 0; --i) {
      const char bytes[] = {'1', static_cast<char>(a), static_cast<char>(i)};
      std::swap(alphabet.permutation[i], alphabet.permutation[Hash({bytes, sizeof bytes}) % (i + 1)]);
    }
  }
}

std::uint64_t Anonymizer::Hash(std::string_view bytes) const { return SipHash(key_.first, key_.second).Of(bytes); }

// Permutes the word in place by a Feistel network: each half in turn is shifted, digit by digit, by a hash of the
// other.
void Anonymizer::Permute(std::uint8_t* digits, std::size_t size, std::size_t alphabet) const {
  const std::size_t radix = kRadix[alphabet];
  if (size == 1) {
    digits[0] = alphabets_[alphabet].permutation[digits[0]];
    return;
  }
  const std::size_t half = size / 2;
  std::string input;
  for (int round = 0; round < kRounds; ++round) {
    const bool is_left = round % 2 == 0;
    std::uint8_t* const shifted = is_left ? digits : digits + half;
    const std::size_t shifted_size = is_left ? half : size - half;
    const std::uint8_t* const other = is_left ? digits + half : digits;
    input.assign({'f', static_cast<char>(alphabet), static_cast<char>(round), '\0'});
    input.append(reinterpret_cast<const char*>(&size), sizeof size);
    input.append(reinterpret_cast<const char*>(other), size - shifted_size);
    std::uint64_t stream = 0;
    for (std::size_t i = 0; i < shifted_size; ++i) {
      // 16 bits a digit, four digits a hash.
      if (i % 4 == 0) {
        input[3] = static_cast<char>(i / 4);
        stream = Hash(input);
      }
      shifted[i] = static_cast<std::uint8_t>((shifted[i] + (stream & 0xffff)) % radix);
      stream >>= 16;
    }
  }
}

std::string Anonymizer::Word(std::string_view word) const {
  if (IsPlainWord(word)) return std::string(word);
  const std::size_t alphabet = AlphabetOf(word);
  std::string digits(word.size(), '\0');
  std::string out(word);
  // Until the word is one that may come out (cycle walking): the permutation of all words of this alphabet is then one
  // of those with a character that only this alphabet has, and of those that are not plain.
  do {
    for (std::size_t i = 0; i < out.size(); ++i)
      digits[i] = static_cast<char>(alphabets_[alphabet].digit_of[static_cast<unsigned char>(out[i])]);
    Permute(reinterpret_cast<std::uint8_t*>(digits.data()), digits.size(), alphabet);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = alphabets_[alphabet].characters[static_cast<std::uint8_t>(digits[i])];
  } while (AlphabetOf(out) != alphabet || IsPlainWord(out));
  return out;
}

std::string Anonymizer::Text(std::string_view text) const {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    if (IsAlphanumeric(text[i])) {
      while (end < text.size() && IsAlphanumeric(text[end])) ++end;
      out += Word(text.substr(i, end - i));
    } else if (static_cast<unsigned char>(text[i]) >= 0x80) {
      // Other letters, which only identifiers of storage have: a hash is as good as a permutation.
      while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
      const std::string run = "u" + std::string(text.substr(i, end - i));
      out += "u" + std::to_string(Hash(run)) + std::to_string(Hash(run + "2"));
    } else {
      out += text[end++];
    }
    i = end;
  }
  return out;
}

std::string Anonymizer::NodeLabelValue(std::string_view text) const {
  return IsWholeNumber(text) ? std::string(text) : Text(text);
}

std::string Anonymizer::Key(std::string_view key) const { return IsInDomain(key) ? std::string(key) : Text(key); }

std::string Anonymizer::Resource(std::string_view name) const {
  // In quotas: "requests." before a resource, and what is counted of a class after the class's name.
  if (name.starts_with(kQuotaPrefix)) return std::string(kQuotaPrefix) + Resource(name.substr(kQuotaPrefix.size()));
  for (const std::string_view of_class : kQuotasOfClasses) {
    const std::size_t end = name.find(of_class);
    if (end != std::string_view::npos) return Text(name.substr(0, end)) + std::string(name.substr(end));
  }
  if (!name.starts_with(kDeviceClassPrefix)) return std::string(name);
  return std::string(kDeviceClassPrefix) + Text(name.substr(kDeviceClassPrefix.size()));
}

std::string Anonymizer::LeftOut(std::string_view line) const {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return "something that could not be read";
  const std::string kind(line.substr(0, colon));
  const std::string_view why = line.substr(colon + 2);
  for (const std::string_view known : {"forbidden", "not served"}) {
    if (why.starts_with(known)) return kind + ": " + std::string(known);
  }
  if (why.ends_with(" more that could not be read")) return std::string(line);
  return kind + ": an object that could not be read";
}

api::PruneOptions::Rewrite Anonymizer::RewriteOf(std::string_view kind, std::string_view path) const {
  const Change text = [this](std::string_view value) { return Text(value); };
  const Change key = [this](std::string_view value) { return Key(value); };
  const Change resource = [this](std::string_view value) { return Resource(value); };
  const auto change = [](Change how) {
    return [how = std::move(how)](const element& value, std::string& out) { WriteText(how, value, out); };
  };
  const auto map = [](Change keys, std::function<std::string(std::string_view, std::string_view)> values) {
    return [keys = std::move(keys), values = std::move(values)](const element& value, std::string& out) {
      WriteMap(keys, values, value, out);
    };
  };
  switch (RuleOf(kind, path).value_or(Rule::kText)) {
    case Rule::kKeep: return {};
    case Rule::kText: break;
    case Rule::kNodeValue: return change([this](std::string_view value) { return NodeLabelValue(value); });
    case Rule::kKey: return change(key);
    case Rule::kPairs: return map(key, [this](std::string_view, std::string_view value) { return Text(value); });
    case Rule::kNodePairs:
      return map(key, [this](std::string_view, std::string_view value) { return NodeLabelValue(value); });
    case Rule::kResources: return map(resource, nullptr);
    case Rule::kResource: return change(resource);
    case Rule::kNames: return map(text, nullptr);
    case Rule::kAnnotations:
      return map(key, [this](std::string_view name, std::string_view value) {
        const bool stays = std::ranges::binary_search(kAnnotationsWithValues, name) && IsAnnotationOfWords(value);
        return stays ? std::string(value) : NodeLabelValue(value);
      });
    case Rule::kAddress:
      return change([this](std::string_view value) {
        return std::ranges::count(kAnyAddress, value) > 0 ? std::string(value) : Text(value);
      });
    case Rule::kApiWord:
      return change([this](std::string_view value) { return IsApiWord(value) ? std::string(value) : Text(value); });
    case Rule::kApiVersion:
      return change([this](std::string_view value) { return IsApiGroup(value) ? std::string(value) : Text(value); });
    case Rule::kFeature:
      return change([](std::string_view value) {
        const auto* const at = std::ranges::lower_bound(kFeatures, value);
        const bool is_known = at != std::end(kFeatures) && *at == value;
        return std::string(is_known ? value : kOtherFeatures[at - std::begin(kFeatures)]);
      });
    case Rule::kTime:
      return change([this](std::string_view value) { return IsTimeLike(value) ? std::string(value) : Text(value); });
    case Rule::kBlank: return change([](std::string_view) { return std::string(); });
    case Rule::kOpaque: return [](const element&, std::string& out) { out += "{}"; };
  }
  return change(text);
}

bool Anonymizer::IsDescribed(std::string_view kind, std::string_view path) { return RuleOf(kind, path).has_value(); }

}  // namespace berth::whatif
