// SPDX-License-Identifier: Apache-2.0
// Package harness starts a real Kubernetes control plane on loopback, a scheduler beside it and a proxy between them,
// and watches from outside what the scheduler does. Everything that it starts ends with the test.
package harness

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The user that a scheduler runs as: RBAC gives it kube-scheduler's own rights and no others.
const SchedulerUser = "system:kube-scheduler"

// Options of a control plane.
type Options struct {
	// ControllerManager starts kube-controller-manager and leaves admission as it is in production. Without it the
	// admission plugins are off that need a controller to undo what they do.
	ControllerManager bool
	// Controllers of kube-controller-manager that start beside the usual ones.
	Controllers []string
	// AsGiven turns off the admission plugins that would change or refuse objects that have been made up: a pod keeps the
	// priority and the overhead that it came with, and no volume waits for a controller before it goes.
	AsGiven bool
	// APIServer are further flags of kube-apiserver.
	APIServer []string
	// Tokens are static bearer tokens and the user that each stands for.
	Tokens map[string]string
	// ServerName is a DNS name in the API server's certificate, beside its address.
	ServerName string
	// AlsoTrusted are authorities (PEM) that the harness's own clients take the API server's certificate from as well:
	// that of ServeWith.
	AlsoTrusted []byte
}

// Cluster is a running control plane.
type Cluster struct {
	Dir   string // logs, certificates, kubeconfigs
	Admin kubernetes.Interface

	authority *Authority
	trusted   []byte
	serving   Pair
	port      int
	apiArgs   []string
	apiServer *Process
	etcd      *Process
}

// TempDir makes a folder whose logs run.sh can find after a failure; the data in it goes with the test.
func TempDir(t testing.TB) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	return must(os.MkdirTemp("", name+"-"))(t)
}

// Hopeless is set when the scheduler cannot bind a single pod: every other test would only wait for its time to run out.
var Hopeless atomic.Bool

// StartCluster starts etcd and kube-apiserver and waits until they are ready.
func StartCluster(t testing.TB, options Options) *Cluster {
	t.Helper()
	if Hopeless.Load() {
		t.Fatal("not tried, because TestOnePod failed")
	}
	c := &Cluster{Dir: TempDir(t), authority: NewAuthority(t, "berth-e2e"), port: FreePort(t)}
	data := filepath.Join(c.Dir, "etcd")
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	c.trusted = slices.Concat(c.authority.PEM, options.AlsoTrusted)
	names := []string{"127.0.0.1", "localhost"}
	if options.ServerName != "" {
		names = append(names, options.ServerName)
	}
	c.serving = c.authority.Server(t, names...)

	etcdURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", FreePort(t)), fmt.Sprintf("http://127.0.0.1:%d", FreePort(t))
	c.etcd = Start(t, Command{Name: "etcd", Dir: c.Dir, Args: []string{
		ControlPlane(t, "etcd"), "--name=e2e", "--data-dir=" + data, "--unsafe-no-fsync", "--log-level=warn",
		"--quota-backend-bytes=8589934592", // etcd keeps what was deleted until kube-apiserver compacts it
		"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=e2e=" + peerURL,
	}})

	file := func(name string, content []byte) string { return writeFile(t, filepath.Join(c.Dir, name), content) }
	signing := file("service-account.key", serviceAccountKey(t))
	c.apiArgs = []string{
		ControlPlane(t, "kube-apiserver"), "--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.port),
		"--tls-cert-file=" + file("serving.crt", c.serving.Cert), "--tls-private-key-file=" + file("serving.key", c.serving.Key),
		"--client-ca-file=" + file("ca.crt", c.authority.PEM), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + signing, "--service-account-signing-key-file=" + signing,
		"--endpoint-reconciler-type=none", "--profiling=false", "--allow-privileged",
	}
	var disabled []string
	if !options.ControllerManager {
		disabled = append(disabled, "ServiceAccount", "TaintNodesByCondition")
	}
	if options.AsGiven {
		disabled = append(disabled, "Priority", "RuntimeClass", "StorageObjectInUseProtection")
	}
	if len(disabled) > 0 {
		c.apiArgs = append(c.apiArgs, "--disable-admission-plugins="+strings.Join(disabled, ","))
	}
	if len(options.Tokens) > 0 {
		var lines strings.Builder
		for token, user := range options.Tokens {
			fmt.Fprintf(&lines, "%s,%s,%s\n", token, user, user)
		}
		c.apiArgs = append(c.apiArgs, "--token-auth-file="+file("tokens.csv", []byte(lines.String())))
	}
	c.apiArgs = append(c.apiArgs, options.APIServer...)
	c.Admin = must(kubernetes.NewForConfig(c.RESTConfig(t, "admin", "system:masters")))(t)
	c.StartAPIServer(t)

	if options.ControllerManager {
		StartControllerManager(t, c.Kubeconfig(t, "admin", "system:masters"), c.Dir, options.Controllers...)
	}
	return c
}

