// SPDX-License-Identifier: Apache-2.0

// Package flags gives kube-scheduler and berth, called as kube-scheduler, the same configuration files and command
// lines, each with --write-config-to, which needs no API server: both must accept or refuse alike and write the same.
package flags

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed cases.yaml
var casesText []byte

// versions are those of Kubernetes that a case is for.
type versions struct {
	Only  string `json:"only"`
	Since string `json:"since"`
	Until string `json:"until"`
}

// have says whether the version, as in 1.37, is one of them. All have as many digits: they compare as texts.
func (v versions) have(version string) bool {
	return (v.Only == "" || v.Only == version) && (v.Since == "" || v.Since <= version) && (v.Until == "" || version <= v.Until)
}

type file struct {
	versions
	Name    string `json:"name"`
	Text    string `json:"text"`
	Whole   bool   `json:"whole"`
	Differs string `json:"differs"`
}

type line struct {
	versions
	Args     []string `json:"args"`
	Accepted bool     `json:"accepted"`
	Bare     bool     `json:"bare"`
	Differs  string   `json:"differs"`
}

type cases struct {
	Valid   []file `json:"valid"`
	Invalid []file `json:"invalid"`
	Lines   []line `json:"lines"`
}

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// outcome is what a program did with a command line.
type outcome struct {
	accepted bool
	written  any // the configuration; nil when none was written
	said     string
}

type programs struct {
	t              *testing.T
	kube, berth    string
	version        string // of Kubernetes, as in 1.37
	dir            string
	differed, runs int
}

func (p *programs) run(program string, args []string, bare bool) outcome {
	p.t.Helper()
	out := filepath.Join(p.dir, "out.yaml")
	_ = os.Remove(out)
	all := args
	if !bare {
		all = append([]string{"--write-config-to=" + out, "--master=http://127.0.0.1:1", "--secure-port=0"}, args...)
	}
	command := exec.Command(program, all...)
	command.WaitDelay = time.Second
	command.Env = []string{"PATH=/usr/bin:/bin"}
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	// A program that would go on to run has not answered the question.
	timer := time.AfterFunc(20*time.Second, func() { _ = command.Process.Kill() })
	err := command.Wait()
	if !timer.Stop() {
		p.t.Fatalf("%s %q did not end: %s", program, args, said.String())
	}
	result := outcome{accepted: err == nil, said: said.String()}
	if status := command.ProcessState.ExitCode(); status != 0 && status != 1 {
		p.t.Errorf("%s %q: exit status %d: %s", program, args, status, said.String())
	}
	if text, err := os.ReadFile(out); err == nil {
		if err := yaml.Unmarshal(text, &result.written); err != nil {
			p.t.Errorf("%s %q wrote no YAML: %v\n%s", program, args, err, text)
		}
	}
	return result
}

// compare runs both with args; input is what the case says, in them or in the file that they name.
func (p *programs) compare(name, input string, args []string, bare, accepted bool, differs string) {
	p.t.Helper()
	p.runs++
	kube := p.run(p.kube, args, bare)
	// It asks nobody here which version to follow.
	berth := p.run(p.berth, append([]string{"--kubernetes-version=" + p.version}, args...), bare)
	if kube.accepted != accepted {
		p.t.Errorf("%s: kube-scheduler accepts: %v, which the table has otherwise: %s", name, kube.accepted, kube.said)
	}
	if !namesDefaultLimit.MatchString(input) {
		allowNoLimit(kube.written, berth.written)
	}
	if differs != "" {
		p.differed++
		if berth.accepted == kube.accepted && reflect.DeepEqual(kube.written, berth.written) {
			p.t.Errorf("%s: a difference is named (%s), and there is none", name, differs)
		}
		return
	}
	if berth.accepted != kube.accepted {
		p.t.Errorf("%s: kube-scheduler accepts: %v, berth: %v\nkube-scheduler: %s\nberth: %s", name, kube.accepted, berth.accepted, kube.said, berth.said)
		return
	}
	if !berth.accepted && strings.Count(strings.TrimSpace(berth.said), "\n") > 3 {
		p.t.Errorf("%s: berth says too much:\n%s", name, berth.said)
	}
	if !reflect.DeepEqual(kube.written, berth.written) {
		theirs, _ := yaml.Marshal(kube.written)
		ours, _ := yaml.Marshal(berth.written)
		p.t.Errorf("%s: written otherwise:\n%s", name, firstDifference(string(theirs), string(ours)))
	}
}

