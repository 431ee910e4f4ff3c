// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const token = "bench-token"

// process is one that this program started and ends.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

func start(dir, name string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks first, so that etcd writes what it has.
func (p *process) stop() {
	if p == nil || p.ended() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// controlPlane is etcd, kube-apiserver and kube-controller-manager on loopback, with the data of a folder.
type controlPlane struct {
	dir, kubeconfig string
	client          kubernetes.Interface
	processes       []*process
}

// Controllers without which pods would not come back, or budgets not be counted. Nodes come and go as scenarios say:
// no controller judges them.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,disruption-controller"

// startControlPlane takes the etcd data in dir/etcd, if there are any.
func startControlPlane(s *settings, dir string) (*controlPlane, error) {
	c := &controlPlane{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	ports := [3]int{}
	for i := range ports {
		port, err := freePort()
		if err != nil {
			return c, err
		}
		ports[i] = port
	}
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	server := fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	files := map[string]string{
		"tokens.csv": token + ",admin,1000,system:masters\n",
		"kubeconfig": fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, token),
	}
	key, err := signingKey()
	if err != nil {
		return c, err
	}
	files["sa.key"] = key
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return c, err
		}
	}
	// A copy of the data has another peer address than its first member had: forced, it is a cluster of its own.
	flags := []string{filepath.Join(s.bin, "etcd"), "--name=bench", "--data-dir=" + filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--log-level=warn", "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd, "--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer, "--initial-cluster=bench=" + peer}
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err == nil {
		flags = append(flags, "--force-new-cluster")
	}
	if err := c.start("etcd", flags...); err != nil {
		return c, err
	}
	// Neither authorization nor limits: what is measured are those who move pods, and nothing here may hold them back.
	if err := c.start("kube-apiserver", filepath.Join(s.bin, "kube-apiserver"), "--etcd-servers="+etcd, "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]), "--cert-dir="+filepath.Join(dir, "certs"),
		"--service-cluster-ip-range=10.0.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+filepath.Join(dir, "sa.key"), "--service-account-signing-key-file="+filepath.Join(dir, "sa.key"),
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"), "--authorization-mode=AlwaysAllow",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false", "--endpoint-reconciler-type=none", "--profiling=false"); err != nil {
		return c, err
	}
	c.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: server, BearerToken: token, QPS: -1, UserAgent: "bench-descheduler", WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
	})
	if err != nil {
		return c, err
	}
	if err := c.waitReady(); err != nil {
		return c, err
	}
	return c, c.start("kube-controller-manager", filepath.Join(s.bin, "kube-controller-manager"), "--kubeconfig="+c.kubeconfig,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000", "--controllers="+controllers)
}

func (c *controlPlane) start(name string, args ...string) error {
	p, err := start(c.dir, name, args...)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return err
}

func (c *controlPlane) waitReady() error {
	var last error
	for range 300 {
		for _, p := range c.processes {
			if p.ended() {
				return fmt.Errorf("%s has ended; see %s", p.name, filepath.Join(c.dir, p.name+".log"))
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, last = c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		cancel()
		if last == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("kube-apiserver did not get ready: %w", last)
}

// stop ends all, the last one started first.
func (c *controlPlane) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].stop()
	}
}

// startKubeScheduler starts it as it is by default, but for its own rate limits.
func (c *controlPlane) startKubeScheduler(s *settings) (*process, error) {
	config := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000}
leaderElection: {leaderElect: false}
`, c.kubeconfig)
	path := filepath.Join(c.dir, "kube-scheduler.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return start(c.dir, "kube-scheduler", filepath.Join(s.bin, "kube-scheduler"), "--config="+path, "--secure-port=0", "-v=1")
}

func signingKey() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
