// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The workloads of bench/cluster, small.
const (
	countedNodes = 100
	basicPods    = 500
	steadyPods   = 200
	steadyRate   = 50 // a second
	affinePods   = 300
	plainPods    = 200 // beside others that fit nowhere
	tooBigPods   = 20
	churnTurns   = 20
	churnPods    = 10 // in each turn
	gangsCounted = 10
	gangMembers  = 8

	preemptors      = 60 // and as many nodes
	lowPodsANode    = 4
	victimsExpected = 3 // for each preemptor
)

// usualBounds are those of pods that get their node at the first attempt: a binding and an event for each, and nothing
// else. What is the same in every run has little headroom. Wake-ups have much, because a busy machine hands over several
// answers at once, and a quick one each by itself. A GET asks for the API server's version, or is a watch of pods that the
// server has closed, as it does on a busy machine to one that does not read fast enough.
func usualBounds(others ...bound) []bound {
	return append([]bound{
		{countAttempts, 1.1}, {countScheduled, 1}, {countErrors, 0}, {countThrottled, 0}, {countNotSent, 0},
		{countCycles, 1.1}, {countGates, 1.2}, {countMoves, 0}, {countPreemptions, 0}, {countWakeUps, 6},
		{countSent, 750}, {countReceived, 4300}, {countConnections, 0},
		{countRequests + "POST 201", 2.1}, {countRequests + "GET 200", 0.1},
		{countEvents + "Scheduled", 1}, {countUnbound, 0},
	}, others...)
}

// tooBigBounds are for some pods among the others that fit nowhere, one of eleven: each is tried once and told once.
func tooBigBounds(others ...bound) []bound {
	return usualBounds(append([]bound{
		{countRefused, 0.1}, {countMoves, 0.12}, {countPreemptions, 0.1},
		{countRequests + "PATCH 200", 0.12}, {countEvents + "FailedScheduling", 0.1},
	}, others...)...)
}

var countedWorkloads = []workload{
	{
		name: "basic", pods: basicPods, binds: basicPods,
		prepare: func(t *testing.T, c *harness.Cluster) { c.CreateNodes(t, nodes(countedNodes)...) },
		run:     func(t *testing.T, c *harness.Cluster) { c.CreatePods(t, 0, podsNamed("pod", basicPods, basicPod)...) },
		bounds:  usualBounds(),
	},
	{
		name: "steady", pods: steadyPods, binds: steadyPods,
		prepare: func(t *testing.T, c *harness.Cluster) { c.CreateNodes(t, nodes(countedNodes)...) },
		run: func(t *testing.T, c *harness.Cluster) {
			c.CreatePods(t, steadyRate, podsNamed("pod", steadyPods, basicPod)...)
		},
		bounds: usualBounds(bound{countWakeUps, 12}),
	},
	{
		name: "podaffinity", pods: affinePods, binds: affinePods, existing: countedNodes,
		prepare: func(t *testing.T, c *harness.Cluster) {
			zoned := nodes(countedNodes)
			for _, node := range zoned {
				node.Labels[corev1.LabelTopologyZone] = "zone1"
			}
			c.CreateNodes(t, zoned...)
			there := podsNamed("there", countedNodes, affinePod)
			for i, pod := range there {
				pod.Spec.NodeName = zoned[i].Name
			}
			c.CreatePods(t, 0, there...)
		},
		run:    func(t *testing.T, c *harness.Cluster) { c.CreatePods(t, 0, podsNamed("pod", affinePods, affinePod)...) },
		bounds: usualBounds(),
	},
	{
		name: "unschedulable", pods: plainPods + tooBigPods, binds: plainPods,
		prepare: func(t *testing.T, c *harness.Cluster) { c.CreateNodes(t, nodes(countedNodes)...) },
		run: func(t *testing.T, c *harness.Cluster) {
			big := podsNamed("big", tooBigPods, tooBigPod)
			var pods []*corev1.Pod
			for i, pod := range podsNamed("pod", plainPods, basicPod) {
				if each := plainPods / tooBigPods; i%each == 0 {
					pods = append(pods, big[i/each])
				}
				pods = append(pods, pod)
			}
			c.CreatePods(t, steadyRate, pods...)
		},
		bounds: tooBigBounds(bound{countWakeUps, 12}),
	},
	{
		name: "churn", pods: churnTurns * (churnPods + 1), binds: churnTurns * churnPods,
		prepare: func(t *testing.T, c *harness.Cluster) { c.CreateNodes(t, nodes(countedNodes)...) },
		run:     churn,
		// A pod may be gone before it has been told.
		bounds: tooBigBounds(bound{countWakeUps, 8}, bound{countRequests + "PATCH 404", 0.1}),
	},
	{
		name: "gangs", pods: gangsCounted * gangMembers, binds: gangsCounted * gangMembers, gates: gangGates,
		prepare: func(t *testing.T, c *harness.Cluster) { c.CreateNodes(t, nodes(countedNodes)...) },
		run: func(t *testing.T, c *harness.Cluster) {
			// Member by member, so that all gangs are waited for at the same time.
			var order []arrival
			var gangs []gang
			for i := range gangsCounted {
				gangs = append(gangs, gang{name: fmt.Sprintf("gang-%03d", i), size: gangMembers, minCount: gangMembers, ask: room{500, 256 << 20, 1}})
			}
			for m := -1; m < gangMembers; m++ {
				for i := range gangs {
					order = append(order, arrival{&gangs[i], m})
				}
			}
			k := newGangChecker(gangs, nodes(countedNodes))
			c.CreateInOrder(t, len(order), 0, func(ctx context.Context, i int) error { return order[i].create(ctx, c, k) })
		},
		// The members wait for the last of their gang; the group's condition is written once or twice.
		bounds: usualBounds(bound{countAttempts, 1.5}, bound{countCycles, 2}, bound{countGates, 2.5}, bound{countMoves, 2}, bound{countWakeUps, 10},
			bound{countSent, 1500}, bound{countReceived, 9000}, bound{countRequests + "POST 201", 2.5}, bound{countRequests + "PATCH 200", 1.2},
			bound{countRequests + "GET 200", 0.1}, bound{countEvents + "FailedScheduling", 0.5}),
	},
}

