// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
)

const (
	manyNodes = 100
	manyPods  = 2000
)

// twentyPerNode are pods that fill manyNodes nodes of 4 CPUs to the last milli-CPU. A scheduler that gives room away
// twice then overfills a node, and one that never gives back what it reserved leaves a pod pending: either shows.
func twentyPerNode() []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range manyPods {
		pods = append(pods, harness.Pod(fmt.Sprintf("pod-%04d", i), "", "200m", "200Mi"))
	}
	return pods
}

func nodes(n int) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range n {
		nodes = append(nodes, harness.Node(fmt.Sprintf("node-%03d", i)))
	}
	return nodes
}

// allIsWell checks what must be true once every pod has been bound.
func allIsWell(t *testing.T, c *harness.Cluster, o *harness.Observer) {
	t.Helper()
	report(t, "changed its node", o.Problems())
	report(t, "overfull", c.Overfull(t))
	for _, pod := range c.Pods(t) {
		if pod.Spec.NodeName == "" {
			continue
		}
		if condition := harness.Condition(&pod); condition == nil || condition.Status != corev1.ConditionTrue {
			t.Errorf("pod %s is bound, and its PodScheduled condition is %+v", pod.Name, condition)
			break
		}
	}
	// Events are written beside the bindings and retried with patience.
	var missing, wrong []string
	for end := time.Now().Add(45 * time.Second); ; time.Sleep(time.Second) {
		missing, wrong = c.ScheduledEvents(t, "")
		if len(missing) == 0 || time.Now().After(end) {
			break
		}
	}
	report(t, "without a Scheduled event", missing)
	report(t, "wrong Scheduled event", wrong)
}

func report(t *testing.T, what string, problems []string) {
	t.Helper()
	if len(problems) > 0 {
		t.Errorf("%s: %d, such as\n  %s", what, len(problems), strings.Join(problems[:min(5, len(problems))], "\n  "))
	}
}

// While 2,000 pods arrive, kube-apiserver crashes twice.
func TestCrashingAPIServer(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, nodes(manyNodes)...)
	o := c.Observe(t)
	// Half of the pods wait already, so that the first crash meets many bindings under way; the others come at a pace
	// that leaves work to do at the second. Progress triggers the crashes, not time.
	pods := twentyPerNode()
	c.CreatePods(t, 0, pods[:manyPods/2]...)
	scheduler := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	var arrival sync.WaitGroup
	arrival.Go(func() { c.CreatePods(t, 100, pods[manyPods/2:]...) })
	for _, bound := range []int{manyPods / 5, manyPods * 3 / 5} {
		o.WaitBound(t, 90*time.Second, bound)
		c.KillAPIServer()
		t.Logf("kube-apiserver killed with %d pods seen bound", o.Bound())
		c.StartAPIServer(t)
	}
	arrival.Wait()
	o.WaitBound(t, 90*time.Second, manyPods)
	if scheduler.Exited() {
		t.Error("the scheduler ended with the API server")
	}
	allIsWell(t, c, o)
}

// Between berth and kube-apiserver stands something that loses answers, among others those of bindings that took place.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, nodes(manyNodes)...)
	o := c.Observe(t)
	faults := &faults{random: rand.New(rand.NewPCG(1, 2)), count: map[string]int{}}
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, faults.meddle)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})

	stop := make(chan struct{})
	var breaker sync.WaitGroup
	breaker.Go(func() {
		for tick := time.NewTicker(3 * time.Second); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				proxy.BreakStreams()
			}
		}
	})
	c.CreatePods(t, 300, twentyPerNode()...)
	o.WaitBound(t, 120*time.Second, manyPods)
	close(stop)
	breaker.Wait()
	allIsWell(t, c, o)

	t.Logf("faults: %v", faults.count)
	for _, fault := range bindingFaults {
		if faults.count[fault.name] < 10 {
			t.Errorf("the fault %q came only %d times", fault.name, faults.count[fault.name])
		}
	}
	forbidden := proxy.Requests(func(x *harness.Exchange) bool { return x.Status == 403 })
	for _, x := range forbidden[:min(3, len(forbidden))] {
		t.Errorf("kube-scheduler's rights do not cover %s %s", x.Method, x.Path)
	}
}

// bindingFaults befall so many of a hundred bindings each. After the first four the binding has taken place and
// nobody has said so; after the others it has not.
var bindingFaults = []struct {
	name    string
	percent int
	do      func(*harness.Exchange)
}{
	{"answer lost", 10, func(x *harness.Exchange) { x.Swallow(); x.Drop() }},
	{"half an answer", 4, func(x *harness.Exchange) {
		x.Swallow()
		x.AnswerRaw("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 160\r\n\r\n{\"kind\":\"Sta")
	}},
	{"garbage for an answer", 4, func(x *harness.Exchange) { x.Swallow(); x.AnswerRaw("\x00\x01 this is not HTTP\r\n\r\n") }},
	{"timeout told after the write", 4, func(x *harness.Exchange) {
		x.Swallow()
		x.AnswerFailure(504, "Timeout", "Timeout: request did not complete within requested timeout", nil)
	}},
	{"request lost", 5, func(x *harness.Exchange) { x.Drop() }},
	{"unavailable", 4, func(x *harness.Exchange) {
		x.AnswerFailure(503, "ServiceUnavailable", "the server is unavailable", nil)
	}},
}

type faults struct {
	mu     sync.Mutex
	random *rand.Rand
	count  map[string]int
}

func (f *faults) meddle(x *harness.Exchange) {
	f.mu.Lock()
	roll, pause := f.random.IntN(100), time.Duration(f.random.IntN(20))*time.Millisecond
	do := (*harness.Exchange).Forward
	switch {
	case x.IsBinding():
		for _, fault := range bindingFaults {
			if roll -= fault.percent; roll < 0 {
				f.count[fault.name]++
				do = fault.do
				break
			}
		}
	case x.Method == "POST" && strings.HasSuffix(x.Path, "/events") && roll < 3:
		f.count["answer to an event lost"]++
		do = func(x *harness.Exchange) { x.Swallow(); x.Drop() }
	case x.IsWatch():
		// What a binding did shows on the watch well after its answer was lost: the time in which a scheduler that
		// takes a lost answer for a failure gives the room away.
		pause, do = 0, func(x *harness.Exchange) { x.ForwardLate(400 * time.Millisecond) }
	default:
		pause = 0
	}
	f.mu.Unlock()
	time.Sleep(pause) // answers overtake each other
	do(x)
}
