// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_37

package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// groupClaims makes groups whose pods use ResourceClaims together.
type groupClaims struct {
	*gen
	ofGroups bool // the gate DRAWorkloadResourceClaims
	topology bool
}

func genGroupClaims(of *gen) {
	g := &groupClaims{gen: of, ofGroups: of.chance(75), topology: of.chance(15)}
	composite := g.chance(12)
	g.c.Gates = map[string]bool{}
	if g.ofGroups {
		g.c.Gates["DRAWorkloadResourceClaims"] = true
	}
	if g.topology || composite {
		g.c.Gates["TopologyAwareWorkloadScheduling"] = true
	}
	if composite {
		g.c.Gates["CompositePodGroup"] = true
	}
	g.driverClasses()
	for i, n := range g.addNodes(g.between(2, 6)) { // of distinct sizes, so that few nodes tie
		n.Labels["rack"] = pick(of, "r1", "r2", "r3")
		n.Status.Allocatable[v1.ResourceCPU] = qty(fmt.Sprintf("%dm", 1200+700*i+37*g.between(0, 9)))
		n.Status.Allocatable[v1.ResourceMemory] = qty(fmt.Sprintf("%dMi", 3000+1100*i+13*g.between(0, 30)))
		n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	}
	g.nodeDevices(4)
	switch g.IntN(3) { // devices that more than one node reaches
	case 0:
		g.slice("fabric", nicDriver, "fabric", devices(g.between(1, 4), g.nic)...).Spec.AllNodes = ref(true)
	case 1:
		for _, rack := range []string{"r1", "r2"} {
			g.slice("switch-"+rack, nicDriver, "switch-"+rack, devices(g.between(1, 3), g.nic)...).Spec.NodeSelector = labelled("rack", rack)
		}
	}
	g.inUse(15)
	g.addBound(g.between(0, 6), func(p *v1.Pod) {
		p.Spec.Priority = ref(int32(pick(of, 0, 0, 10, 200)))
		p.Spec.Containers[0].Resources.Requests = rl("cpu", pick(of, "300m", "700m"), "memory", "128Mi")
	})
	// Claims that pods of several groups may use.
	for i := range g.between(0, 2) {
		g.allocateSome(g.claim(fmt.Sprintf("common%d", i), g.request("r")...), nil)
	}
	groups := g.between(1, 3)
	if composite {
		tree := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: "tree", Namespace: "default", UID: "cpg-tree", Generation: 1}}
		tree.Spec.Priority = ref(int32(90))
		tree.Spec.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{Single: &schedulingv1alpha3.SingleCompositeDisruptionMode{}}
		tree.Spec.SchedulingPolicy.Gang = &schedulingv1alpha3.CompositeGangSchedulingPolicy{MinGroupCount: int32(pick(of, 1, 2, 2))}
		g.c.Objects.CompositePodGroups = append(g.c.Objects.CompositePodGroups, tree)
		groups = g.between(2, 3)
	}
	for i := range groups {
		parent := ""
		if composite && i < 2 {
			parent = "tree"
		}
		g.group(i, parent)
	}
	for i := range g.between(0, 2) {
		p := seal(g.small(g.newPod(fmt.Sprintf("alone%d", i))))
		p.Spec.Priority = ref(int32(pick(of, 0, 95, 300)))
		if claims := g.commons(); len(claims) > 0 && g.chance(50) {
			uses(p, pick(of, claims...))
		} else {
			g.own(p, g.request("r")...)
		}
		g.c.Pending = append(g.c.Pending, p)
	}
}

// commons are the claims that several groups use.
func (g *groupClaims) commons() []string {
	var out []string
	for _, c := range g.c.Objects.ResourceClaims {
		if len(c.Name) == len("common0") && c.Name[:6] == "common" {
			out = append(out, c.Name)
		}
	}
	return out
}

