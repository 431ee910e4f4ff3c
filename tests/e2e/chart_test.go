// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// helm of the control plane's folder, with homes of its own.
type helm struct {
	kubeconfig string
	home       string
}

func (h helm) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.ControlPlane(t, "helm"), args...)
	command.Env = []string{"HOME=" + h.home, "KUBECONFIG=" + h.kubeconfig, "PATH=" + os.Getenv("PATH")}
	output, err := command.CombinedOutput()
	return string(output), err
}

func (h helm) ok(t *testing.T, args ...string) string {
	t.Helper()
	output, err := h.run(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

// Wrong values end before anything is installed, with a line that names the value.
func TestChartValues(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	h, chart := helm{home: harness.TempDir(t)}, folderOf(t, "deploy/chart")
	h.ok(t, "lint", "--strict", chart)
	for _, c := range []struct{ set, wanted string }{
		{"mode=third", "/mode"},
		{"modus=second", "modus"},
		{"schedulerName=default-scheduler", "/schedulerName"},
		{"schedulerName=Berth!", "/schedulerName"},
		{"replicas=-1", "/replicas"},
		{"replicas=many", "/replicas"},
		{"image.digest=sha256:1", "/image/digest"},
		{"image.pullPolicy=Sometimes", "/image/pullPolicy"},
		{"leaderElection.leaseDuration=15", "/leaderElection/leaseDuration"},
		{"verbosity=loud", "/verbosity"},
		{"extraArgs[0]=once", "/extraArgs/0"},
		{"extraVolumes[0].emptyDir.medium=Memory", "/extraVolumes/0"},
		{"extraVolumeMounts[0].name=recordings", "/extraVolumeMounts/0"},
		{"profiles[0].plugin=x", "/profiles/0"},
		{"profiles[0].percentageOfNodesToScore=101", "/profiles/0/percentageOfNodesToScore"},
		{"profiles[0].schedulerName=default-scheduler", "in mode second no profile may take the pods of default-scheduler"},
		{"existingConfigMap=mine,profiles[0].schedulerName=x", "existingConfigMap: it takes the place of profiles"},
		{"serviceAccount.create=false", "serviceAccount.name: which account?"},
		{"rebalancer.enabled=true", "rebalancer.policy: what should be moved?"},
		{"rebalancer.runIn=here", "/rebalancer/runIn"},
		{"questions.enabled=yes", "/questions/enabled"},
		{"questions.askers[0].kind=Robot", "/questions/askers/0"},
		{"rebalancer.policy.profilez=x", "/rebalancer/policy"},
		{"metrics.serviceMonitor.enabled=true,service.enabled=false", "set service.enabled: true"},
		// Each value is right by itself.
		{"schedulerName=mine,profiles[0].schedulerName=x", "schedulerName: profiles name the schedulers themselves"},
		{"mode=default,profiles[0].plugins.a=b", "profiles: each needs a schedulerName"},
		{"mode=default,profiles[0].schedulerName=x", "in mode default one of them is default-scheduler, or nobody places its pods"},
		{"mode=shadow,replicas=2", "replicas: in mode shadow 1 or 0"},
		{"mode=shadow,metrics.prometheusRule.enabled=true", "metrics.prometheusRule: its alerts are about a scheduler"},
		{"rebalancer.execute=true", "nothing is moved while rebalancer.enabled is false"},
		{"mode=shadow,rebalancer.enabled=true,rebalancer.runIn=scheduler,rebalancer.policy.nodeSelector=a", "mode shadow has no scheduler of berth's"},
		{"mode=rebalancer", "rebalancer.policy: what should be moved?"},
		{"mode=rebalancer,rebalancer.runIn=scheduler,rebalancer.policy.nodeSelector=a", "mode rebalancer has no scheduler of berth's"},
		{"mode=rebalancer,rebalancer.policy.nodeSelector=a,profiles[0].schedulerName=x", "profiles: mode rebalancer schedules nothing"},
		{"mode=rebalancer,rebalancer.policy.nodeSelector=a,metrics.prometheusRule.enabled=true", "mode rebalancer installs none"},
		{"rebalancer.enabled=true,rebalancer.runIn=scheduler,rebalancer.policy.nodeSelector=a,rebalancer.extraArgs[0]=--moves-per-hour=2", "rebalancer.extraArgs: is for runIn: controller"},
		{"mode=shadow,tracing.enabled=true", "mode shadow schedules none"},
		{"tracing.samplingRatePerMillion=1000001", "/tracing/samplingRatePerMillion"},
		{"extraArgs[0]=--tracing-config-file=x", "extraArgs: --tracing-config-file is the chart's to set"},
		{"extraArgs[0]=--config=mine", "extraArgs: --config is the chart's to set"},
		{"extraArgs[0]=-v=4", "extraArgs: --v is the chart's to set"},
		{"podLabels.app\\.kubernetes\\.io/name=other", "podLabels: app.kubernetes.io/name is one of the chart's own labels"},
	} {
		output, err := h.run(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set", c.set)
		if err == nil || !strings.Contains(strings.ReplaceAll(output, ".", "/"), strings.ReplaceAll(c.wanted, ".", "/")) {
			t.Errorf("--set %s: %v\n%s\nshould say %s", c.set, err, output, c.wanted)
		}
	}
	// A cluster that is too old.
	if output, err := h.run(t, "template", "berth", chart, "--kube-version", "1.33.0"); err == nil || !strings.Contains(output, "kubeVersion") {
		t.Errorf("Kubernetes 1.33: %v\n%s", err, output)
	}
	all := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set",
		"metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,networkPolicy.enabled=true,rbac.metricsServer=true")
	recording := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set",
		"extraArgs[0]=--record=/var/lib/berth,extraVolumes[0].name=recordings,extraVolumes[0].persistentVolumeClaim.claimName=night,"+
			"extraVolumeMounts[0].name=recordings,extraVolumeMounts[0].mountPath=/var/lib/berth")
	for _, part := range []string{"- \"--record=/var/lib/berth\"\n", "claimName: night\n", "mountPath: /var/lib/berth\n", "{name: config, mountPath", "fsGroup: 65532"} {
		if !strings.Contains(recording, part) {
			t.Errorf("no %q among\n%s", part, recording)
		}
	}
	traced := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set", "existingConfigMap=mine,tracing.enabled=true,tracing.endpoint=collector:4317")
	for _, part := range []string{"- --tracing-config-file=/etc/berth/tracing.yaml\n", "kind: TracingConfiguration\n", "endpoint: \"collector:4317\"\n",
		"samplingRatePerMillion: 1000\n", "- configMap: {name: mine}\n", "- configMap: {name: berth}\n"} {
		if !strings.Contains(traced, part) {
			t.Errorf("no %q among\n%s", part, traced)
		}
	}
	rebalancer := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set",
		"rebalancer.enabled=true,rebalancer.execute=true,rebalancer.policy.profiles[0].name=default")
	for _, part := range []string{"- --execute\n", "kind: DeschedulerPolicy\n", "- --leader-elect-resource-name=berth-rebalancer\n", "pods/eviction"} {
		if !strings.Contains(rebalancer, part) {
			t.Errorf("no %q among\n%s", part, rebalancer)
		}
	}
	within := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set",
		"existingConfigMap=mine,rebalancer.enabled=true,rebalancer.runIn=scheduler,rebalancer.execute=true,rebalancer.policy.profiles[0].name=default")
	for _, part := range []string{"- --rebalance=/etc/berth/policy.yaml\n", "- --rebalance-execute\n", "- configMap: {name: mine}\n", "- configMap: {name: berth}\n",
		"resources: [pods/eviction], verbs: [create]", "resourceNames: [berth-rebalancer], verbs: [get, patch]"} {
		if !strings.Contains(within, part) {
			t.Errorf("no %q among\n%s", part, within)
		}
	}
	if strings.Contains(within, "kind: Deployment\nmetadata:\n  name: berth-rebalancer") {
		t.Errorf("a controller beside the scheduler that moves pods itself\n%s", within)
	}
	guarded := func(set string) string {
		return h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--show-only", "templates/networkpolicy.yaml", "--set",
			"networkPolicy.enabled=true,rebalancer.policy.nodeSelector=a,"+set)
	}
	for _, c := range []struct {
		set      string
		policies int
		guards   string
	}{
		{"rebalancer.enabled=false", 1, "app.kubernetes.io/name: berth\n"},
		{"rebalancer.enabled=true", 2, "app.kubernetes.io/name: berth-rebalancer,"},
		{"mode=rebalancer", 1, "app.kubernetes.io/name: berth-rebalancer,"},
	} {
		policies := guarded(c.set)
		if strings.Count(policies, "kind: NetworkPolicy") != c.policies || !strings.Contains(policies, c.guards) {
			t.Errorf("--set %s: should have %d policies, one of %s\n%s", c.set, c.policies, c.guards, policies)
		}
	}
	alone := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set",
		"mode=rebalancer,rebalancer.policy.nodeSelector=a,metrics.serviceMonitor.enabled=true")
	if !strings.Contains(alone, "- port: rebalancer\n") || strings.Contains(alone, "- port: https-metrics\n") {
		t.Errorf("its ServiceMonitor should look at the port rebalancer alone:\n%s", alone)
	}
	shadow := h.ok(t, "template", "berth", chart, "--kube-version", "1.36.0", "--set", "mode=shadow")
	for _, wrong := range []string{"leases", "[create", "patch", "update", "delete", "PodDisruptionBudget", "system-cluster-critical", "kind: ConfigMap"} {
		if strings.Contains(shadow, wrong) {
			t.Errorf("mode shadow has %q:\n%s", wrong, shadow)
		}
	}
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "NetworkPolicy", "PodDisruptionBudget", "Service", "ConfigMap", "Deployment"} {
		if !strings.Contains(all, "\nkind: "+kind+"\n") {
			t.Errorf("no %s among\n%s", kind, all)
		}
	}
}

