// SPDX-License-Identifier: Apache-2.0
// The fields of the served kinds as Kubernetes 1.36 has them. One type a paragraph:
//
//   Type field:kind field:kind ...
//
// A kind is string, int32, int64, number, bool, bytes, time, microtime, quantity, intorstring, any (anything goes
// below), or another type, with the package's short name before it unless it is this package's own. [] before it makes
// a list,
// {} a map of strings, * says that an empty value differs from an absent one. Marks behind it, in this order: /key, the
// list is merged by this key in strategic merge patches; /*, merged as a set; ~, patches of it carry $retainKeys; !,
// required; #n, the field's number in protobuf; #m.n, its number in a message that is itself field m, and whose fields
// JSON has in place. "@short name" opens a package.
#include "berth/devcluster/objects/schema_tables.h"

#include "berth/devcluster/objects/schema_tables_cluster.h"

namespace berth::objects::internal {

static constexpr std::string_view kApps = R"(
@apps io.k8s.api.apps.v1
ControllerRevision apiVersion:string data:any#2 kind:string metadata:meta.ObjectMeta#1 revision:int64!#3
DaemonSet apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:DaemonSetSpec#2 status:DaemonSetStatus#3
DaemonSetCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2 type:string!#1
DaemonSetSpec minReadySeconds:int32#4 revisionHistoryLimit:*int32#6 selector:meta.LabelSelector!#1
  template:core.PodTemplateSpec!#2 updateStrategy:DaemonSetUpdateStrategy#3
DaemonSetStatus collisionCount:*int32#9 conditions:[]DaemonSetCondition/type#10 currentNumberScheduled:int32!#1
  desiredNumberScheduled:int32!#3 numberAvailable:int32#7 numberMisscheduled:int32!#2 numberReady:int32!#4
  numberUnavailable:int32#8 observedGeneration:int64#5 updatedNumberScheduled:int32#6
DaemonSetUpdateStrategy rollingUpdate:RollingUpdateDaemonSet#2 type:string#1
Deployment apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:DeploymentSpec#2 status:DeploymentStatus#3
DeploymentCondition lastTransitionTime:time#7 lastUpdateTime:time#6 message:string#5 reason:string#4 status:string!#2
  type:string!#1
DeploymentSpec minReadySeconds:int32#5 paused:bool#7 progressDeadlineSeconds:*int32#9 replicas:*int32#1
  revisionHistoryLimit:*int32#6 selector:meta.LabelSelector!#2 strategy:DeploymentStrategy~#4
  template:core.PodTemplateSpec!#3
DeploymentStatus availableReplicas:int32#4 collisionCount:*int32#8 conditions:[]DeploymentCondition/type#6
  observedGeneration:int64#1 readyReplicas:int32#7 replicas:int32#2 terminatingReplicas:*int32#9
  unavailableReplicas:int32#5 updatedReplicas:int32#3
DeploymentStrategy rollingUpdate:RollingUpdateDeployment#2 type:string#1
ReplicaSet apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ReplicaSetSpec#2 status:ReplicaSetStatus#3
ReplicaSetCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2 type:string!#1
ReplicaSetSpec minReadySeconds:int32#4 replicas:*int32#1 selector:meta.LabelSelector!#2
  template:core.PodTemplateSpec#3
ReplicaSetStatus availableReplicas:int32#5 conditions:[]ReplicaSetCondition/type#6 fullyLabeledReplicas:int32#2
  observedGeneration:int64#3 readyReplicas:int32#4 replicas:int32!#1 terminatingReplicas:*int32#7
RollingUpdateDaemonSet maxSurge:intorstring#2 maxUnavailable:intorstring#1
RollingUpdateDeployment maxSurge:intorstring#2 maxUnavailable:intorstring#1
RollingUpdateStatefulSetStrategy maxUnavailable:intorstring#2 partition:*int32#1
StatefulSet apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:StatefulSetSpec#2 status:StatefulSetStatus#3
StatefulSetCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2 type:string!#1
StatefulSetOrdinals start:int32#1
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:string#1 whenScaled:string#2
StatefulSetSpec minReadySeconds:int32#9 ordinals:StatefulSetOrdinals#11
  persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy#10 podManagementPolicy:string#6
  replicas:*int32#1 revisionHistoryLimit:*int32#8 selector:meta.LabelSelector!#2 serviceName:string#5
  template:core.PodTemplateSpec!#3 updateStrategy:StatefulSetUpdateStrategy#7
  volumeClaimTemplates:[]core.PersistentVolumeClaim#4
StatefulSetStatus availableReplicas:int32#11 collisionCount:*int32#9 conditions:[]StatefulSetCondition/type#10
  currentReplicas:int32#4 currentRevision:string#6 observedGeneration:int64#1 readyReplicas:int32#3 replicas:int32!#2
  updateRevision:string#7 updatedReplicas:int32#5
StatefulSetUpdateStrategy rollingUpdate:RollingUpdateStatefulSetStrategy#2 type:string#1
)";

static constexpr std::string_view kAutoscaling = R"(
@autoscaling io.k8s.api.autoscaling.v1
CrossVersionObjectReference apiVersion:string#3 kind:string!#1 name:string!#2
HorizontalPodAutoscaler apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:HorizontalPodAutoscalerSpec!#2
  status:HorizontalPodAutoscalerStatus#3
HorizontalPodAutoscalerSpec maxReplicas:int32!#3 minReplicas:*int32#2 scaleTargetRef:CrossVersionObjectReference!#1
  targetCPUUtilizationPercentage:*int32#4
HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage:*int32#5 currentReplicas:int32!#3
  desiredReplicas:int32!#4 lastScaleTime:time#2 observedGeneration:*int64#1
Scale apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ScaleSpec#2 status:ScaleStatus#3
ScaleSpec replicas:int32#1
ScaleStatus replicas:int32!#1 selector:string#2
)";

static constexpr std::string_view kCoordination = R"(
@coordination io.k8s.api.coordination.v1
Lease apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:LeaseSpec#2
LeaseSpec acquireTime:microtime#3 holderIdentity:*string#1 leaseDurationSeconds:*int32#2 leaseTransitions:*int32#5
  preferredHolder:*string#7 renewTime:microtime#4 strategy:*string#6
)";

