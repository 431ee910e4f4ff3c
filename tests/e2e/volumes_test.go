// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Claims that wait for their first consumer, with the volume controller of kube-controller-manager and static volumes in
// three zones: the scheduler chooses volume and node together, the claim is bound, and only then the pod.
func TestVolumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"persistentvolume-binder-controller"}})
	core := c.Admin.CoreV1()
	zones := zonedNodes(t, c)

	// At the moment at which a binding is posted, every claim of its pod must be bound.
	var mu sync.Mutex
	var early []string
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if x.IsBinding() {
			if unbound := unboundClaims(ctx, c, strings.Split(x.Path, "/")[6]); len(unbound) > 0 {
				mu.Lock()
				early = append(early, fmt.Sprintf("%s: %v", x.Path, unbound))
				mu.Unlock()
			}
		}
		x.Forward()
	})
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range early {
			t.Errorf("bound before its claims: %s", e)
		}
	})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})

	for name, mode := range map[string]storagev1.VolumeBindingMode{"late": storagev1.VolumeBindingWaitForFirstConsumer, "early": storagev1.VolumeBindingImmediate} {
		create1(t, c.Admin.StorageV1().StorageClasses().Create, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode})
	}
	pv := func(name, class, size, zone string) {
		create1(t, core.PersistentVolumes().Create, volumeIn(name, class, size, zone))
	}
	pvc := func(name, class, size string) {
		create1(t, core.PersistentVolumeClaims("default").Create, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}})
	}
	pod := func(name string, claims ...string) *corev1.Pod {
		p := harness.Pod(name, "", "100m", "")
		for i, claim := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		}
		return p
	}
	// landed waits for the pod and checks zone and volume.
	landed := func(t *testing.T, name, zone, claim, volume string) {
		t.Helper()
		if node := c.WaitBound(t, 30*time.Second, name)[name]; zones[node] != zone {
			t.Errorf("%s is on %s in zone %q, its volume in %q", name, node, zones[node], zone)
		}
		got, err := core.PersistentVolumeClaims("default").Get(ctx, claim, metav1.GetOptions{})
		if err != nil || got.Spec.VolumeName != volume || got.Status.Phase != corev1.ClaimBound {
			t.Errorf("%v: the claim %s is %s with %q, wanted %q", err, claim, got.Status.Phase, got.Spec.VolumeName, volume)
		}
	}
	waits := func(t *testing.T, name, why string) {
		t.Helper()
		harness.Eventually(t, 20*time.Second, name+" waits", func() (bool, string) {
			condition := harness.Condition(c.GetPod(t, name))
			return condition != nil && condition.Reason == corev1.PodReasonUnschedulable && condition.Message == why, fmt.Sprintf("%+v\nwanted %s", condition, why)
		})
	}

	pv("small-b", "late", "5Gi", "b")
	pv("big-b", "late", "20Gi", "b")
	pvc("needs-3", "late", "3Gi")
	pvc("needs-8", "late", "8Gi")
	for _, name := range []string{"needs-3", "needs-8"} { // nobody has asked for them yet
		if got, err := core.PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{}); err != nil || got.Status.Phase != corev1.ClaimPending || got.Spec.VolumeName != "" {
			t.Fatalf("%v: %+v", err, got)
		}
	}
	t.Run("the smallest volume that is big enough", func(t *testing.T) {
		c.CreatePods(t, 0, pod("first", "needs-3"), pod("second", "needs-8"))
		landed(t, "first", "b", "needs-3", "small-b")
		landed(t, "second", "b", "needs-8", "big-b")
	})
	t.Run("another pod with the same claim", func(t *testing.T) {
		c.CreatePods(t, 0, pod("sharer", "needs-3"))
		landed(t, "sharer", "b", "needs-3", "small-b")
	})
	t.Run("two zones at once", func(t *testing.T) {
		pv("bigger-c", "late", "50Gi", "c")
		pvc("needs-45", "late", "45Gi")
		c.CreatePods(t, 0, pod("third", "needs-45"))
		landed(t, "third", "c", "needs-45", "bigger-c")
		c.CreatePods(t, 0, pod("torn", "needs-3", "needs-45"))
		waits(t, "torn", "0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity. "+harness.NoNewClaims(t)+
			"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")
		c.DeletePod(t, "torn")
	})
	t.Run("a volume that comes later", func(t *testing.T) {
		pvc("needs-60", "late", "60Gi")
		c.CreatePods(t, 0, pod("patient", "needs-60"))
		waits(t, "patient", "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. "+harness.NoNewClaims(t)+
			"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")
		pv("huge-a", "late", "80Gi", "a")
		landed(t, "patient", "a", "needs-60", "huge-a")
	})
	t.Run("two claims, one volume", func(t *testing.T) {
		pv("only-b", "late", "2Gi", "b")
		pvc("one", "late", "1Gi")
		pvc("other", "late", "1Gi")
		c.CreatePods(t, 0, pod("one", "one"), pod("other", "other"))
		winner := ""
		harness.Eventually(t, 30*time.Second, "one of the two has it", func() (bool, string) {
			for _, name := range []string{"one", "other"} {
				if c.GetPod(t, name).Spec.NodeName != "" {
					winner = name
				}
			}
			return winner != "", "none has"
		})
		loser := map[string]string{"one": "other", "other": "one"}[winner]
		landed(t, winner, "b", winner, "only-b")
		waits(t, loser, "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. "+harness.NoNewClaims(t)+
			"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")
		c.DeletePod(t, loser)
	})
	t.Run("a claim that the controller binds first", func(t *testing.T) {
		pvc("at-once", "early", "1Gi")
		c.CreatePods(t, 0, pod("follower", "at-once"))
		// "not found" is not about the claim: a PostFilter plugin of upstream misses what its PreFilter would have left.
		waits(t, "follower", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found")
		pv("fixed-c", "early", "1Gi", "c")
		landed(t, "follower", "c", "at-once", "fixed-c")
	})
	t.Run("no such claim yet", func(t *testing.T) {
		c.CreatePods(t, 0, pod("hopeful", "later"))
		waits(t, "hopeful", `0/3 nodes are available: persistentvolumeclaim "later" not found. not found`)
		pv("last-a", "late", "1Gi", "a")
		pvc("later", "late", "1Gi")
		landed(t, "hopeful", "a", "later", "last-a")
	})
}

