// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth-e2e/harness"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// folderOf is the path of a folder of the project.
func folderOf(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startWithKubeScheduler starts what startWithNodes does, and kube-scheduler.
func startWithKubeScheduler(t *testing.T, n int) (*harness.Cluster, string) {
	t.Helper()
	c, admin, _ := startWithNodes(t, n)
	harness.Start(t, harness.Command{Name: "kube-scheduler", Dir: c.Dir, Args: []string{
		harness.ControlPlane(t, "kube-scheduler"), "--kubeconfig", c.Kubeconfig(t, harness.SchedulerUser),
		"--leader-elect=false", "--secure-port=0", "--authentication-skip-lookup=true"}})
	return c, admin
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
	for _, name := range configMapsAt(own, "/etc/berth") {
		config, err := c.Admin.CoreV1().ConfigMaps(own.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range config.Data {
			if err := os.WriteFile(filepath.Join(etc, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
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

// configMapsAt are the config maps that the pod's first container has in a folder.
func configMapsAt(own *corev1.Pod, folder string) []string {
	var names []string
	for _, mount := range own.Spec.Containers[0].VolumeMounts {
		for _, volume := range own.Spec.Volumes {
			switch {
			case mount.MountPath != folder || mount.Name != volume.Name:
			case volume.ConfigMap != nil:
				names = append(names, volume.ConfigMap.Name)
			case volume.Projected != nil:
				for _, source := range volume.Projected.Sources {
					names = append(names, source.ConfigMap.Name)
				}
			}
		}
	}
	return names
}
