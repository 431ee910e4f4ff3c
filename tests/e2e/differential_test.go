// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	differentialRounds = 10 // clusters, each with a seed of its own
	differentialPods   = 50 // pods of a round, one after the other
	differentialNodes  = 40
	ownGate            = "e2e.example.com/held-back" // the scheduling gate that keeps a pod until its turn
)

// 500 random pods, one at a time, on 40 nodes with running pods, volumes, budgets, services and all else that the
// oracle's family "mixed" makes. For each pod the cluster as it stands goes to the real kube-scheduler's framework, read
// back from the API server with everything that the server has added, and the scheduler must do what that allows: bind
// the pod to one of the best nodes, or say why not in the same words, or preempt the victims of an acceptable node and
// bind the pod there.
//
// No controller and no kubelet runs: the test does their work, so that nothing happens that the oracle was not asked
// about. It removes victims at once, runs bound pods, binds volumes that the scheduler has chosen and makes those that it
// has asked for. A pod that stays pending is deleted before the next one is tried.
func TestDifferential(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, nil)
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})
	oracle := harness.StartOracle(t)
	outcomes := map[string]int{}
	for seed := 1; seed <= differentialRounds; seed++ {
		made := harness.Generate(t, "mixed", 900+seed, differentialNodes, differentialPods)
		r := &round{t: t, ctx: context.Background(), c: c, proxy: proxy, oracle: oracle, uids: map[types.UID]types.UID{}, leaving: map[string]bool{}, started: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
		r.upload(&made)
		time.Sleep(500 * time.Millisecond) // informers of different kinds do not wait for each other
		for _, pod := range made.Pending {
			outcomes[r.try(pod, &made)]++
			if t.Failed() {
				t.Fatalf("seed %d", 900+seed)
			}
		}
		r.wipe()
	}
	t.Logf("outcomes: %v", outcomes)
	for _, outcome := range []string{"scheduled", "unschedulable", "preempted", "gated"} {
		if outcomes[outcome] == 0 {
			t.Errorf("among %d pods there is none with the outcome %q: the cases do not show what they should", differentialRounds*differentialPods, outcome)
		}
	}
}

// round is one generated cluster on the API server.
type round struct {
	t       *testing.T
	ctx     context.Context
	c       *harness.Cluster
	proxy   *harness.Proxy
	oracle  *harness.Oracle
	fixed   harness.Objects         // as read back: what no attempt changes
	uids    map[types.UID]types.UID // of the generator, of the server
	leaving map[string]bool         // pods that were being deleted from the beginning
	started time.Time               // of the last pod that was bound; they all differ, as the oracle's do
}

func (r *round) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// try lets the scheduler decide about one pod, and tells what came of it.
func (r *round) try(given *corev1.Pod, made *harness.Case) string {
	r.t.Helper()
	pod := r.createGated(given, made)
	question := r.question(pod)
	answers := r.oracle.Ask(r.t, question)
	first := answers[0]
	released := time.Now()
	r.release(pod)

	var got *corev1.Pod
	deadline := time.Now().Add(30 * time.Second)
	for ; ; time.Sleep(10 * time.Millisecond) {
		if got = r.get(pod); got == nil {
			r.t.Fatalf("%s is gone", key(pod))
		}
		if got.Spec.NodeName != "" {
			break
		}
		if first.Result == "scheduled" || first.Preemption != nil {
			r.bindVolumes(pod, released)
			r.removeVictims(got, first)
		}
		condition := harness.Condition(got)
		decided := condition != nil && (condition.Reason == corev1.PodReasonUnschedulable || condition.Reason == corev1.PodReasonSchedulerError)
		if first.Result == "gated" {
			time.Sleep(100 * time.Millisecond)
			break
		}
		if decided && first.Preemption == nil {
			break
		}
		if time.Now().After(deadline) {
			r.differ(question, answers, fmt.Sprintf("%s is not decided: %+v", key(pod), got.Status))
			return ""
		}
	}
	return r.judge(question, answers, got)
}

