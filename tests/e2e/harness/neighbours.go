// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Neighbour builds a program that berth works beside, from the module in neighbours/NAME, and returns its path. The first
// time that takes minutes; the result is cached.
func Neighbour(t testing.TB, name string) string {
	t.Helper()
	return neighbours(t, name)
}

// NeighbourSource is the folder of a module that the neighbour's module needs: its CRDs and the like.
func NeighbourSource(t testing.TB, name, module string) string {
	t.Helper()
	return neighbours(t, name, "source", module)
}

func neighbours(t testing.TB, args ...string) string {
	t.Helper()
	var errors bytes.Buffer
	c := exec.Command("neighbours/build.sh", args...)
	c.Env = append(os.Environ(), "GOFLAGS=")
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil {
		t.Fatalf("neighbours/build.sh %s: %v\n%s", strings.Join(args, " "), err, errors.String())
	}
	return strings.TrimSpace(string(out))
}

// Kubectl runs the control plane's kubectl, which has to succeed, with this standard input.
func (c *Cluster) Kubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	kubeconfig := c.Kubeconfig(t, "admin", "system:masters")
	command := exec.CommandContext(ctx, ControlPlane(t, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	command.Env = []string{"HOME=" + c.Dir, "PATH=" + os.Getenv("PATH")}
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Collector is a running OpenTelemetry Collector.
type Collector struct {
	GRPC, HTTP string // host:port of its receivers
	Path       string // the file with a line of OTLP's JSON for each batch
}

// StartCollector starts a collector that writes what it receives into a file.
func StartCollector(t testing.TB, dir string) *Collector {
	t.Helper()
	c := &Collector{
		GRPC: fmt.Sprintf("127.0.0.1:%d", FreePort(t)), HTTP: fmt.Sprintf("127.0.0.1:%d", FreePort(t)),
		Path: filepath.Join(dir, "spans.json"),
	}
	config := writeFile(t, filepath.Join(dir, "collector.yaml"), fmt.Appendf(nil, `receivers:
  otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}
exporters:
  lines: {path: %q}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [lines]}
`, c.GRPC, c.HTTP, c.Path))
	Start(t, Command{Name: "collector", Dir: dir, Args: []string{Neighbour(t, "collector"), config}})
	for _, address := range []string{c.GRPC, c.HTTP} {
		Eventually(t, 30*time.Second, "the collector listens at "+address, func() (bool, string) {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return false, err.Error()
			}
			return connection.Close() == nil, ""
		})
	}
	return c
}

const kueueModule = "sigs.k8s.io/kueue"

// kueueHooks are webhook configurations of the names that Kueue puts its certificate into. They match nothing: the control
// plane has no way to a webhook's Service. Without the webhooks, who makes a Job suspends it.
const kueueHooks = `apiVersion: admissionregistration.k8s.io/v1
kind: %sWebhookConfiguration
metadata: {name: kueue-%s-webhook-configuration}
webhooks:
- name: nothing.kueue.x-k8s.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://127.0.0.1:1/"}
  objectSelector: {matchLabels: {no-object-has: this-label}}
  rules: [{apiGroups: [kueue.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [topologies]}]
`

// StartKueue installs Kueue's CRDs, and starts the real Kueue for these frameworks ("batch/job"). Objects are of
// kueue.x-k8s.io/v1beta2. CRDs of others, such as ProvisioningRequest's, have to be there before.
func (c *Cluster) StartKueue(t testing.TB, frameworks ...string) *Process {
	t.Helper()
	const namespace = "kueue-system"
	source := NeighbourSource(t, "kueue", kueueModule)
	c.Kubectl(t, "", "create", "namespace", namespace)
	c.Kubectl(t, "", "apply", "--server-side", "-k", filepath.Join(source, "config", "components", "crd"))
	c.Kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	for kind, name := range map[string]string{"Mutating": "mutating", "Validating": "validating"} {
		c.Kubectl(t, fmt.Sprintf(kueueHooks, kind, name), "apply", "-f", "-")
	}
	c.Kubectl(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: kueue-webhook-server-cert, namespace: "+namespace+"}\n", "apply", "-f", "-")
	dir := filepath.Join(c.Dir, "kueue")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", FreePort(t))
	config := writeFile(t, filepath.Join(dir, "config.yaml"), fmt.Appendf(nil, `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: %q}
metrics: {bindAddress: "0"}
webhook: {port: %d, certDir: %q}
leaderElection: {leaderElect: false}
clientConnection: {qps: 500, burst: 1000}
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-webhook-server-cert}
integrations: {frameworks: [%s]}
featureGates: {VisibilityOnDemand: false}
`, namespace, health, FreePort(t), dir, `"`+strings.Join(frameworks, `", "`)+`"`))
	// What a kubelet does with the Secret's volume.
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for range ticks(ctx, 300*time.Millisecond) {
			secret, err := c.Admin.CoreV1().Secrets(namespace).Get(ctx, "kueue-webhook-server-cert", metav1.GetOptions{})
			if err != nil || len(secret.Data["tls.crt"]) == 0 {
				continue
			}
			for name, content := range secret.Data {
				if old, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(old, content) {
					_ = os.WriteFile(filepath.Join(dir, name), content, 0o600)
				}
			}
		}
	}()
	process := Start(t, Command{Name: "kueue", Dir: c.Dir, Args: []string{
		Neighbour(t, "kueue"), "--config=" + config, "--kubeconfig=" + c.Kubeconfig(t, "kueue", "system:masters"), "--zap-log-level=2"}})
	Eventually(t, 90*time.Second, "Kueue is ready", func() (bool, string) {
		if process.Exited() {
			t.Fatalf("Kueue ended:\n%s", tail(process.Log, 10))
		}
		output := process.Output()
		return strings.Contains(output, "Starting workers") && strings.Contains(output, "Certificates ready"), tail(process.Log, 2)
	})
	return process
}
