// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readyProfile is a file of deploy/config whose profile has another name.
func readyProfile(t *testing.T, dir, policy, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/config/" + policy + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.Replace(string(text), "- schedulerName: "+policy, "- schedulerName: "+name, 1)
	if !strings.Contains(renamed, "- schedulerName: "+name) {
		t.Fatalf("no schedulerName: %s in\n%s", policy, text)
	}
	return write(t, dir, renamed)
}

// nodesReady waits for n nodes that are ready and without taints, and returns their names.
func nodesReady(t *testing.T, c *harness.Cluster, n int) []string {
	t.Helper()
	var names []string
	harness.Eventually(t, 60*time.Second, fmt.Sprintf("%d nodes are ready and without taints", n), func() (bool, string) {
		list, err := c.Admin.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		names = nil
		for _, node := range list.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
					names = append(names, node.Name)
				}
			}
		}
		return len(names) == n, fmt.Sprint(names)
	})
	return names
}

// startWithNodes starts a cluster that has kube-controller-manager and n ready nodes of simulated kubelets. It returns the
// administrator's kubeconfig and the nodes' names as well.
func startWithNodes(t *testing.T, n int) (*harness.Cluster, string, []string) {
	t.Helper()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	harness.StartKubelets(t, n, admin, c.Dir)
	return c, admin, nodesReady(t, c, n)
}

// runBerth runs a subcommand of berth that has to end by itself, and well.
func runBerth(t *testing.T, dir string, args ...string) {
	t.Helper()
	p := harness.Start(t, harness.Command{Name: "berth-" + args[0], Dir: dir, Args: append([]string{harness.Berth(t)}, args...), MayEnd: true})
	if code, ended := p.Wait(30 * time.Second); !ended || code != 0 {
		t.Fatalf("berth %s: ended %v with %d:\n%s", strings.Join(args, " "), ended, code, p.Output())
	}
}

const nginxOfHightower = `apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, labels: {app: nginx}}
spec:
  replicas: 1
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      schedulerName: hightower
      terminationGracePeriodSeconds: 1
      containers:
      - {name: nginx, image: "nginx:1.27", resources: {requests: {cpu: 500m, memory: 128M}}}
`

