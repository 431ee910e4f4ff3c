// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is a ready node of 4 CPUs, 32Gi and 110 pods.
func Node(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
}

// Pod asks for cpu and memory ("" for none) and names its scheduler ("" for the default).
func Pod(name, scheduler, cpu, memory string) *corev1.Pod {
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": "e2e"}},
		Spec: corev1.PodSpec{
			SchedulerName: scheduler,
			Containers:    []corev1.Container{{Name: "main", Image: "registry.example/main:1", Resources: corev1.ResourceRequirements{Requests: requests}}},
		},
	}
}

// Retry repeats a call to the API server until it succeeds or ctx ends: the test kills the API server under its own
// feet. A call whose answer was lost may say "already exists" the second time; f forgives that itself if it wants to.
func Retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("given up: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// CreateNodes creates nodes.
func (c *Cluster) CreateNodes(t testing.TB, nodes ...*corev1.Node) {
	t.Helper()
	c.parallel(t, len(nodes), 0, func(ctx context.Context, i int) error {
		_, err := c.Admin.CoreV1().Nodes().Create(ctx, nodes[i], metav1.CreateOptions{})
		return exists(err)
	})
}

// CreatePods creates pods, at most so many a second (0: as fast as it goes).
func (c *Cluster) CreatePods(t testing.TB, rate int, pods ...*corev1.Pod) {
	t.Helper()
	c.parallel(t, len(pods), rate, func(ctx context.Context, i int) error {
		_, err := c.Admin.CoreV1().Pods(pods[i].Namespace).Create(ctx, pods[i], metav1.CreateOptions{})
		return exists(err)
	})
}

// CreateInOrder makes n requests, beginning them in order and at most so many a second (0: as fast as it goes). A request
// that fails is repeated, so that one whose answer was lost may find that what it creates exists.
func (c *Cluster) CreateInOrder(t testing.TB, n, rate int, f func(ctx context.Context, i int) error) {
	t.Helper()
	c.parallel(t, n, rate, func(ctx context.Context, i int) error { return exists(f(ctx, i)) })
}

func exists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (c *Cluster) parallel(t testing.TB, n, rate int, f func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	began := time.Now()
	var next atomic.Int64
	var failure atomic.Value
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if rate > 0 {
					time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				}
				if err := Retry(ctx, func() error { return f(ctx, i) }); err != nil {
					failure.Store(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if err, ok := failure.Load().(error); ok {
		t.Fatal(err)
	}
}

// GetPod reads a pod of the default namespace; nil when there is none.
func (c *Cluster) GetPod(t testing.TB, name string) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var pod *corev1.Pod
	err := Retry(ctx, func() (err error) {
		pod, err = c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// Pods lists the default namespace.
func (c *Cluster) Pods(t testing.TB) []corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var list *corev1.PodList
	if err := Retry(ctx, func() (err error) {
		list, err = c.Admin.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// DeletePod deletes a pod at once, without grace.
func (c *Cluster) DeletePod(t testing.TB, name string) {
	t.Helper()
	none := int64(0)
	if err := c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
}

// WaitBound waits until pods of the default namespace have a node, and returns it by name.
func (c *Cluster) WaitBound(t testing.TB, limit time.Duration, names ...string) map[string]string {
	t.Helper()
	where := map[string]string{}
	Eventually(t, limit, "pods are bound", func() (bool, string) {
		var waiting []string
		for _, name := range names {
			if pod := c.GetPod(t, name); pod != nil && pod.Spec.NodeName != "" {
				where[name] = pod.Spec.NodeName
			} else {
				waiting = append(waiting, name)
			}
		}
		return len(waiting) == 0, fmt.Sprintf("%d of %d wait, such as %s", len(waiting), len(names), strings.Join(waiting[:min(3, len(waiting))], ", "))
	})
	return where
}

// Events lists the events about an object, or all in the default namespace when uid is empty.
func (c *Cluster) Events(t testing.TB, uid types.UID) []eventsv1.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var list *eventsv1.EventList
	if err := Retry(ctx, func() (err error) {
		list, err = c.Admin.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if uid == "" {
		return list.Items
	}
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != uid })
}

// Condition is a pod's PodScheduled condition, or nil.
func Condition(pod *corev1.Pod) *corev1.PodCondition {
	if pod == nil {
		return nil
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
