// The fields of the served kinds as Kubernetes 1.36 has them. One type a paragraph:
//
//   Type field:kind field:kind ...
//
// A kind is string, int32, int64, number, bool, bytes, time, microtime, quantity, intorstring, any (anything goes below),
// or another type, with the package's short name before it unless it is this package's own. [] before it makes a list,
// {} a map of strings. Marks behind it: /key, the list is merged by this key in strategic merge patches; /*, merged as a
// set; ~, $retainKeys is used in patches of the elements; !, required. "@short name" opens a package.
#include "berth/apiserver/schema_tables.h"

namespace berth::apiserver::internal {

static constexpr std::string_view kApps = R"(
@apps io.k8s.api.apps.v1
DaemonSet apiVersion:string kind:string metadata:meta.ObjectMeta spec:DaemonSetSpec status:DaemonSetStatus
DaemonSetCondition lastTransitionTime:time message:string reason:string status:string! type:string!
DaemonSetSpec minReadySeconds:int32 revisionHistoryLimit:int32 selector:meta.LabelSelector!
  template:core.PodTemplateSpec! updateStrategy:DaemonSetUpdateStrategy
DaemonSetStatus collisionCount:int32 conditions:[]DaemonSetCondition/type currentNumberScheduled:int32!
  desiredNumberScheduled:int32! numberAvailable:int32 numberMisscheduled:int32! numberReady:int32!
  numberUnavailable:int32 observedGeneration:int64 updatedNumberScheduled:int32
DaemonSetUpdateStrategy rollingUpdate:RollingUpdateDaemonSet type:string
Deployment apiVersion:string kind:string metadata:meta.ObjectMeta spec:DeploymentSpec status:DeploymentStatus
DeploymentCondition lastTransitionTime:time lastUpdateTime:time message:string reason:string status:string!
  type:string!
DeploymentSpec minReadySeconds:int32 paused:bool progressDeadlineSeconds:int32 replicas:int32
  revisionHistoryLimit:int32 selector:meta.LabelSelector! strategy:DeploymentStrategy~ template:core.PodTemplateSpec!
DeploymentStatus availableReplicas:int32 collisionCount:int32 conditions:[]DeploymentCondition/type
  observedGeneration:int64 readyReplicas:int32 replicas:int32 terminatingReplicas:int32 unavailableReplicas:int32
  updatedReplicas:int32
DeploymentStrategy rollingUpdate:RollingUpdateDeployment type:string
ReplicaSet apiVersion:string kind:string metadata:meta.ObjectMeta spec:ReplicaSetSpec status:ReplicaSetStatus
ReplicaSetCondition lastTransitionTime:time message:string reason:string status:string! type:string!
ReplicaSetSpec minReadySeconds:int32 replicas:int32 selector:meta.LabelSelector! template:core.PodTemplateSpec
ReplicaSetStatus availableReplicas:int32 conditions:[]ReplicaSetCondition/type fullyLabeledReplicas:int32
  observedGeneration:int64 readyReplicas:int32 replicas:int32! terminatingReplicas:int32
RollingUpdateDaemonSet maxSurge:intorstring maxUnavailable:intorstring
RollingUpdateDeployment maxSurge:intorstring maxUnavailable:intorstring
RollingUpdateStatefulSetStrategy maxUnavailable:intorstring partition:int32
StatefulSet apiVersion:string kind:string metadata:meta.ObjectMeta spec:StatefulSetSpec status:StatefulSetStatus
StatefulSetCondition lastTransitionTime:time message:string reason:string status:string! type:string!
StatefulSetOrdinals start:int32
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:string whenScaled:string
StatefulSetSpec minReadySeconds:int32 ordinals:StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy podManagementPolicy:string
  replicas:int32 revisionHistoryLimit:int32 selector:meta.LabelSelector! serviceName:string
  template:core.PodTemplateSpec! updateStrategy:StatefulSetUpdateStrategy
  volumeClaimTemplates:[]core.PersistentVolumeClaim
StatefulSetStatus availableReplicas:int32 collisionCount:int32 conditions:[]StatefulSetCondition/type
  currentReplicas:int32 currentRevision:string observedGeneration:int64 readyReplicas:int32 replicas:int32!
  updateRevision:string updatedReplicas:int32
StatefulSetUpdateStrategy rollingUpdate:RollingUpdateStatefulSetStrategy type:string
)";

static constexpr std::string_view kAutoscaling = R"(
@autoscaling io.k8s.api.autoscaling.v1
Scale apiVersion:string kind:string metadata:meta.ObjectMeta spec:ScaleSpec status:ScaleStatus
ScaleSpec replicas:int32
ScaleStatus replicas:int32! selector:string
)";

static constexpr std::string_view kCoordination = R"(
@coordination io.k8s.api.coordination.v1
Lease apiVersion:string kind:string metadata:meta.ObjectMeta spec:LeaseSpec
LeaseSpec acquireTime:microtime holderIdentity:string leaseDurationSeconds:int32 leaseTransitions:int32
  preferredHolder:string renewTime:microtime strategy:string
)";

