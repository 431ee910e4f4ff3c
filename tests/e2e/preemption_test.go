// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// Pods of high priority displace others on the real control plane, with kube-controller-manager counting for the
// disruption budgets and simulated kubelets that take their time to end a pod. Who has to go is asked of the real
// kube-scheduler's framework each time; how they go is seen by a proxy.
func TestPreemption(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Run("the cheapest node", s.cheapestNode)
	t.Run("budgets", s.budgets)
	t.Run("the room is kept", s.roomIsKept)
	t.Run("outranked", s.outranked)
	t.Run("never", s.never)
	for _, x := range s.proxy.Requests(func(x *harness.Exchange) bool { return strings.HasSuffix(x.Path, "/eviction") }) {
		t.Errorf("%s %s: a scheduler deletes, it does not evict", x.Method, x.Path)
	}
}

// stage is a control plane with three nodes of four units of CPU each.
type stage struct {
	round
	nodes    []string
	unit     resource.Quantity
	timeline timeline
}

func newStage(t *testing.T) *stage {
	s := &stage{timeline: timeline{bound: map[string]time.Time{}, gone: map[string]time.Time{}}}
	s.t, s.ctx, s.uids = t, context.Background(), map[types.UID]types.UID{}
	s.c = harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"disruption-controller"}})
	s.oracle = harness.StartOracle(t)
	harness.StartKubelets(t, 3, s.c.Kubeconfig(t, "admin", "system:masters"), s.c.Dir)
	s.proxy = s.c.StartProxy(t, harness.ProxyOptions{Upstream: s.c.RESTConfig(t, harness.SchedulerUser)}, nil)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: s.c.KubeconfigVia(t, s.proxy), Dir: s.c.Dir})
	for name, value := range map[string]int32{"middle": 100, "high": 1000} {
		_, err := s.c.Admin.SchedulingV1().PriorityClasses().Create(s.ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
		s.must(err)
	}
	harness.Eventually(t, 30*time.Second, "three nodes are without taints", func() (bool, string) {
		list, err := s.c.Admin.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		s.nodes = nil
		for _, node := range list.Items {
			if len(node.Spec.Taints) == 0 {
				s.nodes = append(s.nodes, node.Name)
				s.unit = *resource.NewMilliQuantity(node.Status.Allocatable.Cpu().MilliValue()/4, resource.DecimalSI)
			}
		}
		return len(s.nodes) == 3, fmt.Sprint(s.nodes)
	})
	harness.Eventually(t, 30*time.Second, "the default service account is there", func() (bool, string) {
		_, err := s.c.Admin.CoreV1().ServiceAccounts("default").Get(s.ctx, "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	s.timeline.start(t, s.c)
	return s
}

// begin makes t the one that fails.
func (s *stage) begin(t *testing.T) {
	s.t = t
	s.readBack()
	t.Cleanup(func() {
		for _, p := range s.pods() {
			if p.Namespace == "default" {
				s.end(p)
			}
		}
		harness.Eventually(t, 20*time.Second, "the scene is empty", func() (bool, string) {
			left := s.c.Pods(t)
			return len(left) == 0, fmt.Sprint(len(left))
		})
	})
}

// pod asks for so many units; class "" is the lowest.
func (s *stage) pod(name, class string, units int64) *corev1.Pod {
	cpu := resource.NewMilliQuantity(units*s.unit.MilliValue(), resource.DecimalSI)
	pod := harness.Pod(name, "", cpu.String(), "")
	pod.Labels = map[string]string{"class": class}
	pod.Spec.PriorityClassName = class
	return pod
}

// standing starts running pods with these seconds of grace; the letter of a key is the node.
func (s *stage) standing(grace int64, pods map[string]*corev1.Pod) {
	s.t.Helper()
	for _, where := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[where]
		pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = s.nodes[int(where[0]-'A')], &grace
		s.c.CreatePods(s.t, 0, pod)
	}
	harness.Eventually(s.t, 20*time.Second, "the pods run", func() (bool, string) {
		for _, pod := range s.c.Pods(s.t) {
			if pod.Status.Phase != corev1.PodRunning {
				return false, pod.Name
			}
		}
		return true, ""
	})
}

var onNode = regexp.MustCompile(`on node [^ ,]+,`)

// preempt lets a pod preempt, holds what happens against the oracle's answer, and returns the node and the victims.
func (s *stage) preempt(pod *corev1.Pod) (string, []*corev1.Pod) {
	s.t.Helper()
	held := s.createGated(pod, &harness.Case{})
	question := s.question(held)
	first := s.oracle.Ask(s.t, question)[0]
	if first.Preemption == nil {
		s.t.Fatalf("the oracle sees no preemption for %s: %+v", pod.Name, first)
	}
	released := time.Now()
	s.release(held)

	var node string
	harness.Eventually(s.t, 20*time.Second, pod.Name+" is nominated", func() (bool, string) {
		got := s.get(held)
		node = got.Status.NominatedNodeName
		condition := harness.Condition(got)
		return node != "" && condition != nil && condition.Reason == corev1.PodReasonUnschedulable, fmt.Sprintf("%+v", got.Status)
	})
	// 1.37 names the node, which is one of several where they are equally good.
	want := onNode.ReplaceAllLiteralString(first.Message, "on node "+node+",")
	if got := s.get(held); harness.Condition(got).Message != want {
		s.t.Errorf("the condition says %q, kube-scheduler would say %q", harness.Condition(got).Message, want)
	}
	if !slices.Contains(first.Preemption.Acceptable, node) {
		s.t.Errorf("%s is nominated to %s; kube-scheduler would take one of %v: %+v", pod.Name, node, first.Preemption.Acceptable, first.Preemption.Candidates)
	}
	var victims []*corev1.Pod
	var fresh []string
	for _, p := range question.Objects.Pods {
		if slices.Contains(first.Preemption.Candidates[node].Victims, key(p)) {
			victims = append(victims, p)
			if p.DeletionTimestamp == nil {
				fresh = append(fresh, p.Name)
				s.wentProperly(p, held, node, released)
			}
		}
	}
	deleted := map[string]bool{}
	for _, x := range s.proxy.Requests(func(x *harness.Exchange) bool { return x.Method == http.MethodDelete && x.At.After(released) }) {
		deleted[x.Path[strings.LastIndex(x.Path, "/")+1:]] = true
	}
	if len(deleted) != len(fresh) {
		s.t.Errorf("deleted were %v, kube-scheduler would delete %v", deleted, fresh)
	}
	return node, victims
}

// wentProperly checks how a victim was treated: told by a condition, then deleted and no other pod of its name, and an
// event for its owner to read.
func (s *stage) wentProperly(victim, preemptor *corev1.Pod, node string, since time.Time) {
	s.t.Helper()
	path := "/api/v1/namespaces/default/pods/" + victim.Name
	requests := func(method, suffix string) []harness.Exchange {
		return s.proxy.Requests(func(x *harness.Exchange) bool {
			return x.Method == method && x.Path == path+suffix && x.At.After(since)
		})
	}
	var warned, deleted []harness.Exchange
	harness.Eventually(s.t, 10*time.Second, "the victim "+victim.Name+" is deleted", func() (bool, string) {
		warned, deleted = requests(http.MethodPatch, "/status"), requests(http.MethodDelete, "")
		return len(deleted) > 0 && deleted[0].Status != 0, fmt.Sprintf("%d status patches, %d deletions", len(warned), len(deleted))
	})
	if len(warned) != 1 || warned[0].Status != 200 || !bytes.Contains(warned[0].Body, []byte(`"DisruptionTarget"`)) || len(deleted) != 1 || deleted[0].Status != 200 ||
		warned[0].At.After(deleted[0].At) {
		s.t.Errorf("the victim %s should have been told once and then deleted: %d status patches, %d deletions", victim.Name, len(warned), len(deleted))
	}
	if !harness.Reference() { // kube-scheduler takes the risk to delete a namesake
		var options metav1.DeleteOptions
		if err := json.Unmarshal(deleted[0].Body, &options); err != nil || options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != victim.UID {
			s.t.Errorf("the deletion of %s should have its UID %s as precondition: %s", victim.Name, victim.UID, deleted[0].Body)
		}
		if options.GracePeriodSeconds != nil {
			s.t.Errorf("the victim's own grace period counts, not %d seconds", *options.GracePeriodSeconds)
		}
	}
	if now := s.get(victim); now != nil {
		var condition *corev1.PodCondition
		for i := range now.Status.Conditions {
			if now.Status.Conditions[i].Type == corev1.DisruptionTarget {
				condition = &now.Status.Conditions[i]
			}
		}
		if condition == nil || condition.Status != corev1.ConditionTrue || condition.Reason != corev1.PodReasonPreemptionByScheduler ||
			condition.Message != "default-scheduler: preempting to accommodate a higher priority pod" || condition.ObservedGeneration == 0 {
			s.t.Errorf("the victim %s has the condition %+v", victim.Name, condition)
		}
		if now.DeletionTimestamp == nil {
			s.t.Errorf("the victim %s is not being deleted", victim.Name)
		}
	}
	harness.Eventually(s.t, 10*time.Second, "an event tells about "+victim.Name, func() (bool, string) {
		events := s.c.Events(s.t, victim.UID)
		for _, e := range events {
			if e.Reason == "Preempted" {
				// Since Kubernetes 1.36 the event is related to nothing.
				isRelated := e.Related == nil
				if harness.Before136(s.t) {
					isRelated = e.Related != nil && e.Related.Kind == "Pod" && e.Related.Name == preemptor.Name && e.Related.UID == preemptor.UID
				}
				if want := fmt.Sprintf("Preempted by pod %s on node %s", preemptor.UID, node); e.Note != want || e.Type != corev1.EventTypeNormal || e.Action != "Preempting" || !isRelated {
					s.t.Errorf("the event says %q, action %s, related to %+v; kube-scheduler writes %q", e.Note, e.Action, e.Related, want)
				}
				return true, ""
			}
		}
		return false, eventTexts(events)
	})
}

// bound waits until the preemptor is on its node, and checks that it did not wait longer than for its victims.
func (s *stage) bound(pod *corev1.Pod, node string, victims []*corev1.Pod) {
	s.t.Helper()
	where := s.c.WaitBound(s.t, 30*time.Second, pod.Name)[pod.Name]
	if where != node {
		s.t.Errorf("%s was nominated to %s and is on %s", pod.Name, node, where)
	}
	var names []string
	for _, v := range victims {
		names = append(names, v.Name)
	}
	waited := s.timeline.between(s.t, names, pod.Name)
	s.t.Logf("%s was bound %v after the last of %v had gone", pod.Name, waited.Round(time.Millisecond), names)
	if waited < 0 || waited > 2*time.Second {
		s.t.Errorf("%s was bound %v after its last victim had gone", pod.Name, waited)
	}
	// The API server forgets the nomination with the binding, since Kubernetes 1.35.
	if got := s.c.GetPod(s.t, pod.Name); got.Status.NominatedNodeName != "" && !harness.Before135(s.t) {
		s.t.Errorf("%s is bound and still nominated to %s", pod.Name, got.Status.NominatedNodeName)
	}
}

func (s *stage) cheapestNode(t *testing.T) {
	s.begin(t)
	s.standing(2, map[string]*corev1.Pod{
		"A1": s.pod("a-low", "", 1), "A2": s.pod("a-middle", "middle", 3),
		"B1": s.pod("b-middle-1", "middle", 2), "B2": s.pod("b-middle-2", "middle", 2),
		"C1": s.pod("c-low-1", "", 2), "C2": s.pod("c-low-2", "", 1), "C3": s.pod("c-high", "high", 1),
	})
	preemptor := s.pod("preemptor", "high", 2)
	node, victims := s.preempt(preemptor)
	s.bound(preemptor, node, victims)
	// The next one finds other nodes dearer.
	second := s.pod("second", "high", 2)
	node, victims = s.preempt(second)
	s.bound(second, node, victims)
}

// budget guards the pods of a class to the last one.
func (s *stage) budget(class string, pods int) {
	s.t.Helper()
	budgets, least := s.c.Admin.PolicyV1().PodDisruptionBudgets("default"), intstr.FromInt32(int32(pods))
	_, err := budgets.Create(s.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "guard" + class},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"class": class}}}}, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() { _ = budgets.Delete(s.ctx, "guard"+class, metav1.DeleteOptions{}) }) // with the test, if not now
	harness.Eventually(s.t, 20*time.Second, "the budget is counted", func() (bool, string) {
		b, err := budgets.Get(s.ctx, "guard"+class, metav1.GetOptions{})
		return err == nil && b.Status.ObservedGeneration == b.Generation && int(b.Status.CurrentHealthy) == pods && b.Status.DisruptionsAllowed == 0, fmt.Sprintf("%v %+v", err, b.Status)
	})
	time.Sleep(time.Second) // the scheduler hears of it on another stream than of pods
	s.readBack()
}

