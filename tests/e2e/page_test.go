// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
)

const (
	pageNodes = 12
	pagePods  = 40
)

// Where Chromium may be, as web/test/browser/browser.ts looks for it.
var chromiumPaths = []string{os.Getenv("BERTH_CHROMIUM"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}

// webForBrowser is the folder of the page's tests; the test is skipped where Node, its packages or Chromium are missing.
func webForBrowser(t *testing.T) string {
	t.Helper()
	web := folderOf(t, "web")
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is missing, which drives the browser")
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules/puppeteer-core")); err != nil {
		t.Skip("the packages of web/ are missing: npm ci --prefix web")
	}
	for _, path := range chromiumPaths {
		if _, err := os.Stat(path); path != "" && err == nil {
			return web
		}
	}
	t.Skip("Chromium is missing")
	return ""
}

// The page of berth ui on a cluster that the real kube-scheduler schedules, in Chromium: web/test/kube/page.test.ts says what
// must be true of it.
func TestPage(t *testing.T) {
	harness.NeedsBerth(t)
	web := webForBrowser(t)
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	nodes := make([]*corev1.Node, pageNodes)
	for i := range nodes {
		nodes[i] = harness.Node(fmt.Sprintf("node-%d", i))
		nodes[i].Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%3)
	}
	nodes[0].Spec.Unschedulable = true
	nodes[1].Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	c.CreateNodes(t, nodes...)
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, AllNodes: true})

	var names []string
	var pods []*corev1.Pod
	for i := range pagePods {
		names = append(names, fmt.Sprintf("web-%d", i))
		pods = append(pods, harness.Pod(names[i], "", "250m", "64Mi"))
	}
	c.CreatePods(t, 0, pods...)
	c.WaitBound(t, time.Minute, names...)
	large, ssd, zone := harness.Pod("large", "", "40", ""), harness.Pod("ssd", "", "100m", ""), harness.Pod("elsewhere", "", "100m", "")
	ssd.Spec.NodeSelector = map[string]string{"disktype": "ssd"}
	zone.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "zone-9"}
	c.CreatePods(t, 0, large, ssd, zone)
	for _, name := range []string{"large", "ssd", "elsewhere"} {
		harness.Eventually(t, time.Minute, name+" is refused", func() (bool, string) {
			condition := harness.Condition(c.GetPod(t, name))
			return condition != nil && condition.Status == corev1.ConditionFalse, fmt.Sprint(condition)
		})
	}

	admin := c.Kubeconfig(t, "admin", "system:masters")
	run := func(words ...string) {
		t.Helper()
		command := exec.Command(words[0], words[1:]...)
		command.Dir = web
		command.Env = append(os.Environ(), "BERTH_BINARY="+harness.Berth(t), "BERTH_KUBECONFIG="+admin, "BERTH_ADMIN_KUBECONFIG="+admin,
			"BERTH_KUBECTL="+harness.ControlPlane(t, "kubectl"), fmt.Sprintf("BERTH_NODES=%d", pageNodes))
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, output)
		}
		t.Logf("%s", output)
	}
	run("node", "build.mjs", "test", "kube")
	run("node", "--test", "dist-test/kube/")
}
