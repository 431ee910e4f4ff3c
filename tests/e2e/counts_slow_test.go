// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	slowPods       = 300 // all of one namespace
	slowEarly      = 250 // of them, those that are there before berth is
	slowPodsANode  = 20
	slowPreemptors = 10  // and as many nodes, full of pods of low priority
	slowAttempts   = 1.1 // times those with a quick server
	slowPutOff     = 5   // times that a pod has to wait for its turn
	// The longest that a pod may wait for its node once the server is quick again.
	slowBacklogFor = 10 * time.Second
	poolLabel      = "pool"
)

// slowness is a way in which a control plane is slow; the zero value is none.
type slowness struct {
	name  string
	lease bool
	// Where there is a rule, berth reaches the API server through a proxy that follows it.
	rule func(isSlow *atomic.Bool) func(*harness.Exchange)
	// Where there is none, it makes the control plane slow, and returns what makes it quick again.
	slow func(t *testing.T, c *harness.Cluster) (quick func())
}

var slownesses = []slowness{
	{name: "delay", rule: delayedAnswers},
	{name: "starved", lease: true, slow: func(t *testing.T, c *harness.Cluster) func() {
		// A fifth of a processor.
		return c.APIServer().Throttle(t, 80*time.Millisecond, 20*time.Millisecond)
	}},
	{name: "fsync", slow: func(t *testing.T, c *harness.Cluster) func() {
		// A disk whose fsync takes long holds up every commit, and with it whoever waits for one. A disk cannot be made
		// slow without privileges, so etcd stands still for as long instead. Reads wait as well, which they do not all on
		// a slow disk.
		return c.Etcd().Throttle(t, 1200*time.Millisecond, 300*time.Millisecond)
	}},
	{name: "429", lease: true, rule: refusedWrites},
}

// delayedAnswers delays every answer, and every piece of a watch, by 0.3 to 3 s.
func delayedAnswers(isSlow *atomic.Bool) func(*harness.Exchange) {
	random, mu := rand.New(rand.NewPCG(41, 5)), sync.Mutex{}
	delay := func() time.Duration {
		if !isSlow.Load() {
			return 0
		}
		mu.Lock()
		defer mu.Unlock()
		return 300*time.Millisecond + time.Duration(random.Int64N(int64(2700*time.Millisecond)))
	}
	return func(x *harness.Exchange) { x.ForwardLateBy(delay) }
}

// refusedWrites answers a third of the writes with 429.
func refusedWrites(isSlow *atomic.Bool) func(*harness.Exchange) {
	random, mu := rand.New(rand.NewPCG(41, 6)), sync.Mutex{}
	return func(x *harness.Exchange) {
		mu.Lock()
		refuse := isSlow.Load() && x.Method != http.MethodGet && random.IntN(3) == 0
		mu.Unlock()
		if refuse {
			x.AnswerFailure(http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later",
				http.Header{"Retry-After": {"1"}})
			return
		}
		x.Forward()
	}
}

// TestCountsSlow holds that a slow control plane costs berth no further attempts: no binding is given up because earlier
// ones wait for their answers, and what has come together is bound soon after the server is quick again.
func TestCountsSlow(t *testing.T) {
	harness.NeedsBerth(t)
	c := startForCounts(t)
	var quick counts
	t.Run("quick", func(t *testing.T) { quick = slowness{name: "quick"}.play(t, c) })
	if quick == nil {
		return
	}
	for _, s := range slownesses {
		t.Run(s.name, func(t *testing.T) {
			n := s.play(t, c)
			show(t, slowPods+slowPreemptors, n, nil, "quick server", quick)
			if most := slowAttempts * quick[countAttempts]; n[countAttempts] > most {
				t.Errorf("%.0f attempts, and with a quick server %.0f: at most %.0f are expected", n[countAttempts], quick[countAttempts], most)
			}
			if most := float64(slowPutOff * (slowPods + slowPreemptors)); n[countThrottled] > most {
				t.Errorf("pods were put off %.0f times, and at most %.0f times are expected", n[countThrottled], most)
			}
		})
	}
}