func (g *groupClaims) request(name string) []resourcev1.DeviceRequest {
	switch g.IntN(10) {
	case 0:
		return []resourcev1.DeviceRequest{firstOf(name, subRequest("a", "nic", 1), subRequest("b", "gpu", pick(g.gen, 1, 2)))}
	case 1:
		return []resourcev1.DeviceRequest{exactly(name, "gpu", 1), exactly(name+"2", "gpu", 1)}
	case 2:
		return []resourcev1.DeviceRequest{exactly(name, pick(g.gen, "gpu", "gpu", "gpu", "absent"), 1)}
	}
	return []resourcev1.DeviceRequest{exactly(name, pick(g.gen, "gpu", "gpu", "nic"), pick(g.gen, 1, 1, 1, 2, 3))}
}

// allocateSome allocates some of the claims before the first cycle: where pods can go, or where they cannot.
func (g *groupClaims) allocateSome(c *resourcev1.ResourceClaim, pg *podGroup) {
	if c.Spec.Devices.Requests[0].Exactly == nil || !g.chance(45) {
		return
	}
	n := g.node()
	device := g.free(n, fmt.Sprintf("unplugged-%d", len(g.c.Objects.ResourceClaims)))
	switch g.IntN(6) {
	case 0:
		got(c, "gone", result("r", gpuDriver, "gone", "gpu-"+c.Name))
	case 1:
		got(c, n.Name, device)
		c.Status.Allocation.AllocationTimestamp = ref(metav1.NewTime(podEpoch))
		failed := &c.Status.Allocation.Devices.Results[0]
		failed.BindingConditions, failed.BindingFailureConditions = []string{"example.com/attached"}, []string{"example.com/failed"}
		state := metav1.Condition{Type: pick(g.gen, "example.com/attached", "example.com/failed"), Status: metav1.ConditionTrue, Reason: "Observed", Message: "seen", LastTransitionTime: metav1.NewTime(podEpoch)}
		c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: device.Driver, Pool: device.Pool, Device: device.Device, Conditions: []metav1.Condition{state}}}
	case 2:
		got(c, "", device)
		c.Status.Allocation.NodeSelector = labelled("rack", pick(g.gen, "r1", "r2", "r3"))
	case 3:
		got(c, "", device) // reached from everywhere
	default:
		got(c, n.Name, device)
	}
	if c.Status.Allocation.AllocationTimestamp == nil {
		c.Status.Allocation.AllocationTimestamp = ref(metav1.NewTime(podEpoch.Add(time.Hour)))
	}
	consumer := func(apiGroup, resource, name string, uid types.UID) {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{APIGroup: apiGroup, Resource: resource, Name: name, UID: uid})
	}
	if pg != nil && g.ofGroups && g.chance(55) {
		consumer("scheduling.k8s.io", "podgroups", pg.Name, pg.UID)
	}
	switch {
	case g.chance(12):
		consumer("", "pods", "elsewhere", "uid-default-elsewhere")
	case g.chance(8):
		consumer("scheduling.k8s.io", "podgroups", "othergroup", "pg-othergroup")
	}
}

