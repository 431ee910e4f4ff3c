// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// How long a cluster may take to settle.
const settleMax = 5 * time.Minute

var errInterrupted = errors.New("interrupted")

// result is a line of the output: one side in one scenario.
type result struct {
	Scenario         string  `json:"scenario"`
	Side             string  `json:"side"`
	Nodes            int     `json:"nodes"`
	Pods             int     `json:"pods"`
	ViolationsBefore int     `json:"violations_before"`
	MendableBefore   int     `json:"mendable_before"`
	ViolationsLeft   int     `json:"violations_left"`
	MendableLeft     int     `json:"mendable_left"`
	Evictions        int     `json:"evictions"`
	CameBack         int     `json:"came_back"`
	PendingLeft      int     `json:"pending_left"`
	BudgetsBroken    int     `json:"budgets_broken"`
	OtherDeletions   int     `json:"other_deletions"`
	MissingSeconds   float64 `json:"missing_replica_s"`
	WithoutSeconds   float64 `json:"without_any_replica_s"`
	PendingSeconds   float64 `json:"pending_pod_s"`
	NodesFreed       int     `json:"nodes_freed"`
	NodesDrained     int     `json:"nodes_drained"`
	Rounds           int     `json:"rounds"`
	IsQuiet          bool    `json:"is_quiet"`
	Seconds          float64 `json:"seconds"`
	IntervalSeconds  float64 `json:"interval_s"`
}

// stage is a running control plane with its pods.
type stage struct {
	*controlPlane
	*observer
	ctx    context.Context
	cancel context.CancelFunc
}

func openStage(s *settings, dir string, made *shape) (*stage, error) {
	st := &stage{}
	plane, err := startControlPlane(s, dir)
	st.controlPlane = plane
	st.ctx, st.cancel = context.WithCancel(context.Background())
	if err != nil {
		st.close()
		return nil, err
	}
	st.observer = observe(st.ctx, plane.client, made)
	return st, nil
}

func (st *stage) close() {
	st.cancel()
	st.stop()
}

// waitSettled waits until all pods are ready, and have been for a moment.
func (st *stage) waitSettled(ended <-chan os.Signal) error {
	began, calm := time.Now(), 0
	var why string
	for time.Since(began) < settleMax {
		select {
		case <-ended:
			return errInterrupted
		case <-time.After(500 * time.Millisecond):
		}
		var is bool
		if is, why = st.settled(); is {
			if calm++; calm >= 6 {
				return nil
			}
			continue
		}
		calm = 0
	}
	return fmt.Errorf("the cluster does not settle: %s", why)
}

// state is a cluster that waits to be rebalanced: etcd's data, and what is in it.
type state struct {
	made *shape
	dir  string
}

