// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	shadowNodes = 300
	shadowPods  = 2000
	tightNodes  = 5
	shadowUser  = "berth-shadow"
	shadowRate  = 60  // a second, one by one, as a busy cluster has them
	shadowBurst = 500 // of them come as fast as they can be created, as when a Deployment grows
)

// The report of berth shadow -o json, as far as the test reads it.
type shadowReport struct {
	Decisions   int `json:"decisions"`
	Agreements  int `json:"agreements"`
	Unexplained int `json:"unexplained"`
	Matches     map[string]struct {
		Count            int `json:"count"`
		ExplainedByOrder int `json:"explainedByOrder"`
	} `json:"matches"`
	LeftOut     map[string]int  `json:"leftOut"`
	Cost        json.RawMessage `json:"cost"`
	Differences []struct {
		Pod              string          `json:"pod"`
		Match            string          `json:"match"`
		Points           int             `json:"points"`
		ExplainedByOrder bool            `json:"explainedByOrder"`
		Theirs           json.RawMessage `json:"theirs"`
		Ours             json.RawMessage `json:"ours"`
		Plugins          json.RawMessage `json:"plugins"`
	} `json:"differences"`
}

// 2,000 pods of all kinds, scheduled by the real kube-scheduler on 300 nodes, with berth shadow beside it. At least 999
// of 1,000 decisions must be the same or as good, and each of the others must be explained by the order of decisions.
// That order is known for certain where pods of one priority wait together; which of two priorities was first when both
// came within milliseconds is not, and so only pods of one priority come in a burst.
// berth has no right but deploy/shadow-role.yaml, and asks for nothing else.
func TestShadow(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{AsGiven: true})
	c.CreateNodes(t, shadowCluster()...)
	grantShadow(t, c)

	upstream := c.RESTConfig(t, shadowUser)
	proxy := c.StartProxy(t, harness.ProxyOptions{Upstream: upstream}, nil)
	metricsAt := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	page := filepath.Join(c.Dir, "shadow.html")
	shadow := harness.Start(t, harness.Command{Name: "berth-shadow", Dir: c.Dir, MayEnd: true, Args: []string{
		harness.Berth(t), "shadow", "--kubeconfig", c.KubeconfigVia(t, proxy), "-o", "json", "--page", page, "--metrics-bind-address", metricsAt,
	}})
	harness.Eventually(t, time.Minute, "berth shadow has listed everything", func() (bool, string) {
		output := shadow.Output()
		return strings.Contains(output, "decisions are compared from now on"), output
	})
	harness.StartKubeScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir, AllNodes: true})

	// What waits when a scheduler starts comes to its queue in an order that nobody else knows.
	c.CreatePods(t, 0, harness.Pod("first", "", "100m", "64Mi"))
	c.WaitBound(t, time.Minute, "first")

	pods := append(shadowMix(), tight("low", 0)...)
	createOneByOne(t, c, pods[:shadowPods-shadowBurst])
	c.CreatePods(t, 0, pods[shadowPods-shadowBurst:]...)
	waitDecided(t, c)
	createOneByOne(t, c, tight("high", 1000))
	c.WaitBound(t, time.Minute, "high-0", "high-1", "high-2", "high-3", "high-4")
	waitDecided(t, c)
	harness.Eventually(t, 30*time.Second, "berth shadow has compared them", func() (bool, string) {
		output := readMetrics(t, metricsAt)
		return strings.Contains(output, "\nberth_shadow_held_inputs 0\n"), "inputs are held"
	})
	metrics := readMetrics(t, metricsAt)

	shadow.Signal(syscall.SIGINT)
	code, ok := shadow.Wait(30 * time.Second)
	if !ok {
		t.Fatal("berth shadow does not end")
	}
	var report shadowReport
	output := shadow.Output()
	if err := json.Unmarshal([]byte(output[strings.LastIndex(output, "\n{")+1:]), &report); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	t.Logf("%d decisions, %d agree, matches %v, left out %v, cost %s", report.Decisions, report.Agreements, report.Matches, report.LeftOut, report.Cost)
	for _, d := range report.Differences {
		t.Logf("%s: %s by %d points, explained by order: %v\n theirs %s\n ours %s\n plugins %s", d.Pod, d.Match, d.Points, d.ExplainedByOrder, d.Theirs, d.Ours, d.Plugins)
	}
	if report.Decisions < shadowPods {
		t.Errorf("%d decisions for %d pods", report.Decisions, shadowPods)
	}
	if report.Agreements*1000 < report.Decisions*999 {
		t.Errorf("%d of %d agree, fewer than 99.9 %%", report.Agreements, report.Decisions)
	}
	if report.Unexplained > 0 || code != 0 {
		t.Errorf("%d decisions differ, whatever the order; exit status %d", report.Unexplained, code)
	}
	for _, match := range []string{"sameNode", "equallyGoodNode", "sameRefusal"} {
		if report.Matches[match].Count == 0 {
			t.Errorf("no decision is %q: the pods do not show what they should", match)
		}
	}
	if want := fmt.Sprintf(`berth_shadow_decisions_total{explained_by_order="false",match="sameNode"} %d`, report.Matches["sameNode"].Count); !strings.Contains(metrics, want) {
		t.Errorf("the metrics lack %s", want)
	}
	// The page's script draws the report, which is in the page as JSON.
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), fmt.Sprintf(`"agreements":%d,`, report.Agreements)) {
		t.Errorf("the page of %d agreements: %v, %d bytes", report.Agreements, err, len(html))
	}
	for _, x := range proxy.Requests(func(*harness.Exchange) bool { return true }) {
		if x.Method != http.MethodGet || x.Status == http.StatusForbidden {
			t.Errorf("%s %s: %d", x.Method, x.Path, x.Status)
		}
	}
}

