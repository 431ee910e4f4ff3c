// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Who has the role of deploy/explain-role.yaml may ask a running berth, and nobody else; the answer has the decision as
// the scheduler told it, in upstream's words.
func TestExplainPort(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{Tokens: map[string]string{"nobody-token": "nobody", "asker-token": "asker"}})
	c.CreateNodes(t, harness.Node("node-000"))
	text, err := os.ReadFile("../../deploy/explain-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(text, role); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "asker"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.CreatePods(t, 0, harness.Pod("placed", "", "100m", ""), harness.Pod("large", "", "1000", ""))

	scheduler := c.Kubeconfig(t, harness.SchedulerUser)
	port := harness.FreePort(t)
	pair := c.Authority().Server(t, "127.0.0.1")
	for name, content := range map[string][]byte{"scheduler.crt": pair.Cert, "scheduler.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{harness.Berth(t), "run", "--kubeconfig", scheduler,
		"--leader-elect=false", fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1",
		"--authentication-kubeconfig", scheduler, "--authorization-kubeconfig", scheduler,
		"--tls-cert-file", filepath.Join(c.Dir, "scheduler.crt"), "--tls-private-key-file", filepath.Join(c.Dir, "scheduler.key")}})
	c.WaitBound(t, 30*time.Second, "placed")
	reported := ""
	harness.Eventually(t, 30*time.Second, "large is refused", func() (bool, string) {
		for _, condition := range c.GetPod(t, "large").Status.Conditions {
			if condition.Type == "PodScheduled" {
				reported = condition.Message
			}
		}
		return reported != "", reported
	})

	for _, r := range []servingRequest{{}, {token: "nobody-token"}} {
		for _, target := range []string{"/explain", "/explain/pods", "/explain/pods/default/large"} {
			if a, err := askServing(t, port, servingRequest{method: "GET", target: target, token: r.token}); err != nil || a.status != 403 {
				t.Errorf("%s as %q: %+v %v", target, r.token, a, err)
			}
		}
	}
	harness.Eventually(t, 30*time.Second, "the page is shown", func() (bool, string) {
		a, err := askServing(t, port, servingRequest{method: "GET", target: "/explain", token: "asker-token"})
		return err == nil && a.status == 200 && strings.Contains(a.body, "<!doctype html>"), fmt.Sprint(a, err)
	})

	// The cluster's authority has signed the port's certificate, and the kubeconfig names it.
	explain := func(user, pod string) (code int, out, errors string) {
		command := exec.Command(harness.Berth(t), "explain", "pod", pod, "--kubeconfig", c.Kubeconfig(t, user), "-o", "json",
			"--scheduler", fmt.Sprintf("https://127.0.0.1:%d", port))
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil && command.ProcessState == nil {
			t.Fatal(err)
		}
		return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
	}
	type answer struct {
		State, Node, Condition string
		Live                   struct {
			Decision *struct{ Node, Message, Seed string }
			Queue    *struct{ Place string }
		}
	}
	for pod, status := range map[string]int{"default/large": 3, "default/placed": 0} {
		code, out, errors := explain("asker", pod)
		var said answer
		if err := json.Unmarshal([]byte(out), &said); err != nil || code != status {
			t.Fatalf("%s: %d %v\n%s%s", pod, code, err, out, errors)
		}
		if said.Live.Decision == nil || said.Live.Decision.Seed == "" {
			t.Fatalf("%s: no decision: %s", pod, out)
		}
		if pod == "default/placed" {
			if said.State != "Placed" || said.Node != "node-000" || said.Live.Decision.Node != "node-000" {
				t.Errorf("%s: %s", pod, out)
			}
		} else if said.State != "Refused" || said.Live.Decision.Message != reported || said.Condition != reported || said.Live.Queue.Place != "Unschedulable" {
			t.Errorf("%s was told %q: %s", pod, reported, out)
		}
	}
	if code, _, errors := explain("nobody", "default/large"); code != 1 || !strings.Contains(errors, "deploy/explain-role.yaml") {
		t.Errorf("nobody: %d %s", code, errors)
	}
}
