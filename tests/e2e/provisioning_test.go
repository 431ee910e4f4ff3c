// SPDX-License-Identifier: Apache-2.0

package e2e

import (
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
)

// The module that has the API of ProvisioningRequests, at the version that Kueue is built with.
const autoscalerAPIs = "k8s.io/autoscaler/cluster-autoscaler/apis@v0.0.0-20240830133931-adfbe7e45277"

// moduleDir is the folder of a Go module, which is fetched if it is not there.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", module)
	command.Dir = "/" // in no module
	out, err := command.Output()
	var found struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &found); err != nil || jsonErr != nil || found.Dir == "" {
		t.Fatalf("go mod download %s: %v %v %s", module, err, jsonErr, found.Error)
	}
	return found.Dir
}

// provisioningRequest is what the test reads of one.
type provisioningRequest struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Details    map[string]string  `json:"provisioningClassDetails"`
	} `json:"status"`
}

func (r provisioningRequest) condition(kind string) metav1.Condition {
	for _, each := range r.Status.Conditions {
		if each.Type == kind {
			return each
		}
	}
	return metav1.Condition{}
}

// promiser is a cluster with the CRD, whose berth answers ProvisioningRequests with the rights of the role in deploy.
type promiser struct {
	c          *harness.Cluster
	k          kubectl
	admin      string // the kubeconfig of an administrator
	kubeconfig string // berth's
}

func startPromiser(t *testing.T, nodes int) *promiser {
	t.Helper()
	c, admin, _ := startWithNodes(t, nodes)
	p := &promiser{c: c, admin: admin, k: kubectl{dir: c.Dir, server: []string{"--kubeconfig", admin}}}
	p.k.ok(t, "apply", "-f", filepath.Join(moduleDir(t, autoscalerAPIs), "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"))
	p.k.ok(t, "wait", "crd/provisioningrequests.autoscaling.x-k8s.io", "--for=condition=Established", "--timeout=30s")
	p.k.ok(t, "apply", "-f", filepath.Join(folderOf(t, "deploy"), "provisioning-role.yaml"))
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "berth-provisioning-e2e"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "berth-provisioning"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: harness.SchedulerUser}},
	}
	if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitServiceAccount(t, c, "default")
	p.kubeconfig = c.Kubeconfig(t, harness.SchedulerUser)
	return p
}

func (p *promiser) start(t *testing.T, name string) *harness.Process {
	t.Helper()
	return harness.Start(t, harness.Command{Name: name, Dir: p.c.Dir, MayEnd: true, Args: []string{
		harness.Berth(t), "run", "--kubeconfig", p.kubeconfig, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
		"--leader-elect-retry-period=500ms", "--provisioning-requests=berth"}})
}

func (p *promiser) get(t *testing.T, namespace, name string) provisioningRequest {
	t.Helper()
	var request provisioningRequest
	text := p.k.ok(t, "get", "provisioningrequest", "-n", namespace, name, "-o", "json")
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		t.Fatal(err)
	}
	return request
}

func (p *promiser) wait(t *testing.T, namespace, name, condition string, process *harness.Process) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	harness.Eventually(t, 30*time.Second, name+" is "+condition, func() (bool, string) {
		request := p.get(t, namespace, name)
		found = request.condition(condition)
		return found.Status == metav1.ConditionTrue, fmt.Sprintf("%+v\n%s", request.Status, process.Output())
	})
	return found
}

// Room that is promised is kept from others, also by the next leader after the first one was killed, and goes to the pods
// of the request. The commands are those of docs/provisioning-requests.md.
func TestProvisioningRequests(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	p := startPromiser(t, 2) // of 4 CPUs each
	first := p.start(t, "berth-first")
	blocks := blocksOf(t, "docs/provisioning-requests.md", "provisioning_test.go")
	reader := newTypist(t, p.admin)
	reader.types(t, blocks[0].text)
	provisioned := p.wait(t, "jobs", "training", "Provisioned", first)
	if provisioned.Reason != "CapacityIsFound" {
		t.Errorf("%+v", provisioned)
	}
	if len(p.get(t, "jobs", "training").Status.Details) == 0 {
		t.Error("the request does not say where the room is")
	}

	// Others want all of the cluster: four of eight pods get room.
	for i := range 8 {
		p.c.CreatePods(t, 0, harness.Pod(fmt.Sprintf("rival-%d", i), "", "1", ""))
	}
	rivals := func() (bound int) {
		for _, pod := range p.c.Pods(t) {
			if strings.HasPrefix(pod.Name, "rival-") && pod.Spec.NodeName != "" {
				bound++
			}
		}
		return bound
	}
	harness.Eventually(t, 30*time.Second, "four rivals are bound", func() (bool, string) {
		return rivals() == 4, fmt.Sprint(rivals(), first.Output())
	})
	first.Kill()
	second := p.start(t, "berth-second")
	harness.Eventually(t, 30*time.Second, "the second one leads", func() (bool, string) {
		return strings.Contains(second.Output(), "Successfully acquired lease"), second.Output()
	})
	p.c.CreatePods(t, 0, harness.Pod("rival-8", "", "1", ""))
	harness.Eventually(t, 30*time.Second, "the last rival is told that there is no room", func() (bool, string) {
		condition := harness.Condition(p.c.GetPod(t, "rival-8"))
		return condition != nil && condition.Reason == "Unschedulable", fmt.Sprint(condition, second.Output())
	})
	if n := rivals(); n != 4 {
		t.Errorf("%d rivals are bound after a change of leaders", n)
	}

	waitServiceAccount(t, p.c, "jobs")
	reader.types(t, blocks[1].text)
	if n := rivals(); n != 4 {
		t.Errorf("%d rivals are bound after the pods came", n)
	}
}