// judge compares the outcome with the oracle's, and makes it final.
func (r *round) judge(question harness.Case, answers []harness.Attempt, got *corev1.Pod) string {
	r.t.Helper()
	first, last := answers[0], answers[len(answers)-1]
	outcome := first.Result
	switch {
	case got.Spec.NodeName != "" && first.Preemption != nil:
		outcome = "preempted"
		node := got.Spec.NodeName
		if last.Result == "scheduled" && !slices.Contains(first.Preemption.Acceptable, node) {
			r.differ(question, answers, fmt.Sprintf("%s preempted on %s", key(got), node))
			break
		}
		if lacking := r.alive(first.Preemption.Candidates[node].Victims); len(lacking) > 0 {
			r.differ(question, answers, fmt.Sprintf("%s is on %s, whose victims %v live", key(got), node, lacking))
		}
		if now := r.count(); now != len(question.Objects.Pods)+1-len(first.Preemption.Candidates[node].Victims) {
			r.differ(question, answers, fmt.Sprintf("%s on %s cost other victims than %v: %d pods are left", key(got), node, first.Preemption.Candidates[node].Victims, now))
		}
	case got.Spec.NodeName != "":
		if first.Result != "scheduled" || !slices.Contains(first.Best, got.Spec.NodeName) {
			r.differ(question, answers, fmt.Sprintf("%s was bound to %s", key(got), got.Spec.NodeName))
		}
	case first.Result == "gated":
		if condition := harness.Condition(got); condition == nil || condition.Reason != corev1.PodReasonSchedulingGated {
			r.differ(question, answers, fmt.Sprintf("%s is gated and has the condition %+v", key(got), condition))
		}
	default:
		if condition := harness.Condition(got); condition.Message != first.Message {
			r.differ(question, answers, fmt.Sprintf("%s waits: %s: %s", key(got), condition.Reason, condition.Message))
		}
	}
	if got.Spec.NodeName == "" {
		r.end(got)
	} else {
		r.run(got)
	}
	return outcome
}

// differ fails the test and leaves the case as a file for the oracle and berth-conformance.
func (r *round) differ(question harness.Case, answers []harness.Attempt, what string) {
	r.t.Helper()
	path := filepath.Join(r.c.Dir, "differs.yaml") // run.sh keeps logs and yaml; JSON is YAML
	b, err := json.Marshal(question)
	r.must(err)
	r.must(os.WriteFile(path, b, 0o644))
	first := answers[0]
	r.t.Errorf("%s\nkube-scheduler: %s, best %v, %s, preemption %+v\nthe case is %s", what, first.Result, first.Best, first.Message, first.Preemption, path)
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func (r *round) get(pod *corev1.Pod) *corev1.Pod {
	r.t.Helper()
	got, err := r.c.Admin.CoreV1().Pods(pod.Namespace).Get(r.ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	r.must(err)
	return got
}

// createGated creates a pod that waits behind a gate, and the claims that a controller would make for it.
func (r *round) createGated(given *corev1.Pod, made *harness.Case) *corev1.Pod {
	r.t.Helper()
	pod := asWritten(given)
	pod.Spec.SchedulingGates = append([]corev1.PodSchedulingGate{{Name: ownGate}}, pod.Spec.SchedulingGates...)
	pod.UID = ""
	created, err := r.c.Admin.CoreV1().Pods(pod.Namespace).Create(r.ctx, pod, metav1.CreateOptions{})
	r.must(err)
	r.uids[given.UID] = created.UID
	if given.Status.NominatedNodeName != "" {
		created.Status.NominatedNodeName = given.Status.NominatedNodeName
		created, err = r.c.Admin.CoreV1().Pods(pod.Namespace).UpdateStatus(r.ctx, created, metav1.UpdateOptions{})
		r.must(err)
	}
	if r.claimsOwnedBy(given, made) {
		time.Sleep(100 * time.Millisecond) // they come to the scheduler on another stream than the pod
	}
	return created
}

// release lifts the gate.
func (r *round) release(pod *corev1.Pod) {
	r.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, ownGate)
	_, err := r.c.Admin.CoreV1().Pods(pod.Namespace).Patch(r.ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	r.must(err)
}

// question is the cluster as it stands, and the pod as it will be without the test's gate.
func (r *round) question(pod *corev1.Pod) harness.Case {
	r.t.Helper()
	pod = pod.DeepCopy()
	pod.ManagedFields = nil
	pod.Spec.SchedulingGates = pod.Spec.SchedulingGates[1:]
	pod.Status.Conditions = nil
	q := harness.Case{Name: "e2e-" + pod.Name, Objects: r.fixed, Pending: []*corev1.Pod{pod}}
	for _, p := range r.pods() {
		if p.UID != pod.UID {
			q.Objects.Pods = append(q.Objects.Pods, p)
		}
	}
	pvs, err := r.c.Admin.CoreV1().PersistentVolumes().List(r.ctx, metav1.ListOptions{})
	r.must(err)
	q.Objects.PersistentVolumes = pointers(pvs.Items)
	pvcs, err := r.c.Admin.CoreV1().PersistentVolumeClaims("").List(r.ctx, metav1.ListOptions{})
	r.must(err)
	q.Objects.PersistentVolumeClaims = pointers(pvcs.Items)
	return q
}

// pods are all pods, in the order in which they started: the oracle takes that for the order of a node's pods.
func (r *round) pods() []*corev1.Pod {
	r.t.Helper()
	list, err := r.c.Admin.CoreV1().Pods("").List(r.ctx, metav1.ListOptions{})
	r.must(err)
	pods := pointers(list.Items)
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		if a.Status.StartTime == nil || b.Status.StartTime == nil {
			return 0
		}
		return a.Status.StartTime.Compare(b.Status.StartTime.Time)
	})
	return pods
}