static constexpr std::string_view kCore = R"(
@core io.k8s.api.core.v1
AWSElasticBlockStoreVolumeSource fsType:string#2 partition:int32#3 readOnly:bool#4 volumeID:string!#1
Affinity nodeAffinity:NodeAffinity#1 podAffinity:PodAffinity#2 podAntiAffinity:PodAntiAffinity#3
AppArmorProfile localhostProfile:*string#2 type:string!#1
AttachedVolume devicePath:string!#2 name:string!#1
AzureDiskVolumeSource cachingMode:*string#3 diskName:string!#1 diskURI:string!#2 fsType:*string#4 kind:*string#6
  readOnly:*bool#5
AzureFilePersistentVolumeSource readOnly:bool#3 secretName:string!#1 secretNamespace:*string#4 shareName:string!#2
AzureFileVolumeSource readOnly:bool#3 secretName:string!#1 shareName:string!#2
Binding apiVersion:string kind:string metadata:meta.ObjectMeta#1 target:ObjectReference!#2
CSIPersistentVolumeSource controllerExpandSecretRef:SecretReference#9 controllerPublishSecretRef:SecretReference#6
  driver:string!#1 fsType:string#4 nodeExpandSecretRef:SecretReference#10 nodePublishSecretRef:SecretReference#8
  nodeStageSecretRef:SecretReference#7 readOnly:bool#3 volumeAttributes:{}string#5 volumeHandle:string!#2
CSIVolumeSource driver:string!#1 fsType:*string#3 nodePublishSecretRef:LocalObjectReference#5 readOnly:*bool#2
  volumeAttributes:{}string#4
Capabilities add:[]string#1 drop:[]string#2
CephFSPersistentVolumeSource monitors:[]string!#1 path:string#2 readOnly:bool#6 secretFile:string#4
  secretRef:SecretReference#5 user:string#3
CephFSVolumeSource monitors:[]string!#1 path:string#2 readOnly:bool#6 secretFile:string#4
  secretRef:LocalObjectReference#5 user:string#3
CinderPersistentVolumeSource fsType:string#2 readOnly:bool#3 secretRef:SecretReference#4 volumeID:string!#1
CinderVolumeSource fsType:string#2 readOnly:bool#3 secretRef:LocalObjectReference#4 volumeID:string!#1
ClientIPConfig timeoutSeconds:*int32#1
ClusterTrustBundleProjection labelSelector:meta.LabelSelector#3 name:*string#1 optional:*bool#5 path:string!#4
  signerName:*string#2
ConfigMap apiVersion:string binaryData:{}bytes#3 data:{}string#2 immutable:*bool#4 kind:string
  metadata:meta.ObjectMeta#1
ConfigMapEnvSource name:string#1.1 optional:*bool#2
ConfigMapKeySelector key:string!#2 name:string#1.1 optional:*bool#3
ConfigMapNodeConfigSource kubeletConfigKey:string!#5 name:string!#2 namespace:string!#1 resourceVersion:string#4
  uid:string#3
ConfigMapProjection items:[]KeyToPath#2 name:string#1.1 optional:*bool#4
ConfigMapVolumeSource defaultMode:*int32#3 items:[]KeyToPath#2 name:string#1.1 optional:*bool#4
Container args:[]string#4 command:[]string#3 env:[]EnvVar/name#7 envFrom:[]EnvFromSource#19 image:string#2
  imagePullPolicy:string#14 lifecycle:Lifecycle#12 livenessProbe:Probe#10 name:string!#1
  ports:[]ContainerPort/containerPort#6 readinessProbe:Probe#11 resizePolicy:[]ContainerResizePolicy#23
  resources:ResourceRequirements#8 restartPolicy:*string#24 restartPolicyRules:[]ContainerRestartRule#25
  securityContext:SecurityContext#15 startupProbe:Probe#22 stdin:bool#16 stdinOnce:bool#17
  terminationMessagePath:string#13 terminationMessagePolicy:string#20 tty:bool#18
  volumeDevices:[]VolumeDevice/devicePath#21 volumeMounts:[]VolumeMount/mountPath#9 workingDir:string#5
ContainerExtendedResourceRequest containerName:string!#1 requestName:string!#3 resourceName:string!#2
ContainerImage names:[]string#1 sizeBytes:int64#2
ContainerPort containerPort:int32!#3 hostIP:string#5 hostPort:int32#2 name:string#1 protocol:string#4
ContainerResizePolicy resourceName:string!#1 restartPolicy:string!#2
ContainerRestartRule action:string!#1 exitCodes:ContainerRestartRuleOnExitCodes#2
ContainerRestartRuleOnExitCodes operator:string!#1 values:[]int32#2
ContainerState running:ContainerStateRunning#2 terminated:ContainerStateTerminated#3 waiting:ContainerStateWaiting#1
ContainerStateRunning startedAt:time#1
ContainerStateTerminated containerID:string#7 exitCode:int32!#1 finishedAt:time#6 message:string#4 reason:string#3
  signal:int32#2 startedAt:time#5
ContainerStateWaiting message:string#2 reason:string#1
ContainerStatus allocatedResources:{}quantity#10 allocatedResourcesStatus:[]ResourceStatus/name#14
  containerID:string#8 image:string!#6 imageID:string!#7 lastState:ContainerState#3 name:string!#1 ready:bool!#4
  resources:ResourceRequirements#11 restartCount:int32!#5 started:*bool#9 state:ContainerState#2 stopSignal:*string#15
  user:ContainerUser#13 volumeMounts:[]VolumeMountStatus/mountPath#12
ContainerUser linux:LinuxContainerUser#1
DaemonEndpoint Port:int32!#1
DownwardAPIProjection items:[]DownwardAPIVolumeFile#1
DownwardAPIVolumeFile fieldRef:ObjectFieldSelector#2 mode:*int32#4 path:string!#1
  resourceFieldRef:ResourceFieldSelector#3
DownwardAPIVolumeSource defaultMode:*int32#2 items:[]DownwardAPIVolumeFile#1
EmptyDirVolumeSource medium:string#1 sizeLimit:quantity#2
EndpointAddress hostname:string#3 ip:string!#1 nodeName:*string#4 targetRef:ObjectReference#2
EndpointPort appProtocol:*string#4 name:string#1 port:int32!#2 protocol:string#3
EndpointSubset addresses:[]EndpointAddress#1 notReadyAddresses:[]EndpointAddress#2 ports:[]EndpointPort#3
Endpoints apiVersion:string kind:string metadata:meta.ObjectMeta#1 subsets:[]EndpointSubset#2
EnvFromSource configMapRef:ConfigMapEnvSource#2 prefix:string#1 secretRef:SecretEnvSource#3
EnvVar name:string!#1 value:string#2 valueFrom:EnvVarSource#3
EnvVarSource configMapKeyRef:ConfigMapKeySelector#3 fieldRef:ObjectFieldSelector#1 fileKeyRef:FileKeySelector#5
  resourceFieldRef:ResourceFieldSelector#2 secretKeyRef:SecretKeySelector#4