func createOneByOne(t *testing.T, c *harness.Cluster, pods []*corev1.Pod) {
	t.Helper()
	ticker := time.NewTicker(time.Second / shadowRate)
	defer ticker.Stop()
	for _, pod := range pods {
		if _, err := c.Admin.CoreV1().Pods(pod.Namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-ticker.C
	}
}

// waitDecided waits until each pod is bound or refused.
func waitDecided(t *testing.T, c *harness.Cluster) {
	t.Helper()
	harness.Eventually(t, 3*time.Minute, "every pod is decided", func() (bool, string) {
		waiting := 0
		for _, pod := range c.Pods(t) {
			condition := harness.Condition(&pod)
			if pod.Spec.NodeName == "" && (condition == nil || condition.Reason != corev1.PodReasonUnschedulable) {
				waiting++
			}
		}
		return waiting == 0, fmt.Sprintf("%d wait", waiting)
	})
}

// grantShadow gives the user the rights of deploy/shadow-role.yaml.
func grantShadow(t *testing.T, c *harness.Cluster) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "shadow-role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(text, &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		if slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb != "list" && verb != "watch" }) {
			t.Errorf("the role allows %v of %v", rule.Verbs, rule.Resources)
		}
	}
	ctx := context.Background()
	if _, err := c.Admin.RbacV1().ClusterRoles().Create(ctx, &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: shadowUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: shadowUser}},
	}
	if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func readMetrics(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Three zones, three sizes, some with fast disks, some for a team of its own. "tight" ones are soon full.
func shadowCluster() []*corev1.Node {
	var nodes []*corev1.Node
	for i := range shadowNodes {
		node := harness.Node(fmt.Sprintf("node-%03d", i))
		node.Labels[corev1.LabelTopologyZone] = string(rune('a' + i%3))
		node.Labels["size"] = []string{"small", "medium", "large"}[i%7%3]
		cpu := map[string]string{"small": "4", "medium": "8", "large": "16"}[node.Labels["size"]]
		node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		node.Status.Capacity = node.Status.Allocatable
		if i%4 == 0 {
			node.Labels["disk"] = "ssd"
		}
		switch {
		case i%10 == 9:
			node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "ml", Effect: corev1.TaintEffectNoSchedule}}
		case i%30 == 8:
			node.Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
		}
		if i < tightNodes {
			node.Labels["pool"] = "tight"
			node.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "tight", Effect: corev1.TaintEffectNoSchedule}}
			node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1")
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// The same pods each time: plain ones, and those with affinity to nodes and pods, tolerations, spreading, host ports and
// priorities; some fit nowhere, and some must evict others.
func shadowMix() []*corev1.Pod {
	dice := rand.New(rand.NewPCG(17, 5))
	var pods []*corev1.Pod
	for i := range shadowPods {
		cpu := fmt.Sprintf("%dm", 50+10*dice.IntN(60))
		memory := fmt.Sprintf("%dMi", 64+32*dice.IntN(30))
		pod := harness.Pod(fmt.Sprintf("p-%04d", i), "", cpu, memory)
		pod.Labels["app"] = fmt.Sprintf("app-%02d", dice.IntN(25))
		same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
		switch kind := dice.IntN(100); {
		case kind < 40: // plain
		case kind < 50:
			pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		case kind < 58:
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: int32(1 + dice.IntN(50)), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "size", Operator: corev1.NodeSelectorOpIn, Values: []string{"small", "large"}}}}}}}}
		case kind < 66:
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
		case kind < 74:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: int32(1 + dice.IntN(3)), TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same}}
		case kind < 79:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: same}}
		case kind < 84:
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{LabelSelector: same, TopologyKey: corev1.LabelHostname}}}}
		case kind < 89:
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: int32(1 + dice.IntN(100)), PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: same, TopologyKey: corev1.LabelTopologyZone}}}}}
		case kind < 93:
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: int32(8000 + dice.IntN(3)), ContainerPort: 80}}
			pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
		case kind < 97 && i < shadowPods-shadowBurst:
			priority := int32(10 * (1 + dice.IntN(3)))
			pod.Spec.Priority = &priority
		case kind >= 97: // nowhere
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("90")
		}
		pods = append(pods, pod)
	}
	return pods
}

// One for each tight node, with grace for nobody: those of a higher priority evict those of a lower one.
func tight(name string, priority int32) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range tightNodes {
		pod := harness.Pod(fmt.Sprintf("%s-%d", name, i), "", "800m", "64Mi")
		pod.Spec.NodeSelector = map[string]string{"pool": "tight"}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}}
		pod.Spec.Priority = &priority
		pod.Spec.TerminationGracePeriodSeconds = new(int64)
		pods = append(pods, pod)
	}
	return pods
}