func (r *round) count() int { return len(r.pods()) }

// alive are those of the pods that exist.
func (r *round) alive(names []string) []string {
	var alive []string
	for _, p := range r.pods() {
		if slices.Contains(names, key(p)) {
			alive = append(alive, key(p))
		}
	}
	return alive
}

// pointers drops what the oracle has no use for.
func pointers[T any, P interface {
	*T
	SetManagedFields([]metav1.ManagedFieldsEntry)
}](items []T) []*T {
	var out []*T
	for i := range items {
		P(&items[i]).SetManagedFields(nil)
		out = append(out, &items[i])
	}
	return out
}

// ---- what kubelets and controllers would do

// run does what a kubelet does with a pod that is bound to it.
func (r *round) run(pod *corev1.Pod) {
	r.t.Helper()
	r.started = r.started.Add(time.Second)
	pod = pod.DeepCopy()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: r.started}
	_, err := r.c.Admin.CoreV1().Pods(pod.Namespace).UpdateStatus(r.ctx, pod, metav1.UpdateOptions{})
	r.must(err)
}

func (r *round) end(pod *corev1.Pod) {
	r.t.Helper()
	none := int64(0)
	err := r.c.Admin.CoreV1().Pods(pod.Namespace).Delete(r.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
	if !apierrors.IsNotFound(err) {
		r.must(err)
	}
}

// removeVictims ends, without grace, the pods that the scheduler has begun to delete, once all of them are known: a pod
// that is tried again while half of its victims are there would be another question.
func (r *round) removeVictims(pod *corev1.Pod, first harness.Attempt) {
	r.t.Helper()
	if first.Preemption == nil || pod.Status.NominatedNodeName == "" {
		return
	}
	candidate, ok := first.Preemption.Candidates[pod.Status.NominatedNodeName]
	var victims []*corev1.Pod
	for _, p := range r.pods() {
		if p.DeletionTimestamp != nil && !r.leaving[key(p)] {
			victims = append(victims, p)
		}
	}
	if !ok || len(victims) < len(candidate.Victims) {
		return
	}
	for _, victim := range victims {
		r.end(victim)
	}
}

// bindVolumes does the volume controller's part for the claims of a pod that is being bound, and a provisioner's.
func (r *round) bindVolumes(pod *corev1.Pod, released time.Time) {
	r.t.Helper()
	core := r.c.Admin.CoreV1()
	for _, volume := range pod.Spec.Volumes {
		name := ""
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = pod.Name + "-" + volume.Name
		default:
			continue
		}
		claim, err := core.PersistentVolumeClaims(pod.Namespace).Get(r.ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		r.must(err)
		if claim.Spec.VolumeName != "" {
			continue
		}
		pvs, err := core.PersistentVolumes().List(r.ctx, metav1.ListOptions{})
		r.must(err)
		var chosen *corev1.PersistentVolume
		for i := range pvs.Items {
			if ref := pvs.Items[i].Spec.ClaimRef; ref != nil && ref.UID == claim.UID {
				chosen = &pvs.Items[i]
			}
		}
		// The claim may have named a node before; the scheduler writes it all the same once it has decided.
		asked := func(x *harness.Exchange) bool {
			return x.Method != "GET" && x.Status == 200 && x.At.After(released) && strings.HasSuffix(x.Path, "/persistentvolumeclaims/"+claim.Name)
		}
		if chosen == nil && claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == "dynamic" && len(r.proxy.Requests(asked)) > 0 {
			chosen, err = core.PersistentVolumes().Create(r.ctx, provisioned(claim), metav1.CreateOptions{})
			r.must(err)
		}
		if chosen == nil {
			continue
		}
		chosen.Status.Phase = corev1.VolumeBound
		_, err = core.PersistentVolumes().UpdateStatus(r.ctx, chosen, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			continue // the scheduler writes it too; the next look finds it
		}
		r.must(err)
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		claim.Spec.VolumeName = chosen.Name
		claim, err = core.PersistentVolumeClaims(pod.Namespace).Update(r.ctx, claim, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			continue
		}
		r.must(err)
		claim.Status.Phase = corev1.ClaimBound
		_, err = core.PersistentVolumeClaims(pod.Namespace).UpdateStatus(r.ctx, claim, metav1.UpdateOptions{})
		r.must(err)
	}
}

// provisioned is the volume that a CSI driver would make for a claim; it can be reached from everywhere.
func provisioned(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "made-" + string(claim.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: *claim.Spec.StorageClassName,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example.com", VolumeHandle: string(claim.UID)}},
		},
	}
}

