// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// extenderService decides by the pod's name, without the last part that tells twins apart, and the node's: about a third
// of the nodes will not do, and of the others one is the best.
type extenderService struct {
	t     *testing.T
	admin kubernetes.Interface

	mu    sync.Mutex
	calls map[string][][]byte // bodies, by path and pod
}

func twinless(pod string) string {
	return strings.TrimSuffix(strings.TrimSuffix(pod, "-theirs"), "-ours")
}

func mix(texts ...string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(texts, "/")))
	return h.Sum32()
}

// ServeHTTP serves /WHO/FORM/VERB: who asks, "whole" or "names", and what is asked.
func (s *extenderService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Errorf("%s: %v", r.URL.Path, err)
		return
	}
	verb := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("%s %s with content type %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	var answer any
	var pod string
	switch verb {
	case "filter", "prioritize":
		var args extenderv1.ExtenderArgs
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&args); err != nil {
			s.t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		pod = args.Pod.Name
		if verb == "filter" {
			answer = s.filter(&args)
		} else {
			answer = s.prioritize(&args)
		}
	case "bind":
		var args extenderv1.ExtenderBindingArgs
		if err := json.Unmarshal(body, &args); err != nil {
			s.t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		pod = args.PodName
		answer = s.bind(r.Context(), &args)
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	key := r.URL.Path + " " + pod
	s.calls[key] = append(s.calls[key], body)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func names(args *extenderv1.ExtenderArgs) []string {
	if args.NodeNames != nil {
		return *args.NodeNames
	}
	var all []string
	for _, node := range args.Nodes.Items {
		all = append(all, node.Name)
	}
	return all
}

func (s *extenderService) filter(args *extenderv1.ExtenderArgs) *extenderv1.ExtenderFilterResult {
	pod := twinless(args.Pod.Name)
	result := &extenderv1.ExtenderFilterResult{FailedNodes: extenderv1.FailedNodesMap{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{}}
	left := []string{}
	for _, node := range names(args) {
		switch hash := mix(pod, node, "filter"); {
		case strings.HasPrefix(pod, "hopeless"), hash%3 == 0:
			switch hash % 4 {
			case 0:
				result.FailedNodes[node] = "no license"
			case 1:
				result.FailedAndUnresolvableNodes[node] = "wrong generation"
			case 2:
				result.FailedNodes[node] = "busy"
				result.FailedAndUnresolvableNodes[node] = "wrong generation"
			default: // without a word
			}
		default:
			left = append(left, node)
		}
	}
	if args.NodeNames != nil {
		result.NodeNames = &left
		return result
	}
	result.Nodes = &corev1.NodeList{}
	for _, node := range args.Nodes.Items {
		if slices.Contains(left, node.Name) {
			result.Nodes.Items = append(result.Nodes.Items, node)
		}
	}
	return result
}

// prioritize gives one node the most.
func (s *extenderService) prioritize(args *extenderv1.ExtenderArgs) *extenderv1.HostPriorityList {
	all := names(args)
	best := slices.MaxFunc(all, func(a, b string) int {
		return int(mix(twinless(args.Pod.Name), a)>>8) - int(mix(twinless(args.Pod.Name), b)>>8)
	})
	list := extenderv1.HostPriorityList{}
	for _, node := range all {
		score := int64(0)
		if node == best {
			score = extenderv1.MaxExtenderPriority
		}
		list = append(list, extenderv1.HostPriority{Host: node, Score: score})
	}
	return &list
}

func (s *extenderService) bind(ctx context.Context, args *extenderv1.ExtenderBindingArgs) *extenderv1.ExtenderBindingResult {
	err := s.admin.CoreV1().Pods(args.PodNamespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: types.UID(args.PodUID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
	}, metav1.CreateOptions{})
	if err != nil {
		return &extenderv1.ExtenderBindingResult{Error: err.Error()}
	}
	return &extenderv1.ExtenderBindingResult{}
}

// The real kube-scheduler and berth have the same extender, and twins of each pod: they put the same questions, place
// each pair on the same node, and say the same of pods that the extender will have nowhere.
func TestExtender(t *testing.T) {
	harness.NeedsBerth(t)
	t.Parallel()
	for _, form := range []string{"whole", "names"} {
		t.Run(form, func(t *testing.T) { testExtender(t, form) })
	}
}

// startBothWithExtender starts kube-scheduler ("theirs") and berth ("ours", for the scheduler name `ours`), each with the
// extender that the function says for it.
func startBothWithExtender(t *testing.T, c *harness.Cluster, ours string, extender func(who string) string) {
	t.Helper()
	config := func(who, scheduler string) string {
		path := filepath.Join(c.Dir, who+"-extenders.yaml")
		text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: %s}]
extenders: [%s]
`, c.Kubeconfig(t, harness.SchedulerUser), scheduler, extender(who))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	harness.Start(t, harness.Command{Name: "kube-scheduler", Dir: c.Dir, Args: []string{
		harness.ControlPlane(t, "kube-scheduler"), "--config", config("theirs", corev1.DefaultSchedulerName), "--secure-port=0", "-v=2"}})
	harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{harness.Berth(t), "run", "--config", config("ours", ours)}})
}

func testExtender(t *testing.T, form string) {
	c := harness.StartCluster(t, harness.Options{})
	service := &extenderService{t: t, admin: c.Admin, calls: map[string][][]byte{}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	const ours = "berth"
	for i := range 12 {
		node := harness.Node(fmt.Sprintf("node-%03d", i))
		node.Annotations = map[string]string{"note": `a<b & "c"`}
		if i == 11 {
			node.Spec.Taints = []corev1.Taint{{Key: "gone", Effect: corev1.TaintEffectNoSchedule}}
		}
		c.CreateNodes(t, node)
	}
	startBothWithExtender(t, c, ours, func(who string) string {
		return fmt.Sprintf("{urlPrefix: \"%s/%s/%s/\", filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, weight: 100, nodeCacheCapable: %t}",
			server.URL, who, form, form == "names")
	})

	var bound []string
	for i := range 30 {
		pair := twins(t, c, ours, fmt.Sprintf("pod-%02d", i), func(p *corev1.Pod) { request(p, corev1.ResourceCPU, "10m") })
		bound = append(bound, pair[:]...)
	}
	hopeless := map[string][2]string{}
	for _, name := range []string{"hopeless-a", "hopeless-b"} {
		hopeless[name] = twins(t, c, ours, name, func(*corev1.Pod) {})
	}
	placed := c.WaitBound(t, time.Minute, bound...)
	for i := 0; i < len(bound); i += 2 {
		if theirs, own := placed[bound[i]], placed[bound[i+1]]; theirs != own {
			t.Errorf("kube-scheduler puts %s on %s, and berth puts %s on %s", bound[i], theirs, bound[i+1], own)
		}
	}
	for _, name := range []string{"hopeless-a", "hopeless-b"} {
		t.Run(name, func(t *testing.T) { same(t, c, hopeless[name], ours, "") })
	}
	service.compare(bound, form)
}

// compare looks at what was asked about both of each pair: the same verbs, and the same objects but for what makes them
// two.
func (s *extenderService) compare(pods []string, form string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(pods); i += 2 {
		for _, verb := range []string{"filter", "prioritize", "bind"} {
			theirs := s.calls["/theirs/"+form+"/"+verb+" "+pods[i]]
			own := s.calls["/ours/"+form+"/"+verb+" "+pods[i+1]]
			if (len(theirs) == 0) != (len(own) == 0) {
				s.t.Errorf("%s of %s: kube-scheduler asks %d times and berth %d times", verb, twinless(pods[i]), len(theirs), len(own))
			}
			if len(theirs) == 0 || len(own) == 0 || verb == "bind" {
				continue
			}
			if a, b := withoutTwins(s.t, theirs[0]), withoutTwins(s.t, own[0]); a != b {
				s.t.Fatalf("%s of %s: kube-scheduler sends\n%s\nand berth\n%s", verb, twinless(pods[i]), a, b)
			}
		}
	}
}

// clearIdentity takes out of a pod what no two pods have in common, whatever their names.
func clearIdentity(pod *corev1.Pod) {
	pod.UID, pod.ResourceVersion, pod.Spec.SchedulerName = "", "", ""
	pod.CreationTimestamp = metav1.Time{}
	pod.ManagedFields = nil // kube-scheduler leaves them out since 1.36, and berth always
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].Name = ""
	}
	for i := range pod.Spec.Containers {
		for j := range pod.Spec.Containers[i].VolumeMounts {
			pod.Spec.Containers[i].VolumeMounts[j].Name = ""
		}
	}
}

// withoutTwins is the question without what differs between twins, and without what is about time.
func withoutTwins(t *testing.T, body []byte) string {
	t.Helper()
	var args extenderv1.ExtenderArgs
	if err := json.Unmarshal(body, &args); err != nil {
		t.Fatal(err)
	}
	args.Pod.Name = twinless(args.Pod.Name)
	clearIdentity(args.Pod)
	if args.Nodes != nil {
		slices.SortFunc(args.Nodes.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
		for i := range args.Nodes.Items {
			args.Nodes.Items[i].ManagedFields = nil // berth leaves them out
		}
	}
	if args.NodeNames != nil {
		slices.Sort(*args.NodeNames)
	}
	text, err := json.MarshalIndent(args, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
