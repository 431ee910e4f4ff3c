// SPDX-License-Identifier: Apache-2.0

// Makes one question of the kind that Karpenter's scheduling benchmark asks (a fifth of the pods each: plain, spread over zones, spread over
// hosts, together in a zone, one a host; amounts and labels by chance) and answers it with Karpenter's scheduler. Writes the same pods and
// instance types for `berth buy` (pods.json, shapes.json), and prints Karpenter's answer as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"
)

const (
	values         = 7 // that a label has
	reconcilesOnce = 5 // goroutines, as in Karpenter's benchmark
	priceParts     = 1e6
)

var (
	cpuMilli  = []int64{100, 250, 500, 1000, 1500}
	memoryMiB = []int64{100, 256, 512, 1024, 2048, 4096}
)

// maker makes pods by chance.
type maker struct {
	chance *rand.Rand
	pods   []*corev1.Pod
}

func (m *maker) label(key string) map[string]string {
	return map[string]string{key: string(rune('a' + m.chance.Intn(values)))}
}

func (m *maker) add(labels map[string]string, spec corev1.PodSpec) {
	name := fmt.Sprintf("pod-%05d", len(m.pods))
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli[m.chance.Intn(len(cpuMilli))], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryMiB[m.chance.Intn(len(memoryMiB))]<<20, resource.BinarySI),
	}
	spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: requests}}}
	m.pods = append(m.pods, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), Labels: labels},
		Spec:       spec,
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
	})
}

func spread(key string, selected map[string]string) corev1.PodSpec {
	return corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: selected}}}}
}

func terms(key string, selected map[string]string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: selected}}}
}

func makePods(count int, seed int64) []*corev1.Pod {
	m := &maker{chance: rand.New(rand.NewSource(seed))}
	part := count / 5
	for range count - 4*part {
		m.add(m.label("my-label"), corev1.PodSpec{})
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		for range part {
			m.add(m.label("my-label"), spread(key, m.label("my-label")))
		}
	}
	for range part {
		labels := m.label("my-affinity")
		m.add(labels, corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: terms(corev1.LabelTopologyZone, labels)}}})
	}
	for range part {
		labels := map[string]string{"app": "nginx"}
		m.add(labels, corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: terms(corev1.LabelHostname, labels)}}})
	}
	return m.pods
}

// shape is an entry of berth's catalogue.
type shape struct {
	Name         string            `json:"name"`
	CPU          string            `json:"cpu"`
	Memory       string            `json:"memory"`
	Pods         int64             `json:"pods"`
	Price        string            `json:"price"`
	Zones        []string          `json:"zones"`
	CapacityType string            `json:"capacityType"`
	Labels       map[string]string `json:"labels,omitempty"`
}

func shapesOf(instanceTypes []*cloudprovider.InstanceType) []shape {
	var shapes []shape
	for _, it := range instanceTypes {
		byKind := map[[2]string]int{} // capacity type and price
		for _, offering := range it.Offerings.Available() {
			key := [2]string{offering.CapacityType(), fmt.Sprintf("%.6f", offering.Price)}
			at, known := byKind[key]
			if !known {
				at = len(shapes)
				byKind[key] = at
				allocatable := it.Allocatable()
				labels := map[string]string{}
				for _, requirement := range it.Requirements {
					switch requirement.Key {
					case corev1.LabelTopologyZone, v1.CapacityTypeLabelKey, corev1.LabelOSStable:
					default:
						if requirement.Operator() == corev1.NodeSelectorOpIn && requirement.Len() == 1 {
							labels[requirement.Key] = requirement.Any()
						}
					}
				}
				shapes = append(shapes, shape{Name: it.Name, CPU: allocatable.Cpu().String(), Memory: allocatable.Memory().String(),
					Pods: allocatable.Pods().Value(), Price: key[1], CapacityType: key[0], Labels: labels})
			}
			shapes[at].Zones = append(shapes[at].Zones, offering.Zone())
		}
	}
	for i := range shapes {
		sort.Strings(shapes[i].Zones)
	}
	return shapes
}

func write(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

type answer struct {
	Seconds float64 `json:"seconds"`
	Nodes   int     `json:"nodes"`
	Price   float64 `json:"price"` // of the cheapest offering that each node claim may become
	Left    int     `json:"left"`
	Stopped bool    `json:"stopped"` // after -timeout
}

func solve(pods []*corev1.Pod, instanceTypes []*cloudprovider.InstanceType, timeout time.Duration) (answer, error) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	pool := test.NodePool(v1.NodePool{Spec: v1.NodePoolSpec{Limits: v1.Limits{
		corev1.ResourceCPU: resource.MustParse("10000000"), corev1.ResourceMemory: resource.MustParse("10000000Gi")}}})
	provider := fake.NewCloudProvider()
	provider.InstanceTypes = instanceTypes
	byPool := map[string][]*cloudprovider.InstanceType{pool.Name: instanceTypes}
	client := fakeclient.NewFakeClient()
	realClock := &clock.RealClock{}
	cluster := state.NewCluster(realClock, client, provider)
	concurrent := scheduling.NumConcurrentReconciles(reconcilesOnce)
	begin := time.Now()
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, []*v1.NodePool{pool}, byPool, pods, concurrent)
	if err != nil {
		return answer{}, err
	}
	scheduler := scheduling.NewScheduler(ctx, client, []*v1.NodePool{pool}, cluster, nil, topology, byPool, nil,
		events.NewRecorder(&record.FakeRecorder{}), realClock, nil, nil, concurrent)
	// As its provisioner does it, which waits for a minute.
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	results, err := scheduler.Solve(bounded, pods)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return answer{}, err
	}
	out := answer{Seconds: time.Since(begin).Seconds(), Nodes: len(results.NewNodeClaims), Left: len(pods), Stopped: err != nil}
	for _, claim := range results.NewNodeClaims {
		out.Left -= len(claim.Pods)
		cheapest := cloudprovider.InstanceTypes(claim.InstanceTypeOptions).OrderByPrice(claim.Requirements)[0]
		price := cheapest.Offerings.Available().Compatible(claim.Requirements).Cheapest().Price
		out.Price += math.Round(price*priceParts) / priceParts // as the catalogue has it
	}
	return out, nil
}

func run() error {
	pods := flag.Int("pods", 20_000, "how many pods")
	instanceTypes := flag.Int("types", 400, "how many instance types")
	seed := flag.Int64("seed", 42, "of the pods")
	folder := flag.String("into", "", "the folder for pods.json and shapes.json")
	timeout := flag.Duration("timeout", time.Hour, "when Karpenter is stopped")
	only := flag.Bool("only-make", false, "make the files and ask nobody")
	flag.Parse()
	if *folder == "" {
		return fmt.Errorf("-into FOLDER is missing")
	}
	log.SetLogger(logging.NopLogger)
	made, offered := makePods(*pods, *seed), fake.InstanceTypes(*instanceTypes)
	if err := write(filepath.Join(*folder, "pods.json"), map[string]any{"apiVersion": "v1", "kind": "List", "items": made}); err != nil {
		return err
	}
	if err := write(filepath.Join(*folder, "shapes.json"), map[string]any{"shapes": shapesOf(offered)}); err != nil {
		return err
	}
	if *only {
		return nil
	}
	out, err := solve(made, offered, *timeout)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		os.Exit(1)
	}
}