// StartControllerManager starts kube-controller-manager with the usual controllers and these; "*" are all.
func StartControllerManager(t testing.TB, kubeconfig, dir string, controllers ...string) *Process {
	t.Helper()
	return Start(t, Command{Name: "kube-controller-manager", Dir: dir, Args: []string{
		ControlPlane(t, "kube-controller-manager"), "--kubeconfig=" + kubeconfig,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000",
		"--controllers=deployment-controller,replicaset-controller,garbage-collector-controller,namespace-controller," +
			"serviceaccount-controller,root-ca-certificate-publisher-controller,node-lifecycle-controller," +
			"taint-eviction-controller,pod-garbage-collector-controller" + strings.Join(append([]string{""}, controllers...), ","),
	}})
}

// StartAPIServer starts kube-apiserver, again after KillAPIServer with the same address and data, and waits for it.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	c.apiServer = Start(t, Command{Name: "kube-apiserver", Dir: c.Dir, Args: c.apiArgs})
	Eventually(t, 120*time.Second, "kube-apiserver is ready", func() (bool, string) {
		if c.apiServer.Exited() {
			t.Fatalf("kube-apiserver ended; its log says:\n%s", tail(c.apiServer.Log, 10))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b, err := c.Admin.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, fmt.Sprintf("%v %s", err, b)
	})
}

// APIServer is the process of kube-apiserver.
func (c *Cluster) APIServer() *Process { return c.apiServer }

// Etcd is the process of etcd.
func (c *Cluster) Etcd() *Process { return c.etcd }

// KillAPIServer ends kube-apiserver as a crash would.
func (c *Cluster) KillAPIServer() { c.apiServer.Kill() }

// ServeWith gives kube-apiserver another serving certificate and starts it again.
func (c *Cluster) ServeWith(t testing.TB, pair Pair) {
	t.Helper()
	c.KillAPIServer()
	writeFile(t, filepath.Join(c.Dir, "serving.crt"), pair.Cert)
	writeFile(t, filepath.Join(c.Dir, "serving.key"), pair.Key)
	c.StartAPIServer(t)
}

// UpgradeAPIServer ends kube-apiserver and starts that of another control plane's folder in its place, with the same
// address, flags and data.
func (c *Cluster) UpgradeAPIServer(t testing.TB, folder string) {
	t.Helper()
	c.KillAPIServer()
	c.apiArgs[0] = filepath.Join(folder, "kube-apiserver")
	c.StartAPIServer(t)
}

// Port is the port of kube-apiserver, on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// Server is the control plane's address.
func (c *Cluster) Server() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

// Authority signs the control plane's certificates.
func (c *Cluster) Authority() *Authority { return c.authority }

// RESTConfig is client-go's configuration for a user with a client certificate, without client-side rate limits.
func (c *Cluster) RESTConfig(t testing.TB, user string, groups ...string) *rest.Config {
	t.Helper()
	pair := c.authority.Client(t, user, groups, 24*time.Hour)
	return &rest.Config{
		Host: c.Server(), QPS: -1, UserAgent: "berth-e2e", WarningHandler: rest.NoWarnings{},
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
		TLSClientConfig: rest.TLSClientConfig{CAData: c.trusted, CertData: pair.Cert, KeyData: pair.Key},
	}
}