static constexpr std::string_view kCore = R"(
@core io.k8s.api.core.v1
AWSElasticBlockStoreVolumeSource fsType:string partition:int32 readOnly:bool volumeID:string!
Affinity nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity
AppArmorProfile localhostProfile:string type:string!
AttachedVolume devicePath:string! name:string!
AzureDiskVolumeSource cachingMode:string diskName:string! diskURI:string! fsType:string kind:string readOnly:bool
AzureFilePersistentVolumeSource readOnly:bool secretName:string! secretNamespace:string shareName:string!
AzureFileVolumeSource readOnly:bool secretName:string! shareName:string!
Binding apiVersion:string kind:string metadata:meta.ObjectMeta target:ObjectReference!
CSIPersistentVolumeSource controllerExpandSecretRef:SecretReference controllerPublishSecretRef:SecretReference
  driver:string! fsType:string nodeExpandSecretRef:SecretReference nodePublishSecretRef:SecretReference
  nodeStageSecretRef:SecretReference readOnly:bool volumeAttributes:{}string volumeHandle:string!
CSIVolumeSource driver:string! fsType:string nodePublishSecretRef:LocalObjectReference readOnly:bool
  volumeAttributes:{}string
Capabilities add:[]string drop:[]string
CephFSPersistentVolumeSource monitors:[]string! path:string readOnly:bool secretFile:string secretRef:SecretReference
  user:string
CephFSVolumeSource monitors:[]string! path:string readOnly:bool secretFile:string secretRef:LocalObjectReference
  user:string
CinderPersistentVolumeSource fsType:string readOnly:bool secretRef:SecretReference volumeID:string!
CinderVolumeSource fsType:string readOnly:bool secretRef:LocalObjectReference volumeID:string!
ClientIPConfig timeoutSeconds:int32
ClusterTrustBundleProjection labelSelector:meta.LabelSelector name:string optional:bool path:string! signerName:string
ConfigMap apiVersion:string binaryData:{}bytes data:{}string immutable:bool kind:string metadata:meta.ObjectMeta
ConfigMapEnvSource name:string optional:bool
ConfigMapKeySelector key:string! name:string optional:bool
ConfigMapNodeConfigSource kubeletConfigKey:string! name:string! namespace:string! resourceVersion:string uid:string
ConfigMapProjection items:[]KeyToPath name:string optional:bool
ConfigMapVolumeSource defaultMode:int32 items:[]KeyToPath name:string optional:bool
Container args:[]string command:[]string env:[]EnvVar/name envFrom:[]EnvFromSource image:string imagePullPolicy:string
  lifecycle:Lifecycle livenessProbe:Probe name:string! ports:[]ContainerPort/containerPort readinessProbe:Probe
  resizePolicy:[]ContainerResizePolicy resources:ResourceRequirements restartPolicy:string
  restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin:bool
  stdinOnce:bool terminationMessagePath:string terminationMessagePolicy:string tty:bool
  volumeDevices:[]VolumeDevice/devicePath volumeMounts:[]VolumeMount/mountPath workingDir:string
ContainerExtendedResourceRequest containerName:string! requestName:string! resourceName:string!
ContainerImage names:[]string sizeBytes:int64
ContainerPort containerPort:int32! hostIP:string hostPort:int32 name:string protocol:string
ContainerResizePolicy resourceName:string! restartPolicy:string!
ContainerRestartRule action:string! exitCodes:ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator:string! values:[]int32
ContainerState running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting
ContainerStateRunning startedAt:time
ContainerStateTerminated containerID:string exitCode:int32! finishedAt:time message:string reason:string signal:int32
  startedAt:time
ContainerStateWaiting message:string reason:string
ContainerStatus allocatedResources:{}quantity allocatedResourcesStatus:[]ResourceStatus/name containerID:string
  image:string! imageID:string! lastState:ContainerState name:string! ready:bool! resources:ResourceRequirements
  restartCount:int32! started:bool state:ContainerState stopSignal:string user:ContainerUser
  volumeMounts:[]VolumeMountStatus/mountPath
ContainerUser linux:LinuxContainerUser
DaemonEndpoint Port:int32!
DownwardAPIProjection items:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile fieldRef:ObjectFieldSelector mode:int32 path:string! resourceFieldRef:ResourceFieldSelector
DownwardAPIVolumeSource defaultMode:int32 items:[]DownwardAPIVolumeFile
EmptyDirVolumeSource medium:string sizeLimit:quantity
EndpointAddress hostname:string ip:string! nodeName:string targetRef:ObjectReference
EndpointPort appProtocol:string name:string port:int32! protocol:string
EndpointSubset addresses:[]EndpointAddress notReadyAddresses:[]EndpointAddress ports:[]EndpointPort
Endpoints apiVersion:string kind:string metadata:meta.ObjectMeta subsets:[]EndpointSubset
EnvFromSource configMapRef:ConfigMapEnvSource prefix:string secretRef:SecretEnvSource
EnvVar name:string! value:string valueFrom:EnvVarSource
EnvVarSource configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector
  resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector
