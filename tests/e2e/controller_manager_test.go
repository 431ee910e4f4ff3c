// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// errorsOfAnyServer are kinds of error lines that come from a real API server as well, though not in each run.
var errorsOfAnyServer = []string{
	`is not as new as written version`, // a controller's own cache is behind what it has written; it tries again
	`the object has been modified`,     // two writers at once; it tries again
	`Error syncing PodDisruptionBudget, requeuing" err="poddisruptionbudgets.policy .* not found`, // it is gone meanwhile
	`syncing job: tracking status: adding uncounted pods to status: jobs.batch .* not found`,      // likewise
}

// errorsBefore136 are of the first kind above: since 1.36 the StatefulSet controller waits until its cache has what it has
// written. Before, it makes pods again that the cache does not have yet, complains of each, and tries again.
var errorsBefore136 = []string{
	`[Ee]rror syncing StatefulSet.*, requeuing(" err="|: )\[?pods \\"db-X\\" already exists, the server was not able to generate a unique name for the object`,
}

// errorsOfEmbedded are those that only the embedded server causes. docs/embedded-server.md names each.
var errorsOfEmbedded = []string{
	`configmaps .*kube-apiserver-legacy-service-account-token-tracking.* not found`,
	`failed to list \S+\.(PodCertificateRequest|StorageVersionMigration): the server could not find`, // kinds of 1.37
}

// manyWorkloads are 1,000 pods of Deployments, DaemonSets, StatefulSets, Jobs and CronJobs on 50 nodes.
func manyWorkloads() string {
	pod := func(app, policy string) string {
		return fmt.Sprintf("template: {metadata: {labels: {app: %s}}, spec: {restartPolicy: %s, terminationGracePeriodSeconds: 1, containers: [{name: main, image: \"busybox:1\"}]}}", app, policy)
	}
	var text strings.Builder
	add := func(kind, version, name, spec string) {
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", version, kind, name, spec)
	}
	selects := func(app string) string { return fmt.Sprintf("selector: {matchLabels: {app: %s}}", app) }
	for i := range 10 {
		app := fmt.Sprintf("web-%d", i)
		add("Deployment", "apps/v1", app, fmt.Sprintf("replicas: 60, %s, %s", selects(app), pod(app, "Always")))
		job := fmt.Sprintf("job-%d", i)
		add("Job", "batch/v1", job, "completions: 20, parallelism: 10, "+pod(job, "Never"))
		nightly := fmt.Sprintf("often-%d", i)
		add("CronJob", "batch/v1", nightly, "schedule: '* * * * *', jobTemplate: {spec: {"+pod(nightly, "Never")+"}}")
	}
	add("DaemonSet", "apps/v1", "agents", selects("agents")+", "+pod("agents", "Always"))
	add("StatefulSet", "apps/v1", "db", "replicas: 140, podManagementPolicy: Parallel, serviceName: db, "+selects("db")+", "+pod("db", "Always"))
	add("PodDisruptionBudget", "policy/v1", "web-0", "maxUnavailable: 1, "+selects("web-0"))
	return text.String()
}

var errorNoise = []struct {
	found *regexp.Regexp
	put   string
}{
	{regexp.MustCompile(`^E\d{4} [\d:.]+ +\d+ `), ""},
	{regexp.MustCompile(`(web|job|often|db|agents)-[a-z0-9-]+`), "$1-X"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
	{regexp.MustCompile(`\d+`), "N"},
}

// errorKinds are the error lines of a log without what differs between two of a kind.
func errorKinds(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if !regexp.MustCompile(`^[EF]\d{4} `).MatchString(line) {
			continue
		}
		line = strings.TrimSpace(line)
		for _, noise := range errorNoise {
			line = noise.found.ReplaceAllString(line, noise.put)
		}
		kinds[line]++
	}
	return kinds
}

// The real kube-controller-manager and kube-scheduler on the embedded server: 1,000 pods of all workloads come, run and
// go, and the two complain of nothing that they do not complain of on a real server.
func TestControllerManagerOnEmbeddedServer(t *testing.T) {
	harness.NeedsBerth(t)
	harness.NeedsShare(t, "1")
	const nodes = 50
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"*"}})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	harness.StartKubelets(t, nodes, admin, c.Dir)
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: admin, Dir: c.Dir})

	dir := harness.TempDir(t)
	server := harness.StartEmbedded(t, nodes, dir, "--no-controllers")
	embedded := harness.WriteKubeconfig(t, dir, clientcmdapi.Cluster{Server: server}, clientcmdapi.AuthInfo{})
	manager := harness.StartControllerManager(t, embedded, dir, "*")
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: embedded, Dir: dir})

	clusters := []kubectl{{dir: dir, server: []string{"--kubeconfig", embedded}}, {dir: c.Dir, server: []string{"--kubeconfig", admin}}}
	var all sync.WaitGroup
	for _, k := range clusters {
		all.Go(func() {
			eventually := func(what string, done func(out string) bool, args ...string) bool {
				var out, complaints string
				for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Second) {
					if out, complaints, _ = k.run(t, "", args...); done(out) {
						return true
					}
				}
				t.Errorf("%v: never: %s\n%s%s", k.server, what, out, complaints)
				return false
			}
			count := func(out, line string) int { return len(regexp.MustCompile(`(?m)^`+line+`$`).FindAllString(out, -1)) }
			if !eventually("the nodes are ready", func(out string) bool { return count(out, `\S+ +Ready .*`) == nodes }, "get", "nodes", "--no-headers") {
				return
			}
			if _, complaints, err := k.run(t, manyWorkloads(), "create", "-f", "-"); err != nil {
				t.Errorf("%v %s", err, complaints)
				return
			}
			if !eventually("1,000 pods have run", func(out string) bool {
				return count(out, `(web|db|agents)\S* Running`) == 600+140+nodes && count(out, `job\S+ Succeeded`) == 200 && count(out, `often\S+ Succeeded`) >= 10
			}, "get", "pods", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.phase}{"\n"}{end}`) {
				return
			}
			if _, complaints, err := k.run(t, manyWorkloads(), "delete", "--wait=false", "-f", "-"); err != nil {
				t.Errorf("%v %s", err, complaints)
			}
			eventually("all are gone", func(out string) bool { return out == "" }, "get", "jobs,pods", "-o", "name")
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if manager.Exited() {
		t.Error("kube-controller-manager has ended")
	}
	for _, program := range []string{"kube-controller-manager.log", "kube-scheduler.log"} {
		usual := errorKinds(t, filepath.Join(c.Dir, program))
		for kind, times := range errorKinds(t, filepath.Join(dir, program)) {
			known := usual[kind] > 0
			expected := append(append([]string{}, errorsOfAnyServer...), errorsOfEmbedded...)
			if harness.Before136(t) {
				expected = append(expected, errorsBefore136...)
			}
			for _, expression := range expected {
				known = known || regexp.MustCompile(expression).MatchString(kind)
			}
			if !known {
				t.Errorf("%s, %d times and never with the real server:\n%s", program, times, kind)
			}
		}
	}
}