// A request that has no room says why, by pod set, and gets it later. Room whose nodes go is lost at once, with a condition
// and an event.
func TestProvisioningRequestWithoutRoom(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	p := startPromiser(t, 1)
	berth := p.start(t, "berth")
	const manifest = `
apiVersion: v1
kind: PodTemplate
metadata: {name: %[1]s}
template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "%[2]s"}}}]}}
---
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: %[1]s}
spec:
  provisioningClassName: check-capacity.autoscaling.x-k8s.io
  parameters: {processorInstance: %[3]s}
  podSets: [{count: %[4]d, podTemplateRef: {name: %[1]s}}]
`
	p.k.apply(t, "create", fmt.Sprintf(manifest, "others", "1", "cluster-autoscaler", 1))
	p.k.apply(t, "create", fmt.Sprintf(manifest, "huge", "1m", "berth", 1_000_000))
	p.k.apply(t, "create", fmt.Sprintf(manifest, "wide", "3", "berth", 2))
	failed := p.wait(t, "default", "huge", "Failed", berth)
	if failed.Message != "the pod sets have more than 20000 pods, the most that one request may ask for" {
		t.Errorf("%+v", failed)
	}
	var not metav1.Condition
	harness.Eventually(t, 30*time.Second, "wide is not provisioned", func() (bool, string) {
		not = p.get(t, "default", "wide").condition("Provisioned")
		return not.Status == metav1.ConditionFalse, berth.Output()
	})
	if want := "pod set wide: 1 of 2 pods have room; 0/1 nodes are available: 1 Insufficient cpu."; !strings.Contains(not.Message, want) {
		t.Errorf("%q lacks %q", not.Message, want)
	}
	p.c.CreateNodes(t, harness.Node("another"))
	p.wait(t, "default", "wide", "Provisioned", berth)
	if err := p.c.Admin.CoreV1().Nodes().Delete(t.Context(), "another", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "default", "wide", "CapacityRevoked", berth)
	harness.Eventually(t, 30*time.Second, "an event says so", func() (bool, string) {
		events := p.k.ok(t, "get", "events", "-o", "jsonpath={range .items[*]}{.reason} {.involvedObject.kind}/{.involvedObject.name}: {.message}{'\\n'}{end}")
		return strings.Contains(events, "CapacityRevoked ProvisioningRequest/wide: The room is not kept any more: node \"another\" is gone"), events
	})
	if untouched := p.get(t, "default", "others"); len(untouched.Status.Conditions) > 0 {
		t.Errorf("another processor's request was touched: %+v", untouched.Status)
	}
}

// Without the CRD the scheduler schedules, and says once what it misses.
func TestProvisioningRequestsWithoutTheirKind(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	c, admin, _ := startWithNodes(t, 1)
	process := harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{
		harness.Berth(t), "run", "--kubeconfig", admin, "--leader-elect=false", "--provisioning-requests=berth"}})
	waitServiceAccount(t, c, "default")
	c.CreatePods(t, 0, harness.Pod("pod", "", "1", ""))
	c.WaitBound(t, 30*time.Second, "pod")
	if n := strings.Count(process.Output(), "resource=\"provisioningrequests\""); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, process.Output())
	}
}

const kueueModule = "sigs.k8s.io/kueue@v0.17.0"

// buildKueue compiles Kueue from its module, once for all runs.
func buildKueue(t *testing.T) (program, module string) {
	t.Helper()
	module = moduleDir(t, kueueModule)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(cache, "berth", "kueue-v0.17.0")
	if _, err := os.Stat(program); err == nil {
		return program, module
	}
	work := harness.TempDir(t)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, strings.Replace(name, "go", "kueue", 1)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-mod=mod", "-modfile="+filepath.Join(work, "kueue.mod"), "-o", filepath.Join(work, "kueue"), "./cmd/kueue")
	command.Dir = module
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("building Kueue: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(work, "kueue"), program); err != nil {
		t.Fatal(err)
	}
	return program, module
}