// preemption fills the nodes with pods of low priority, three of which have to go for each of the pods that come.
var preemption = workload{
	name: "preemption", pods: preemptors, binds: preemptors, existing: preemptors * lowPodsANode,
	prepare: func(t *testing.T, c *harness.Cluster) { fillWithLow(t, c, nodes(preemptors)) },
	run:     func(t *testing.T, c *harness.Cluster) { c.CreatePods(t, 0, podsNamed("pod", preemptors, preemptor)...) },
	bounds: usualBounds(
		bound{countAttempts, 3}, bound{countRefused, 2}, bound{countCycles, 3}, bound{countGates, 4}, bound{countMoves, 3},
		bound{countPreemptions, 2}, bound{countVictims, victimsExpected}, bound{countWakeUps, 20}, bound{countSent, 5500}, bound{countReceived, 50000},
		bound{countRequests + "POST 201", 7}, bound{countRequests + "GET 200", 0.5}, bound{countRequests + "DELETE 200", victimsExpected},
		bound{countRequests + "PATCH 200", 5}, bound{countRequests + "PATCH 404", 0.04},
		bound{countEvents + "FailedScheduling", 2}, bound{countEvents + "Preempted", victimsExpected}),
}

// TestCounts holds what a pod costs, in counts, for small workloads.
func TestCounts(t *testing.T) {
	harness.NeedsBerth(t)
	c := startForCounts(t)
	for _, w := range countedWorkloads {
		t.Run(w.name, func(t *testing.T) {
			if w.gates != "" && harness.Before137(t) {
				t.Skip("kube-apiserver before 1.37 has another API for groups of pods, or none")
			}
			n := w.play(t, c, false)
			show(t, w.pods, n, w.bounds, "", nil)
			hold(t, w.pods, n, w.bounds)
		})
	}
	// kube-scheduler does the same, and shows what is usual.
	t.Run(preemption.name, func(t *testing.T) {
		var berth, upstream counts
		t.Run("berth", func(t *testing.T) {
			berth = preemption.play(t, c, false)
			preempted(t, c, berth)
		})
		t.Run("kube-scheduler", func(t *testing.T) { upstream = preemption.play(t, c, true) })
		if berth == nil || upstream == nil {
			return
		}
		show(t, preemption.pods, berth, preemption.bounds, "kube-scheduler", upstream)
		hold(t, preemption.pods, berth, preemption.bounds)
		if most := 3 * upstream[countAttempts]; berth[countAttempts] > most {
			t.Errorf("%.0f attempts, and kube-scheduler needed %.0f", berth[countAttempts], upstream[countAttempts])
		}
		patches, lost := 0.0, berth[countRequests+"PATCH 404"]
		for what, n := range berth {
			if strings.HasPrefix(what, countRequests+"PATCH ") {
				patches += n
			}
		}
		if lost > patches/100 {
			t.Errorf("%.0f of %.0f PATCHes were about pods that were gone", lost, patches)
		}
	})
}

