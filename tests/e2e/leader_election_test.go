// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	electionNodes = 30
	electionPods  = 600 // 20 on each node, to the last milli-CPU
	// What a loaded machine adds to a takeover: the lists that follow it, and the first binding.
	takeoverSlack = 3 * time.Second
)

// An election with two or more schedulers, each behind a proxy of its own that makes bindings slow, so that many are
// under way at any moment.
type election struct {
	*harness.Cluster
	observer *harness.Observer
}

type candidate struct {
	*harness.Process
	proxy *harness.Proxy
}

func startElection(t *testing.T, n int) *election {
	t.Helper()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, nodes(n)...)
	return &election{c, c.Observe(t)}
}

func (e *election) start(t *testing.T, name string, how func(testing.TB, harness.Scheduler) *harness.Process, env ...string) candidate {
	t.Helper()
	proxy := e.StartProxy(t, harness.ProxyOptions{Upstream: e.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if x.IsBinding() {
			time.Sleep(200 * time.Millisecond)
		}
		x.Forward()
	})
	return candidate{how(t, harness.Scheduler{Kubeconfig: e.KubeconfigVia(t, proxy), Dir: e.Dir, Log: name, MayEnd: true, Lease: true, Env: env}), proxy}
}

func (e *election) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := e.Admin.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-scheduler", metav1.GetOptions{})
	if err != nil {
		return &coordinationv1.Lease{}
	}
	return lease
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// waitHolder waits for a holder other than `before`, and returns it.
func (e *election) waitHolder(t *testing.T, before string, limit time.Duration) string {
	t.Helper()
	var holder string
	harness.Eventually(t, limit, "somebody holds the lease", func() (bool, string) {
		holder = holderOf(e.lease(t))
		return holder != "" && holder != before, fmt.Sprintf("the holder is %q", holder)
	})
	return holder
}

func (e *election) createPods(t *testing.T, from, to int) {
	t.Helper()
	var pods []*corev1.Pod
	for i := from; i < to; i++ {
		pods = append(pods, harness.Pod(fmt.Sprintf("pod-%03d", i), "", "200m", ""))
	}
	e.CreatePods(t, 0, pods...)
}

func (e *election) allIsWell(t *testing.T, pods int) {
	t.Helper()
	e.observer.WaitBound(t, 90*time.Second, pods)
	report(t, "changed its node", e.observer.Problems())
	report(t, "overfull", e.Overfull(t))
}

func isWrite(x *harness.Exchange) bool { return x.Method != http.MethodGet }

func isLease(x *harness.Exchange) bool { return strings.Contains(x.Path, "/leases") }

func (c candidate) firstBinding() time.Time {
	bindings := c.proxy.Requests((*harness.Exchange).IsBinding)
	if len(bindings) == 0 {
		return time.Time{}
	}
	return bindings[0].At
}

// takesOver checks that a standby's first binding came in time after an event.
func (c candidate) takesOver(t *testing.T, since time.Time, limit time.Duration) {
	t.Helper()
	harness.Eventually(t, limit+20*time.Second, c.Name+" binds", func() (bool, string) { return !c.firstBinding().IsZero(), c.Output() })
	took := c.firstBinding().Sub(since)
	t.Logf("%s bound its first pod %v after that", c.Name, took.Round(10*time.Millisecond))
	if took > limit+takeoverSlack {
		t.Errorf("%s took %v to take over, and %v is the limit", c.Name, took, limit)
	}
}

func (c candidate) endsWith(t *testing.T, want int, limit time.Duration) {
	t.Helper()
	code, ended := c.Wait(limit)
	if !ended {
		t.Errorf("%s has not ended within %v", c.Name, limit)
	} else if code != want {
		t.Errorf("%s ended with %d instead of %d", c.Name, code, want)
	}
}

// The leader is killed in the middle of 2,000 pods.
func TestLeaderKilled(t *testing.T) {
	harness.NeedsBerth(t)
	e := startElection(t, manyNodes)
	first := e.start(t, "berth-first", harness.StartScheduler)
	leader := e.waitHolder(t, "", 15*time.Second)
	second := e.start(t, "berth-second", harness.StartScheduler)
	if _, id, ok := strings.Cut(leader, "_"); !ok || len(id) != 36 {
		t.Errorf("the identity %q is not host_<uuid>", leader)
	}
	e.createPods(t, 0, manyPods)
	e.observer.WaitBound(t, 30*time.Second, 100)
	if writes := second.proxy.Requests(isWrite); len(writes) > 0 {
		t.Errorf("the standby wrote: %s %s", writes[0].Method, writes[0].Path)
	}
	first.Kill()
	killed := time.Now()
	second.takesOver(t, killed, harness.LeaseDuration+harness.RetryPeriod)
	e.allIsWell(t, manyPods)

	second.Signal(syscall.SIGTERM)
	second.endsWith(t, 0, 10*time.Second)
	if lease := e.lease(t); holderOf(lease) != "" || *lease.Spec.LeaseDurationSeconds != 1 || *lease.Spec.LeaseTransitions != 1 {
		t.Errorf("the lease after a clean end: %+v", lease.Spec)
	}
	events, err := e.Admin.CoreV1().Events("kube-system").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=LeaderElection"})
	var notes []string
	if err == nil {
		for _, event := range events.Items {
			notes = append(notes, strings.TrimPrefix(event.Message, event.Message[:strings.LastIndex(event.Message, "_")+37]))
		}
	}
	if got := strings.Join(notes, ";"); strings.Count(got, " became leader") != 2 || strings.Count(got, " stopped leading") != 1 {
		t.Errorf("events of the lease: %q, %v", got, err)
	}
}