// makeState has kube-scheduler place the pods, lets happen what happens, and keeps etcd's data.
func makeState(s *settings, of *scenario, ended <-chan os.Signal) (*state, error) {
	began := time.Now()
	dir := filepath.Join(s.work, of.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	made := newShape(s, of)
	st, err := openStage(s, dir, made)
	if err != nil {
		return nil, err
	}
	defer st.close()
	if err := made.apply(st.ctx, st.controlPlane.client); err != nil {
		return nil, err
	}
	scheduler, err := st.startKubeScheduler(s)
	if err != nil {
		return nil, err
	}
	defer scheduler.stop()
	if err := inParallel(len(made.owners), func(i int) error { return made.owners[i].create(st.ctx, st.controlPlane.client) }); err != nil {
		return nil, err
	}
	if err := st.waitSettled(ended); err != nil {
		return nil, err
	}
	for _, change := range of.changes {
		for i, n := range made.nodes {
			change(float64(i)/float64(s.nodes), n)
		}
		if err := made.apply(st.ctx, st.controlPlane.client); err != nil {
			return nil, err
		}
		if err := st.waitSettled(ended); err != nil {
			return nil, err
		}
	}
	say("%s: %d nodes and %d pods after %.0f s", of.name, s.nodes, s.pods, time.Since(began).Seconds())
	return &state{made, dir}, nil
}

// side starts who moves pods, and the scheduler that goes with it.
type side struct {
	name  string
	start func(st *stage, s *settings, of *scenario) ([]*process, error)
}

var sides = []side{
	{"descheduler", func(st *stage, s *settings, of *scenario) ([]*process, error) {
		scheduler, err := st.startKubeScheduler(s)
		if err != nil {
			return nil, err
		}
		mover, err := start(st.dir, "descheduler", s.descheduler, "--kubeconfig="+st.kubeconfig, "--policy-config-file="+st.policy(of.policy),
			"--descheduling-interval="+s.interval.String(), "--secure-port=0", "--disable-metrics", "--client-connection-qps=5000",
			"--client-connection-burst=10000", "-v=2")
		return []*process{scheduler, mover}, err
	}},
	{"berth", func(st *stage, s *settings, of *scenario) ([]*process, error) {
		both, err := start(st.dir, "berth", s.berth, "run", "--kubeconfig="+st.kubeconfig, "--leader-elect=false", "--secure-port=0",
			"--rebalance="+st.policy(cmp.Or(of.berthPolicy, of.policy)), "--rebalance-execute", "--rebalance-interval="+s.interval.String(),
			"--rebalance-cool-down=0s", "--rebalance-moves-per-hour=2000")
		return []*process{both}, err
	}},
	{"berth-beside", func(st *stage, s *settings, of *scenario) ([]*process, error) {
		scheduler, err := st.startKubeScheduler(s)
		if err != nil {
			return nil, err
		}
		mover, err := start(st.dir, "berth", s.berth, "rebalance", "run", "--kubeconfig="+st.kubeconfig, "--leader-elect=false",
			"--policy="+st.policy(cmp.Or(of.berthPolicy, of.policy)), "--execute", "--interval="+s.interval.String(),
			"--cool-down=0s", "--moves-per-hour=2000")
		return []*process{scheduler, mover}, err
	}},
}

func sideNames() []string {
	var names []string
	for _, of := range sides {
		names = append(names, of.name)
	}
	return names
}

// policy writes it into a file.
func (st *stage) policy(text string) string {
	path := filepath.Join(st.dir, "policy.yaml")
	_ = os.WriteFile(path, []byte(text), 0o644) // who reads it says that it is not there
	return path
}

// measureSide gives a copy of the cluster to a side, and looks on until it is quiet.
func measureSide(s *settings, of *scenario, made *state, name string, ended <-chan os.Signal) (result, error) {
	r := result{Scenario: of.name, Side: name, Nodes: s.nodes, Pods: s.pods, IntervalSeconds: s.interval.Seconds()}
	dir := made.dir + "-" + name
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	if err := os.CopyFS(filepath.Join(dir, "etcd"), os.DirFS(filepath.Join(made.dir, "etcd"))); err != nil {
		return r, err
	}
	st, err := openStage(s, dir, made.made)
	if err != nil {
		return r, err
	}
	defer st.close()
	if err := st.waitSettled(ended); err != nil {
		return r, err
	}
	before := st.look()
	withPods, drain := before.nodesTaken()
	found := of.violations(before)
	r.ViolationsBefore, r.MendableBefore = found.all, found.mendable

	st.begin()
	processes, err := sides[slices.IndexFunc(sides, func(of side) bool { return of.name == name })].start(st, s, of)
	defer func() {
		for _, p := range processes {
			p.stop()
		}
	}()
	if err != nil {
		return r, err
	}
	if err := st.waitQuiet(s, processes, ended, &r); err != nil {
		return r, err
	}
	after := st.look()
	r.PendingLeft = after.pending
	withPodsAfter, drainAfter := after.nodesTaken()
	r.NodesFreed, r.NodesDrained = withPods-withPodsAfter, drain-drainAfter
	left := of.violations(after)
	r.ViolationsLeft, r.MendableLeft = left.all, left.mendable
	return r, nil
}

// waitQuiet fills in what was measured until nothing was evicted for a while, or the last round has gone.
func (st *stage) waitQuiet(s *settings, processes []*process, ended <-chan os.Signal, r *result) error {
	for {
		select {
		case <-ended:
			return errInterrupted
		case <-time.After(200 * time.Millisecond):
		}
		for _, p := range processes {
			if p.ended() {
				return fmt.Errorf("%s has ended; see %s", p.name, filepath.Join(st.dir, p.name+".log"))
			}
		}
		m := st.taken()
		since := time.Since(m.began)
		last := m.lastEviction
		if last.IsZero() {
			last = m.began
		}
		settled, _ := st.settled()
		quiet := time.Since(last) >= s.quiet && (settled || time.Since(last) >= 2*s.quiet)
		// The first round may take a moment to come.
		if m.evictions == 0 && since < 2*s.quiet {
			continue
		}
		if !quiet && since < time.Duration(s.roundsMax)*s.interval {
			continue
		}
		r.IsQuiet = time.Since(last) >= s.quiet
		r.Evictions, r.CameBack, r.BudgetsBroken, r.OtherDeletions = m.evictions, m.cameBack, m.budgetsBroken, m.deletions
		r.MissingSeconds, r.WithoutSeconds, r.PendingSeconds = tenth(m.missing), tenth(m.without), tenth(m.pendingWaits)
		r.Seconds = tenth(since.Seconds())
		if m.evictions > 0 {
			r.Rounds = int(last.Sub(m.began)/s.interval) + 1
		}
		return nil
	}
}

func tenth(x float64) float64 { return math.Round(x*10) / 10 }

// printTable has a line for each side of a scenario, as Markdown.
func printTable(out io.Writer, results []result) {
	lines := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	head := []string{"scenario", "who", "violations", "left", "a move could mend", "evictions", "came back", "pending", "budgets broken",
		"replica seconds missing", "seconds without any", "nodes drained", "rounds"}
	fmt.Fprintf(lines, "| %s\t|\n", strings.Join(head, "\t| "))
	fmt.Fprintf(lines, "|%s\n", strings.Repeat("---\t|", len(head)))
	for _, r := range results {
		rounds := fmt.Sprint(r.Rounds)
		if !r.IsQuiet {
			rounds = "never quiet"
		}
		drained := "–"
		if r.Scenario == "taint-added" {
			drained = fmt.Sprint(r.NodesDrained)
		}
		cells := []string{r.Scenario, r.Side}
		for _, value := range []int{r.ViolationsBefore, r.ViolationsLeft, r.MendableLeft, r.Evictions, r.CameBack, r.PendingLeft, r.BudgetsBroken} {
			cells = append(cells, fmt.Sprint(value))
		}
		cells = append(cells, fmt.Sprintf("%.0f", r.MissingSeconds), fmt.Sprintf("%.0f", r.WithoutSeconds), drained, rounds)
		fmt.Fprintf(lines, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	_ = lines.Flush()
}
