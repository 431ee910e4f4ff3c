// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"fmt"
	"os"
	"testing"
	"time"
)

// Reference says that the suite runs the real kube-scheduler in berth's place, to prove the suite itself.
func Reference() bool { return os.Getenv("BERTH_E2E_SCHEDULER") == "kube-scheduler" }

// NeedsBerth skips a test that has no meaning for kube-scheduler.
func NeedsBerth(t testing.TB) {
	t.Helper()
	if Reference() {
		t.Skip("kube-scheduler does not do this")
	}
}

// NeedsShare skips a test that takes minutes where BERTH_SHARE (0 to 3, the day's in .ci/run) is another one.
func NeedsShare(t testing.TB, share string) {
	t.Helper()
	if today := os.Getenv("BERTH_SHARE"); today != "" && today != share {
		t.Skipf("takes minutes, and runs with BERTH_SHARE=%s or without it; it is %s", share, today)
	}
}

// Berth is the path of the program under test.
func Berth(t testing.TB) string {
	t.Helper()
	return environment(t, "BERTH_BINARY", "the path of berth")
}

// Scheduler says how to run a scheduler.
type Scheduler struct {
	Name       string // spec.schedulerName of its pods; default-scheduler when empty
	Kubeconfig string
	Master     string // instead of a kubeconfig
	Dir        string
	Log        string // the log's name, without .log; the program's when empty
	Env        []string
	MayEnd     bool
	JSON       bool     // kube-scheduler only: for a server that does not speak protobuf
	AllNodes   bool     // kube-scheduler only: no sampling, as berth never samples
	Gates      string   // feature gates, as --feature-gates takes them
	Lease      bool     // takes part in leader election, for kube-system/kube-scheduler, with the times below
	UsualLease bool     // the same with the times that a scheduler has when nobody gives it any
	Metrics    int      // the port of its metrics (MetricsURL); none when 0
	Args       []string // berth only: further flags
}

// MetricsURL is where a scheduler's metrics are, given the port.
func MetricsURL(port int, isKubeScheduler bool) string {
	if isKubeScheduler {
		return fmt.Sprintf("https://127.0.0.1:%d/metrics", port)
	}
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", port)
}

// Times of leader election where a test asks for it.
const (
	LeaseDuration = 3 * time.Second
	RenewDeadline = 2 * time.Second
	RetryPeriod   = 500 * time.Millisecond
)

// StartScheduler starts berth, or kube-scheduler when the suite proves itself.
func StartScheduler(t testing.TB, s Scheduler) *Process {
	t.Helper()
	if Reference() {
		s.Log = cmp.Or(s.Log, "kube-scheduler-in-berths-place")
		return StartKubeScheduler(t, s)
	}
	args := []string{Berth(t), "run"}
	if s.Kubeconfig != "" {
		args = append(args, "--kubeconfig", s.Kubeconfig)
	}
	if s.Master != "" {
		args = append(args, "--master", s.Master)
	}
	if s.Name != "" {
		args = append(args, "--scheduler-name", s.Name)
	}
	if !Before137(t) {
		args = append(args, "--kubernetes-version=auto")
	}
	if s.Lease {
		args = append(args, fmt.Sprintf("--leader-elect-lease-duration=%v", LeaseDuration),
			fmt.Sprintf("--leader-elect-renew-deadline=%v", RenewDeadline), fmt.Sprintf("--leader-elect-retry-period=%v", RetryPeriod))
	} else if !s.UsualLease {
		args = append(args, "--leader-elect=false")
	}
	if s.Metrics != 0 {
		args = append(args, fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", s.Metrics))
	}
	if s.Gates != "" {
		args = append(args, "--feature-gates="+s.Gates)
	}
	args = append(args, s.Args...)
	return Start(t, Command{Name: cmp.Or(s.Log, "berth"), Dir: s.Dir, Args: args, Env: s.Env, MayEnd: s.MayEnd})
}

// StartKubeScheduler starts the real kube-scheduler without rate limits, and without leader election unless asked for.
func StartKubeScheduler(t testing.TB, s Scheduler) *Process {
	t.Helper()
	name := cmp.Or(s.Name, "default-scheduler")
	contentType := "application/vnd.kubernetes.protobuf"
	if s.JSON {
		contentType = "application/json"
	}
	election := "{leaderElect: false}"
	if s.Lease {
		election = fmt.Sprintf("{leaderElect: true, leaseDuration: %v, renewDeadline: %v, retryPeriod: %v}", LeaseDuration, RenewDeadline, RetryPeriod)
	}
	if s.UsualLease {
		election = "{leaderElect: true}"
	}
	config := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000, contentType: %s}
leaderElection: %s
profiles: [{schedulerName: %s}]
`, s.Kubeconfig, contentType, election, name)
	if s.AllNodes {
		config += "percentageOfNodesToScore: 100\n"
	}
	file := must(os.CreateTemp(s.Dir, "kube-scheduler-*.yaml"))(t)
	file.Close()
	args := []string{ControlPlane(t, "kube-scheduler"), "--config", writeFile(t, file.Name(), []byte(config)), fmt.Sprintf("--secure-port=%d", s.Metrics), "-v=2"}
	if s.Metrics != 0 {
		args = append(args, "--bind-address=127.0.0.1", "--cert-dir="+s.Dir, "--authorization-always-allow-paths=/metrics",
			"--authentication-kubeconfig="+s.Kubeconfig, "--authorization-kubeconfig="+s.Kubeconfig)
	}
	if s.Master != "" {
		args = append(args, "--master", s.Master)
	}
	if s.Gates != "" {
		args = append(args, "--feature-gates="+s.Gates)
	}
	return Start(t, Command{Name: cmp.Or(s.Log, "kube-scheduler"), Dir: s.Dir, Args: args, Env: s.Env, MayEnd: s.MayEnd})
}

// StartEmbedded starts berth's own API server with simulated nodes and returns its address.
func StartEmbedded(t testing.TB, nodes int, dir string, flags ...string) string {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", FreePort(t))
	args := []string{Berth(t), "apiserver", "--listen", address, "--nodes", fmt.Sprint(nodes)}
	Start(t, Command{Name: "berth-apiserver", Dir: dir, Args: append(args, flags...)})
	return "http://" + address
}
