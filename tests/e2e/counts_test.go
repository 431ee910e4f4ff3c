// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Times cannot be held on machines that are shared; counts can. A scheduler's counts are read before and after a workload
// and divided by its pods. Each may be as large as its bound says, and a status of a request or a reason of an event that
// has no bound may not occur at all.

// What is counted. Requests and events have a name for each status and reason: "requests POST 201", "events Scheduled".
const (
	countAttempts    = "attempts"
	countScheduled   = "attempts scheduled"
	countRefused     = "attempts unschedulable"
	countErrors      = "attempts error" // those that are put off among them
	countThrottled   = "attempts put off for unsettled bindings"
	countNotSent     = "bindings refused by berth"
	countCycles      = "cycles" // calls of PreFilter
	countGates       = "gate calls"
	countMoves       = "queue moves" // into any queue, but for the pod's creation
	countMovesBy     = "queue moves "
	countPreemptions = "preemptions"
	countVictims     = "victims"
	countWakeUps     = "wake-ups"
	countSent        = "bytes sent"
	countReceived    = "bytes received"
	countConnections = "connections opened"
	countRequests    = "requests "
	countEvents      = "events "
	// Events that say that a binding was refused, has no answer or no known outcome.
	countUnbound = "events of bindings without effect"
)

type counts map[string]float64

func (c counts) minus(before counts) counts {
	d := counts{}
	for what, n := range c {
		if n -= before[what]; n != 0 {
			d[what] = n
		}
	}
	return d
}

// counted is a scheduler whose work is counted.
type counted struct {
	*harness.Process
	c       *harness.Cluster
	relay   *harness.Relay // nil: bytes are not counted
	metrics string
	before  counts
}

// startCounted starts a scheduler and counts from its start.
func startCounted(t *testing.T, c *harness.Cluster, s harness.Scheduler, relay *harness.Relay, isKubeScheduler bool) *counted {
	t.Helper()
	s.Dir, s.Metrics = c.Dir, harness.FreePort(t)
	start := harness.StartScheduler
	if isKubeScheduler {
		start = harness.StartKubeScheduler
	}
	return &counted{Process: start(t, s), c: c, relay: relay, metrics: harness.MetricsURL(s.Metrics, isKubeScheduler)}
}

// forgetStart counts from where the scheduler has bound a first pod.
func (k *counted) forgetStart(t *testing.T) {
	t.Helper()
	k.c.CreatePods(t, 0, harness.Pod("first", "", "", ""))
	k.c.WaitBound(t, 60*time.Second, "first")
	k.awaitScheduledEvents(t, 1)
	k.c.DeletePod(t, "first")
	deleteEvents(t, k.c)
	k.before = k.awaitQuiet(t)
}

// now are the counts since the process began, but for the events.
func (k *counted) now(t *testing.T) counts {
	t.Helper()
	families := scrape(t, k.metrics)
	sum := func(name string, parts ...string) float64 {
		if f := families[name]; f != nil {
			return f.sum(parts...)
		}
		return 0
	}
	const attempts, points = "scheduler_schedule_attempts_total", "scheduler_framework_extension_point_duration_seconds"
	n := counts{
		countAttempts:    sum(attempts),
		countScheduled:   sum(attempts, `result="scheduled"`),
		countRefused:     sum(attempts, `result="unschedulable"`),
		countErrors:      sum(attempts, `result="error"`),
		countThrottled:   sum("berth_held_back_attempts_total"),
		countNotSent:     sum("berth_bindings_not_sent_total"),
		countCycles:      sum(points, "_count", `extension_point="PreFilter"`),
		countGates:       sum(points, "_count", `extension_point="PreEnqueue"`),
		countPreemptions: sum("scheduler_preemption_attempts_total"),
		countVictims:     sum("scheduler_preemption_victims", "_sum"),
		countWakeUps:     float64(harness.WakeUps(k.Pid())),
	}
	each := func(name string, do func(labels map[string]string, value float64)) {
		if f := families[name]; f != nil {
			for key, value := range f.series {
				labels := map[string]string{}
				for _, pair := range label.FindAllStringSubmatch(key, -1) {
					labels[pair[1]] = pair[2]
				}
				do(labels, value)
			}
		}
	}
	each("scheduler_queue_incoming_pods_total", func(labels map[string]string, value float64) {
		if event := labels["event"]; event != "UnschedulablePodAdd" && event != "UnscheduledPodAdd" { // 1.36 and 1.37
			n[countMoves] += value
			n[countMovesBy+labels["queue"]+" "+event] += value
		}
	})
	each("rest_client_requests_total", func(labels map[string]string, value float64) {
		n[countRequests+labels["method"]+" "+labels["code"]] += value
	})
	if k.relay != nil {
		n[countSent], n[countReceived] = float64(k.relay.Sent()), float64(k.relay.Received())
		n[countConnections] = float64(k.relay.Connections())
	}
	return n
}