func (s *stage) budgets(t *testing.T) {
	s.begin(t)
	s.standing(2, map[string]*corev1.Pod{
		"A1": s.pod("a-low-1", "", 2), "A2": s.pod("a-low-2", "", 2),
		"B1": s.pod("b-middle-1", "middle", 2), "B2": s.pod("b-middle-2", "middle", 2),
		"C1": s.pod("c-middle", "middle", 2), "C2": s.pod("c-high", "high", 2),
	})
	s.budget("", 2)
	// Pods of middle priority go, because the lower ones are guarded.
	preemptor := s.pod("preemptor", "high", 2)
	node, victims := s.preempt(preemptor)
	if node == s.nodes[0] {
		t.Errorf("the guarded pods had to go")
	}
	s.bound(preemptor, node, victims)
	// With everything guarded a budget does not stop it: it is a wish here, as it is upstream.
	left := 0
	for _, p := range s.c.Pods(t) {
		if p.Labels["class"] == "middle" {
			left++
		}
	}
	s.budget("middle", left)
	second := s.pod("second", "high", 2)
	node, victims = s.preempt(second)
	if node != s.nodes[0] {
		t.Errorf("all being guarded, the lowest priority should decide; it was %s", node)
	}
	s.bound(second, node, victims)
}

func (s *stage) roomIsKept(t *testing.T) {
	s.begin(t)
	s.standing(4, map[string]*corev1.Pod{
		"A1": s.pod("a-low", "", 3), "A2": s.pod("a-high", "high", 1),
		"B1": s.pod("b-high", "high", 4), "C1": s.pod("c-high", "high", 4),
	})
	preemptor := s.pod("preemptor", "middle", 3)
	node, victims := s.preempt(preemptor)
	// Whoever comes meanwhile and is less important does not get the room.
	late := s.pod("late", "", 3)
	s.c.CreatePods(t, 0, late)
	s.bound(preemptor, node, victims)
	if got := s.c.GetPod(t, "late"); got.Spec.NodeName != "" {
		t.Errorf("the late pod is on %s", got.Spec.NodeName)
	}
}

