// SPDX-License-Identifier: Apache-2.0

// The descheduler itself, asked which pods it would evict: its own policy decoding, framework and plugins (0.36) on a
// fake client, with nodes and the pods of a node in a fixed order.
//
//	gen -seed N -count N [-strategy NAME]   new clusters and policies, one case a line on standard output
//	serve                                   answers cases from standard input, one a line
//
// README.md describes a case.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
)

// lineBytesMax bounds a case on standard input.
const lineBytesMax = 16 << 20

func main() {
	klog.SetLogger(klog.Logger{})
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	pluginregistry.PluginRegistry = pluginregistry.NewRegistry()
	descheduler.RegisterDefaultPlugins(pluginregistry.PluginRegistry)
	if len(os.Args) < 2 {
		fail("usage: gen | serve")
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch os.Args[1] {
	case "gen":
		flags := flag.NewFlagSet("gen", flag.ExitOnError)
		seed := flags.Int64("seed", 1, "of the first case; each case has its own")
		count := flags.Int("count", 10, "cases")
		strategy := flags.String("strategy", "", "only this one; empty: all in turn, and several together")
		if err := flags.Parse(os.Args[2:]); err != nil {
			fail(err.Error())
		}
		generate(out, *seed, *count, *strategy)
	case "serve":
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(make([]byte, 1<<20), lineBytesMax)
		for in.Scan() {
			var asked testCase
			if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
				fail(err.Error())
			}
			write(out, answered(&asked))
			out.Flush()
		}
	default:
		fail("usage: gen | serve")
	}
}

// answered runs the case; a panic of a plugin is an answer, too.
func answered(asked *testCase) (answer *testCase) {
	defer func() {
		if broken := recover(); broken != nil {
			asked.Error = fmt.Sprintf("panic: %v %s", broken, debug.Stack())
			answer = asked
		}
	}()
	if err := run(asked); err != nil {
		asked.Error = err.Error()
	}
	return asked
}

func write(out *bufio.Writer, done *testCase) {
	line, err := json.Marshal(done)
	if err != nil {
		fail(err.Error())
	}
	out.Write(line)
	out.WriteByte('\n')
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "descheduler oracle: "+why)
	os.Exit(1)
}

type discard struct{}

func (discard) Write(bytes []byte) (int, error) { return len(bytes), nil }
