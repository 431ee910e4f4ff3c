// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lessOf is how many to try after so many were refused as too large by kube-apiserver or etcd, or not stored by
// kube-apiserver in the time that it takes for a request; 0 when the error is another one.
func lessOf(n int, err error) int {
	text := err.Error()
	switch {
	case strings.Contains(text, "too large"), strings.Contains(text, "larger than max"):
		return n * 97 / 100
	case strings.Contains(text, "request did not complete within"):
		return n * 2 / 3
	}
	return 0
}

// createLargest creates one pod with so many things in it, or with as many as the API server takes, and returns how many
// that were. Something is left free for the binding, which makes the pod larger.
func (r *run) createLargest(ctx context.Context, wanted int, build func(n int) *corev1.Pod) int {
	n := wanted
	for ctx.Err() == nil {
		pod := build(n)
		pod.Namespace = r.tenant
		_, err := r.c.Admin.CoreV1().Pods(r.tenant).Create(ctx, pod, metav1.CreateOptions{})
		if err == nil {
			return n
		}
		if n = lessOf(n, err); n == 0 {
			r.note("a pod could not be created: %v", shortened(err.Error()))
			return 0
		}
	}
	return 0
}

func shortened(text string) string {
	if len(text) > 300 {
		return text[:300] + "..."
	}
	return text
}

// largePods creates strength pods that each hold so many things, and measures meanwhile and afterwards.
func largePods(wanted int, what string, build func(name string, n int) *corev1.Pod) func(r *run) {
	return func(r *run) {
		r.begin(options{})
		r.under(func(ctx context.Context) {
			n := wanted
			for i := range r.strength {
				n = r.createLargest(ctx, n, func(n int) *corev1.Pod { return build(fmt.Sprintf("large-%d", i), n) })
				if n == 0 {
					return
				}
			}
			if n < wanted {
				r.note("the API server takes %d %s in a pod, not %d", n, what, wanted)
			}
		})
		r.cleared()
	}
}

// Each key is one that no other expression has, and no node: all expressions are asked on all nodes.
func keysOfAffinity(name string, n int) *corev1.Pod {
	pod := harness.Pod(name, "", "10m", "")
	expressions := make([]corev1.NodeSelectorRequirement, n)
	for i := range expressions {
		expressions[i] = corev1.NodeSelectorRequirement{Key: fmt.Sprintf("k%d", i), Operator: corev1.NodeSelectorOpDoesNotExist}
	}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: expressions}}},
	}}
	return pod
}

func softSpreads(name string, n int) *corev1.Pod {
	pod := harness.Pod(name, "", "10m", "")
	for i := range n {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: fmt.Sprintf("k%d", i), WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		})
	}
	return pod
}

func antiAffinityTerms(name string, n int) *corev1.Pod {
	pod := harness.Pod(name, "", "10m", "")
	terms := make([]corev1.PodAffinityTerm, n)
	for i := range terms {
		terms[i] = corev1.PodAffinityTerm{TopologyKey: zoneLabel, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"k": fmt.Sprintf("%d", i)}}}
	}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	return pod
}

func extendedResources(name string, n int) *corev1.Pod {
	pod := harness.Pod(name, "", "10m", "")
	limits := corev1.ResourceList{}
	for i := range n {
		limits[corev1.ResourceName(fmt.Sprintf("x.y/r%d", i))] = resource.MustParse("1")
	}
	pod.Spec.Containers[0].Resources.Limits = limits
	return pod
}

// bigPod is about so many bytes, all in values that no node has, and like no other pod.
func bigPod(name string, bytes int) *corev1.Pod {
	pod := harness.Pod(name, "", "10m", "")
	values := make([]string, bytes/65)
	for i := range values {
		value := fmt.Sprintf("%s-%d-", name, i)
		values[i] = value + strings.Repeat("x", 63-len(value))
	}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: corev1.NodeSelectorOpNotIn, Values: values}}}}},
	}}
	return pod
}

