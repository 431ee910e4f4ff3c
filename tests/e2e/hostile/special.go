// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The clock of the day is set back and forth by an hour, while bindings are refused; time that only passes is as ever.
func clockAttack(r *run) {
	clock := harness.NewClock(r, r.c.Dir)
	r.begin(options{env: clock.Env()})
	remove := r.webhook(r.deadURL(), onBindings)
	pods, names := r.tenantPods("refused", 6, "10m")
	r.c.CreatePods(r, 0, pods...)
	r.untilReported(r.tenant, names, false, 10*time.Second)
	r.under(func(context.Context) {
		clock.Set(r, -time.Duration(r.strength)*time.Hour)
		time.Sleep(time.Second)
		remove()
		removed := time.Now()
		bound := 0
		for time.Since(removed) < 30*time.Second && bound < len(names) {
			time.Sleep(250 * time.Millisecond)
			bound = r.boundOf(names)
		}
		if bound < len(names) {
			r.fault("%d of %d refused bindings were tried again within %.0f s of the clock's step back", bound, len(names), time.Since(removed).Seconds())
		} else {
			r.note("refused bindings were tried again within %.1f s", time.Since(removed).Seconds())
		}
		for _, hours := range []int{0, -1, 1, 0} {
			clock.Set(r, time.Duration(hours*r.strength)*time.Hour)
			time.Sleep(3 * time.Second)
		}
	})
	r.cleared()
}

// boundOf counts the attacker's pods of these names that have a node.
func (r *run) boundOf(names []string) int {
	list, err := r.c.Admin.CoreV1().Pods(r.tenant).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return 0
	}
	n := 0
	for i := range list.Items {
		for _, name := range names {
			if list.Items[i].Name == name && list.Items[i].Spec.NodeName != "" {
				n++
			}
		}
	}
	return n
}

// A kubeconfig gives a token and a server without TLS: nobody on the way may read it.
func plainHTTPAttack(r *run) {
	proxy := r.c.StartProxy(r, harness.ProxyOptions{Plain: true, Upstream: r.c.RESTConfig(r, harness.SchedulerUser)}, nil)
	kubeconfig := harness.WriteKubeconfig(r, r.dir, clientcmdapi.Cluster{Server: proxy.URL}, clientcmdapi.AuthInfo{Token: firstToken})
	r.beginScheduler(options{kubeconfig: kubeconfig})
	time.Sleep(5 * time.Second)
	requests := proxy.Requests(func(*harness.Exchange) bool { return true })
	with := 0
	for _, request := range requests {
		if request.Header.Get("Authorization") != "" {
			with++
		}
	}
	r.note("%d of %d requests over plain http carried the token", with, len(requests))
	use := r.guard.now()
	switch {
	case with > 0:
		r.fault("%d of %d requests over plain http carried the token", with, len(requests))
	case len(requests) == 0 && len(use.ends) == 0:
		r.fault("no request was seen: nothing is shown")
	case len(requests) == 0:
		r.note("it refuses to start: %s", lastLine(r.guard.process))
		r.guard.close()
		r.guard = nil
	}
}

// lastLine is the last thing that a scheduler wrote.
func lastLine(process *harness.Process) string {
	lines := strings.Split(process.Output(), "\n")
	return shortened(lines[len(lines)-1])
}

// rooms are pods of which a node takes one, on so many rooms of nodes from the first.
func (r *run) roomPods(prefix string, n, firstRoom, rooms int) (pods []*corev1.Pod, names []string) {
	pods, names = r.tenantPods(prefix, n, "3")
	var values []string
	for i := range rooms {
		values = append(values, fmt.Sprint(firstRoom+i))
	}
	for _, pod := range pods {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: roomLabel, Operator: corev1.NodeSelectorOpIn, Values: values}}}}}}}
	}
	return pods, names
}

// overfull counts the nodes that hold two of the attacker's pods, where each has room for one.
func (r *run) overfull() (nodes, bound int) {
	list, err := r.c.Admin.CoreV1().Pods(r.tenant).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	on := map[string]int{}
	for i := range list.Items {
		if name := list.Items[i].Spec.NodeName; name != "" {
			bound++
			on[name]++
			if on[name] == 2 {
				nodes++
			}
		}
	}
	return nodes, bound
}