// ---- a generated cluster on the API server

// upload creates everything but the pending pods, with status.
func (r *round) upload(made *harness.Case) {
	r.t.Helper()
	o, core, storage, apps := &made.Objects, r.c.Admin.CoreV1(), r.c.Admin.StorageV1(), r.c.Admin.AppsV1()
	for _, n := range o.Namespaces {
		got, err := core.Namespaces().Get(r.ctx, n.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = core.Namespaces().Create(r.ctx, n, metav1.CreateOptions{})
		} else if err == nil {
			got.Labels = n.Labels
			_, err = core.Namespaces().Update(r.ctx, got, metav1.UpdateOptions{})
		}
		r.must(err)
	}
	create(r, o.Nodes, core.Nodes().Create, nil)
	create(r, o.StorageClasses, storage.StorageClasses().Create, nil)
	create(r, o.CSIDrivers, storage.CSIDrivers().Create, nil)
	create(r, o.CSINodes, storage.CSINodes().Create, nil)
	create(r, o.VolumeAttachments, storage.VolumeAttachments().Create, nil)
	create(r, o.CSIStorageCapacities, storage.CSIStorageCapacities("kube-system").Create, nil)
	for _, s := range o.Services {
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}} // the server wants one
	}
	create(r, o.Services, core.Services("default").Create, nil)
	for _, set := range o.ReplicaSets {
		set.Spec.Template = template(set.Spec.Selector.MatchLabels)
	}
	for _, set := range o.StatefulSets {
		set.Spec.Template = template(set.Spec.Selector.MatchLabels)
	}
	for _, set := range o.ReplicationControllers {
		pods := template(set.Spec.Selector)
		set.Spec.Template = &pods
	}
	create(r, o.ReplicaSets, apps.ReplicaSets("default").Create, nil)
	create(r, o.StatefulSets, apps.StatefulSets("default").Create, nil)
	create(r, o.ReplicationControllers, core.ReplicationControllers("default").Create, nil)
	for _, b := range o.PodDisruptionBudgets {
		create(r, []*policyv1.PodDisruptionBudget{b}, r.c.Admin.PolicyV1().PodDisruptionBudgets(b.Namespace).Create, r.c.Admin.PolicyV1().PodDisruptionBudgets(b.Namespace).UpdateStatus)
	}
	for _, p := range o.Pods {
		r.uploadPod(p, made)
	}
	for _, claim := range o.PersistentVolumeClaims {
		if len(claim.OwnerReferences) == 0 {
			r.uploadClaim(claim)
		}
	}
	for _, pv := range o.PersistentVolumes {
		if ref := pv.Spec.ClaimRef; ref != nil {
			ref.Kind, ref.APIVersion = "PersistentVolumeClaim", "v1"
			if uid, ok := r.uids[ref.UID]; ok {
				ref.UID = uid
			}
		}
	}
	create(r, o.PersistentVolumes, core.PersistentVolumes().Create, core.PersistentVolumes().UpdateStatus)
	r.readBack()
}