EphemeralContainer args:[]string command:[]string env:[]EnvVar/name envFrom:[]EnvFromSource image:string
  imagePullPolicy:string lifecycle:Lifecycle livenessProbe:Probe name:string! ports:[]ContainerPort/containerPort
  readinessProbe:Probe resizePolicy:[]ContainerResizePolicy resources:ResourceRequirements restartPolicy:string
  restartPolicyRules:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin:bool
  stdinOnce:bool targetContainerName:string terminationMessagePath:string terminationMessagePolicy:string tty:bool
  volumeDevices:[]VolumeDevice/devicePath volumeMounts:[]VolumeMount/mountPath workingDir:string
EphemeralVolumeSource volumeClaimTemplate:PersistentVolumeClaimTemplate
Event action:string apiVersion:string count:int32 eventTime:microtime firstTimestamp:time
  involvedObject:ObjectReference! kind:string lastTimestamp:time message:string metadata:meta.ObjectMeta!
  reason:string related:ObjectReference reportingComponent:string reportingInstance:string series:EventSeries
  source:EventSource type:string
EventSeries count:int32 lastObservedTime:microtime
EventSource component:string host:string
ExecAction command:[]string
FCVolumeSource fsType:string lun:int32 readOnly:bool targetWWNs:[]string wwids:[]string
FileKeySelector key:string! optional:bool path:string! volumeName:string!
FlexPersistentVolumeSource driver:string! fsType:string options:{}string readOnly:bool secretRef:SecretReference
FlexVolumeSource driver:string! fsType:string options:{}string readOnly:bool secretRef:LocalObjectReference
FlockerVolumeSource datasetName:string datasetUUID:string
GCEPersistentDiskVolumeSource fsType:string partition:int32 pdName:string! readOnly:bool
GRPCAction port:int32! service:string
GitRepoVolumeSource directory:string repository:string! revision:string
GlusterfsPersistentVolumeSource endpoints:string! endpointsNamespace:string path:string! readOnly:bool
GlusterfsVolumeSource endpoints:string! path:string! readOnly:bool
HTTPGetAction host:string httpHeaders:[]HTTPHeader path:string port:intorstring! scheme:string
HTTPHeader name:string! value:string!
HostAlias hostnames:[]string ip:string!
HostIP ip:string!
HostPathVolumeSource path:string! type:string
ISCSIPersistentVolumeSource chapAuthDiscovery:bool chapAuthSession:bool fsType:string initiatorName:string iqn:string!
  iscsiInterface:string lun:int32! portals:[]string readOnly:bool secretRef:SecretReference targetPortal:string!
ISCSIVolumeSource chapAuthDiscovery:bool chapAuthSession:bool fsType:string initiatorName:string iqn:string!
  iscsiInterface:string lun:int32! portals:[]string readOnly:bool secretRef:LocalObjectReference targetPortal:string!