var namesDefaultLimit = regexp.MustCompile(`qps(: |=)50\b`)

// allowNoLimit gives kube-scheduler's configuration the one thing in which berth's differs everywhere: without qps, or
// with a negative one, berth sends requests without a limit and writes -1, and a burst only where one was asked for.
func allowNoLimit(kube, berth any) {
	theirs, ours := clientConnection(kube), clientConnection(berth)
	if theirs == nil || ours["qps"] != -1.0 || (theirs["qps"] != 50.0 && theirs["qps"] != -1.0) {
		return
	}
	theirs["qps"] = -1.0
	if _, asked := ours["burst"]; !asked {
		delete(theirs, "burst")
	}
}

func clientConnection(written any) map[string]any {
	fields, _ := written.(map[string]any)
	connection, _ := fields["clientConnection"].(map[string]any)
	return connection
}

func firstDifference(theirs, ours string) string {
	a, b := strings.Split(theirs, "\n"), strings.Split(ours, "\n")
	for i := 0; i < len(a) || i < len(b); i++ {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(0, i-4)
			return fmt.Sprintf("kube-scheduler:\n%s\nberth:\n%s", strings.Join(a[from:min(len(a), i+4)], "\n"), strings.Join(b[from:min(len(b), i+4)], "\n"))
		}
	}
	return ""
}

func TestSideBySide(t *testing.T) {
	var table cases
	if err := yaml.UnmarshalStrict(casesText, &table); err != nil {
		t.Fatal(err)
	}
	version := strings.Split(strings.TrimPrefix(os.Getenv("BERTH_E2E_KUBERNETES"), "v"), ".")
	if len(version) != 3 {
		t.Fatal("BERTH_E2E_KUBERNETES is not set to a version (what controlplane.sh version prints); run.sh sets it")
	}
	p := &programs{t: t, version: version[0] + "." + version[1], kube: filepath.Join(os.Getenv("BERTH_E2E_CONTROLPLANE"), "kube-scheduler"), dir: t.TempDir()}
	p.berth = filepath.Join(p.dir, "kube-scheduler")
	if err := os.Symlink(os.Getenv("BERTH_BINARY"), p.berth); err != nil {
		t.Fatal(err)
	}
	files := func(kind string, list []file, accepted bool) {
		for i, each := range list {
			if !each.have(p.version) {
				continue
			}
			text := each.Text
			if !each.Whole {
				text = head + text
			}
			path := filepath.Join(p.dir, fmt.Sprintf("%s-%d.yaml", kind, i))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			p.compare(kind+": "+each.Name, text, []string{"--config=" + path}, false, accepted, each.Differs)
		}
	}
	files("valid", table.Valid, true)
	files("invalid", table.Invalid, false)

	good := filepath.Join(p.dir, "good.yaml")
	if err := os.WriteFile(good, []byte(head+"leaderElection: {resourceName: from-file}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, each := range table.Lines {
		if !each.have(p.version) {
			continue
		}
		var args []string
		for _, arg := range each.Args {
			args = append(args, strings.ReplaceAll(arg, "FILE", good))
		}
		p.compare(fmt.Sprintf("%q", each.Args), strings.Join(args, " "), args, each.Bare, each.Accepted, each.Differs)
	}
	t.Logf("%d runs of each program; %d differences, each with its reason", p.runs, p.differed)
	if len(table.Valid) < 60 || len(table.Invalid) < 60 || len(table.Lines) < 40 {
		t.Errorf("%d valid files, %d invalid ones, %d lines: there should be 60, 60 and 40", len(table.Valid), len(table.Invalid), len(table.Lines))
	}
}
