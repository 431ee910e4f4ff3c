// SPDX-License-Identifier: Apache-2.0
// The kinds that configure a cluster, those of batch, autoscaling and pod groups, and metrics-server's, in the format
// of schema_tables.cc.
#include "berth/devcluster/objects/schema_tables_cluster.h"

namespace berth::objects::internal {

static constexpr std::string_view kAdmissionRegistration = R"(
@admissionregistration io.k8s.api.admissionregistration.v1
ApplyConfiguration expression:string#1
AuditAnnotation key:string!#1 valueExpression:string!#2
ExpressionWarning fieldRef:string!#2 warning:string!#3
JSONPatch expression:string#1
MatchCondition expression:string!#2 name:string!#1
MatchResources excludeResourceRules:[]NamedRuleWithOperations#4 matchPolicy:*string#7
  namespaceSelector:meta.LabelSelector#1 objectSelector:meta.LabelSelector#2 resourceRules:[]NamedRuleWithOperations#3
MutatingAdmissionPolicy apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:MutatingAdmissionPolicySpec#2
MutatingAdmissionPolicyBinding apiVersion:string kind:string metadata:meta.ObjectMeta#1
  spec:MutatingAdmissionPolicyBindingSpec#2
MutatingAdmissionPolicyBindingSpec matchResources:MatchResources#3 paramRef:ParamRef#2 policyName:string#1
MutatingAdmissionPolicySpec failurePolicy:*string#5 matchConditions:[]MatchCondition/name#6
  matchConstraints:MatchResources#2 mutations:[]Mutation#4 paramKind:ParamKind#1 reinvocationPolicy:string#7
  variables:[]Variable#3
MutatingWebhook admissionReviewVersions:[]string!#8 clientConfig:WebhookClientConfig!#2 failurePolicy:*string#4
  matchConditions:[]MatchCondition/name#12 matchPolicy:*string#9 name:string!#1 namespaceSelector:meta.LabelSelector#5
  objectSelector:meta.LabelSelector#11 reinvocationPolicy:*string#10 rules:[]RuleWithOperations#3
  sideEffects:*string!#6 timeoutSeconds:*int32#7
MutatingWebhookConfiguration apiVersion:string kind:string metadata:meta.ObjectMeta#1
  webhooks:[]MutatingWebhook/name#2
Mutation applyConfiguration:ApplyConfiguration#3 jsonPatch:JSONPatch#4 patchType:string!#2
NamedRuleWithOperations apiGroups:[]string apiVersions:[]string operations:[]string resourceNames:[]string#1
  resources:[]string scope:*string
ParamKind apiVersion:string#1 kind:string#2
ParamRef name:string#1 namespace:string#2 parameterNotFoundAction:*string#4 selector:meta.LabelSelector#3
RuleWithOperations apiGroups:[]string#2.1 apiVersions:[]string#2.2 operations:[]string#1 resources:[]string#2.3
  scope:*string#2.4
ServiceReference name:string!#2 namespace:string!#1 path:*string#3 port:*int32#4
TypeChecking expressionWarnings:[]ExpressionWarning#1
ValidatingAdmissionPolicy apiVersion:string kind:string metadata:meta.ObjectMeta#1
  spec:ValidatingAdmissionPolicySpec#2 status:ValidatingAdmissionPolicyStatus#3
ValidatingAdmissionPolicyBinding apiVersion:string kind:string metadata:meta.ObjectMeta#1
  spec:ValidatingAdmissionPolicyBindingSpec!#2
ValidatingAdmissionPolicyBindingSpec matchResources:MatchResources#3 paramRef:ParamRef#2 policyName:string!#1
  validationActions:[]string!#4
ValidatingAdmissionPolicySpec auditAnnotations:[]AuditAnnotation#5 failurePolicy:*string#4
  matchConditions:[]MatchCondition/name#6 matchConstraints:MatchResources#2 paramKind:ParamKind#1
  validations:[]Validation#3 variables:[]Variable/name#7
ValidatingAdmissionPolicyStatus conditions:[]meta.Condition#3 observedGeneration:int64#1 typeChecking:TypeChecking#2
ValidatingWebhook admissionReviewVersions:[]string!#8 clientConfig:WebhookClientConfig!#2 failurePolicy:*string#4
  matchConditions:[]MatchCondition/name#11 matchPolicy:*string#9 name:string!#1 namespaceSelector:meta.LabelSelector#5
  objectSelector:meta.LabelSelector#10 rules:[]RuleWithOperations#3 sideEffects:*string!#6 timeoutSeconds:*int32#7
ValidatingWebhookConfiguration apiVersion:string kind:string metadata:meta.ObjectMeta#1
  webhooks:[]ValidatingWebhook/name#2
Validation expression:string!#1 message:string#2 messageExpression:string#4 reason:*string#3
Variable expression:string!#2 name:string!#1
WebhookClientConfig caBundle:bytes#2 service:ServiceReference#1 url:*string#3
)";