// Kubeconfig writes a kubeconfig with inline certificates for a user of this control plane.
func (c *Cluster) Kubeconfig(t testing.TB, user string, groups ...string) string {
	t.Helper()
	pair := c.authority.Client(t, user, groups, 24*time.Hour)
	return WriteKubeconfig(t, c.Dir, clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.authority.PEM},
		clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key})
}

// WriteKubeconfig writes a kubeconfig with one context.
func WriteKubeconfig(t testing.TB, dir string, cluster clientcmdapi.Cluster, user clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"], config.AuthInfos["user"] = &cluster, &user
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "user"}
	config.CurrentContext = "e2e"
	file := must(os.CreateTemp(dir, "*.kubeconfig"))(t)
	file.Close()
	if err := clientcmd.WriteToFile(*config, file.Name()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// Base64 encodes as kubeconfigs and exec credentials want it.
func Base64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

var ports struct {
	sync.Mutex
	taken map[int]bool
}

// FreePort finds a loopback port that nobody listens on, below the range that the kernel gives to outgoing
// connections: a server that is killed and restarted must find its port free again.
func FreePort(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.taken == nil {
		ports.taken = map[int]bool{}
	}
	for range 1000 {
		port := 20000 + rand.IntN(12000)
		if ports.taken[port] {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		listener.Close()
		ports.taken[port] = true
		return port
	}
	t.Fatal("no free port between 20000 and 32000")
	return 0
}

// ControlPlane is the path of a program that controlplane.sh has built.
func ControlPlane(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(environment(t, "BERTH_E2E_CONTROLPLANE", "the folder that controlplane.sh prints"), name)
}

// KubernetesVersion is the version of the control plane, as in v1.36.3.
func KubernetesVersion(t testing.TB) string {
	t.Helper()
	return environment(t, "BERTH_E2E_KUBERNETES", "what controlplane.sh version prints")
}

// NextControlPlane is the folder with the control plane of the next minor version, and that version, as in 1.37. It skips the
// test when there is none: run.sh builds none for it.
func NextControlPlane(t testing.TB) (folder, version string) {
	t.Helper()
	folder, version = os.Getenv("BERTH_E2E_NEXT_CONTROLPLANE"), os.Getenv("BERTH_E2E_NEXT_KUBERNETES")
	if folder == "" || version == "" {
		t.Skip("the control plane of the next version has not been built (tests/e2e/controlplane.sh build VERSION)")
	}
	return folder, version
}

// before says that the control plane is of an older version than 1.MINOR.
func before(t testing.TB, minor int) bool {
	t.Helper()
	parts := strings.Split(KubernetesVersion(t), ".")
	if len(parts) < 3 {
		t.Fatalf("%s is no version", KubernetesVersion(t))
	}
	is, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatalf("%s is no version: %v", KubernetesVersion(t), err)
	}
	return is < minor
}

// Before135 says that the control plane is one of Kubernetes 1.34.
func Before135(t testing.TB) bool {
	t.Helper()
	return before(t, 35)
}

// Before136 says that the control plane is one of Kubernetes 1.34 or 1.35, where most of what devices can do is off: an API
// server drops shares, binding conditions, taints and extended resources of classes.
func Before136(t testing.TB) bool {
	t.Helper()
	return before(t, 36)
}

// Before137 says that the control plane is one of Kubernetes 1.34 to 1.36, where some messages and names are others.
func Before137(t testing.TB) bool {
	t.Helper()
	return before(t, 37)
}

// NoNewClaims is what a FailedScheduling message before 1.37 says of a pod without claims before it comes to preemption.
func NoNewClaims(t testing.TB) string {
	t.Helper()
	if Before137(t) {
		return "no new claims to deallocate, "
	}
	return ""
}

func environment(t testing.TB, name, meaning string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set (%s); run.sh sets it", name, meaning)
	}
	return value
}
