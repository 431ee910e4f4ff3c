// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"
)

// The API server goes to the next version under two running replicas, which follow it without losing a pod.
func TestUpgrade(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	folder, next := harness.NextControlPlane(t)
	const batch = 40
	e := startElection(t, 12)
	kubeconfig := e.Kubeconfig(t, harness.SchedulerUser)
	var replicas []*harness.Process
	var metrics []string
	start := func(i int, name string) *harness.Process {
		port := harness.FreePort(t)
		metrics[i] = harness.MetricsURL(port, false)
		return harness.StartScheduler(t, harness.Scheduler{
			Kubeconfig: kubeconfig, Dir: e.Dir, Log: name, UsualLease: true, MayEnd: true, Metrics: port,
			Args: []string{"--follow-upgrades-after=5s"},
		})
	}
	for i := range 2 {
		metrics = append(metrics, "")
		replicas = append(replicas, start(i, fmt.Sprintf("berth-%d", i)))
	}
	e.createPods(t, 0, batch)
	e.observer.WaitBound(t, 60*time.Second, batch)
	before := e.waitHolder(t, "", 10*time.Second)

	e.UpgradeAPIServer(t, folder)
	e.createPods(t, batch, 2*batch)
	begunAgain := 0
	for i, replica := range replicas {
		harness.Eventually(t, 90*time.Second, replica.Name+" follows "+next, func() (bool, string) {
			output := replica.Output()
			follows := "Deciding as kube-scheduler " + next + " does"
			if at := strings.Index(output, "Beginning again, as the API server's version needs it"); at >= 0 && strings.Contains(output[at:], follows) {
				begunAgain++
				return true, ""
			}
			// A leader without an API server for longer than its lease allows ends; the kubelet starts it again.
			if replica.Exited() && strings.Contains(output, "Leaderelection lost") {
				replica = start(i, fmt.Sprintf("berth-%d-again", i))
			} else if replica.Exited() {
				t.Fatalf("%s ended:\n%s", replica.Name, output)
			}
			return strings.HasSuffix(replica.Name, "-again") && strings.Contains(output, follows), output
		})
		harness.Eventually(t, 30*time.Second, "its metrics say so", func() (bool, string) {
			answer, err := http.Get(metrics[i])
			if err != nil {
				return false, err.Error()
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				return false, err.Error()
			}
			text := string(body)
			minor := strings.TrimPrefix(next, "1.")
			return strings.Contains(text, "\nberth_followed_kubernetes_minor "+minor+"\n") &&
				strings.Contains(text, "\nberth_api_server_kubernetes_minor "+minor+"\n"), text
		})
	}
	if begunAgain == 0 {
		t.Error("no replica began again by itself, and the one that stood by had to")
	}
	e.waitHolder(t, before, 30*time.Second) // each process has a name of its own, also the one that began again
	e.createPods(t, 2*batch, 3*batch)
	e.allIsWell(t, 3*batch)
}
