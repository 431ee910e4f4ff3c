// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod that fits nowhere is told about in kube-scheduler's words: the real kube-scheduler judges a twin of each pod on
// the same nodes, and the two conditions and events must be equal, letter for letter.
func TestFitsNowhere(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	const name = "berth"
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	harness.StartScheduler(t, harness.Scheduler{Name: name, Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})

	cases := []struct {
		name   string
		change func(*corev1.Pod)
		want   string // kube-scheduler's text, where it is worth pinning beside the comparison
	}{
		{"too-much-cpu", func(p *corev1.Pod) { request(p, corev1.ResourceCPU, "5") },
			"0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu. " + harness.NoNewClaims(t) +
				"preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."},
		{"nodes-full", func(p *corev1.Pod) { request(p, corev1.ResourceCPU, "3500m") },
			"0/5 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient cpu. " + harness.NoNewClaims(t) +
				"preemption: 0/5 nodes are available: 2 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod."},
		{"too-much-memory", func(p *corev1.Pod) { request(p, corev1.ResourceMemory, "33Gi") }, ""},
		{"too-much-of-both", func(p *corev1.Pod) {
			request(p, corev1.ResourceCPU, "5")
			request(p, corev1.ResourceMemory, "33Gi")
		}, ""},
		{"unknown-resource", func(p *corev1.Pod) {
			request(p, "example.com/thing", "1")
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/thing": resource.MustParse("1")}
		}, ""},
		{"node-selector", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "none-has-this"} }, ""},
		{"node-affinity", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"node-000", "node-001", "node-002"}}}}}}}}
		}, ""},
		{"one-node-full", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-001"}
			request(p, corev1.ResourceCPU, "4500m")
		}, ""},
		{"host-port", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-002"}
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}}
		}, ""},
		{"tolerates-one-taint", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			request(p, corev1.ResourceCPU, "6")
		}, ""},
		{"high-priority", func(p *corev1.Pod) {
			p.Spec.PriorityClassName = "system-cluster-critical"
			request(p, corev1.ResourceCPU, "6")
		}, ""},
		{"never-preempts", func(p *corev1.Pod) {
			p.Spec.PriorityClassName = "never-preempts"
			request(p, corev1.ResourceCPU, "6")
		}, ""},
	}

	// With no node at all the text is another one.
	lonely := twins(t, c, name, "no-nodes", func(*corev1.Pod) {})
	same(t, c, lonely, name, "no nodes available to schedule pods")
	for _, pod := range lonely {
		c.DeletePod(t, pod)
	}

	tainted, cordoned := harness.Node("node-003"), harness.Node("node-004")
	tainted.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "other", Effect: corev1.TaintEffectNoSchedule}}
	cordoned.Spec.Unschedulable = true
	c.CreateNodes(t, harness.Node("node-000"), harness.Node("node-001"), harness.Node("node-002"), tainted, cordoned)
	standing := []*corev1.Pod{harness.Pod("stands-0", "", "1", ""), harness.Pod("stands-1", "", "1", ""), harness.Pod("port-taken", "", "1", "")}
	for i, pod := range standing {
		pod.Spec.NodeName = fmt.Sprintf("node-%03d", i)
	}
	standing[2].Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}}
	c.CreatePods(t, 0, standing...)

	never := corev1.PreemptNever
	if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(context.Background(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "never-preempts"}, Value: 1000, PreemptionPolicy: &never}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	pairs := map[string][2]string{}
	for _, test := range cases {
		pairs[test.name] = twins(t, c, name, test.name, test.change)
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) { same(t, c, pairs[test.name], name, test.want) })
	}
	if t.Failed() {
		return
	}

	// A node that fits appears: the waiting pods are bound within seconds, by both.
	t.Run("a fitting node appears", func(t *testing.T) {
		big := harness.Node("node-005")
		big.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("110")}
		big.Status.Capacity = big.Status.Allocatable
		began := time.Now()
		c.CreateNodes(t, big)
		for _, fits := range []string{"too-much-cpu", "nodes-full", "too-much-memory", "too-much-of-both", "node-affinity", "high-priority", "never-preempts"} {
			// A pod that failed a few times backs off, for ten seconds at most.
			c.WaitBound(t, time.Until(began.Add(15*time.Second)), pairs[fits][0], pairs[fits][1])
			for _, pod := range pairs[fits] {
				if got := c.GetPod(t, pod).Spec.NodeName; got != "node-005" {
					t.Errorf("%s went to %s", pod, got)
				}
			}
		}
		t.Logf("all bound after %v", time.Since(began).Round(100*time.Millisecond))
		for _, waits := range []string{"unknown-resource", "node-selector", "one-node-full", "host-port"} {
			for _, pod := range pairs[waits] {
				if got := c.GetPod(t, pod).Spec.NodeName; got != "" {
					t.Errorf("%s went to %s", pod, got)
				}
			}
		}
	})
	// The same for room that a deleted pod leaves behind.
	t.Run("room appears", func(t *testing.T) {
		c.DeletePod(t, "port-taken")
		harness.Eventually(t, 15*time.Second, "one of the two that wait for the port is bound", func() (bool, string) {
			pods := pairs["host-port"]
			return c.GetPod(t, pods[0]).Spec.NodeName != "" || c.GetPod(t, pods[1]).Spec.NodeName != "", "none is"
		})
	})
}

