// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func example(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/two-apps")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startFromPod runs berth as its pod would: with the pod's arguments, its config map in /etc/berth's place, and a token
// of its service account. The simulated kubelet has no containers.
func startFromPod(t *testing.T, c *harness.Cluster, own *corev1.Pod, flags ...string) *harness.Process {
	t.Helper()
	ctx := t.Context()
	container := own.Spec.Containers[0]
	etc := filepath.Join(harness.TempDir(t), "etc-berth")
	if err := os.Mkdir(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/berth" })
	volume := slices.IndexFunc(own.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == container.VolumeMounts[mount].Name })
	config, err := c.Admin.CoreV1().ConfigMaps(own.Namespace).Get(ctx, own.Spec.Volumes[volume].ConfigMap.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range config.Data {
		if err := os.WriteFile(filepath.Join(etc, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	token, err := c.Admin.CoreV1().ServiceAccounts(own.Namespace).CreateToken(ctx, own.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := harness.WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.Authority().PEM},
		clientcmdapi.AuthInfo{Token: token.Status.Token})
	args := []string{harness.Berth(t)}
	for _, arg := range container.Args {
		args = append(args, strings.Replace(arg, "/etc/berth", etc, 1))
	}
	args = append(append(args, "--kubeconfig", kubeconfig), flags...)
	return harness.Start(t, harness.Command{Name: "berth-" + own.Name, Dir: c.Dir, Args: args, MayEnd: true})
}

// examples/two-apps in a cluster: what kubectl apply -k makes is what berth then runs with, by that service account's
// rights, beside kube-scheduler, which places the scheduler's own pod.
func TestTwoApps(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := context.Background()
	const system, name = metav1.NamespaceSystem, "two-apps-scheduler"
	c := harness.StartCluster(t, harness.Options{ControllerManager: true})
	admin := c.Kubeconfig(t, "admin", "system:masters")
	harness.StartKubelets(t, 4, admin, c.Dir)
	nodesReady(t, c, 4)
	harness.Start(t, harness.Command{Name: "kube-scheduler", Dir: c.Dir, Args: []string{
		harness.ControlPlane(t, "kube-scheduler"), "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser),
		"--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true"}})
	k := kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}
	k.ok(t, "apply", "-k", example(t))

	// The default scheduler and the kubelet stand-in bring the scheduler's pod up; its program runs here instead.
	var own corev1.Pod
	harness.Eventually(t, 60*time.Second, "the scheduler's own pod is running", func() (bool, string) {
		pods, err := c.Admin.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: "component=" + name})
		if err != nil || len(pods.Items) != 1 {
			return false, fmt.Sprint(err)
		}
		own = pods.Items[0]
		return own.Status.Phase == corev1.PodRunning, string(own.Status.Phase)
	})
	if own.Spec.SchedulerName != corev1.DefaultSchedulerName || own.Spec.ServiceAccountName != name {
		t.Fatalf("its pod is of scheduler %q and service account %q", own.Spec.SchedulerName, own.Spec.ServiceAccountName)
	}
	berth := startFromPod(t, c, &own)

	k.ok(t, "apply", "-f", filepath.Join(example(t), "apps.yaml"))
	nodes := map[string]map[string]int{}
	harness.Eventually(t, 60*time.Second, "eight pods are running", func() (bool, string) {
		clear(nodes)
		running := 0
		for _, pod := range c.Pods(t) {
			if pod.Status.Phase == corev1.PodRunning {
				running++
				app := pod.Labels["app"]
				if nodes[app] == nil {
					nodes[app] = map[string]int{}
				}
				nodes[app][pod.Spec.NodeName]++
			}
		}
		return running == 8, fmt.Sprintf("%d running: %v", running, nodes)
	})
	if len(nodes["red"]) != 1 || len(nodes["blue"]) != 1 {
		t.Errorf("an app is on more than one node: %v", nodes)
	}
	for node := range nodes["red"] {
		if nodes["blue"][node] > 0 {
			t.Errorf("both apps are on %s: %v", node, nodes)
		}
	}
	if output := berth.Output(); strings.Contains(output, "forbidden") {
		t.Errorf("the service account's rights are not enough:\n%s", output)
	}
}
