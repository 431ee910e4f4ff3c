// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Sample is what was seen in ten seconds. Created, Bound, Errors and Faults count from the beginning.
type Sample struct {
	Seconds   float64 `json:"seconds"`
	RSSMiB    float64 `json:"rss_mib"`
	FDs       int     `json:"fds"`
	Threads   int     `json:"threads"`
	CPU       float64 `json:"cpu_s"`
	ServerMiB float64 `json:"apiserver_rss_mib"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Slowest   float64 `json:"slowest_ms"`
	Created   int64   `json:"created"`
	Bound     int64   `json:"bound"`
	Late      int     `json:"late"` // fit, and have waited for more than 10 s
	Pods      int     `json:"pods"`
	Errors    int64   `json:"errors"` // of the load's own requests
	Faults    int64   `json:"faults"`
}

const clockTicks = 100 // a second: USER_HZ

func (s *Sample) readProcess(pid int) error {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	s.FDs = len(entries)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 18 {
		return errors.New("/proc/PID/stat is short")
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	s.CPU = (user + system) / clockTicks
	s.Threads, _ = strconv.Atoi(fields[17])
	s.RSSMiB = residentMiB(pid)
	return nil
}

func residentMiB(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

func readSamples(path string) ([]Sample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var samples []Sample
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// What grows is the median of a quarter of the run, the last, against that of another, the second: the first is the start.
// Errors name each that does.
func judge(samples []Sample, left int) error {
	if len(samples) < 8 {
		return errors.New("too short to tell what grows: 80 seconds at least")
	}
	quarter := len(samples) / 4
	median := func(part []Sample, of func(Sample) float64) float64 {
		values := make([]float64, len(part))
		for i, s := range part {
			values[i] = of(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	var problems []string
	check := func(name string, of func(Sample) float64, factor, more float64) {
		before, after := median(samples[quarter:2*quarter], of), median(samples[len(samples)-quarter:], of)
		fmt.Printf("%-24s %8.1f in the second quarter, %8.1f in the last\n", name, before, after)
		if after > before*factor+more {
			problems = append(problems, fmt.Sprintf("%s grew from %.1f to %.1f", name, before, after))
		}
	}
	check("resident memory (MiB)", func(s Sample) float64 { return s.RSSMiB }, 1.05, 2)
	check("file descriptors", func(s Sample) float64 { return float64(s.FDs) }, 1, 4)
	check("threads", func(s Sample) float64 { return float64(s.Threads) }, 1, 0)
	check("p50 (ms)", func(s Sample) float64 { return s.P50 }, 1.25, 2)
	check("p99 (ms)", func(s Sample) float64 { return s.P99 }, 1.25, 20)
	last := samples[len(samples)-1]
	fmt.Printf("%d pods made, %d bound, %d faults, %.0f s of CPU\n", last.Created, last.Bound, last.Faults, last.CPU)
	if left > 0 {
		problems = append(problems, fmt.Sprintf("%d pods that fit were not bound half a minute after the last was made", left))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