EphemeralContainer args:[]string#1.4 command:[]string#1.3 env:[]EnvVar/name#1.7 envFrom:[]EnvFromSource#1.19
  image:string#1.2 imagePullPolicy:string#1.14 lifecycle:Lifecycle#1.12 livenessProbe:Probe#1.10 name:string!#1.1
  ports:[]ContainerPort/containerPort#1.6 readinessProbe:Probe#1.11 resizePolicy:[]ContainerResizePolicy#1.23
  resources:ResourceRequirements#1.8 restartPolicy:*string#1.24 restartPolicyRules:[]ContainerRestartRule#1.25
  securityContext:SecurityContext#1.15 startupProbe:Probe#1.22 stdin:bool#1.16 stdinOnce:bool#1.17
  targetContainerName:string#2 terminationMessagePath:string#1.13 terminationMessagePolicy:string#1.20 tty:bool#1.18
  volumeDevices:[]VolumeDevice/devicePath#1.21 volumeMounts:[]VolumeMount/mountPath#1.9 workingDir:string#1.5
EphemeralVolumeSource volumeClaimTemplate:PersistentVolumeClaimTemplate#1
Event action:string#12 apiVersion:string count:int32#8 eventTime:microtime#10 firstTimestamp:time#6
  involvedObject:ObjectReference!#2 kind:string lastTimestamp:time#7 message:string#4 metadata:meta.ObjectMeta!#1
  reason:string#3 related:ObjectReference#13 reportingComponent:string#14 reportingInstance:string#15
  series:EventSeries#11 source:EventSource#5 type:string#9
EventSeries count:int32#1 lastObservedTime:microtime#2
EventSource component:string#1 host:string#2
ExecAction command:[]string#1
FCVolumeSource fsType:string#3 lun:*int32#2 readOnly:bool#4 targetWWNs:[]string#1 wwids:[]string#5
FileKeySelector key:string!#3 optional:*bool#4 path:string!#2 volumeName:string!#1
FlexPersistentVolumeSource driver:string!#1 fsType:string#2 options:{}string#5 readOnly:bool#4
  secretRef:SecretReference#3
FlexVolumeSource driver:string!#1 fsType:string#2 options:{}string#5 readOnly:bool#4 secretRef:LocalObjectReference#3
FlockerVolumeSource datasetName:string#1 datasetUUID:string#2
GCEPersistentDiskVolumeSource fsType:string#2 partition:int32#3 pdName:string!#1 readOnly:bool#4
GRPCAction port:int32!#1 service:*string#2
GitRepoVolumeSource directory:string#3 repository:string!#1 revision:string#2
GlusterfsPersistentVolumeSource endpoints:string!#1 endpointsNamespace:*string#4 path:string!#2 readOnly:bool#3
GlusterfsVolumeSource endpoints:string!#1 path:string!#2 readOnly:bool#3
HTTPGetAction host:string#3 httpHeaders:[]HTTPHeader#5 path:string#1 port:intorstring!#2 scheme:string#4
HTTPHeader name:string!#1 value:string!#2
HostAlias hostnames:[]string#2 ip:string!#1
HostIP ip:string!#1
HostPathVolumeSource path:string!#1 type:*string#2
ISCSIPersistentVolumeSource chapAuthDiscovery:bool#8 chapAuthSession:bool#11 fsType:string#5 initiatorName:*string#12
  iqn:string!#2 iscsiInterface:string#4 lun:int32!#3 portals:[]string#7 readOnly:bool#6 secretRef:SecretReference#10
  targetPortal:string!#1
ISCSIVolumeSource chapAuthDiscovery:bool#8 chapAuthSession:bool#11 fsType:string#5 initiatorName:*string#12
  iqn:string!#2 iscsiInterface:string#4 lun:int32!#3 portals:[]string#7 readOnly:bool#6
  secretRef:LocalObjectReference#10 targetPortal:string!#1
ImageVolumeSource pullPolicy:string#2 reference:string#1
ImageVolumeStatus imageRef:string!#1
KeyToPath key:string!#1 mode:*int32#3 path:string!#2
Lifecycle postStart:LifecycleHandler#1 preStop:LifecycleHandler#2 stopSignal:*string#3
LifecycleHandler exec:ExecAction#1 httpGet:HTTPGetAction#2 sleep:SleepAction#4 tcpSocket:TCPSocketAction#3
LimitRange apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:LimitRangeSpec#2
LimitRangeItem default:{}quantity#4 defaultRequest:{}quantity#5 max:{}quantity#2 maxLimitRequestRatio:{}quantity#6
  min:{}quantity#3 type:string!#1
LimitRangeSpec limits:[]LimitRangeItem!#1
LinuxContainerUser gid:int64!#2 supplementalGroups:[]int64#3 uid:int64!#1
LoadBalancerIngress hostname:string#2 ip:string#1 ipMode:*string#3 ports:[]PortStatus#4
LoadBalancerStatus ingress:[]LoadBalancerIngress#1
LocalObjectReference name:string#1
LocalVolumeSource fsType:*string#2 path:string!#1
ModifyVolumeStatus status:string!#2 targetVolumeAttributesClassName:string#1
NFSVolumeSource path:string!#2 readOnly:bool#3 server:string!#1
Namespace apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:NamespaceSpec#2 status:NamespaceStatus#3
NamespaceCondition lastTransitionTime:time#4 message:string#6 reason:string#5 status:string!#2 type:string!#1
NamespaceSpec finalizers:[]string#1
NamespaceStatus conditions:[]NamespaceCondition/type#2 phase:string#1
Node apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:NodeSpec#2 status:NodeStatus#3
NodeAddress address:string!#2 type:string!#1
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm#2
  requiredDuringSchedulingIgnoredDuringExecution:NodeSelector#1
NodeAllocatableResourceClaimStatus containers:[]string#2 resourceClaimName:string!#1 resources:{}quantity!#3
NodeCondition lastHeartbeatTime:time#3 lastTransitionTime:time#4 message:string#6 reason:string#5 status:string!#2
  type:string!#1