// Pods of 1.1 to 1.4 MiB are created and deleted, twenty at a time.
func bigPodsAttack(r *run) {
	r.begin(options{})
	r.under(func(ctx context.Context) {
		none := int64(0)
		pods := r.c.Admin.CoreV1().Pods(r.tenant)
		var workers sync.WaitGroup
		var mu sync.Mutex
		made, failed := 0, ""
		for worker := range 20 {
			workers.Go(func() {
				for i := worker; i < r.strength && ctx.Err() == nil; i += 20 {
					name := fmt.Sprintf("big-%d", i)
					pod := bigPod(name, 1_150_000+i%20*15_000)
					pod.Namespace = r.tenant
					_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
					mu.Lock()
					if err == nil {
						made++
					} else {
						failed = shortened(err.Error())
					}
					mu.Unlock()
					select {
					case <-ctx.Done():
					case <-time.After(500 * time.Millisecond):
					}
					_ = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &none}) // cleared deletes what is left
				}
			})
		}
		workers.Wait()
		if made < r.strength {
			r.note("%d of %d big pods were created; such as: %s", made, r.strength, failed)
		}
	})
	r.cleared()
}

// patchPod merges a change into one of the attacker's pods; one that is gone is left.
func (r *run) patchPod(ctx context.Context, name string, change any, subresources ...string) {
	b, err := json.Marshal(change)
	if err != nil {
		panic(err)
	}
	_, _ = r.c.Admin.CoreV1().Pods(r.tenant).Patch(ctx, name, types.MergePatchType, b, metav1.PatchOptions{}, subresources...)
}

// hopeless are pods that no node can take, whatever happens.
func (r *run) hopeless(prefix string, n int) []*corev1.Pod {
	pods, _ := r.tenantPods(prefix, n, "10m")
	for _, pod := range pods {
		pod.Spec.NodeSelector = map[string]string{"no": "such"}
	}
	return pods
}

// Very many pods of one namespace wait.
func floodAttack(r *run) {
	r.begin(options{})
	r.under(func(ctx context.Context) {
		pods := r.hopeless("flood", r.strength)
		next := make(chan *corev1.Pod)
		var workers sync.WaitGroup
		var made sync.Map
		for range 16 {
			workers.Go(func() {
				for pod := range next {
					if _, err := r.c.Admin.CoreV1().Pods(r.tenant).Create(ctx, pod, metav1.CreateOptions{}); err == nil {
						made.Store(pod.Name, true)
					}
				}
			})
		}
		for _, pod := range pods {
			if ctx.Err() != nil {
				break
			}
			next <- pod
		}
		close(next)
		workers.Wait()
		n := 0
		made.Range(func(any, any) bool { n++; return true })
		if n < r.strength {
			r.note("%d of %d pods could be created", n, r.strength)
		}
	})
	r.cleared()
}

