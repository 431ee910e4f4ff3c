// SPDX-License-Identifier: Apache-2.0

// Rebalancing side by side: the same cluster and the same change are given to the descheduler with kube-scheduler and to
// berth with --rebalance, on the real control plane with a real kube-controller-manager, and what happens to the pods is
// watched from outside. README.md describes scenarios and measures. One line of JSON a run on -out, a table at the end.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings of a run of the program.
type settings struct {
	scenarios   []string
	sides       []string
	nodes, pods int
	interval    time.Duration
	quiet       time.Duration // without an eviction, after which a side is quiet
	roundsMax   int           // after which it is not
	out         string
	work        string // scratch folder
	bin         string // of the control plane's programs
	descheduler string
	berth       string
}

// Processes end with the thread that started them: that is the main one.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench/descheduler:", err)
		os.Exit(1)
	}
}

func readFlags() (settings, error) {
	var s settings
	only := flag.String("scenario", "", "of these scenarios alone, separated by commas: "+strings.Join(scenarioNames(), ", "))
	sides := flag.String("side", "descheduler,berth", "who moves pods, separated by commas: "+strings.Join(sideNames(), ", "))
	table := flag.String("table", "", "print the table of this file of results, and do nothing else")
	flag.IntVar(&s.nodes, "nodes", 100, "nodes of the whole cluster, 10 at least")
	flag.IntVar(&s.pods, "pods", 1500, "pods")
	flag.DurationVar(&s.interval, "interval", 10*time.Second, "between two rounds, for both")
	flag.DurationVar(&s.quiet, "quiet", 40*time.Second, "so long without an eviction is quiet; longer than berth's 30 seconds after a refusal")
	flag.IntVar(&s.roundsMax, "rounds", 30, "who is not quiet after so many rounds never is")
	flag.StringVar(&s.out, "out", "build/bench/descheduler.jsonl", "file to which results are appended")
	flag.StringVar(&s.bin, "bin", "", "folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
	flag.StringVar(&s.descheduler, "descheduler", "", "the descheduler's program")
	flag.StringVar(&s.berth, "berth", "", "berth's program")
	flag.Parse()
	if *table != "" {
		results, err := readResults(*table)
		if err == nil {
			printTable(os.Stdout, results)
		}
		return s, cmp.Or(err, errDone)
	}
	s.scenarios, s.sides = scenarioNames(), strings.Split(*sides, ",")
	if *only != "" {
		s.scenarios = strings.Split(*only, ",")
	}
	for _, name := range s.scenarios {
		if scenarioNamed(name) == nil {
			return s, fmt.Errorf("-scenario: %q is none of %s", name, strings.Join(scenarioNames(), ", "))
		}
	}
	for _, name := range s.sides {
		if !slices.Contains(sideNames(), name) {
			return s, fmt.Errorf("-side: %q is none of %s", name, strings.Join(sideNames(), ", "))
		}
	}
	if s.nodes < 10 || s.pods < s.nodes || s.interval < time.Second || s.quiet < 2*s.interval {
		return s, errors.New("10 nodes at least, a pod a node, a second between rounds, and two rounds of quiet")
	}
	for _, program := range []string{s.berth, s.descheduler, filepath.Join(s.bin, "kube-apiserver")} {
		if _, err := os.Stat(program); err != nil {
			return s, fmt.Errorf("a program is missing (./dev bench descheduler builds them): %w", err)
		}
	}
	return s, nil
}

var errDone = errors.New("done")

func run() error {
	s, err := readFlags()
	if errors.Is(err, errDone) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.work, err = os.MkdirTemp("", "bench-descheduler-"); err != nil {
		return err
	}
	// Logs and data of a run that failed stay.
	if err = os.MkdirAll(filepath.Dir(s.out), 0o755); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	var results []result
	for _, name := range s.scenarios {
		of, err := runScenario(&s, scenarioNamed(name), ended)
		results = append(results, of...)
		if err != nil {
			return fmt.Errorf("%s: %w (logs are in %s)", name, err, s.work)
		}
	}
	printTable(os.Stdout, results)
	return os.RemoveAll(s.work)
}

// runScenario makes the cluster once, and gives a copy of it to each side.
func runScenario(s *settings, of *scenario, ended <-chan os.Signal) ([]result, error) {
	made, err := makeState(s, of, ended)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, side := range s.sides {
		r, err := measureSide(s, of, made, side, ended)
		if err != nil {
			return results, fmt.Errorf("%s: %w", side, err)
		}
		results = append(results, r)
		if err := appendResult(s.out, r); err != nil {
			return results, err
		}
		say("%s, %s: %d evictions, %d of %d violations left", of.name, side, r.Evictions, r.ViolationsLeft, r.ViolationsBefore)
	}
	return results, nil
}

func appendResult(path string, r result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	return err
}

func readResults(path string) ([]result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var results []result
	for line := range strings.Lines(string(text)) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func say(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, values...)...)
}
