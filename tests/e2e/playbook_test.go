// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	playbookPage   = "docs/shadow-to-default.md"
	operationsPage = "docs/operations.md"
	startPage      = "docs/start-here.md"
	playbookFile   = "playbook_test.go"
	// From one leader's end to the next one's first decision: a lease that is given back, and a standby that looks again.
	takeoverMax = 10 * time.Second
	installMax  = 60 * time.Second
)

// trickle creates a pod of a scheduler every second, for as long as it goes on.
type trickle struct {
	c      *harness.Cluster
	name   string
	count  int
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startTrickle(t *testing.T, c *harness.Cluster, name, scheduler string) *trickle {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &trickle{c: c, name: name, cancel: cancel}
	r.done.Go(func() {
		for ctx.Err() == nil {
			pod := harness.Pod(fmt.Sprintf("%s-%d", name, r.count), scheduler, "1m", "")
			if _, err := c.Admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err == nil {
				r.count++
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	t.Cleanup(func() { cancel(); r.done.Wait() })
	return r
}

// end waits until all its pods have a node, and tells how long the slowest waited. The API server counts whole seconds.
func (r *trickle) end(t *testing.T, limit time.Duration) {
	t.Helper()
	r.cancel()
	r.done.Wait()
	var names []string
	for i := range r.count {
		names = append(names, fmt.Sprintf("%s-%d", r.name, i))
	}
	r.c.WaitBound(t, time.Minute, names...)
	var slowest time.Duration
	for _, name := range names {
		pod := r.c.GetPod(t, name)
		if condition := harness.Condition(pod); condition != nil && condition.Status == corev1.ConditionTrue {
			slowest = max(slowest, condition.LastTransitionTime.Sub(pod.CreationTimestamp.Time))
		}
	}
	t.Logf("%s: %d pods, the slowest waited %v", r.name, r.count, slowest)
	if slowest > limit {
		t.Errorf("a pod of %s waited %v, longer than %v", r.name, slowest, limit)
	}
}

// docs/shadow-to-default.md, command by command: a shadow beside kube-scheduler, berth for one namespace, berth for all,
// and kube-scheduler again. Meanwhile pods come, and none waits longer than a takeover. A process of kube-scheduler stands
// for the static pod: it runs while its manifest is in the folder.
func TestPlaybook(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := t.Context()
	c, admin, _ := startWithNodes(t, 4)
	static := harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, AllNodes: true, Lease: true, MayEnd: true}
	scheduler := harness.StartKubeScheduler(t, static)
	etc := filepath.Join(harness.TempDir(t), "etc-kubernetes")
	if err := os.MkdirAll(filepath.Join(etc, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(etc, "manifests", "kube-scheduler.yaml"), []byte("kind: Pod\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	reader := newTypist(t, admin)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	pods := runPodsOfBerth(t, c)
	blocks := blocksOf(t, playbookPage, playbookFile)
	next := func(wanted string) string {
		t.Helper()
		if len(blocks) == 0 || !strings.Contains(blocks[0].text, wanted) {
			t.Fatalf("the next block of %s is not the one with %q: %+v", playbookPage, wanted, blocks)
		}
		text := strings.ReplaceAll(blocks[0].text, "/etc/kubernetes", etc)
		blocks = blocks[1:]
		return reader.types(t, text)
	}
	holder := func() string {
		t.Helper()
		return k.ok(t, "-n", "kube-system", "get", "lease", "kube-scheduler", "-o", "jsonpath={.spec.holderIdentity}")
	}
	waitServiceAccount(t, c, "default")
	k.ok(t, "create", "namespace", "team-a")
	waitServiceAccount(t, c, "team-a")
	k.ok(t, "-n", "team-a", "create", "deployment", "web", "--image", "nginx", "--replicas", "3")
	k.ok(t, "-n", "team-a", "rollout", "status", "deployment", "web", "--timeout", "60s")
	before := holder()
	all := startTrickle(t, c, "all", corev1.DefaultSchedulerName)

	// Day 1 to 3.
	next("mode=shadow")
	shadow := pods.wait(t, "berth-shadow", 1)[0]
	if answer := next("auth can-i"); !strings.HasPrefix(answer, "no") {
		t.Errorf("may a shadow bind? %s", answer)
	}
	harness.Eventually(t, time.Minute, "the shadow compares", func() (bool, string) {
		output := shadow.process.Output()
		return strings.Contains(output, "decisions are compared from now on"), output
	})
	k.ok(t, "-n", "team-a", "scale", "deployment", "web", "--replicas", "12")
	k.ok(t, "-n", "team-a", "rollout", "status", "deployment", "web", "--timeout", "60s")
	harness.Eventually(t, time.Minute, "twelve decisions are compared, and agree", func() (bool, string) {
		agreed, differ := 0.0, 0.0
		for line := range strings.Lines(readMetrics(t, shadow.metrics)) {
			var n float64
			if match := regexp.MustCompile(`^berth_shadow_decisions_total\{explained_by_order="(\w+)",match="(\w+)"\} (\S+)`).FindStringSubmatch(line); match != nil {
				fmt.Sscan(match[3], &n)
				if match[1] == "true" || match[2] == "sameNode" || match[2] == "equallyGoodNode" || match[2] == "sameRefusal" {
					agreed += n
				} else {
					differ += n
				}
			}
		}
		if differ > 0 {
			t.Errorf("%v decisions differ: %s", differ, shadow.process.Output())
		}
		return agreed >= 12, fmt.Sprint(agreed)
	})

	// Day 4.
	next("helm install berth deploy/chart")
	pods.wait(t, "berth", 2)
	next("schedulerName")
	k.ok(t, "-n", "team-a", "rollout", "status", "deployment", "web", "--timeout", "90s")
	placed, err := c.Admin.CoreV1().Pods("team-a").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range placed.Items { // those of before may still be ending
		if pod.DeletionTimestamp == nil && (pod.Spec.SchedulerName != "berth" || pod.Spec.NodeName == "") {
			t.Errorf("after the rollout %s is of %s and on %q", pod.Name, pod.Spec.SchedulerName, pod.Spec.NodeName)
		}
	}
	if events := k.ok(t, "-n", "team-a", "get", "events", "--field-selector", "reason=Scheduled"); !strings.Contains(events, "Successfully assigned team-a/web-") {
		t.Errorf("no event of berth's:\n%s", events)
	}

	// helm uninstall takes the roles away before the pods have ended, which may want to renew a lease once more.
	renewal := regexp.MustCompile(`(?m)^.*could not be renewed.*$`)
	haveRights := func() {
		t.Helper()
		for pod, log := range pods.logs() {
			if log.isEnding {
				log.output = renewal.ReplaceAllString(log.output, "")
			}
			if strings.Contains(log.output, "forbidden") {
				t.Errorf("the rights of %s are not enough:\n%s", pod, log.output)
			}
		}
	}

	// Day 5.
	if lines := strings.Split(next("mode=default"), "\n"); lines[len(lines)-1] != before {
		t.Errorf("while kube-scheduler runs the lease is held by %q, not by %q", lines[len(lines)-1], before)
	}
	pods.wait(t, "berth-default", 2)
	haveRights()
	next("helm uninstall berth --namespace berth-system")
	next("kube-scheduler.yaml.off")
	scheduler.Signal(syscall.SIGTERM)
	if _, ended := scheduler.Wait(30 * time.Second); !ended {
		t.Fatal("kube-scheduler does not end")
	}
	lines := strings.Split(next("kubectl run handed-over"), "\n")
	if now := lines[len(lines)-1]; now == before || now == "" {
		t.Errorf("after the handover the lease is held by %q", now)
	}
	k.ok(t, "-n", "team-a", "scale", "deployment", "web", "--replicas", "15")
	k.ok(t, "-n", "team-a", "rollout", "status", "deployment", "web", "--timeout", "60s")

	// Day 6.
	haveRights()
	next("helm uninstall berth-shadow")
	if code, ended := shadow.process.Wait(20 * time.Second); !ended {
		t.Errorf("the shadow does not end")
	} else if output := shadow.process.Output(); !strings.Contains(output, "Agreement:") {
		t.Errorf("the shadow ended with %d and without a report:\n%s", code, output)
	}

	// Day 7.
	next("kube-scheduler.yaml.off")
	if _, err := os.Stat(filepath.Join(etc, "manifests", "kube-scheduler.yaml")); err != nil {
		t.Error(err)
	}
	static.Log = "kube-scheduler-again"
	harness.StartKubeScheduler(t, static)
	leader := holder()
	haveRights()
	lines = strings.Split(next("helm uninstall berth-default"), "\n")
	if now := lines[len(lines)-1]; now == leader || now == "" {
		t.Errorf("after the way back the lease is held by %q", now)
	}
	if len(blocks) != 0 {
		t.Errorf("not run: %+v", blocks)
	}
	all.end(t, takeoverMax)
	haveRights()
	if left := leftBehind(ctx, c); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// docs/operations.md, and the installation of docs/start-here.md: from helm install to a pod's node within a minute, then
// upgrade, rollback and removal while pods come, none of which waits longer than a takeover.
func TestOperationsPage(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin := startWithKubeScheduler(t, 3)
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	waitServiceAccount(t, c, "default")
	reader := newTypist(t, admin)
	pods := runPodsOfBerth(t, c)
	blocks := blocksOf(t, operationsPage, playbookFile)
	if len(blocks) != 5 {
		t.Fatalf("%s has %d blocks, not 5", operationsPage, len(blocks))
	}

	began := time.Now()
	reader.types(t, blocksOf(t, startPage, playbookFile)[0].text)
	first := harness.Pod("first", "", "1m", "")
	first.Spec.SchedulerName = "berth"
	c.CreatePods(t, 0, first)
	c.WaitBound(t, installMax, "first")
	took := time.Since(began)
	t.Logf("from helm install to a pod's node: %v", took.Round(time.Millisecond))
	if took > installMax {
		t.Errorf("from helm install to a pod's node: %v, longer than %v", took, installMax)
	}
	pods.wait(t, "berth", 2)

	own := startTrickle(t, c, "own", "berth")
	leader := reader.types(t, blocks[0].text)
	if leader == "" {
		t.Error("nobody leads")
	}
	for _, step := range []commandBlock{blocks[1], blocks[2]} { // upgrade, rollback
		old := map[string]bool{}
		for _, ran := range pods.of("berth") {
			old[ran.pod.Name] = true
		}
		text := step.text
		if strings.Contains(text, "helm upgrade") {
			text = strings.Replace(text, "image.tag=TAG", "image.tag=TAG2", 1)
		}
		reader.types(t, text)
		k.ok(t, "-n", "berth-system", "rollout", "status", "deployment", "berth", "--timeout", "90s")
		harness.Eventually(t, 90*time.Second, "two other processes run", func() (bool, string) {
			fresh := 0
			for _, ran := range pods.of("berth") {
				if !old[ran.pod.Name] {
					fresh++
				}
			}
			return fresh == 2 && len(pods.of("berth")) == 2, fmt.Sprint(fresh)
		})
	}
	if image := k.ok(t, "-n", "berth-system", "get", "deployment", "berth", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); image != "REGISTRY/berth:TAG" {
		t.Errorf("after the rollback the image is %s", image)
	}
	own.end(t, takeoverMax)
	reader.types(t, blocks[3].text)
	c.CreatePods(t, 0, func() *corev1.Pod {
		pod := harness.Pod("orphan", "", "1m", "")
		pod.Spec.SchedulerName = "berth"
		return pod
	}())
	if answer := reader.types(t, blocks[4].text); !strings.Contains(answer, "orphan") || strings.Contains(answer, "first") {
		t.Errorf("pods that wait for berth:\n%s", answer)
	}
	harness.Eventually(t, 60*time.Second, "nothing is left", func() (bool, string) {
		left := leftBehind(t.Context(), c)
		return left == "", left
	})
	if leases, err := c.Admin.CoordinationV1().Leases("berth-system").List(t.Context(), metav1.ListOptions{}); err != nil || len(leases.Items) != 0 {
		t.Errorf("leases are left: %v %v", leases, err)
	}
}

func waitServiceAccount(t *testing.T, c *harness.Cluster, namespace string) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, "pods may be made in "+namespace, func() (bool, string) {
		_, err := c.Admin.CoreV1().ServiceAccounts(namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// leftBehind names the objects of berth's releases; empty: there are none.
func leftBehind(ctx context.Context, c *harness.Cluster) string {
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"}
	var left []string
	pods, err := c.Admin.CoreV1().Pods("").List(ctx, ours)
	maps, err2 := c.Admin.CoreV1().ConfigMaps("").List(ctx, ours)
	accounts, err3 := c.Admin.CoreV1().ServiceAccounts("").List(ctx, ours)
	cluster, err4 := c.Admin.RbacV1().ClusterRoleBindings().List(ctx, ours)
	clusterRoles, err5 := c.Admin.RbacV1().ClusterRoles().List(ctx, ours)
	bindings, err6 := c.Admin.RbacV1().RoleBindings("").List(ctx, ours)
	roles, err7 := c.Admin.RbacV1().Roles("").List(ctx, ours)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil {
		return err.Error()
	}
	for kind, count := range map[string]int{"pods": len(pods.Items), "config maps": len(maps.Items), "service accounts": len(accounts.Items),
		"cluster role bindings": len(cluster.Items), "cluster roles": len(clusterRoles.Items), "role bindings": len(bindings.Items), "roles": len(roles.Items)} {
		if count > 0 {
			left = append(left, fmt.Sprintf("%d %s", count, kind))
		}
	}
	return strings.Join(left, ", ")
}
