// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_37

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// Cases with podGroups are not driven extension point by extension point: the
// scheduler's own ScheduleOne is called, with the gate GenericWorkload, as long as
// something is in the active queue, and what it writes is recorded.

// maxCycles bounds the scheduling cycles of a case with pod groups.
const maxCycles = 40

// groupRuns is how often a case with pod groups is answered; the answers must agree,
// or chance (ties between nodes or placements) decides. Each run begins with another
// node: of nodes that tie, the scheduler takes one by their order, which in reality is
// that in which their filters end.
//
// Where a group is to stay within a domain, TopologyPlacement lists the domains in the
// order of a map, and the messages of pods that fit in none are those of the domain that
// is tried first. Go begins at one of the first eight places of a small map, by chance: a
// domain that is not that of the first node comes first in one run of eight. 16 runs would
// miss a domain of few nodes now and then, so that there are placementRuns.
const (
	groupRuns     = 16
	placementRuns = 32
)

type groupRun struct {
	*engine
	mu     sync.Mutex
	out    *CycleOut
	bound  map[string]string // not yet confirmed
	victim []*v1.Pod
}

type podGroup = schedulingv1beta1.PodGroup
type compositePodGroup = schedulingv1alpha3.CompositePodGroup

// gatesOfGroups are on in cases with pod groups, unless a case says otherwise.
var gatesOfGroups = map[string]bool{"GenericWorkload": true}

// feedGroups tells listers, cache and queue of pod groups, in file order.
func (e *engine) feedGroups(groups []*podGroup, composites []*compositePodGroup) error {
	if len(composites) > 0 {
		if err := put(e.inf.Scheduling().V1alpha3().CompositePodGroups().Informer().GetIndexer(), composites); err != nil {
			return err
		}
	}
	for _, composite := range composites {
		e.sched.Cache.AddCompositePodGroup(e.logger, composite)
		e.sched.SchedulingQueue.AddCompositePodGroup(e.logger, composite)
	}
	if len(groups) == 0 {
		return nil
	}
	if err := put(e.inf.Scheduling().V1beta1().PodGroups().Informer().GetIndexer(), groups); err != nil {
		return err
	}
	for _, group := range groups {
		e.sched.Cache.AddPodGroup(group)
		e.sched.SchedulingQueue.AddPodGroup(e.logger, group)
	}
	return nil
}

// addMember tells the cache of a pending pod, which may be of a group.
func (e *engine) addMember(pod *v1.Pod) { e.sched.Cache.AddPodGroupMember(pod) }

func (e *engine) watchGroups() *groupRun {
	r := &groupRun{engine: e, bound: map[string]string{}}
	patch := func(a clienttesting.Action, into any) error {
		return json.Unmarshal(a.(clienttesting.PatchAction).GetPatch(), into)
	}
	e.api.client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		key := a.GetNamespace() + "/" + a.(clienttesting.PatchAction).GetName()
		var p struct{ Status map[string]json.RawMessage }
		if err := patch(a, &p); err != nil {
			return true, nil, err
		}
		var conds []v1.PodCondition
		if raw, ok := p.Status["conditions"]; ok {
			_ = json.Unmarshal(raw, &conds)
		}
		for _, c := range conds {
			if c.Type == v1.PodScheduled {
				r.out.Failed[key] = &PodOut{c.Reason, c.Message}
			}
		}
		if raw, ok := p.Status["nominatedNodeName"]; ok {
			var node string
			_ = json.Unmarshal(raw, &node)
			r.out.Nominated[key] = node
		}
		return true, &v1.Pod{}, nil
	})
	e.api.client.PrependReactor("patch", "podgroups", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		key := a.GetNamespace() + "/" + a.(clienttesting.PatchAction).GetName()
		var p struct {
			Status struct{ Conditions []json.RawMessage }
		}
		if err := patch(a, &p); err != nil {
			return true, nil, err
		}
		for _, raw := range p.Status.Conditions {
			var named metav1.Condition
			var fields map[string]json.RawMessage
			if err := errors.Join(json.Unmarshal(raw, &named), json.Unmarshal(raw, &fields)); err != nil {
				return true, nil, err
			}
			// What has not changed is not in the patch; what is empty now is null there.
			out := metav1.Condition{Type: named.Type}
			if obj, ok, _ := e.inf.Scheduling().V1beta1().PodGroups().Informer().GetIndexer().GetByKey(key); ok {
				if old := apimeta.FindStatusCondition(obj.(*schedulingv1beta1.PodGroup).Status.Conditions, named.Type); old != nil {
					out = *old
				}
			}
			changed := false
			for field, to := range map[string]*string{"status": (*string)(&out.Status), "reason": &out.Reason, "message": &out.Message} {
				text, ok := fields[field]
				if !ok {
					continue
				}
				changed, *to = true, ""
				if err := json.Unmarshal(text, to); err != nil {
					return true, nil, err
				}
			}
			if changed {
				r.out.Conditions[key] = &ConditionOut{out.Type, string(out.Status), out.Reason, out.Message}
			}
		}
		return true, &schedulingv1beta1.PodGroup{}, nil
	})
	e.api.client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		b := a.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		r.bound[b.Namespace+"/"+b.Name] = b.Target.Name
		return true, b, nil
	})
	for _, fw := range e.sched.Profiles {
		for _, ext := range fw.EnqueueExtensions() {
			if pl, ok := ext.(*defaultpreemption.DefaultPreemption); ok {
				pl.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.victim = append(r.victim, victim)
					return false, nil
				}
			}
		}
	}
	next := e.sched.NextEntity
	e.sched.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		ent, err := next(logger)
		if err == nil && ent != nil {
			kind := ent.Type()
			if group, ok := ent.(*framework.QueuedPodGroupInfo); ok {
				kind = group.GetType()
			}
			r.out.Entity = fmt.Sprintf("%s/%s/%s", kind, ent.GetNamespace(), ent.GetName())
		}
		return ent, err
	}
	return r
}