// awaitQuiet waits until the scheduler neither decides nor asks anything any more.
func (k *counted) awaitQuiet(t *testing.T) counts {
	t.Helper()
	work := func(n counts) (sum float64) {
		for what, value := range n {
			if what == countAttempts || what == countMoves || strings.HasPrefix(what, countRequests) {
				sum += value
			}
		}
		return sum
	}
	last, same := k.now(t), 0
	harness.Eventually(t, 60*time.Second, "the scheduler has nothing to do", func() (bool, string) {
		now := k.now(t)
		if work(now) == work(last) {
			same++
		} else {
			same = 0
		}
		last = now
		return same == 5, fmt.Sprintf("%v", now)
	})
	return last
}

// since are the counts, events included, once all is done.
func (k *counted) since(t *testing.T) counts {
	t.Helper()
	n := k.awaitQuiet(t).minus(k.before)
	for _, event := range k.c.Events(t, "") {
		if event.ReportingController != "default-scheduler" {
			continue // kube-apiserver's own, about services
		}
		times := timesOf(&event)
		n[countEvents+event.Reason] += times
		if event.Reason == "FailedScheduling" && event.Action == "Binding" {
			n[countUnbound] += times
		}
	}
	return n
}

// timesOf is how often an event happened: the API server keeps repetitions as one object.
func timesOf(event *eventsv1.Event) float64 {
	if event.Series != nil {
		return float64(event.Series.Count)
	}
	return 1
}

func (k *counted) awaitScheduledEvents(t *testing.T, want int) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, fmt.Sprintf("%d pods have their Scheduled event", want), func() (bool, string) {
		seen := 0
		for _, event := range k.c.Events(t, "") {
			if event.Reason == "Scheduled" {
				seen++
			}
		}
		return seen >= want, fmt.Sprint(seen)
	})
}

// bound is the most that a count may be, for each pod.
type bound struct {
	what string
	most float64
}

// hold compares counts with their bounds.
func hold(t *testing.T, pods int, got counts, bounds []bound) {
	t.Helper()
	most := map[string]float64{}
	for _, b := range bounds {
		most[b.what] = b.most // the last one counts
	}
	for _, what := range slices.Sorted(maps.Keys(most)) {
		if aPod := got[what] / float64(pods); aPod > most[what] {
			t.Errorf("%s: %.4g a pod (%.0f for %d pods), and at most %.4g are expected", what, aPod, got[what], pods, most[what])
		}
	}
	for what, n := range got {
		if _, isBound := most[what]; !isBound && isListed(what) {
			t.Errorf("%s: %.0f, and none is expected", what, n)
		}
	}
}

// isListed is true of counts that may occur only where they have a bound.
func isListed(what string) bool {
	return strings.HasPrefix(what, countRequests) || strings.HasPrefix(what, countEvents)
}