// The well-known walk-throughs of schedulers that people write, with berth in their place.
func TestWalkthroughs(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin, nodes := startWithNodes(t, 6)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}

	// where waits until the pods of an app are running and no others of it are left, and counts them by node.
	where := func(t *testing.T, app string, n int) map[string]int {
		t.Helper()
		counts := map[string]int{}
		harness.Eventually(t, 60*time.Second, fmt.Sprintf("%d pods of %s are running", n, app), func() (bool, string) {
			clear(counts)
			all, running := 0, 0
			for _, pod := range c.Pods(t) {
				if pod.Labels["app"] != app {
					continue
				}
				all++
				if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
					running++
					counts[pod.Spec.NodeName]++
				}
			}
			return all == n && running == n, fmt.Sprintf("%d of %d", running, all)
		})
		return counts
	}
	gone := func(t *testing.T, app string) {
		t.Helper()
		where(t, app, 0)
	}

	t.Run("hightower", func(t *testing.T) {
		proxy := harness.Start(t, harness.Command{Name: "kubectl-proxy", Dir: c.Dir, Args: []string{
			harness.ControlPlane(t, "kubectl"), "proxy", "--port=0", "--kubeconfig", admin}})
		var address string
		harness.Eventually(t, 20*time.Second, "kubectl proxy serves", func() (bool, string) {
			_, address, _ = strings.Cut(proxy.Output(), "Starting to serve on ")
			return address != "", proxy.Output()
		})
		master := "http://" + strings.Fields(address)[0]
		harness.Start(t, harness.Command{Name: "berth-hightower", Dir: c.Dir, Args: []string{
			harness.Berth(t), "run", "--master", master, "--config", readyProfile(t, c.Dir, "best-price", "hightower")}})

		prices := func() map[string]string {
			list, err := c.Admin.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]string{}
			for _, node := range list.Items {
				if price, ok := node.Annotations["berth.dev/price"]; ok {
					found[node.Name] = price
				}
			}
			return found
		}
		manifest := write(t, c.Dir, nginxOfHightower)
		// place creates the Deployment, tells its pod's node, and takes it away again.
		place := func() string {
			t.Helper()
			k.ok(t, "create", "-f", manifest)
			var node string
			for node = range where(t, "nginx", 1) {
			}
			k.ok(t, "delete", "-f", manifest)
			gone(t, "nginx")
			return node
		}
		price := func(args ...string) {
			runBerth(t, c.Dir, append(append([]string{"price"}, args...), "--master", master)...)
		}

		price("random", "--seed", "7")
		first := prices()
		if len(first) != len(nodes) {
			t.Fatalf("prices are %v", first)
		}
		cheapest := place()
		if lowest := slices.Min(slices.Collect(maps.Values(first))); first[cheapest] != lowest {
			t.Errorf("the pod went to %s, and prices are %v", cheapest, first)
		}
		// Another node becomes the cheapest by far.
		other := nodes[slices.IndexFunc(nodes, func(node string) bool { return node != cheapest })]
		price("set", other, "0.01")
		if node := place(); node != other {
			t.Errorf("after the change the pod went to %s instead of %s", node, other)
		}
		// It is the cheapest still, and full.
		ballast := harness.Pod("ballast", "", "4", "")
		ballast.Spec.NodeName = other
		c.CreatePods(t, 0, ballast)
		now := prices()
		delete(now, other)
		if node := place(); node == other || now[node] != slices.Min(slices.Collect(maps.Values(now))) {
			t.Errorf("with %s full the pod went to %s, and the others cost %v", other, node, now)
		}
		// A price that is none, and a node without one, stop nothing.
		k.ok(t, "annotate", "node", nodes[0], "berth.dev/price=cheap", "--overwrite")
		k.ok(t, "annotate", "node", nodes[1], "berth.dev/price-")
		if node := place(); node == nodes[0] || node == nodes[1] {
			t.Errorf("the pod went to %s, which has no price", node)
		}
		c.DeletePod(t, "ballast")
		price("clear")
		if left := prices(); len(left) > 0 {
			t.Errorf("prices are left: %v", left)
		}
	})

	t.Run("escheduler", func(t *testing.T) {
		deployment := strings.NewReplacer("name: nginx, labels", "name: busybox, labels", "app: nginx", "app: busybox", "replicas: 1", "replicas: 3",
			"schedulerName: hightower", "schedulerName: escheduler").Replace(nginxOfHightower)
		k.apply(t, "apply", deployment)
		harness.Eventually(t, 30*time.Second, "three pods are pending", func() (bool, string) {
			out := k.ok(t, "get", "pods", "-l", "app=busybox", "--no-headers")
			return strings.Count(out, "Pending") == 3, out
		})
		harness.StartScheduler(t, harness.Scheduler{Name: "escheduler", Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, Log: "berth-escheduler"})
		where(t, "busybox", 3)
		matches(t, k.ok(t, "get", "deployment", "busybox", "--no-headers"), `^busybox +3/3 +3 +3 `)
		k.ok(t, "delete", "deployment", "busybox")
		gone(t, "busybox")
	})

	t.Run("spot and on-demand", func(t *testing.T) {
		spot, onDemand := nodes[:2], nodes[2:]
		k.ok(t, append(append([]string{"label", "node"}, spot...), "node.kubernetes.io/lifecycle=spot")...)
		k.ok(t, append(append([]string{"label", "node"}, onDemand...), "node.kubernetes.io/lifecycle=normal")...)
		harness.Start(t, harness.Command{Name: "berth-spot", Dir: c.Dir, Args: []string{
			harness.Berth(t), "run", "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser), "--config", readyProfile(t, c.Dir, "spot-first", "spot-scheduler")}})
		deployment := strings.NewReplacer("name: nginx, labels", "name: batch, labels", "app: nginx", "app: batch", "replicas: 1", "replicas: 6",
			"schedulerName: hightower", "schedulerName: spot-scheduler", "cpu: 500m", "cpu: \"1\"").Replace(nginxOfHightower)
		k.apply(t, "apply", deployment)
		on := func(counts map[string]int, group []string) (n int) {
			for _, node := range group {
				n += counts[node]
			}
			return n
		}
		if counts := where(t, "batch", 6); on(counts, spot) != 6 {
			t.Errorf("with room on spot nodes pods are on %v", counts)
		}
		k.ok(t, "scale", "deployment", "batch", "--replicas", "11") // each node has room for four
		if counts := where(t, "batch", 11); on(counts, spot) != 8 || on(counts, onDemand) != 3 {
			t.Errorf("spot nodes are %v, and pods are on %v", spot, counts)
		}
		k.ok(t, "delete", "deployment", "batch")
		gone(t, "batch")
	})
}

// No pod is lost when watches break, and the API server refuses new ones for a while: those that came meanwhile, in
// whatever namespace, are placed as well.
func TestDroppedWatches(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, nodes(4)...)
	o := c.Observe(t)
	var refuses atomic.Bool
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if refuses.Load() && x.IsWatch() {
			x.AnswerFailure(503, "ServiceUnavailable", "not now", nil)
			return
		}
		x.Forward()
	})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("before", "", "100m", ""))
	o.WaitBound(t, 30*time.Second, 1)

	for round := range 3 {
		refuses.Store(true)
		proxy.BreakStreams()
		var pods []*corev1.Pod
		for i := range 5 {
			pods = append(pods, harness.Pod(fmt.Sprintf("meanwhile-%d-%d", round, i), "", "100m", ""))
		}
		c.CreatePods(t, 0, pods...)
		time.Sleep(500 * time.Millisecond) // some tries to watch are refused
		refuses.Store(false)
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		c.WaitBound(t, 60*time.Second, names...)
	}
	allIsWell(t, c, o)
}