func (s *stage) outranked(t *testing.T) {
	s.begin(t)
	s.standing(6, map[string]*corev1.Pod{
		"A1": s.pod("a-low-1", "", 2), "A2": s.pod("a-low-2", "", 2),
		"B1": s.pod("b-high", "high", 4), "C1": s.pod("c-high", "high", 4),
	})
	middle := s.pod("middling", "middle", 2)
	node, _ := s.preempt(middle)
	// The victim is still there when a pod comes that needs the whole node.
	top := s.pod("top", "high", 4)
	second, victims := s.preempt(top)
	if node != second {
		t.Fatalf("the pods are nominated to %s and %s", node, second)
	}
	harness.Eventually(t, 10*time.Second, "the nomination of the less important pod is cleared", func() (bool, string) {
		got := s.c.GetPod(t, "middling").Status.NominatedNodeName
		return got == "", got
	})
	s.bound(top, second, victims)
	if got := s.c.GetPod(t, "middling"); got.Spec.NodeName != "" || got.Status.NominatedNodeName != "" {
		t.Errorf("the less important pod is on %q, nominated to %q", got.Spec.NodeName, got.Status.NominatedNodeName)
	}
}

func (s *stage) never(t *testing.T) {
	s.begin(t)
	policy := corev1.PreemptNever
	_, err := s.c.Admin.SchedulingV1().PriorityClasses().Create(s.ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "never"}, Value: 5000, PreemptionPolicy: &policy}, metav1.CreateOptions{})
	s.must(err)
	s.standing(2, map[string]*corev1.Pod{"A1": s.pod("a-low", "", 4), "B1": s.pod("b-low", "", 4), "C1": s.pod("c-low", "", 4)})
	pod := s.pod("polite", "never", 2)
	held := s.createGated(pod, &harness.Case{})
	first := s.oracle.Ask(t, s.question(held))[0]
	released := time.Now()
	s.release(held)
	harness.Eventually(t, 20*time.Second, "the pod is told to wait", func() (bool, string) {
		condition := harness.Condition(s.get(held))
		return condition != nil && condition.Reason == corev1.PodReasonUnschedulable && condition.Message == first.Message, fmt.Sprintf("%+v, wanted %q", condition, first.Message)
	})
	if got := s.proxy.Requests(func(x *harness.Exchange) bool { return x.Method == http.MethodDelete && x.At.After(released) }); len(got) > 0 {
		t.Errorf("it deleted %s", got[0].Path)
	}
	// When room appears, it is taken without any victim.
	s.c.DeletePod(t, "b-low")
	if where := s.c.WaitBound(t, 15*time.Second, "polite")["polite"]; where != s.nodes[1] {
		t.Errorf("it is on %s", where)
	}
}

