// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
)

// A family of a scrape, as text.
type family struct {
	help, kind string
	labels     map[string]bool // of all series together, without le
	buckets    []string        // le, in order, of any one series
	series     map[string]float64
}

var sample = regexp.MustCompile(`^([a-zA-Z0-9_:]+?)(_bucket|_sum|_count)?(?:\{(.*)\})? (\S+)$`)
var label = regexp.MustCompile(`([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"`)

func parseMetrics(t *testing.T, text string) map[string]*family {
	t.Helper()
	families := map[string]*family{}
	last := ""
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if words := strings.SplitN(line, " ", 4); strings.HasPrefix(line, "# ") {
			if words[1] == "HELP" {
				if words[2] <= last {
					t.Errorf("%s comes after %s", words[2], last)
				}
				last = words[2]
				families[last] = &family{help: words[3], labels: map[string]bool{}, series: map[string]float64{}}
			} else {
				families[words[2]].kind = words[3]
			}
			continue
		}
		parts := sample.FindStringSubmatch(line)
		if parts == nil {
			t.Fatalf("no sample: %s", line)
		}
		name, suffix := parts[1], parts[2]
		f := families[name]
		if f == nil || suffix != "" && f.kind != "histogram" && f.kind != "summary" {
			name, suffix = name+suffix, ""
			f = families[name]
		}
		if f == nil || name != last {
			t.Fatalf("a sample without its family: %s", line)
		}
		le := ""
		for _, pair := range label.FindAllStringSubmatch(parts[3], -1) {
			if suffix == "_bucket" && pair[1] == "le" {
				le = pair[2]
			} else {
				f.labels[pair[1]] = true
			}
		}
		value, err := strconv.ParseFloat(parts[4], 64)
		if err != nil {
			t.Fatalf("no number: %s", line)
		}
		if suffix != "_bucket" {
			f.series[suffix+"{"+parts[3]+"}"] = value
		} else if len(f.buckets) == 0 || f.buckets[len(f.buckets)-1] != "+Inf" {
			f.buckets = append(f.buckets, le)
		}
	}
	return families
}

func (f *family) labelNames() []string { return slices.Sorted(maps.Keys(f.labels)) }

// The sum of the series whose labels contain all of these texts.
func (f *family) sum(parts ...string) float64 {
	total := 0.0
	for key, value := range f.series {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(key, part) }) {
			total += value
		}
	}
	return total
}

func scrape(t *testing.T, url string) map[string]*family {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var text string
	harness.Eventually(t, 30*time.Second, "metrics at "+url, func() (bool, string) {
		answer, err := client.Get(url)
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		text = string(body)
		return err == nil && answer.StatusCode == http.StatusOK, answer.Status
	})
	return parseMetrics(t, text)
}