// cycles runs the scheduler until its active queue is empty.
func (r *groupRun) cycles() ([]*CycleOut, error) {
	var all []*CycleOut
	for len(r.sched.SchedulingQueue.PodsInActiveQ()) > 0 {
		if len(all) == maxCycles {
			return all, errors.New("self-check: the queue does not calm down")
		}
		r.out = &CycleOut{Bound: map[string]string{}, Failed: map[string]*PodOut{}, Nominated: map[string]string{}, Conditions: map[string]*ConditionOut{}}
		r.victim = nil
		for _, w := range r.watchers {
			w.reset()
		}
		before, err := r.api.statuses()
		if err != nil {
			return all, err
		}
		// What the cycle writes is seen after it: a claim that was given up is not free for a preemption in the same cycle.
		r.api.held.Lock()
		r.sched.ScheduleOne(r.ctx)
		r.api.held.Unlock()
		if err := errors.Join(r.confirm(), r.settleClaims()); err != nil {
			return all, err
		}
		gaveUp, err := r.noteClaims(before)
		if err != nil {
			return all, err
		}
		if err := r.apply(gaveUp); err != nil {
			return all, err
		}
		r.shorten()
		q := r.sched.SchedulingQueue
		r.out.Queue = map[string]int{"active": len(q.PodsInActiveQ()), "backoff": len(q.PodsInBackoffQ()),
			"unschedulable": len(q.UnschedulablePods()), "pending": len(q.PendingPodGroupPods()), "incomplete": len(q.IncompletePodGroupPodsPods())}
		all = append(all, r.out)
	}
	return all, nil
}

// confirm waits for the bindings of all assumed pods and tells the cache about them.
func (r *groupRun) confirm() error {
	for deadline := time.Now().Add(settleTime); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		for _, key := range sortedKeys(r.bound) {
			node := r.bound[key]
			r.out.Bound[key] = node
			delete(r.bound, key)
			obj, ok, _ := r.pods.GetByKey(key)
			if !ok {
				continue
			}
			final := obj.(*v1.Pod).DeepCopy()
			final.Spec.NodeName, final.Status.NominatedNodeName = node, ""
			start := metav1.NewTime(boundEpoch.Add(time.Duration(r.engine.bound) * time.Second))
			final.Status.StartTime = &start
			r.engine.bound++
			if err := errors.Join(r.pods.Update(final), r.sched.Cache.AddPod(r.logger, final)); err != nil {
				r.mu.Unlock()
				return err
			}
		}
		r.mu.Unlock()
		if len(r.sched.Cache.Dump().AssumedPods) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("self-check: an assumed pod is never bound")
		}
	}
}