static constexpr std::string_view kApiExtensions = R"(
@apiextensions io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1
CustomResourceColumnDefinition description:string#4 format:string#3 jsonPath:string!#6 name:string!#1 priority:int32#5
  type:string!#2
CustomResourceConversion strategy:string!#1 webhook:WebhookConversion#2
CustomResourceDefinition apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:CustomResourceDefinitionSpec!#2
  status:CustomResourceDefinitionStatus#3
CustomResourceDefinitionCondition lastTransitionTime:time#3 message:string#5 observedGeneration:int64#6
  reason:string#4 status:string!#2 type:string!#1
CustomResourceDefinitionNames categories:[]string#6 kind:string!#4 listKind:string#5 plural:string!#1
  shortNames:[]string#3 singular:string#2
CustomResourceDefinitionSpec conversion:CustomResourceConversion#9 group:string!#1
  names:CustomResourceDefinitionNames!#3 preserveUnknownFields:bool#10 scope:string!#4
  versions:[]CustomResourceDefinitionVersion!#7
CustomResourceDefinitionStatus acceptedNames:CustomResourceDefinitionNames#2
  conditions:[]CustomResourceDefinitionCondition#1 observedGeneration:int64#4 storedVersions:[]string#3
CustomResourceDefinitionVersion additionalPrinterColumns:[]CustomResourceColumnDefinition#6 deprecated:bool#7
  deprecationWarning:*string#8 name:string!#1 schema:CustomResourceValidation#4 selectableFields:[]SelectableField#9
  served:bool!#2 storage:bool!#3 subresources:CustomResourceSubresources#5
CustomResourceSubresourceScale labelSelectorPath:*string#3 specReplicasPath:string!#1 statusReplicasPath:string!#2
CustomResourceSubresourceStatus
CustomResourceSubresources scale:CustomResourceSubresourceScale#2 status:CustomResourceSubresourceStatus#1
CustomResourceValidation openAPIV3Schema:JSONSchemaProps#1
ExternalDocumentation description:string#1 url:string#2
JSONSchemaProps $ref:*string#3 $schema:string#2 additionalItems:any additionalProperties:any
  allOf:[]JSONSchemaProps#25 anyOf:[]JSONSchemaProps#27 default:any definitions:{}JSONSchemaProps#34
  dependencies:{}any description:string#4 enum:[]any example:any exclusiveMaximum:bool#10 exclusiveMinimum:bool#12
  externalDocs:ExternalDocumentation#35 format:string#6 id:string#1 items:any maxItems:*int64#16 maxLength:*int64#13
  maxProperties:*int64#21 maximum:*number#9 minItems:*int64#17 minLength:*int64#14 minProperties:*int64#22
  minimum:*number#11 multipleOf:*number#19 not:JSONSchemaProps#28 nullable:bool#37 oneOf:[]JSONSchemaProps#26
  pattern:string#15 patternProperties:{}JSONSchemaProps#31 properties:{}JSONSchemaProps#29 required:[]string#23
  title:string#7 type:string#5 uniqueItems:bool#18 x-kubernetes-embedded-resource:bool#39
  x-kubernetes-int-or-string:bool#40 x-kubernetes-list-map-keys:[]string#41 x-kubernetes-list-type:*string#42
  x-kubernetes-map-type:*string#43 x-kubernetes-preserve-unknown-fields:*bool#38
  x-kubernetes-validations:[]ValidationRule/rule#44
