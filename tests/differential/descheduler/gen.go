// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The most pods of a node, and of a namespace in a domain: Go sorts so many by insertion, which has an outcome that can
// be told even where a comparison calls each of two pods the smaller.
const pods12 = 12

var (
	namespaces = []string{"kube-system", "team-a", "team-b"}
	apps       = []string{"api", "cache", "web", "worker"}
	zones      = []string{"z1", "z2", "z3"}
	strategies = []string{
		"RemoveDuplicates", "RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaints",
		"RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingTopologySpreadConstraint", "PodLifeTime",
		"RemoveFailedPods", "RemovePodsHavingTooManyRestarts", "LowNodeUtilization", "HighNodeUtilization", "several",
	}
	balances = map[string]bool{"RemoveDuplicates": true, "RemovePodsViolatingTopologySpreadConstraint": true,
		"LowNodeUtilization": true, "HighNodeUtilization": true}
)

type object = map[string]any

// generate writes so many cases that have an answer.
func generate(out *bufio.Writer, seed int64, count int, only string) {
	for done := 0; done < count; seed++ {
		strategy := only
		if strategy == "" {
			strategy = strategies[int(seed)%len(strategies)]
		}
		made := newCase(seed, strategy)
		answered(made)
		if made.Error != "" {
			if len(made.Error) > 6 && made.Error[:6] == "panic:" {
				fail(made.Name + ": " + made.Error)
			}
			continue
		}
		write(out, made)
		done++
	}
}

type maker struct {
	*rand.Rand
	strategy string
	out      *testCase
	ages     []int
}

func (m *maker) chance(percent int) bool { return m.Intn(100) < percent }
func (m *maker) wants(strategy string) bool {
	return m.strategy == strategy || m.strategy == "several"
}
func pick[T any](m *maker, from ...T) T { return from[m.Intn(len(from))] }

// some takes each with the chance.
func some[T any](m *maker, percent int, from ...T) []T {
	taken := []T{}
	for _, each := range from {
		if m.chance(percent) {
			taken = append(taken, each)
		}
	}
	return taken
}

func newCase(seed int64, strategy string) *testCase {
	m := &maker{Rand: rand.New(rand.NewSource(seed)), strategy: strategy, out: &testCase{
		Name: fmt.Sprintf("%s-%d", strategy, seed),
		Now:  metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}}
	// Minutes, each once: what is equally old has no order.
	m.ages = m.Perm(600)
	m.addNodes()
	m.addPods()
	m.addOthers()
	m.addPolicy()
	return m.out
}

// --- The cluster -----------------------------------------------------------------------------------------------------

func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func (m *maker) taint() v1.Taint {
	return v1.Taint{
		Key:    pick(m, "gpu", "spot", "team"),
		Value:  pick(m, "", "yes", "a"),
		Effect: pick(m, v1.TaintEffectNoSchedule, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
	}
}

func (m *maker) addNodes() {
	count := 2 + m.Intn(6)
	if m.chance(5) {
		count = 1
	}
	for i := 0; i < count; i++ {
		node := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1), Labels: map[string]string{}}}
		node.Labels["kubernetes.io/hostname"] = node.Name
		if m.chance(92) {
			node.Labels["zone"] = zones[(i+m.Intn(2))%len(zones)]
		}
		if m.chance(60) {
			node.Labels["disk"] = pick(m, "ssd", "hdd")
		}
		if m.chance(80) {
			node.Labels["pool"] = pick(m, "one", "two")
		}
		taints := 12
		if m.wants("RemovePodsViolatingNodeTaints") {
			taints = 55
		}
		for m.chance(taints) && len(node.Spec.Taints) < 3 {
			node.Spec.Taints = append(node.Spec.Taints, m.taint())
		}
		node.Spec.Unschedulable = m.chance(7)
		node.Status.Allocatable = quantities("cpu", pick(m, "2", "4", "8"), "memory", pick(m, "8Gi", "16Gi", "32Gi"),
			"pods", pick(m, "10", "30", "110"))
		if m.chance(25) {
			node.Status.Allocatable["example.com/card"] = resource.MustParse(pick(m, "1", "2", "4"))
		}
		if m.chance(85) {
			status := v1.ConditionTrue
			if m.chance(5) {
				status = pick(m, v1.ConditionFalse, v1.ConditionUnknown)
			}
			node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
		}
		m.out.Nodes = append(m.out.Nodes, node)
	}
}

