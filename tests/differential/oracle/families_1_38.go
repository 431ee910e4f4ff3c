// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_38

package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// The families of what is new, or newly on by default, in v1.38.

func init() {
	families = append(families, family{"drafractional", "devices shared by fractions of their capacities, and capacities named with their driver and without", genDRAFractional, true})
}

// ---- DRAFractionalCapacityRange

// policyRange is a policy of amounts; an empty text leaves a part out.
func policyRange(standard, min, max, step string) *resourcev1.CapacityRequestPolicy {
	amount := func(text string) *resource.Quantity {
		if text == "" {
			return nil
		}
		return ref(qty(text))
	}
	return &resourcev1.CapacityRequestPolicy{Default: amount(standard),
		ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: amount(min), Max: amount(max), Step: amount(step)}}
}

// spelled is the name of a capacity, with the driver before it or without.
func (g *gen) spelled(percent int, name string) resourcev1.QualifiedName {
	if g.chance(percent) {
		name = nicDriver + "/" + name
	}
	return resourcev1.QualifiedName(name)
}

// divisible is a device that is shared by parts of its cores.
func (g *gen) divisible(i int) resourcev1.Device {
	d := g.nic(i)
	d.AllowMultipleAllocations = ref(true)
	cores := resourcev1.DeviceCapacity{Value: qty(pick(g, "2500m", "3", "4", "8.5"))}
	switch g.IntN(13) {
	case 0: // whoever names no amount gets everything
	case 1:
		cores.RequestPolicy = policyRange("1", "100m", pick(g, "", "2"), "100m")
	case 2:
		cores.RequestPolicy = policyRange("250m", "250m", "2", "0.25")
	case 3: // any amount from half a core on
		cores.RequestPolicy = policyRange("1", "500m", pick(g, "", "2250m"), "")
	case 4: // halves in between, but for whole steps
		cores.RequestPolicy = policyRange("1500m", "0.5", pick(g, "", "2.5"), "1")
	case 5: // whole amounts alone
		cores.RequestPolicy = policyRange("1", "1", pick(g, "", "2"), "1")
	case 6:
		cores.RequestPolicy = policyRange("1m", "0", "", "1m")
	case 7: // thirds are no milli values
		cores.RequestPolicy = policyRange("333m", "333m", pick(g, "", "1998m"), "333m")
	case 8, 9:
		cores.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: ref(qty("500m")), ValidValues: []resource.Quantity{qty("250m"), qty("0.5"), qty("1"), qty("2500m")}}
	case 10:
		cores.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: ref(qty(pick(g, "300m", "0.75")))}
	case 11: // more than fits in 64 bits as milli values: whole amounts again
		cores = resourcev1.DeviceCapacity{Value: qty("20P"), RequestPolicy: policyRange("1", "1", "10P", "1")}
	case 12: // in steps of binary units
		cores.RequestPolicy = policyRange("1", "0", "", pick(g, "0.125", "0.5"))
	}
	d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{g.spelled(20, "cores"): cores}
	if g.chance(35) {
		memory := resourcev1.DeviceCapacity{Value: qty(pick(g, "4Gi", "16Gi"))}
		if g.chance(70) {
			memory.RequestPolicy = policyRange("1Gi", "256Mi", pick(g, "", "2Gi"), pick(g, "", "256Mi", "0.25Gi"))
		}
		d.Capacity[g.spelled(20, "memory")] = memory
	}
	return d
}

func genDRAFractional(g *gen) {
	g.driverClasses()
	for _, n := range g.draNodes(2, 5) {
		if g.chance(85) {
			g.nodeSlice(n, nicDriver, devices(g.between(1, 3), g.divisible)...)
		}
	}
	if g.chance(20) {
		g.slice("fabric", nicDriver, "fabric", g.divisible(0)).Spec.AllNodes = ref(true)
	}
	// Shares that are taken already.
	for i, s := range g.c.Objects.ResourceSlices {
		if s.Spec.NodeName == nil || !g.chance(50) {
			continue
		}
		c := g.claim(fmt.Sprintf("share-%d", i), exactly("r", "nic", 1))
		res := result("r", nicDriver, s.Spec.Pool.Name, "nic-0")
		res.ShareID = ref(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)))
		res.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{g.spelled(30, "cores"): qty(pick(g, "250m", "0.5", "1", "1250m", "2500m"))}
		got(c, *s.Spec.NodeName, res)
		p := g.small(g.newPod(fmt.Sprintf("sharer-%d", i)))
		uses(p, c.Name)
		g.bind(p, *s.Spec.NodeName)
		reserve(c, p)
	}
	amounts := func() map[resourcev1.QualifiedName]resource.Quantity {
		wanted := map[resourcev1.QualifiedName]resource.Quantity{g.spelled(20, "cores"): qty(pick(g,
			"0", "1m", "100m", "150m", "0.25", "300m", "333m", "500m", "0.5", "0.9", "999m", "1", "1.25", "1500m", "2", "2.4", "2500m", "3", "16"))}
		if g.chance(25) {
			wanted[g.spelled(20, "memory")] = qty(pick(g, "256Mi", "0.3Gi", "1G", "1536Mi", "2Gi", "3Gi"))
		}
		if g.chance(3) { // no milli value
			wanted = map[resourcev1.QualifiedName]resource.Quantity{"cores": qty(pick(g, "1u", "1500001u", "20P"))}
		}
		return wanted
	}
	request := func(name string) resourcev1.DeviceRequest {
		r := exactly(name, "nic", pick(g, 1, 1, 1, 2))
		if g.chance(85) {
			r.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: amounts()}
		}
		if g.chance(6) {
			r.Exactly.AllocationMode, r.Exactly.Count = resourcev1.DeviceAllocationModeAll, 0
		}
		return r
	}
	g.draPending(6, 12, func(p *v1.Pod) {
		requests := []resourcev1.DeviceRequest{request("r")}
		if g.chance(30) {
			requests = append(requests, request("q"))
		}
		if g.chance(15) {
			first := subRequest("most", "nic", 1)
			first.Capacity = &resourcev1.CapacityRequirements{Requests: amounts()}
			requests = append(requests, firstOf("f", first, subRequest("any", "nic", 1)))
		}
		g.own(p, requests...)
		if g.chance(15) {
			g.own(p, request("r"))
		}
	})
}
