// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// asker asks berth's questions as `kubectl berth`, in the place of one user, through a proxy that keeps each request.
type asker struct {
	k     kubectl
	proxy *harness.Proxy
	path  string // of PATH: the folder of the links to berth
}

// newAsker gives the user the cluster role, if one is named.
func newAsker(t *testing.T, c *harness.Cluster, user, role string) asker {
	t.Helper()
	if role != "" {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(context.Background(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, user)}, nil)
	kubeconfig := harness.WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: proxy.URL, CertificateAuthorityData: c.Authority().PEM},
		clientcmdapi.AuthInfo{Token: "whom-the-proxy-knows"})
	links := filepath.Join(harness.TempDir(t), "bin")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl-berth", "kubectl_complete-berth"} {
		if err := os.Symlink(harness.Berth(t), filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	return asker{k: kubectl{dir: c.Dir, server: []string{"--kubeconfig", kubeconfig}}, proxy: proxy, path: links}
}

// ask runs kubectl with these arguments, and the kubeconfig behind them, where a plugin's flags stand.
func (a asker) ask(t *testing.T, status int, args ...string) (string, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, harness.ControlPlane(t, "kubectl"), args...)
	c.Env = []string{"HOME=" + a.k.dir, "PATH=" + a.path + ":" + os.Getenv("PATH"), "KUBECONFIG=" + a.k.server[1]}
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := harness.Fork(c); err != nil {
		t.Fatal(err)
	}
	got := 0
	var exit *exec.ExitError
	if err := c.Wait(); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("kubectl %s ended with %d, want %d:\n%s%s", strings.Join(args, " "), got, status, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// answer is the JSON of a question.
func (a asker) answer(t *testing.T, to any, status int, args ...string) {
	t.Helper()
	out, complaints := a.ask(t, status, append(append([]string{"berth"}, args...), "-o", "json")...)
	if complaints != "" {
		t.Errorf("kubectl berth %s complains:\n%s", strings.Join(args, " "), complaints)
	}
	if err := json.Unmarshal([]byte(out), to); err != nil {
		t.Fatalf("kubectl berth %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// allowed are the paths of lists that the role gives.
func allowed(role *rbacv1.ClusterRole) map[string]bool {
	paths := map[string]bool{}
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				paths[group+"/"+resource] = true
			}
		}
	}
	return paths
}

var listPath = regexp.MustCompile(`^/(?:api|apis/([^/]+))/[^/]+/([a-z]+)$`)

const web = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: shop}
value: 1000
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 7
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      priorityClassName: shop
      topologySpreadConstraints:
      - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 300m, memory: 1Gi}}}]
