// SPDX-License-Identifier: Apache-2.0
// Package hostile tries schedulers with what one tenant, one fault or one clock can do, while ordinary pods come and go:
// whether those are still bound in time, who is told, and what memory and CPU time it takes.
package hostile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"
)

var (
	schedulersFlag = flag.String("scheduler", "both", "berth, kube-scheduler or both, by turns")
	attacksFlag    = flag.String("attacks", "", "names of attacks, separated by commas; all when empty")
	strengthFlag   = flag.Int("strength", 0, "of each attack, in its own unit; 0: the strengths that it has")
	outFlag        = flag.String("out", "", "where a line of JSON is added for each attack")
	listFlag       = flag.Bool("list", false, "list the attacks and end")
)

const goHasItsOwnClock = "programs in Go read the clock without libc, and cannot be given another one from outside"

var attacks = []attack{
	{name: "calm", strengths: []int{0}, unit: "nothing", run: calm},
	{name: "bindings-dead", strengths: []int{64, 128}, unit: "pods", run: bindingsAttack((*run).deadURL, 30*time.Second)},
	{name: "bindings-hang", strengths: []int{64, 128}, unit: "pods", run: bindingsAttack((*run).hangingURL, 30*time.Second)},
	{name: "silenced", strengths: []int{200, 400}, unit: "pods", run: silencedAttack},
	{name: "clock", strengths: []int{1}, unit: "hours", berthOnly: goHasItsOwnClock, run: clockAttack},
	{name: "affinity-keys", strengths: []int{1, 10, 20}, unit: "pods of 56,100 keys", run: largePods(56_100, "expressions", keysOfAffinity)},
	{name: "soft-spreads", strengths: []int{1, 2}, unit: "pods of 12,000 constraints", run: largePods(12_000, "constraints", softSpreads)},
	{name: "anti-affinity", strengths: []int{2, 4}, unit: "pods of 40,000 terms", run: largePods(40_000, "terms", antiAffinityTerms)},
	{name: "resources", strengths: []int{1, 2}, unit: "pods of 30,000 resources", run: largePods(30_000, "resources", extendedResources)},
	{name: "big-pods", strengths: []int{600, 1200}, unit: "pods of 1.1 to 1.4 MB", alone: true, run: bigPodsAttack},
	{name: "annotation", strengths: []int{10}, unit: "pods", berthOnly: "it knows no such annotation", run: annotationAttack},
	{name: "rotation", strengths: []int{1, 2}, unit: "rotations", deaf: true, alone: true, atLeast: 8 * time.Second, drain: 60 * time.Second, run: rotationAttack},
	{name: "first-address", strengths: []int{1, 2}, unit: "dead addresses", deaf: true, drain: 60 * time.Second, run: firstAddressAttack},
	{name: "plugin-hangs", strengths: []int{1, 2}, unit: "calls", deaf: true, atLeast: 20 * time.Second, drain: 75 * time.Second, run: pluginAttack},
	{name: "newlines", strengths: []int{1, 2}, unit: "watches", deaf: true, drain: 75 * time.Second, run: newlinesAttack},
	{name: "unauthorized", strengths: []int{1, 2}, unit: "x 5 s", deaf: true, drain: 75 * time.Second, run: unauthorizedAttack},
	{name: "silence", strengths: []int{1, 2}, unit: "times", deaf: true, drain: 75 * time.Second, run: silenceAttack},
	{name: "plain-http", strengths: []int{1}, unit: "token", run: plainHTTPAttack},
	{name: "stale-list", strengths: []int{1}, unit: "replica", deaf: true, drain: 60 * time.Second, run: staleListAttack},
	{name: "two-leaders", strengths: []int{2}, unit: "processes", run: twoLeadersAttack},
	{name: "annotation-storm", strengths: []int{16}, unit: "pods", run: annotationStormAttack},
	{name: "deletion", strengths: []int{1000}, unit: "pods", run: deletionAttack},
	{name: "flapping", strengths: []int{50}, unit: "a second", run: flappingAttack},
	{name: "volumes", strengths: []int{200}, unit: "claims", run: volumesAttack},
	{name: "selectors", strengths: []int{1, 4}, unit: "claims of dear selectors", drain: 60 * time.Second, run: selectorsAttack},
	{name: "gates", strengths: []int{500}, unit: "pods", run: gatesAttack},
	{name: "flood", strengths: []int{20_000}, unit: "pods", alone: true, run: floodAttack},
}

// Nothing happens: what the other figures are to be compared with.
func calm(r *run) {
	r.begin(options{})
	r.under(func(context.Context) {})
	r.cleared()
}

func TestHostile(t *testing.T) {
	if *listFlag {
		for _, a := range attacks {
			fmt.Printf("%-18s %v %s\n", a.name, a.strengths, a.unit)
		}
		return
	}
	schedulers := []string{berth, kubeScheduler}
	if *schedulersFlag != "both" {
		if !slices.Contains(schedulers, *schedulersFlag) {
			t.Fatalf("-scheduler %s: berth, kube-scheduler or both", *schedulersFlag)
		}
		schedulers = []string{*schedulersFlag}
	}
	chosen := attacks
	if *attacksFlag != "" {
		chosen = nil
		for name := range strings.SplitSeq(*attacksFlag, ",") {
			at := slices.IndexFunc(attacks, func(a attack) bool { return a.name == name })
			if at < 0 {
				t.Fatalf("no attack is called %q; -list lists them", name)
			}
			chosen = append(chosen, attacks[at])
		}
	}
	out, err := os.OpenFile(*outFlag, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("-out: %v", err)
	}
	defer out.Close()
	s := &suite{second: harness.NewAuthority(t, "berth-e2e-second"), out: out, versions: map[string]string{}}
	for _, name := range schedulers {
		program := harness.Berth
		if name == kubeScheduler {
			program = func(t testing.TB) string { return harness.ControlPlane(t, name) }
		}
		s.versions[name] = versionOf(t, program(t), "--version")
	}
	if slices.ContainsFunc(chosen, func(a attack) bool { return !a.alone }) {
		s.shared = newCluster(t, s.second)
	}
	for _, a := range chosen {
		for _, scheduler := range schedulers {
			strengths := a.strengths
			if scheduler == kubeScheduler {
				strengths = strengths[:1]
			}
			if *strengthFlag > 0 {
				strengths = []int{*strengthFlag}
			}
			for _, strength := range strengths {
				t.Run(fmt.Sprintf("%s-%d/%s", a.name, strength, scheduler), func(t *testing.T) { s.try(t, &a, strength, scheduler) })
			}
		}
	}
	fmt.Println()
	for _, outcome := range s.results {
		fmt.Println(outcome.line())
	}
}
