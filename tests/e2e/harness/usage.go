// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryMiB is a process's resident memory and the most that it ever was; 0 when there is no such process.
func MemoryMiB(pid int) (rss, peak float64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.SplitSeq(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			rss = value / 1024
		case "VmHWM:":
			peak = value / 1024
		}
	}
	return rss, peak
}

// CPUSeconds is the user and system time of a process, without its children; 0 when there is no such process.
func CPUSeconds(pid int) float64 {
	const ticks = 100 // USER_HZ, on every Linux that matters here
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// WakeUps is how often the threads of a process have gone to sleep by themselves, to be woken by an event or a timer.
// Threads that have ended are not in it.
func WakeUps(pid int) int64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	sum := int64(0)
	for _, file := range files {
		b, _ := os.ReadFile(file)
		for line := range strings.SplitSeq(string(b), "\n") {
			if value, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				sum += n
			}
		}
	}
	return sum
}