// show logs counts, their bounds if there are any, and what another scheduler or another day had.
func show(t *testing.T, pods int, got counts, bounds []bound, other string, beside counts) {
	t.Helper()
	most := map[string]string{}
	for _, b := range bounds {
		most[b.what] = fmt.Sprintf("%.4g", b.most)
	}
	names := map[string]bool{}
	for _, c := range []counts{got, beside} {
		for what := range c {
			names[what] = true
		}
	}
	for what := range most {
		names[what] = true
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d pods\n%-48s %10s %10s %10s %15s", pods, "count", "in all", "a pod", "at most", other)
	for _, what := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(orderOf(a), orderOf(b)), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&text, "\n%-48s %10.0f %10.4g %10s", what, got[what], got[what]/float64(pods), most[what])
		if beside != nil {
			fmt.Fprintf(&text, " %15.4g", beside[what]/float64(pods))
		}
	}
	t.Log(text.String())
}

// orderOf puts attempts first, then what the scheduler does inside, then what others see of it.
func orderOf(what string) int {
	for i, prefix := range []string{countAttempts, countNotSent, countCycles, countGates, countMoves, countPreemptions, countVictims, countWakeUps, "bytes", countConnections, countRequests, countEvents} {
		if strings.HasPrefix(what, prefix) {
			return i
		}
	}
	return 99
}

// workload is what a scheduler has to do.
type workload struct {
	name     string
	pods     int // that the counts are divided by
	binds    int // of these, those that get a node
	existing int // pods that have a node before
	gates    string
	prepare  func(t *testing.T, c *harness.Cluster)
	run      func(t *testing.T, c *harness.Cluster)
	bounds   []bound
}

// play has a scheduler do a workload on an empty cluster, and counts. Afterwards the cluster is empty again.
func (w *workload) play(t *testing.T, c *harness.Cluster, isKubeScheduler bool) counts {
	t.Helper()
	t.Cleanup(func() { empty(t, c) }) // after the scheduler's end
	w.prepare(t, c)
	relay := c.StartRelay(t)
	name := "berth-" + w.name
	if isKubeScheduler {
		name = "kube-scheduler-" + w.name
	}
	k := startCounted(t, c, harness.Scheduler{Kubeconfig: c.KubeconfigAt(t, relay.URL), Log: name, Gates: w.gates}, relay, isKubeScheduler)
	k.forgetStart(t)
	o := c.Observe(t)
	w.run(t, c)
	o.WaitBound(t, 90*time.Second, w.existing+w.binds)
	k.awaitScheduledEvents(t, w.binds)
	awaitAllReported(t, c)
	n := k.since(t)
	report(t, "changed its node", o.Problems())
	report(t, "overfull", c.Overfull(t))
	if n[countScheduled] != float64(w.binds) {
		t.Errorf("%.0f attempts ended with a node, for %d pods", n[countScheduled], w.binds)
	}
	return n
}

// awaitAllReported waits until every pod without a node says why it has none.
func awaitAllReported(t *testing.T, c *harness.Cluster) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, "pods without a node are told why", func() (bool, string) {
		for _, pod := range c.Pods(t) {
			if condition := harness.Condition(&pod); pod.Spec.NodeName == "" && (condition == nil || condition.Status != corev1.ConditionFalse) {
				return false, pod.Name
			}
		}
		return true, ""
	})
}

// empty deletes what a workload made.
func empty(t *testing.T, c *harness.Cluster) {
	t.Helper()
	none := int64(0)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(c.Admin.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{}))
	must(c.Admin.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	if !harness.Before137(t) {
		must(c.Admin.CoreV1().RESTClient().Delete().AbsPath(podGroups).Do(ctx).Error())
	}
	// Its holder is gone, and nobody is to wait until that shows.
	if err := c.Admin.CoordinationV1().Leases("kube-system").Delete(ctx, "kube-scheduler", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		must(err)
	}
	deleteEvents(t, c)
	harness.Eventually(t, 30*time.Second, "the cluster is empty", func() (bool, string) {
		left := len(c.Pods(t))
		return left == 0, fmt.Sprint(left)
	})
}

func deleteEvents(t *testing.T, c *harness.Cluster) {
	t.Helper()
	if err := c.Admin.EventsV1().Events("default").DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}
