// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/schema_tables_groups.h"

namespace berth::objects::internal {

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

static constexpr std::string_view kMetricsV1beta1 = R"(
@metricsv1beta1 io.k8s.metrics.pkg.apis.metrics.v1beta1
ContainerMetrics name:string!#1 usage:{}quantity!#2
NodeMetrics apiVersion:string kind:string metadata:meta.ObjectMeta#1 timestamp:time!#2 usage:{}quantity!#4 window:string!#3
PodMetrics apiVersion:string containers:[]ContainerMetrics!#4 kind:string metadata:meta.ObjectMeta#1 timestamp:time!#2
  window:string!#3
)";

std::array<std::string_view, 3> OtherSchemaTexts() {
  return {kSchedulingV1beta1, kSchedulingV1alpha3, kMetricsV1beta1};
}

}  // namespace berth::objects::internal
