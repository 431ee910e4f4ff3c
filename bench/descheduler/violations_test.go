// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
)

// cluster has nodes of a CPU each in zones a, b, c by turns, and pods of 400 milli-CPUs of owners on them: pods[i] are
// the owners of the pods on node i.
func cluster(owners []*owner, nodes int, pods ...[]*owner) *view {
	made := &shape{owners: owners}
	for i := range nodes {
		made.nodes = append(made.nodes, &node{name: fmt.Sprint(i), zone: string(rune('a' + i%3)), cpu: 1000, memory: 1000})
	}
	v := newView(made)
	for i, on := range pods {
		for j, of := range on {
			v.add(fmt.Sprint(i, j), of, v.nodes[i])
		}
	}
	v.sort()
	return v
}

func web() *owner { return &owner{name: "web", cpu: 400, memory: 1} }

func want(t *testing.T, got violations, all, mendable int) {
	t.Helper()
	if got != (violations{all, mendable}) {
		t.Errorf("%d violations, of which %d can be mended; want %d and %d", got.all, got.mendable, all, mendable)
	}
}

func TestTaints(t *testing.T) {
	tainted := func(of *owner, elsewhere ...*owner) *view {
		v := cluster([]*owner{of}, 2, []*owner{of, of}, elsewhere)
		v.nodes[0].tainted = true
		return v
	}
	of := web()
	want(t, tainted(of).onTainted(), 2, 2)
	want(t, tainted(of, of).onTainted(), 2, 1) // there is room for one
	of.neverEvicted = true
	want(t, tainted(of).onTainted(), 2, 0)
	of = web()
	of.tolerates = true
	want(t, tainted(of).onTainted(), 0, 0)
	of = web()
	of.pool = "local"
	want(t, tainted(of).onTainted(), 2, 0)
}

func TestSpread(t *testing.T) {
	of := web()
	of.spread = "DoNotSchedule"
	want(t, cluster([]*owner{of}, 3, []*owner{of, of}, []*owner{of}).badlySpread(), 1, 1)
	other := web()
	want(t, cluster([]*owner{of, other}, 3, []*owner{of, of}, []*owner{of}, []*owner{other, other}).badlySpread(), 1, 0)
	want(t, cluster([]*owner{of}, 3, []*owner{of}, []*owner{of}).badlySpread(), 0, 0)
}

func TestHotNodes(t *testing.T) {
	of := web()
	limits := utilizationLimits{30, 60}
	want(t, cluster([]*owner{of}, 2, []*owner{of, of}).hot(limits), 1, 1)
	want(t, cluster([]*owner{of}, 2, []*owner{of, of}, []*owner{of}).hot(limits), 0, 0) // none is below the thresholds
	of.neverEvicted = true
	want(t, cluster([]*owner{of}, 2, []*owner{of, of}).hot(limits), 1, 0)
}

func TestDuplicates(t *testing.T) {
	of := web()
	want(t, cluster([]*owner{of}, 3, []*owner{of, of}).duplicates(), 1, 1)
	want(t, cluster([]*owner{of}, 2, []*owner{of, of}, []*owner{of}).duplicates(), 0, 0) // two a node is its share
	other := web()
	want(t, cluster([]*owner{of, other}, 2, []*owner{of, of}, []*owner{other, other}).duplicates(), 2, 0)
}

func TestSpotNodes(t *testing.T) {
	of := web()
	of.wantsSpot = true
	v := cluster([]*owner{of}, 2, []*owner{of, of}, []*owner{of})
	v.nodes[1].spot = true
	want(t, v.offSpot(), 2, 1)
}

func TestBudgets(t *testing.T) {
	made := newShape(&settings{nodes: 100, pods: 1500}, scenarioNamed("hot-nodes"))
	pods, budgets := 0, 0
	for _, o := range made.owners {
		pods += o.replicas
		if o.minAvailable != nil {
			budgets++
			if least := o.healthyMin(); least > o.replicas || least < o.replicas && o.neverEvicted || least == o.replicas && !o.neverEvicted {
				t.Errorf("%s of %d pods: %d have to be ready", o.name, o.replicas, least)
			}
		}
	}
	if pods != 1500 || budgets < 20 {
		t.Errorf("%d pods, %d budgets", pods, budgets)
	}
}