// The leader is frozen beyond its lease with bindings queued, and woken while the next one schedules.
func TestLeaderFrozen(t *testing.T) {
	harness.NeedsBerth(t)
	e := startElection(t, electionNodes)
	first := e.start(t, "berth-first", harness.StartScheduler)
	e.waitHolder(t, "", 15*time.Second)
	second := e.start(t, "berth-second", harness.StartScheduler)
	e.createPods(t, 0, electionPods)
	e.observer.WaitBound(t, 30*time.Second, 100)
	first.Signal(syscall.SIGSTOP)
	frozen := time.Now()
	second.takesOver(t, frozen, harness.LeaseDuration+harness.RetryPeriod)
	woken := time.Now()
	first.Signal(syscall.SIGCONT)
	first.endsWith(t, 1, 10*time.Second)
	if !strings.Contains(first.Output(), "Leaderelection lost") {
		t.Errorf("the woken leader says\n%s", first.Output())
	}
	e.allIsWell(t, electionPods)
	late := first.proxy.Requests(func(x *harness.Exchange) bool { return isWrite(x) && x.At.After(woken) })
	for _, x := range late {
		t.Errorf("the woken leader sent %s %s %v later", x.Method, x.Path, x.At.Sub(woken))
	}
}

// The clocks of the day of leader and standby are set back and forth by an hour, and are two hours apart when the leader
// is killed.
func TestLeaderUnderSteppedClocks(t *testing.T) {
	harness.NeedsBerth(t)
	e := startElection(t, electionNodes)
	clocks := []*harness.Clock{harness.NewClock(t, e.Dir), harness.NewClock(t, e.Dir)}
	first := e.start(t, "berth-first", harness.StartScheduler, clocks[0].Env()...)
	leader := e.waitHolder(t, "", 15*time.Second)
	second := e.start(t, "berth-second", harness.StartScheduler, clocks[1].Env()...)
	pods := 0
	more := func(n int) {
		e.createPods(t, pods, pods+n)
		pods += n
	}
	for _, step := range []struct {
		clock int
		to    time.Duration
	}{{0, time.Hour}, {1, -time.Hour}, {0, -time.Hour}, {1, time.Hour}} {
		clocks[step.clock].Set(t, step.to)
		more(50)
		time.Sleep(2 * harness.RetryPeriod)
		e.observer.WaitBound(t, 20*time.Second, pods)
	}
	if holder := holderOf(e.lease(t)); holder != leader {
		t.Errorf("%s holds the lease, %s held it before the clocks were set", holder, leader)
	}
	if writes := second.proxy.Requests(isWrite); len(writes) > 0 {
		t.Errorf("the standby wrote: %s %s", writes[0].Method, writes[0].Path)
	}
	more(electionPods - pods)
	first.Kill()
	second.takesOver(t, time.Now(), harness.LeaseDuration+harness.RetryPeriod)
	e.allIsWell(t, electionPods)
}