// A workload: what its pods have in common.
type workload struct {
	namespace, name, kind string
	pod                   v1.Pod
}

func (m *maker) workload(i int) workload {
	w := workload{namespace: pick(m, namespaces...), name: fmt.Sprintf("%s-%d", pick(m, apps...), i), kind: "ReplicaSet"}
	if m.chance(30) {
		w.kind = pick(m, "StatefulSet", "Job", "DaemonSet", "ReplicaSet", "")
	}
	pod := &w.pod
	pod.Namespace = w.namespace
	pod.Labels = map[string]string{"app": pick(m, apps...)}
	if m.chance(60) {
		pod.Labels["tier"] = pick(m, "front", "back")
	}
	pod.Annotations = map[string]string{}
	if m.chance(4) {
		pod.Annotations["descheduler.alpha.kubernetes.io/evict"] = "true"
	}
	if m.chance(12) {
		pod.Annotations["descheduler.alpha.kubernetes.io/prefer-no-eviction"] = "true"
	}
	if m.chance(3) {
		pod.Annotations["kubernetes.io/config.mirror"] = "x"
	}
	if m.chance(3) {
		pod.Annotations["kubernetes.io/config.source"] = pick(m, "file", "api")
	}
	if w.kind != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: w.kind, Name: w.name,
			UID: types.UID("uid-" + w.namespace + "-" + w.name), Controller: ptr.To(true)}}
		if m.chance(5) {
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Custom",
				Name: "other", UID: types.UID("uid-other")})
		}
	}
	spec := &pod.Spec
	for c := 0; c < 1+m.Intn(2); c++ {
		container := v1.Container{Name: fmt.Sprintf("c%d", c), Image: pick(m, "app:1", "app:2", "side:1")}
		if m.chance(80) {
			container.Resources.Requests = quantities("cpu", pick(m, "100m", "250m", "500m", "1"))
			if m.chance(80) {
				container.Resources.Requests["memory"] = resource.MustParse(pick(m, "128Mi", "512Mi", "1Gi", "2Gi"))
			}
			if m.chance(8) {
				container.Resources.Requests["example.com/card"] = resource.MustParse("1")
			}
		}
		spec.Containers = append(spec.Containers, container)
	}
	if m.chance(10) {
		spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1",
			Resources: v1.ResourceRequirements{Requests: quantities("cpu", pick(m, "50m", "2"))}}}
	}
	if m.chance(5) {
		spec.Overhead = quantities("cpu", "50m", "memory", "64Mi")
	}
	if m.chance(85) {
		spec.Priority = ptr.To(pick[int32](m, 0, 0, 100, 1000))
		if m.chance(4) {
			spec.Priority = ptr.To[int32](2000000000)
		}
		if *spec.Priority == 1000 {
			spec.PriorityClassName = "high"
		}
	}
	pod.Status.QOSClass = pick(m, v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed)
	if m.chance(35) {
		spec.Tolerations = some(m, 50, v1.Toleration{Key: "gpu", Operator: v1.TolerationOpExists},
			v1.Toleration{Key: "spot", Operator: v1.TolerationOpEqual, Value: "yes", Effect: v1.TaintEffectNoSchedule},
			v1.Toleration{Operator: v1.TolerationOpExists},
			v1.Toleration{Key: "team", Value: "a"})
	}
	m.affinity(spec)
	m.antiAffinity(spec)
	m.spread(spec)
	if m.chance(6) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	}
	if m.chance(3) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}})
	}
	if m.chance(12) {
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: pick(m, "fast", "slow", "none", "gone")}}})
	}
	if m.chance(4) {
		spec.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimName: ptr.To("claim")}}
	}
	return w
}

