// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// gangLabel names a pod's gang, beside spec.schedulingGroup.
const gangLabel = "gang"

// gang is a PodGroup whose members all ask for the same.
type gang struct {
	name     string
	size     int // members
	minCount int
	ask      room // of each member
}

// room is what a node has, or what pods take of it.
type room struct{ cpu, memory, pods int64 }

func (r room) plus(o room, times int64) room {
	return room{r.cpu + times*o.cpu, r.memory + times*o.memory, r.pods + times*o.pods}
}

// holds is how many times the other fits in.
func (r room) holds(o room) int64 {
	count := r.pods / max(o.pods, 1)
	if o.cpu > 0 {
		count = min(count, r.cpu/o.cpu)
	}
	if o.memory > 0 {
		count = min(count, r.memory/o.memory)
	}
	return max(count, 0)
}

// gangChecker watches gangs from outside, with a connection of its own, and notes each moment at which something was
// not as it must be. A binding is a request for one pod, so that a gang is bound in part for a moment: for how long is
// measured, without the time in which there was no API server.
type gangChecker struct {
	mu       sync.Mutex
	gangs    map[string]*gangState
	free     map[string]room // by node
	pods     map[types.UID]seenPod
	away     []span // without an API server
	faults   []string
	lastBind time.Time
	binds    int
	// limit is how long a gang may be bound in part, and afterCrash how long one that was caught by the API server's
	// crash: its bindings failed, and the group waits for its back-off.
	limit, afterCrash time.Duration
}

type gangState struct {
	gang
	object  bool      // the PodGroup's creation has been asked for
	posted  int       // that of so many members has
	exist   int       // members that were seen and are still there
	bound   int       // of these
	first   time.Time // when the first one was bound; zero while none is
	whole   time.Time // when minCount were bound
	part    time.Duration
	crashed bool // bound in part while there was no API server
	leaving bool // its pods are being deleted
}

type seenPod struct {
	name, gang, node string
}

type span struct{ from, to time.Time }

func newGangChecker(gangs []gang, nodes []*corev1.Node) *gangChecker {
	k := &gangChecker{gangs: map[string]*gangState{}, free: map[string]room{}, pods: map[types.UID]seenPod{}, limit: 10 * time.Second, afterCrash: 30 * time.Second}
	for _, g := range gangs {
		k.gangs[g.name] = &gangState{gang: g}
	}
	for _, node := range nodes {
		has := node.Status.Allocatable
		k.free[node.Name] = room{has.Cpu().MilliValue(), has.Memory().Value(), has.Pods().Value()}
	}
	return k
}

// watch follows the pods of the default namespace until the test ends.
func (k *gangChecker) watch(t testing.TB, c *harness.Cluster) {
	c.FollowPods(t, func(pods []corev1.Pod) { k.replace(pods, time.Now()) }, func(event watch.EventType, pod *corev1.Pod) {
		if event == watch.Deleted {
			k.gone(pod.UID)
		} else {
			k.see(pod, time.Now())
		}
	})
}

// replace takes a list: what is not in it has gone, before anything new took its room.
func (k *gangChecker) replace(pods []corev1.Pod, now time.Time) {
	listed := map[types.UID]bool{}
	for i := range pods {
		listed[pods[i].UID] = true
	}
	k.mu.Lock()
	known := slices.Collect(maps.Keys(k.pods))
	k.mu.Unlock()
	for _, uid := range known {
		if !listed[uid] {
			k.gone(uid)
		}
	}
	for i := range pods {
		k.see(&pods[i], now)
	}
}

func (k *gangChecker) see(pod *corev1.Pod, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.gangs[pod.Labels[gangLabel]]
	if g == nil {
		return
	}
	before, known := k.pods[pod.UID]
	if !known {
		g.exist++
	}
	k.pods[pod.UID] = seenPod{pod.Name, g.name, pod.Spec.NodeName}
	if before.node == pod.Spec.NodeName {
		return
	}
	if before.node != "" {
		k.fault("pod %s was on node %s and then on %q", pod.Name, before.node, pod.Spec.NodeName)
		return
	}
	k.bind(g, pod.Name, pod.Spec.NodeName, now)
}

