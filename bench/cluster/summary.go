// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// line is what the summary reads of a run's JSON line.
type line struct {
	Label      string
	Workload   string
	Order      string
	Nodes      int
	Existing   int
	Pods       int
	Unbound    int
	Throughput float64 `json:"throughput_pods_s"`
	Window     float64 `json:"window_s"`
	Scheduler  json.RawMessage
	Machine    struct {
		CPUs  float64 `json:"cpus"`
		Other float64 `json:"other_cpu_s"`
	}
	Verify verdict
}

// summarize prints the medians of each label's runs and, under them, the first label's as parts of the others'.
func summarize(in io.Reader, out io.Writer) error {
	type figures struct{ throughput, cpu, rss []float64 }
	labels, runs := []string{}, map[string]*figures{}
	var first line
	disturbed := 0
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return err
		}
		// The field is the kind of scheduler when nothing could be measured of its process, and the process's figures else.
		var p procReport
		if err := json.Unmarshal(l.Scheduler, &p); err != nil {
			return fmt.Errorf("%s: no figures of the scheduler's process", l.Label)
		}
		if first.Workload == "" {
			first = l
		}
		if l.Workload != first.Workload || l.Nodes != first.Nodes || l.Existing != first.Existing || l.Pods != first.Pods || l.Order != first.Order {
			return fmt.Errorf("%s: runs of different sizes do not compare", l.Label)
		}
		if l.Unbound > 0 || l.Verify.Overcommitted > 0 || l.Verify.UnknownNode > 0 || l.Verify.Violations > 0 {
			return fmt.Errorf("%s: %d pods unbound, %+v: not a run to compare", l.Label, l.Unbound, l.Verify)
		}
		if l.Machine.Other > 0.05*l.Window*l.Machine.CPUs {
			disturbed++
		}
		f := runs[l.Label]
		if f == nil {
			f = &figures{}
			runs[l.Label], labels = f, append(labels, l.Label)
		}
		f.throughput, f.cpu, f.rss = append(f.throughput, l.Throughput), append(f.cpu, p.CPUPer1000), append(f.rss, p.Peak)
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if len(labels) == 0 {
		return fmt.Errorf("no runs")
	}
	fmt.Fprintf(out, "%s, %d nodes, %d existing and %d measured pods, %s; medians of %d runs each\n",
		first.Workload, first.Nodes, first.Existing, first.Pods, first.Order, len(runs[labels[0]].cpu))
	const row = "%-28s %10s %16s %14s\n"
	fmt.Fprintf(out, row, "scheduler", "pods/s", "CPU s/1000 pods", "peak RSS MiB")
	for _, label := range labels {
		f := runs[label]
		fmt.Fprintf(out, row, label, fmt.Sprintf("%.1f", median(f.throughput)), fmt.Sprintf("%.4f", median(f.cpu)), fmt.Sprintf("%.1f", median(f.rss)))
	}
	for _, label := range labels[1:] {
		a, b := runs[labels[0]], runs[label]
		fmt.Fprintf(out, row, labels[0]+" / "+label, fmt.Sprintf("%.2f", median(a.throughput)/median(b.throughput)),
			part(median(a.cpu), median(b.cpu)), part(median(a.rss), median(b.rss)))
	}
	if disturbed > 0 {
		fmt.Fprintf(out, "In %d runs something else took more than 5 %% of the machine: measure again on a quiet one.\n", disturbed)
	}
	return nil
}

// part writes a ratio below one as 1/n, which is how such a figure is spoken of.
func part(a, b float64) string {
	if a > 0 && a < b {
		return fmt.Sprintf("1/%.1f", b/a)
	}
	return fmt.Sprintf("%.2f", a/b)
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
