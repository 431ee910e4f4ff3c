// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The schedulers that are tried.
const (
	berth         = "berth"
	kubeScheduler = "kube-scheduler"
)

const (
	nodeCount  = 500
	roomSize   = 10     // nodes to a room
	roomLabel  = "room" // by which a test keeps pods on few nodes: "0" to "49"
	zoneLabel  = "z"    // ten zones
	serverName = "apiserver.test"
	// Static tokens, all of the scheduler's user.
	firstToken, secondToken = "the-first-token", "the-second-token"
)

// attack is one thing that a tenant, the network or a clock does.
type attack struct {
	name      string
	strengths []int // the first is the one that every scheduler is tried with, the others are berth's
	unit      string
	atLeast   time.Duration // ordinary pods are created for so long; 12 s when 0
	drain     time.Duration // and waited for so long after that; 15 s when 0
	deaf      bool          // a fault between scheduler and API server: the measure is how long it takes to recover
	alone     bool          // on a control plane of its own
	berthOnly string        // why kube-scheduler is not tried
	run       func(r *run)
}

// run is one attack on one scheduler.
type run struct {
	testing.TB
	c         *harness.Cluster
	attack    *attack
	strength  int
	scheduler string // berth or kube-scheduler
	podsFor   string // spec.schedulerName of the pods; "" is the default
	tenant    string // the attacker's namespace
	dir       string
	trusted   *harness.Authority // a second one, whose certificates the cluster's clients also take
	stream    *stream
	guard     *guard
	result    result
}

var streams atomic.Int64

// newCluster starts a control plane with its nodes and the namespaces of ordinary pods.
func newCluster(t testing.TB, second *harness.Authority) *harness.Cluster {
	t.Helper()
	c := harness.StartCluster(t, harness.Options{
		ServerName: serverName, AlsoTrusted: second.PEM,
		Tokens: map[string]string{firstToken: harness.SchedulerUser, secondToken: harness.SchedulerUser},
	})
	var nodes []*corev1.Node
	for i := range nodeCount {
		node := harness.Node(fmt.Sprintf("node-%03d", i))
		node.Labels[roomLabel] = fmt.Sprint(i / roomSize)
		node.Labels[zoneLabel] = fmt.Sprint(i % 10)
		nodes = append(nodes, node)
	}
	c.CreateNodes(t, nodes...)
	for _, name := range ordinaryNamespaces {
		createNamespace(t, c, name)
	}
	return c
}