// timeline notes when pods were seen to go and to be bound.
type timeline struct {
	mu          sync.Mutex
	bound, gone map[string]time.Time
}

func (l *timeline) start(t *testing.T, c *harness.Cluster) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := c.Admin.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); stream.Stop(); <-ended })
	go func() {
		defer close(ended)
		for event := range stream.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			l.mu.Lock()
			switch {
			case event.Type == watch.Deleted:
				l.gone[pod.Name] = time.Now()
				delete(l.bound, pod.Name) // the next scene may use the name again
			case event.Type == watch.Added:
				delete(l.gone, pod.Name)
			}
			if _, known := l.bound[pod.Name]; !known && pod.Spec.NodeName != "" && event.Type != watch.Deleted {
				l.bound[pod.Name] = time.Now()
			}
			l.mu.Unlock()
		}
	}()
}

// between is the time from the last of these pods' end to the binding of another.
func (l *timeline) between(t *testing.T, gone []string, bound string) (d time.Duration) {
	t.Helper()
	harness.Eventually(t, 10*time.Second, "the watch has seen it all", func() (bool, string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		var last time.Time
		for _, name := range gone {
			at, ok := l.gone[name]
			if !ok {
				return false, name + " is there"
			}
			if at.After(last) {
				last = at
			}
		}
		at, ok := l.bound[bound]
		d = at.Sub(last)
		return ok, bound + " is not bound"
	})
	return d
}