// group makes a PodGroup, its pods and the claims that they share.
func (g *groupClaims) group(i int, parent string) {
	of := g.gen
	pg := &podGroup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("group%d", i), Namespace: "default", Generation: 1,
		CreationTimestamp: metav1.NewTime(boundEpoch.Add(-time.Duration(10-i) * time.Hour))}}
	pg.UID = types.UID("pg-" + pg.Name)
	pg.Spec.Priority = ref(int32(100 - 20*i))
	if parent != "" {
		pg.Spec.ParentCompositePodGroupName = ref(parent)
		pg.Spec.Priority = ref(int32(90))
	}
	pg.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
	n := g.between(1, 5)
	if g.chance(20) {
		pg.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	} else {
		pg.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(max(1, pick(of, n, n, n, n-1, n/2)))}
	}
	if g.topology && parent == "" && g.chance(60) {
		pg.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}
	}
	g.c.Objects.PodGroups = append(g.c.Objects.PodGroups, pg)

	type use struct {
		claim   v1.PodResourceClaim
		made    *v1.PodResourceClaimStatus // of a claim from a template
		percent int                        // of the pods use it
	}
	var all []use
	for j := range pick(of, 0, 1, 1, 1, 1, 2) {
		name := fmt.Sprintf("g%d", j)
		u := use{percent: pick(of, 100, 100, 100, 60)}
		u.claim.Name = name
		ofGroup := g.ofGroups && g.chance(80) // the group names it as well
		switch {
		case g.ofGroups && g.chance(25): // the claim controller makes it from a template
			u.claim.ResourceClaimTemplateName = ref("template")
			u.made = &v1.PodResourceClaimStatus{Name: name}
			if !g.chance(5) { // else there is none to wait for
				c := g.claim(fmt.Sprintf("%s-%s-x7f2q", pg.Name, name), g.request("r")...)
				owner := metav1.OwnerReference{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: pg.Name, UID: pg.UID, Controller: ref(true), BlockOwnerDeletion: ref(true)}
				switch {
				case g.chance(6):
					owner.UID = "uid-of-another"
				case g.chance(5):
					owner.Kind = "Pod"
				}
				c.OwnerReferences = []metav1.OwnerReference{owner}
				u.made.ResourceClaimName = ref(c.Name)
				g.allocateSome(c, pg)
			}
			if ofGroup && !g.chance(10) { // else it is to be written yet
				pg.Status.ResourceClaimStatuses = append(pg.Status.ResourceClaimStatuses, schedulingv1beta1.PodGroupResourceClaimStatus{Name: name, ResourceClaimName: u.made.ResourceClaimName})
			}
		case len(g.commons()) > 0 && g.chance(35):
			u.claim.ResourceClaimName = ref(pick(of, g.commons()...))
		default:
			c := g.claim(fmt.Sprintf("%s-shared%d", pg.Name, j), g.request("r")...)
			u.claim.ResourceClaimName = ref(c.Name)
			g.allocateSome(c, pg)
		}
		if ofGroup {
			pg.Spec.ResourceClaims = append(pg.Spec.ResourceClaims, schedulingv1beta1.PodGroupResourceClaim{Name: name,
				ResourceClaimName: u.claim.ResourceClaimName, ResourceClaimTemplateName: u.claim.ResourceClaimTemplateName})
		}
		all = append(all, u)
	}
	own := g.chance(35)
	running := g.chance(12)
	for j := range n {
		p := seal(g.newPod(fmt.Sprintf("%s-%d", pg.Name, j)))
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ref(pg.Name)}
		p.Spec.Priority = pg.Spec.Priority
		p.Spec.Containers[0].Resources.Requests = rl("cpu", pick(of, "200m", "400m", "400m", "900m"), "memory", "200Mi")
		if running && j == 0 {
			g.bind(p, g.node().Name)
			continue
		}
		// Before the shared ones: kube-scheduler mixes up a claim that a pod shares and one of its own after it.
		if own && g.chance(70) {
			c := g.own(p, exactly("r", pick(of, "gpu", "gpu", "nic"), 1))
			if g.chance(20) {
				g.allocateSome(c, nil)
			}
		}
		for _, u := range all {
			if !g.chance(u.percent) {
				continue
			}
			claim := u.claim
			if g.chance(4) && u.made == nil {
				claim.Name = "private" // not as the group calls it
			}
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, claim)
			r := &p.Spec.Containers[0].Resources
			r.Claims = append(r.Claims, v1.ResourceClaim{Name: claim.Name})
			if u.made != nil && !g.chance(2) { // else it is to be written yet
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, *u.made)
			}
		}
		if g.chance(6) {
			p.Spec.NodeSelector = map[string]string{"rack": pick(of, "r1", "r2")}
		}
		g.c.Pending = append(g.c.Pending, p)
	}
}
