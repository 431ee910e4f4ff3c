// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A rule that taints every device of a driver keeps a pod waiting, and the pod goes to its node when the rule is gone.
func TestDeviceTaintRules(t *testing.T) {
	if harness.Before137(t) {
		t.Skip("kube-apiserver serves DeviceTaintRules before 1.37 only when told to")
	}
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	api := c.Admin.ResourceV1()
	create1(t, api.DeviceClasses().Create, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}})
	node := "node-000"
	create1(t, api.ResourceSlices().Create, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: deviceDriver, NodeName: &node, Devices: []resourcev1.Device{{Name: "gpu-0"}}, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}})
	rules := func(verb string) error {
		request := c.Admin.ResourceV1().RESTClient().Verb(verb).AbsPath("/apis/resource.k8s.io/v1/devicetaintrules")
		if verb == "DELETE" {
			return request.Suffix("broken").Do(ctx).Error()
		}
		rule := `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"broken"},"spec":{` +
			`"deviceSelector":{"driver":"` + deviceDriver + `"},"taint":{"key":"example.com/broken","effect":"NoSchedule"}}}`
		return request.SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body([]byte(rule)).Do(ctx).Error()
	}
	if err := rules("POST"); err != nil {
		t.Fatalf("creating the rule: %v", err)
	}
	// Only now, since informers of different kinds do not wait for each other once they have listed.
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	create1(t, api.ResourceClaims("default").Create, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "any"}}}}}})
	pod, claim := harness.Pod("pod", "", "100m", ""), "one"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "c"}}
	c.CreatePods(t, 0, pod)
	harness.Eventually(t, 20*time.Second, "the pod waits for a device", func() (bool, string) {
		condition := harness.Condition(c.GetPod(t, "pod"))
		const want = "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
		if condition == nil {
			return false, "no condition"
		}
		return condition.Message == want, condition.Message
	})
	if err := rules("DELETE"); err != nil {
		t.Fatalf("deleting the rule: %v", err)
	}
	c.WaitBound(t, 30*time.Second, "pod")
}