SelectableField jsonPath:string!#1
ServiceReference name:string!#2 namespace:string!#1 path:*string#3 port:*int32#4
ValidationRule fieldPath:string#5 message:string#2 messageExpression:string#3 optionalOldSelf:*bool#6 reason:*string#4
  rule:string!#1
WebhookClientConfig caBundle:bytes#2 service:ServiceReference#1 url:*string#3
WebhookConversion clientConfig:WebhookClientConfig#2 conversionReviewVersions:[]string!#3
)";

static constexpr std::string_view kApiRegistration = R"(
@apiregistration io.k8s.kube-aggregator.pkg.apis.apiregistration.v1
APIService apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:APIServiceSpec#2 status:APIServiceStatus#3
APIServiceCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2 type:string!#1
APIServiceSpec caBundle:bytes#5 group:string#2 groupPriorityMinimum:int32!#7 insecureSkipTLSVerify:bool#4
  service:ServiceReference#1 version:string#3 versionPriority:int32!#8
APIServiceStatus conditions:[]APIServiceCondition/type#1
ServiceReference name:string#2 namespace:string#1 port:*int32#3
)";

static constexpr std::string_view kAuthentication = R"(
@authentication io.k8s.api.authentication.v1
BoundObjectReference apiVersion:string#2 kind:string#1 name:string#3 uid:string#4
SelfSubjectReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 status:SelfSubjectReviewStatus#2
SelfSubjectReviewStatus userInfo:UserInfo#1
TokenRequest apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:TokenRequestSpec!#2
  status:TokenRequestStatus#3
TokenRequestSpec audiences:[]string!#1 boundObjectRef:BoundObjectReference#3 expirationSeconds:*int64#4
TokenRequestStatus expirationTimestamp:time!#2 token:string!#1
TokenReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:TokenReviewSpec!#2 status:TokenReviewStatus#3
TokenReviewSpec audiences:[]string#2 token:string#1
TokenReviewStatus audiences:[]string#4 authenticated:bool#1 error:string#3 user:UserInfo#2
UserInfo extra:any groups:[]string#3 uid:string#2 username:string#1
)";

static constexpr std::string_view kAuthorization = R"(
@authorization io.k8s.api.authorization.v1
FieldSelectorAttributes rawSelector:string#1 requirements:[]meta.FieldSelectorRequirement#2
LabelSelectorAttributes rawSelector:string#1 requirements:[]meta.LabelSelectorRequirement#2
LocalSubjectAccessReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:SubjectAccessReviewSpec!#2
  status:SubjectAccessReviewStatus#3
NonResourceAttributes path:string#1 verb:string#2
NonResourceRule nonResourceURLs:[]string#2 verbs:[]string!#1
ResourceAttributes fieldSelector:FieldSelectorAttributes#8 group:string#3 labelSelector:LabelSelectorAttributes#9
  name:string#7 namespace:string#1 resource:string#5 subresource:string#6 verb:string#2 version:string#4
ResourceRule apiGroups:[]string#2 resourceNames:[]string#4 resources:[]string#3 verbs:[]string!#1
SelfSubjectAccessReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:SelfSubjectAccessReviewSpec!#2
  status:SubjectAccessReviewStatus#3
SelfSubjectAccessReviewSpec nonResourceAttributes:NonResourceAttributes#2 resourceAttributes:ResourceAttributes#1
SelfSubjectRulesReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:SelfSubjectRulesReviewSpec!#2
  status:SubjectRulesReviewStatus#3
SelfSubjectRulesReviewSpec namespace:string#1
SubjectAccessReview apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:SubjectAccessReviewSpec!#2
  status:SubjectAccessReviewStatus#3