func (k *gangChecker) bind(g *gangState, pod, node string, now time.Time) {
	free, ok := k.free[node]
	if !ok {
		k.fault("pod %s is on node %s, which does not exist", pod, node)
	}
	k.free[node] = free.plus(g.ask, -1)
	if left := k.free[node]; ok && (left.cpu < 0 || left.memory < 0 || left.pods < 0) {
		k.fault("with pod %s node %s holds more than it has: what is left is %+v", pod, node, left)
	}
	k.binds++
	k.lastBind = now
	g.bound++
	if g.first.IsZero() {
		g.first = now
		if !g.object || g.posted < g.minCount {
			k.fault("gang %s: %s is bound, and of the %d members that it needs %d have been created (its PodGroup: %v)", g.name, pod, g.minCount, g.posted, g.object)
		}
	}
	if g.bound >= g.minCount && g.whole.IsZero() {
		g.whole = now
		k.partly(g, now)
	}
}

// partly measures for how long a gang has been bound in part, as long as it has.
func (k *gangChecker) partly(g *gangState, now time.Time) {
	g.part = now.Sub(g.first)
	for _, away := range k.away {
		if away.to.IsZero() {
			away.to = now
		}
		if overlap := earlier(now, away.to).Sub(later(g.first, away.from)); overlap > 0 {
			g.part -= overlap
			g.crashed = true
		}
	}
	limit := k.limit
	if g.crashed {
		limit = k.afterCrash
	}
	if g.part > limit {
		k.fault("gang %s: %d of the %d members that it needs were bound for %v", g.name, g.bound, g.minCount, g.part.Round(time.Millisecond))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (k *gangChecker) gone(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pod, known := k.pods[uid]
	if !known {
		return
	}
	delete(k.pods, uid)
	g := k.gangs[pod.gang]
	g.exist--
	if pod.node != "" {
		g.bound--
		k.free[pod.node] = k.free[pod.node].plus(g.ask, 1)
	}
	if !g.leaving {
		k.fault("pod %s was deleted, and not by this test", pod.name)
	}
}

func (k *gangChecker) fault(format string, args ...any) {
	k.faults = append(k.faults, fmt.Sprintf(format, args...))
}

// post says that the creation of a gang's PodGroup (-1) or a member is about to be asked for.
func (k *gangChecker) post(name string, member int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if member < 0 {
		k.gangs[name].object = true
	} else {
		k.gangs[name].posted++
	}
}

// down says that the API server is gone now, and up that it is back.
func (k *gangChecker) down(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = append(k.away, span{from: now})
}

func (k *gangChecker) up(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away[len(k.away)-1].to = now
}

// bindings are how many have been seen, and when the last one was.
func (k *gangChecker) bindings() (int, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.binds, k.lastBind
}

// stillFits names the gangs with waiting members for which there is room: for all that are wanting to minCount, or for
// one when the gang is placed. All members of a gang are alike, so that counting what fits on each node is exact.
func (k *gangChecker) stillFits() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, g := range k.gangs {
		need := int64(max(1, g.minCount-g.bound))
		if g.leaving || g.exist <= g.bound || g.exist < g.minCount {
			continue
		}
		slots := int64(0)
		for _, free := range k.free {
			slots += free.holds(g.ask)
		}
		if slots >= need {
			names = append(names, fmt.Sprintf("%s (%d of %d bound, minCount %d, room for %d more)", g.name, g.bound, g.size, g.minCount, slots))
		}
	}
	slices.Sort(names)
	return names
}

// inPart names the gangs that have some, but not minCount members bound.
func (k *gangChecker) inPart() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, g := range k.gangs {
		if !g.leaving && g.bound > 0 && g.bound < g.minCount {
			names = append(names, fmt.Sprintf("%s (%d of %d)", g.name, g.bound, g.minCount))
		}
	}
	slices.Sort(names)
	return names
}

// leave marks the gangs that have minCount members bound as about to be deleted and returns the names of their pods.
func (k *gangChecker) leave() (pods []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, g := range k.gangs {
		g.leaving = g.leaving || g.bound >= g.minCount
	}
	for _, pod := range k.pods {
		if k.gangs[pod.gang].leaving {
			pods = append(pods, pod.name)
		}
	}
	slices.Sort(pods)
	return pods
}

// count counts gangs that hold.
func (k *gangChecker) count(holds func(*gangState) bool) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	count := 0
	for _, g := range k.gangs {
		if holds(g) {
			count++
		}
	}
	return count
}

func placed(g *gangState) bool { return !g.leaving && g.bound >= g.minCount }

// longestInPart is the longest time for which a gang was bound in part: of all, or of those that met the crash.
func (k *gangChecker) longestInPart(crashed bool) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	longest := time.Duration(0)
	for _, g := range k.gangs {
		if g.crashed == crashed {
			longest = max(longest, g.part)
		}
	}
	return longest
}

