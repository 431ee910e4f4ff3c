// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The static pod that kubeadm 1.36 writes for kube-scheduler, to /etc/kubernetes/manifests/kube-scheduler.yaml.
const staticPod = `apiVersion: v1
kind: Pod
metadata:
  labels: {component: kube-scheduler, tier: control-plane}
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.0
    imagePullPolicy: IfNotPresent
    command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --bind-address=127.0.0.1
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    livenessProbe:
      failureThreshold: 8
      httpGet: {host: 127.0.0.1, path: /livez, port: probe-port, scheme: HTTPS}
      initialDelaySeconds: 10
      periodSeconds: 10
      timeoutSeconds: 15
    readinessProbe:
      failureThreshold: 3
      httpGet: {host: 127.0.0.1, path: /readyz, port: probe-port, scheme: HTTPS}
      periodSeconds: 1
      timeoutSeconds: 15
    startupProbe:
      failureThreshold: 24
      httpGet: {host: 127.0.0.1, path: /livez, port: probe-port, scheme: HTTPS}
      initialDelaySeconds: 10
      periodSeconds: 10
      timeoutSeconds: 15
    ports: [{containerPort: 10259, name: probe-port, protocol: TCP}]
    resources: {requests: {cpu: 100m}}
    volumeMounts: [{mountPath: /etc/kubernetes/scheduler.conf, name: kubeconfig, readOnly: true}]
  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  volumes: [{hostPath: {path: /etc/kubernetes/scheduler.conf, type: FileOrCreate}, name: kubeconfig}]
`

// probe asks as a kubelet does: any certificate will do, any status from 200 to 399 is a success.
func probe(p *corev1.Probe, ports []corev1.ContainerPort) error {
	port := p.HTTPGet.Port.IntVal
	if i := slices.IndexFunc(ports, func(c corev1.ContainerPort) bool { return c.Name == p.HTTPGet.Port.StrVal }); i >= 0 {
		port = ports[i].ContainerPort
	}
	client := http.Client{Timeout: time.Duration(p.TimeoutSeconds) * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s://%s:%d%s", strings.ToLower(string(p.HTTPGet.Scheme)), p.HTTPGet.Host, port, p.HTTPGet.Path), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/1.36")
	request.Header.Set("Accept", "*/*")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return nil
}

// The test is the kubelet of a control plane's node. It runs the static pod's command as it stands, but for the place of
// the mounted kubeconfig, with the image's program: first kube-scheduler, then berth under that name, then kube-scheduler
// again, as when one upgrades and rolls back. Each must pass the probes, hold the lease and bind pods.
func TestStaticPodManifest(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(staticPod), &pod); err != nil {
		t.Fatal(err)
	}
	container := &pod.Spec.Containers[0]
	if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", container.Ports[0].ContainerPort)); err != nil {
		t.Fatalf("the manifest's port is in use here: %v", err)
	} else {
		listener.Close()
	}

	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	kubeconfig := c.Kubeconfig(t, harness.SchedulerUser)
	images := map[string]string{"kube-scheduler": harness.ControlPlane(t, "kube-scheduler"), "berth": harness.Berth(t)}
	for turn, image := range []string{"kube-scheduler", "berth", "kube-scheduler"} {
		root := filepath.Join(c.Dir, fmt.Sprintf("image-%d", turn))
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(container.Command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], container.VolumeMounts[0].MountPath, kubeconfig)
		}
		args[0] = filepath.Join(root, args[0])
		if err := os.Symlink(images[image], args[0]); err != nil {
			t.Fatal(err)
		}
		process := harness.Start(t, harness.Command{Name: fmt.Sprintf("turn-%d-%s", turn, image), Dir: c.Dir, Args: args, MayEnd: true})
		for _, p := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe} {
			harness.Eventually(t, 60*time.Second, image+" passes "+p.HTTPGet.Path, func() (bool, string) {
				err := probe(p, container.Ports)
				return err == nil, fmt.Sprint(err, process.Output())
			})
		}
		// The one before it has given its lease away on SIGTERM, as kube-scheduler does, or it runs out.
		name := fmt.Sprintf("pod-%d", turn)
		c.CreatePods(t, 0, harness.Pod(name, "", "100m", ""))
		c.WaitBound(t, 40*time.Second, name)
		lease, err := c.Admin.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-scheduler", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		held := coordinationv1.LeaseSpec{HolderIdentity: lease.Spec.HolderIdentity, LeaseDurationSeconds: lease.Spec.LeaseDurationSeconds}
		if held.HolderIdentity == nil || held.LeaseDurationSeconds == nil || *held.LeaseDurationSeconds != 15 {
			t.Errorf("%s: the lease is %+v", image, lease.Spec)
		}
		for range 5 {
			for _, p := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
				if err := probe(p, container.Ports); err != nil {
					t.Errorf("%s does not pass %s: %v", image, p.HTTPGet.Path, err)
				}
			}
		}
		process.Signal(syscall.SIGTERM)
		if _, ended := process.Wait(30 * time.Second); !ended {
			t.Fatalf("%s has not ended within the pod's grace period", image)
		}
	}
}