SubjectAccessReviewSpec extra:any groups:[]string#4 nonResourceAttributes:NonResourceAttributes#2
  resourceAttributes:ResourceAttributes#1 uid:string#6 user:string#3
SubjectAccessReviewStatus allowed:bool!#1 denied:bool#4 evaluationError:string#3 reason:string#2
SubjectRulesReviewStatus evaluationError:string#4 incomplete:bool!#3 nonResourceRules:[]NonResourceRule!#2
  resourceRules:[]ResourceRule!#1
)";

static constexpr std::string_view kAutoscalingV2 = R"(
@autoscalingv2 io.k8s.api.autoscaling.v2
ContainerResourceMetricSource container:string!#3 name:string!#1 target:MetricTarget!#2
ContainerResourceMetricStatus container:string!#3 current:MetricValueStatus!#2 name:string!#1
CrossVersionObjectReference apiVersion:string#3 kind:string!#1 name:string!#2
ExternalMetricSource metric:MetricIdentifier!#1 target:MetricTarget!#2
ExternalMetricStatus current:MetricValueStatus!#2 metric:MetricIdentifier!#1
HPAScalingPolicy periodSeconds:int32!#3 type:string!#1 value:int32!#2
HPAScalingRules policies:[]HPAScalingPolicy#2 selectPolicy:*string#1 stabilizationWindowSeconds:*int32#3
  tolerance:quantity#4
HorizontalPodAutoscaler apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:HorizontalPodAutoscalerSpec!#2
  status:HorizontalPodAutoscalerStatus#3
HorizontalPodAutoscalerBehavior scaleDown:HPAScalingRules#2 scaleUp:HPAScalingRules#1
HorizontalPodAutoscalerCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string!#2
  type:string!#1
HorizontalPodAutoscalerSpec behavior:HorizontalPodAutoscalerBehavior#5 maxReplicas:int32!#3 metrics:[]MetricSpec#4
  minReplicas:*int32#2 scaleTargetRef:CrossVersionObjectReference!#1
HorizontalPodAutoscalerStatus conditions:[]HorizontalPodAutoscalerCondition/type#6 currentMetrics:[]MetricStatus#5
  currentReplicas:int32#3 desiredReplicas:int32!#4 lastScaleTime:time#2 observedGeneration:*int64#1
MetricIdentifier name:string!#1 selector:meta.LabelSelector#2
MetricSpec containerResource:ContainerResourceMetricSource#7 external:ExternalMetricSource#5
  object:ObjectMetricSource#2 pods:PodsMetricSource#3 resource:ResourceMetricSource#4 type:string!#1
MetricStatus containerResource:ContainerResourceMetricStatus#7 external:ExternalMetricStatus#5
  object:ObjectMetricStatus#2 pods:PodsMetricStatus#3 resource:ResourceMetricStatus#4 type:string!#1
MetricTarget averageUtilization:*int32#4 averageValue:quantity#3 type:string!#1 value:quantity#2
MetricValueStatus averageUtilization:*int32#3 averageValue:quantity#2 value:quantity#1
ObjectMetricSource describedObject:CrossVersionObjectReference!#1 metric:MetricIdentifier!#3 target:MetricTarget!#2
ObjectMetricStatus current:MetricValueStatus!#2 describedObject:CrossVersionObjectReference!#3
  metric:MetricIdentifier!#1
PodsMetricSource metric:MetricIdentifier!#1 target:MetricTarget!#2
PodsMetricStatus current:MetricValueStatus!#2 metric:MetricIdentifier!#1
ResourceMetricSource name:string!#1 target:MetricTarget!#2
ResourceMetricStatus current:MetricValueStatus!#2 name:string!#1
)";

static constexpr std::string_view kBatch = R"(
@batch io.k8s.api.batch.v1
CronJob apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:CronJobSpec!#2 status:CronJobStatus#3
CronJobSpec concurrencyPolicy:string#3 failedJobsHistoryLimit:*int32#7 jobTemplate:JobTemplateSpec!#5
  schedule:string!#1 startingDeadlineSeconds:*int64#2 successfulJobsHistoryLimit:*int32#6 suspend:*bool#4
  timeZone:*string#8
