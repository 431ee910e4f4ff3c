// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

const (
	namespace  = metav1.NamespaceDefault
	ownerLabel = "app"
	poolLabel  = "pool"
	taintKey   = "maintenance"
	spotLabel  = "eks.amazonaws.com/capacityType" // with the value SPOT, which berth knows
	spotValue  = "SPOT"
	nodePods   = 110
)

// node is a Node as the scenario wants it.
type node struct {
	name, zone, pool        string
	cpu, memory             int64 // milli-CPU, MiB
	spot, tainted, cordoned bool
	absent                  bool // not in the cluster now
}

// owner is a Deployment or a StatefulSet, and its PodDisruptionBudget.
type owner struct {
	name         string
	isStateful   bool
	replicas     int
	cpu, memory  int64
	pool         string                               // of nodes that its pods need; empty: any
	tolerates    bool                                 // the taint
	spread       corev1.UnsatisfiableConstraintAction // over zones; empty: not
	wantsSpot    bool
	minAvailable *intstr.IntOrString // its budget's; nil: no budget
	neverEvicted bool                // the budget asks for all pods
}

// healthyMin is how many ready pods the budget asks for.
func (o *owner) healthyMin() int {
	if o.minAvailable == nil {
		return 0
	}
	n, _ := intstr.GetScaledValueFromIntOrPercent(o.minAvailable, o.replicas, true)
	return n
}

// shape is the whole cluster of a scenario: what is made, and what nodes become.
type shape struct {
	nodes  []*node
	owners []*owner
}

// Replicas of owners, in turn: a few large ones, many small ones.
var ownerSizes = []int{40, 20, 12, 6, 3, 3, 2, 1, 1}

var ownerRequests = [][2]int64{{100, 256}, {500, 1024}, {250, 512}, {1000, 1024}, {200, 768}}

// newShape makes owners of `pods` pods together, and nodes of which `utilization` is asked for once all of `full` of
// them are there.
func newShape(s *settings, of *scenario) *shape {
	made := &shape{}
	var cpu, memory int64
	left := s.pods
	for i := 0; left > 0; i++ {
		o := &owner{name: fmt.Sprintf("app-%03d", i), replicas: min(left, ownerSizes[i%len(ownerSizes)])}
		left -= o.replicas
		o.cpu, o.memory = ownerRequests[i%len(ownerRequests)][0], ownerRequests[i%len(ownerRequests)][1]
		o.isStateful = o.replicas == 3 && i%2 == 0
		if i%3 == 0 && o.replicas > 1 {
			o.minAvailable = new(intstr.IntOrString)
			*o.minAvailable = intstr.FromInt32(int32(o.replicas - 1))
			if o.replicas > 6 {
				*o.minAvailable = intstr.FromString("80%")
			}
		}
		if i%30 == 3 {
			o.minAvailable = new(intstr.IntOrString)
			*o.minAvailable, o.neverEvicted = intstr.FromString("100%"), true
		}
		if of.owner != nil {
			of.owner(i, o)
		}
		cpu += o.cpu * int64(o.replicas)
		memory += o.memory * int64(o.replicas)
		made.owners = append(made.owners, o)
	}
	full := max(1, int(math.Round(of.fullShare*float64(s.nodes))))
	cpuOf := int64(math.Ceil(float64(cpu)/of.utilization/float64(full)/100)) * 100
	// CPU is what is short; memory has a fifth more room.
	memoryOf := int64(math.Ceil(float64(memory) * 1.2 / of.utilization / float64(full)))
	for i := range s.nodes {
		n := &node{name: fmt.Sprintf("node-%03d", i), zone: fmt.Sprintf("zone-%c", 'a'+i%3), cpu: cpuOf, memory: memoryOf}
		of.node(float64(i)/float64(s.nodes), n)
		made.nodes = append(made.nodes, n)
	}
	return made
}

