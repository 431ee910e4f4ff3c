// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// Programs that people run beside their scheduler (docs/works-with.md).

const kueueObjects = `apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: queue, namespace: default}
spec: {clusterQueue: team}
`

func queuedJob(name string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: default, labels: {kueue.x-k8s.io/queue-name: queue}}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
`, name)
}

// Kueue admits a Job as its quota allows, and berth places its pods; a second Job gets its turn when the first is gone.
func TestKueue(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"job-controller"}})
	c.StartKueue(t, "batch/job")
	c.CreateNodes(t, harness.Node("node-0"), harness.Node("node-1"))
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	c.Kubectl(t, kueueObjects, "apply", "-f", "-")
	c.Kubectl(t, queuedJob("first"), "create", "-f", "-")
	bound := func(job string) int {
		pods, err := c.Admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + job})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				n++
			}
		}
		return n
	}
	harness.Eventually(t, 60*time.Second, "the first Job's pods have nodes", func() (bool, string) {
		return bound("first") == 2, c.Kubectl(t, "", "get", "workloads,jobs,pods", "-o", "wide")
	})
	c.Kubectl(t, queuedJob("second"), "create", "-f", "-")
	harness.Eventually(t, 60*time.Second, "Kueue says that the second Job waits", func() (bool, string) {
		out := c.Kubectl(t, "", "get", "workloads", "-o", "yaml")
		return strings.Contains(out, "insufficient unused quota"), out
	})
	if second, err := c.Admin.BatchV1().Jobs("default").Get(ctx, "second", metav1.GetOptions{}); err != nil || !*second.Spec.Suspend {
		t.Errorf("the second Job runs without quota: %v %v", second, err)
	}
	c.Kubectl(t, "", "delete", "job", "first", "--wait=false")
	harness.Eventually(t, 60*time.Second, "the second Job's pods have nodes", func() (bool, string) {
		return bound("second") == 2, c.Kubectl(t, "", "get", "workloads,jobs,pods", "-o", "wide")
	})
}

// A MutatingAdmissionPolicy gives the pods of chosen namespaces to berth where the control plane is hosted, and its
// scheduler cannot be taken away. examples/hosted has the manifest.
func TestHostedControlPlane(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	var flags []string
	version := "v1"
	switch {
	case harness.Before136(t):
		version = "v1beta1" // off unless asked for
		flags = []string{"--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true"}
	}
	c := harness.StartCluster(t, harness.Options{APIServer: flags})
	c.CreateNodes(t, harness.Node("node-0"))
	kubeconfig := c.Kubeconfig(t, harness.SchedulerUser)
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: kubeconfig, Dir: c.Dir})
	harness.StartScheduler(t, harness.Scheduler{Name: "berth", Kubeconfig: kubeconfig, Dir: c.Dir})
	manifest, err := os.ReadFile(filepath.Join(folderOf(t, "examples/hosted"), "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, strings.ReplaceAll(string(manifest), "admissionregistration.k8s.io/v1\n", "admissionregistration.k8s.io/"+version+"\n"), "apply", "-f", "-")
	for _, name := range []string{"ours", "theirs"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "ours" {
			namespace.Labels = map[string]string{"berth.example.com/scheduler": "berth"}
		}
		if _, err := c.Admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(namespace, name, scheduler string) *corev1.Pod {
		pod := harness.Pod(name, scheduler, "10m", "1Mi")
		pod.Namespace = namespace
		made, err := c.Admin.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	// A policy takes effect a moment after it was made.
	i := 0
	harness.Eventually(t, 60*time.Second, "the policy is in force", func() (bool, string) {
		i++
		pod := create("ours", fmt.Sprintf("probe-%d", i), "")
		return pod.Spec.SchedulerName == "berth", pod.Spec.SchedulerName
	})
	if pod := create("ours", "web", ""); pod.Spec.SchedulerName != "berth" {
		t.Errorf("a pod of a chosen namespace is %s's", pod.Spec.SchedulerName)
	}
	if pod := create("ours", "named", "another"); pod.Spec.SchedulerName != "another" {
		t.Errorf("a pod that names its scheduler is %s's", pod.Spec.SchedulerName)
	}
	if pod := create("theirs", "web", ""); pod.Spec.SchedulerName != corev1.DefaultSchedulerName {
		t.Errorf("a pod of another namespace is %s's", pod.Spec.SchedulerName)
	}
	for namespace, reporter := range map[string]string{"ours": "berth", "theirs": corev1.DefaultSchedulerName} {
		harness.Eventually(t, 30*time.Second, "the pod of "+namespace+" is placed by "+reporter, func() (bool, string) {
			events, err := c.Admin.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err.Error()
			}
			for _, event := range events.Items {
				if event.Reason == "Scheduled" && event.Regarding.Name == "web" {
					return event.ReportingController == reporter, event.ReportingController
				}
			}
			return false, "no event"
		})
	}
}

// A Deployment that its autoscaler raises to 500 replicas at once, as KEDA and the HorizontalPodAutoscaler do it: through
// the scale subresource.
func TestScaleTo500(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true})
	for i := range 20 {
		c.CreateNodes(t, harness.Node(fmt.Sprintf("node-%d", i)))
	}
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	c.Kubectl(t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx, resources: {requests: {cpu: 10m, memory: 1Mi}}}]}
`, "create", "-f", "-")
	scales := c.Admin.AppsV1().Deployments("default")
	// The controllers write the Deployment at the same time.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		scale, err := scales.GetScale(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 500
		_, err = scales.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 120*time.Second, "500 pods have nodes", func() (bool, string) {
		pods, err := c.Admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: "0"})
		if err != nil {
			return false, err.Error()
		}
		bound := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		return bound == 500, fmt.Sprint(bound)
	})
}

// What Karpenter's own code makes of the pods that berth leaves: it would make a node for a pod that fits nowhere, and for
// no other.
func TestKarpenter(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	program := harness.Neighbour(t, "karpenter")
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	c.CreateNodes(t, harness.Node("node-0"))
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})

	capacity := harness.Node("node-0").Status.Allocatable[corev1.ResourceCPU]
	filler := harness.Pod("filler", "", capacity.String(), "1Mi")
	grace := int64(300) // it stays for as long as the test looks at the preemptor
	filler.Spec.TerminationGracePeriodSeconds = &grace
	c.CreatePods(t, 0, filler)
	c.WaitBound(t, 30*time.Second, "filler")
	gated := harness.Pod("gated", "", "10m", "1Mi")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	preemptor := harness.Pod("preemptor", "", "1", "1Mi")
	priority := int32(1000)
	preemptor.Spec.Priority = &priority
	c.CreatePods(t, 0, harness.Pod("too-large", "", "1000", "1Mi"), gated, preemptor)
	harness.Eventually(t, 30*time.Second, "berth has said what it thinks of each", func() (bool, string) {
		large, preempting := harness.Condition(c.GetPod(t, "too-large")), c.GetPod(t, "preemptor").Status.NominatedNodeName
		return large != nil && large.Reason == "Unschedulable" && preempting != "", fmt.Sprint(large, preempting)
	})
	pods, err := c.Admin.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pods)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Stdin = bytes.NewReader(text)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "filler ignored\ngated ignored\npreemptor ignored\ntoo-large provisionable\n"
	if string(out) != want {
		t.Errorf("Karpenter makes of the pods:\n%swanted:\n%s", out, want)
	}
}