CronJobStatus active:[]core.ObjectReference#1 lastScheduleTime:time#4 lastSuccessfulTime:time#5
Job apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:JobSpec#2 status:JobStatus#3
JobCondition lastProbeTime:time#3 lastTransitionTime:time#4 message:string#6 reason:string#5 status:string!#2
  type:string!#1
JobSpec activeDeadlineSeconds:*int64#3 backoffLimit:*int32#7 backoffLimitPerIndex:*int32#12 completionMode:*string#9
  completions:*int32#2 managedBy:*string#15 manualSelector:*bool#5 maxFailedIndexes:*int32#13 parallelism:*int32#1
  podFailurePolicy:PodFailurePolicy#11 podReplacementPolicy:*string#14 selector:meta.LabelSelector#4
  successPolicy:SuccessPolicy#16 suspend:*bool#10 template:core.PodTemplateSpec!#6 ttlSecondsAfterFinished:*int32#8
JobStatus active:int32#4 completedIndexes:string#7 completionTime:time#3 conditions:[]JobCondition/type#1
  failed:int32#6 failedIndexes:*string#10 ready:*int32#9 startTime:time#2 succeeded:int32#5 terminating:*int32#11
  uncountedTerminatedPods:UncountedTerminatedPods#8
JobTemplateSpec metadata:meta.ObjectMeta#1 spec:JobSpec#2
PodFailurePolicy rules:[]PodFailurePolicyRule!#1
PodFailurePolicyOnExitCodesRequirement containerName:*string#1 operator:string!#2 values:[]int32!#3
PodFailurePolicyOnPodConditionsPattern status:string#2 type:string!#1
PodFailurePolicyRule action:string!#1 onExitCodes:PodFailurePolicyOnExitCodesRequirement#2
  onPodConditions:[]PodFailurePolicyOnPodConditionsPattern#3
SuccessPolicy rules:[]SuccessPolicyRule!#1
SuccessPolicyRule succeededCount:*int32#2 succeededIndexes:*string#1
UncountedTerminatedPods failed:[]string#2 succeeded:[]string#1
)";

static constexpr std::string_view kCertificates = R"(
@certificates io.k8s.api.certificates.v1
CertificateSigningRequest apiVersion:string kind:string metadata:meta.ObjectMeta#1
  spec:CertificateSigningRequestSpec!#2 status:CertificateSigningRequestStatus#3
CertificateSigningRequestCondition lastTransitionTime:time#5 lastUpdateTime:time#4 message:string#3 reason:string#2
  status:string!#6 type:string!#1
CertificateSigningRequestSpec expirationSeconds:*int32#8 extra:any groups:[]string#4 request:bytes!#1
  signerName:string!#7 uid:string#3 usages:[]string#5 username:string#2
CertificateSigningRequestStatus certificate:bytes#2 conditions:[]CertificateSigningRequestCondition#1
)";

static constexpr std::string_view kDiscovery = R"(
@discovery io.k8s.api.discovery.v1
Endpoint addresses:[]string!#1 conditions:EndpointConditions#2 deprecatedTopology:{}string#5 hints:EndpointHints#8
  hostname:*string#3 nodeName:*string#6 targetRef:core.ObjectReference#4 zone:*string#7
EndpointConditions ready:*bool#1 serving:*bool#2 terminating:*bool#3
EndpointHints forNodes:[]ForNode#2 forZones:[]ForZone#1
EndpointPort appProtocol:*string#4 name:*string#1 port:*int32#3 protocol:*string#2
EndpointSlice addressType:string!#4 apiVersion:string endpoints:[]Endpoint#2 kind:string metadata:meta.ObjectMeta#1
  ports:[]EndpointPort#3
ForNode name:string!#1
ForZone name:string!#1
)";