func (n *node) object() *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(n.cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(n.memory<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(nodePods, resource.DecimalSI),
	}
	labels := map[string]string{corev1.LabelHostname: n.name, corev1.LabelTopologyZone: n.zone, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	if n.pool != "" {
		labels[poolLabel] = n.pool
	}
	if n.spot {
		labels[spotLabel] = spotValue
	}
	made := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: labels},
		Spec:       corev1.NodeSpec{Unschedulable: n.cordoned},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}},
	}
	if n.cordoned {
		made.Spec.Taints = append(made.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	if n.tainted {
		made.Spec.Taints = append(made.Spec.Taints, corev1.Taint{Key: taintKey, Effect: corev1.TaintEffectNoSchedule})
	}
	return made
}

func (o *owner) template() corev1.PodTemplateSpec {
	labels := map[string]string{ownerLabel: o.name}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64),
		Containers: []corev1.Container{{Name: "main", Image: "registry.example/" + o.name + ":1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(o.cpu, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(o.memory<<20, resource.BinarySI),
		}}}},
	}
	*spec.TerminationGracePeriodSeconds = 30
	if o.pool != "" {
		spec.NodeSelector = map[string]string{poolLabel: o.pool}
	}
	if o.tolerates {
		spec.Tolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists}}
	}
	if o.spread != "" {
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: spreadSkew, TopologyKey: corev1.LabelTopologyZone,
			WhenUnsatisfiable: o.spread, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	}
	annotations := map[string]string{}
	if o.wantsSpot {
		annotations["berth.dev/spot"] = "preferred"
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: spotLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{spotValue}}}}}}}}
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: spec}
}

// create makes the owner and its budget.
func (o *owner) create(ctx context.Context, client kubernetes.Interface) error {
	meta := metav1.ObjectMeta{Name: o.name, Namespace: namespace}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{ownerLabel: o.name}}
	replicas := int32(o.replicas)
	var err error
	if o.minAvailable != nil {
		_, err = client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta,
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: o.minAvailable, Selector: selector}}, metav1.CreateOptions{})
		if exists(err) != nil {
			return err
		}
	}
	if o.isStateful {
		_, err = client.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: selector, Template: o.template(), PodManagementPolicy: appsv1.ParallelPodManagement}}, metav1.CreateOptions{})
	} else {
		_, err = client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: selector, Template: o.template()}}, metav1.CreateOptions{})
	}
	return exists(err)
}

// apply makes the API server's nodes what the shape says, and deletes the pods of nodes that have gone.
func (made *shape) apply(ctx context.Context, client kubernetes.Interface) error {
	listed, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[string]*corev1.Node{}
	for i := range listed.Items {
		there[listed.Items[i].Name] = &listed.Items[i]
	}
	if err := inParallel(len(made.nodes), func(i int) error {
		want, is := made.nodes[i], there[made.nodes[i].name]
		object := want.object()
		switch {
		case want.absent && is != nil:
			return client.CoreV1().Nodes().Delete(ctx, want.name, metav1.DeleteOptions{})
		case want.absent:
			return nil
		case is == nil:
			created, err := client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
			if err == nil && len(created.Status.Allocatable) == 0 {
				created.Status = object.Status
				_, err = client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
			}
			return err
		default:
			is.Spec = object.Spec
			_, err := client.CoreV1().Nodes().Update(ctx, is, metav1.UpdateOptions{})
			return err
		}
	}); err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, n := range made.nodes {
		gone[n.name] = n.absent
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	lost := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !gone[p.Spec.NodeName] })
	return inParallel(len(lost), func(i int) error { return deletePod(ctx, client, lost[i].Name, lost[i].UID) })
}

func deletePod(ctx context.Context, client kubernetes.Interface, name string, uid types.UID) error {
	now := int64(0)
	err := client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func exists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// inParallel calls f for 0..n-1 on a few goroutines and returns the first error. A call that fails is tried again.
func inParallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var first error
	var once sync.Once
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				var err error
				for try := range 4 {
					if err = f(i); err == nil {
						break
					}
					time.Sleep(100 * time.Millisecond << try)
				}
				if err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	workers.Wait()
	return first
}