// kube-scheduler and berth schedule twins of the same pods: their scrapes have the same families, with the same types, help
// texts, labels and buckets, and where both count the same things the same numbers.
func TestMetricsBesideKubeScheduler(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	const name = "berth"
	upstreamPort, berthPort := harness.FreePort(t), harness.FreePort(t)
	kubeconfig := c.Kubeconfig(t, harness.SchedulerUser)
	harness.Start(t, harness.Command{Name: "kube-scheduler", Dir: c.Dir, Args: []string{harness.ControlPlane(t, "kube-scheduler"),
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir", c.Dir, "--authorization-always-allow-paths=/metrics",
		"--secure-port", fmt.Sprint(upstreamPort)}})
	harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{harness.Berth(t), "run", "--kubeconfig", kubeconfig,
		"--scheduler-name", name, "--metrics-bind-address", fmt.Sprintf("127.0.0.1:%d", berthPort)}})

	c.CreateNodes(t, harness.Node("node-000"), harness.Node("node-001"), harness.Node("node-002"))
	const pods = 20
	for _, scheduler := range []string{"", name} {
		prefix := "default-"
		if scheduler != "" {
			prefix = scheduler + "-"
		}
		var bound []string
		for i := range pods {
			bound = append(bound, prefix+fmt.Sprint(i))
			c.CreatePods(t, 0, harness.Pod(bound[i], scheduler, "10m", ""))
		}
		gated := harness.Pod(prefix+"gated", scheduler, "10m", "")
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		c.CreatePods(t, 0, gated, harness.Pod(prefix+"big", scheduler, "64", ""))
		c.WaitBound(t, 60*time.Second, bound...)
		harness.Eventually(t, 30*time.Second, "the condition of the pod that is too big", func() (bool, string) {
			condition := harness.Condition(c.GetPod(t, prefix+"big"))
			return condition != nil && condition.Reason == corev1.PodReasonUnschedulable, "none"
		})
	}

	upstream := scrape(t, fmt.Sprintf("https://127.0.0.1:%d/metrics", upstreamPort))
	berth := scrape(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", berthPort))

	// What berth has no part for: docs/metrics.md says why.
	absent := regexp.MustCompile(`^(go_|workqueue_|apiserver_|authentication_|authorization_|authenticated_|cardinality_|field_validation_|` +
		`rest_client_exec_plugin_|rest_client_transport_|leader_election_|version_info|aggregator_|etcd_|` +
		`hidden_|disabled_|registered_|watch_|feature_|component_|compatibility_|informer_|kubernetes_healthcheck)`)
	compared := 0
	for _, metric := range slices.Sorted(maps.Keys(upstream)) {
		want, got := upstream[metric], berth[metric]
		if absent.MatchString(metric) {
			continue
		}
		if got == nil {
			t.Errorf("%s is missing", metric)
			continue
		}
		compared++
		if got.kind != want.kind || got.help != want.help {
			t.Errorf("%s is a %s, %q, and not a %s, %q", metric, got.kind, got.help, want.kind, want.help)
		}
		if len(got.series) == 0 {
			t.Logf("%s has no series", metric)
			continue
		}
		if !slices.Equal(got.labelNames(), want.labelNames()) {
			t.Errorf("%s has the labels %v and not %v", metric, got.labelNames(), want.labelNames())
		}
		if !slices.Equal(got.buckets, want.buckets) {
			t.Errorf("%s has the buckets %v and not %v", metric, got.buckets, want.buckets)
		}
	}
	t.Logf("%d families compared", compared)
	if compared < 30 { // what 1.34 has, the fewest
		t.Errorf("only %d families were compared", compared)
	}

	added := `event="UnscheduledPodAdd"`
	if harness.Before137(t) {
		added = `event="UnschedulablePodAdd"`
	}
	for _, same := range []struct {
		metric string
		labels []string
	}{
		{"scheduler_schedule_attempts_total", []string{`result="scheduled"`}},
		{"scheduler_pod_scheduling_attempts", []string{"_count"}},
		{"scheduler_pod_scheduling_attempts", []string{"_sum"}},
		{"scheduler_scheduling_attempt_duration_seconds", []string{"_count", `result="scheduled"`}},
		{"scheduler_pending_pods", []string{`queue="gated"`}},
		{"scheduler_pending_pods", []string{`queue="unschedulable"`}},
		{"scheduler_pending_pods", []string{`queue="active"`}},
		{"scheduler_queue_incoming_pods_total", []string{`queue="active"`, added}},
		{"scheduler_queue_incoming_pods_total", []string{`queue="unschedulable"`, added}},
		{"scheduler_framework_extension_point_duration_seconds", []string{"_count", `extension_point="Bind"`}},
		{"scheduler_framework_extension_point_duration_seconds", []string{"_count", `extension_point="Reserve"`}},
		{"scheduler_framework_extension_point_duration_seconds", []string{"_count", `extension_point="Score"`, `status="Success"`}},
		{"scheduler_unschedulable_pods", []string{`plugin="NodeResourcesFit"`}},
		{"scheduler_unschedulable_pods", []string{`plugin="SchedulingGates"`}},
		{"scheduler_preemption_attempts_total", nil},
	} {
		if want, got := upstream[same.metric].sum(same.labels...), berth[same.metric].sum(same.labels...); got != want {
			t.Errorf("%s%v: %v and not %v", same.metric, same.labels, got, want)
		}
	}
	// kube-scheduler 1.36 shows 0 here.
	for kind, want := range map[string]float64{"nodes": 3, "pods": 2 * pods} {
		if got := berth["scheduler_cache_size"].sum(fmt.Sprintf("type=%q", kind)); got != want {
			t.Errorf("scheduler_cache_size of %s: %v and not %v", kind, got, want)
		}
	}
}
