// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const deviceDriver = "gpu.example.com"

// Dynamic resource allocation with the claim controller of kube-controller-manager: two GPUs on node a, a card that can be
// shared on node b, and a device on node c that must be attached before a pod may run there. The test is the driver.
func TestDevices(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{ControllerManager: true, Controllers: []string{"resourceclaim-controller"}})
	api := c.Admin.ResourceV1()
	nodes := slices.Sorted(maps.Keys(zonedNodes(t, c)))
	letters := map[string]string{nodes[0]: "a", nodes[1]: "b", nodes[2]: "c"}
	node := func(letter string) string { return nodes[letter[0]-'a'] }

	// Answers to writes of claims' statuses that get lost on their way back.
	var lost atomic.Int32
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: c.RESTConfig(t, harness.SchedulerUser)}, func(x *harness.Exchange) {
		if (x.Method == "PATCH" || x.Method == "PUT") && strings.Contains(x.Path, "/resourceclaims/") && strings.HasSuffix(x.Path, "/status") && lost.Add(-1) >= 0 {
			x.Swallow()
			x.Drop()
		}
		x.Forward()
	})
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.KubeconfigVia(t, proxy), Dir: c.Dir})

	cel := func(expression string) []resourcev1.DeviceSelector {
		return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	}
	class := func(name, kind string, extended *string) {
		create1(t, api.DeviceClasses().Create, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: extended,
			Selectors:            cel(fmt.Sprintf(`device.driver == %q && device.attributes[%q].kind == %q`, deviceDriver, deviceDriver, kind))}})
	}
	publish := func(letter string, devices ...resourcev1.Device) {
		name := node(letter)
		create1(t, api.ResourceSlices().Create, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice-" + letter}, Spec: resourcev1.ResourceSliceSpec{
			Driver: deviceDriver, NodeName: &name, Devices: devices, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}})
	}
	device := func(name, kind string) resourcev1.Device {
		return resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"kind": {StringValue: &kind}}}
	}
	request := func(name, class string) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}
	}
	claim := func(name string, requests ...resourcev1.DeviceRequest) {
		create1(t, api.ResourceClaims("default").Create, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}})
	}
	get := func(t *testing.T, name string) *resourcev1.ResourceClaim {
		t.Helper()
		got, err := api.ResourceClaims("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	pod := func(name string, claims ...string) *corev1.Pod {
		p := harness.Pod(name, "", "100m", "")
		for i, claim := range claims {
			n := fmt.Sprintf("c%d", i)
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: n, ResourceClaimName: &claim})
			p.Spec.Containers[0].Resources.Claims = append(p.Spec.Containers[0].Resources.Claims, corev1.ResourceClaim{Name: n})
		}
		return p
	}
	// landed waits for the pod and checks its node and that the claim is its own to use; it returns the claim.
	landed := func(t *testing.T, name, letter, claim string) *resourcev1.ResourceClaim {
		t.Helper()
		if node := c.WaitBound(t, 40*time.Second, name)[name]; letters[node] != letter {
			t.Errorf("%s is on %s which is %q, wanted %q", name, node, letters[node], letter)
		}
		got, uid := get(t, claim), c.GetPod(t, name).UID
		// The time is there for devices that have to be attached, since Kubernetes 1.36.
		if got.Status.Allocation == nil || (got.Status.Allocation.AllocationTimestamp == nil) != harness.Before136(t) || !slices.Contains(got.Finalizers, resourcev1.Finalizer) {
			t.Errorf("%s is not allocated for good: %+v", claim, got)
		}
		if !slices.ContainsFunc(got.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return r.UID == uid && r.Name == name && r.Resource == "pods"
		}) {
			t.Errorf("%s is not reserved for %s: %+v", claim, name, got.Status.ReservedFor)
		}
		return got
	}
	waits := func(t *testing.T, name, why string) {
		t.Helper()
		harness.Eventually(t, 20*time.Second, name+" waits", func() (bool, string) {
			condition := harness.Condition(c.GetPod(t, name))
			return condition != nil && condition.Reason == corev1.PodReasonUnschedulable && condition.Message == why, fmt.Sprintf("%+v\nwanted %s", condition, why)
		})
	}
	released := ""
	if harness.Before137(t) {
		released = "still not schedulable, "
	}
	none := "0/3 nodes are available: 3 cannot allocate all claims. " + released + "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."

	since136 := func(t *testing.T) {
		t.Helper()
		if harness.Before136(t) {
			t.Skip("its gate is off before Kubernetes 1.36")
		}
	}

	extended := "example.com/gpu"
	class("gpu", "gpu", &extended)
	class("card", "card", nil)
	class("slow", "slow", nil)
	publish("a", device("gpu-0", "gpu"), device("gpu-1", "gpu"))
	card := device("card-0", "card")
	card.AllowMultipleAllocations = new(bool)
	*card.AllowMultipleAllocations = true
	card.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("10Gi")}}
	publish("b", card)
	slow := device("slow-0", "slow")
	slow.BindingConditions, slow.BindingFailureConditions = []string{"example.com/attached"}, []string{"example.com/broken"}
	publish("c", slow)

	t.Run("a claim of its own, whose answer gets lost", func(t *testing.T) {
		claim("one", request("r", "gpu"))
		lost.Store(1)
		c.CreatePods(t, 0, pod("first", "one"))
		got := landed(t, "first", "a", "one")
		if lost.Load() > 0 {
			t.Error("no answer was lost")
		}
		if r := got.Status.Allocation.Devices.Results; len(r) != 1 || r[0].Device != "gpu-0" || r[0].Pool != node("a") || len(got.Status.ReservedFor) != 1 {
			t.Errorf("%+v", got.Status)
		}
	})
	t.Run("another pod with the same claim", func(t *testing.T) {
		c.CreatePods(t, 0, pod("sharer", "one"))
		if got := landed(t, "sharer", "a", "one"); len(got.Status.ReservedFor) != 2 {
			t.Errorf("%+v", got.Status.ReservedFor)
		}
	})
	t.Run("a claim from a template", func(t *testing.T) {
		create1(t, api.ResourceClaimTemplates("default").Create, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request("r", "gpu")}}}}})
		p, template := pod("made"), "gpu"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "g", ResourceClaimTemplateName: &template}}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "g"}}
		c.CreatePods(t, 0, p)
		c.WaitBound(t, 40*time.Second, "made")
		landed(t, "made", "a", *c.GetPod(t, "made").Status.ResourceClaimStatuses[0].ResourceClaimName)
	})
	t.Run("nothing is left until a pod goes", func(t *testing.T) {
		claim("late", request("r", "gpu"))
		c.CreatePods(t, 0, pod("patient", "late"))
		waits(t, "patient", none)
		c.DeletePod(t, "made")
		landed(t, "patient", "a", "late")
		c.DeletePod(t, "patient")
	})
	t.Run("shares of a device", func(t *testing.T) {
		since136(t)
		share := func(name, memory string) {
			r := request("r", "card")
			r.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}
			claim(name, r)
			c.CreatePods(t, 0, pod(name, name))
		}
		share("six", "6Gi")
		six := landed(t, "six", "b", "six").Status.Allocation.Devices.Results[0]
		if q := six.ConsumedCapacity["memory"]; six.ShareID == nil || q.Cmp(resource.MustParse("6Gi")) != 0 {
			t.Errorf("%+v", six)
		}
		share("five", "5Gi")
		waits(t, "five", none)
		c.DeletePod(t, "five")
		share("four", "4Gi")
		if four := landed(t, "four", "b", "four").Status.Allocation.Devices.Results[0]; four.ShareID == nil || *four.ShareID == *six.ShareID {
			t.Errorf("%+v", four)
		}
	})
	t.Run("the best that is there", func(t *testing.T) {
		claim("any", resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
			{Name: "two", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
			{Name: "one", DeviceClassName: "gpu"}}})
		c.CreatePods(t, 0, pod("modest", "any"))
		if r := landed(t, "modest", "a", "any").Status.Allocation.Devices.Results; len(r) != 1 || r[0].Request != "r/one" {
			t.Errorf("%+v", r)
		}
		c.DeletePod(t, "modest")
	})
	t.Run("an extended resource", func(t *testing.T) {
		since136(t)
		p := pod("plain")
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(extended)] = resource.MustParse("1")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(extended): resource.MustParse("1")}
		c.CreatePods(t, 0, p)
		c.WaitBound(t, 40*time.Second, "plain")
		status := c.GetPod(t, "plain").Status.ExtendedResourceClaimStatus
		if status == nil || len(status.RequestMappings) != 1 || status.RequestMappings[0].ResourceName != extended || status.RequestMappings[0].ContainerName != "main" {
			t.Fatalf("%+v", status)
		}
		got := landed(t, "plain", "a", status.ResourceClaimName)
		if !strings.HasPrefix(got.Name, "plain-extended-resources-") || got.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" ||
			len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Name != "plain" || got.Status.Allocation.Devices.Results[0].Request != status.RequestMappings[0].RequestName {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a device that has to be attached first", func(t *testing.T) {
		since136(t)
		claim("slow", request("r", "slow"))
		c.CreatePods(t, 0, pod("slowly", "slow"))
		harness.Eventually(t, 30*time.Second, "the claim is allocated", func() (bool, string) {
			return get(t, "slow").Status.Allocation != nil, ""
		})
		time.Sleep(2 * time.Second)
		if node := c.GetPod(t, "slowly").Spec.NodeName; node != "" {
			t.Fatalf("bound to %s before the device was attached", node)
		}
		got := get(t, "slow")
		r := got.Status.Allocation.Devices.Results[0]
		got.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: r.Driver, Pool: r.Pool, Device: r.Device, Conditions: []metav1.Condition{
			{Type: "example.com/attached", Status: metav1.ConditionTrue, Reason: "Attached", LastTransitionTime: metav1.Now()}}}}
		if _, err := api.ResourceClaims("default").UpdateStatus(ctx, got, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		landed(t, "slowly", "c", "slow")
	})
}
