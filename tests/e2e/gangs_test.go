// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gangGates   = "GenericWorkload=true"
	podGroups   = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
	conditionOf = "PodGroupInitiallyScheduled"
)

// gangPlan is a number of gangs and nodes that have room for two thirds of what the gangs ask for.
type gangPlan struct {
	gangs, nodes int
	rate         int // objects a second
	seed         uint64
}

// arrival is one object that is created: a gang's member, or the PodGroup itself where member is -1.
type arrival struct {
	gang   *gang
	member int
}

// make makes the gangs, their nodes, and the order in which PodGroups and members come, all of it by the seed.
func (p gangPlan) make() (gangs []gang, nodes []*corev1.Node, order []arrival) {
	random := rand.New(rand.NewPCG(p.seed, 0))
	asked := int64(0)
	for i := range p.gangs {
		g := gang{name: fmt.Sprintf("gang-%03d", i), size: 8 + random.IntN(57)}
		g.minCount = g.size
		if random.IntN(3) == 0 { // some are content with less than all
			g.minCount = g.size * 3 / 4
		}
		g.ask = room{[]int64{250, 400, 500, 1000}[random.IntN(4)], int64(256+random.IntN(512)) << 20, 1}
		asked += int64(g.size) * g.ask.cpu
		gangs = append(gangs, g)
	}
	for i := range p.nodes {
		node := harness.Node(fmt.Sprintf("node-%03d", i))
		node.Status.Allocatable = node.Status.Allocatable.DeepCopy()
		node.Status.Allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(asked*2/3/int64(p.nodes), resource.DecimalSI)
		nodes = append(nodes, node)
	}
	// A gang begins at a random moment, and its members trickle in over a fifth of the whole time. Every fourth
	// PodGroup comes among its members instead of before them.
	type moment struct {
		at float64
		arrival
	}
	var moments []moment
	for i := range gangs {
		begin, object := random.Float64(), 0.0
		if random.IntN(4) == 0 {
			object = random.Float64() / 5
		}
		moments = append(moments, moment{begin + object, arrival{&gangs[i], -1}})
		for m := range gangs[i].size {
			moments = append(moments, moment{begin + random.Float64()/5, arrival{&gangs[i], m}})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for _, m := range moments {
		order = append(order, m.arrival)
	}
	return gangs, nodes, order
}

// gangRun is one scheduler's run and what came of it.
type gangRun struct {
	Scheduler string  `json:"scheduler"`
	Gangs     int     `json:"gangs"`
	Nodes     int     `json:"nodes"`
	Pods      int     `json:"pods"`
	Seed      uint64  `json:"seed"`
	Placed    int     `json:"gangs_placed"`
	Bound     int     `json:"pods_bound"`
	LastBind  float64 `json:"last_bind_s"` // since the first object was posted
	PodsPerS  float64 `json:"pods_s"`
	CPU       float64 `json:"cpu_s"` // from the first object posted to the last binding
	CPUPerPod float64 `json:"cpu_ms_per_pod"`
	Waiting   float64 `json:"cpu_s_per_minute_waiting"` // while nothing fits
	Drained   float64 `json:"rest_bound_s"`             // since the placed gangs were deleted; 0 when never
	CPUAll    float64 `json:"cpu_s_all"`                // to the end of all
	InPart    float64 `json:"longest_in_part_s"`
	AfterKill float64 `json:"longest_in_part_over_the_crash_s"`
	Away      float64 `json:"api_server_away_s"`
	PeakMiB   float64 `json:"rss_peak_mib"`

	Faults []string `json:"faults,omitempty"`
}

const (
	gangsSettle  = 150 * time.Second // a group of 64 waits for 80 seconds at most
	gangsWaiting = 10 * time.Second
)

// play creates a plan's gangs on a fresh control plane, kills its API server once, and waits until no gang is left that
// would fit. Then the placed gangs go, and the others, for which there is room now, must come: none is forgotten.
func (p gangPlan) play(t *testing.T, scheduler string) gangRun {
	gangs, nodes, order := p.make()
	c := harness.StartCluster(t, harness.Options{APIServer: []string{"--feature-gates=" + gangGates, "--runtime-config=scheduling.k8s.io/v1beta1=true"}})
	c.CreateNodes(t, nodes...)
	k := newGangChecker(gangs, nodes)
	k.watch(t, c)
	start := harness.StartScheduler
	if scheduler != "berth" {
		start = harness.StartKubeScheduler
	}
	process := start(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, Gates: gangGates})
	c.CreatePods(t, 0, harness.Pod("first", "", "", ""))
	c.WaitBound(t, 60*time.Second, "first")
	c.DeletePod(t, "first")

	run := gangRun{Scheduler: scheduler, Gangs: p.gangs, Nodes: p.nodes, Pods: len(order) - len(gangs), Seed: p.seed}
	fault := func(what string, names []string) {
		if len(names) > 0 {
			run.Faults = append(run.Faults, fmt.Sprintf("%s: %d, such as %s", what, len(names), strings.Join(names[:min(3, len(names))], "; ")))
		}
	}
	began, cpuBefore := time.Now(), harness.CPUSeconds(process.Pid())
	var posted atomic.Bool
	var arrivals sync.WaitGroup
	arrivals.Go(func() {
		c.CreateInOrder(t, len(order), p.rate, func(ctx context.Context, i int) error { return order[i].create(ctx, c, k) })
		posted.Store(true)
	})
	defer arrivals.Wait()

	// Two fifths of what fits are bound: much is under way.
	harness.Eventually(t, 3*time.Minute, "gangs are bound", func() (bool, string) {
		binds, _ := k.bindings()
		return binds > run.Pods*2/3*2/5, fmt.Sprintf("%d pods are", binds)
	})
	killed := time.Now()
	k.down(killed)
	c.KillAPIServer()
	c.StartAPIServer(t)
	k.up(time.Now())
	run.Away = time.Since(killed).Seconds()

	// To the last gang that fits.
	cpu, fits := cpuBefore, []string{}
	for last, end := 0, time.Now().Add(gangsSettle); time.Now().Before(end) && !t.Failed(); time.Sleep(100 * time.Millisecond) {
		binds, at := k.bindings()
		if binds != last {
			last, cpu = binds, harness.CPUSeconds(process.Pid())
		}
		if !posted.Load() || time.Since(at) < 3*time.Second {
			end = time.Now().Add(gangsSettle)
			continue
		}
		if fits = k.stillFits(); len(fits) == 0 && len(k.inPart()) == 0 {
			break
		}
	}
	fault("gangs that would fit and wait", fits)
	fault("gangs that stay bound in part", k.inPart())
	_, last := k.bindings()
	run.LastBind, run.CPU = last.Sub(began).Seconds(), cpu-cpuBefore
	run.Placed = k.count(placed)
	run.Bound, _ = k.bindings()
	run.PodsPerS, run.CPUPerPod = float64(run.Bound)/run.LastBind, run.CPU/float64(run.Bound)*1000
	cpu = harness.CPUSeconds(process.Pid())
	time.Sleep(gangsWaiting)
	run.Waiting = (harness.CPUSeconds(process.Pid()) - cpu) / gangsWaiting.Minutes()
	fault("wrong conditions", wrongConditions(t, c, k))

	// The others' turn.
	went := time.Now()
	leaving := k.leave()
	c.CreateInOrder(t, len(leaving), 0, func(ctx context.Context, i int) error {
		now := int64(0)
		err := c.Admin.CoreV1().Pods("default").Delete(ctx, leaving[i], metav1.DeleteOptions{GracePeriodSeconds: &now})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	waits := func(g *gangState) bool { return !g.leaving && g.bound < g.size }
	for end := time.Now().Add(gangsSettle); k.count(waits) > 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	if waiting := k.count(waits); waiting > 0 {
		fault("gangs that wait though there is room for all", k.stillFits())
	} else {
		_, last = k.bindings()
		run.Drained = last.Sub(went).Seconds()
	}
	fault("gangs that stay bound in part at the end", k.inPart())
	run.CPUAll = harness.CPUSeconds(process.Pid()) - cpuBefore
	_, run.PeakMiB = harness.MemoryMiB(process.Pid())
	run.InPart, run.AfterKill = k.longestInPart(false).Seconds(), k.longestInPart(true).Seconds()
	run.Faults = append(run.Faults, k.found()...)
	if process.Exited() {
		run.Faults = append(run.Faults, "the scheduler ended")
	}
	return run
}

// create creates a PodGroup or a member of one.
func (a arrival) create(ctx context.Context, c *harness.Cluster, k *gangChecker) error {
	k.post(a.gang.name, a.member)
	if a.member < 0 {
		body := fmt.Sprintf(`{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":%q},"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`,
			a.gang.name, a.gang.minCount)
		return c.Admin.CoreV1().RESTClient().Post().AbsPath(podGroups).SetHeader("Content-Type", "application/json").
			SetHeader("Accept", "application/json").Body([]byte(body)).Do(ctx).Error()
	}
	pod := harness.Pod(fmt.Sprintf("%s-%02d", a.gang.name, a.member), "", fmt.Sprintf("%dm", a.gang.ask.cpu), fmt.Sprint(a.gang.ask.memory))
	pod.Labels[gangLabel] = a.gang.name
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &a.gang.name}
	_, err := c.Admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// wrongConditions names the PodGroups whose condition does not tell whether they were placed; it waits a while for them.
// The condition stays True when bindings failed afterwards, so that one bound member is enough.
func wrongConditions(t *testing.T, c *harness.Cluster, k *gangChecker) (wrong []string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Second) {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Status   struct{ Conditions []metav1.Condition }
			}
		}
		b, err := c.Admin.CoreV1().RESTClient().Get().AbsPath(podGroups).SetHeader("Accept", "application/json").DoRaw(context.Background())
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		wrong = nil
		for _, group := range list.Items {
			want, reason := metav1.ConditionFalse, "Unschedulable"
			if k.count(func(g *gangState) bool { return g.name == group.Metadata.Name && g.bound > 0 }) > 0 {
				want, reason = metav1.ConditionTrue, "Scheduled"
			}
			says := "no condition"
			for _, condition := range group.Status.Conditions {
				if condition.Type == conditionOf {
					says = fmt.Sprintf("%s %s", condition.Status, condition.Reason)
				}
			}
			if says != fmt.Sprintf("%s %s", want, reason) {
				wrong = append(wrong, fmt.Sprintf("%s says %s instead of %s %s", group.Metadata.Name, says, want, reason))
			}
		}
		if len(wrong) == 0 || time.Now().After(end) {
			return wrong
		}
	}
}

