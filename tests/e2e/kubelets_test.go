// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"berth-e2e/harness"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Simulated kubelets on the real control plane: with kube-controller-manager beside them a Deployment comes to life.
func TestKubelets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true})
	const scheduler = "berth"
	harness.StartKubelets(t, 3, c.Kubeconfig(t, "admin", "system:masters"), c.Dir)
	harness.StartScheduler(t, harness.Scheduler{Name: scheduler, Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})

	harness.Eventually(t, 30*time.Second, "three nodes are ready and without taints", func() (bool, string) {
		list, err := c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 3 {
			return false, fmt.Sprint(err)
		}
		for _, node := range list.Items {
			ready := false
			for _, condition := range node.Status.Conditions {
				ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
			}
			if !ready || len(node.Spec.Taints) > 0 {
				return false, fmt.Sprintf("%s: ready %v, taints %v", node.Name, ready, node.Spec.Taints)
			}
		}
		return true, ""
	})
	renewals := func() map[string]time.Time {
		at := map[string]time.Time{}
		list, err := c.Admin.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, lease := range list.Items {
			if lease.Spec.RenewTime != nil {
				at[lease.Name] = lease.Spec.RenewTime.Time
			}
		}
		return at
	}
	var first map[string]time.Time
	harness.Eventually(t, 20*time.Second, "every node has a lease", func() (bool, string) {
		first = renewals()
		return len(first) == 3, fmt.Sprint(first)
	})

	replicas, grace, labels := int32(3), int64(2), map[string]string{"app": "web"}
	_, err := c.Admin.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				SchedulerName: scheduler, TerminationGracePeriodSeconds: &grace,
				Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// running waits for three available replicas and returns the pods that make them up.
	running := func() map[types.UID]corev1.Pod {
		pods := map[types.UID]corev1.Pod{}
		harness.Eventually(t, 60*time.Second, "the Deployment has three available replicas", func() (bool, string) {
			deployment, err := c.Admin.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			clear(pods)
			for _, pod := range c.Pods(t) {
				if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
					pods[pod.UID] = pod
				}
			}
			return deployment.Status.AvailableReplicas == 3 && len(pods) == 3, fmt.Sprintf("%+v, %d pods run", deployment.Status, len(pods))
		})
		return pods
	}
	before := running()
	var doomed corev1.Pod
	for _, pod := range before {
		if pod.Status.PodIP == "" || pod.Status.StartTime == nil || len(pod.Status.ContainerStatuses) != 1 || !pod.Status.ContainerStatuses[0].Ready ||
			pod.Status.ContainerStatuses[0].State.Running == nil {
			t.Errorf("a running pod has a kubelet's status, not %+v", pod.Status)
		}
		doomed = pod
	}

	if err := c.Admin.CoreV1().Pods("default").Delete(ctx, doomed.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	if pod := c.GetPod(t, doomed.Name); pod == nil || pod.DeletionTimestamp == nil {
		t.Errorf("during its grace period the pod is there, with a deletionTimestamp; got %+v", pod)
	}
	harness.Eventually(t, 15*time.Second, "the deleted pod is gone", func() (bool, string) {
		pod := c.GetPod(t, doomed.Name)
		return pod == nil, fmt.Sprintf("%+v", pod)
	})
	t.Logf("a pod with %d s of grace was gone after %v", grace, time.Since(deleted).Round(100*time.Millisecond))
	after := running()
	if _, still := after[doomed.UID]; still {
		t.Error("the deleted pod still runs")
	}
	harness.Eventually(t, 30*time.Second, "every lease is renewed", func() (bool, string) {
		now := renewals()
		for name, at := range first {
			if !now[name].After(at) {
				return false, fmt.Sprintf("that of %s is still of %v", name, at)
			}
		}
		return true, ""
	})
}
