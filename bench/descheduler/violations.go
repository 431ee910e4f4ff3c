// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"maps"
	"slices"
)

// violations are what a policy objects to, and how much of it moves could mend: pods are moved one after the other in
// this program's mind, each to a node where it fits by requests, taints, node selector and required spreading, and
// where it violates no more. Pods whose budget allows no eviction ever are left out of that.
type violations struct{ all, mendable int }

func (v violations) and(other violations) violations {
	return violations{v.all + other.all, v.mendable + other.mendable}
}

// placed is a pod on a node.
type placed struct {
	uid   string
	owner *owner
	on    *place
}

// place is a node with what is asked for on it.
type place struct {
	*node
	cpuUsed, memoryUsed int64
	pods                []*placed
}

// view is the cluster at a moment. Moves change it.
type view struct {
	nodes   []*place // that are there
	owners  []*owner
	podsOf  map[*owner][]*placed
	pending int
}

func newView(made *shape) *view {
	v := &view{owners: made.owners, podsOf: map[*owner][]*placed{}}
	for _, n := range made.nodes {
		if !n.absent {
			v.nodes = append(v.nodes, &place{node: n})
		}
	}
	return v
}

func (v *view) add(uid string, of *owner, on *place) {
	p := &placed{uid: uid, owner: of, on: on}
	v.podsOf[of] = append(v.podsOf[of], p)
	on.take(p)
}

// sort makes what follows from the view the same whatever the order in which pods were added.
func (v *view) sort() {
	byID := func(a, b *placed) int { return cmp.Compare(a.uid, b.uid) }
	for _, pods := range v.podsOf {
		slices.SortFunc(pods, byID)
	}
	for _, n := range v.nodes {
		slices.SortFunc(n.pods, byID)
	}
}

func (n *place) take(p *placed) {
	p.on = n
	n.pods = append(n.pods, p)
	n.cpuUsed += p.owner.cpu
	n.memoryUsed += p.owner.memory
}

func (v *view) move(p *placed, to *place) {
	p.on.pods = slices.DeleteFunc(p.on.pods, func(other *placed) bool { return other == p })
	p.on.cpuUsed -= p.owner.cpu
	p.on.memoryUsed -= p.owner.memory
	to.take(p)
}

func (v *view) fits(p *placed, n *place) bool {
	o := p.owner
	if n == p.on || n.cordoned || n.tainted && !o.tolerates || o.pool != "" && o.pool != n.pool {
		return false
	}
	if n.cpuUsed+o.cpu > n.cpu || n.memoryUsed+o.memory > n.memory || len(n.pods) >= nodePods {
		return false
	}
	if o.spread != "DoNotSchedule" {
		return true
	}
	counts := v.zoneCounts(o)
	counts[p.on.zone]--
	least := len(v.podsOf[o])
	for _, count := range counts {
		least = min(least, count)
	}
	return counts[n.zone]+1-least <= spreadSkew
}

// mend moves the first of these pods that may move to the first node that is wanted and has room; false: there is none.
func (v *view) mend(pods []*placed, wanted func(*place) bool) bool {
	for _, p := range pods {
		if p.owner.neverEvicted {
			continue
		}
		for _, n := range v.nodes {
			if wanted(n) && v.fits(p, n) {
				v.move(p, n)
				return true
			}
		}
	}
	return false
}

// mendEach counts these pods, and how many of them can be moved to nodes that are wanted.
func (v *view) mendEach(objected func(*placed) bool, wanted func(*placed, *place) bool) violations {
	var found violations
	for _, o := range v.owners {
		for _, p := range v.podsOf[o] {
			if !objected(p) {
				continue
			}
			found.all++
			if v.mend([]*placed{p}, func(n *place) bool { return wanted(p, n) }) {
				found.mendable++
			}
		}
	}
	return found
}

func (v *view) onTainted() violations {
	return v.mendEach(func(p *placed) bool { return p.on.tainted && !p.owner.tolerates },
		func(_ *placed, n *place) bool { return !n.tainted })
}

func (v *view) offSpot() violations {
	return v.mendEach(func(p *placed) bool { return p.owner.wantsSpot && !p.on.spot },
		func(_ *placed, n *place) bool { return n.spot })
}