NodeConfigSource configMap:ConfigMapNodeConfigSource#2
NodeConfigStatus active:NodeConfigSource#2 assigned:NodeConfigSource#1 error:string#4 lastKnownGood:NodeConfigSource#3
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint#1
NodeFeatures supplementalGroupsPolicy:*bool#1
NodeRuntimeHandler features:NodeRuntimeHandlerFeatures#2 name:string#1
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:*bool#1 userNamespaces:*bool#2
NodeSelector nodeSelectorTerms:[]NodeSelectorTerm!#1
NodeSelectorRequirement key:string!#1 operator:string!#2 values:[]string#3
NodeSelectorTerm matchExpressions:[]NodeSelectorRequirement#1 matchFields:[]NodeSelectorRequirement#2
NodeSpec configSource:NodeConfigSource#6 externalID:string#2 podCIDR:string#1 podCIDRs:[]string/*#7
  providerID:string#3 taints:[]Taint#5 unschedulable:bool#4
NodeStatus addresses:[]NodeAddress/type#5 allocatable:{}quantity#2 capacity:{}quantity#1
  conditions:[]NodeCondition/type#4 config:NodeConfigStatus#11 daemonEndpoints:NodeDaemonEndpoints#6
  declaredFeatures:[]string#14 features:NodeFeatures#13 images:[]ContainerImage#8 nodeInfo:NodeSystemInfo#7
  phase:string#3 runtimeHandlers:[]NodeRuntimeHandler#12 volumesAttached:[]AttachedVolume#10 volumesInUse:[]string#9
NodeSwapStatus capacity:*int64#1
NodeSystemInfo architecture:string!#10 bootID:string!#3 containerRuntimeVersion:string!#6 kernelVersion:string!#4
  kubeProxyVersion:string!#8 kubeletVersion:string!#7 machineID:string!#1 operatingSystem:string!#9 osImage:string!#5
  swap:NodeSwapStatus#11 systemUUID:string!#2
ObjectFieldSelector apiVersion:string#1 fieldPath:string!#2
ObjectReference apiVersion:string#5 fieldPath:string#7 kind:string#1 name:string#3 namespace:string#2
  resourceVersion:string#6 uid:string#4
PersistentVolume apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:PersistentVolumeSpec#2
  status:PersistentVolumeStatus#3
PersistentVolumeClaim apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:PersistentVolumeClaimSpec#2
  status:PersistentVolumeClaimStatus#3
PersistentVolumeClaimCondition lastProbeTime:time#3 lastTransitionTime:time#4 message:string#6 reason:string#5
  status:string!#2 type:string!#1
PersistentVolumeClaimSpec accessModes:[]string#1 dataSource:TypedLocalObjectReference#7
  dataSourceRef:TypedObjectReference#8 resources:VolumeResourceRequirements#2 selector:meta.LabelSelector#4
  storageClassName:*string#5 volumeAttributesClassName:*string#9 volumeMode:*string#6 volumeName:string#3
PersistentVolumeClaimStatus accessModes:[]string#2 allocatedResourceStatuses:{}string#7
  allocatedResources:{}quantity#5 capacity:{}quantity#3 conditions:[]PersistentVolumeClaimCondition/type#4
  currentVolumeAttributesClassName:*string#8 modifyVolumeStatus:ModifyVolumeStatus#9 phase:string#1
PersistentVolumeClaimTemplate metadata:meta.ObjectMeta#1 spec:PersistentVolumeClaimSpec!#2
PersistentVolumeClaimVolumeSource claimName:string!#1 readOnly:bool#2
PersistentVolumeSpec accessModes:[]string#3 awsElasticBlockStore:AWSElasticBlockStoreVolumeSource#2.2
  azureDisk:AzureDiskVolumeSource#2.16 azureFile:AzureFilePersistentVolumeSource#2.13 capacity:{}quantity#1
  cephfs:CephFSPersistentVolumeSource#2.9 cinder:CinderPersistentVolumeSource#2.8 claimRef:ObjectReference#4
  csi:CSIPersistentVolumeSource#2.22 fc:FCVolumeSource#2.10 flexVolume:FlexPersistentVolumeSource#2.12
  flocker:FlockerVolumeSource#2.11 gcePersistentDisk:GCEPersistentDiskVolumeSource#2.1
  glusterfs:GlusterfsPersistentVolumeSource#2.4 hostPath:HostPathVolumeSource#2.3
  iscsi:ISCSIPersistentVolumeSource#2.7 local:LocalVolumeSource#2.20 mountOptions:[]string#7 nfs:NFSVolumeSource#2.5
  nodeAffinity:VolumeNodeAffinity#9 persistentVolumeReclaimPolicy:string#5
  photonPersistentDisk:PhotonPersistentDiskVolumeSource#2.17 portworxVolume:PortworxVolumeSource#2.18
  quobyte:QuobyteVolumeSource#2.15 rbd:RBDPersistentVolumeSource#2.6 scaleIO:ScaleIOPersistentVolumeSource#2.19
  storageClassName:string#6 storageos:StorageOSPersistentVolumeSource#2.21 volumeAttributesClassName:*string#10
  volumeMode:*string#8 vsphereVolume:VsphereVirtualDiskVolumeSource#2.14
PersistentVolumeStatus lastPhaseTransitionTime:time#4 message:string#2 phase:string#1 reason:string#3
PhotonPersistentDiskVolumeSource fsType:string#2 pdID:string!#1
Pod apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:PodSpec#2 status:PodStatus#3
PodAffinity preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm#2
  requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm#1
PodAffinityTerm labelSelector:meta.LabelSelector#1 matchLabelKeys:[]string#5 mismatchLabelKeys:[]string#6
  namespaceSelector:meta.LabelSelector#4 namespaces:[]string#2 topologyKey:string!#3
PodAntiAffinity preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm#2
  requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm#1
PodCertificateProjection certificateChainPath:string#6 credentialBundlePath:string#4 keyPath:string#5
  keyType:string!#2 maxExpirationSeconds:*int32#3 signerName:string!#1 userAnnotations:{}string#7
PodCondition lastProbeTime:time#3 lastTransitionTime:time#4 message:string#6 observedGeneration:int64#7
  reason:string#5 status:string!#2 type:string!#1
PodDNSConfig nameservers:[]string#1 options:[]PodDNSConfigOption#3 searches:[]string#2
PodDNSConfigOption name:string#1 value:*string#2
PodExtendedResourceClaimStatus requestMappings:[]ContainerExtendedResourceRequest!#1 resourceClaimName:string!#2
PodIP ip:string!#1
PodOS name:string!#1
PodReadinessGate conditionType:string!#1
PodResourceClaim name:string!#1 resourceClaimName:*string#3 resourceClaimTemplateName:*string#4
PodResourceClaimStatus name:string!#1 resourceClaimName:*string#2
PodSchedulingGate name:string!#1
PodSchedulingGroup podGroupName:*string#1
PodSecurityContext appArmorProfile:AppArmorProfile#11 fsGroup:*int64#5 fsGroupChangePolicy:*string#9
  runAsGroup:*int64#6 runAsNonRoot:*bool#3 runAsUser:*int64#2 seLinuxChangePolicy:*string#13
  seLinuxOptions:SELinuxOptions#1 seccompProfile:SeccompProfile#10 supplementalGroups:[]int64#4
  supplementalGroupsPolicy:*string#12 sysctls:[]Sysctl#7 windowsOptions:WindowsSecurityContextOptions#8