func request(p *corev1.Pod, name corev1.ResourceName, quantity string) {
	p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity)
}

// twins creates the same pod for kube-scheduler and for berth.
func twins(t *testing.T, c *harness.Cluster, scheduler, name string, change func(*corev1.Pod)) [2]string {
	t.Helper()
	theirs, ours := harness.Pod(name+"-theirs", corev1.DefaultSchedulerName, "", ""), harness.Pod(name+"-ours", scheduler, "", "")
	change(theirs)
	change(ours)
	c.CreatePods(t, 0, theirs, ours)
	return [2]string{theirs.Name, ours.Name}
}

// account is what a scheduler has told about a pod that it could not place.
type account struct {
	ConditionStatus, ConditionReason, ConditionMessage string
	ObservedGeneration                                 bool
	EventType, EventReason, EventAction, EventNote     string
	Regarding                                          string
	Nominated                                          string
}

func same(t *testing.T, c *harness.Cluster, pods [2]string, scheduler, want string) {
	t.Helper()
	var accounts [2]account
	for i, name := range pods {
		controller := []string{corev1.DefaultSchedulerName, scheduler}[i]
		harness.Eventually(t, 20*time.Second, "the scheduler tells why "+name+" waits", func() (bool, string) {
			pod := c.GetPod(t, name)
			condition := harness.Condition(pod)
			event := failedScheduling(c.Events(t, pod.UID))
			if condition == nil || event == nil {
				return false, fmt.Sprintf("condition %+v, %s", condition, eventTexts(c.Events(t, pod.UID)))
			}
			if event.ReportingController != controller || !strings.HasPrefix(event.ReportingInstance, controller+"-") {
				t.Errorf("the event about %s comes from %q, instance %q", name, event.ReportingController, event.ReportingInstance)
			}
			if pod.Spec.NodeName != "" {
				t.Errorf("%s was bound to %s", name, pod.Spec.NodeName)
			}
			accounts[i] = account{
				ConditionStatus: string(condition.Status), ConditionReason: condition.Reason, ConditionMessage: condition.Message,
				ObservedGeneration: condition.ObservedGeneration == pod.Generation,
				EventType:          event.Type, EventReason: event.Reason, EventAction: event.Action, EventNote: event.Note,
				Regarding: fmt.Sprint(event.Regarding.Kind, event.Regarding.APIVersion, event.Regarding.Namespace, event.Regarding.Name == name),
				Nominated: pod.Status.NominatedNodeName,
			}
			return true, ""
		})
	}
	if accounts[0] != accounts[1] {
		t.Errorf("kube-scheduler tells\n  %+v\nand berth tells\n  %+v", accounts[0], accounts[1])
	}
	if accounts[0].ConditionReason != corev1.PodReasonUnschedulable || accounts[0].EventReason != "FailedScheduling" {
		t.Errorf("kube-scheduler itself tells %+v", accounts[0])
	}
	if want != "" && accounts[1].ConditionMessage != want {
		t.Errorf("got  %q\nwant %q", accounts[1].ConditionMessage, want)
	}
	t.Logf("%s", accounts[1].EventNote)
}

func failedScheduling(events []eventsv1.Event) *eventsv1.Event {
	for i := range events {
		if events[i].Reason == "FailedScheduling" {
			return &events[i]
		}
	}
	return nil
}

// told lists events in few words.
func eventTexts(events []eventsv1.Event) string {
	lines := []string{fmt.Sprintf("%d events", len(events))}
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
	}
	return strings.Join(lines, "\n  ")
}