// play has berth schedule while the control plane is slow, makes it quick again and waits for the rest.
func (s slowness) play(t *testing.T, c *harness.Cluster) counts {
	t.Helper()
	t.Cleanup(func() { empty(t, c) })
	all := nodes(slowPreemptors + slowPods/slowPodsANode + 1)
	for i, node := range all {
		node.Labels[poolLabel] = "plain"
		if i < slowPreemptors {
			node.Labels[poolLabel] = "full"
		}
	}
	fillWithLow(t, c, all[:slowPreemptors])
	c.CreateNodes(t, all[slowPreemptors:]...)

	var isSlow atomic.Bool
	var relay *harness.Relay
	var kubeconfig string
	if s.rule != nil {
		proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, s.rule(&isSlow))
		kubeconfig = c.KubeconfigVia(t, proxy)
	} else {
		relay = c.StartRelay(t)
		kubeconfig = c.KubeconfigAt(t, relay.URL)
	}
	o := c.Observe(t)
	refusals := followRefusals(t, c)

	// Most pods are there before berth is, so that many bindings wait for their answers from its beginning on. The others
	// come last, so that some wait when the server becomes quick.
	plain := podsNamed("pod", slowPods, func(name string) *corev1.Pod {
		pod := harness.Pod(name, "", "200m", "")
		pod.Spec.NodeSelector = map[string]string{poolLabel: "plain"}
		return pod
	})
	c.CreatePods(t, 0, plain[:slowEarly]...)
	c.CreatePods(t, 0, podsNamed("preemptor", slowPreemptors, func(name string) *corev1.Pod {
		pod := preemptor(name)
		pod.Spec.NodeSelector = map[string]string{poolLabel: "full"}
		return pod
	})...)
	quick := func() {}
	isSlow.Store(true)
	if s.slow != nil {
		quick = s.slow(t, c)
	}
	k := startCounted(t, c, harness.Scheduler{Kubeconfig: kubeconfig, Log: "berth-" + s.name, UsualLease: s.lease}, relay, false)
	const there, inAll = slowPreemptors * lowPodsANode, slowPreemptors*lowPodsANode + slowPreemptors + slowPods
	o.WaitBound(t, 90*time.Second, there+slowEarly*2/5)
	c.CreatePods(t, 0, plain[slowEarly:]...)
	quick()
	isSlow.Store(false)

	began, backlog := time.Now(), inAll-o.Bound()
	o.WaitBound(t, 90*time.Second, inAll)
	took := time.Since(began).Round(100 * time.Millisecond)
	t.Logf("%d of %d pods had no node when the server became quick; the last was bound %v later", backlog, slowPods+slowPreemptors, took)
	if took > slowBacklogFor {
		t.Errorf("the backlog was gone %v after the server was quick again, and not within %v", took, slowBacklogFor)
	}
	k.awaitScheduledEvents(t, slowPods+slowPreemptors)
	n := k.since(t)
	report(t, "changed its node", o.Problems())
	report(t, "overfull", c.Overfull(t))
	if n[countNotSent] > 0 {
		t.Errorf("the metric of bindings that were not sent says %.0f", n[countNotSent])
	}
	report(t, "refused by berth", append(refusals(), k.linesWith(notSent)...))
	for _, event := range c.Events(t, "") {
		if strings.Contains(event.Note, notSent) {
			t.Errorf("refused by berth: an event of pod %s says %q", event.Regarding.Name, event.Note)
			break
		}
	}
	return n
}

// notSent is how berth says of a binding that it has given it up before it asked the API server.
const notSent = "not sent"

// followRefusals notes the pods whose condition says that their binding was not sent, even if it says so for a moment.
func followRefusals(t *testing.T, c *harness.Cluster) (refusals func() []string) {
	t.Helper()
	var mu sync.Mutex
	conditions := map[string]string{}
	see := func(pod *corev1.Pod) {
		if condition := harness.Condition(pod); condition != nil && strings.Contains(condition.Message, notSent) {
			mu.Lock()
			defer mu.Unlock()
			conditions[pod.Name] = fmt.Sprintf("the condition of pod %s says %q", pod.Name, condition.Message)
		}
	}
	c.FollowPods(t, func(pods []corev1.Pod) {
		for i := range pods {
			see(&pods[i])
		}
	}, func(_ watch.EventType, pod *corev1.Pod) { see(pod) })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Values(conditions))
	}
}

// linesWith are the lines of a scheduler's log that contain a text.
func (k *counted) linesWith(text string) (lines []string) {
	for line := range strings.SplitSeq(k.Output(), "\n") {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}
