// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_37

package main

// What the libraries of kube-scheduler 1.37 have of their own.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

const (
	kubeVersion = "v1.37.2"
	gatesOff    = "SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false,OpportunisticBatching=false,DRADeviceTaintRules=false"
	// scoresCapacity says that VolumeBinding scores by CSIStorageCapacity.
	scoresCapacity = true
)

var newFamilies = []family{
	{"storagecapacity", "StorageCapacityScoring: classes, capacities and shapes that score nodes for volumes to be provisioned", genStorageCapacity, false},
	{"volumelimits137", "VolumeLimitScaling: CSI drivers that keep pods off nodes without them, beside volume limits", genVolumeLimits137, false},
	{"podgroups", "gangs and basic pod groups, in cycles of the whole group, with topology and preemption", genPodGroups, true},
	{"groupvictims", "single pods that preempt where pod groups run, which are evicted whole or pod by pod", genGroupVictims, true},
	{"groupclaims", "claims of pod groups: shared by pods, reserved for groups, allocated before, given up, from templates", genGroupClaims, true},
	{"compositegroups", "groups of pod groups: trees of gangs, domains within domains, preemption of and for trees", genCompositeGroups, true},
}

func newInformerFactory(client clientset.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}

func (e *engine) removeQueued(pod *v1.Pod) { e.sched.SchedulingQueue.Delete(e.logger, pod) }

func evictNobody(executor *preemption.Executor) {
	executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) (bool, error) {
		return false, nil
	}
}

func (w *preemptionWatch) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, victims []*preemption.DomainVictim, pdbs []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, s := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, victims, pdbs)
	w.note(node, pods, violations, s)
	return pods, violations, s
}