// noteClaims records the claims whose status the cycle changed, and says whether one was given up.
func (r *groupRun) noteClaims(before map[string]*ClaimOut) (bool, error) {
	after, err := r.api.statuses()
	if err != nil {
		return false, err
	}
	gaveUp := false
	for name, now := range after {
		old, ok := before[name]
		if ok && reflect.DeepEqual(old, now) {
			continue
		}
		if r.out.Claims == nil {
			r.out.Claims = map[string]*ClaimOut{}
		}
		r.out.Claims[name] = now
		if ok {
			gaveUp = gaveUp || len(now.Devices) < len(old.Devices) || slices.ContainsFunc(old.ReservedFor, func(c string) bool { return !slices.Contains(now.ReservedFor, c) })
		}
	}
	return gaveUp, nil
}

// apply does to the stored objects what the API server, the kubelet and the informers would.
func (r *groupRun) apply(gaveUp bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range sortedKeys(r.out.Nominated) {
		ns, name, _ := strings.Cut(key, "/")
		if r.out.Bound[key] != "" {
			continue
		}
		if err := r.nominate(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}, r.out.Nominated[key]); err != nil {
			return err
		}
	}
	for _, v := range r.victim {
		r.out.Victims = append(r.out.Victims, podKey(v))
		if err := errors.Join(r.sched.Cache.RemovePod(r.logger, v), r.pods.Delete(v)); err != nil {
			return err
		}
	}
	slices.Sort(r.out.Victims) // the pods of a group come in the order of a map
	var kind, ns, name string
	if parts := strings.SplitN(r.out.Entity, "/", 3); len(parts) == 3 {
		kind, ns, name = parts[0], parts[1], parts[2]
	}
	ix := r.inf.Scheduling().V1beta1().PodGroups().Informer().GetIndexer()
	for _, key := range sortedKeys(r.out.Conditions) {
		obj, ok, _ := ix.GetByKey(key)
		if !ok {
			continue
		}
		out := r.out.Conditions[key]
		old := obj.(*schedulingv1beta1.PodGroup)
		pg := old.DeepCopy()
		c := metav1.Condition{Type: out.Type, Status: metav1.ConditionStatus(out.Status), Reason: out.Reason, Message: out.Message}
		pg.Status.Conditions = []metav1.Condition{c}
		if err := ix.Update(pg); err != nil {
			return err
		}
		r.sched.Cache.UpdatePodGroup(r.logger, old, pg)
		r.sched.SchedulingQueue.UpdatePodGroup(r.logger, pg)
	}
	if len(r.victim) > 0 || gaveUp {
		// The backoff is not waited for: with the victims or the claim gone, whoever gave them up is next.
		again := map[string]*v1.Pod{}
		for _, obj := range r.pods.List() {
			p := obj.(*v1.Pod)
			member := p.Spec.SchedulingGroup != nil && r.isWithin(p, fwk.EntityKey{Type: fwk.EntityKeyType(kind), Namespace: ns, Name: name})
			if p.Namespace == ns && p.Spec.NodeName == "" && (kind == string(fwk.PodKeyType) && p.Name == name || kind != string(fwk.PodKeyType) && member) {
				again[p.Name] = p
			}
		}
		r.sched.SchedulingQueue.Activate(r.logger, again)
	}
	return nil
}

// isWithin says whether the group is the root of the pod's.
func (r *groupRun) isWithin(p *v1.Pod, group fwk.EntityKey) bool {
	root, ok, err := r.sched.Cache.GetRootKeyForGroup(fwk.PodGroupKey(p.Namespace, *p.Spec.SchedulingGroup.PodGroupName))
	return err == nil && ok && root == group
}

// shorten brings a cycle into the form in which it is recorded. The groups of a
// composite one are bound in any order, so that chance decides which of their pods
// wait at Permit, and say where. The pods of a tree that is one victim are in any order.
func (r *groupRun) shorten() {
	if len(r.inf.Scheduling().V1alpha3().CompositePodGroups().Informer().GetIndexer().List()) > 0 {
		slices.Sort(r.out.Victims)
	}
	if strings.HasPrefix(r.out.Entity, string(fwk.CompositePodGroupKeyType)+"/") {
		for key := range r.out.Bound {
			delete(r.out.Nominated, key)
		}
		return
	}
	for _, condition := range r.out.Conditions {
		r.out.Condition = condition
	}
	r.out.Conditions = nil
}