// preempted holds victims, evictions and Preempted events against each other.
func preempted(t *testing.T, c *harness.Cluster, n counts) {
	t.Helper()
	const want = preemptors * victimsExpected
	low := 0
	for _, pod := range c.Pods(t) {
		if pod.Spec.PriorityClassName == "" {
			low++
		}
	}
	if evicted := preemptors*lowPodsANode - low; evicted != want {
		t.Errorf("%d pods were evicted, and %d have to go", evicted, want)
	}
	if n[countVictims] != want {
		t.Errorf("the metric of victims says %.0f; %d have to go", n[countVictims], want)
	}
	events := map[string]float64{}
	for _, event := range c.Events(t, "") {
		if event.Reason == "Preempted" {
			events[event.Regarding.Name] += timesOf(&event)
		}
	}
	if len(events) != want {
		t.Errorf("%d pods have a Preempted event, and %d have to go", len(events), want)
	}
	for name, times := range events {
		if times != 1 {
			t.Errorf("pod %s has %.0f Preempted events", name, times)
			break
		}
	}
}

func startForCounts(t *testing.T) *harness.Cluster {
	t.Helper()
	options := harness.Options{APIServer: []string{"--delete-collection-workers=8"}}
	if !harness.Before137(t) {
		options.APIServer = append(options.APIServer, "--feature-gates="+gangGates, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	}
	c := harness.StartCluster(t, options)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}
	if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(context.Background(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func podsNamed(prefix string, n int, make func(name string) *corev1.Pod) (pods []*corev1.Pod) {
	for i := range n {
		pods = append(pods, make(fmt.Sprintf("%s-%04d", prefix, i)))
	}
	return pods
}

func basicPod(name string) *corev1.Pod { return harness.Pod(name, "", "100m", "500Mi") }

// affinePod wants to be in a zone where another of its kind is.
func affinePod(name string) *corev1.Pod {
	pod := basicPod(name)
	pod.Labels["color"] = "blue"
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"color": "blue"}}, TopologyKey: corev1.LabelTopologyZone}}}}
	return pod
}

// tooBigPod asks for more CPU than any node has.
func tooBigPod(name string) *corev1.Pod {
	pod := harness.Pod(name, "", "9", "500Mi")
	pod.Spec.PriorityClassName = "high"
	return pod
}

func preemptor(name string) *corev1.Pod {
	pod := harness.Pod(name, "", "3", "500Mi")
	pod.Spec.PriorityClassName = "high"
	return pod
}

// fillWithLow creates nodes, and on each of them pods that go at once when they have to.
func fillWithLow(t *testing.T, c *harness.Cluster, nodes []*corev1.Node) {
	t.Helper()
	c.CreateNodes(t, nodes...)
	none := int64(0)
	low := podsNamed("low", len(nodes)*lowPodsANode, func(name string) *corev1.Pod { return harness.Pod(name, "", "900m", "500Mi") })
	for i, pod := range low {
		pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = nodes[i/lowPodsANode].Name, &none
	}
	c.CreatePods(t, 0, low...)
}

// churn creates pods, and with every few of them recreates a node without room, a service and a pod that fits nowhere.
func churn(t *testing.T, c *harness.Cluster) {
	t.Helper()
	none, ctx := int64(0), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	all := podsNamed("pod", churnTurns*churnPods, basicPod)
	pace := time.NewTicker(time.Second * churnPods / steadyRate)
	defer pace.Stop()
	for turn := range churnTurns {
		node := harness.Node(fmt.Sprintf("churn-%04d", turn))
		room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		node.Status.Capacity, node.Status.Allocatable = room, room
		if turn > 0 {
			must(c.Admin.CoreV1().Nodes().Delete(ctx, fmt.Sprintf("churn-%04d", turn-1), metav1.DeleteOptions{}))
			must(c.Admin.CoreV1().Services("default").Delete(ctx, "churn", metav1.DeleteOptions{}))
			must(c.Admin.CoreV1().Pods("default").Delete(ctx, fmt.Sprintf("big-%04d", turn-1), metav1.DeleteOptions{GracePeriodSeconds: &none}))
		}
		c.CreateNodes(t, node)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "churn"}, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "e2e"}, Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 8080}}}}
		_, err := c.Admin.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{})
		must(err)
		c.CreatePods(t, 0, append([]*corev1.Pod{tooBigPod(fmt.Sprintf("big-%04d", turn))}, all[turn*churnPods:(turn+1)*churnPods]...)...)
		<-pace.C
	}
	must(c.Admin.CoreV1().Services("default").Delete(ctx, "churn", metav1.DeleteOptions{}))
}
