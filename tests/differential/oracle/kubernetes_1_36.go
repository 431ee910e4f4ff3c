// SPDX-License-Identifier: Apache-2.0

//go:build !kubernetes_1_37

package main

// What the libraries of kube-scheduler 1.36 have of their own.

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

const (
	kubeVersion = "v1.36.3"
	gatesOff    = "SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false,OpportunisticBatching=false"
	// scoresCapacity says that VolumeBinding scores by CSIStorageCapacity.
	scoresCapacity = false
)

var newFamilies []family

// Pod groups have another API in 1.36, of an alpha version, and are no entities of its queue.
type podGroup struct{}
type compositePodGroup struct{}

var gatesOfGroups map[string]bool

func runGroups(*Case) (*Expected, error) {
	return nil, errors.New("objects.podGroups: kube-scheduler 1.36 has none of scheduling.k8s.io/v1beta1; ask that of 1.37")
}

func (e *engine) feedGroups([]*podGroup, []*compositePodGroup) error { return nil }

func (e *engine) addMember(*v1.Pod) {}

func newInformerFactory(client clientset.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}

func (e *engine) removeQueued(pod *v1.Pod) { e.sched.SchedulingQueue.Delete(pod) }

func evictNobody(executor *preemption.Executor) {
	executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) error {
		return nil
	}
}

func (w *preemptionWatch) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, pdbs []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	pods, violations, s := w.Interface.SelectVictimsOnNode(ctx, state, pod, node, pdbs)
	w.note(node, pods, violations, s)
	return pods, violations, s
}