func (m *maker) affinity(spec *v1.PodSpec) {
	percent := 10
	if m.wants("RemovePodsViolatingNodeAffinity") {
		percent = 60
	}
	if m.chance(10) {
		spec.NodeSelector = map[string]string{pick(m, "disk", "pool"): pick(m, "ssd", "one")}
	}
	if !m.chance(percent) {
		return
	}
	affinity := &v1.NodeAffinity{}
	expression := func() v1.NodeSelectorRequirement {
		if m.chance(25) {
			return v1.NodeSelectorRequirement{Key: pick(m, "disk", "zone"), Operator: pick(m, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist)}
		}
		return v1.NodeSelectorRequirement{Key: pick(m, "disk", "pool"), Operator: pick(m, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
			Values: []string{pick(m, "ssd", "hdd", "one", "two")}}
	}
	if m.chance(60) {
		selector := &v1.NodeSelector{}
		for t := 0; t < 1+m.Intn(2); t++ {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression()}})
		}
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = selector
	}
	for m.chance(60) && len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) < 3 {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: int32(1 + m.Intn(100)), Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression()}}})
	}
	spec.Affinity = &v1.Affinity{NodeAffinity: affinity}
}

func (m *maker) antiAffinity(spec *v1.PodSpec) {
	percent := 8
	if m.wants("RemovePodsViolatingInterPodAntiAffinity") {
		percent = 60
	}
	if !m.chance(percent) {
		return
	}
	if spec.Affinity == nil {
		spec.Affinity = &v1.Affinity{}
	}
	spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
	for t := 0; t < 1+m.Intn(2); t++ {
		term := v1.PodAffinityTerm{TopologyKey: pick(m, "kubernetes.io/hostname", "kubernetes.io/hostname", "zone", "rack")}
		if m.chance(95) {
			term.LabelSelector = m.selector()
		}
		if m.chance(25) {
			term.Namespaces = some(m, 60, namespaces...)
		}
		spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
			spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
	}
}

func (m *maker) selector() *metav1.LabelSelector {
	if m.chance(50) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(m, apps...)}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: pick(m, "app", "tier"),
		Operator: pick(m, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
		Values:   append([]string{pick(m, "api", "front")}, some(m, 40, "cache", "web", "back")...)}}}
}