PodSpec activeDeadlineSeconds:*int64#5 affinity:Affinity#18 automountServiceAccountToken:*bool#21
  containers:[]Container/name!#2 dnsConfig:PodDNSConfig#26 dnsPolicy:string#6 enableServiceLinks:*bool#30
  ephemeralContainers:[]EphemeralContainer/name#34 hostAliases:[]HostAlias/ip#23 hostIPC:bool#13 hostNetwork:bool#11
  hostPID:bool#12 hostUsers:*bool#37 hostname:string#16 hostnameOverride:*string#41
  imagePullSecrets:[]LocalObjectReference/name#15 initContainers:[]Container/name#20 nodeName:string#10
  nodeSelector:{}string#7 os:PodOS#36 overhead:{}quantity#32 preemptionPolicy:*string#31 priority:*int32#25
  priorityClassName:string#24 readinessGates:[]PodReadinessGate#28 resourceClaims:[]PodResourceClaim/name~#39
  resources:ResourceRequirements#40 restartPolicy:string#3 runtimeClassName:*string#29 schedulerName:string#19
  schedulingGates:[]PodSchedulingGate/name#38 schedulingGroup:PodSchedulingGroup#43
  securityContext:PodSecurityContext#14 serviceAccount:string#9 serviceAccountName:string#8 setHostnameAsFQDN:*bool#35
  shareProcessNamespace:*bool#27 subdomain:string#17 terminationGracePeriodSeconds:*int64#4
  tolerations:[]Toleration#22 topologySpreadConstraints:[]TopologySpreadConstraint/topologyKey#33
  volumes:[]Volume/name~#1
PodStatus allocatedResources:{}quantity#19 conditions:[]PodCondition/type#2 containerStatuses:[]ContainerStatus#8
  ephemeralContainerStatuses:[]ContainerStatus#13 extendedResourceClaimStatus:PodExtendedResourceClaimStatus#18
  hostIP:string#5 hostIPs:[]HostIP/ip#16 initContainerStatuses:[]ContainerStatus#10 message:string#3
  nodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus#21 nominatedNodeName:string#11
  observedGeneration:int64#17 phase:string#1 podIP:string#6 podIPs:[]PodIP/ip#12 qosClass:string#9 reason:string#4
  resize:string#14 resourceClaimStatuses:[]PodResourceClaimStatus/name~#15 resources:ResourceRequirements#20
  startTime:time#7
PodTemplate apiVersion:string kind:string metadata:meta.ObjectMeta#1 template:PodTemplateSpec#2
PodTemplateSpec metadata:meta.ObjectMeta#1 spec:PodSpec#2
PortStatus error:*string#3 port:int32!#1 protocol:string!#2
PortworxVolumeSource fsType:string#2 readOnly:bool#3 volumeID:string!#1
PreferredSchedulingTerm preference:NodeSelectorTerm!#2 weight:int32!#1
Probe exec:ExecAction#1.1 failureThreshold:int32#6 grpc:GRPCAction#1.4 httpGet:HTTPGetAction#1.2
  initialDelaySeconds:int32#2 periodSeconds:int32#4 successThreshold:int32#5 tcpSocket:TCPSocketAction#1.3
  terminationGracePeriodSeconds:*int64#7 timeoutSeconds:int32#3
ProjectedVolumeSource defaultMode:*int32#2 sources:[]VolumeProjection#1
QuobyteVolumeSource group:string#5 readOnly:bool#3 registry:string!#1 tenant:string#6 user:string#4 volume:string!#2
RBDPersistentVolumeSource fsType:string#3 image:string!#2 keyring:string#6 monitors:[]string!#1 pool:string#4
  readOnly:bool#8 secretRef:SecretReference#7 user:string#5
RBDVolumeSource fsType:string#3 image:string!#2 keyring:string#6 monitors:[]string!#1 pool:string#4 readOnly:bool#8
  secretRef:LocalObjectReference#7 user:string#5
ReplicationController apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ReplicationControllerSpec#2
  status:ReplicationControllerStatus#3
ReplicationControllerCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2
  type:string!#1
ReplicationControllerSpec minReadySeconds:int32#4 replicas:*int32#1 selector:{}string#2 template:PodTemplateSpec#3
ReplicationControllerStatus availableReplicas:int32#5 conditions:[]ReplicationControllerCondition/type#6
  fullyLabeledReplicas:int32#2 observedGeneration:int64#3 readyReplicas:int32#4 replicas:int32!#1
ResourceClaim name:string!#1 request:string#2
ResourceFieldSelector containerName:string#1 divisor:quantity#3 resource:string!#2
ResourceHealth health:string#2 message:*string#6 resourceID:string!#1
ResourceQuota apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ResourceQuotaSpec#2
  status:ResourceQuotaStatus#3
ResourceQuotaSpec hard:{}quantity#1 scopeSelector:ScopeSelector#3 scopes:[]string#2
ResourceQuotaStatus hard:{}quantity#1 used:{}quantity#2
ResourceRequirements claims:[]ResourceClaim#3 limits:{}quantity#1 requests:{}quantity#2
ResourceStatus name:string!#1 resources:[]ResourceHealth#2
SELinuxOptions level:string#4 role:string#2 type:string#3 user:string#1
ScaleIOPersistentVolumeSource fsType:string#9 gateway:string!#1 protectionDomain:string#5 readOnly:bool#10
  secretRef:SecretReference!#3 sslEnabled:bool#4 storageMode:string#7 storagePool:string#6 system:string!#2
  volumeName:string#8
ScaleIOVolumeSource fsType:string#9 gateway:string!#1 protectionDomain:string#5 readOnly:bool#10
  secretRef:LocalObjectReference!#3 sslEnabled:bool#4 storageMode:string#7 storagePool:string#6 system:string!#2
  volumeName:string#8
ScopeSelector matchExpressions:[]ScopedResourceSelectorRequirement#1
ScopedResourceSelectorRequirement operator:string!#2 scopeName:string!#1 values:[]string#3
SeccompProfile localhostProfile:*string#2 type:string!#1
Secret apiVersion:string data:{}bytes#2 immutable:*bool#5 kind:string metadata:meta.ObjectMeta#1 stringData:{}string#4
  type:string#3
