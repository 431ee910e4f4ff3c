// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
)

// klogLine is klog's text header, as the parsers of Fluent Bit, Promtail and Vector want it, and the message.
var klogLine = regexp.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ ([^ :\]]+:\d+)\] "((?:[^"\\]|\\.)*)"(.*)$`)

// logKey finds the keys of a text line's fields.
var logKey = regexp.MustCompile(` ([A-Za-z][A-Za-z0-9_]*)=(?:"(?:[^"\\]|\\.)*"|[^ "]*)`)

// shape is what tools that read a log depend on: how grave a message is, and which fields it has.
type shape struct {
	severity string
	keys     string // sorted
}

// hasAllOf allows fields of berth's own beside those of kube-scheduler.
func (s shape) hasAllOf(theirs shape) bool {
	own := strings.Fields(s.keys)
	return s.severity == theirs.severity && !slices.ContainsFunc(strings.Fields(theirs.keys), func(key string) bool { return !slices.Contains(own, key) })
}

const (
	movedLine   = "Pod moved to an internal scheduling queue"
	entityLine  = "Entity moved to an internal scheduling queue" // since 1.37, of a pod that enters a queue
	deletedLine = "Delete event for unscheduled pod"
)

// comparedLines are the messages that mean the same in both programs, each with the verbosity from which it comes.
var comparedLines = map[string]int{
	"Starting Kubernetes Scheduler":           0,
	"Successfully bound pod to node":          2,
	"Unable to schedule pod; no fit; waiting": 2,
	"Attempting to schedule pod":              3,
	"Add event for unscheduled pod":           3,
	"Add event for scheduled pod":             3,
	"Add event for node":                      3,
	"Update event for unscheduled pod":        4,
	deletedLine:                               3,
	movedLine:                                 3,
	"Plugin scored node for pod":              10,
	"Calculated node's final score for pod":   10,
}

// shapesOf reads a log, text or JSON; every line has to be one that klog's parsers take.
func shapesOf(t *testing.T, log string, isJSON bool) map[string][]shape {
	t.Helper()
	shapes := map[string][]shape{}
	add := func(message string, s shape) {
		if !slices.Contains(shapes[message], s) {
			shapes[message] = append(shapes[message], s)
		}
	}
	for line := range strings.SplitSeq(log, "\n") {
		if line == "" {
			continue
		}
		if isJSON {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Errorf("no JSON: %s", line)
				continue
			}
			message, _ := fields["msg"].(string)
			delete(fields, "msg")
			add(message, shape{keys: strings.Join(slices.Sorted(maps.Keys(fields)), " ")})
			continue
		}
		found := klogLine.FindStringSubmatch(line)
		if found == nil {
			continue // the indented lines of "Using component config", and what client-go prints without a message
		}
		var keys []string
		for _, key := range logKey.FindAllStringSubmatch(found[4], -1) {
			keys = append(keys, key[1])
		}
		slices.Sort(keys)
		add(found[3], shape{severity: found[1], keys: strings.Join(slices.Compact(keys), " ")})
	}
	return shapes
}

// kube-scheduler and berth, each with a pod that fits and one that does not: at each verbosity the same messages of those
// that mean the same, with the same severity and at least the same fields, as text and as JSON.
func TestLogLines(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-1"), harness.Node("node-2"))
	// Under this name it takes kube-scheduler's flags alone.
	if err := os.Symlink(harness.Berth(t), filepath.Join(c.Dir, "kube-scheduler")); err != nil {
		t.Fatal(err)
	}
	for _, verbosity := range []int{0, 2, 3, 4, 10} {
		t.Run(fmt.Sprintf("v%d", verbosity), func(t *testing.T) { compareLogs(t, c, verbosity, false) })
	}
	t.Run("json", func(t *testing.T) { compareLogs(t, c, 10, true) })
}

// messages are those of comparedLines that this version of Kubernetes has.
func messages(t *testing.T) map[string]int {
	of := maps.Clone(comparedLines)
	if !harness.Before137(t) {
		of[entityLine] = 5
	}
	return of
}

func compareLogs(t *testing.T, c *harness.Cluster, verbosity int, isJSON bool) {
	run := fmt.Sprintf("v%d", verbosity)
	if isJSON {
		run = "json"
	}
	start := func(who string, program ...string) *harness.Process {
		config := filepath.Join(c.Dir, who+"-"+run+".yaml")
		text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: %s-%s}]
`, c.Kubeconfig(t, harness.SchedulerUser), who, run)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(program, "--config", config, "--secure-port=0", fmt.Sprintf("-v=%d", verbosity))
		if isJSON {
			args = append(args, "--logging-format=json")
		}
		return harness.Start(t, harness.Command{Name: who + "-" + run, Dir: c.Dir, Args: args, MayEnd: true})
	}
	theirs := start("theirs", harness.ControlPlane(t, "kube-scheduler"))
	ours := start("ours", filepath.Join(c.Dir, "kube-scheduler"))

	var fits []string
	for _, who := range []string{"theirs", "ours"} {
		scheduler := who + "-" + run
		fits = append(fits, "fits-"+scheduler)
		c.CreatePods(t, 0, harness.Pod("fits-"+scheduler, scheduler, "100m", "64Mi"),
			harness.Pod("large-"+scheduler, scheduler, "900", "64Mi"))
	}
	c.WaitBound(t, time.Minute, fits...)
	for _, who := range []string{"theirs", "ours"} {
		name := "large-" + who + "-" + run
		harness.Eventually(t, time.Minute, name+" is refused", func() (bool, string) {
			condition := harness.Condition(c.GetPod(t, name))
			return condition != nil && condition.Reason == corev1.PodReasonUnschedulable, fmt.Sprint(condition)
		})
		c.DeletePod(t, name)
	}
	for _, process := range []*harness.Process{theirs, ours} {
		if verbosity >= comparedLines[deletedLine] {
			harness.Eventually(t, time.Minute, "it hears of the pods that have gone", func() (bool, string) {
				return strings.Contains(process.Output(), deletedLine), ""
			})
		}
		process.Kill()
	}

	want := shapesOf(t, theirs.Output(), isJSON)
	got := shapesOf(t, ours.Output(), isJSON)
	met := 0
	compared := messages(t)
	for _, message := range slices.Sorted(maps.Keys(compared)) {
		if len(want[message]) > 0 {
			met++
		}
		if (len(want[message]) > 0) != (verbosity >= compared[message]) {
			t.Errorf("kube-scheduler at -v=%d: %q is there: %t", verbosity, message, len(want[message]) > 0)
		}
		for _, s := range got[message] {
			if !slices.ContainsFunc(want[message], s.hasAllOf) {
				t.Errorf("%q: berth has %+v, and kube-scheduler %+v", message, s, want[message])
			}
		}
		if len(got[message]) == 0 && len(want[message]) > 0 {
			t.Errorf("%q: kube-scheduler has %+v, and berth does not write it at -v=%d", message, want[message], verbosity)
		}
	}
	t.Logf("%d messages compared", met)
	for line := range strings.SplitSeq(ours.Output(), "\n") {
		if !isJSON && line != "" && strings.Contains("IWEF", line[:1]) && !klogLine.MatchString(line) {
			t.Errorf("no klog header: %s", line)
		}
	}
}