func (m *maker) spread(spec *v1.PodSpec) {
	percent := 5
	if m.wants("RemovePodsViolatingTopologySpreadConstraint") {
		percent = 75
	}
	for i := 0; m.chance(percent) && i < 2; i++ {
		constraint := v1.TopologySpreadConstraint{
			MaxSkew:           int32(1 + m.Intn(2)),
			TopologyKey:       pick(m, "zone", "zone", "kubernetes.io/hostname", "pool"),
			WhenUnsatisfiable: pick(m, v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway),
			LabelSelector:     m.selector(),
		}
		if m.chance(30) {
			constraint.NodeAffinityPolicy = ptr.To(pick(m, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if m.chance(30) {
			constraint.NodeTaintsPolicy = ptr.To(pick(m, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if m.chance(15) {
			constraint.MatchLabelKeys = []string{"tier"}
		}
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, constraint)
	}
}

func (m *maker) addPods() {
	workloads := []workload{}
	for i := 0; i < 2+m.Intn(5); i++ {
		workloads = append(workloads, m.workload(i))
	}
	perNode := map[string]int{}
	perDomain := map[string]int{}
	// One node is preferred, so that something is out of balance.
	favourite := pick(m, m.out.Nodes...)
	for i := 0; i < 4+m.Intn(30); i++ {
		node := pick(m, m.out.Nodes...)
		if m.chance(45) {
			node = favourite
		}
		w := pick(m, workloads...)
		keys := []string{}
		for _, key := range []string{"zone", "pool"} {
			if value, has := node.Labels[key]; has {
				keys = append(keys, w.namespace+"/"+key+"/"+value)
			}
		}
		full := perNode[node.Name] >= pods12
		for _, key := range keys {
			full = full || perDomain[key] >= pods12
		}
		if full {
			continue
		}
		perNode[node.Name]++
		for _, key := range keys {
			perDomain[key]++
		}
		pod := w.pod.DeepCopy()
		pod.Name = fmt.Sprintf("%s-%02d", w.name, i)
		pod.UID = types.UID("uid-" + pod.Namespace + "-" + pod.Name)
		pod.Spec.NodeName = node.Name
		m.fillStatus(pod, i)
		m.out.Pods = append(m.out.Pods, *pod)
	}
}

func (m *maker) before(minutes int) metav1.Time {
	// Half a minute from all thresholds.
	return metav1.NewTime(m.out.Now.Add(-time.Duration(minutes)*time.Minute - 30*time.Second))
}

func (m *maker) fillStatus(pod *v1.Pod, i int) {
	pod.CreationTimestamp = m.before(m.ages[i])
	if m.chance(4) {
		pod.DeletionTimestamp = ptr.To(m.before(0))
		pod.Finalizers = []string{"example.com/keep"}
	}
	if m.chance(95) {
		pod.Status.StartTime = ptr.To(m.before(m.ages[i]))
	}
	failed, restarts := 5, 10
	if m.wants("RemoveFailedPods") {
		failed = 60
	}
	if m.wants("RemovePodsHavingTooManyRestarts") {
		restarts = 70
	}
	pod.Status.Phase = v1.PodRunning
	if m.chance(failed) {
		pod.Status.Phase = v1.PodFailed
		pod.Status.Reason = pick(m, "", "", "Evicted", "NodeLost", "Shutdown")
	} else if m.chance(12) {
		pod.Status.Phase = pick(m, v1.PodPending, v1.PodSucceeded, v1.PodUnknown)
	}
	state := func() v1.ContainerStatus {
		status := v1.ContainerStatus{Name: "c0", Image: "app:1"}
		if m.chance(restarts) {
			status.RestartCount = int32(m.Intn(12))
		}
		switch m.Intn(4) {
		case 0:
			status.State.Waiting = &v1.ContainerStateWaiting{Reason: pick(m, "", "CrashLoopBackOff", "ImagePullBackOff")}
		case 1:
			status.State.Terminated = &v1.ContainerStateTerminated{Reason: pick(m, "", "Error", "OOMKilled", "Completed"), ExitCode: int32(pick(m, 0, 1, 137))}
		case 2:
			status.State.Running = &v1.ContainerStateRunning{}
		}
		return status
	}
	pod.Status.ContainerStatuses = []v1.ContainerStatus{state()}
	if m.chance(25) {
		pod.Status.InitContainerStatuses = []v1.ContainerStatus{state()}
	}
	if m.chance(10) {
		pod.Status.EphemeralContainerStatuses = []v1.ContainerStatus{state()}
	}
	if m.chance(60) {
		pod.Status.Conditions = []v1.PodCondition{{Type: pick(m, v1.PodReady, v1.PodInitialized, v1.DisruptionTarget),
			Status: pick(m, v1.ConditionTrue, v1.ConditionFalse), Reason: pick(m, "", "Because"), LastTransitionTime: m.before(m.Intn(300))}}
	}
}

func (m *maker) addOthers() {
	for _, name := range namespaces {
		if m.chance(90) {
			m.out.Namespaces = append(m.out.Namespaces, v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
				Labels: map[string]string{"team": pick(m, "a", "b")}}})
		}
		if m.chance(50) {
			budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "budget", Namespace: name}}
			budget.Spec.Selector = m.selector()
			m.out.Budgets = append(m.out.Budgets, budget)
		}
		for _, class := range []string{"fast", "slow", "none"} {
			claim := v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: class, Namespace: name}}
			if class != "none" {
				claim.Spec.StorageClassName = ptr.To(class)
			}
			m.out.Claims = append(m.out.Claims, claim)
		}
	}
	m.out.PriorityClasses = []schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}}
}

// --- The policy ------------------------------------------------------------------------------------------------------

