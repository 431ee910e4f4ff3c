// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"os"
	"testing"
	"time"
)

// Clock is the clock of the day of the programs that are started with its environment. They must read it by libc, as
// programs in Go do not. Time that only passes is as ever.
type Clock struct {
	library, path string
}

// NewClock makes a clock that is right.
func NewClock(t testing.TB, dir string) *Clock {
	t.Helper()
	file := must(os.CreateTemp(dir, "clock-"))(t)
	defer file.Close()
	must(file.Write(make([]byte, 8)))(t)
	return &Clock{environment(t, "BERTH_E2E_CLOCK", "what clock/step_clock.c is compiled to"), file.Name()}
}

// Env is added to a program's environment.
func (c *Clock) Env() []string {
	return []string{"LD_PRELOAD=" + c.library, "STEP_CLOCK_FILE=" + c.path}
}

// Set sets the clock to so much beyond the right time, whole seconds, from now on.
func (c *Clock) Set(t testing.TB, beyond time.Duration) {
	t.Helper()
	file := must(os.OpenFile(c.path, os.O_WRONLY, 0))(t)
	defer file.Close()
	must(file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(beyond/time.Second))), 0))(t)
}
