// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// What has to hold while an attack goes on, and after it.
const (
	p99Max     = time.Second      // ordinary pods, from when a watch brings them until it brings their binding
	deafMax    = 30 * time.Second // after a fault between scheduler and API server
	heldMaxMiB = 64               // more memory than before, a minute after the attacker's objects are gone
)

// result is what one attack did to one scheduler: a line of JSON.
type result struct {
	Attack    string     `json:"attack"`
	Strength  int        `json:"strength"`
	Unit      string     `json:"unit"`
	Scheduler string     `json:"scheduler"`
	Version   string     `json:"version"`
	Date      string     `json:"date"`
	Cores     int        `json:"cores"`
	Load      [2]float64 `json:"load"`    // average of a minute, before and after
	Seconds   float64    `json:"seconds"` // that the attack lasted

	// From the answer to the pod's creation until it was seen with a node, in seconds.
	Pods       int     `json:"pods"`
	P50        float64 `json:"p50_s"`
	P99        float64 `json:"p99_s"`
	Slowest    float64 `json:"slowest_s"`
	NeverBound int     `json:"never_bound"`
	CreateP99  float64 `json:"create_p99_s"` // what the API server itself took to create one
	WatchP99   float64 `json:"watch_p99_s"`  // and until a watch of the suite's own brought it, before any scheduler's part
	OwnP99     float64 `json:"own_p99_s"`    // from then on, until it was seen with a node

	Tenant *reported `json:"told_tenant,omitempty"` // of the attacker's pods, how many have a condition that says why they wait
	Others *reported `json:"told_others,omitempty"` // of other pods, how many have a condition or event that says what became of them

	BeforeMiB float64  `json:"before_mib"`
	PeakMiB   float64  `json:"peak_mib"`
	AfterMiB  float64  `json:"after_mib"` // when the attacker's objects are gone, a minute later at most
	CPU       float64  `json:"cpu_s"`
	Ends      []string `json:"ends,omitempty"`

	Notes  []string `json:"notes,omitempty"`
	Faults []string `json:"faults,omitempty"` // what did not hold; empty: all did
	// Why this attack was not tried with this scheduler; all else is empty then.
	NotTried string `json:"not_tried,omitempty"`
}

type reported struct {
	Reported int `json:"told"`
	Of       int `json:"of"`
}

// takeOrdinary counts the pods of a stream. Those that were never bound are as slow as the time up to now.
func (r *result) takeOrdinary(pods map[string]ordinaryPod, now time.Time) {
	var waits, creations, watches, owns []time.Duration
	for _, pod := range pods {
		end := pod.bound
		if end.IsZero() {
			r.NeverBound++
			end = now
		}
		waits = append(waits, max(0, end.Sub(pod.acked)))
		creations = append(creations, pod.acked.Sub(pod.sent))
		seen := pod.seen
		if seen.IsZero() || seen.Before(pod.acked) {
			seen = pod.acked
		}
		watches = append(watches, seen.Sub(pod.acked))
		owns = append(owns, max(0, end.Sub(seen)))
	}
	r.Pods = len(waits)
	r.P50, r.P99, r.Slowest = percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 1)
	r.CreateP99, r.WatchP99, r.OwnP99 = percentile(creations, 0.99), percentile(watches, 0.99), percentile(owns, 0.99)
}

// percentile in seconds, by nearest rank; 0 of nothing.
func percentile(values []time.Duration, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.SortFunc(values, cmp.Compare)
	rank := int(math.Ceil(part*float64(len(values)))) - 1
	return math.Round(values[max(0, rank)].Seconds()*1000) / 1000
}

// judge says what did not hold.
func (r *result) judge(deaf bool) {
	fault := func(format string, values ...any) { r.Faults = append(r.Faults, fmt.Sprintf(format, values...)) }
	if r.NeverBound > 0 {
		fault("%d of %d ordinary pods were not bound", r.NeverBound, r.Pods)
	}
	if deaf {
		if r.Slowest > deafMax.Seconds() {
			fault("deaf for %.0f s", r.Slowest)
		}
	} else if r.OwnP99 > p99Max.Seconds() {
		// Not P99: nobody schedules a pod that the API server's watch has not brought yet.
		fault("an ordinary pod in a hundred waited %.1f s", r.OwnP99)
	}
	for _, one := range []struct {
		who      string
		reported *reported
	}{{"the tenant's pods", r.Tenant}, {"the other pods", r.Others}} {
		if one.reported != nil && one.reported.Reported < one.reported.Of {
			fault("%d of %d of %s are told", one.reported.Reported, one.reported.Of, one.who)
		}
	}
	if len(r.Ends) > 0 {
		fault("ended %d times (%s)", len(r.Ends), strings.Join(slices.Compact(slices.Clone(r.Ends)), ", "))
	}
	if held := r.AfterMiB - r.BeforeMiB; held > heldMaxMiB && len(r.Ends) == 0 {
		fault("holds %.0f MiB more than before", held)
	}
}

// line is the result for somebody who looks on.
func (r *result) line() string {
	name := fmt.Sprintf("%-22s %6d  %-14s ", r.Attack, r.Strength, r.Scheduler)
	if r.NotTried != "" {
		return name + "not tried: " + r.NotTried
	}
	verdict := "holds"
	if len(r.Faults) > 0 {
		verdict = "FAILS: " + strings.Join(r.Faults, "; ")
	}
	return name + fmt.Sprintf("p50 %5.2f p99 %5.2f (after the watch %5.2f) slowest %5.1f s, %d of %d not bound, %3.0f/%3.0f/%3.0f MiB, %4.1f CPU s in %2.0f s: %s",
		r.P50, r.P99, r.OwnP99, r.Slowest, r.NeverBound, r.Pods, r.BeforeMiB, r.PeakMiB, r.AfterMiB, r.CPU, r.Seconds, verdict)
}
