// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What the sources of a small kube-scheduler look like.
var sources = map[string]string{
	"kubernetes/pkg/scheduler/apis/config/v1/default_plugins.go": `package v1
func getDefaultPlugins() *v1.Plugins {
	plugins := &v1.Plugins{MultiPoint: v1.PluginSet{Enabled: []v1.Plugin{
		{Name: names.PrioritySort}, // first
		{Name: names.ImageLocality, Weight: ptr.To[int32](1)},
	}}}
	applyFeatureGates(plugins)
	return plugins
}
func applyFeatureGates(config *v1.Plugins) {
	if utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		applyGangScheduling(config)
	}
}
`,
	"kubernetes/pkg/features/kube_features.go": `package features
var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	Gangs: {
		{Version: version.MustParse("1.35"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.37"), Default: true, LockToDefault: true, PreRelease: featuregate.GA}, // gone in 1.40
	},
}
var dependencies = map[featuregate.Feature][]featuregate.Feature{Gangs: {Workloads}}
`,
	"kubernetes/cmd/kube-scheduler/app/options/options.go": `package options
func add(fs *pflag.FlagSet) {
	fs.StringVar(&o.Master, "master", "", "help")
	fs.Var(o.Gates, "feature-gates", "help")
}
`,
	"kubernetes/pkg/scheduler/metrics/metrics.go": `package metrics
func InitMetrics() {
	x = metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: "scheduler", Name: "attempts_total", Help: "help", StabilityLevel: metrics.STABLE}, []string{"result"})
}
`,
	"kubernetes/pkg/scheduler/one.go": `package scheduler
const ErrReasonPorts = "no free ports"
var other = "no text"
func fail() {
	fwk.EventRecorder().Eventf(pod, nil, v1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v", pod.Name)
	return fwk.NewStatus(fwk.Unschedulable, "cannot allocate all claims")
}
func find() error { return fmt.Errorf("claim %s is gone", name) }
`,
	"kubernetes/pkg/scheduler/one_test.go": `package scheduler
const ErrReasonTest = "of a test"
`,
}

var lines = []string{
	"plugin getDefaultPlugins: {Name: names.PrioritySort}",
	"plugin getDefaultPlugins: {Name: names.ImageLocality, Weight: ptr.To[int32](1)}",
	"plugin applyFeatureGates: if utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) { applyGangScheduling(config) }",
	`gate Gangs: {{"1.35", false, Alpha}, {"1.37", true, locked, GA}}`,
	`flag "feature-gates" Var`,
	`flag "master" StringVar ""`,
	`metric NewCounterVec "scheduler" "attempts_total" metrics.STABLE []string{"result"}`,
	`event v1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v", pod.Name`,
	`text "cannot allocate all claims"`,
	`text "claim %s is gone"`,
	`text "no free ports"`,
}

// listOf writes sources into a folder and lists them.
func listOf(t *testing.T, sources map[string]string) []string {
	t.Helper()
	root := t.TempDir()
	for name, text := range sources {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := list(func(module string) (string, error) { return filepath.Join(root, filepath.Base(module)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestList(t *testing.T) {
	if found := listOf(t, sources); !slices.Equal(found, lines) {
		t.Errorf("differences: %q", compare(lines, found))
	}
}

func TestEachChangeIsALine(t *testing.T) {
	for _, change := range []struct{ file, text, gone, new string }{
		{"kubernetes/pkg/scheduler/apis/config/v1/default_plugins.go", `package v1
func getDefaultPlugins() { plugins := []v1.Plugin{{Name: names.PrioritySort}, {Name: names.ImageLocality, Weight: ptr.To[int32](2)}} }
func applyFeatureGates() { if utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) { applyGangScheduling(config) } }`,
			"- " + lines[1], "+ plugin getDefaultPlugins: {Name: names.ImageLocality, Weight: ptr.To[int32](2)}"},
		{"kubernetes/pkg/features/kube_features.go", `package features
var gates = map[featuregate.Feature]featuregate.VersionedSpecs{Gangs: {{Version: version.MustParse("1.35"), Default: true, PreRelease: featuregate.Alpha}}}`,
			"- " + lines[3], `+ gate Gangs: {{"1.35", true, Alpha}}`},
	} {
		changed := map[string]string{}
		for name, text := range sources {
			changed[name] = text
		}
		changed[change.file] = change.text
		if got, want := compare(lines, listOf(t, changed)), []string{change.gone, change.new}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", change.file, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name              string
		seen, found, want []string
	}{
		{"the same", []string{"a", "b"}, []string{"a", "b"}, nil},
		{"gone and new", []string{"a", "b"}, []string{"b", "c"}, []string{"- a", "+ c"}},
		{"another order", []string{"a", "b"}, []string{"b", "a"}, []string{"the order is another"}},
	} {
		if got := compare(c.seen, c.found); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestASourceThatSaysNothingIsAnError(t *testing.T) {
	if _, err := list(func(string) (string, error) { return t.TempDir(), nil }); err == nil {
		t.Error("an empty folder has a list")
	}
}

func TestPinnedVersions(t *testing.T) {
	for _, version := range []string{"1.34", "1.35", "1.36", "1.37", "1.38"} {
		if release, err := pinned("../oracle", version); err != nil || release[:len(version)+2] != "v"+version+"." {
			t.Errorf("%s: %s, %v", version, release, err)
		}
	}
	if release, err := pinned("../oracle", "1.33"); err == nil {
		t.Errorf("1.33: %s", release)
	}
}
