// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

const spreadSkew = 1

// scenario is a cluster, what happens to it, and a policy that wants it mended.
type scenario struct {
	name string
	what string // for people
	// How much CPU of so many nodes is asked for; the size of nodes follows from it.
	utilization, fullShare float64
	owner                  func(i int, o *owner)
	// Of the node at this share of all nodes, when the cluster is made.
	node func(at float64, n *node)
	// What happens to nodes, one step after the other; pods settle after each.
	changes []func(at float64, n *node)
	policy  string
	// For what the descheduler has no strategy.
	berthPolicy string
	violations  func(view *view) violations
}

// policyOf has nodeFit on: without it the descheduler evicts pods that fit nowhere, too.
func policyOf(point, strategy, args string) string {
	return policyOfAll(fmt.Sprintf("  - name: %s\n    args: %s\n", strategy, args), fmt.Sprintf("    %s: {enabled: [%s]}\n", point, strategy))
}

func policyOfAll(configs, points string) string {
	return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: bench\n  pluginConfig:\n" +
		"  - name: DefaultEvictor\n    args: {nodeFit: true}\n" + configs + "  plugins:\n" + points
}

const spreadStrategy = "RemovePodsViolatingTopologySpreadConstraint"

// utilizationLimits are those of LowNodeUtilization, in percent.
type utilizationLimits struct{ low, high int64 }

func (l utilizationLimits) args() string {
	return fmt.Sprintf("{thresholds: {cpu: %d, memory: %d}, targetThresholds: {cpu: %d, memory: %d}}", l.low, l.low, l.high, l.high)
}

var (
	addedLimits = utilizationLimits{45, 78}
	hotLimits   = utilizationLimits{30, 55}
)

// A third of the owners spreads over zones, by turns as a must and as a wish.
func spreading(i int, o *owner) {
	switch i % 6 {
	case 1:
		o.spread = corev1.DoNotSchedule
	case 4:
		o.spread = corev1.ScheduleAnyway
	}
}

func cordonedBeyond(share float64) func(at float64, n *node) {
	return func(at float64, n *node) { n.cordoned = at >= share }
}

func uncordoned(_ float64, n *node) { n.cordoned = false }

var scenarios = []*scenario{
	{
		name: "nodes-added", what: "a fifth of the nodes comes, as a third zone",
		utilization: 0.82, fullShare: 0.8, owner: spreading,
		node: func(at float64, n *node) {
			n.absent = at >= 0.8
			n.zone = [...]string{"zone-a", "zone-b"}[int(n.name[len(n.name)-1]-'0')%2]
			if n.absent {
				n.zone = "zone-c"
			}
		},
		changes: []func(float64, *node){func(_ float64, n *node) { n.absent = false }},
		policy: policyOfAll(fmt.Sprintf("  - name: %s\n    args: {constraints: [DoNotSchedule, ScheduleAnyway]}\n  - name: LowNodeUtilization\n    args: %s\n",
			spreadStrategy, addedLimits.args()), fmt.Sprintf("    balance: {enabled: [%s, LowNodeUtilization]}\n", spreadStrategy)),
		violations: func(v *view) violations { return v.badlySpread().and(v.hot(addedLimits)) },
	},
	{
		name: "taint-added", what: "a fifth of the nodes gets a taint; the others have hardly room",
		utilization: 0.78, fullShare: 1,
		owner: func(i int, o *owner) {
			if i%16 == 5 {
				o.pool = "local"
			}
			o.tolerates = i%8 == 2
		},
		node: func(at float64, n *node) {
			if at >= 0.8 && at < 0.9 {
				n.pool = "local"
			}
		},
		changes:    []func(float64, *node){func(at float64, n *node) { n.tainted = at >= 0.8 }},
		policy:     policyOf("deschedule", "RemovePodsViolatingNodeTaints", "{}"),
		violations: (*view).onTainted,
	},
	{
		name: "zone-lost", what: "a zone of three goes with its pods, and comes back empty",
		utilization: 0.6, fullShare: 1, owner: spreading,
		node: func(float64, *node) {},
		changes: []func(float64, *node){
			func(_ float64, n *node) { n.absent = n.zone == "zone-c" },
			func(_ float64, n *node) { n.absent = false },
		},
		policy:     policyOf("balance", spreadStrategy, "{constraints: [DoNotSchedule, ScheduleAnyway]}"),
		violations: (*view).badlySpread,
	},
	{
		name: "spot", what: "the spot nodes, a quarter, go with their pods, and come back empty",
		utilization: 0.65, fullShare: 1,
		owner: func(i int, o *owner) { o.wantsSpot = i%2 == 0 },
		node:  func(at float64, n *node) { n.spot = at >= 0.75 },
		changes: []func(float64, *node){
			func(_ float64, n *node) { n.absent = n.spot },
			func(_ float64, n *node) { n.absent = false },
		},
		policy: policyOf("deschedule", "RemovePodsViolatingNodeAffinity", "{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}"),
		// Without it, pods that say nothing want spot nodes, too.
		berthPolicy: policyOf("deschedule", "BackToSpot", "{default: never}"),
		violations:  (*view).offSpot,
	},
	{
		name: "hot-nodes", what: "all pods are on two fifths of the nodes, the others come free",
		utilization: 0.92, fullShare: 0.4,
		node:       cordonedBeyond(0.4),
		changes:    []func(float64, *node){uncordoned},
		policy:     policyOf("balance", "LowNodeUtilization", hotLimits.args()),
		violations: func(v *view) violations { return v.hot(hotLimits) },
	},
	{
		name: "duplicates", what: "all pods are on a quarter of the nodes, the others come free",
		utilization: 0.85, fullShare: 0.25,
		node:       cordonedBeyond(0.25),
		changes:    []func(float64, *node){uncordoned},
		policy:     policyOf("balance", "RemoveDuplicates", "{}"),
		violations: (*view).duplicates,
	},
}

func scenarioNames() []string {
	var names []string
	for _, of := range scenarios {
		names = append(names, of.name)
	}
	return names
}

func scenarioNamed(name string) *scenario {
	for _, of := range scenarios {
		if of.name == name {
			return of
		}
	}
	return nil
}