static constexpr std::string_view kFlowControl = R"(
@flowcontrol io.k8s.api.flowcontrol.v1
ExemptPriorityLevelConfiguration lendablePercent:*int32#2 nominalConcurrencyShares:*int32#1
FlowDistinguisherMethod type:string!#1
FlowSchema apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:FlowSchemaSpec#2 status:FlowSchemaStatus#3
FlowSchemaCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string#2 type:string#1
FlowSchemaSpec distinguisherMethod:FlowDistinguisherMethod#3 matchingPrecedence:int32#2
  priorityLevelConfiguration:PriorityLevelConfigurationReference!#1 rules:[]PolicyRulesWithSubjects#4
FlowSchemaStatus conditions:[]FlowSchemaCondition/type#1
GroupSubject name:string!#1
LimitResponse queuing:QueuingConfiguration#2 type:string!#1
LimitedPriorityLevelConfiguration borrowingLimitPercent:*int32#4 lendablePercent:*int32#3
  limitResponse:LimitResponse#2 nominalConcurrencyShares:*int32#1
NonResourcePolicyRule nonResourceURLs:[]string!#6 verbs:[]string!#1
PolicyRulesWithSubjects nonResourceRules:[]NonResourcePolicyRule#3 resourceRules:[]ResourcePolicyRule#2
  subjects:[]Subject!#1
PriorityLevelConfiguration apiVersion:string kind:string metadata:meta.ObjectMeta#1
  spec:PriorityLevelConfigurationSpec#2 status:PriorityLevelConfigurationStatus#3
PriorityLevelConfigurationCondition lastTransitionTime:time#3 message:string#5 reason:string#4 status:string#2
  type:string#1
PriorityLevelConfigurationReference name:string!#1
PriorityLevelConfigurationSpec exempt:ExemptPriorityLevelConfiguration#3 limited:LimitedPriorityLevelConfiguration#2
  type:string!#1
PriorityLevelConfigurationStatus conditions:[]PriorityLevelConfigurationCondition/type#1
QueuingConfiguration handSize:int32#2 queueLengthLimit:int32#3 queues:int32#1
ResourcePolicyRule apiGroups:[]string!#2 clusterScope:bool#4 namespaces:[]string#5 resources:[]string!#3
  verbs:[]string!#1
ServiceAccountSubject name:string!#2 namespace:string!#1
Subject group:GroupSubject#3 kind:string!#1 serviceAccount:ServiceAccountSubject#4 user:UserSubject#2
UserSubject name:string!#1
)";

static constexpr std::string_view kNetworking = R"(
@networking io.k8s.api.networking.v1
HTTPIngressPath backend:IngressBackend!#2 path:string#1 pathType:*string!#3
HTTPIngressRuleValue paths:[]HTTPIngressPath!#1
IPAddress apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:IPAddressSpec!#2
IPAddressSpec parentRef:ParentReference!#1
IPBlock cidr:string!#1 except:[]string#2
Ingress apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:IngressSpec#2 status:IngressStatus#3
IngressBackend resource:core.TypedLocalObjectReference#3 service:IngressServiceBackend#4
IngressClass apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:IngressClassSpec#2
IngressClassParametersReference apiGroup:*string#1 kind:string!#2 name:string!#3 namespace:*string#5 scope:*string#4
IngressClassSpec controller:string#1 parameters:IngressClassParametersReference#2
IngressLoadBalancerIngress hostname:string#2 ip:string#1 ports:[]IngressPortStatus#4
IngressLoadBalancerStatus ingress:[]IngressLoadBalancerIngress#1
IngressPortStatus error:*string#3 port:int32!#1 protocol:string!#2
IngressRule host:string#1 http:HTTPIngressRuleValue#2.1
IngressServiceBackend name:string!#1 port:ServiceBackendPort#2
IngressSpec defaultBackend:IngressBackend#1 ingressClassName:*string#4 rules:[]IngressRule#3 tls:[]IngressTLS#2
IngressStatus loadBalancer:IngressLoadBalancerStatus#1
IngressTLS hosts:[]string#1 secretName:string#2
NetworkPolicy apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:NetworkPolicySpec#2
NetworkPolicyEgressRule ports:[]NetworkPolicyPort#1 to:[]NetworkPolicyPeer#2
NetworkPolicyIngressRule from:[]NetworkPolicyPeer#2 ports:[]NetworkPolicyPort#1
NetworkPolicyPeer ipBlock:IPBlock#3 namespaceSelector:meta.LabelSelector#2 podSelector:meta.LabelSelector#1
NetworkPolicyPort endPort:*int32#3 port:intorstring#2 protocol:*string#1
NetworkPolicySpec egress:[]NetworkPolicyEgressRule#3 ingress:[]NetworkPolicyIngressRule#2
  podSelector:meta.LabelSelector#1 policyTypes:[]string#4