// Somebody deletes the Lease, empties it, and writes another name into it.
func TestLeaseEditedByHand(t *testing.T) {
	harness.NeedsBerth(t)
	e := startElection(t, electionNodes)
	first := e.start(t, "berth-first", harness.StartScheduler)
	leader := e.waitHolder(t, "", 15*time.Second)
	second := e.start(t, "berth-second", harness.StartScheduler)
	leases := e.Admin.CoordinationV1().Leases("kube-system")
	pods := 0
	more := func(n int) {
		e.createPods(t, pods, pods+n)
		pods += n
	}
	more(100)
	if err := leases.Delete(t.Context(), "kube-scheduler", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	more(100)
	if holder := e.waitHolder(t, "", 10*time.Second); holder != leader {
		t.Errorf("%s holds the lease that %s held when it was deleted", holder, leader)
	}
	harness.Eventually(t, 10*time.Second, "a stranger is written into the lease", func() (bool, string) {
		lease := e.lease(t)
		stranger := "a-stranger"
		lease.Spec.HolderIdentity = &stranger
		lease.Labels = map[string]string{"left-by": "a-stranger"}
		_, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	edited := time.Now()
	more(100)
	first.endsWith(t, 1, 5*time.Second)
	if !strings.Contains(first.Output(), "a-stranger holds it") {
		t.Errorf("the leader that lost says\n%s", first.Output())
	}
	second.takesOver(t, edited, harness.LeaseDuration+harness.RetryPeriod)
	more(100)
	e.allIsWell(t, pods)
	if label := e.lease(t).Labels["left-by"]; label != "a-stranger" {
		t.Errorf("the label of the lease is %q now", label)
	}
}

// kube-scheduler takes over from berth, and berth from kube-scheduler, cleanly and after a crash.
func TestLeadershipSharedWithKubeScheduler(t *testing.T) {
	harness.NeedsBerth(t)
	e := startElection(t, electionNodes)
	first := e.start(t, "berth-first", harness.StartScheduler)
	holder := e.waitHolder(t, "", 15*time.Second)
	upstream := e.start(t, "kube-scheduler", harness.StartKubeScheduler)
	e.createPods(t, 0, 200)
	e.observer.WaitBound(t, 30*time.Second, 50)
	if writes := upstream.proxy.Requests(func(x *harness.Exchange) bool { return x.IsBinding() }); len(writes) > 0 {
		t.Error("kube-scheduler bound a pod while berth held the lease")
	}
	first.Signal(syscall.SIGTERM)
	signalled := time.Now()
	first.endsWith(t, 0, 12*time.Second)
	holder = e.waitHolder(t, holder, 15*time.Second)
	e.createPods(t, 200, 400)
	upstream.takesOver(t, signalled, 12*time.Second)
	e.observer.WaitBound(t, 60*time.Second, 400)

	second := e.start(t, "berth-second", harness.StartScheduler)
	harness.Eventually(t, 15*time.Second, "berth stands by", func() (bool, string) {
		return strings.Contains(second.Output(), "Standing by"), second.Output()
	})
	e.createPods(t, 400, electionPods)
	upstream.Kill()
	killed := time.Now()
	holder = e.waitHolder(t, holder, 15*time.Second)
	if took := time.Since(killed); took > harness.LeaseDuration+harness.RetryPeriod+takeoverSlack {
		t.Errorf("berth held the lease %v after kube-scheduler's end", took)
	}
	e.allIsWell(t, electionPods)
	if transitions := *e.lease(t).Spec.LeaseTransitions; transitions != 2 {
		t.Errorf("the lease has changed hands twice, and says %d times", transitions)
	}
	// And cleanly the other way round.
	third := e.start(t, "kube-scheduler-second", harness.StartKubeScheduler)
	_ = third
	second.Signal(syscall.SIGTERM)
	second.endsWith(t, 0, 10*time.Second)
	e.waitHolder(t, holder, 15*time.Second)
}

// Without the right to the Lease nothing is scheduled, and one line says why.
func TestNoRightToTheLease(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if isLease(x) {
			x.AnswerFailure(403, "Forbidden", "leases are forbidden here", nil)
			return
		}
		x.Forward()
	})
	berth := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir, Lease: true})
	c.CreatePods(t, 0, harness.Pod("pod", "", "1", ""))
	harness.Eventually(t, 15*time.Second, "berth has tried several times", func() (bool, string) {
		return len(proxy.Requests(isLease)) >= 6, berth.Output()
	})
	if n := strings.Count(berth.Output(), "leases are forbidden here"); n != 1 {
		t.Errorf("it is said %d times within a few seconds:\n%s", n, berth.Output())
	}
	if writes := proxy.Requests(func(x *harness.Exchange) bool { return isWrite(x) && !isLease(x) }); len(writes) > 0 {
		t.Errorf("it wrote without the lease: %s %s", writes[0].Method, writes[0].Path)
	}
	berth.Signal(syscall.SIGTERM)
	if code, ended := berth.Wait(3 * time.Second); !ended || code != 0 {
		t.Errorf("a standby that is told to end: ended %v, with %d", ended, code)
	}
}

// With the rights of kube-scheduler and those of deploy/lease-role.yaml berth schedules under a lease of its own name;
// without the latter it stands by.
func TestLeaseRoleOfAnotherName(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	const account = "system:serviceaccount:kube-system:berth"
	for _, role := range []string{"system:kube-scheduler", "system:volume-scheduler"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "berth:" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "berth", Namespace: "kube-system"}},
		}
		if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	berth := harness.StartScheduler(t, harness.Scheduler{Name: "berth", Kubeconfig: c.Kubeconfig(t, account), Dir: c.Dir, Lease: true})
	pod := harness.Pod("pod", "", "1", "")
	pod.Spec.SchedulerName = "berth"
	c.CreatePods(t, 0, pod)
	harness.Eventually(t, 15*time.Second, "berth says that it may not have the lease", func() (bool, string) {
		return strings.Contains(berth.Output(), "The leader election lease could not be acquired"), berth.Output()
	})

	text, err := os.ReadFile("../../deploy/lease-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for i, into := range []any{&role, &binding} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Admin.RbacV1().Roles(role.Namespace).Create(t.Context(), &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admin.RbacV1().RoleBindings(binding.Namespace).Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.WaitBound(t, 30*time.Second, "pod")
	if lease, err := c.Admin.CoordinationV1().Leases("kube-system").Get(t.Context(), "berth", metav1.GetOptions{}); err != nil || holderOf(lease) == "" {
		t.Errorf("nobody holds the lease berth: %v", err)
	}
}