const kueueConfiguration = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job]}
`

// Its quota is more than the cluster has: room is up to the check alone.
const kueueQueues = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: nodes}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: room}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: room}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: room}
spec:
  provisioningClassName: check-capacity.autoscaling.x-k8s.io
  managedResources: [cpu]
  parameters: {processorInstance: berth}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: room}]}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: nodes, resources: [{name: cpu, nominalQuota: "100"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: all, namespace: default}
spec: {clusterQueue: all}
`

const queuedJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: default, labels: {kueue.x-k8s.io/queue-name: all}}
spec:
  suspend: true
  parallelism: 3
  completions: 3
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
`

// startKueue runs Kueue's manager outside of the cluster, without its webhooks: the jobs are made suspended.
func (p *promiser) startKueue(t *testing.T) *harness.Process {
	t.Helper()
	program, module := buildKueue(t)
	p.k.ok(t, "apply", "--server-side", "-f", filepath.Join(module, "config/components/crd/bases"))
	p.k.ok(t, "wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")
	p.k.ok(t, "create", "namespace", "kueue-system")
	dir := harness.TempDir(t)
	pair := p.c.Authority().Server(t, "127.0.0.1")
	etc := filepath.Join(dir, "etc")
	for _, folder := range []string{dir, filepath.Join(etc, "kueue/metrics/certs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key} {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(kueueConfiguration, harness.FreePort(t), harness.FreePort(t), dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// Where Kueue looks for a certificate of its metrics cannot be configured: it gets a file system of its own there.
	script := `cp -an /etc/. "$1"; mount --bind "$1" /etc; shift; exec "$@"`
	return harness.Start(t, harness.Command{Name: "kueue", Dir: p.c.Dir, Env: []string{"KUBECONFIG=" + p.admin, "HOME=" + dir},
		Args: []string{"unshare", "--mount", "--map-root-user", "bash", "-euc", script, "bash", etc, program, "--config", config,
			"--feature-gates=VisibilityOnDemand=false"}})
}

// Kueue's check of admission with berth behind it: what Kueue lets start has room, beside pods that no queue holds back.
func TestKueueInFront(t *testing.T) {
	harness.NeedsBerth(t)
	harness.NeedsShare(t, "2")
	t.Parallel()
	p := startPromiser(t, 2) // of 4 CPUs each
	berth := p.start(t, "berth")
	kueue := p.startKueue(t)
	harness.Eventually(t, 60*time.Second, "the queues are made", func() (bool, string) {
		_, errors, err := p.k.run(t, kueueQueues, "apply", "-f", "-")
		return err == nil, errors + kueue.Output()
	})
	for _, name := range []string{"one", "two", "three", "four"} {
		p.k.apply(t, "create", fmt.Sprintf(queuedJob, name))
		p.c.CreatePods(t, 0, harness.Pod("rival-"+name, "", "1", "")) // wants the same room
	}
	// started are the jobs that Kueue has let start, and waiting those of their pods that have no node.
	look := func() (started []string, pods, waiting int) {
		jobs, err := p.c.Admin.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs.Items {
			if job.Spec.Suspend != nil && !*job.Spec.Suspend {
				started = append(started, job.Name)
			}
		}
		for _, pod := range p.c.Pods(t) {
			if pod.Labels["job-name"] == "" {
				continue
			}
			pods++
			if pod.Spec.NodeName == "" {
				waiting++
			}
		}
		return started, pods, waiting
	}
	said := func(started []string, pods, waiting int) string {
		requests := p.k.ok(t, "get", "provisioningrequests", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name}{range .status.conditions[*]} {.type}={.status} {.message};{end}{'\\n'}{end}")
		return fmt.Sprintf("started %v, %d pods, %d wait\n%s\n%s\n%s", started, pods, waiting, requests, kueue.Output(), berth.Output())
	}
	harness.Eventually(t, 90*time.Second, "a job has started, with all of its pods", func() (bool, string) {
		started, pods, waiting := look()
		return len(started) > 0 && pods == 3*len(started) && waiting == 0, said(started, pods, waiting)
	})
	// While jobs end and others start, nothing that has started waits for longer than a moment.
	var since time.Time
	ended := map[string]bool{}
	for deadline := time.Now().Add(4 * time.Minute); len(ended) < 4 && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		started, pods, waiting := look()
		if waiting == 0 {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > 5*time.Second {
			t.Fatalf("pods of a job that was let start wait: %s", said(started, pods, waiting))
		}
		if waiting == 0 && pods == 3*len(started) && len(started) > 0 {
			p.k.ok(t, "delete", "job", started[0], "--wait=false")
			ended[started[0]] = true
		}
	}
	if len(ended) < 4 {
		started, pods, waiting := look()
		t.Errorf("only %v have started: %s", ended, said(started, pods, waiting))
	}
}