// runsOf is how often the case is answered.
func runsOf(o *Objects) int {
	inDomain := func(g *podGroup) bool { return g.Spec.SchedulingConstraints != nil }
	treeInDomain := func(g *compositePodGroup) bool { return g.Spec.SchedulingConstraints != nil }
	if slices.ContainsFunc(o.PodGroups, inDomain) || slices.ContainsFunc(o.CompositePodGroups, treeInDomain) {
		return placementRuns
	}
	return groupRuns
}

// runGroups answers a case with pod groups, several times.
func runGroups(c *Case) (*Expected, error) {
	var first *Expected
	for run := range runsOf(&c.Objects) {
		out, err := runGroupsOnce(c, run)
		if err != nil {
			return out, err
		}
		if first == nil {
			first = out
		} else if string(plain(first)) != string(plain(out)) {
			first.unfit = "chance decides"
			return first, errors.New("self-check: chance decides")
		}
	}
	return first, nil
}

func runGroupsOnce(c *Case, run int) (*Expected, error) {
	var work Case
	if err := json.Unmarshal(plain(c), &work); err != nil {
		return nil, err
	}
	if nodes := work.Objects.Nodes; len(nodes) > 0 {
		at := run % len(nodes)
		work.Objects.Nodes = slices.Concat(nodes[at:], nodes[:at])
	}
	e, err := newEngine(&work, true)
	if err != nil {
		return nil, err
	}
	defer e.cancel()
	r := e.watchGroups()
	out := &Expected{Kubernetes: kubeVersion, Weights: e.weights, Attempts: []*Attempt{}}
	out.Cycles, err = r.cycles()
	if r.api.torn.Load() {
		out.unfit = "kube-scheduler gives the pods of a group different allocations of one claim"
		return out, errors.New("self-check: " + out.unfit)
	}
	return out, err
}

// ---- the generator

func genPodGroups(g *gen) {
	o := &g.c.Objects
	nodes := g.addNodes(g.between(2, 8))
	for i, n := range nodes { // of distinct sizes, so that few nodes tie
		n.Labels["rack"] = pick(g, "r1", "r2", "r3")
		cpu := int64(1500 + 700*i + 37*g.between(0, 9))
		n.Status.Allocatable[v1.ResourceCPU] = qty(fmt.Sprintf("%dm", cpu))
		n.Status.Allocatable[v1.ResourceMemory] = qty(fmt.Sprintf("%dMi", 3000+1100*i+13*g.between(0, 30)))
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	if g.chance(35) {
		g.withTaints(20)
	}
	topology := g.chance(35)
	if topology {
		g.c.Gates = map[string]bool{"TopologyAwareWorkloadScheduling": true}
	}
	group := func(name string, prio *int32) *schedulingv1beta1.PodGroup {
		pg := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pg-" + name), Generation: 1}}
		pg.Spec.Priority = prio
		pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
		if g.chance(40) {
			pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		}
		pg.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
		o.PodGroups = append(o.PodGroups, pg)
		return pg
	}
	member := func(p *v1.Pod, pg *schedulingv1beta1.PodGroup) *v1.Pod {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ref(pg.Name)}
		p.Spec.Priority = pg.Spec.Priority
		return p
	}
	gang := func(pg *schedulingv1beta1.PodGroup, min int) {
		pg.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(max(1, min))}}
	}
	// Running pods, some of them in groups.
	g.addBound(g.between(0, 10), func(p *v1.Pod) {
		p.Spec.Priority = ref(int32(pick(g, 0, 0, 10, 50, 200)))
		p.Spec.Containers[0].Resources.Requests = rl("cpu", pick(g, "500m", "900m", "1400m"), "memory", pick(g, "256Mi", "900Mi"))
	})
	if g.chance(30) {
		g.addBudgets()
	}
	for i := range g.between(0, 2) {
		pg := group(fmt.Sprintf("running%d", i), ref(int32(pick(g, 0, 10, 50))))
		n := g.between(1, 4)
		if g.chance(60) {
			gang(pg, n)
		}
		for j := range n {
			g.bind(member(g.newPod(fmt.Sprintf("%s-%d", pg.Name, j)), pg), g.node().Name)
		}
	}
	for i := range g.between(1, 4) {
		pg := group(fmt.Sprintf("group%d", i), ref(int32(100-20*i)+pick(g, int32(0), -60)))
		n := g.between(1, 9)
		if !g.chance(20) {
			gang(pg, pick(g, n, n, n, n-1, n/2, n+1))
		}
		if topology && g.chance(70) {
			pg.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: pick(g, "rack", "rack", zoneKey, "absent")}}}
		}
		var requests v1.ResourceList
		never := g.chance(12)
		for j := range n {
			p := member(g.newPod(fmt.Sprintf("%s-%d", pg.Name, j)), pg)
			if requests == nil || g.chance(25) {
				requests = rl("cpu", pick(g, "300m", "700m", "1100m", "1900m", "1300m"), "memory", pick(g, "128Mi", "700Mi", "1500Mi"))
			}
			p.Spec.Containers[0].Resources.Requests = requests.DeepCopy()
			if never && !g.chance(2) {
				p.Spec.PreemptionPolicy = ref(v1.PreemptNever)
			}
			switch {
			case g.chance(1):
				p.Spec.Priority = ref(int32(7)) // not the group's: refused
			case g.chance(1):
				p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
			case g.chance(8):
				p.Spec.NodeSelector = map[string]string{"rack": pick(g, "r1", "r2")}
			}
			g.c.Pending = append(g.c.Pending, seal(p))
		}
		if g.chance(6) { // the object is missing
			o.PodGroups = slices.DeleteFunc(o.PodGroups, func(x *schedulingv1beta1.PodGroup) bool { return x == pg && len(o.PodGroups) > 1 })
		}
	}
}

