// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// preemptService answers questions about preemption by the preemptor's name:
//
//	narrow  the last node alone, with the victims that the scheduler has found
//	more    the first node alone, with the other pod there as well
//	none    no node
type preemptService struct {
	t *testing.T

	mu    sync.Mutex
	uids  map[string]string   // of all pods, by "node large" and "node small"
	asked map[string][]string // questions without what tells the two schedulers' objects apart, by preemptor
}

func (s *preemptService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderPreemptionArgs
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&args); err != nil {
		s.t.Errorf("%s: %v", r.URL.Path, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	offered := map[string]*extenderv1.MetaVictims{}
	for node, victims := range args.NodeNameToMetaVictims {
		offered[node] = victims
	}
	for node, victims := range args.NodeNameToVictims {
		meta := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
		for _, pod := range victims.Pods {
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
		offered[node] = meta
	}
	nodes := make([]string, 0, len(offered))
	for node := range offered {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	s.asked[args.Pod.Name] = append(s.asked[args.Pod.Name], s.plain(&args))
	answer := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	switch {
	case strings.HasSuffix(args.Pod.Name, "narrow"):
		last := nodes[len(nodes)-1]
		answer.NodeNameToMetaVictims[last] = offered[last]
	case strings.HasSuffix(args.Pod.Name, "more"):
		answer.NodeNameToMetaVictims[nodes[0]] = &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{
			{UID: s.uids[nodes[0]+" large"]}, {UID: s.uids[nodes[0]+" small"]}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// plain is the question with pods for uids, and without "theirs-" and "ours-".
func (s *preemptService) plain(args *extenderv1.ExtenderPreemptionArgs) string {
	copied := args.DeepCopy()
	who := copied.Pod.Name[:strings.Index(copied.Pod.Name, "-")+1]
	clearIdentity(copied.Pod)
	copied.Pod.Spec.NodeSelector = nil // whose nodes they are
	for _, victims := range copied.NodeNameToVictims {
		for _, pod := range victims.Pods {
			clearIdentity(pod)
			pod.Status.StartTime = nil
		}
	}
	for node, victims := range copied.NodeNameToMetaVictims {
		for _, pod := range victims.Pods {
			for name, uid := range s.uids {
				if pod.UID == uid && strings.HasPrefix(name, node+" ") {
					pod.UID = name
				}
			}
		}
	}
	text, err := json.MarshalIndent(copied, "", " ")
	if err != nil {
		s.t.Error(err)
	}
	return strings.ReplaceAll(string(text), who, "")
}

// The real kube-scheduler and berth have nodes alike, full of pods alike, and an extender with a preemptVerb: they put the
// same questions, evict the pods that it names, and say the same when it leaves no node.
func TestExtenderPreempts(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	for _, form := range []string{"whole", "names"} {
		t.Run(form, func(t *testing.T) { testExtenderPreempts(t, form) })
	}
}

func testExtenderPreempts(t *testing.T, form string) {
	c := harness.StartCluster(t, harness.Options{})
	service := &preemptService{t: t, uids: map[string]string{}, asked: map[string][]string{}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(context.Background(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const ours = "berth"
	schedulers := map[string]string{"theirs": corev1.DefaultSchedulerName, "ours": ours}
	noGrace := int64(0)
	for who := range schedulers {
		for i := range 3 {
			node := harness.Node(fmt.Sprintf("%s-node-%d", who, i))
			node.Labels["pool"] = who
			c.CreateNodes(t, node)
			for size, cpu := range map[string]string{"large": "3", "small": "1"} {
				pod := harness.Pod(fmt.Sprintf("%s-%s-%d", who, size, i), schedulers[who], cpu, "")
				pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = node.Name, &noGrace
				c.CreatePods(t, 0, pod)
				service.uids[node.Name+" "+size] = string(c.GetPod(t, pod.Name).UID)
			}
		}
	}
	startBothWithExtender(t, c, ours, func(string) string {
		return fmt.Sprintf("{urlPrefix: %q, preemptVerb: preempt, nodeCacheCapable: %t}", server.URL, form == "names")
	})

	left := func(who string) string {
		var names []string
		for _, pod := range c.Pods(t) {
			if pod.DeletionTimestamp == nil && strings.HasPrefix(pod.Name, who) {
				names = append(names, strings.TrimPrefix(pod.Name, who+"-"))
			}
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, round := range []struct{ name, node, left string }{
		{"narrow", "node-2", "large-0 large-1 narrow small-0 small-1 small-2"},
		{"more", "node-0", "large-1 more narrow small-1 small-2"},
		{"none", "", "large-1 more narrow none small-1 small-2"},
	} {
		var messages []string
		for _, who := range []string{"theirs", "ours"} {
			pod := harness.Pod(who+"-"+round.name, schedulers[who], "3", "")
			pod.Spec.PriorityClassName, pod.Spec.NodeSelector = "high", map[string]string{"pool": who}
			c.CreatePods(t, 0, pod)
			if round.node != "" {
				if at := c.WaitBound(t, time.Minute, pod.Name)[pod.Name]; at != who+"-"+round.node {
					t.Errorf("%s is on %s", pod.Name, at)
				}
			} else {
				harness.Eventually(t, 20*time.Second, pod.Name+" is refused", func() (bool, string) {
					condition := harness.Condition(c.GetPod(t, pod.Name))
					if condition == nil {
						return false, "no condition"
					}
					messages = append(messages, condition.Message)
					return true, ""
				})
			}
			if got := left(who); got != round.left {
				t.Errorf("after %s these pods are left: %s", pod.Name, got)
			}
		}
		if len(messages) == 2 && messages[0] != messages[1] {
			t.Errorf("%s: kube-scheduler says %q and berth %q", round.name, messages[0], messages[1])
		}
		service.mu.Lock()
		theirs, own := service.asked["theirs-"+round.name], service.asked["ours-"+round.name]
		service.mu.Unlock()
		if len(theirs) == 0 || len(own) == 0 {
			t.Fatalf("%s: kube-scheduler asks %d times and berth %d times", round.name, len(theirs), len(own))
		}
		if theirs[0] != own[0] {
			t.Errorf("%s: kube-scheduler asks\n%s\nand berth\n%s", round.name, theirs[0], own[0])
		}
	}
}