// found are the faults up to now.
func (k *gangChecker) found() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.faults)
}

// The checker sees what it is there to see: each step of a small history is right but for one thing.
func TestGangChecker(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	member := func(gang string, i int, node string) *corev1.Pod {
		pod := harness.Pod(fmt.Sprintf("%s-%d", gang, i), "", "2", "")
		pod.UID, pod.Labels[gangLabel], pod.Spec.NodeName = types.UID(pod.Name), gang, node
		return pod
	}
	fresh := func() *gangChecker {
		k := newGangChecker([]gang{{"a", 3, 2, room{2000, 0, 1}}, {"b", 2, 2, room{3000, 0, 1}}},
			[]*corev1.Node{harness.Node("x"), harness.Node("y")}) // of 4 CPUs
		for i, name := range []string{"a", "b", "a", "b", "a", "b", "a"} {
			k.post(name, i/2-1)
		}
		return k
	}
	bindAll := func(k *gangChecker, pods ...*corev1.Pod) {
		for i, pod := range pods {
			k.see(pod, at(i))
		}
	}
	for _, test := range []struct {
		name string
		play func(k *gangChecker)
		want string // in the only fault; none when empty
	}{
		{"all is well", func(k *gangChecker) { bindAll(k, member("a", 0, "x"), member("a", 1, "y"), member("a", 2, "y")) }, ""},
		{"overfull", func(k *gangChecker) {
			bindAll(k, member("a", 0, "x"), member("a", 1, "x"), member("a", 2, "x"))
		}, "node x holds more than it has"},
		{"room that was given back", func(k *gangChecker) {
			bindAll(k, member("a", 0, "x"), member("a", 1, "x"))
			k.leave()
			k.gone("a-0")
			bindAll(k, member("a", 2, "x"))
		}, ""},
		{"another node", func(k *gangChecker) {
			bindAll(k, member("a", 0, "x"), member("a", 1, "x"), member("a", 0, "y"))
		}, "was on node x and then on"},
		{"too soon", func(k *gangChecker) {
			k.gangs["a"].posted = 1
			bindAll(k, member("a", 0, "x"), member("a", 1, "x"))
		}, "of the 2 members that it needs 1 have been created"},
		{"without a PodGroup", func(k *gangChecker) {
			k.gangs["a"].object = false
			bindAll(k, member("a", 0, "x"), member("a", 1, "x"))
		}, "(its PodGroup: false)"},
		{"in part for long", func(k *gangChecker) { k.see(member("a", 0, "x"), at(0)); k.see(member("a", 1, "x"), at(11)) }, "were bound for 11s"},
		{"in part for long without an API server", func(k *gangChecker) {
			k.see(member("a", 0, "x"), at(0))
			k.down(at(1))
			k.up(at(50))
			k.see(member("a", 1, "x"), at(55))
		}, ""},
		{"deleted", func(k *gangChecker) { bindAll(k, member("a", 0, "")); k.gone("a-0") }, "was deleted, and not by this test"},
		{"gone when listed again", func(k *gangChecker) { bindAll(k, member("a", 0, "")); k.replace(nil, at(1)) }, "was deleted, and not by this test"},
	} {
		k := fresh()
		test.play(k)
		faults := k.found()
		if test.want == "" && len(faults) > 0 || test.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], test.want)) {
			t.Errorf("%s: found %q, wanted %q", test.name, faults, cmp.Or(test.want, "nothing"))
		}
	}

	k := fresh()
	bindAll(k, member("a", 0, "x"), member("a", 1, ""), member("b", 0, ""), member("b", 1, ""))
	if in := k.inPart(); len(in) != 1 || !strings.HasPrefix(in[0], "a (1 of 2)") {
		t.Errorf("in part: %q", in)
	}
	// b needs two places of 3 CPUs each, and there is one; a needs one more of 2 CPUs.
	if fits := k.stillFits(); len(fits) != 1 || !strings.HasPrefix(fits[0], "a ") {
		t.Errorf("still fits: %q", fits)
	}
	bindAll(k, member("a", 1, "x"))
	if in := k.inPart(); len(in) != 0 {
		t.Errorf("in part: %q", in)
	}
	if pods := k.leave(); !slices.Equal(pods, []string{"a-0", "a-1"}) {
		t.Errorf("those that leave: %q", pods)
	}
	k.gone("a-0")
	k.gone("a-1")
	if fits := k.stillFits(); len(fits) != 1 || !strings.HasPrefix(fits[0], "b ") {
		t.Errorf("still fits: %q", fits)
	}
}
