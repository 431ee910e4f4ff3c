// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"berth-e2e/harness"
)

const (
	memoryLimitMiB = 512
	restartsMax    = 20
)

// guard keeps a scheduler running as a kubelet would: it ends it when it has taken more memory than the limit, and starts
// it again, a second later, whenever it ended.
//
// It is no cgroup: it reads the process's high-water mark of resident memory (VmHWM) every 100 ms. A peak between two
// looks is seen by the second, so that nothing passes that a cgroup would have ended, but it is ended up to 100 ms late.
type guard struct {
	start func() *harness.Process
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	process *harness.Process
	use     use
	pastCPU float64 // of processes that have ended
}

// use is what a scheduler has taken so far.
type use struct {
	rssMiB  float64
	peakMiB float64  // of any of its processes
	cpu     float64  // seconds, of all of them
	ends    []string // each end that nobody asked for
}

func newGuard(start func() *harness.Process) *guard {
	g := &guard{start: start, stop: make(chan struct{}), ended: make(chan struct{})}
	g.process = start()
	go g.watch()
	return g
}

func (g *guard) watch() {
	defer close(g.ended)
	for {
		select {
		case <-g.stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
		g.look()
		if !g.process.Exited() {
			continue
		}
		g.mu.Lock()
		tooMany := len(g.use.ends) > restartsMax
		g.pastCPU = g.use.cpu
		g.mu.Unlock()
		if tooMany {
			return
		}
		select {
		case <-g.stop:
			return
		case <-time.After(time.Second):
		}
		process := g.start()
		g.mu.Lock()
		g.process = process
		g.mu.Unlock()
	}
}

// look reads what the process has taken, and ends it when that is too much.
func (g *guard) look() {
	rss, peak := harness.MemoryMiB(g.process.Pid())
	cpu := harness.CPUSeconds(g.process.Pid())
	g.mu.Lock()
	g.use.rssMiB = rss
	g.use.peakMiB = max(g.use.peakMiB, peak)
	g.use.cpu = max(g.use.cpu, g.pastCPU+cpu)
	g.mu.Unlock()
	end := ""
	if g.process.Exited() {
		code, _ := g.process.Wait(0)
		end = fmt.Sprintf("ended by itself with status %d", code)
	} else if peak > memoryLimitMiB {
		g.process.Kill()
		end = fmt.Sprintf("over %d MiB", memoryLimitMiB)
	}
	if end != "" {
		g.mu.Lock()
		g.use.ends = append(g.use.ends, end)
		g.mu.Unlock()
	}
}

// now is what the scheduler has taken up to now.
func (g *guard) now() use {
	g.mu.Lock()
	defer g.mu.Unlock()
	copied := g.use
	copied.ends = append([]string(nil), g.use.ends...)
	return copied
}

// close ends the scheduler, for good.
func (g *guard) close() {
	g.once.Do(func() {
		close(g.stop)
		<-g.ended
		g.process.Kill()
	})
}

// loadAverage is that of the last minute.
func loadAverage() float64 {
	b, _ := os.ReadFile("/proc/loadavg")
	value, _ := strconv.ParseFloat(strings.SplitN(string(b), " ", 2)[0], 64)
	return value
}