func template(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "images.example/app:1"}}}}
}

// create sends objects and, where the server keeps it apart, their status.
func create[T interface {
	metav1.Object
	comparable
}](r *round, items []T, post func(context.Context, T, metav1.CreateOptions) (T, error), putStatus func(context.Context, T, metav1.UpdateOptions) (T, error)) {
	r.t.Helper()
	for _, item := range items {
		given := item.GetUID()
		item.SetUID("")
		item.SetResourceVersion("")
		made, err := post(r.ctx, item, metav1.CreateOptions{})
		if err != nil {
			r.t.Fatalf("%T %s: %v", item, item.GetName(), err)
		}
		if given != "" {
			r.uids[given] = made.GetUID()
		}
		if putStatus == nil {
			continue
		}
		item.SetUID(made.GetUID())
		item.SetResourceVersion(made.GetResourceVersion())
		if _, err := putStatus(r.ctx, item, metav1.UpdateOptions{}); err != nil {
			r.t.Fatalf("status of %T %s: %v", item, item.GetName(), err)
		}
	}
}

// asWritten takes out of a pod what the server merges into selectors for their matchLabelKeys: it would refuse to find
// it there.
func asWritten(given *corev1.Pod) *corev1.Pod {
	pod := given.DeepCopy()
	strip := func(selector *metav1.LabelSelector, keys ...string) {
		if selector != nil {
			selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return slices.Contains(keys, r.Key) })
		}
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for _, term := range required {
			strip(term.LabelSelector, append(term.MatchLabelKeys, term.MismatchLabelKeys...)...)
		}
		for _, weighted := range preferred {
			term := weighted.PodAffinityTerm
			strip(term.LabelSelector, append(term.MatchLabelKeys, term.MismatchLabelKeys...)...)
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
		terms(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		terms(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		strip(constraint.LabelSelector, constraint.MatchLabelKeys...)
	}
	return pod
}

func (r *round) uploadPod(given *corev1.Pod, made *harness.Case) {
	r.t.Helper()
	pods := r.c.Admin.CoreV1().Pods(given.Namespace)
	pod := asWritten(given)
	pod.UID, pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = "", nil, nil
	created, err := pods.Create(r.ctx, pod, metav1.CreateOptions{})
	r.must(err)
	r.uids[given.UID] = created.UID
	r.claimsOwnedBy(given, made)
	created.Status = given.Status
	if _, err := pods.UpdateStatus(r.ctx, created, metav1.UpdateOptions{}); err != nil {
		r.t.Fatalf("status of pod %s: %v", key(given), err)
	}
	if given.DeletionTimestamp != nil {
		r.leaving[key(given)] = true
		grace := int64(100_000) // no kubelet will end it
		r.must(pods.Delete(r.ctx, given.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	}
}

// claimsOwnedBy creates the claims that belong to a pod, now that its UID is known.
func (r *round) claimsOwnedBy(pod *corev1.Pod, made *harness.Case) bool {
	r.t.Helper()
	any := false
	for _, volume := range pod.Spec.Volumes {
		if volume.Ephemeral == nil {
			continue
		}
		for _, claim := range made.Objects.PersistentVolumeClaims {
			if claim.Namespace == pod.Namespace && claim.Name == pod.Name+"-"+volume.Name && len(claim.OwnerReferences) > 0 {
				claim.OwnerReferences[0].UID = r.uids[pod.UID]
				r.uploadClaim(claim)
				any = true
			}
		}
	}
	return any
}

func (r *round) uploadClaim(claim *corev1.PersistentVolumeClaim) {
	r.t.Helper()
	claims, leaving := r.c.Admin.CoreV1().PersistentVolumeClaims(claim.Namespace), claim.DeletionTimestamp != nil
	claim.DeletionTimestamp = nil
	create(r, []*corev1.PersistentVolumeClaim{claim}, claims.Create, claims.UpdateStatus)
	if leaving {
		r.must(claims.Delete(r.ctx, claim.Name, metav1.DeleteOptions{}))
	}
}

// readBack asks the server for what no attempt changes.
func (r *round) readBack() {
	r.t.Helper()
	core, storage, apps, all := r.c.Admin.CoreV1(), r.c.Admin.StorageV1(), r.c.Admin.AppsV1(), metav1.ListOptions{}
	nodes, err := core.Nodes().List(r.ctx, all)
	r.must(err)
	classes, err := storage.StorageClasses().List(r.ctx, all)
	r.must(err)
	csiNodes, err := storage.CSINodes().List(r.ctx, all)
	r.must(err)
	drivers, err := storage.CSIDrivers().List(r.ctx, all)
	r.must(err)
	capacities, err := storage.CSIStorageCapacities("").List(r.ctx, all)
	r.must(err)
	attachments, err := storage.VolumeAttachments().List(r.ctx, all)
	r.must(err)
	services, err := core.Services("").List(r.ctx, all)
	r.must(err)
	replicaSets, err := apps.ReplicaSets("").List(r.ctx, all)
	r.must(err)
	statefulSets, err := apps.StatefulSets("").List(r.ctx, all)
	r.must(err)
	controllers, err := core.ReplicationControllers("").List(r.ctx, all)
	r.must(err)
	namespaces, err := core.Namespaces().List(r.ctx, all)
	r.must(err)
	budgets, err := r.c.Admin.PolicyV1().PodDisruptionBudgets("").List(r.ctx, all)
	r.must(err)
	r.fixed = harness.Objects{Nodes: pointers(nodes.Items), StorageClasses: pointers(classes.Items), CSINodes: pointers(csiNodes.Items),
		CSIDrivers: pointers(drivers.Items), CSIStorageCapacities: pointers(capacities.Items), VolumeAttachments: pointers(attachments.Items),
		Services: pointers(services.Items), ReplicaSets: pointers(replicaSets.Items), StatefulSets: pointers(statefulSets.Items),
		ReplicationControllers: pointers(controllers.Items), Namespaces: pointers(namespaces.Items), PodDisruptionBudgets: pointers(budgets.Items)}
}

// wipe deletes the round's cluster.
func (r *round) wipe() {
	r.t.Helper()
	core, storage, apps := r.c.Admin.CoreV1(), r.c.Admin.StorageV1(), r.c.Admin.AppsV1()
	none, background := int64(0), metav1.DeletePropagationBackground
	at, all := metav1.DeleteOptions{GracePeriodSeconds: &none, PropagationPolicy: &background}, metav1.ListOptions{}
	for _, ns := range []string{"default", "blue", "green"} {
		r.must(core.Pods(ns).DeleteCollection(r.ctx, at, all))
		r.must(r.c.Admin.PolicyV1().PodDisruptionBudgets(ns).DeleteCollection(r.ctx, at, all))
	}
	r.must(apps.ReplicaSets("default").DeleteCollection(r.ctx, at, all))
	r.must(apps.StatefulSets("default").DeleteCollection(r.ctx, at, all))
	r.must(core.ReplicationControllers("default").DeleteCollection(r.ctx, at, all))
	for _, s := range r.fixed.Services {
		if s.Name != "kubernetes" {
			r.must(core.Services(s.Namespace).Delete(r.ctx, s.Name, at))
		}
	}
	claims, err := core.PersistentVolumeClaims("").List(r.ctx, all)
	r.must(err)
	for _, claim := range claims.Items {
		if len(claim.Finalizers) > 0 {
			_, err := core.PersistentVolumeClaims(claim.Namespace).Patch(r.ctx, claim.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if !apierrors.IsNotFound(err) {
				r.must(err)
			}
		}
	}
	r.must(core.PersistentVolumeClaims("default").DeleteCollection(r.ctx, at, all))
	r.must(core.PersistentVolumes().DeleteCollection(r.ctx, at, all))
	r.must(storage.VolumeAttachments().DeleteCollection(r.ctx, at, all))
	r.must(storage.CSIStorageCapacities("kube-system").DeleteCollection(r.ctx, at, all))
	r.must(storage.CSINodes().DeleteCollection(r.ctx, at, all))
	r.must(storage.CSIDrivers().DeleteCollection(r.ctx, at, all))
	r.must(storage.StorageClasses().DeleteCollection(r.ctx, at, all))
	r.must(core.Nodes().DeleteCollection(r.ctx, at, all))
	if left := r.count(); left > 0 {
		r.t.Fatalf("%d pods are left: %s", left, strings.Join(r.names(), " "))
	}
}

func (r *round) names() []string {
	var names []string
	for _, p := range r.pods() {
		names = append(names, key(p))
	}
	return names
}