func (v *view) zoneCounts(o *owner) map[string]int {
	counts := map[string]int{}
	for _, n := range v.nodes {
		counts[n.zone] += 0
	}
	for _, p := range v.podsOf[o] {
		counts[p.on.zone]++
	}
	return counts
}

// badlySpread counts the moves that would bring owners that spread within their skew.
func (v *view) badlySpread() violations {
	var found violations
	for _, o := range v.owners {
		if o.spread == "" {
			continue
		}
		found.all += movesToSpread(v.zoneCounts(o))
		for {
			counts := v.zoneCounts(o)
			_, most := extremes(counts)
			over := slices.DeleteFunc(slices.Clone(v.podsOf[o]), func(p *placed) bool { return p.on.zone != most })
			helps := func(n *place) bool {
				after := maps.Clone(counts)
				after[most]--
				after[n.zone]++
				return movesToSpread(after) < movesToSpread(counts)
			}
			if !v.mend(over, helps) {
				break
			}
			found.mendable++
		}
	}
	return found
}

func movesToSpread(counts map[string]int) int {
	counts = maps.Clone(counts)
	moves := 0
	for {
		least, most := extremes(counts)
		if counts[most]-counts[least] <= spreadSkew {
			return moves
		}
		counts[most]--
		counts[least]++
		moves++
	}
}

func extremes(counts map[string]int) (least, most string) {
	for zone, count := range counts {
		if least == "" || cmp.Or(cmp.Compare(count, counts[least]), cmp.Compare(zone, least)) < 0 {
			least = zone
		}
		if most == "" || cmp.Or(cmp.Compare(count, counts[most]), cmp.Compare(most, zone)) > 0 {
			most = zone
		}
	}
	return least, most
}

func (n *place) above(percent int64) bool {
	return n.cpuUsed*100 > n.cpu*percent || n.memoryUsed*100 > n.memory*percent
}

// hot counts nodes above the target while there is a node below the thresholds, as LowNodeUtilization has it.
func (v *view) hot(limits utilizationLimits) violations {
	isCold := func(n *place) bool { return !n.above(limits.low) && !n.cordoned }
	var found violations
	if !slices.ContainsFunc(v.nodes, isCold) {
		return found
	}
	for _, n := range v.nodes {
		if !n.above(limits.high) {
			continue
		}
		found.all++
		for n.above(limits.high) {
			moved := false
			for _, p := range slices.Clone(n.pods) {
				// Nothing is made hot by it.
				if moved = v.mend([]*placed{p}, func(to *place) bool {
					return isCold(to) && (to.cpuUsed+p.owner.cpu)*100 <= to.cpu*limits.high && (to.memoryUsed+p.owner.memory)*100 <= to.memory*limits.high
				}); moved {
					break
				}
			}
			if !moved {
				break
			}
		}
		if !n.above(limits.high) {
			found.mendable++
		}
	}
	return found
}

// duplicates counts pods of an owner on a node beyond its share of the nodes.
func (v *view) duplicates() violations {
	open := 0
	for _, n := range v.nodes {
		if !n.cordoned && !n.tainted {
			open++
		}
	}
	var found violations
	for _, o := range v.owners {
		share := (len(v.podsOf[o]) + open - 1) / max(1, open)
		on := map[*place][]*placed{}
		for _, p := range v.podsOf[o] {
			on[p.on] = append(on[p.on], p)
		}
		for _, n := range v.nodes {
			for extra := len(on[n]) - share; extra > 0; extra-- {
				found.all++
				p := on[n][len(on[n])-1]
				if v.mend([]*placed{p}, func(to *place) bool { return len(on[to]) < share }) {
					found.mendable++
					on[n] = on[n][:len(on[n])-1]
					on[p.on] = append(on[p.on], p)
				}
			}
		}
	}
	return found
}

// nodesTaken are nodes with pods, and those that are tainted and have pods that do not tolerate it.
func (v *view) nodesTaken() (withPods, toDrain int) {
	for _, n := range v.nodes {
		if len(n.pods) > 0 {
			withPods++
		}
		if n.tainted && slices.ContainsFunc(n.pods, func(p *placed) bool { return !p.owner.tolerates }) {
			toDrain++
		}
	}
	return withPods, toDrain
}
