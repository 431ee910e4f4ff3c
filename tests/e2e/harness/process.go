// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a program that a test started. Its output goes to a log file in the test's folder.
type Process struct {
	Name string
	Log  string

	cmd      *exec.Cmd
	done     chan struct{}
	err      error
	mu       sync.Mutex
	expected bool // somebody here asked it to end
}

// starts runs every fork on one OS thread that lives as long as the test binary: the kernel sends a child its
// parent-death signal when the *thread* that forked it ends, and Go ends threads as it likes.
var starts = sync.OnceValue(func() chan func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range queue {
			start()
		}
	}()
	return queue
})

// Fork starts a command that dies with the test binary, and out of reach of the signals that a terminal sends.
func Fork(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starts() <- func() { started <- c.Start() }
	return <-started
}

// Command describes a program to start.
type Command struct {
	Name string
	Args []string // program and arguments
	Env  []string // added to a small fixed environment
	Dir  string   // where the log goes
	// MayEnd says that the test waits for the end itself; otherwise an end that nobody asked for fails the test.
	MayEnd bool
}

// Start starts a program and arranges for its end with the test, whatever the test's outcome. Should the test binary
// itself be killed, the kernel kills the program.
func Start(t testing.TB, command Command) *Process {
	t.Helper()
	p := &Process{Name: command.Name, Log: filepath.Join(command.Dir, command.Name+".log"), done: make(chan struct{}), expected: command.MayEnd}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s %s\n", time.Now().Format(time.StampMilli), strings.Join(command.Args, " "))
	p.cmd = exec.Command(command.Args[0], command.Args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Dir = command.Dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + command.Dir, "TMPDIR=" + command.Dir}, command.Env...)
	if err := Fork(p.cmd); err != nil {
		t.Fatalf("%s does not start: %v", command.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.mu.Lock()
		expected := p.expected
		p.mu.Unlock()
		if p.Exited() && !expected {
			t.Errorf("%s ended by itself: %v", p.Name, p.err)
		}
		p.Kill()
		if t.Failed() {
			lines := 15
			if strings.HasPrefix(command.Name, "kube-apiserver") || command.Name == "etcd" {
				lines = 4 // seldom where the fault is
			}
			t.Logf("last lines of %s:\n%s", filepath.Base(p.Log), tail(p.Log, lines))
		}
	})
	return p
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited tells whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal and marks the process's end as expected.
func (p *Process) Signal(s os.Signal) {
	p.mu.Lock()
	p.expected = true
	p.mu.Unlock()
	_ = p.cmd.Process.Signal(s) // it may have ended already
}

// Throttle stops the process and lets it go on by turns, until the returned function or the end of the test. The
// process runs then.
func (p *Process) Throttle(t testing.TB, stopped, running time.Duration) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		signal := func(s os.Signal, until time.Duration) {
			_ = p.cmd.Process.Signal(s) // it may have ended
			select {
			case <-ctx.Done():
			case <-time.After(until):
			}
		}
		for ctx.Err() == nil {
			signal(syscall.SIGSTOP, stopped)
			signal(syscall.SIGCONT, running)
		}
	}()
	release = func() {
		cancel()
		<-ended
	}
	t.Cleanup(release)
	return release
}

// Kill ends the process at once, as a crash would, and waits for it.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Wait waits for the end and returns the exit code, -1 for a signal. ok is false when the limit passed first.
func (p *Process) Wait(limit time.Duration) (code int, ok bool) {
	select {
	case <-p.done: // also with a limit of 0, where select would choose at random
	default:
		select {
		case <-p.done:
		case <-time.After(limit):
			return 0, false
		}
	}
	var exit *exec.ExitError
	if p.err == nil {
		return 0, true
	}
	if errors.As(p.err, &exit) {
		return exit.ExitCode(), true
	}
	return -1, true
}

// Output is everything that the process has printed so far, without the harness's own first line.
func (p *Process) Output() string {
	b, _ := os.ReadFile(p.Log)
	var lines []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		if len(line) > 400 {
			lines[i] = line[:400] + "..."
		}
	}
	return strings.Join(lines, "\n")
}

// Eventually polls until done says true, and fails the test with the last account of what is missing if it never does.
func Eventually(t testing.TB, limit time.Duration, what string, done func() (bool, string)) {
	t.Helper()
	end := time.Now().Add(limit)
	for {
		ok, account := done()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s: %s", limit, what, account)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// LockedBuffer takes a program's output while the test reads it.
type LockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