func (m *maker) addPolicy() {
	names := []string{m.strategy}
	if m.strategy == "several" {
		names = some(m, 40, strategies[:len(strategies)-1]...)
	}
	configs := []object{}
	deschedule, balance := []string{}, []string{}
	for _, name := range names {
		configs = append(configs, object{"name": name, "args": m.arguments(name)})
		if balances[name] {
			balance = append(balance, name)
		} else {
			deschedule = append(deschedule, name)
		}
	}
	if m.chance(75) {
		configs = append(configs, object{"name": "DefaultEvictor", "args": m.evictor()})
	}
	policy := object{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": []object{{
		"name": "default", "pluginConfig": configs,
		"plugins": object{"deschedule": object{"enabled": deschedule}, "balance": object{"enabled": balance}}}}}
	limits := 12
	if m.strategy == "several" {
		limits = 30
	}
	if m.chance(limits) {
		policy["maxNoOfPodsToEvictPerNode"] = m.Intn(4)
	}
	if m.chance(limits) {
		policy["maxNoOfPodsToEvictPerNamespace"] = m.Intn(5)
	}
	if m.chance(limits) {
		policy["maxNoOfPodsToEvictTotal"] = m.Intn(6)
	}
	if m.chance(10) {
		policy["nodeSelector"] = pick(m, "pool=one", "disk!=hdd", "zone in (z1,z2)")
	}
	m.out.Policy, _ = json.Marshal(policy)
	if strings.Contains(string(m.out.Policy), `"name":"high"`) && len(m.out.Pods) > 0 {
		// berth reads no PriorityClasses: it knows the value of one from the pods that have it.
		m.out.Pods[0].Spec.Priority, m.out.Pods[0].Spec.PriorityClassName = ptr.To[int32](1000), "high"
	}
}

func (m *maker) selection(args object, labels bool) object {
	if m.chance(20) {
		args["namespaces"] = object{pick(m, "include", "exclude"): some(m, 60, namespaces...)}
	}
	if labels && m.chance(15) {
		args["labelSelector"] = m.selector()
	}
	return args
}

func (m *maker) maybe(args object, percent int, name string, value any) {
	if m.chance(percent) {
		args[name] = value
	}
}

func (m *maker) thresholds(min, max int) object {
	thresholds := object{}
	for _, name := range append([]string{pick(m, "cpu", "memory", "pods")}, some(m, 40, "cpu", "memory", "pods", "example.com/card")...) {
		thresholds[name] = min + m.Intn(max-min)
	}
	return thresholds
}