// Each base of deploy/kustomize is what the chart makes of some values, without what helm alone reads.
// BERTH_WRITE_DOCS=1 writes them.
func TestKustomizeIsTheChart(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	h := helm{home: harness.TempDir(t)}
	for _, base := range []struct {
		folder, release, namespace string
		values                     []string
	}{
		{"", "berth", "berth-system", nil},
		{"default", "berth", "kube-system", []string{"--set", "mode=default"}},
		{"shadow", "berth-shadow", "berth-system", []string{"--set", "mode=shadow"}},
		{"rebalancer", "berth", "berth-system", []string{"--values", "../../deploy/kustomize/rebalancer/values.yaml"}},
	} {
		made := h.ok(t, append([]string{"template", base.release, folderOf(t, "deploy/chart"), "--kube-version", "1.36.0", "--namespace", base.namespace}, base.values...)...)
		made = regexp.MustCompile(`(?m)^(# Source: .*| +(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*)\n`).ReplaceAllString(made, "")
		made = "# SPDX-License-Identifier: Apache-2.0\n" + strings.TrimPrefix(made, "---\n")
		path := filepath.Join("../../deploy/kustomize", base.folder, "berth.yaml")
		if os.Getenv("BERTH_WRITE_DOCS") != "" {
			if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if there, err := os.ReadFile(path); err != nil || string(there) != made {
			t.Errorf("%s is not what the chart makes: run this test with BERTH_WRITE_DOCS=1 (%v)", path, err)
		}
		k := kubectl{dir: h.home}
		if objects := k.ok(t, "kustomize", filepath.Join(folderOf(t, "deploy/kustomize"), base.folder)); !strings.Contains(objects, "kind: Deployment\n") {
			t.Errorf("kubectl kustomize makes no Deployment of %s:\n%s", path, objects)
		}
	}
}

// The chart on a real API server with Pod Security at "restricted": installed, upgraded, rolled back and taken away,
// while what it installs schedules pods with the rights that it gives.
func TestChart(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	ctx := t.Context()
	const space = "berth-system"
	c, admin := startWithKubeScheduler(t, 3)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := c.Admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h := helm{kubeconfig: admin, home: harness.TempDir(t)}

	ready := func(replicas int) corev1.Pod {
		t.Helper()
		var pods *corev1.PodList
		harness.Eventually(t, 60*time.Second, "berth's pods are running", func() (bool, string) {
			var err error
			pods, err = c.Admin.CoreV1().Pods(space).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"})
			if err != nil {
				return false, err.Error()
			}
			running := 0
			for _, pod := range pods.Items {
				if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
					running++
				}
			}
			return running == replicas && len(pods.Items) == replicas, fmt.Sprintf("%d of %d", running, len(pods.Items))
		})
		return pods.Items[0]
	}
	schedules := func(own corev1.Pod, scheduler, pod string, says ...string) {
		t.Helper()
		port := harness.FreePort(t)
		berth := startFromPod(t, c, &own, fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1")
		p := harness.Pod(pod, "", "1", "")
		p.Spec.SchedulerName = scheduler
		c.CreatePods(t, 0, p)
		c.WaitBound(t, 60*time.Second, pod)
		client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		// The probe's path for everybody, and metrics for nobody unknown: the reviews work.
		for path, wanted := range map[string]int{"/readyz": 200, "/metrics": 403} {
			answer, err := client.Get("https://" + net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != wanted {
				t.Errorf("%s: %d, not %d\n%s", path, answer.StatusCode, wanted, berth.Output())
			}
		}
		for _, words := range says {
			harness.Eventually(t, 30*time.Second, "its log has "+words, func() (bool, string) {
				output := berth.Output()
				return strings.Contains(output, words), output
			})
		}
		if output := berth.Output(); strings.Contains(output, "forbidden") {
			t.Errorf("the service account's rights are not enough:\n%s", output)
		}
		berth.Signal(syscall.SIGTERM)
		if code, ended := berth.Wait(20 * time.Second); !ended || code != 0 {
			t.Errorf("berth ended %v, with %d", ended, code)
		}
	}

	h.ok(t, "install", "berth", folderOf(t, "deploy/chart"), "--namespace", space)
	schedules(ready(2), "berth", "first")
	h.ok(t, "upgrade", "berth", folderOf(t, "deploy/chart"), "--namespace", space, "--set", "replicas=1,profiles[0].schedulerName=spot-first,profiles[0].plugins.multiPoint.enabled[0].name=SpotFirst")
	schedules(ready(1), "spot-first", "second")
	h.ok(t, "rollback", "berth", "1", "--namespace", space)
	schedules(ready(2), "berth", "third")
	const strategy = "RemovePodsViolatingNodeTaints"
	h.ok(t, "upgrade", "berth", folderOf(t, "deploy/chart"), "--namespace", space, "--set", "replicas=1,rebalancer.enabled=true,rebalancer.runIn=scheduler,"+
		"rebalancer.execute=true,rebalancer.interval=1s,rebalancer.policy.profiles[0].name=default,rebalancer.policy.profiles[0].pluginConfig[0].name="+strategy+
		",rebalancer.policy.profiles[0].plugins.deschedule.enabled[0]="+strategy)
	schedules(ready(1), "berth", "fourth", `"Round" result="quiet"`)
	h.ok(t, "uninstall", "berth", "--namespace", space, "--wait")

	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"}
	harness.Eventually(t, 30*time.Second, "nothing is left", func() (bool, string) {
		pods, err := c.Admin.CoreV1().Pods(space).List(ctx, ours)
		maps, err2 := c.Admin.CoreV1().ConfigMaps(space).List(ctx, ours)
		cluster, err3 := c.Admin.RbacV1().ClusterRoleBindings().List(ctx, ours)
		bindings, err4 := c.Admin.RbacV1().RoleBindings("").List(ctx, ours)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return false, err.Error()
		}
		left := len(pods.Items) + len(maps.Items) + len(cluster.Items) + len(bindings.Items)
		return left == 0, fmt.Sprintf("%d pods, %d config maps, %d cluster role bindings, %d role bindings",
			len(pods.Items), len(maps.Items), len(cluster.Items), len(bindings.Items))
	})
}