SecretEnvSource name:string#1.1 optional:*bool#2
SecretKeySelector key:string!#2 name:string#1.1 optional:*bool#3
SecretProjection items:[]KeyToPath#2 name:string#1.1 optional:*bool#4
SecretReference name:string#1 namespace:string#2
SecretVolumeSource defaultMode:*int32#3 items:[]KeyToPath#2 optional:*bool#4 secretName:string#1
SecurityContext allowPrivilegeEscalation:*bool#7 appArmorProfile:AppArmorProfile#12 capabilities:Capabilities#1
  privileged:*bool#2 procMount:*string#9 readOnlyRootFilesystem:*bool#6 runAsGroup:*int64#8 runAsNonRoot:*bool#5
  runAsUser:*int64#4 seLinuxOptions:SELinuxOptions#3 seccompProfile:SeccompProfile#11
  windowsOptions:WindowsSecurityContextOptions#10
Service apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ServiceSpec#2 status:ServiceStatus#3
ServiceAccount apiVersion:string automountServiceAccountToken:*bool#4 imagePullSecrets:[]LocalObjectReference#3
  kind:string metadata:meta.ObjectMeta#1 secrets:[]ObjectReference/name#2
ServiceAccountTokenProjection audience:string#1 expirationSeconds:*int64#2 path:string!#3
ServicePort appProtocol:*string#6 name:string#1 nodePort:int32#5 port:int32!#3 protocol:string#2
  targetPort:intorstring#4
ServiceSpec allocateLoadBalancerNodePorts:*bool#20 clusterIP:string#3 clusterIPs:[]string#18 externalIPs:[]string#5
  externalName:string#10 externalTrafficPolicy:string#11 healthCheckNodePort:int32#12 internalTrafficPolicy:*string#22
  ipFamilies:[]string#19 ipFamilyPolicy:*string#17 loadBalancerClass:*string#21 loadBalancerIP:string#8
  loadBalancerSourceRanges:[]string#9 ports:[]ServicePort/port#1 publishNotReadyAddresses:bool#13 selector:{}string#2
  sessionAffinity:string#7 sessionAffinityConfig:SessionAffinityConfig#14 trafficDistribution:*string#23 type:string#4
ServiceStatus conditions:[]meta.Condition/type#2 loadBalancer:LoadBalancerStatus#1
SessionAffinityConfig clientIP:ClientIPConfig#1
SleepAction seconds:int64!#1
StorageOSPersistentVolumeSource fsType:string#3 readOnly:bool#4 secretRef:ObjectReference#5 volumeName:string#1
  volumeNamespace:string#2
StorageOSVolumeSource fsType:string#3 readOnly:bool#4 secretRef:LocalObjectReference#5 volumeName:string#1
  volumeNamespace:string#2
Sysctl name:string!#1 value:string!#2
TCPSocketAction host:string#2 port:intorstring!#1
Taint effect:string!#3 key:string!#1 timeAdded:time#4 value:string#2
Toleration effect:string#4 key:string#1 operator:string#2 tolerationSeconds:*int64#5 value:string#3
TopologySelectorLabelRequirement key:string!#1 values:[]string!#2
TopologySelectorTerm matchLabelExpressions:[]TopologySelectorLabelRequirement#1
TopologySpreadConstraint labelSelector:meta.LabelSelector#4 matchLabelKeys:[]string#8 maxSkew:int32!#1
  minDomains:*int32#5 nodeAffinityPolicy:*string#6 nodeTaintsPolicy:*string#7 topologyKey:string!#2
  whenUnsatisfiable:string!#3
TypedLocalObjectReference apiGroup:*string#1 kind:string!#2 name:string!#3
TypedObjectReference apiGroup:*string#1 kind:string!#2 name:string!#3 namespace:*string#4
Volume awsElasticBlockStore:AWSElasticBlockStoreVolumeSource#2.4 azureDisk:AzureDiskVolumeSource#2.22
  azureFile:AzureFileVolumeSource#2.18 cephfs:CephFSVolumeSource#2.14 cinder:CinderVolumeSource#2.13
  configMap:ConfigMapVolumeSource#2.19 csi:CSIVolumeSource#2.28 downwardAPI:DownwardAPIVolumeSource#2.16
  emptyDir:EmptyDirVolumeSource#2.2 ephemeral:EphemeralVolumeSource#2.29 fc:FCVolumeSource#2.17
  flexVolume:FlexVolumeSource#2.12 flocker:FlockerVolumeSource#2.15
  gcePersistentDisk:GCEPersistentDiskVolumeSource#2.3 gitRepo:GitRepoVolumeSource#2.5
  glusterfs:GlusterfsVolumeSource#2.9 hostPath:HostPathVolumeSource#2.1 image:ImageVolumeSource#2.30
  iscsi:ISCSIVolumeSource#2.8 name:string!#1 nfs:NFSVolumeSource#2.7
  persistentVolumeClaim:PersistentVolumeClaimVolumeSource#2.10
  photonPersistentDisk:PhotonPersistentDiskVolumeSource#2.23 portworxVolume:PortworxVolumeSource#2.24
  projected:ProjectedVolumeSource#2.26 quobyte:QuobyteVolumeSource#2.21 rbd:RBDVolumeSource#2.11
  scaleIO:ScaleIOVolumeSource#2.25 secret:SecretVolumeSource#2.6 storageos:StorageOSVolumeSource#2.27
  vsphereVolume:VsphereVirtualDiskVolumeSource#2.20
VolumeDevice devicePath:string!#2 name:string!#1
VolumeMount mountPath:string!#3 mountPropagation:*string#5 name:string!#1 readOnly:bool#2 recursiveReadOnly:*string#7
  subPath:string#4 subPathExpr:string#6
VolumeMountStatus mountPath:string!#2 name:string!#1 readOnly:bool#3 recursiveReadOnly:*string#4
  volumeStatus:VolumeStatus#5
VolumeNodeAffinity required:NodeSelector#1
VolumeProjection clusterTrustBundle:ClusterTrustBundleProjection#5 configMap:ConfigMapProjection#3
  downwardAPI:DownwardAPIProjection#2 podCertificate:PodCertificateProjection#6 secret:SecretProjection#1
  serviceAccountToken:ServiceAccountTokenProjection#4
VolumeResourceRequirements limits:{}quantity#1 requests:{}quantity#2
VolumeStatus image:ImageVolumeStatus#1
VsphereVirtualDiskVolumeSource fsType:string#2 storagePolicyID:string#4 storagePolicyName:string#3
  volumePath:string!#1
