// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// examples/two-apps in a cluster: what kubectl apply -k makes is what berth then runs with, by that service account's
// rights, beside kube-scheduler, which places the scheduler's own pod.
func TestTwoApps(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	const system, name = metav1.NamespaceSystem, "two-apps-scheduler"
	c, admin := startWithKubeScheduler(t, 4)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	k.ok(t, "apply", "-k", folderOf(t, "examples/two-apps"))

	// The default scheduler and the kubelet stand-in bring the scheduler's pod up; its program runs here instead.
	var own corev1.Pod
	harness.Eventually(t, 60*time.Second, "the scheduler's own pod is running", func() (bool, string) {
		pods, err := c.Admin.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "component=" + name})
		if err != nil || len(pods.Items) != 1 {
			return false, fmt.Sprint(err)
		}
		own = pods.Items[0]
		return own.Status.Phase == corev1.PodRunning, string(own.Status.Phase)
	})
	if own.Spec.SchedulerName != corev1.DefaultSchedulerName || own.Spec.ServiceAccountName != name {
		t.Fatalf("its pod is of scheduler %q and service account %q", own.Spec.SchedulerName, own.Spec.ServiceAccountName)
	}
	berth := startFromPod(t, c, &own)

	k.ok(t, "apply", "-f", filepath.Join(folderOf(t, "examples/two-apps"), "apps.yaml"))
	nodes := map[string]map[string]int{}
	harness.Eventually(t, 60*time.Second, "eight pods are running", func() (bool, string) {
		clear(nodes)
		running := 0
		for _, pod := range c.Pods(t) {
			if pod.Status.Phase == corev1.PodRunning {
				running++
				app := pod.Labels["app"]
				if nodes[app] == nil {
					nodes[app] = map[string]int{}
				}
				nodes[app][pod.Spec.NodeName]++
			}
		}
		return running == 8, fmt.Sprintf("%d running: %v", running, nodes)
	})
	if len(nodes["red"]) != 1 || len(nodes["blue"]) != 1 {
		t.Errorf("an app is on more than one node: %v", nodes)
	}
	for node := range nodes["red"] {
		if nodes["blue"][node] > 0 {
			t.Errorf("both apps are on %s: %v", node, nodes)
		}
	}
	if output := berth.Output(); strings.Contains(output, "forbidden") {
		t.Errorf("the service account's rights are not enough:\n%s", output)
	}
}