func createNamespace(t testing.TB, c *harness.Cluster, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.Admin.CoreV1().Namespaces().Create(context.Background(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// options of a scheduler's start, beyond the usual.
type options struct {
	kubeconfig string   // as the user that RBAC knows, straight to the API server, when empty
	json       bool     // kube-scheduler speaks JSON, as berth does with a server that answers so
	prefix     []string // a program that starts the scheduler
	env        []string
	flags      []string // of berth
	elects     bool     // with leader election asked for
	log        string
}

// start starts the scheduler under test once.
func (r *run) start(o options) *harness.Process {
	kubeconfig := o.kubeconfig
	if kubeconfig == "" {
		kubeconfig = r.c.Kubeconfig(r, harness.SchedulerUser)
	}
	log := r.scheduler
	if o.log != "" {
		log = o.log
	}
	args := slices.Clone(o.prefix)
	if r.scheduler == berth {
		args = append(args, harness.Berth(r), "run", "--kubeconfig", kubeconfig)
		if o.elects {
			args = append(args, "--config", r.file("elects.yaml", fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q}
leaderElection: {leaderElect: true}
`, kubeconfig)))
		} else {
			args = append(args, "--leader-elect=false")
		}
		args = append(args, o.flags...)
	} else {
		contentType := "application/vnd.kubernetes.protobuf"
		if o.json {
			contentType = "application/json"
		}
		args = append(args, harness.ControlPlane(r, "kube-scheduler"), "--secure-port=0", "-v=2", "--config",
			r.file("kube-scheduler.yaml", fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000, contentType: %s}
leaderElection: {leaderElect: %t}
`, kubeconfig, contentType, o.elects)))
	}
	return harness.Start(r, harness.Command{Name: log, Dir: r.dir, Args: args, Env: o.env, MayEnd: true})
}

func (r *run) file(name string, content []byte) string {
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

// begin starts the scheduler and the stream of ordinary pods, and goes on when pods have been bound for a while.
func (r *run) begin(o options) {
	r.beginStream()
	r.beginScheduler(o)
	began := time.Now()
	harness.Eventually(r, 60*time.Second, "the scheduler binds ordinary pods before the attack", func() (bool, string) {
		if ends := r.guard.now().ends; len(ends) > 0 {
			r.Fatalf("%s ended before the attack: %v", r.scheduler, ends)
		}
		bound := 0
		for _, pod := range r.stream.created(began, time.Now()) {
			if !pod.bound.IsZero() {
				bound++
			}
		}
		return bound >= 2*ordinaryRate, fmt.Sprint(bound)
	})
	r.settle()
	r.result.BeforeMiB = math.Round(r.guard.now().rssMiB)
}

// settle waits until the pods of two seconds were bound quickly, half a minute at most: an API server that has just been
// started is slow by itself.
func (r *run) settle() {
	const span = 2 * time.Second
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(200 * time.Millisecond) {
		now, quick := time.Now(), 0
		pods := r.stream.created(now.Add(-span-500*time.Millisecond), now.Add(-500*time.Millisecond))
		for _, pod := range pods {
			if !pod.bound.IsZero() && pod.bound.Sub(pod.sent) < 500*time.Millisecond {
				quick++
			}
		}
		if quick == len(pods) && quick >= ordinaryRate {
			return
		}
	}
	r.note("before the attack pods were not bound quickly")
}

func (r *run) beginStream() {
	r.stream = startStream(r.c, fmt.Sprintf("stream-%d", streams.Add(1)), r.podsFor)
	r.Cleanup(r.stream.close)
}

func (r *run) beginScheduler(o options) {
	r.guard = newGuard(func() *harness.Process { return r.start(o) })
}

// under measures the ordinary pods while attack goes on: until it returns, and at least as long as the attack's
// description says. Then it waits for the pods that are not bound yet.
func (r *run) under(attack func(ctx context.Context)) {
	const longest = 2 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	began, cpu := time.Now(), r.guard.now().cpu
	var task sync.WaitGroup
	task.Go(func() { attack(ctx) })
	time.Sleep(or(r.attack.atLeast, 12*time.Second))
	task.Wait()
	ended := time.Now()
	r.stream.pause()
	waits := or(r.attack.drain, 15*time.Second)
	for time.Since(ended) < waits {
		time.Sleep(100 * time.Millisecond)
		if r.waiting(began, ended) == 0 {
			break
		}
	}
	r.result.takeOrdinary(r.stream.created(began, ended), time.Now())
	if r.result.Pods == 0 {
		r.fault("no ordinary pod could be created: nothing is shown")
	}
	r.result.Seconds = math.Round(ended.Sub(began).Seconds())
	r.result.CPU = math.Round((r.guard.now().cpu-cpu)*10) / 10
	r.result.AfterMiB = math.Round(r.guard.now().rssMiB)
}

func (r *run) waiting(from, to time.Time) int {
	n := 0
	for _, pod := range r.stream.created(from, to) {
		if pod.bound.IsZero() {
			n++
		}
	}
	return n
}

// cleared waits for memory to come back, after the attacker's objects are gone, a minute at most.
func (r *run) cleared() {
	r.emptyTenant()
	began := time.Now()
	for {
		after := r.guard.now().rssMiB
		r.result.AfterMiB = math.Round(after)
		if after <= r.result.BeforeMiB+heldMaxMiB || time.Since(began) > time.Minute {
			r.note("memory was back after %.0f s", time.Since(began).Seconds())
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func (r *run) note(format string, values ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, values...))
}

func (r *run) fault(format string, values ...any) {
	r.result.Faults = append(r.result.Faults, fmt.Sprintf(format, values...))
}

// emptyTenant deletes the attacker's pods and waits until they are gone, three minutes at most: an API server that is busy
// takes longer than a request may.
func (r *run) emptyTenant() {
	none := int64(0)
	pods := r.c.Admin.CoreV1().Pods(r.tenant)
	for began := time.Now(); time.Since(began) < 3*time.Minute; {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		_ = pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{})
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		cancel()
		if err == nil && len(left.Items) == 0 {
			return
		}
	}
	r.note("not all pods of the attack could be deleted")
}

func or(value, otherwise time.Duration) time.Duration {
	if value == 0 {
		return otherwise
	}
	return value
}

// suite runs attacks and keeps what came out.
type suite struct {
	shared   *harness.Cluster
	second   *harness.Authority
	out      *os.File
	versions map[string]string
	results  []result
	tenants  int
}

// try runs one attack on one scheduler.
func (s *suite) try(t *testing.T, a *attack, strength int, scheduler string) {
	outcome := result{
		Attack: a.name, Strength: strength, Unit: a.unit, Scheduler: scheduler, Version: s.versions[scheduler],
		Date: time.Now().UTC().Format(time.RFC3339), Cores: runtime.NumCPU(),
	}
	if scheduler != berth && a.berthOnly != "" {
		outcome.NotTried = a.berthOnly
		s.keep(t, outcome)
		return
	}
	outcome.Load[0] = loadAverage()
	c := s.shared
	if a.alone {
		c = newCluster(t, s.second)
	}
	s.tenants++
	r := &run{
		TB: t, c: c, attack: a, strength: strength, scheduler: scheduler, dir: harness.TempDir(t), trusted: s.second,
		tenant: fmt.Sprintf("tenant-%d", s.tenants), result: outcome,
	}
	createNamespace(t, c, r.tenant)
	t.Cleanup(r.emptyTenant)
	// Not a Cleanup: those of the processes that it starts would come before it.
	defer func() {
		if r.guard != nil {
			r.guard.close()
		}
	}()
	a.run(r)
	if r.guard != nil {
		use := r.guard.now()
		r.result.PeakMiB, r.result.Ends = math.Round(use.peakMiB), use.ends
	}
	r.result.Load[1] = loadAverage()
	r.result.judge(a.deaf)
	s.keep(t, r.result)
}

func (s *suite) keep(t *testing.T, outcome result) {
	s.results = append(s.results, outcome)
	t.Log(outcome.line())
	for _, note := range outcome.Notes {
		t.Log("  " + note)
	}
	line, err := json.Marshal(outcome)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	// What kube-scheduler does not stand is told, and is no failure of the suite.
	if outcome.Scheduler == berth && len(outcome.Faults) > 0 {
		t.Errorf("%s, strength %d: %s", outcome.Attack, outcome.Strength, strings.Join(outcome.Faults, "; "))
	}
}

// versionOf is what a scheduler says of itself.
func versionOf(t *testing.T, program string, arguments ...string) string {
	b, err := exec.Command(program, arguments...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return first
}
