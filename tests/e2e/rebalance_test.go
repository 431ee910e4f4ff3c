// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const consolidatePolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig: [{name: Consolidate, args: {keepNodes: 2}}]
  plugins: {balance: {enabled: [Consolidate]}}
`

// createWeb makes a Deployment of six pods and waits until they run.
func createWeb(t *testing.T, k kubectl) {
	t.Helper()
	k.ok(t, "create", "deployment", "web", "--image", "nginx", "--replicas", "6")
	k.ok(t, "rollout", "status", "deployment", "web", "--timeout", "90s")
}

// What Consolidate writes on nodes is server-side apply, whose rules about who owns a field are the API server's: the node
// that is emptied is cordoned and marked, is an administrator's after kubectl uncordon, and loses both when it is given up.
func TestConsolidateMarksNodes(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin, _ := startWithNodes(t, 3)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	waitServiceAccount(t, c, "default")
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	createWeb(t, k)

	policy := filepath.Join(c.Dir, "consolidate.yaml")
	if err := os.WriteFile(policy, []byte(consolidatePolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	process := harness.Start(t, harness.Command{Name: "rebalance", Dir: c.Dir, Args: []string{
		harness.Berth(t), "rebalance", "run", "--kubeconfig", admin, "--policy", policy, "--execute", "--interval", "1s",
		"--cool-down", "1s", "--moves-per-hour", "1000", "--moves-per-owner", "100%"}})
	const mark = "berth.dev/consolidating"
	cordoned := func() (string, string) {
		nodes, err := c.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		name, all := "", ""
		for _, node := range nodes.Items {
			all += fmt.Sprintf("%s: %v %q; ", node.Name, node.Spec.Unschedulable, node.Annotations[mark])
			if node.Spec.Unschedulable && node.Annotations[mark] == "true" {
				name = node.Name
			}
		}
		return name, all
	}
	is := func(name string, isCordoned bool, prefix string) func() (bool, string) {
		return func() (bool, string) {
			node, err := c.Admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			said, has := node.Annotations[mark]
			found := node.Spec.Unschedulable == isCordoned && strings.HasPrefix(said, prefix) && has == (prefix != "")
			return found, fmt.Sprintf("%v %q\n%s", node.Spec.Unschedulable, said, process.Output())
		}
	}
	var first string
	harness.Eventually(t, time.Minute, "a node is cordoned and marked", func() (bool, string) {
		name, all := cordoned()
		first = name
		return first != "", all + process.Output()
	})
	harness.Eventually(t, time.Minute, "it is emptied", func() (bool, string) {
		pods, err := c.Admin.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + first})
		if err != nil {
			t.Fatal(err)
		}
		return len(pods.Items) == 0, process.Output()
	})
	k.ok(t, "uncordon", first)
	harness.Eventually(t, time.Minute, "it is the administrator's for a while", is(first, false, "after "))

	// More pods take all nodes into use. Another node is emptied, until it gets a pod that nobody would make anew.
	k.ok(t, "scale", "deployment", "web", "--replicas", "12")
	var second string
	harness.Eventually(t, time.Minute, "a node is cordoned and marked again", func() (bool, string) {
		name, all := cordoned()
		second = name
		return second != "", all + process.Output()
	})
	k.ok(t, "run", "bare", "--image", "nginx", "--overrides", `{"spec": {"nodeName": "`+second+`"}}`)
	harness.Eventually(t, time.Minute, "it is given up", is(second, false, ""))
}

// Within the scheduler the places of evicted pods are kept until their replacements come: each goes where it was proved to
// go, while the evicted pods take their time to end.
func TestRebalanceWithinRun(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin, names := startWithNodes(t, 3)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	waitServiceAccount(t, c, "default")
	process := harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{
		harness.Berth(t), "run", "--kubeconfig", admin, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=500ms", "--rebalance", filepath.Join(folderOf(t, "examples/rebalance"), "policy.yaml"),
		"--rebalance-execute", "--rebalance-interval", "1s", "--rebalance-cool-down", "0s", "--rebalance-moves-per-owner", "100%"}})
	createWeb(t, k)
	on := func(node string) []string {
		pods, err := c.Admin.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil {
				found = append(found, pod.Name)
			}
		}
		return found
	}
	moved := len(on(names[0]))
	if moved == 0 {
		t.Fatalf("%s has no pods", names[0])
	}
	k.ok(t, "taint", "nodes", names[0], "maintenance=yes:NoSchedule")
	harness.Eventually(t, time.Minute, "the pods of the tainted node run elsewhere", func() (bool, string) {
		ready := strings.Count(process.Output(), "The replacement is ready where it was proved to go")
		return len(on(names[0])) == 0 && ready == moved, fmt.Sprint(on(names[0]), "\n", process.Output())
	})
	k.ok(t, "rollout", "status", "deployment", "web", "--timeout", "90s")
}
