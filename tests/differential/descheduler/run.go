// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
)

// How often a case is run to see in how many ways it ends, and how many ways are kept: where the descheduler walks over
// a hash table, it may do something else each time.
const (
	runs       = 24
	answersMax = 8
)

// eviction is one that the descheduler would make.
type eviction struct {
	Strategy string `json:"strategy"`
	Pod      string `json:"pod"` // "namespace/name"
}

type testCase struct {
	Name            string                         `json:"name,omitempty"`
	Now             metav1.Time                    `json:"now"`
	Policy          json.RawMessage                `json:"policy"`
	Nodes           []v1.Node                      `json:"nodes"`
	Pods            []v1.Pod                       `json:"pods"`
	Namespaces      []v1.Namespace                 `json:"namespaces,omitempty"`
	Budgets         []policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	Claims          []v1.PersistentVolumeClaim     `json:"claims,omitempty"`
	PriorityClasses []schedulingv1.PriorityClass   `json:"priorityClasses,omitempty"`

	// Each a way in which the descheduler may end.
	Answers [][]eviction `json:"answers,omitempty"`
	// Whether the order of an answer counts; else it is sorted.
	Ordered bool `json:"ordered,omitempty"`
	// Why there is none.
	Error string `json:"error,omitempty"`
}

// run fills in the answers.
func run(asked *testCase) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Plugins read the clock: ages are to be what they are in the case.
	age := time.Since(asked.Now.Time).Truncate(time.Second)
	shifted := func(t *metav1.Time) {
		if t != nil && !t.IsZero() {
			*t = metav1.NewTime(t.Add(age))
		}
	}

	objects := []runtime.Object{}
	nodes := []*v1.Node{}
	for i := range asked.Nodes {
		node := asked.Nodes[i].DeepCopy()
		nodes = append(nodes, node)
		objects = append(objects, node)
	}
	podsOf := map[string][]*v1.Pod{}
	for i := range asked.Pods {
		pod := asked.Pods[i].DeepCopy()
		shifted(&pod.CreationTimestamp)
		shifted(pod.DeletionTimestamp)
		shifted(pod.Status.StartTime)
		for j := range pod.Status.Conditions {
			shifted(&pod.Status.Conditions[j].LastTransitionTime)
		}
		podsOf[pod.Spec.NodeName] = append(podsOf[pod.Spec.NodeName], pod)
		objects = append(objects, pod)
	}
	for i := range asked.Namespaces {
		objects = append(objects, &asked.Namespaces[i])
	}
	for i := range asked.Budgets {
		objects = append(objects, &asked.Budgets[i])
	}
	for i := range asked.Claims {
		objects = append(objects, &asked.Claims[i])
	}
	for i := range asked.PriorityClasses {
		objects = append(objects, &asked.PriorityClasses[i])
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	for _, pods := range podsOf {
		sort.Slice(pods, func(i, j int) bool {
			if pods[i].Namespace != pods[j].Namespace {
				return pods[i].Namespace < pods[j].Namespace
			}
			return pods[i].Name < pods[j].Name
		})
	}

	client := fake.NewSimpleClientset(objects...)
	evicted := []eviction{}
	client.PrependReactor("create", "pods", func(action core.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		wanted := action.(core.CreateAction).GetObject().(*policyv1.Eviction)
		// "triggered by PROFILE/STRATEGY: REASON"
		why := strings.TrimPrefix(wanted.Annotations["reason"], "triggered by ")
		why = why[:strings.Index(why, ": ")]
		evicted = append(evicted, eviction{why[strings.LastIndex(why, "/")+1:], wanted.Namespace + "/" + wanted.Name})
		return true, nil, nil
	})

	folder, err := os.MkdirTemp("", "descheduler-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "policy.yaml")
	if err := os.WriteFile(file, asked.Policy, 0o600); err != nil {
		return err
	}
	policy, err := descheduler.LoadPolicyConfig(file, client, pluginregistry.PluginRegistry)
	if err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	factory.Core().V1().Nodes().Informer()
	factory.Core().V1().Namespaces().Informer()
	factory.Core().V1().PersistentVolumeClaims().Informer()
	factory.Policy().V1().PodDisruptionBudgets().Informer()
	evictor, err := evictions.NewPodEvictor(ctx, client, events.NewFakeRecorder(0),
		factory.Core().V1().Pods().Informer(), features.DefaultMutableFeatureGate,
		evictions.NewOptions().
			WithPolicyGroupVersion("policy/v1").
			WithMaxPodsToEvictPerNode(policy.MaxNoOfPodsToEvictPerNode).
			WithMaxPodsToEvictPerNamespace(policy.MaxNoOfPodsToEvictPerNamespace).
			WithMaxPodsToEvictTotal(policy.MaxNoOfPodsToEvictTotal).
			WithDryRun(true))
	if err != nil {
		return err
	}
	// In the fixed order: an informer's index is a hash table.
	podsOnNode := func(name string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		taken := []*v1.Pod{}
		for _, pod := range podsOf[name] {
			if filter == nil || filter(pod) {
				taken = append(taken, pod)
			}
		}
		return taken, nil
	}
	deschedule := []func([]*v1.Node) error{}
	balance := []func([]*v1.Node) error{}
	for i, each := range policy.Profiles {
		made, err := profile.NewProfile(ctx, each, pluginregistry.PluginRegistry,
			profile.WithClientSet(client),
			profile.WithSharedInformerFactory(factory),
			profile.WithPodEvictor(evictor),
			profile.WithGetPodsAssignedToNodeFnc(podsOnNode),
			profile.WithProfileInstanceID(fmt.Sprintf("%d", i)))
		if err != nil {
			return err
		}
		deschedule = append(deschedule, func(nodes []*v1.Node) error { return made.RunDeschedulePlugins(ctx, nodes).Err })
		balance = append(balance, func(nodes []*v1.Node) error { return made.RunBalancePlugins(ctx, nodes).Err })
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	// As descheduler.runProfiles, but that an error ends it.
	selector := labels.Everything()
	if policy.NodeSelector != nil {
		if selector, err = labels.Parse(*policy.NodeSelector); err != nil {
			return err
		}
	}
	looked := []*v1.Node{}
	for _, node := range nodes {
		if selector.Matches(labels.Set(node.Labels)) && nodeutil.IsReady(node) {
			looked = append(looked, node)
		}
	}
	asked.Ordered = isOrdered(asked.Policy)
	asked.Answers = nil
	seen := map[string]bool{}
	for i := 0; i < runs; i++ {
		evicted = []eviction{}
		evictor.ResetCounters()
		if len(looked) > 1 {
			for _, step := range append(append([]func([]*v1.Node) error{}, deschedule...), balance...) {
				if err := step(looked); err != nil {
					return err
				}
			}
		}
		answer := append([]eviction{}, evicted...)
		if !asked.Ordered {
			sort.Slice(answer, func(i, j int) bool {
				if answer[i].Strategy != answer[j].Strategy {
					return answer[i].Strategy < answer[j].Strategy
				}
				return answer[i].Pod < answer[j].Pod
			})
		}
		text, _ := json.Marshal(answer)
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		if len(asked.Answers) == answersMax {
			return fmt.Errorf("more than %d answers", answersMax)
		}
		asked.Answers = append(asked.Answers, answer)
	}
	return nil
}

// isOrdered tells whether no strategy of the policy evicts in the order of a hash table.
func isOrdered(policy json.RawMessage) bool {
	text := string(policy)
	return !strings.Contains(text, "RemoveDuplicates") && !strings.Contains(text, "TopologySpreadConstraint")
}