func (m *maker) arguments(name string) object {
	args := object{}
	switch name {
	case "RemoveDuplicates":
		m.selection(args, false)
		m.maybe(args, 20, "excludeOwnerKinds", some(m, 40, "Job", "StatefulSet", "ReplicaSet"))
	case "RemovePodsViolatingNodeAffinity":
		m.selection(args, true)
		types := some(m, 70, "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
		if len(types) == 0 {
			types = []string{"requiredDuringSchedulingIgnoredDuringExecution"}
		}
		args["nodeAffinityType"] = types
	case "RemovePodsViolatingNodeTaints":
		m.selection(args, true)
		m.maybe(args, 40, "includePreferNoSchedule", true)
		if m.chance(30) {
			args["excludedTaints"] = some(m, 40, "gpu", "spot=yes", "team", "gpu=a")
		} else if m.chance(30) {
			args["includedTaints"] = some(m, 50, "gpu", "spot=yes", "team", "gpu=a")
		}
	case "RemovePodsViolatingInterPodAntiAffinity":
		m.selection(args, true)
	case "RemovePodsViolatingTopologySpreadConstraint":
		m.selection(args, true)
		m.maybe(args, 60, "constraints", some(m, 60, "DoNotSchedule", "ScheduleAnyway"))
		m.maybe(args, 50, "topologyBalanceNodeFit", m.chance(50))
	case "PodLifeTime":
		m.selection(args, true)
		m.maybe(args, 70, "maxPodLifeTimeSeconds", 60*m.Intn(500))
		m.maybe(args, 35, "states", some(m, 30, "Running", "Pending", "Failed", "CrashLoopBackOff", "Error", "Evicted", "Unknown"))
		m.maybe(args, 15, "ownerKinds", object{pick(m, "include", "exclude"): some(m, 60, "ReplicaSet", "Job")})
		if m.chance(25) {
			condition := object{}
			m.maybe(condition, 50, "type", pick(m, "Ready", "Initialized"))
			m.maybe(condition, 40, "status", pick(m, "True", "False"))
			m.maybe(condition, 20, "reason", "Because")
			m.maybe(condition, 50, "minTimeSinceLastTransitionSeconds", 60*m.Intn(200))
			if len(condition) == 0 {
				condition["status"] = "False"
			}
			args["conditions"] = []object{condition}
		}
		m.maybe(args, 15, "exitCodes", some(m, 50, 1, 137))
		m.maybe(args, 30, "includingInitContainers", true)
		m.maybe(args, 30, "includingEphemeralContainers", true)
	case "RemoveFailedPods":
		m.selection(args, true)
		m.maybe(args, 20, "excludeOwnerKinds", some(m, 40, "Job", "ReplicaSet"))
		m.maybe(args, 50, "minPodLifetimeSeconds", 60*m.Intn(300))
		m.maybe(args, 30, "reasons", some(m, 40, "Evicted", "Error", "CrashLoopBackOff", "NodeLost"))
		m.maybe(args, 20, "exitCodes", some(m, 50, 1, 137))
		m.maybe(args, 40, "includingInitContainers", true)
	case "RemovePodsHavingTooManyRestarts":
		m.selection(args, true)
		args["podRestartThreshold"] = 1 + m.Intn(8)
		m.maybe(args, 40, "includingInitContainers", true)
		m.maybe(args, 30, "states", some(m, 60, "Running", "CrashLoopBackOff"))
	case "LowNodeUtilization":
		low, high := m.thresholds(5, 40), object{}
		for name, percent := range low {
			high[name] = percent.(int) + m.Intn(30)
		}
		args["thresholds"], args["targetThresholds"] = low, high
		if m.chance(30) {
			args["useDeviationThresholds"] = true
		}
		m.maybe(args, 20, "numberOfNodes", m.Intn(3))
		m.maybe(args, 20, "evictableNamespaces", object{"exclude": some(m, 40, namespaces...)})
		m.maybe(args, 20, "evictionLimits", object{"node": m.Intn(4)})
	case "HighNodeUtilization":
		args["thresholds"] = m.thresholds(15, 70)
		m.maybe(args, 20, "numberOfNodes", m.Intn(3))
		m.maybe(args, 20, "evictableNamespaces", object{"exclude": some(m, 40, namespaces...)})
		m.maybe(args, 30, "evictionModes", []string{"OnlyThresholdingResources"})
	}
	return args
}

func (m *maker) evictor() object {
	args := object{}
	m.maybe(args, 35, "nodeFit", true)
	m.maybe(args, 10, "nodeSelector", pick(m, "pool=one", "disk!=hdd"))
	m.maybe(args, 10, "labelSelector", m.selector())
	m.maybe(args, 12, "namespaceLabelSelector", object{"matchLabels": object{"team": pick(m, "a", "b")}})
	m.maybe(args, 12, "minReplicas", m.Intn(5))
	m.maybe(args, 12, "minPodAge", fmt.Sprintf("%dm", m.Intn(300)))
	m.maybe(args, 25, "noEvictionPolicy", pick(m, "Mandatory", "Mandatory", "Preferred"))
	if m.chance(20) {
		args["priorityThreshold"] = pick(m, object{"value": pick(m, 50, 500, 100)}, object{"name": "high"})
	}
	if m.chance(30) {
		m.maybe(args, 40, "evictLocalStoragePods", true)
		m.maybe(args, 40, "evictDaemonSetPods", true)
		m.maybe(args, 40, "evictSystemCriticalPods", true)
		m.maybe(args, 40, "ignorePvcPods", true)
		m.maybe(args, 30, "ignorePodsWithoutPDB", true)
		m.maybe(args, 40, "evictFailedBarePods", true)
	} else if m.chance(50) {
		protections := object{}
		protections["extraEnabled"] = some(m, 40, "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims")
		protections["defaultDisabled"] = some(m, 40, "PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods")
		if m.chance(40) {
			protections["config"] = object{"PodsWithPVC": object{"protectedStorageClasses": []object{{"name": pick(m, "fast", "slow")}}}}
		}
		args["podProtections"] = protections
	}
	return args
}