`

// The questions on a cluster that kube-scheduler schedules, by a user who has the role of deploy/questions-role.yaml and
// nothing else: what they answer is what then happens, and they read what the role gives and write nothing.
func TestQuestions(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	const nodes = 5
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"disruption-controller"}})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	harness.StartKubelets(t, nodes, admin, c.Dir)
	names := nodesReady(t, c, nodes)
	slices.Sort(names)
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	role, err := filepath.Abs("../../deploy/questions-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k.ok(t, "apply", "-f", role)
	harness.Eventually(t, 60*time.Second, "pods may be made", func() (bool, string) {
		_, err := c.Admin.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	user := newAsker(t, c, "asker", "berth-questions")

	// No two nodes are alike, so that there is one best node for each pod.
	var fillers []*corev1.Pod
	for i, node := range names {
		pod := harness.Pod("filler-"+fmt.Sprint(i), "", fmt.Sprintf("%dm", 300+470*i), fmt.Sprintf("%dMi", 500+1300*i))
		pod.Spec.NodeName = node
		fillers = append(fillers, pod)
	}
	c.CreatePods(t, 0, fillers...)

	// On each node: how many pods of an app.
	placed := func(app string) map[string]int {
		count := map[string]int{}
		for _, pod := range c.Pods(t) {
			if pod.Labels["app"] == app && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
				count[pod.Spec.NodeName]++
			}
		}
		return count
	}
	sum := func(count map[string]int) (pods int) {
		for _, n := range count {
			pods += n
		}
		return pods
	}

	// simulate, then kubectl apply: the same nodes.
	manifest := filepath.Join(harness.TempDir(t), "web.yaml")
	if err := os.WriteFile(manifest, []byte(web), 0o644); err != nil {
		t.Fatal(err)
	}
	var simulated struct {
		Pending int
		Pods    []struct{ Name, Node string }
	}
	user.answer(t, &simulated, 0, "simulate", "-f", manifest)
	said := map[string]int{}
	for _, pod := range simulated.Pods {
		said[pod.Node]++
	}
	k.ok(t, "apply", "-f", manifest)
	harness.Eventually(t, 60*time.Second, "kube-scheduler has placed the Deployment", func() (bool, string) {
		where := placed("web")
		return sum(where) == 7, fmt.Sprint(where)
	})
	if where := placed("web"); simulated.Pending != 0 || !maps.Equal(where, said) {
		t.Errorf("simulate says %v (%d pending), kube-scheduler does %v", said, simulated.Pending, where)
	}

	// explain: kube-scheduler's own words about a pod that waits, and the node of one that does not.
	c.CreatePods(t, 0, harness.Pod("huge", "", "900", ""))
	var reported string
	harness.Eventually(t, 60*time.Second, "kube-scheduler says why huge waits", func() (bool, string) {
		if condition := harness.Condition(c.GetPod(t, "huge")); condition != nil {
			reported = condition.Message
		}
		return reported != "", ""
	})
	type explanation struct{ State, Node, Message, Condition string }
	var huge explanation
	user.answer(t, &huge, 3, "explain", "pod", "huge")
	if huge.State != "Refused" || huge.Message != reported || huge.Condition != reported {
		t.Errorf("explain says %+v, kube-scheduler says %q", huge, reported)
	}
	for _, pod := range c.Pods(t) {
		if pod.Labels["app"] != "web" {
			continue
		}
		var of explanation
		user.answer(t, &of, 0, "explain", "pod", pod.Name)
		if of.State != "Placed" || of.Node != pod.Spec.NodeName {
			t.Errorf("explain says %+v of %s, which is on %s", of, pod.Name, pod.Spec.NodeName)
		}
		break
	}
	completed, _ := user.ask(t, 0, "__complete", "berth", "explain", "pod", "hu")
	if !strings.HasPrefix(completed, "huge\n") {
		t.Errorf("kubectl completes with %q", completed)
	}
	c.DeletePod(t, "huge")

	// capacity: so many fit, and not one more.
	var capacity struct{ Shapes []struct{ Fits int } }
	user.answer(t, &capacity, 0, "capacity", "--cpu", "1500m", "--memory", "1Gi")
	fits := capacity.Shapes[0].Fits
	if fits < 2 || fits > 200 {
		t.Fatalf("%d pods fit: the test wants some", fits)
	}
	var more []*corev1.Pod
	for i := range fits + 2 {
		pod := harness.Pod(fmt.Sprintf("more-%d", i), "", "1500m", "1Gi")
		pod.Labels = map[string]string{"app": "more"}
		more = append(more, pod)
	}
	c.CreatePods(t, 0, more...)
	harness.Eventually(t, 60*time.Second, "kube-scheduler has tried them all", func() (bool, string) {
		bound, refused := 0, 0
		for _, pod := range c.Pods(t) {
			if condition := harness.Condition(&pod); pod.Labels["app"] == "more" && condition != nil {
				if condition.Status == corev1.ConditionTrue {
					bound++
				} else {
					refused++
				}
			}
		}
		return bound+refused == fits+2, fmt.Sprintf("%d are bound, %d refused", bound, refused)
	})
	if bound := sum(placed("more")); bound != fits {
		t.Errorf("capacity says that %d fit, kube-scheduler has bound %d", fits, bound)
	}
	for i := range more {
		c.DeletePod(t, fmt.Sprintf("more-%d", i))
	}

	// can-drain, then kubectl drain: first with a budget that forbids it, then without.
	var plan struct {
		CanDrain bool
		Pods     []struct{ Name, Drain, Budget, GoesTo string }
	}
	node := slices.MaxFunc(names, func(a, b string) int { return placed("web")[a] - placed("web")[b] })
	drain := []string{"drain", node, "--ignore-daemonsets", "--force"}
	k.ok(t, "create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=7")
	harness.Eventually(t, 60*time.Second, "the budget is counted", func() (bool, string) {
		budget, err := c.Admin.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && budget.Status.ObservedGeneration > 0 && budget.Status.ExpectedPods == 7, fmt.Sprint(err)
	})
	user.answer(t, &plan, 3, "can-drain", node, "--force")
	if plan.CanDrain || !slices.ContainsFunc(plan.Pods, func(p struct{ Name, Drain, Budget, GoesTo string }) bool { return p.Budget == "forbids" }) {
		t.Errorf("can-drain says %+v of a budget that forbids it", plan)
	}
	if complaint := k.fails(t, append(drain, "--timeout=2s")...); !strings.Contains(complaint, "disruption budget") {
		t.Errorf("kubectl drain complains of something else: %s", complaint)
	}
	k.ok(t, "uncordon", node)
	k.ok(t, "delete", "poddisruptionbudget", "web")
	harness.Eventually(t, 60*time.Second, "seven are there again", func() (bool, string) {
		where := placed("web")
		return sum(where) == 7, fmt.Sprint(where)
	})
	user.answer(t, &plan, 0, "can-drain", node, "--force")
	after := placed("web")
	for _, pod := range plan.Pods {
		if strings.HasPrefix(pod.Name, "web-") {
			after[node]--
			after[pod.GoesTo]++
		}
	}
	maps.DeleteFunc(after, func(_ string, n int) bool { return n == 0 })
	k.ok(t, append(drain, "--timeout=60s")...)
	harness.Eventually(t, 60*time.Second, "the replacements are placed", func() (bool, string) {
		where := placed("web")
		return sum(where) == 7 && where[node] == 0, fmt.Sprint(where)
	})
	if where := placed("web"); !plan.CanDrain || !maps.Equal(where, after) {
		t.Errorf("can-drain says %v, and then %v; it is %v", plan.CanDrain, after, where)
	}

	// What was asked of the API server in all this.
	given, err := c.Admin.RbacV1().ClusterRoles().Get(ctx, "berth-questions", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rights := allowed(given)
	// Read by berth snapshot, by questions with the feature gates of pod groups, and by berth buy -f.
	delete(rights, "/resourcequotas")
	delete(rights, "scheduling.k8s.io/podgroups")
	delete(rights, "scheduling.k8s.io/compositepodgroups")
	requests := user.proxy.Requests(func(*harness.Exchange) bool { return true })
	asked := map[string]bool{}
	for _, request := range requests {
		match := listPath.FindStringSubmatch(request.Path)
		isRight := match != nil && rights[match[1]+"/"+match[2]]
		isCompletion := request.Path == "/api/v1/namespaces/default/pods"
		// 1.37 alone serves it.
		isMissing := match != nil && request.Status == http.StatusNotFound && harness.Before137(t) && strings.HasSuffix(match[2], "devicetaintrules")
		if request.Method != http.MethodGet || request.IsWatch() || request.Status != http.StatusOK && !isMissing ||
			!isRight && !isCompletion && request.Path != "/version" {
			t.Errorf("%s %s was answered with %d", request.Method, request.Path, request.Status)
		}
		if match != nil {
			asked[match[1]+"/"+match[2]] = true
		}
	}
	if !maps.Equal(asked, rights) {
		t.Errorf("the role gives %v, asked was for %v", slices.Sorted(maps.Keys(rights)), slices.Sorted(maps.Keys(asked)))
	}

	// With less: what is missing is said, and without nodes there is no answer.
	lesser := given.DeepCopy()
	lesser.ObjectMeta = metav1.ObjectMeta{Name: "lesser"}
	for i := range lesser.Rules {
		lesser.Rules[i].Resources = slices.DeleteFunc(lesser.Rules[i].Resources, func(resource string) bool {
			return resource == "poddisruptionbudgets" || resource == "storageclasses"
		})
	}
	lesser.Rules = slices.DeleteFunc(lesser.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Resources) == 0 })
	if _, err := c.Admin.RbacV1().ClusterRoles().Create(ctx, lesser, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	less := newAsker(t, c, "less", "lesser")
	out, complaints := less.ask(t, 0, "berth", "capacity", "--cpu", "1500m", "-o", "json")
	for _, missing := range []string{"poddisruptionbudgets", "storageclasses"} {
		line := regexp.MustCompile(`(?m)^berth: warning: not read: ` + missing + `: forbidden: .*User "less" cannot list resource "` + missing + `"`)
		if !line.MatchString(complaints) {
			t.Errorf("%s is missing, and berth says:\n%s", missing, complaints)
		}
	}
	var answered struct{ Cluster struct{ LeftOut []string } }
	if err := json.Unmarshal([]byte(out), &answered); err != nil || len(answered.Cluster.LeftOut) != 2 {
		t.Errorf("left out is %v, %v", answered.Cluster.LeftOut, err)
	}
	none := newAsker(t, c, "nobody", "")
	out, complaints = none.ask(t, 1, "berth", "capacity", "--cpu", "1500m")
	if out != "" || !strings.Contains(complaints, "needed is the right to list") {
		t.Errorf("without any right berth says:\n%s%s", out, complaints)
	}
}