ParentReference group:string#1 name:string!#4 namespace:string#3 resource:string!#2
ServiceBackendPort name:string#1 number:int32#2
ServiceCIDR apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:ServiceCIDRSpec#2 status:ServiceCIDRStatus#3
ServiceCIDRSpec cidrs:[]string#1
ServiceCIDRStatus conditions:[]meta.Condition/type#1
)";

static constexpr std::string_view kRbac = R"(
@rbac io.k8s.api.rbac.v1
AggregationRule clusterRoleSelectors:[]meta.LabelSelector#1
ClusterRole aggregationRule:AggregationRule#3 apiVersion:string kind:string metadata:meta.ObjectMeta#1
  rules:[]PolicyRule#2
ClusterRoleBinding apiVersion:string kind:string metadata:meta.ObjectMeta#1 roleRef:RoleRef!#3 subjects:[]Subject#2
PolicyRule apiGroups:[]string#2 nonResourceURLs:[]string#5 resourceNames:[]string#4 resources:[]string#3
  verbs:[]string!#1
Role apiVersion:string kind:string metadata:meta.ObjectMeta#1 rules:[]PolicyRule#2
RoleBinding apiVersion:string kind:string metadata:meta.ObjectMeta#1 roleRef:RoleRef!#3 subjects:[]Subject#2
RoleRef apiGroup:string#1 kind:string!#2 name:string!#3
Subject apiGroup:string#2 kind:string!#1 name:string!#3 namespace:string#4
)";

// Pod groups as Kubernetes 1.37 has them.
static constexpr std::string_view kSchedulingV1beta1 = R"(
@schedulingv1beta1 io.k8s.api.scheduling.v1beta1
AllCompositeDisruptionMode
AllDisruptionMode
BasicSchedulingPolicy
CompositeBasicSchedulingPolicy
CompositeDisruptionMode all:*AllCompositeDisruptionMode#2 single:*SingleCompositeDisruptionMode#1
CompositeGangSchedulingPolicy minGroupCount:int32!#1
CompositePodGroupSchedulingConstraints topology:[]TopologyConstraint#1
CompositePodGroupSchedulingPolicy basic:*CompositeBasicSchedulingPolicy#1 gang:*CompositeGangSchedulingPolicy#2
CompositePodGroupTemplate compositePodGroupTemplates:[]CompositePodGroupTemplate#9
  disruptionMode:*CompositeDisruptionMode#4 name:string!#1 podGroupTemplates:[]PodGroupTemplate#8
  preemptionPolicy:*string#7 priority:*int32#6 priorityClassName:string#5
  schedulingConstraints:*CompositePodGroupSchedulingConstraints#3 schedulingPolicy:CompositePodGroupSchedulingPolicy!#2
DisruptionMode all:*AllDisruptionMode#2 single:*SingleDisruptionMode#1
GangSchedulingPolicy minCount:int32!#1
PodGroup apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:PodGroupSpec!#2 status:PodGroupStatus#3
PodGroupResourceClaim name:string!#1 resourceClaimName:*string#2 resourceClaimTemplateName:*string#3
PodGroupResourceClaimStatus name:string!#1 resourceClaimName:*string#2
PodGroupSchedulingConstraints topology:[]TopologyConstraint#1
PodGroupSchedulingPolicy basic:*BasicSchedulingPolicy#1 gang:*GangSchedulingPolicy#2
PodGroupSpec disruptionMode:*DisruptionMode#6 parentCompositePodGroupName:*string#1 preemptionPolicy:*string#9
  priority:*int32#8 priorityClassName:string#7 resourceClaims:[]PodGroupResourceClaim/name~#5
  schedulingConstraints:*PodGroupSchedulingConstraints#4 schedulingPolicy:PodGroupSchedulingPolicy!#3
  workloadRef:*WorkloadReference#2
