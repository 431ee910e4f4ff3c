// SPDX-License-Identifier: Apache-2.0
// Package e2e tests berth against a real control plane. README.md says how to run it.
package e2e

import (
	"context"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// One pod on one node, with all that a user sees of it; the other tests build on this.
func TestOnePod(t *testing.T) {
	t.Cleanup(func() { harness.Hopeless.Store(t.Failed()) })
	c := harness.StartCluster(t, harness.Options{})
	version, err := c.Admin.Discovery().ServerVersion()
	if err != nil || version.GitVersion != harness.KubernetesVersion(t) {
		t.Errorf("the API server calls itself %v, %v", version, err)
	}
	c.CreateNodes(t, harness.Node("node-000"))
	o := c.Observe(t)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("pod", "", "1", "1Gi"), harness.Pod("of-another-scheduler", "another", "1", ""))
	o.WaitBound(t, 30*time.Second, 1)
	allIsWell(t, c, o)

	// What is not berth's, berth leaves alone.
	other := c.GetPod(t, "of-another-scheduler")
	if other.Spec.NodeName != "" || len(other.Status.Conditions) > 0 || len(c.Events(t, other.UID)) > 0 {
		t.Errorf("the pod of another scheduler has been touched: %q, %+v", other.Spec.NodeName, other.Status)
	}
	// A gated pod waits without a word until its gate is lifted.
	gated := harness.Pod("gated", "", "1", "")
	gated.Spec.SchedulingGates = append(gated.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "example.com/wait"})
	c.CreatePods(t, 0, gated)
	time.Sleep(time.Second) // in which a scheduler that overlooks the gate would bind it
	pod := c.GetPod(t, "gated")
	if condition := harness.Condition(pod); pod.Spec.NodeName != "" || condition == nil || condition.Reason != "SchedulingGated" {
		t.Errorf("the gated pod is on %q with %+v", pod.Spec.NodeName, condition)
	}
	if events := c.Events(t, pod.UID); len(events) > 0 {
		t.Errorf("there are events about the gated pod: %+v", events)
	}
	pod.Spec.SchedulingGates = nil
	if _, err := c.Admin.CoreV1().Pods("default").Update(context.Background(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("lifting the gate: %v", err)
	}
	c.WaitBound(t, 15*time.Second, "gated")
}