// Twenty gangs of 8 to 64 members on fifty nodes, and the API server dies among them.
func TestGangs(t *testing.T) {
	if harness.Before137(t) {
		t.Skip("kube-apiserver before 1.37 has another API for groups of pods, or none")
	}
	t.Parallel()
	run := gangPlan{gangs: 20, nodes: 50, rate: 150, seed: 1}.play(t, "berth")
	t.Logf("%+v", run)
	report(t, "faults", run.Faults)
}

// TestGangsBesideKubeScheduler is a measurement, which ./dev bench gangs asks for: berth and kube-scheduler one after the
// other with the same gangs, and a table of the two.
func TestGangsBesideKubeScheduler(t *testing.T) {
	asked, ok := os.LookupEnv("BERTH_E2E_GANGS")
	if !ok {
		t.Skip("a measurement: ./dev bench gangs")
	}
	harness.NeedsBerth(t)
	p := gangPlan{}
	flags := flag.NewFlagSet("./dev bench gangs", flag.ContinueOnError)
	flags.IntVar(&p.gangs, "gangs", 200, "gangs of 8 to 64 members")
	flags.IntVar(&p.nodes, "nodes", 500, "nodes, which together have room for two thirds of the gangs")
	flags.IntVar(&p.rate, "rate", 300, "objects that are created a second")
	flags.Uint64Var(&p.seed, "seed", 1, "of the gangs and their order")
	schedulers := flags.String("schedulers", "berth,kube-scheduler", "in their order")
	out := flags.String("out", "", "a file that gets a line of JSON a run")
	if err := flags.Parse(strings.Fields(asked)); err != nil {
		t.Fatal(err)
	}
	var runs []gangRun
	for _, scheduler := range strings.Split(*schedulers, ",") {
		t.Run(scheduler, func(t *testing.T) {
			run := p.play(t, scheduler)
			runs = append(runs, run)
			if *out != "" {
				file, err := os.OpenFile(*out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				if err := json.NewEncoder(file).Encode(run); err != nil {
					t.Error(err)
				}
			}
			if scheduler == "berth" { // what kube-scheduler does is told, and not held against the test
				report(t, "faults", run.Faults)
			}
		})
	}
	fmt.Print(gangTable(runs))
}

// gangTable is Markdown: a row for each figure, a column for each scheduler.
func gangTable(runs []gangRun) string {
	var text strings.Builder
	row := func(what string, cell func(r gangRun) string) {
		fmt.Fprintf(&text, "| %s |", what)
		for _, run := range runs {
			fmt.Fprintf(&text, " %s |", cell(run))
		}
		text.WriteString("\n")
	}
	number := func(format string, get func(r gangRun) float64) func(gangRun) string {
		return func(r gangRun) string { return fmt.Sprintf(format, get(r)) }
	}
	row("", func(r gangRun) string { return r.Scheduler })
	row("---", func(gangRun) string { return "---" })
	row("gangs placed, of all", func(r gangRun) string { return fmt.Sprintf("%d of %d", r.Placed, r.Gangs) })
	row("pods bound, of all", func(r gangRun) string { return fmt.Sprintf("%d of %d", r.Bound, r.Pods) })
	row("last binding after, s", number("%.1f", func(r gangRun) float64 { return r.LastBind }))
	row("pods/s", number("%.1f", func(r gangRun) float64 { return r.PodsPerS }))
	row("CPU ms a bound pod", number("%.3f", func(r gangRun) float64 { return r.CPUPerPod }))
	row("CPU s a minute while nothing fits", number("%.2f", func(r gangRun) float64 { return r.Waiting }))
	row("the rest bound after the placed gangs went, s", func(r gangRun) string {
		if r.Drained == 0 {
			return "not all"
		}
		return fmt.Sprintf("%.1f", r.Drained)
	})
	row("longest time bound in part, s", number("%.2f", func(r gangRun) float64 { return r.InPart }))
	row("the same over the API server's crash, its absence left out, s", number("%.2f", func(r gangRun) float64 { return r.AfterKill }))
	row("API server away, s", number("%.1f", func(r gangRun) float64 { return r.Away }))
	row("peak RSS, MiB", number("%.0f", func(r gangRun) float64 { return r.PeakMiB }))
	row("rules broken", func(r gangRun) string { return fmt.Sprint(len(r.Faults)) })
	for _, run := range runs {
		for _, fault := range run.Faults {
			fmt.Fprintf(&text, "%s: %s\n", run.Scheduler, fault)
		}
	}
	return text.String()
}