// A pending pod that is deleted is forgotten, and one of the same name that comes later is another pod.
func TestDeletedPendingPod(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, nil)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})

	// "control" waits for the same reason and stays: it shows that the scheduler has got as far as to try again.
	c.CreatePods(t, 0, harness.Pod("doomed", "", "10", ""), harness.Pod("control", "", "10", ""))
	waits := func(name string) types.UID {
		harness.Eventually(t, 15*time.Second, name+" is found unschedulable, and an event says so", func() (bool, string) {
			pod := c.GetPod(t, name)
			condition := harness.Condition(pod)
			return condition != nil && condition.Reason == corev1.PodReasonUnschedulable && failedScheduling(c.Events(t, pod.UID)) != nil, fmt.Sprintf("%+v", condition)
		})
		return c.GetPod(t, name).UID
	}
	first := waits("doomed")
	waits("control")
	c.DeletePod(t, "doomed")
	deleted := time.Now()
	big := harness.Node("node-001")
	big.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("40")
	c.CreateNodes(t, big)
	c.WaitBound(t, 15*time.Second, "control")

	writes := func(since time.Time, uid types.UID) []harness.Exchange {
		return proxy.Requests(func(x *harness.Exchange) bool {
			return x.Method != "GET" && x.At.After(since) && x.Mentions("doomed", string(uid))
		})
	}
	// A write that was decided before the deletion arrived may still be on its way; nothing may follow it.
	for _, x := range writes(deleted.Add(500*time.Millisecond), first) {
		t.Errorf("%v after the pod's deletion came %s %s", x.At.Sub(deleted), x.Method, x.Path)
	}

	created := time.Now()
	c.CreatePods(t, 0, harness.Pod("doomed", "", "10", ""))
	c.WaitBound(t, 15*time.Second, "doomed")
	second := c.GetPod(t, "doomed").UID
	bindings := proxy.Requests(func(x *harness.Exchange) bool { return x.IsBinding() && x.At.After(created) })
	if len(bindings) != 1 || !bindings[0].Mentions("doomed", string(second)) || !strings.Contains(string(bindings[0].Body), string(second)) {
		t.Errorf("the new pod's binding should carry its UID %s; the bindings were %d", second, len(bindings))
	}
	harness.Eventually(t, 15*time.Second, "the Scheduled event is about the new pod", func() (bool, string) {
		events := c.Events(t, second)
		return slices.ContainsFunc(events, func(e eventsv1.Event) bool { return e.Reason == "Scheduled" }), eventTexts(events)
	})
}

// A pod is deleted while its binding is on the way: the binding fails, and the room is free for the next.
func TestPodDeletedBeforeBinding(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	held, release := make(chan struct{}, 10), make(chan struct{})
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if x.IsBinding() && strings.Contains(x.Path, "/pods/doomed/") {
			held <- struct{}{}
			<-release
		}
		x.Forward()
	})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("doomed", "", "3", ""))
	wait(t, held, "the binding")
	c.DeletePod(t, "doomed")
	c.CreatePods(t, 0, harness.Pod("next", "", "3", ""))
	close(release)
	c.WaitBound(t, 15*time.Second, "next")
}

// A node is deleted while a binding to it is on the way. The API server takes the binding all the same, so a pod now
// stands on a node that does not exist; somebody has to say so.
func TestNodeDeletedBeforeBinding(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	held, release := make(chan struct{}, 10), make(chan struct{})
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if x.IsBinding() {
			held <- struct{}{}
			<-release
		}
		x.Forward()
	})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})
	c.CreatePods(t, 0, harness.Pod("stranded", "", "1", ""))
	wait(t, held, "the binding")
	if err := c.Admin.CoreV1().Nodes().Delete(context.Background(), "node-000", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.CreateNodes(t, harness.Node("node-001"))
	// The scheduler should know of both before the answer comes; it has no duty to tell anybody that it does.
	time.Sleep(time.Second)
	close(release)
	harness.Eventually(t, 20*time.Second, "the pod is placed on a node that exists, or a Warning event tells of it", func() (bool, string) {
		pod := c.GetPod(t, "stranded")
		if pod == nil || pod.Spec.NodeName == "node-001" {
			return true, ""
		}
		events := c.Events(t, pod.UID)
		for _, event := range events {
			if event.Type == corev1.EventTypeWarning && strings.Contains(event.Note, "node-000") {
				t.Logf("%s: %s", event.Reason, event.Note)
				return true, ""
			}
		}
		return false, fmt.Sprintf("it is on %q: %s", pod.Spec.NodeName, eventTexts(events))
	})
	// The room of a node that is gone must not trouble the pods that come later.
	c.CreatePods(t, 0, harness.Pod("next", "", "3", ""))
	c.WaitBound(t, 15*time.Second, "next")
}

func wait(t *testing.T, signal <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not come", what)
	}
}
