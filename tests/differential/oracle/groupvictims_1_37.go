// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_37

package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// genGroupVictims fills nodes with pods of groups and others, for single pods to make room among.
func genGroupVictims(g *gen) {
	o := &g.c.Objects
	for i, n := range g.addNodes(g.between(2, 7)) { // of distinct sizes, so that few nodes tie
		n.Labels["rack"] = pick(g, "r1", "r2", "r3")
		n.Status.Allocatable[v1.ResourceCPU] = qty(fmt.Sprintf("%dm", 2000+200*i+37*g.between(0, 9)))
		n.Status.Allocatable[v1.ResourceMemory] = qty(fmt.Sprintf("%dMi", 3000+1100*i+13*g.between(0, 30)))
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	far := g.chance(50) // filters look at pods of other nodes
	if far {
		g.addNamespaces()
	}
	if g.chance(50) {
		g.addBudgets()
	}
	size := func(p *v1.Pod, cpu ...string) {
		p.Spec.Containers[0].Resources.Requests = rl("cpu", pick(g, cpu...), "memory", pick(g, "128Mi", "300Mi", "700Mi"))
	}
	g.addBound(g.between(0, 9), func(p *v1.Pod) {
		p.Spec.Priority = ref(int32(pick(g, 0, 0, 10, 50, 200)))
		size(p, "300m", "700m", "1100m")
		if far && g.chance(25) {
			g.withPodAffinity(p)
		}
	})
	for i := range g.between(1, 4) {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("running%d", i), Namespace: "default", Generation: 1}}
		pg.UID = types.UID("pg-" + pg.Name)
		pg.Spec.Priority = ref(int32(pick(g, 0, 10, 10, 50, 200)))
		pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		if g.chance(30) {
			pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
		}
		pg.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
		for j := range g.between(1, 6) {
			p := g.newPod(fmt.Sprintf("%s-%d", pg.Name, j))
			size(p, "300m", "500m", "900m", "1300m")
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ref(pg.Name)}
			p.Spec.Priority = pg.Spec.Priority
			if g.chance(8) {
				p.Spec.Priority = ref(int32(pick(g, 0, 30, 300))) // the group's counts
			}
			if far && g.chance(30) {
				g.withPodAffinity(p)
			}
			node := g.node().Name
			if g.chance(1) {
				node = "gone"
			}
			g.bind(p, node)
			if g.chance(5) {
				p.DeletionTimestamp = ref(metav1.NewTime(podEpoch.Add(48 * time.Hour)))
				p.DeletionGracePeriodSeconds = ref(int64(30))
				p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
			}
		}
		if i == 0 || !g.chance(8) { // else the object is missing
			o.PodGroups = append(o.PodGroups, pg)
		}
	}
	g.addPending(g.between(1, 4), func(p *v1.Pod) {
		p.Spec.Priority = ref(int32(pick(g, 5, 20, 60, 100, 100)))
		// A group that helps on one node helps on others, and chance decides between them.
		if g.chance(70) {
			p.Spec.NodeSelector = map[string]string{hostKey: g.node().Name}
		}
		size(p, "900m", "1500m", "2100m", "2900m")
		switch {
		case far && g.chance(45):
			g.withPodAffinity(p)
		case far && g.chance(45):
			p.Spec.TopologySpreadConstraints = g.spreadConstraints(p)
		case g.chance(6):
			p.Spec.PreemptionPolicy = ref(v1.PreemptNever)
		case g.chance(10):
			p.Status.NominatedNodeName = g.node().Name
		}
	})
}
