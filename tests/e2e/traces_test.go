// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A span as OTLP's JSON has it.
type traceSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
	Kind         int    `json:"kind"`
	Start        int64  `json:"startTimeUnixNano,string"`
	End          int64  `json:"endTimeUnixNano,string"`
	Attributes   []struct {
		Key   string `json:"key"`
		Value struct {
			StringValue string `json:"stringValue"`
			IntValue    string `json:"intValue"`
		} `json:"value"`
	} `json:"attributes"`
	service string
}

func (s *traceSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// spansOf reads what the collector has written.
func spansOf(t *testing.T, path string) []traceSpan {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var spans []traceSpan
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var batch struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct {
						Key   string `json:"key"`
						Value struct {
							StringValue string `json:"stringValue"`
						} `json:"value"`
					} `json:"attributes"`
				} `json:"resource"`
				ScopeSpans []struct {
					Spans []traceSpan `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal([]byte(line), &batch); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, resource := range batch.ResourceSpans {
			service := ""
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.name" {
					service = a.Value.StringValue
				}
			}
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					s.service = service
					spans = append(spans, s)
				}
			}
		}
	}
	return spans
}

// tracingFile writes a TracingConfiguration for all pods.
func tracingFile(t *testing.T, dir, name, endpoint string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", endpoint)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A real collector gets the spans of a pod that waits, of one that is bound, over gRPC and over HTTP; and the API server,
// which is traced too, puts its own spans of the binding under berth's.
func TestTraces(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	dir := harness.TempDir(t)
	collector := harness.StartCollector(t, dir)
	c := harness.StartCluster(t, harness.Options{APIServer: []string{"--tracing-config-file=" + tracingFile(t, dir, "apiserver.yaml", collector.GRPC)}})
	cordoned := harness.Node("cordoned")
	cordoned.Spec.Unschedulable = true
	c.CreateNodes(t, cordoned)
	for _, protocol := range []string{"grpc", "http"} {
		t.Run(protocol, func(t *testing.T) {
			endpoint := collector.GRPC
			if protocol == "http" {
				endpoint = "http://" + collector.HTTP
			}
			scheduler := "traced-" + protocol
			berth := harness.Start(t, harness.Command{Name: scheduler, Dir: dir, Args: []string{harness.Berth(t), "run", "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser),
				"--leader-elect=false", "--kubernetes-version=auto", "--scheduler-name=" + scheduler, "--tracing-config-file=" + tracingFile(t, dir, protocol+".yaml", endpoint)}, MayEnd: true})
			name := "pod-" + protocol
			c.CreatePods(t, 0, harness.Pod(name, scheduler, "1", "1Gi"))
			harness.Eventually(t, 30*time.Second, "the pod is refused", func() (bool, string) {
				condition := harness.Condition(c.GetPod(t, name))
				return condition != nil && condition.Reason == "Unschedulable", fmt.Sprint(condition)
			})
			c.CreateNodes(t, harness.Node("node-"+protocol))
			c.WaitBound(t, 30*time.Second, name)
			pod := c.GetPod(t, name)
			if err := c.Admin.CoreV1().Nodes().Delete(t.Context(), pod.Spec.NodeName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			// The end sends what is left.
			berth.Signal(os.Interrupt)
			if code, ok := berth.Wait(10 * time.Second); !ok || code != 0 {
				t.Fatalf("berth ended with %d, %v:\n%s", code, ok, berth.Output())
			}
			id := strings.ReplaceAll(string(pod.UID), "-", "")
			var spans []traceSpan
			named := map[string][]traceSpan{}
			harness.Eventually(t, 30*time.Second, "the collector has the spans", func() (bool, string) {
				spans = slices.DeleteFunc(spansOf(t, collector.Path), func(s traceSpan) bool { return s.TraceID != id })
				clear(named)
				for _, s := range spans {
					named[s.Name] = append(named[s.Name], s)
				}
				return len(named["schedule pod"]) > 0, fmt.Sprintf("%d spans", len(spans))
			})
			root := named["schedule pod"][0]
			if len(named["schedule pod"]) != 1 || root.ParentSpanID != "" || root.service != "berth" || root.attribute("k8s.pod.name") != name ||
				root.attribute("k8s.namespace.name") != "default" || root.attribute("k8s.node.name") != pod.Spec.NodeName || root.attribute("berth.result") != "bound" {
				t.Errorf("the first span is %+v", named["schedule pod"])
			}
			attempts := named["attempt"]
			if len(attempts) < 2 || len(named["Filter"]) < 2 || len(named["Bind"]) != 1 || len(named["POST pods/binding"]) != 1 || len(named["activeQ"]) == 0 {
				t.Fatalf("spans are missing: %v", spanNames(spans))
			}
			if waits := named["unschedulable"]; len(waits) == 0 || waits[0].attribute("berth.queue.ended_by") != "NodeAdd" {
				t.Errorf("the wait for a node: %+v", named["unschedulable"])
			}
			call, bind := named["POST pods/binding"][0], named["Bind"][0]
			if call.ParentSpanID != bind.SpanID || call.Kind != 3 || !slices.ContainsFunc(attempts, func(a traceSpan) bool {
				return a.SpanID == bind.ParentSpanID && a.attribute("berth.result") == "scheduled"
			}) {
				t.Errorf("Bind and its request: %+v %+v", bind, call)
			}
			now := time.Now().UnixNano()
			for _, s := range spans {
				if s.End < s.Start || s.Start < now-int64(10*time.Minute) || s.End > now {
					t.Errorf("the times of %+v", s)
				}
				if s.service == "berth" && s.Name != "schedule pod" && !slices.ContainsFunc(spans, func(p traceSpan) bool { return p.SpanID == s.ParentSpanID }) {
					t.Errorf("%s has no parent among %v", s.Name, spanNames(spans))
				}
			}
		})
	}
}

func spanNames(spans []traceSpan) []string {
	var all []string
	for _, s := range spans {
		all = append(all, s.service+":"+s.Name)
	}
	slices.Sort(all)
	return all
}

// No collector, one that refuses, one that hangs: pods are bound all the same, and the end does not wait for it.
func TestTracesWithoutCollector(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-0"))
	hanging := listenAndHang(t)
	for name, endpoint := range map[string]string{"away": fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t)), "hangs": hanging, "hangs-http": "http://" + hanging} {
		berth := harness.Start(t, harness.Command{Name: name, Dir: c.Dir, Args: []string{harness.Berth(t), "run", "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser),
			"--leader-elect=false", "--kubernetes-version=auto", "--scheduler-name=" + name, "--tracing-config-file=" + tracingFile(t, c.Dir, name+".yaml", endpoint)}, MayEnd: true})
		pods := make([]string, 20)
		for i := range pods {
			pods[i] = fmt.Sprintf("%s-%d", name, i)
			c.CreatePods(t, 0, harness.Pod(pods[i], name, "10m", "1Mi"))
		}
		c.WaitBound(t, 30*time.Second, pods...)
		began := time.Now()
		berth.Signal(os.Interrupt)
		if code, ok := berth.Wait(10 * time.Second); !ok || code != 0 {
			t.Errorf("%s: berth ended with %d, %v:\n%s", name, code, ok, berth.Output())
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("%s: the end took %v", name, took)
		}
		if !strings.Contains(berth.Output(), "Spans were not exported before the end") {
			t.Errorf("%s: nothing is said of spans that were lost:\n%s", name, berth.Output())
		}
	}
}

// listenAndHang takes connections and answers nothing.
func listenAndHang(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
		}
	}()
	return listener.Addr().String()
}