// Trees of groups. Those of one tree have one priority, as their pods have.
func genCompositeGroups(g *gen) {
	o := &g.c.Objects
	g.c.Gates = map[string]bool{"TopologyAwareWorkloadScheduling": true, "CompositePodGroup": true}
	nodes := g.addNodes(g.between(3, 9))
	for i, n := range nodes { // of distinct sizes, so that few nodes tie
		row := g.between(1, 2)
		n.Labels["row"] = fmt.Sprintf("row%d", row)
		n.Labels["rack"] = fmt.Sprintf("rack%d%d", row, g.between(1, 2))
		cpu := int64(1500 + 700*i + 37*g.between(0, 9))
		n.Status.Allocatable[v1.ResourceCPU] = qty(fmt.Sprintf("%dm", cpu))
		n.Status.Allocatable[v1.ResourceMemory] = qty(fmt.Sprintf("%dMi", 3000+1100*i+13*g.between(0, 30)))
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	if g.chance(25) {
		g.withTaints(15)
	}
	born := func() metav1.Time { return metav1.NewTime(boundEpoch.Add(-time.Duration(g.between(1, 6)) * time.Hour)) }
	topology := func(percent int, keys ...string) []string {
		if !g.chance(percent) {
			return nil
		}
		return []string{pick(g, keys...)}
	}
	// leaf makes a PodGroup of n pods within a composite group.
	leaf := func(name, parent string, prio int32, n int) *podGroup {
		pg := &podGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pg-" + name), Generation: 1, CreationTimestamp: born()}}
		pg.Spec.Priority = ref(prio)
		pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
		if g.chance(25) {
			pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		}
		if parent != "" {
			pg.Spec.ParentCompositePodGroupName = ref(parent)
		}
		if g.chance(25) {
			pg.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
		} else {
			pg.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(max(1, pick(g, n, n, n, n-1)))}
		}
		o.PodGroups = append(o.PodGroups, pg)
		return pg
	}
	composite := func(name, parent string, prio int32, n int, all int) *compositePodGroup {
		cpg := &compositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("cpg-" + name), Generation: 1, CreationTimestamp: born()}}
		cpg.Spec.Priority = ref(prio)
		cpg.Spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}}
		if g.chance(all) {
			cpg.Spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{All: &schedulingv1alpha3.AllCompositeDisruptionMode{}}
		}
		if parent != "" {
			cpg.Spec.ParentCompositePodGroupName = ref(parent)
		}
		if g.chance(35) {
			cpg.Spec.SchedulingPolicy.Basic = &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}
		} else {
			min := int32(max(1, pick(g, n, n, n, n-1, n-1, 1)))
			if g.chance(3) {
				min++
			}
			cpg.Spec.SchedulingPolicy.Gang = &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: min}
		}
		o.CompositePodGroups = append(o.CompositePodGroups, cpg)
		return cpg
	}
	member := func(p *v1.Pod, pg *podGroup) *v1.Pod {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ref(pg.Name)}
		p.Spec.Priority = pg.Spec.Priority
		return p
	}
	// tree makes a group of up to that many levels, and calls each for its leaves.
	var tree func(name, parent string, prio int32, levels int, domains bool, all int, each func(pg *podGroup, n int))
	tree = func(name, parent string, prio int32, levels int, domains bool, all int, each func(pg *podGroup, n int)) {
		if levels == 1 {
			n := g.between(1, 4)
			pg := leaf(name, parent, prio, n)
			if keys := topology(30, "rack", "rack", "row"); domains && keys != nil {
				pg.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: keys[0]}}}
			}
			each(pg, n)
			return
		}
		n := g.between(1, 3)
		cpg := composite(name, parent, prio, n, all)
		if keys := topology(40, "row", "row", "rack", zoneKey, "absent"); domains && keys != nil {
			cpg.Spec.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{Topology: []schedulingv1alpha3.TopologyConstraint{{Key: keys[0]}}}
		}
		for i := range n {
			below := levels - 1
			if below > 1 && g.chance(50) {
				below = 1
			}
			tree(fmt.Sprintf("%s%c", name, 'a'+i), name, prio, below, domains, all, each)
		}
	}
	// Running pods, some of them in trees.
	g.addBound(g.between(0, 8), func(p *v1.Pod) {
		p.Spec.Priority = ref(int32(pick(g, 0, 0, 10, 50, 200)))
		p.Spec.Containers[0].Resources.Requests = rl("cpu", pick(g, "500m", "900m", "1400m"), "memory", pick(g, "256Mi", "900Mi"))
	})
	if g.chance(25) {
		g.addBudgets()
	}
	for i := range g.between(0, 2) {
		tree(fmt.Sprintf("running%d", i), "", int32(pick(g, 0, 10, 50)), g.between(1, 4), false, 40, func(pg *podGroup, n int) {
			for j := range min(n, 2) {
				g.bind(member(g.newPod(fmt.Sprintf("%s-%d", pg.Name, j)), pg), g.node().Name)
			}
		})
	}
	for i := range g.between(1, 3) {
		prio := int32(100-20*i) + pick(g, int32(0), -60)
		levels := pick(g, 1, 2, 2, 2, 3, 3, 4)
		if g.chance(3) {
			levels = 5 + g.between(0, 1)
		}
		never := g.chance(8)
		domains := g.chance(55)
		runs := false // some of its pods
		first := len(o.CompositePodGroups)
		tree(fmt.Sprintf("tree%d", i), "", prio, levels, domains, 10, func(pg *podGroup, n int) {
			requests := rl("cpu", pick(g, "300m", "700m", "1100m", "1900m", "1300m"), "memory", pick(g, "128Mi", "700Mi", "1500Mi"))
			running := g.chance(12)
			for j := range n {
				p := member(g.newPod(fmt.Sprintf("%s-%d", pg.Name, j)), pg)
				p.Spec.Containers[0].Resources.Requests = requests.DeepCopy()
				if never {
					p.Spec.PreemptionPolicy = ref(v1.PreemptNever)
				}
				switch {
				case running && j == 0:
					runs = true
					g.bind(p, g.node().Name)
					continue
				case g.chance(1):
					p.Spec.Priority = ref(int32(7)) // not the tree's: refused
				case g.chance(1):
					p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
				case g.chance(5):
					p.Spec.NodeSelector = map[string]string{"row": pick(g, "row1", "row2")}
				}
				g.c.Pending = append(g.c.Pending, seal(p))
			}
		})
		of := o.CompositePodGroups[first:]
		switch {
		case len(of) > 0 && g.chance(4): // an object is missing
			gone := pick(g, of...)
			o.CompositePodGroups = slices.DeleteFunc(o.CompositePodGroups, func(x *compositePodGroup) bool { return x == gone })
		case len(of) > 0 && g.chance(3) && !runs:
			// A circle, of which kube-scheduler would count a running pod among the victims several times.
			of[0].Spec.ParentCompositePodGroupName = ref(pick(g, of...).Name)
		}
	}
}