WeightedPodAffinityTerm podAffinityTerm:PodAffinityTerm!#2 weight:int32!#1
WindowsSecurityContextOptions gmsaCredentialSpec:*string#2 gmsaCredentialSpecName:*string#1 hostProcess:*bool#4
  runAsUserName:*string#3
)";

static constexpr std::string_view kEvents = R"(
@events io.k8s.api.events.v1
Event action:string#6 apiVersion:string deprecatedCount:int32#15 deprecatedFirstTimestamp:time#13
  deprecatedLastTimestamp:time#14 deprecatedSource:core.EventSource#12 eventTime:microtime!#2 kind:string
  metadata:meta.ObjectMeta#1 note:string#10 reason:string#7 regarding:core.ObjectReference#8
  related:core.ObjectReference#9 reportingController:string#4 reportingInstance:string#5 series:EventSeries#3
  type:string#11
EventSeries count:int32!#1 lastObservedTime:microtime!#2
)";

static constexpr std::string_view kPolicy = R"(
@policy io.k8s.api.policy.v1
Eviction apiVersion:string deleteOptions:meta.DeleteOptions#2 kind:string metadata:meta.ObjectMeta#1
PodDisruptionBudget apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:PodDisruptionBudgetSpec#2
  status:PodDisruptionBudgetStatus#3
PodDisruptionBudgetSpec maxUnavailable:intorstring#3 minAvailable:intorstring#1 selector:meta.LabelSelector#2
  unhealthyPodEvictionPolicy:*string#4
PodDisruptionBudgetStatus conditions:[]meta.Condition/type#7 currentHealthy:int32#4 desiredHealthy:int32#5
  disruptedPods:{}time#2 disruptionsAllowed:int32#3 expectedPods:int32#6 observedGeneration:int64#1
)";

static constexpr std::string_view kResource = R"(
@resource io.k8s.api.resource.v1
AllocatedDeviceStatus conditions:[]meta.Condition#4 data:any#5 device:string!#3 driver:string!#1
  networkData:NetworkDeviceData#6 pool:string!#2 shareID:*string#7
AllocationResult allocationTimestamp:time#5 devices:DeviceAllocationResult#1 nodeSelector:core.NodeSelector#3
CELDeviceSelector expression:string!#1
CapacityRequestPolicy default:quantity#1 validRange:CapacityRequestPolicyRange#4 validValues:[]quantity#3
CapacityRequestPolicyRange max:quantity#2 min:quantity!#1 step:quantity#3
CapacityRequirements requests:{}quantity#1
Counter value:quantity!#1
CounterSet counters:{}Counter!#2 name:string!#1
Device allNodes:*bool#7 allowMultipleAllocations:*bool#12 attributes:{}DeviceAttribute#2 bindingConditions:[]string#10
  bindingFailureConditions:[]string#11 bindsToNode:*bool#9 capacity:{}DeviceCapacity#3
  consumesCounters:[]DeviceCounterConsumption#4 name:string!#1
  nodeAllocatableResourceMappings:{}NodeAllocatableResourceMapping#13 nodeName:*string#5
  nodeSelector:core.NodeSelector#6 taints:[]DeviceTaint#8
DeviceAllocationConfiguration opaque:OpaqueDeviceConfiguration#3.1 requests:[]string#2 source:string!#1
DeviceAllocationResult config:[]DeviceAllocationConfiguration#2 results:[]DeviceRequestAllocationResult#1
DeviceAttribute bool:*bool#3 bools:[]bool#7 int:*int64#2 ints:[]int64#6 string:*string#4 strings:[]string#8
  version:*string#5 versions:[]string#9
DeviceCapacity requestPolicy:CapacityRequestPolicy#2 value:quantity!#1
DeviceClaim config:[]DeviceClaimConfiguration#3 constraints:[]DeviceConstraint#2 requests:[]DeviceRequest#1
DeviceClaimConfiguration opaque:OpaqueDeviceConfiguration#2.1 requests:[]string#1
DeviceClass apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:DeviceClassSpec!#2
DeviceClassConfiguration opaque:OpaqueDeviceConfiguration#1.1
DeviceClassSpec config:[]DeviceClassConfiguration#2 extendedResourceName:*string#4 selectors:[]DeviceSelector#1
DeviceConstraint distinctAttribute:*string#3 matchAttribute:*string#2 requests:[]string#1
DeviceCounterConsumption counterSet:string!#1 counters:{}Counter!#2
DeviceRequest exactly:ExactDeviceRequest#2 firstAvailable:[]DeviceSubRequest#3 name:string!#1
DeviceRequestAllocationResult adminAccess:*bool#5 bindingConditions:[]string#7 bindingFailureConditions:[]string#8
  consumedCapacity:{}quantity#10 device:string!#4 driver:string!#2 pool:string!#3 request:string!#1 shareID:*string#9
  tolerations:[]DeviceToleration#6
DeviceSelector cel:CELDeviceSelector#1
DeviceSubRequest allocationMode:string#4 capacity:CapacityRequirements#7 count:int64#5 deviceClassName:string!#2
  name:string!#1 selectors:[]DeviceSelector#3 tolerations:[]DeviceToleration#6
DeviceTaint effect:string!#3 key:string!#1 timeAdded:time#4 value:string#2
DeviceTaintRule apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:DeviceTaintRuleSpec!#2
  status:DeviceTaintRuleStatus#3
DeviceTaintRuleSpec deviceSelector:*DeviceTaintSelector#1 taint:DeviceTaint!#2
DeviceTaintRuleStatus conditions:[]meta.Condition/type#1
DeviceTaintSelector device:*string#4 driver:*string#2 pool:*string#3
DeviceToleration effect:string#4 key:string#1 operator:string#2 tolerationSeconds:*int64#5 value:string#3
ExactDeviceRequest adminAccess:*bool#5 allocationMode:string#3 capacity:CapacityRequirements#7 count:int64#4
  deviceClassName:string!#1 selectors:[]DeviceSelector#2 tolerations:[]DeviceToleration#6
NetworkDeviceData hardwareAddress:string#3 interfaceName:string#1 ips:[]string#2
NodeAllocatableResourceMapping allocationMultiplier:quantity#2 capacityKey:*string#1
OpaqueDeviceConfiguration driver:string!#1 parameters:any!#2
ResourceClaim apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ResourceClaimSpec!#2
  status:ResourceClaimStatus#3
