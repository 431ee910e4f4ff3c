// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podRunner is what the simulated kubelet lacks: it runs the real berth of each of berth's pods that the kubelet says is
// running, with the pod's arguments, configuration and rights, and ends it as the pod is deleted.
type podRunner struct {
	c       *harness.Cluster
	mu      sync.Mutex
	running map[types.UID]*ranPod
}

type ranPod struct {
	pod     corev1.Pod
	metrics string // address of plain HTTP, of a shadow
	process *harness.Process
	ending  bool
}

// runPodsOfBerth runs them until the test ends.
func runPodsOfBerth(t *testing.T, c *harness.Cluster) *podRunner {
	t.Helper()
	r := &podRunner{c: c, running: map[types.UID]*ranPod{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			list, err := c.Admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"})
			if err == nil {
				r.follow(t, list.Items)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return r
}

func (r *podRunner) follow(t *testing.T, pods []corev1.Pod) {
	there := map[types.UID]bool{}
	for i := range pods {
		pod := &pods[i]
		there[pod.UID] = pod.DeletionTimestamp == nil
		if _, known := r.running[pod.UID]; known || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		ran := &ranPod{pod: *pod, metrics: fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))}
		args := ran.pod.Spec.Containers[0].Args
		for j, arg := range args {
			switch {
			case strings.HasPrefix(arg, "--secure-port="):
				args[j] = fmt.Sprintf("--secure-port=%d", harness.FreePort(t))
			case strings.HasPrefix(arg, "--metrics-bind-address="):
				args[j] = "--metrics-bind-address=" + ran.metrics
			}
		}
		ran.process = startFromPod(t, r.c, &ran.pod)
		r.mu.Lock()
		r.running[pod.UID] = ran
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, ran := range r.running {
		if !there[uid] && !ran.ending {
			ran.ending = true
			ran.process.Signal(syscall.SIGTERM)
		}
	}
}

// of are the processes of a release that have not been told to end.
func (r *podRunner) of(release string) []*ranPod {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*ranPod
	for _, ran := range r.running {
		if ran.pod.Labels["app.kubernetes.io/instance"] == release && !ran.ending {
			found = append(found, ran)
		}
	}
	return found
}

// wait waits until the release has so many processes.
func (r *podRunner) wait(t *testing.T, release string, count int) []*ranPod {
	t.Helper()
	harness.Eventually(t, 90*time.Second, fmt.Sprintf("%d processes of %s run", count, release), func() (bool, string) {
		n := len(r.of(release))
		return n == count, fmt.Sprint(n)
	})
	return r.of(release)
}

type podLog struct {
	output   string
	isEnding bool // the pod is gone, and the process was told to end
}

// logs are the outputs of all processes that there have been.
func (r *podRunner) logs() map[string]podLog {
	r.mu.Lock()
	defer r.mu.Unlock()
	logs := map[string]podLog{}
	for _, ran := range r.running {
		logs[ran.pod.Namespace+"/"+ran.pod.Name] = podLog{ran.process.Output(), ran.ending}
	}
	return logs
}