// Watches end, and the list that is asked for then is of a replica that lags: pods that are bound are still waiting there.
// Two pods wait for each place, so that whoever believes it gives each place a second time.
func staleListAttack(r *run) {
	const places = roomSize
	pods, _ := r.roomPods("stale", 2*places, 0, 1)
	r.c.CreatePods(r, 0, pods...)
	stale, err := r.c.Admin.CoreV1().RESTClient().Get().AbsPath(podsPath).SetHeader("Accept", "application/json").DoRaw(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	proxy := r.c.StartProxy(r, harness.ProxyOptions{Upstream: r.c.RESTConfig(r, harness.SchedulerUser)}, nil)
	r.begin(options{kubeconfig: r.c.KubeconfigVia(r, proxy)})
	harness.Eventually(r, 30*time.Second, "each place is taken", func() (bool, string) {
		_, bound := r.overfull()
		return bound == places, fmt.Sprint(bound)
	})
	r.under(func(context.Context) {
		// The replica lags for eight seconds from when it is first asked, or else has caught up after half a minute.
		var lists atomic.Int32
		began := time.Now()
		var first atomic.Pointer[time.Time]
		lagsUntil := func() time.Time {
			if at := first.Load(); at != nil {
				return at.Add(8 * time.Second)
			}
			return began.Add(30 * time.Second)
		}
		proxy.SetRule(func(x *harness.Exchange) {
			switch {
			case x.Path != podsPath || time.Now().After(lagsUntil()):
				x.Forward()
			case x.Query.Get("sendInitialEvents") == "true":
				// A watch that begins with all objects: whoever is refused it asks for a list.
				x.AnswerFailure(http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden", nil)
			case x.IsWatch():
				if first.Load() != nil {
					// Nothing is new there yet; the watch ends when the replica has caught up.
					time.Sleep(time.Until(lagsUntil()))
				}
				x.AnswerFailure(http.StatusGone, "Expired", "too old resource version", nil)
			default:
				lists.Add(1)
				now := time.Now()
				first.CompareAndSwap(nil, &now)
				x.Answer(http.StatusOK, nil, stale)
			}
		})
		proxy.BreakStreams()
		for time.Now().Before(lagsUntil().Add(4 * time.Second)) {
			time.Sleep(100 * time.Millisecond)
		}
		if lists.Load() == 0 {
			r.fault("no list was asked for: nothing is shown")
		}
		r.note("%d stale lists were served", lists.Load())
	})
	nodes, bound := r.overfull()
	r.note("%d pods are bound to %d places", bound, places)
	if nodes > 0 {
		r.fault("%d of %d places were given twice", nodes, places)
	}
	r.cleared()
}

// Two processes whose configuration asks for leader election: one leads, or neither starts.
func twoLeadersAttack(r *run) {
	const rooms = 16
	var both []*harness.Process
	for i := range 2 {
		both = append(both, r.start(options{elects: true, log: fmt.Sprintf("%s-%d", r.scheduler, i)}))
	}
	time.Sleep(3 * time.Second)
	refused := 0
	for _, one := range both {
		if code, ended := one.Wait(0); ended && code > 0 {
			refused++
			r.note("refuses to start: %s", lastLine(one))
		}
	}
	if refused == len(both) {
		return
	}
	pods, _ := r.roomPods("two", rooms*roomSize+roomSize, 1, rooms)
	r.c.CreatePods(r, 0, pods...)
	time.Sleep(10 * time.Second)
	nodes, bound := r.overfull()
	r.note("%d pods are bound to %d places", bound, rooms*roomSize)
	if nodes > 0 {
		r.fault("%d of %d places were given twice", nodes, rooms*roomSize)
	}
	if bound < rooms*roomSize {
		r.fault("%d of %d places were given", bound, rooms*roomSize)
	}
	for _, one := range both {
		one.Kill()
	}
}
