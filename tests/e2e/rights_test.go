// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// right is one verb on one resource, as a role gives it. The resource may have a subresource: "pods/eviction".
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// rightOf is what a request needs; false: it is about no resource (/version), which every user may read.
func rightOf(x *harness.Exchange) (right, bool) {
	parts := strings.Split(strings.Trim(x.Path, "/"), "/")
	var r right
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.group, parts = parts[1], parts[3:]
	default:
		return r, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 2 {
		r.resource += "/" + parts[2]
	}
	switch x.Method {
	case http.MethodGet:
		switch {
		case x.IsWatch():
			r.verb = "watch"
		case len(parts) > 1:
			r.verb = "get"
		default:
			r.verb = "list"
		}
	case http.MethodPost:
		r.verb = "create"
	case http.MethodPut:
		r.verb = "update"
	case http.MethodPatch:
		r.verb = "patch"
	case http.MethodDelete:
		r.verb = "delete"
	}
	return r, true
}

// rightsOf are all rights of a file's roles, by which kind of role gives them.
func rightsOf(t *testing.T, file string) (cluster, namespaced map[right]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folderOf(t, "deploy"), file))
	if err != nil {
		t.Fatal(err)
	}
	cluster, namespaced = map[right]bool{}, map[right]bool{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return cluster, namespaced
		} else if err != nil {
			t.Fatal(err)
		}
		into := cluster
		if role.Kind == "Role" {
			into = namespaced
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						into[right{verb, group, resource}] = true
					}
				}
			}
		}
	}
}

// union of sets of rights.
func union(sets ...map[right]bool) map[right]bool {
	all := map[right]bool{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

func without(set map[right]bool, taken right) map[right]bool {
	rest := maps.Clone(set)
	delete(rest, taken)
	return rest
}

func sorted(set map[right]bool) []right {
	return slices.SortedFunc(maps.Keys(set), func(a, b right) int { return strings.Compare(a.String(), b.String()) })
}

// rightsStage is a cluster with one user, whose rights are changed at will, and a proxy that records what it asks.
type rightsStage struct {
	c          *harness.Cluster
	user       string
	proxy      *harness.Proxy
	kubeconfig string
}

func newRightsStage(t *testing.T, c *harness.Cluster, user string) *rightsStage {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	if _, err := c.Admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// As an API server whose gate WatchList is off: otherwise a watch brings all there is, and the right to list is not used.
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, user)}, func(x *harness.Exchange) {
		if x.Query.Has("sendInitialEvents") {
			x.AnswerFailure(http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled", nil)
			return
		}
		x.Forward()
	})
	return &rightsStage{c: c, user: user, proxy: proxy, kubeconfig: c.KubeconfigVia(t, proxy)}
}

// give makes these the user's rights, and no others, and waits until the API server's authorizer knows.
func (s *rightsStage) give(t *testing.T, rights map[right]bool) {
	t.Helper()
	role, err := s.c.Admin.RbacV1().ClusterRoles().Get(t.Context(), s.user, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = nil
	for _, r := range sorted(rights) {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
	}
	// A right that changes with every call shows that the authorizer has seen it.
	mark := fmt.Sprintf("mark-%d", time.Now().UnixNano())
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"berth.dev"}, Resources: []string{mark}, Verbs: []string{"get"}})
	if _, err := s.c.Admin.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	k := kubectl{dir: s.c.Dir, server: []string{"--kubeconfig", s.c.Kubeconfig(t, "admin", "system:masters")}}
	harness.Eventually(t, 20*time.Second, "the API server knows the role", func() (bool, string) {
		review, _, err := k.run(t, fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":%q,"resourceAttributes":{"group":"berth.dev","resource":%q,"verb":"get"}}}`,
			s.user, mark), "create", "-o", "jsonpath={.status.allowed}", "-f", "-")
		return err == nil && review == "true", review
	})
}

// asked are the rights that requests needed since a moment, and those that were refused.
func (s *rightsStage) asked(since time.Time) (all, refused map[right]bool) {
	all, refused = map[right]bool{}, map[right]bool{}
	for _, x := range s.proxy.Requests(func(x *harness.Exchange) bool { return x.At.After(since) }) {
		if r, ok := rightOf(&x); ok {
			all[r] = true
			if x.Status == http.StatusForbidden {
				refused[r] = true
			}
		}
	}
	return all, refused
}

// command runs a berth that ends by itself, and returns all that it prints.
func (s *rightsStage) command(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, harness.Berth(t), append(args, "--kubeconfig", s.kubeconfig)...)
	command.Env = []string{"HOME=" + s.c.Dir, "PATH=" + os.Getenv("PATH")}
	var output harness.LockedBuffer
	command.Stdout, command.Stderr = &output, &output
	if err := harness.Fork(command); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // statuses other than 0 are answers, too
	return output.String()
}