ResourceClaimConsumerReference apiGroup:string#1 name:string!#4 resource:string!#3 uid:string!#5
ResourceClaimSpec devices:DeviceClaim#1
ResourceClaimStatus allocation:AllocationResult#1 devices:[]AllocatedDeviceStatus#4
  reservedFor:[]ResourceClaimConsumerReference/uid#2
ResourceClaimTemplate apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ResourceClaimTemplateSpec!#2
ResourceClaimTemplateSpec metadata:meta.ObjectMeta#1 spec:ResourceClaimSpec!#2
ResourcePool generation:int64!#2 name:string!#1 resourceSliceCount:int64!#3
ResourceSlice apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ResourceSliceSpec!#2
ResourceSliceSpec allNodes:*bool#5 devices:[]Device#6 driver:string!#1 nodeName:*string#3
  nodeSelector:core.NodeSelector#4 perDeviceNodeSelection:*bool#7 pool:ResourcePool!#2 sharedCounters:[]CounterSet#8
)";

static constexpr std::string_view kNode = R"(
@node io.k8s.api.node.v1
Overhead podFixed:{}quantity#1
RuntimeClass apiVersion:string handler:string!#2 kind:string metadata:meta.ObjectMeta#1 overhead:*Overhead#3
  scheduling:*Scheduling#4
Scheduling nodeSelector:{}string#1 tolerations:[]core.Toleration#2
)";

static constexpr std::string_view kScheduling = R"(
@scheduling io.k8s.api.scheduling.v1
PriorityClass apiVersion:string description:string#4 globalDefault:bool#3 kind:string metadata:meta.ObjectMeta#1
  preemptionPolicy:*string#5 value:int32#2
)";

static constexpr std::string_view kStorage = R"(
@storage io.k8s.api.storage.v1
CSIDriver apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:CSIDriverSpec!#2
CSIDriverSpec attachRequired:*bool#1 fsGroupPolicy:*string#5 nodeAllocatableUpdatePeriodSeconds:*int64#9
  podInfoOnMount:*bool#2 preventPodSchedulingIfMissing:*bool#11 requiresRepublish:*bool#7 seLinuxMount:*bool#8
  serviceAccountTokenInSecrets:*bool#10 storageCapacity:*bool#4 tokenRequests:[]TokenRequest#6
  volumeLifecycleModes:[]string#3
CSINode apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:CSINodeSpec!#2
CSINodeDriver allocatable:VolumeNodeResources#4 name:string!#1 nodeID:string!#2 topologyKeys:[]string#3
CSINodeSpec drivers:[]CSINodeDriver/name!#1
CSIStorageCapacity apiVersion:string capacity:quantity#4 kind:string maximumVolumeSize:quantity#5
  metadata:meta.ObjectMeta#1 nodeTopology:meta.LabelSelector#2 storageClassName:string!#3
StorageClass allowVolumeExpansion:*bool#6 allowedTopologies:[]core.TopologySelectorTerm#8 apiVersion:string
  kind:string metadata:meta.ObjectMeta#1 mountOptions:[]string#5 parameters:{}string#3 provisioner:string!#2
  reclaimPolicy:*string#4 volumeBindingMode:*string#7
TokenRequest audience:string!#1 expirationSeconds:*int64#2
VolumeAttachment apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:VolumeAttachmentSpec!#2
  status:VolumeAttachmentStatus#3
VolumeAttachmentSource inlineVolumeSpec:core.PersistentVolumeSpec#2 persistentVolumeName:*string#1
VolumeAttachmentSpec attacher:string!#1 nodeName:string!#3 source:VolumeAttachmentSource!#2
VolumeAttachmentStatus attachError:VolumeError#3 attached:bool!#1 attachmentMetadata:{}string#2
  detachError:VolumeError#4
VolumeAttributesClass apiVersion:string driverName:string!#2 kind:string metadata:meta.ObjectMeta#1
  parameters:{}string#3
VolumeError errorCode:*int32#3 message:string#2 time:time#1
VolumeNodeResources count:*int32#1
)";

static constexpr std::string_view kMeta = R"(
@meta io.k8s.apimachinery.pkg.apis.meta.v1
Condition lastTransitionTime:time!#4 message:string!#6 observedGeneration:int64#3 reason:string!#5 status:string!#2
  type:string!#1
DeleteOptions apiVersion:string dryRun:[]string#5 gracePeriodSeconds:*int64#1
  ignoreStoreReadErrorWithClusterBreakingPotential:*bool#6 kind:string orphanDependents:*bool#3
  preconditions:Preconditions#2 propagationPolicy:*string#4
FieldSelectorRequirement key:string!#1 operator:string!#2 values:[]string#3
LabelSelector matchExpressions:[]LabelSelectorRequirement#2 matchLabels:{}string#1
LabelSelectorRequirement key:string!#1 operator:string!#2 values:[]string#3
ListMeta continue:string#3 remainingItemCount:*int64#4 resourceVersion:string#2 selfLink:string#1
  shardInfo:ShardInfo#5
ManagedFieldsEntry apiVersion:string#3 fieldsType:string#6 fieldsV1:any#7 manager:string#1 operation:string#2
  subresource:string#8 time:time#4
ObjectMeta annotations:{}string#12 creationTimestamp:time#8 deletionGracePeriodSeconds:*int64#10
  deletionTimestamp:time#9 finalizers:[]string/*#14 generateName:string#2 generation:int64#7 labels:{}string#11
  managedFields:[]ManagedFieldsEntry#17 name:string#1 namespace:string#3 ownerReferences:[]OwnerReference/uid#13
  resourceVersion:string#6 selfLink:string#4 uid:string#5
OwnerReference apiVersion:string!#5 blockOwnerDeletion:*bool#7 controller:*bool#6 kind:string!#1 name:string!#3
  uid:string!#4
Preconditions resourceVersion:*string#2 uid:*string#1
ShardInfo selector:string!#1
Status apiVersion:string code:int32#6 details:StatusDetails#5 kind:string message:string#3 metadata:ListMeta#1
  reason:string#4 status:string#2
StatusCause field:string#3 message:string#2 reason:string#1
StatusDetails causes:[]StatusCause#4 group:string#2 kind:string#3 name:string#1 retryAfterSeconds:int32#5 uid:string#6
)";

std::vector<std::string_view> SchemaTexts() {
  std::vector<std::string_view> texts = {kApps,   kAutoscaling, kCoordination, kCore,    kEvents, kNode,
                                         kPolicy, kResource,    kScheduling,   kStorage, kMeta};
  for (const std::string_view text : ClusterSchemaTexts()) texts.push_back(text);
  return texts;
}

}  // namespace berth::objects::internal