// The annotations of pods that wait change as fast as the API server takes it.
func annotationStormAttack(r *run) {
	r.begin(options{})
	pods := r.hopeless("storm", 16)
	r.c.CreatePods(r, 0, pods...)
	var mu sync.Mutex
	updates := 0
	r.under(func(ctx context.Context) {
		began := time.Now()
		var workers sync.WaitGroup
		for _, pod := range pods {
			workers.Go(func() {
				for i := 0; time.Since(began) < 10*time.Second && ctx.Err() == nil; i++ {
					r.patchPod(ctx, pod.Name, map[string]any{"metadata": map[string]any{"annotations": map[string]string{"n": fmt.Sprint(i)}}})
					mu.Lock()
					updates++
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		r.note("%.0f updates a second", float64(updates)/time.Since(began).Seconds())
	})
	r.cleared()
}

// All pods of a namespace are deleted while they are bound, again and again.
func deletionAttack(r *run) {
	r.begin(options{})
	r.under(func(context.Context) {
		for round := range 3 {
			pods, _ := r.tenantPods(fmt.Sprintf("round-%d", round), r.strength, "1m")
			r.c.CreatePods(r, 0, pods...)
			r.emptyTenant()
		}
	})
	r.cleared()
}

// A node is ready and not ready, fifty times a second, while pods wait.
func flappingAttack(r *run) {
	r.begin(options{})
	r.c.CreatePods(r, 0, r.hopeless("waiting", 200)...)
	const node = "node-499"
	patch := func(ctx context.Context, change any, subresources ...string) {
		b, err := json.Marshal(change)
		if err != nil {
			panic(err)
		}
		_, _ = r.c.Admin.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, b, metav1.PatchOptions{}, subresources...)
	}
	set := func(ctx context.Context, ready bool) {
		status, taints := corev1.ConditionTrue, []corev1.Taint{}
		if !ready {
			status, taints = corev1.ConditionFalse, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		}
		patch(ctx, map[string]any{"spec": map[string]any{"taints": taints}})
		patch(ctx, map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}, "status")
	}
	r.under(func(ctx context.Context) {
		began, flips := time.Now(), 0
		for ; time.Since(began) < 10*time.Second; flips++ {
			time.Sleep(time.Until(began.Add(time.Duration(flips) * time.Second / time.Duration(r.strength))))
			set(ctx, flips%2 == 1)
		}
		set(ctx, true)
		r.note("%.0f flips a second", float64(flips)/time.Since(began).Seconds())
	})
	r.cleared()
}

// Pods wait for volumes that nobody makes, and their claims change all the time.
func volumesAttack(r *run) {
	r.begin(options{})
	claims := r.c.Admin.CoreV1().PersistentVolumeClaims(r.tenant)
	pods, names := r.tenantPods("volumes", r.strength, "10m")
	for i, pod := range pods {
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: names[i]}}}}
		class := "nobody"
		_, err := claims.Create(context.Background(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: names[i]},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			r.Fatal(err)
		}
	}
	r.under(func(ctx context.Context) {
		r.c.CreatePods(r, 0, pods...)
		for began, i := time.Now(), 0; time.Since(began) < 10*time.Second; i++ {
			time.Sleep(time.Until(began.Add(time.Duration(i) * 20 * time.Millisecond)))
			_, _ = claims.Patch(ctx, names[i%len(names)], types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, i), metav1.PatchOptions{})
		}
	})
	r.result.Tenant = r.untilReported(r.tenant, names, false, 20*time.Second)
	r.cleared()
}

// Pods wait for devices by selectors that the API server just admits, one evaluation of which takes a tenth of a second.
// 17 nodes have 128 devices each, no two alike.
func selectorsAttack(r *run) {
	r.begin(options{})
	ctx, api := context.Background(), r.c.Admin.ResourceV1()
	if _, err := api.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	const driver = "devices.example.com"
	for n := range 17 {
		node := fmt.Sprintf("node-%d", n)
		devices := make([]resourcev1.Device, 128)
		for i := range devices {
			id := int64(n*len(devices) + i)
			devices[i] = resourcev1.Device{Name: fmt.Sprintf("d%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"id": {IntValue: &id}}}
		}
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Devices: devices, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}}
		if _, err := api.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
	}
	const digits = "[0,1,2,3,4,5,6,7,8,9]"
	pods, names := r.tenantPods("selectors", r.strength, "10m")
	for i, pod := range pods {
		expression := fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, %[1]s.all(d, a + b + c + d < 99)))) && device.attributes['%[2]s'].id < -%[3]d", digits, driver, i)
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: names[i]}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}}}}}}}
		if _, err := api.ResourceClaims(r.tenant).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimName: &names[i]}}
	}
	r.under(func(context.Context) {
		r.c.CreatePods(r, 0, pods...)
		time.Sleep(10 * time.Second)
	})
	r.cleared()
}

// Pods with scheduling gates that are taken away one after the other, some hundreds at once.
func gatesAttack(r *run) {
	r.begin(options{})
	r.under(func(ctx context.Context) {
		for round := range 3 {
			pods, names := r.tenantPods(fmt.Sprintf("gated-%d", round), r.strength, "1m")
			for _, pod := range pods {
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/a"}, {Name: "example.com/b"}}
			}
			r.c.CreatePods(r, 0, pods...)
			var workers sync.WaitGroup
			for worker := range 8 {
				workers.Go(func() {
					for i := worker; i < len(names); i += 8 {
						for _, gates := range [][]corev1.PodSchedulingGate{{{Name: "example.com/b"}}, {}} {
							r.patchPod(ctx, names[i], map[string]any{"spec": map[string]any{"schedulingGates": gates}})
						}
					}
				})
			}
			workers.Wait()
			r.emptyTenant()
		}
	})
	r.cleared()
}