// exactly: with the role nothing is refused, and all of it is asked for.
func (s *rightsStage) exactly(t *testing.T, role map[right]bool, since time.Time, output string) {
	t.Helper()
	all, refused := s.asked(since)
	for _, r := range sorted(refused) {
		t.Errorf("the role lacks: %s", r)
	}
	for _, r := range sorted(role) {
		if !all[r] {
			t.Errorf("the role gives, and nothing asks for: %s\n%s", r, output)
		}
	}
}

// A question reads what deploy/questions-role.yaml gives and nothing else. Without one of these rights it says what it left
// out, and without nodes and pods it has no answer.
func TestRightsOfQuestions(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	c.CreateNodes(t, harness.Node("a"), harness.Node("b"))
	pod := harness.Pod("waits", "", "90", "")
	c.CreatePods(t, 0, pod)
	s := newRightsStage(t, c, "asker")
	role, _ := rightsOf(t, "questions-role.yaml")
	manifest := filepath.Join(c.Dir, "web.yaml")
	if err := os.WriteFile(manifest, []byte(web), 0o644); err != nil {
		t.Fatal(err)
	}
	catalogue := filepath.Join(c.Dir, "catalogue.yaml")
	if err := os.WriteFile(catalogue, []byte("shapes: [{name: small, cpu: 2, memory: 8Gi, price: 0.1}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	questions := [][]string{
		{"explain", "pod", "waits"},
		{"simulate", "-f", manifest, "--kubernetes-version", "1.37", "--feature-gates",
			"GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"}, // reads pod groups of both kinds
		{"capacity", "-f", manifest},
		{"can-drain", "a"},
		{"headroom"},
		{"snapshot", "-o", filepath.Join(c.Dir, "cluster.snapshot")},
		{"buy", "-f", manifest, "--catalogue", catalogue}, // reads quotas
	}
	s.give(t, role)
	since := time.Now()
	var output string
	for _, question := range questions {
		output += s.command(t, question...)
	}
	s.exactly(t, role, since, output)
	all, _ := s.asked(since)
	for r := range all {
		if r.verb != "list" {
			t.Errorf("a question asks to %s", r)
		}
	}
	for _, taken := range sorted(role) {
		s.give(t, without(role, taken))
		since, output := time.Now(), ""
		for _, question := range append(questions[:3:3], questions[len(questions)-1]) {
			output += s.command(t, question...)
		}
		if _, refused := s.asked(since); !refused[taken] {
			t.Errorf("without %q nothing was refused", taken)
		}
		if !strings.Contains(output, taken.resource) {
			t.Errorf("without %q no answer names it:\n%s", taken, output)
		}
	}
}

// What policies need that go by metrics-server, and those that cordon nodes.
var ofOtherPolicies = map[right]bool{
	{"list", "metrics.k8s.io", "nodes"}: true,
	{"list", "metrics.k8s.io", "pods"}:  true,
	{"patch", "", "nodes"}:              true,
}

// The same of rebalance plan, with the first part of deploy/rebalance-role.yaml.
func TestRightsOfRebalancePlan(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	c.CreateNodes(t, harness.Node("a"), harness.Node("b"))
	s := newRightsStage(t, c, "planner")
	whole, _ := rightsOf(t, "rebalance-role.yaml")
	role := map[right]bool{}
	for r := range whole {
		if r.verb == "list" && !ofOtherPolicies[r] {
			role[r] = true
		}
	}
	plan := []string{"rebalance", "plan", "--policy", filepath.Join(folderOf(t, "examples/rebalance"), "policy.yaml")}
	s.give(t, role)
	since := time.Now()
	s.exactly(t, role, since, s.command(t, plan...))
	for _, taken := range sorted(role) {
		s.give(t, without(role, taken))
		since := time.Now()
		output := s.command(t, plan...)
		if _, refused := s.asked(since); !refused[taken] {
			t.Errorf("without %q nothing was refused", taken)
		}
		if !strings.Contains(output, taken.resource) {
			t.Errorf("without %q the plan does not say so:\n%s", taken, output)
		}
	}
}

// Without one of its rights, berth shadow does not compare, and says which it lacks.
func TestRightsOfShadow(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	c.CreateNodes(t, harness.Node("a"))
	s := newRightsStage(t, c, "shadow")
	role, _ := rightsOf(t, "shadow-role.yaml")
	if harness.Before137(t) {
		for _, verb := range []string{"list", "watch"} {
			delete(role, right{verb, "resource.k8s.io", "devicetaintrules"})
		}
	}
	const compares = "decisions are compared from now on"
	start := func(name string) *harness.Process {
		return harness.Start(t, harness.Command{Name: "shadow-" + name, Dir: c.Dir, MayEnd: true, Args: []string{
			harness.Berth(t), "shadow", "--kubeconfig", s.kubeconfig}})
	}
	s.give(t, role)
	since := time.Now()
	process := start("all")
	harness.Eventually(t, time.Minute, "everything is watched", func() (bool, string) {
		all, _ := s.asked(since)
		return strings.Contains(process.Output(), compares) && len(all) >= len(role), fmt.Sprint(len(all), " of ", len(role), ": ", process.Output())
	})
	s.exactly(t, role, since, process.Output())
	process.Kill()
	for i, taken := range sorted(role) {
		s.give(t, without(role, taken))
		since := time.Now()
		process := start(fmt.Sprint(i))
		harness.Eventually(t, 30*time.Second, fmt.Sprintf("without %q it is refused, and says so", taken), func() (bool, string) {
			_, refused := s.asked(since)
			output := process.Output()
			return refused[taken] && strings.Contains(output, taken.resource), output
		})
		if taken.verb == "list" && strings.Contains(process.Output(), compares) {
			t.Errorf("without %q decisions are compared:\n%s", taken, process.Output())
		}
		process.Kill()
	}
}

// berth rebalance run --execute evicts with the rights of deploy/rebalance-role.yaml. Each of those that are not for reading
// (above) is taken away: it is missed, and evictions wait or the log says so.
func TestRightsOfRebalanceRun(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin, names := startWithNodes(t, 3)
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	waitServiceAccount(t, c, "default")
	cluster, namespaced := rightsOf(t, "rebalance-role.yaml")
	role := union(cluster, namespaced)
	s := newRightsStage(t, c, "rebalancer")
	policy := filepath.Join(folderOf(t, "examples/rebalance"), "policy.yaml")
	// Every few seconds another node gets the taint, and its pods have to go.
	tainted, polls := 0, 0
	disturb := func() {
		if polls++; polls%50 == 1 {
			k.ok(t, "taint", "nodes", names[tainted%3], "maintenance-")
			tainted++
			k.ok(t, "taint", "nodes", names[tainted%3], "maintenance=yes:NoSchedule", "--overwrite")
		}
	}
	start := func(name string) *harness.Process {
		polls = 0
		return harness.Start(t, harness.Command{Name: "rebalance-" + name, Dir: c.Dir, MayEnd: true, Args: []string{
			harness.Berth(t), "rebalance", "run", "--kubeconfig", s.kubeconfig, "--policy", policy, "--execute", "--interval", "1s",
			"--cool-down", "1s", "--moves-per-hour", "1000", "--moves-per-owner", "100%"}})
	}
	k.ok(t, "taint", "nodes", names[0], "maintenance=yes:NoSchedule")
	createWeb(t, k)

	s.give(t, role)
	since := time.Now()
	process := start("all")
	// Events that repeat are patched; those of these few moves do not.
	seldom := union(map[right]bool{{"patch", "events.k8s.io", "events"}: true}, ofOtherPolicies)
	harness.Eventually(t, time.Minute, "pods are evicted", func() (bool, string) {
		disturb()
		all, _ := s.asked(since)
		missing := maps.Clone(role)
		for r := range union(all, seldom) {
			delete(missing, r)
		}
		return len(missing) == 0, fmt.Sprint(sorted(missing), process.Output())
	})
	_, refused := s.asked(since)
	for _, r := range sorted(refused) {
		t.Errorf("the role lacks: %s", r)
	}
	process.Signal(syscall.SIGTERM)
	if _, ended := process.Wait(30 * time.Second); !ended {
		t.Fatal("berth rebalance run does not end")
	}
	for _, taken := range sorted(role) {
		if taken.verb == "list" || seldom[taken] {
			continue
		}
		// What is made once has to be made again.
		ctx := t.Context()
		for _, err := range []error{
			c.Admin.CoordinationV1().Leases("kube-system").Delete(ctx, "berth-rebalancer", metav1.DeleteOptions{}),
			c.Admin.CoreV1().ConfigMaps("kube-system").Delete(ctx, "berth-rebalancer", metav1.DeleteOptions{}),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
		k.ok(t, "rollout", "status", "deployment", "web", "--timeout", "90s")
		s.give(t, without(role, taken))
		since := time.Now()
		process := start(strings.NewReplacer(" ", "-", "/", "-").Replace(taken.String()))
		harness.Eventually(t, 40*time.Second, fmt.Sprintf("without %q something is refused", taken), func() (bool, string) {
			disturb()
			_, refused := s.asked(since)
			return refused[taken], process.Output()
		})
		process.Kill()
	}
}

// What berth run asks for while it places pods, refuses one, preempts one and binds a volume is within kube-scheduler's own
// roles and its lease's; and of a role with just that, each right is needed.
func TestRightsOfRun(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	small := harness.Node("small")
	small.Labels["size"] = "small"
	c.CreateNodes(t, harness.Node("a"), harness.Node("b"), small)
	ctx := t.Context()
	s := newRightsStage(t, c, "scheduler")
	turn := 0
	// One pod that fits, one that does not, and one that displaces another.
	start := func() *harness.Process {
		turn++
		none := int64(0)
		if err := c.Admin.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Admin.CoordinationV1().Leases("kube-system").Delete(ctx, "berth", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		name := func(what string) string { return fmt.Sprintf("%s-%d", what, turn) }
		high := int32(1000)
		victim, preemptor := harness.Pod(name("victim"), "other", "3", ""), harness.Pod(name("preemptor"), "berth", "3", "")
		victim.Spec.NodeName, victim.Spec.TerminationGracePeriodSeconds = "small", &none
		preemptor.Spec.NodeSelector, preemptor.Spec.Priority = map[string]string{"size": "small"}, &high
		c.CreatePods(t, 0, victim)
		c.CreatePods(t, 0, harness.Pod(name("fits"), "berth", "100m", ""), harness.Pod(name("huge"), "berth", "90", ""), preemptor)
		return harness.Start(t, harness.Command{Name: name("run"), Dir: c.Dir, MayEnd: true, Args: []string{
			harness.Berth(t), "run", "--kubeconfig", s.kubeconfig, "--scheduler-name", "berth"}})
	}
	done := func() bool {
		for _, name := range []string{"fits", "preemptor"} {
			if pod := c.GetPod(t, fmt.Sprintf("%s-%d", name, turn)); pod == nil || pod.Spec.NodeName == "" {
				return false
			}
		}
		condition := harness.Condition(c.GetPod(t, fmt.Sprintf("huge-%d", turn)))
		return condition != nil && condition.Status == corev1.ConditionFalse
	}

	// By kube-scheduler's own roles.
	_, lease := rightsOf(t, "lease-role.yaml")
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.user + "-" + strings.TrimPrefix(role, "system:")},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.user}}}
		if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		defer c.Admin.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
	}
	s.give(t, lease)
	since := time.Now()
	process := start()
	wanted := []right{{"create", "", "pods/binding"}, {"patch", "", "pods/status"}, {"delete", "", "pods"}, {"create", "events.k8s.io", "events"},
		{"create", "coordination.k8s.io", "leases"}, {"update", "coordination.k8s.io", "leases"}, {"watch", "", "nodes"}}
	harness.Eventually(t, time.Minute, "the pods are decided", func() (bool, string) {
		all, _ := s.asked(since)
		missing := slices.DeleteFunc(slices.Clone(wanted), func(r right) bool { return all[r] })
		return done() && len(missing) == 0, fmt.Sprint(missing, process.Output())
	})
	role, refused := s.asked(since)
	process.Kill()
	for _, r := range sorted(refused) {
		t.Errorf("kube-scheduler's roles and deploy/lease-role.yaml lack: %s", r)
	}
	for r := range lease {
		if !role[r] {
			t.Errorf("deploy/lease-role.yaml gives, and nothing asks for: %s", r)
		}
	}
	t.Logf("berth run asks for: %v", sorted(role))

	for _, name := range []string{"kube-scheduler", "volume-scheduler"} {
		if err := c.Admin.RbacV1().ClusterRoleBindings().Delete(ctx, s.user+"-"+name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, taken := range sorted(role) {
		s.give(t, without(role, taken))
		since := time.Now()
		process := start()
		harness.Eventually(t, 40*time.Second, fmt.Sprintf("without %q something is refused", taken), func() (bool, string) {
			_, refused := s.asked(since)
			return refused[taken], process.Output()
		})
		process.Kill()
	}
}

// docs/security.md's commands, about what the chart's shadow may do.
func TestSecurityPage(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	helm{kubeconfig: admin, home: harness.TempDir(t)}.ok(t, "install", "berth-shadow", folderOf(t, "deploy/chart"),
		"--namespace", "berth-system", "--create-namespace", "--set", "mode=shadow")
	blocks := blocksOf(t, "docs/security.md", "rights_test.go")
	// kubectl says no with a status of 1.
	harness.Eventually(t, 20*time.Second, "the role holds", func() (bool, string) {
		answer := newTypist(t, admin).types(t, strings.ReplaceAll(blocks[0].text, "\n", " || true\n"))
		return answer == "yes\nno", answer
	})
}
