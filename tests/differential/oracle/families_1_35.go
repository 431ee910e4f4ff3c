// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_35

package main

// A family of what v1.35 alone has: the gates of dynamic resource allocation are off by default, and can be turned on.

func init() {
	families = append(families, family{"dragates", "dynamic resource allocation with some of the gates that are off by default", genDRAGates, true})
}

func genDRAGates(g *gen) {
	of := []struct {
		gate     string
		generate func(*gen)
	}{
		{"DRAConsumableCapacity", genDRACapacity},
		{"DRADeviceBindingConditions", genDRAClaims},
		{"DRADeviceTaints", genDRATaints},
		{"DRAExtendedResource", genDRAExtended},
		{"DRAPartitionableDevices", genDRACounters},
	}
	chosen := g.IntN(len(of))
	of[chosen].generate(g)
	g.c.Gates = map[string]bool{}
	for i, each := range of {
		// The gate that decides most is on in most cases, and some say what is so by default.
		on := g.chance(25)
		if i == chosen {
			on = g.chance(85)
		}
		if on || g.chance(10) {
			g.c.Gates[each.gate] = on
		}
	}
}
