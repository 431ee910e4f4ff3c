// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Objects are a cluster as the oracle reads and writes it; tests/differential/oracle/README.md describes the format.
type Objects struct {
	Nodes                  []*corev1.Node                  `json:"nodes,omitempty"`
	Pods                   []*corev1.Pod                   `json:"pods,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	Services               []*corev1.Service               `json:"services,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	Namespaces             []*corev1.Namespace             `json:"namespaces,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
}

// Case is a question to the oracle.
type Case struct {
	Name    string        `json:"name"`
	Objects Objects       `json:"objects"`
	Pending []*corev1.Pod `json:"pending"`
}

// Attempt is what the oracle says about one scheduling cycle.
type Attempt struct {
	Pod        string   `json:"pod"`
	Result     string   `json:"result"`
	Best       []string `json:"best"`
	Message    string   `json:"message"`
	Bound      string   `json:"bound"`
	Preemption *struct {
		Acceptable []string `json:"acceptable"`
		Candidates map[string]struct {
			Victims []string `json:"victims"`
		} `json:"candidates"`
	} `json:"preemption"`
}

// Oracle is the real kube-scheduler's framework as a program that answers questions.
type Oracle struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func oracleProgram(t testing.TB) string {
	t.Helper()
	return environment(t, "BERTH_E2E_ORACLE", "the program that tests/differential/oracle.sh builds")
}

// StartOracle starts an oracle that ends with the test.
func StartOracle(t testing.TB) *Oracle {
	t.Helper()
	command := exec.Command(oracleProgram(t), "serve")
	command.Stderr = os.Stderr
	o := &Oracle{in: must(command.StdinPipe())(t), out: bufio.NewReader(must(command.StdoutPipe())(t))}
	if err := Fork(command); err != nil {
		t.Fatalf("the oracle does not start: %v", err)
	}
	t.Cleanup(func() {
		o.in.Close()
		_ = command.Wait() // what it could not answer has failed the test already
	})
	return o
}

// Ask gives the oracle a case and returns its attempts.
func (o *Oracle) Ask(t testing.TB, question Case) []Attempt {
	t.Helper()
	if err := json.NewEncoder(o.in).Encode(question); err != nil {
		t.Fatalf("the oracle does not read: %v", err)
	}
	line := must(o.out.ReadBytes('\n'))(t)
	var answer struct {
		Error    string    `json:"error"`
		Attempts []Attempt `json:"attempts"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Error != "" || len(answer.Attempts) == 0 {
		t.Fatalf("the oracle has no answer: %v %s", err, line)
	}
	return answer.Attempts
}

// Generate makes an unanswered case of a family with so many nodes and pending pods.
func Generate(t testing.TB, family string, seed, nodes, pods int) Case {
	t.Helper()
	dir := t.TempDir()
	size := func(n int) string { return fmt.Sprintf("%d..%d", n, n) }
	command := exec.Command(oracleProgram(t), "gen", "-run=false", "-family", family, "-seed", fmt.Sprint(seed), "-nodes", size(nodes), "-pods", size(pods), "-out", dir)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the oracle's generator: %v\n%s", err, output)
	}
	var made Case
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(dir, family, fmt.Sprintf("%03d.json", seed))))(t), &made); err != nil {
		t.Fatal(err)
	}
	return made
}
