// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
)

// The time within which berth ends after SIGTERM or SIGINT, bindings in flight or not.
const shutdownLimit = 10 * time.Second

// berth is told to end, or killed, while bindings are under way, and another one takes over.
func TestShutdown(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	for _, test := range []struct {
		name   string
		signal syscall.Signal
		// What becomes of a binding while berth is told to end.
		rule func(*harness.Exchange)
	}{
		{"slow answers", syscall.SIGTERM, func(x *harness.Exchange) { time.Sleep(300 * time.Millisecond); x.Forward() }},
		{"killed", syscall.SIGKILL, func(x *harness.Exchange) { time.Sleep(300 * time.Millisecond); x.Forward() }},
		{"no answers", syscall.SIGINT, func(x *harness.Exchange) { x.Swallow(); time.Sleep(20 * time.Second); x.Drop() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			const n = 300
			c := harness.StartCluster(t, harness.Options{})
			c.CreateNodes(t, nodes(15)...) // 20 pods each: just enough
			o := c.Observe(t)
			proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, nil)
			proxy.SetRule(func(x *harness.Exchange) {
				if x.IsBinding() && o.Bound() >= 40 {
					test.rule(x)
					return
				}
				x.Forward()
			})
			first := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir, Log: "berth-first"})
			var pods []*corev1.Pod
			for i := range n {
				pods = append(pods, harness.Pod(fmt.Sprintf("pod-%03d", i), "", "200m", ""))
			}
			c.CreatePods(t, 0, pods...)
			o.WaitBound(t, 30*time.Second, 50)
			signalled := time.Now()
			first.Signal(test.signal)
			code, ended := first.Wait(shutdownLimit)
			if !ended {
				t.Errorf("berth has not ended within %v", shutdownLimit)
				first.Kill()
			} else if code != 0 && test.signal != syscall.SIGKILL {
				t.Errorf("berth ended with %d", code)
			}
			t.Logf("ended after %v with %d of %d pods bound", time.Since(signalled).Round(100*time.Millisecond), o.Bound(), n)
			if o.Bound() == n {
				t.Error("everything was bound before the signal had a chance to matter")
			}

			proxy.SetRule(nil)
			harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir, Log: "berth-second"})
			o.WaitBound(t, 60*time.Second, n)
			report(t, "changed its node", o.Problems())
			report(t, "overfull", c.Overfull(t))
			// A binding that the first berth gave up may lack its event; no pod may have two, or a wrong one.
			missing, wrong := c.ScheduledEvents(t, "")
			report(t, "wrong Scheduled event", wrong)
			t.Logf("%d pods without a Scheduled event", len(missing))
		})
	}
}

// A binding that is still on its way when berth ends must not meet the next leader's: the lease is not given back.
func TestShutdownWithABindingOnItsWay(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	const hold = 8 * time.Second // from the signal on; longer than bindings are waited for
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	o := c.Observe(t)
	signalled := make(chan struct{})
	held := make(chan struct{}, 1)
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if x.IsBinding() {
			held <- struct{}{}
			<-signalled
			time.Sleep(hold)
		}
		x.Forward() // even if berth has gone
	})
	first := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir, Log: "berth-first", MayEnd: true, UsualLease: true})
	c.CreatePods(t, 0, harness.Pod("early", "", "4", ""))
	<-held
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, Log: "berth-second", UsualLease: true})
	c.CreatePods(t, 0, harness.Pod("late", "", "4", ""))
	time.Sleep(1500 * time.Millisecond) // The binding is late by now.
	first.Signal(syscall.SIGTERM)
	close(signalled)
	if code, ended := first.Wait(shutdownLimit); !ended || code != 0 {
		t.Errorf("ended %v, with %d; wanted an end within %v, with 0", ended, code, shutdownLimit)
	}
	if !strings.Contains(first.Output(), "left to run out") {
		t.Error("berth does not say that it keeps the lease")
	}
	o.WaitBound(t, 30*time.Second, 1)
	time.Sleep(20 * time.Second) // The second one leads by now.
	report(t, "changed its node", o.Problems())
	report(t, "overfull", c.Overfull(t))
	if o.Bound() != 1 {
		t.Errorf("%d pods are bound to a node with room for one", o.Bound())
	}
}

// An idle berth ends at once, and one that never reached its API server ends, too.
func TestShutdownWhenIdle(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	config := c.Kubeconfig(t, harness.SchedulerUser)
	idle := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: config, Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("pod", "", "1", ""))
	c.WaitBound(t, 15*time.Second, "pod")
	ends := func(p *harness.Process) {
		t.Helper()
		p.Signal(syscall.SIGTERM)
		if code, ended := p.Wait(3 * time.Second); !ended || code != 0 {
			t.Errorf("ended %v, with %d; wanted an end within 3 s, with 0", ended, code)
		}
	}
	ends(idle)

	c.KillAPIServer()
	lonely := harness.StartScheduler(t, harness.Scheduler{Kubeconfig: config, Dir: c.Dir, Log: "berth-lonely", MayEnd: true})
	// Whether berth waits for a server that refuses it or gives up at once is its choice; it must say what is wrong.
	harness.Eventually(t, 15*time.Second, "berth says whom it cannot reach", func() (bool, string) {
		return strings.Contains(lonely.Output(), strings.TrimPrefix(c.Server(), "https://")), lonely.Output()
	})
	if lonely.Exited() {
		if code, _ := lonely.Wait(0); code == 0 {
			t.Error("a berth that gives up must not end with 0")
		}
		return
	}
	ends(lonely)
}

// A request that the API server is too busy for comes again when the server says, and not before.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const pause = 2 * time.Second
	for _, test := range []struct {
		name   string
		busy   func(*harness.Exchange) bool
		repeat int
	}{
		{"binding", (*harness.Exchange).IsBinding, 2},
		{"list", func(x *harness.Exchange) bool { return x.Method == "GET" && x.Path == "/api/v1/nodes" }, 2},
		{"watch", func(x *harness.Exchange) bool { return x.Path == "/api/v1/pods" && x.IsWatch() }, 1},
		{"event", func(x *harness.Exchange) bool { return x.Method == "POST" && strings.HasSuffix(x.Path, "/events") }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := harness.StartCluster(t, harness.Options{})
			c.CreateNodes(t, harness.Node("node-000"))
			refusals := make(chan struct{}, test.repeat)
			proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
				if test.busy(x) {
					select {
					case refusals <- struct{}{}:
						x.AnswerFailure(429, "TooManyRequests", "too many requests, please try again later",
							map[string][]string{"Retry-After": {fmt.Sprint(int(pause.Seconds()))}})
						return
					default:
					}
				}
				x.Forward()
			})
			harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})
			c.CreatePods(t, 0, harness.Pod("pod", "", "1", ""))
			c.WaitBound(t, 30*time.Second, "pod")
			harness.Eventually(t, 30*time.Second, "the request succeeds in the end", func() (bool, string) {
				tries := proxy.Requests(test.busy)
				last := len(tries) - 1
				return last >= test.repeat && tries[last].Status != 0, fmt.Sprintf("%d tries", len(tries))
			})
			tries := proxy.Requests(test.busy)
			for i := 1; i <= test.repeat; i++ {
				if gap := tries[i].At.Sub(tries[i-1].At); gap < pause-50*time.Millisecond {
					t.Errorf("try %d came %v after the one before, which was told to wait %v", i+1, gap, pause)
				}
			}
		})
	}
}
