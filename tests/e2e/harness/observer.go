// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Observer watches the pods of the default namespace with a connection of its own and remembers every node that a pod
// was ever seen on. It goes on after the API server was gone.
type Observer struct {
	mu       sync.Mutex
	nodes    map[types.UID]string
	problems []string
}

// Observe starts an observer, which ends with the test.
func (c *Cluster) Observe(t testing.TB) *Observer {
	t.Helper()
	o := &Observer{nodes: map[types.UID]string{}}
	c.FollowPods(t, func(pods []corev1.Pod) {
		for i := range pods {
			o.see(&pods[i])
		}
	}, func(_ watch.EventType, pod *corev1.Pod) { o.see(pod) })
	return o
}

// FollowPods lists and watches the pods of the default namespace until the test ends, also after the API server was gone:
// then there is another list.
func (c *Cluster) FollowPods(t testing.TB, listed func([]corev1.Pod), changed func(watch.EventType, *corev1.Pod)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c.followPods(ctx, listed, changed)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
}

// followPods lists, then watches until the stream ends.
func (c *Cluster) followPods(ctx context.Context, listed func([]corev1.Pod), changed func(watch.EventType, *corev1.Pod)) {
	pods := c.Admin.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	listed(list.Items)
	stream, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Error {
			return
		}
		changed(event.Type, pod)
	}
}

func (o *Observer) see(pod *corev1.Pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.nodes[pod.UID]
	if before != "" && before != pod.Spec.NodeName {
		o.problems = append(o.problems, fmt.Sprintf("pod %s was on node %s and then on %q", pod.Name, before, pod.Spec.NodeName))
	}
	if pod.Spec.NodeName != "" {
		o.nodes[pod.UID] = pod.Spec.NodeName
	}
}

// Bound is the number of pods that have been seen on a node.
func (o *Observer) Bound() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.nodes)
}

// WaitBound waits until n pods have been seen on a node.
func (o *Observer) WaitBound(t testing.TB, limit time.Duration, n int) {
	t.Helper()
	Eventually(t, limit, fmt.Sprintf("%d pods are bound", n), func() (bool, string) {
		bound := o.Bound()
		return bound >= n, fmt.Sprintf("%d are", bound)
	})
}

// Problems are the pods that changed their node.
func (o *Observer) Problems() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.problems...)
}

// Overfull names the nodes that hold more than they have room for, and the pods on nodes that do not exist.
func (c *Cluster) Overfull(t testing.TB) []string {
	t.Helper()
	nodes := must(c.Admin.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{}))(t)
	type use struct{ cpu, memory, pods int64 }
	uses := map[string]*use{}
	for i := range nodes.Items {
		uses[nodes.Items[i].Name] = &use{}
	}
	var problems []string
	for _, pod := range c.Pods(t) {
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		u := uses[pod.Spec.NodeName]
		if u == nil {
			problems = append(problems, fmt.Sprintf("pod %s is on node %s, which does not exist", pod.Name, pod.Spec.NodeName))
			continue
		}
		u.pods++
		for _, container := range pod.Spec.Containers {
			u.cpu += container.Resources.Requests.Cpu().MilliValue()
			u.memory += container.Resources.Requests.Memory().Value()
		}
	}
	for i := range nodes.Items {
		node, u, room := &nodes.Items[i], uses[nodes.Items[i].Name], nodes.Items[i].Status.Allocatable
		if u.cpu > room.Cpu().MilliValue() || u.memory > room.Memory().Value() || u.pods > room.Pods().Value() {
			problems = append(problems, fmt.Sprintf("node %s holds %d pods with %dm CPU and %d bytes, having room for %d, %dm and %d",
				node.Name, u.pods, u.cpu, u.memory, room.Pods().Value(), room.Cpu().MilliValue(), room.Memory().Value()))
		}
	}
	return problems
}

// ScheduledEvents compares the Scheduled events with the pods: one for each bound pod that tells its node, no other.
func (c *Cluster) ScheduledEvents(t testing.TB, scheduler string) (missing, wrong []string) {
	t.Helper()
	if scheduler == "" {
		scheduler = corev1.DefaultSchedulerName
	}
	pods := map[types.UID]*corev1.Pod{}
	for _, pod := range c.Pods(t) {
		pods[pod.UID] = pod.DeepCopy()
	}
	count := map[types.UID]int{}
	for _, event := range c.Events(t, "") {
		if event.Reason != "Scheduled" {
			continue
		}
		pod := pods[event.Regarding.UID]
		if pod == nil {
			wrong = append(wrong, fmt.Sprintf("event %s is about a pod that does not exist (%s)", event.Name, event.Regarding.Name))
			continue
		}
		count[pod.UID]++
		want := fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, pod.Spec.NodeName)
		if event.Note != want || event.Type != corev1.EventTypeNormal || event.Action != "Binding" || event.ReportingController != scheduler ||
			event.Regarding.Kind != "Pod" || event.Regarding.Name != pod.Name || event.Regarding.Namespace != pod.Namespace {
			wrong = append(wrong, fmt.Sprintf("event %s of %s (type %s, action %s) is about %s %s/%s and says %q, wanted %q",
				event.Name, event.ReportingController, event.Type, event.Action, event.Regarding.Kind, event.Regarding.Namespace, event.Regarding.Name, event.Note, want))
		}
	}
	for uid, pod := range pods {
		if count[uid] > 1 {
			wrong = append(wrong, fmt.Sprintf("pod %s has %d Scheduled events", pod.Name, count[uid]))
		}
		if pod.Spec.NodeName != "" && count[uid] == 0 {
			missing = append(missing, pod.Name)
		}
	}
	sort.Strings(missing)
	return missing, wrong
}