PodGroupStatus conditions:[]meta.Condition/type#1 resourceClaimStatuses:[]PodGroupResourceClaimStatus/name~#2
PodGroupTemplate disruptionMode:*DisruptionMode#5 name:string!#1 preemptionPolicy:*string#8 priority:*int32#7
  priorityClassName:string#6 resourceClaims:[]PodGroupResourceClaim/name~#4
  schedulingConstraints:*PodGroupSchedulingConstraints#3 schedulingPolicy:PodGroupSchedulingPolicy!#2
SingleCompositeDisruptionMode
SingleDisruptionMode
TopologyConstraint key:string!#1
TypedLocalObjectReference apiGroup:string#1 kind:string!#2 name:string!#3
Workload apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:WorkloadSpec!#2
WorkloadReference templateName:string!#2 workloadName:string!#1
WorkloadSpec compositePodGroupTemplates:[]CompositePodGroupTemplate#3 controllerRef:*TypedLocalObjectReference#1
  podGroupTemplates:[]PodGroupTemplate#2
)";

static constexpr std::string_view kSchedulingV1alpha3 = R"(
@schedulingv1alpha3 io.k8s.api.scheduling.v1alpha3
AllCompositeDisruptionMode
CompositeBasicSchedulingPolicy
CompositeDisruptionMode all:*AllCompositeDisruptionMode#2 single:*SingleCompositeDisruptionMode#1
CompositeGangSchedulingPolicy minGroupCount:int32!#1
CompositePodGroup apiVersion:string kind:string metadata:meta.ObjectMeta#1 spec:CompositePodGroupSpec!#2
  status:CompositePodGroupStatus#3
CompositePodGroupSchedulingConstraints topology:[]TopologyConstraint#1
CompositePodGroupSchedulingPolicy basic:*CompositeBasicSchedulingPolicy#1 gang:*CompositeGangSchedulingPolicy#2
CompositePodGroupSpec disruptionMode:*CompositeDisruptionMode#5 parentCompositePodGroupName:*string#1
  preemptionPolicy:*string#8 priority:*int32#7 priorityClassName:string#6
  schedulingConstraints:*CompositePodGroupSchedulingConstraints#4 schedulingPolicy:CompositePodGroupSchedulingPolicy!#3
  workloadRef:WorkloadReference!#2
CompositePodGroupStatus conditions:[]meta.Condition/type#1
SingleCompositeDisruptionMode
TopologyConstraint key:string!#1
WorkloadReference templateName:string!#2 workloadName:string!#1
)";

// The kinds of metrics-server.
static constexpr std::string_view kMetricsV1beta1 = R"(
@metricsv1beta1 io.k8s.metrics.pkg.apis.metrics.v1beta1
ContainerMetrics name:string!#1 usage:{}quantity!#2
NodeMetrics apiVersion:string kind:string metadata:meta.ObjectMeta#1 timestamp:time!#2 usage:{}quantity!#4 window:string!#3
PodMetrics apiVersion:string containers:[]ContainerMetrics!#4 kind:string metadata:meta.ObjectMeta#1 timestamp:time!#2
  window:string!#3
)";

std::array<std::string_view, 15> ClusterSchemaTexts() {
  return {kAdmissionRegistration,
          kApiExtensions,
          kApiRegistration,
          kAuthentication,
          kAuthorization,
          kAutoscalingV2,
          kBatch,
          kCertificates,
          kDiscovery,
          kFlowControl,
          kNetworking,
          kRbac,
          kSchedulingV1beta1,
          kSchedulingV1alpha3,
          kMetricsV1beta1};
}

}  // namespace berth::objects::internal