// zonedNodes starts three kubelets, puts their nodes into the zones a, b and c, and tells which is where.
func zonedNodes(t *testing.T, c *harness.Cluster) map[string]string {
	t.Helper()
	harness.StartKubelets(t, 3, c.Kubeconfig(t, "admin", "system:masters"), c.Dir)
	zones := map[string]string{}
	harness.Eventually(t, 30*time.Second, "three nodes have zones and no taints", func() (bool, string) {
		list, err := c.Admin.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		ready := 0
		for i, node := range list.Items { // by name; the kubelets give them zones of their own
			if zone := string("abc"[i%3]); len(list.Items) == 3 && node.Labels[corev1.LabelTopologyZone] != zone {
				patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, corev1.LabelTopologyZone, zone)
				_, _ = c.Admin.CoreV1().Nodes().Patch(context.Background(), node.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}) // or next time
			} else if len(node.Spec.Taints) == 0 {
				zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
				ready++
			}
		}
		return ready == 3, fmt.Sprint(zones)
	})
	harness.Eventually(t, 30*time.Second, "the default service account is there", func() (bool, string) {
		_, err := c.Admin.CoreV1().ServiceAccounts("default").Get(context.Background(), "default", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	return zones
}

func create1[T any](t *testing.T, create func(context.Context, T, metav1.CreateOptions) (T, error), object T) {
	t.Helper()
	if _, err := create(context.Background(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func volumeIn(name, class, size, zone string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/" + name}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}},
	}}
}

// unboundClaims are the claims of a pod of the default namespace that are not bound for good.
func unboundClaims(ctx context.Context, c *harness.Cluster, name string) []string {
	pod, err := c.Admin.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	var unbound []string
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := c.Admin.CoreV1().PersistentVolumeClaims("default").Get(ctx, v.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil || claim.Spec.VolumeName == "" || claim.Annotations["pv.kubernetes.io/bind-completed"] != "yes" {
			unbound = append(unbound, fmt.Sprintf("%s %v", v.PersistentVolumeClaim.ClaimName, err))
		}
	}
	return unbound
}