ImageVolumeSource pullPolicy:string reference:string
ImageVolumeStatus imageRef:string!
KeyToPath key:string! mode:int32 path:string!
Lifecycle postStart:LifecycleHandler preStop:LifecycleHandler stopSignal:string
LifecycleHandler exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction tcpSocket:TCPSocketAction
LinuxContainerUser gid:int64! supplementalGroups:[]int64 uid:int64!
LoadBalancerIngress hostname:string ip:string ipMode:string ports:[]PortStatus
LoadBalancerStatus ingress:[]LoadBalancerIngress
LocalObjectReference name:string
LocalVolumeSource fsType:string path:string!
ModifyVolumeStatus status:string! targetVolumeAttributesClassName:string
NFSVolumeSource path:string! readOnly:bool server:string!
Namespace apiVersion:string kind:string metadata:meta.ObjectMeta spec:NamespaceSpec status:NamespaceStatus
NamespaceCondition lastTransitionTime:time message:string reason:string status:string! type:string!
NamespaceSpec finalizers:[]string
NamespaceStatus conditions:[]NamespaceCondition/type phase:string
Node apiVersion:string kind:string metadata:meta.ObjectMeta spec:NodeSpec status:NodeStatus
NodeAddress address:string! type:string!
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution:NodeSelector
NodeAllocatableResourceClaimStatus containers:[]string resourceClaimName:string! resources:{}quantity!
NodeCondition lastHeartbeatTime:time lastTransitionTime:time message:string reason:string status:string! type:string!
NodeConfigSource configMap:ConfigMapNodeConfigSource
NodeConfigStatus active:NodeConfigSource assigned:NodeConfigSource error:string lastKnownGood:NodeConfigSource
NodeDaemonEndpoints kubeletEndpoint:DaemonEndpoint
NodeFeatures supplementalGroupsPolicy:bool
NodeRuntimeHandler features:NodeRuntimeHandlerFeatures name:string
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:bool userNamespaces:bool
NodeSelector nodeSelectorTerms:[]NodeSelectorTerm!
NodeSelectorRequirement key:string! operator:string! values:[]string
NodeSelectorTerm matchExpressions:[]NodeSelectorRequirement matchFields:[]NodeSelectorRequirement
NodeSpec configSource:NodeConfigSource externalID:string podCIDR:string podCIDRs:[]string/* providerID:string
  taints:[]Taint unschedulable:bool
NodeStatus addresses:[]NodeAddress/type allocatable:{}quantity capacity:{}quantity conditions:[]NodeCondition/type
  config:NodeConfigStatus daemonEndpoints:NodeDaemonEndpoints declaredFeatures:[]string features:NodeFeatures
  images:[]ContainerImage nodeInfo:NodeSystemInfo phase:string runtimeHandlers:[]NodeRuntimeHandler
  volumesAttached:[]AttachedVolume volumesInUse:[]string
NodeSwapStatus capacity:int64
NodeSystemInfo architecture:string! bootID:string! containerRuntimeVersion:string! kernelVersion:string!
  kubeProxyVersion:string! kubeletVersion:string! machineID:string! operatingSystem:string! osImage:string!
  swap:NodeSwapStatus systemUUID:string!
ObjectFieldSelector apiVersion:string fieldPath:string!
ObjectReference apiVersion:string fieldPath:string kind:string name:string namespace:string resourceVersion:string
  uid:string
PersistentVolume apiVersion:string kind:string metadata:meta.ObjectMeta spec:PersistentVolumeSpec
  status:PersistentVolumeStatus
PersistentVolumeClaim apiVersion:string kind:string metadata:meta.ObjectMeta spec:PersistentVolumeClaimSpec
  status:PersistentVolumeClaimStatus
PersistentVolumeClaimCondition lastProbeTime:time lastTransitionTime:time message:string reason:string status:string!
  type:string!
PersistentVolumeClaimSpec accessModes:[]string dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference
  resources:VolumeResourceRequirements selector:meta.LabelSelector storageClassName:string
  volumeAttributesClassName:string volumeMode:string volumeName:string
PersistentVolumeClaimStatus accessModes:[]string allocatedResourceStatuses:{}string allocatedResources:{}quantity
  capacity:{}quantity conditions:[]PersistentVolumeClaimCondition/type currentVolumeAttributesClassName:string
  modifyVolumeStatus:ModifyVolumeStatus phase:string
PersistentVolumeClaimTemplate metadata:meta.ObjectMeta spec:PersistentVolumeClaimSpec!
PersistentVolumeClaimVolumeSource claimName:string! readOnly:bool
PersistentVolumeSpec accessModes:[]string awsElasticBlockStore:AWSElasticBlockStoreVolumeSource
  azureDisk:AzureDiskVolumeSource azureFile:AzureFilePersistentVolumeSource capacity:{}quantity
  cephfs:CephFSPersistentVolumeSource cinder:CinderPersistentVolumeSource claimRef:ObjectReference
  csi:CSIPersistentVolumeSource fc:FCVolumeSource flexVolume:FlexPersistentVolumeSource flocker:FlockerVolumeSource
  gcePersistentDisk:GCEPersistentDiskVolumeSource glusterfs:GlusterfsPersistentVolumeSource
  hostPath:HostPathVolumeSource iscsi:ISCSIPersistentVolumeSource local:LocalVolumeSource mountOptions:[]string
  nfs:NFSVolumeSource nodeAffinity:VolumeNodeAffinity persistentVolumeReclaimPolicy:string
  photonPersistentDisk:PhotonPersistentDiskVolumeSource portworxVolume:PortworxVolumeSource
  quobyte:QuobyteVolumeSource rbd:RBDPersistentVolumeSource scaleIO:ScaleIOPersistentVolumeSource
  storageClassName:string storageos:StorageOSPersistentVolumeSource volumeAttributesClassName:string volumeMode:string
  vsphereVolume:VsphereVirtualDiskVolumeSource
PersistentVolumeStatus lastPhaseTransitionTime:time message:string phase:string reason:string
PhotonPersistentDiskVolumeSource fsType:string pdID:string!
Pod apiVersion:string kind:string metadata:meta.ObjectMeta spec:PodSpec status:PodStatus
PodAffinity preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
PodAffinityTerm labelSelector:meta.LabelSelector matchLabelKeys:[]string mismatchLabelKeys:[]string
  namespaceSelector:meta.LabelSelector namespaces:[]string topologyKey:string!
PodAntiAffinity preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm
PodCertificateProjection certificateChainPath:string credentialBundlePath:string keyPath:string keyType:string!
  maxExpirationSeconds:int32 signerName:string! userAnnotations:{}string
PodCondition lastProbeTime:time lastTransitionTime:time message:string observedGeneration:int64 reason:string
  status:string! type:string!
PodDNSConfig nameservers:[]string options:[]PodDNSConfigOption searches:[]string
PodDNSConfigOption name:string value:string
PodExtendedResourceClaimStatus requestMappings:[]ContainerExtendedResourceRequest! resourceClaimName:string!
PodIP ip:string!
PodOS name:string!
PodReadinessGate conditionType:string!
PodResourceClaim name:string! resourceClaimName:string resourceClaimTemplateName:string
PodResourceClaimStatus name:string! resourceClaimName:string
PodSchedulingGate name:string!
PodSchedulingGroup podGroupName:string
PodSecurityContext appArmorProfile:AppArmorProfile fsGroup:int64 fsGroupChangePolicy:string runAsGroup:int64
  runAsNonRoot:bool runAsUser:int64 seLinuxChangePolicy:string seLinuxOptions:SELinuxOptions
  seccompProfile:SeccompProfile supplementalGroups:[]int64 supplementalGroupsPolicy:string sysctls:[]Sysctl
  windowsOptions:WindowsSecurityContextOptions
PodSpec activeDeadlineSeconds:int64 affinity:Affinity automountServiceAccountToken:bool containers:[]Container/name!
  dnsConfig:PodDNSConfig dnsPolicy:string enableServiceLinks:bool ephemeralContainers:[]EphemeralContainer/name
  hostAliases:[]HostAlias/ip hostIPC:bool hostNetwork:bool hostPID:bool hostUsers:bool hostname:string
  hostnameOverride:string imagePullSecrets:[]LocalObjectReference/name initContainers:[]Container/name nodeName:string
  nodeSelector:{}string os:PodOS overhead:{}quantity preemptionPolicy:string priority:int32 priorityClassName:string
  readinessGates:[]PodReadinessGate resourceClaims:[]PodResourceClaim/name~ resources:ResourceRequirements
  restartPolicy:string runtimeClassName:string schedulerName:string schedulingGates:[]PodSchedulingGate/name
  schedulingGroup:PodSchedulingGroup securityContext:PodSecurityContext serviceAccount:string
  serviceAccountName:string setHostnameAsFQDN:bool shareProcessNamespace:bool subdomain:string
  terminationGracePeriodSeconds:int64 tolerations:[]Toleration
  topologySpreadConstraints:[]TopologySpreadConstraint/topologyKey volumes:[]Volume/name~
PodStatus allocatedResources:{}quantity conditions:[]PodCondition/type containerStatuses:[]ContainerStatus
  ephemeralContainerStatuses:[]ContainerStatus extendedResourceClaimStatus:PodExtendedResourceClaimStatus
  hostIP:string hostIPs:[]HostIP/ip initContainerStatuses:[]ContainerStatus message:string
  nodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus nominatedNodeName:string
  observedGeneration:int64 phase:string podIP:string podIPs:[]PodIP/ip qosClass:string reason:string resize:string
  resourceClaimStatuses:[]PodResourceClaimStatus/name~ resources:ResourceRequirements startTime:time
PodTemplateSpec metadata:meta.ObjectMeta spec:PodSpec
PortStatus error:string port:int32! protocol:string!
PortworxVolumeSource fsType:string readOnly:bool volumeID:string!
PreferredSchedulingTerm preference:NodeSelectorTerm! weight:int32!
Probe exec:ExecAction failureThreshold:int32 grpc:GRPCAction httpGet:HTTPGetAction initialDelaySeconds:int32
  periodSeconds:int32 successThreshold:int32 tcpSocket:TCPSocketAction terminationGracePeriodSeconds:int64
  timeoutSeconds:int32
ProjectedVolumeSource defaultMode:int32 sources:[]VolumeProjection
QuobyteVolumeSource group:string readOnly:bool registry:string! tenant:string user:string volume:string!
RBDPersistentVolumeSource fsType:string image:string! keyring:string monitors:[]string! pool:string readOnly:bool
  secretRef:SecretReference user:string
RBDVolumeSource fsType:string image:string! keyring:string monitors:[]string! pool:string readOnly:bool
  secretRef:LocalObjectReference user:string
ReplicationController apiVersion:string kind:string metadata:meta.ObjectMeta spec:ReplicationControllerSpec
  status:ReplicationControllerStatus
ReplicationControllerCondition lastTransitionTime:time message:string reason:string status:string! type:string!
ReplicationControllerSpec minReadySeconds:int32 replicas:int32 selector:{}string template:PodTemplateSpec
ReplicationControllerStatus availableReplicas:int32 conditions:[]ReplicationControllerCondition/type
  fullyLabeledReplicas:int32 observedGeneration:int64 readyReplicas:int32 replicas:int32!
ResourceClaim name:string! request:string
ResourceFieldSelector containerName:string divisor:quantity resource:string!
ResourceHealth health:string message:string resourceID:string!
ResourceRequirements claims:[]ResourceClaim limits:{}quantity requests:{}quantity
ResourceStatus name:string! resources:[]ResourceHealth
SELinuxOptions level:string role:string type:string user:string
ScaleIOPersistentVolumeSource fsType:string gateway:string! protectionDomain:string readOnly:bool
  secretRef:SecretReference! sslEnabled:bool storageMode:string storagePool:string system:string! volumeName:string
ScaleIOVolumeSource fsType:string gateway:string! protectionDomain:string readOnly:bool
  secretRef:LocalObjectReference! sslEnabled:bool storageMode:string storagePool:string system:string!
  volumeName:string
SeccompProfile localhostProfile:string type:string!
Secret apiVersion:string data:{}bytes immutable:bool kind:string metadata:meta.ObjectMeta stringData:{}string
  type:string
SecretEnvSource name:string optional:bool
SecretKeySelector key:string! name:string optional:bool
SecretProjection items:[]KeyToPath name:string optional:bool
SecretReference name:string namespace:string
SecretVolumeSource defaultMode:int32 items:[]KeyToPath optional:bool secretName:string
SecurityContext allowPrivilegeEscalation:bool appArmorProfile:AppArmorProfile capabilities:Capabilities
  privileged:bool procMount:string readOnlyRootFilesystem:bool runAsGroup:int64 runAsNonRoot:bool runAsUser:int64
  seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile windowsOptions:WindowsSecurityContextOptions
Service apiVersion:string kind:string metadata:meta.ObjectMeta spec:ServiceSpec status:ServiceStatus
ServiceAccount apiVersion:string automountServiceAccountToken:bool imagePullSecrets:[]LocalObjectReference kind:string
  metadata:meta.ObjectMeta secrets:[]ObjectReference/name
ServiceAccountTokenProjection audience:string expirationSeconds:int64 path:string!
ServicePort appProtocol:string name:string nodePort:int32 port:int32! protocol:string targetPort:intorstring
ServiceSpec allocateLoadBalancerNodePorts:bool clusterIP:string clusterIPs:[]string externalIPs:[]string
  externalName:string externalTrafficPolicy:string healthCheckNodePort:int32 internalTrafficPolicy:string
  ipFamilies:[]string ipFamilyPolicy:string loadBalancerClass:string loadBalancerIP:string
  loadBalancerSourceRanges:[]string ports:[]ServicePort/port publishNotReadyAddresses:bool selector:{}string
  sessionAffinity:string sessionAffinityConfig:SessionAffinityConfig trafficDistribution:string type:string
ServiceStatus conditions:[]meta.Condition/type loadBalancer:LoadBalancerStatus
SessionAffinityConfig clientIP:ClientIPConfig
SleepAction seconds:int64!
StorageOSPersistentVolumeSource fsType:string readOnly:bool secretRef:ObjectReference volumeName:string
  volumeNamespace:string
StorageOSVolumeSource fsType:string readOnly:bool secretRef:LocalObjectReference volumeName:string
  volumeNamespace:string
Sysctl name:string! value:string!
TCPSocketAction host:string port:intorstring!
Taint effect:string! key:string! timeAdded:time value:string
Toleration effect:string key:string operator:string tolerationSeconds:int64 value:string
TopologySelectorLabelRequirement key:string! values:[]string!
TopologySelectorTerm matchLabelExpressions:[]TopologySelectorLabelRequirement
TopologySpreadConstraint labelSelector:meta.LabelSelector matchLabelKeys:[]string maxSkew:int32! minDomains:int32
  nodeAffinityPolicy:string nodeTaintsPolicy:string topologyKey:string! whenUnsatisfiable:string!
TypedLocalObjectReference apiGroup:string kind:string! name:string!
TypedObjectReference apiGroup:string kind:string! name:string! namespace:string
Volume awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource
  azureFile:AzureFileVolumeSource cephfs:CephFSVolumeSource cinder:CinderVolumeSource configMap:ConfigMapVolumeSource
  csi:CSIVolumeSource downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource
  ephemeral:EphemeralVolumeSource fc:FCVolumeSource flexVolume:FlexVolumeSource flocker:FlockerVolumeSource
  gcePersistentDisk:GCEPersistentDiskVolumeSource gitRepo:GitRepoVolumeSource glusterfs:GlusterfsVolumeSource
  hostPath:HostPathVolumeSource image:ImageVolumeSource iscsi:ISCSIVolumeSource name:string! nfs:NFSVolumeSource
  persistentVolumeClaim:PersistentVolumeClaimVolumeSource photonPersistentDisk:PhotonPersistentDiskVolumeSource
  portworxVolume:PortworxVolumeSource projected:ProjectedVolumeSource quobyte:QuobyteVolumeSource rbd:RBDVolumeSource
  scaleIO:ScaleIOVolumeSource secret:SecretVolumeSource storageos:StorageOSVolumeSource
  vsphereVolume:VsphereVirtualDiskVolumeSource
VolumeDevice devicePath:string! name:string!
VolumeMount mountPath:string! mountPropagation:string name:string! readOnly:bool recursiveReadOnly:string
  subPath:string subPathExpr:string
VolumeMountStatus mountPath:string! name:string! readOnly:bool recursiveReadOnly:string volumeStatus:VolumeStatus
VolumeNodeAffinity required:NodeSelector
VolumeProjection clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection
  downwardAPI:DownwardAPIProjection podCertificate:PodCertificateProjection secret:SecretProjection
  serviceAccountToken:ServiceAccountTokenProjection
VolumeResourceRequirements limits:{}quantity requests:{}quantity
VolumeStatus image:ImageVolumeStatus
VsphereVirtualDiskVolumeSource fsType:string storagePolicyID:string storagePolicyName:string volumePath:string!
WeightedPodAffinityTerm podAffinityTerm:PodAffinityTerm! weight:int32!
WindowsSecurityContextOptions gmsaCredentialSpec:string gmsaCredentialSpecName:string hostProcess:bool
  runAsUserName:string
)";

static constexpr std::string_view kEvents = R"(
@events io.k8s.api.events.v1
Event action:string apiVersion:string deprecatedCount:int32 deprecatedFirstTimestamp:time deprecatedLastTimestamp:time
  deprecatedSource:core.EventSource eventTime:microtime! kind:string metadata:meta.ObjectMeta note:string
  reason:string regarding:core.ObjectReference related:core.ObjectReference reportingController:string
  reportingInstance:string series:EventSeries type:string
EventSeries count:int32! lastObservedTime:microtime!
)";

static constexpr std::string_view kPolicy = R"(
@policy io.k8s.api.policy.v1
Eviction apiVersion:string deleteOptions:meta.DeleteOptions kind:string metadata:meta.ObjectMeta
PodDisruptionBudget apiVersion:string kind:string metadata:meta.ObjectMeta spec:PodDisruptionBudgetSpec
  status:PodDisruptionBudgetStatus
PodDisruptionBudgetSpec maxUnavailable:intorstring minAvailable:intorstring selector:meta.LabelSelector
  unhealthyPodEvictionPolicy:string
PodDisruptionBudgetStatus conditions:[]meta.Condition/type currentHealthy:int32 desiredHealthy:int32
  disruptedPods:{}time disruptionsAllowed:int32 expectedPods:int32 observedGeneration:int64
)";

static constexpr std::string_view kResource = R"(
@resource io.k8s.api.resource.v1
AllocatedDeviceStatus conditions:[]meta.Condition data:any device:string! driver:string! networkData:NetworkDeviceData
  pool:string! shareID:string
AllocationResult allocationTimestamp:time devices:DeviceAllocationResult nodeSelector:core.NodeSelector
CELDeviceSelector expression:string!
CapacityRequestPolicy default:quantity validRange:CapacityRequestPolicyRange validValues:[]quantity
CapacityRequestPolicyRange max:quantity min:quantity! step:quantity
CapacityRequirements requests:{}quantity
Counter value:quantity!
CounterSet counters:{}Counter! name:string!
Device allNodes:bool allowMultipleAllocations:bool attributes:{}DeviceAttribute bindingConditions:[]string
  bindingFailureConditions:[]string bindsToNode:bool capacity:{}DeviceCapacity
  consumesCounters:[]DeviceCounterConsumption name:string!
  nodeAllocatableResourceMappings:{}NodeAllocatableResourceMapping nodeName:string nodeSelector:core.NodeSelector
  taints:[]DeviceTaint
DeviceAllocationConfiguration opaque:OpaqueDeviceConfiguration requests:[]string source:string!
DeviceAllocationResult config:[]DeviceAllocationConfiguration results:[]DeviceRequestAllocationResult
DeviceAttribute bool:bool bools:[]bool int:int64 ints:[]int64 string:string strings:[]string version:string
  versions:[]string
DeviceCapacity requestPolicy:CapacityRequestPolicy value:quantity!
DeviceClaim config:[]DeviceClaimConfiguration constraints:[]DeviceConstraint requests:[]DeviceRequest
DeviceClaimConfiguration opaque:OpaqueDeviceConfiguration requests:[]string
DeviceClass apiVersion:string kind:string metadata:meta.ObjectMeta spec:DeviceClassSpec!
DeviceClassConfiguration opaque:OpaqueDeviceConfiguration
DeviceClassSpec config:[]DeviceClassConfiguration extendedResourceName:string selectors:[]DeviceSelector
DeviceConstraint distinctAttribute:string matchAttribute:string requests:[]string
DeviceCounterConsumption counterSet:string! counters:{}Counter!
DeviceRequest exactly:ExactDeviceRequest firstAvailable:[]DeviceSubRequest name:string!
DeviceRequestAllocationResult adminAccess:bool bindingConditions:[]string bindingFailureConditions:[]string
  consumedCapacity:{}quantity device:string! driver:string! pool:string! request:string! shareID:string
  tolerations:[]DeviceToleration
DeviceSelector cel:CELDeviceSelector
DeviceSubRequest allocationMode:string capacity:CapacityRequirements count:int64 deviceClassName:string! name:string!
  selectors:[]DeviceSelector tolerations:[]DeviceToleration
DeviceTaint effect:string! key:string! timeAdded:time value:string
DeviceToleration effect:string key:string operator:string tolerationSeconds:int64 value:string
ExactDeviceRequest adminAccess:bool allocationMode:string capacity:CapacityRequirements count:int64
  deviceClassName:string! selectors:[]DeviceSelector tolerations:[]DeviceToleration
NetworkDeviceData hardwareAddress:string interfaceName:string ips:[]string
NodeAllocatableResourceMapping allocationMultiplier:quantity capacityKey:string
OpaqueDeviceConfiguration driver:string! parameters:any!
ResourceClaim apiVersion:string kind:string metadata:meta.ObjectMeta spec:ResourceClaimSpec!
  status:ResourceClaimStatus
ResourceClaimConsumerReference apiGroup:string name:string! resource:string! uid:string!
ResourceClaimSpec devices:DeviceClaim
ResourceClaimStatus allocation:AllocationResult devices:[]AllocatedDeviceStatus
  reservedFor:[]ResourceClaimConsumerReference/uid
ResourceClaimTemplate apiVersion:string kind:string metadata:meta.ObjectMeta spec:ResourceClaimTemplateSpec!
ResourceClaimTemplateSpec metadata:meta.ObjectMeta spec:ResourceClaimSpec!
ResourcePool generation:int64! name:string! resourceSliceCount:int64!
ResourceSlice apiVersion:string kind:string metadata:meta.ObjectMeta spec:ResourceSliceSpec!
ResourceSliceSpec allNodes:bool devices:[]Device driver:string! nodeName:string nodeSelector:core.NodeSelector
  perDeviceNodeSelection:bool pool:ResourcePool! sharedCounters:[]CounterSet
)";

static constexpr std::string_view kScheduling = R"(
@scheduling io.k8s.api.scheduling.v1
PriorityClass apiVersion:string description:string globalDefault:bool kind:string metadata:meta.ObjectMeta
  preemptionPolicy:string value:int32
)";

static constexpr std::string_view kStorage = R"(
@storage io.k8s.api.storage.v1
CSIDriver apiVersion:string kind:string metadata:meta.ObjectMeta spec:CSIDriverSpec!
CSIDriverSpec attachRequired:bool fsGroupPolicy:string nodeAllocatableUpdatePeriodSeconds:int64 podInfoOnMount:bool
  preventPodSchedulingIfMissing:bool requiresRepublish:bool seLinuxMount:bool serviceAccountTokenInSecrets:bool
  storageCapacity:bool tokenRequests:[]TokenRequest volumeLifecycleModes:[]string
CSINode apiVersion:string kind:string metadata:meta.ObjectMeta spec:CSINodeSpec!
CSINodeDriver allocatable:VolumeNodeResources name:string! nodeID:string! topologyKeys:[]string
CSINodeSpec drivers:[]CSINodeDriver/name!
CSIStorageCapacity apiVersion:string capacity:quantity kind:string maximumVolumeSize:quantity metadata:meta.ObjectMeta
  nodeTopology:meta.LabelSelector storageClassName:string!
StorageClass allowVolumeExpansion:bool allowedTopologies:[]core.TopologySelectorTerm apiVersion:string kind:string
  metadata:meta.ObjectMeta mountOptions:[]string parameters:{}string provisioner:string! reclaimPolicy:string
  volumeBindingMode:string
TokenRequest audience:string! expirationSeconds:int64
VolumeAttachment apiVersion:string kind:string metadata:meta.ObjectMeta spec:VolumeAttachmentSpec!
  status:VolumeAttachmentStatus
VolumeAttachmentSource inlineVolumeSpec:core.PersistentVolumeSpec persistentVolumeName:string
VolumeAttachmentSpec attacher:string! nodeName:string! source:VolumeAttachmentSource!
VolumeAttachmentStatus attachError:VolumeError attached:bool! attachmentMetadata:{}string detachError:VolumeError
VolumeError errorCode:int32 message:string time:time
VolumeNodeResources count:int32
)";

static constexpr std::string_view kMeta = R"(
@meta io.k8s.apimachinery.pkg.apis.meta.v1
Condition lastTransitionTime:time! message:string! observedGeneration:int64 reason:string! status:string! type:string!
DeleteOptions apiVersion:string dryRun:[]string gracePeriodSeconds:int64
  ignoreStoreReadErrorWithClusterBreakingPotential:bool kind:string orphanDependents:bool preconditions:Preconditions
  propagationPolicy:string
LabelSelector matchExpressions:[]LabelSelectorRequirement matchLabels:{}string
LabelSelectorRequirement key:string! operator:string! values:[]string
ListMeta continue:string remainingItemCount:int64 resourceVersion:string selfLink:string shardInfo:ShardInfo
ManagedFieldsEntry apiVersion:string fieldsType:string fieldsV1:any manager:string operation:string subresource:string
  time:time
ObjectMeta annotations:{}string creationTimestamp:time deletionGracePeriodSeconds:int64 deletionTimestamp:time
  finalizers:[]string/* generateName:string generation:int64 labels:{}string managedFields:[]ManagedFieldsEntry
  name:string namespace:string ownerReferences:[]OwnerReference/uid resourceVersion:string selfLink:string uid:string
OwnerReference apiVersion:string! blockOwnerDeletion:bool controller:bool kind:string! name:string! uid:string!
Preconditions resourceVersion:string uid:string
ShardInfo selector:string!
Status apiVersion:string code:int32 details:StatusDetails kind:string message:string metadata:ListMeta reason:string
  status:string
StatusCause field:string message:string reason:string
StatusDetails causes:[]StatusCause group:string kind:string name:string retryAfterSeconds:int32 uid:string
)";

std::array<std::string_view, 10> SchemaTexts() {
  return {kApps, kAutoscaling, kCoordination, kCore, kEvents, kPolicy, kResource, kScheduling, kStorage, kMeta};
}

}  // namespace berth::apiserver::internal
