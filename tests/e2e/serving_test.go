// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A request to a scheduler's secure port, and who makes it.
type servingRequest struct {
	method, target, token string
	pair                  *harness.Pair
	headers               map[string]string
	body                  string
}

type servingAnswer struct {
	status int
	body   string
	// Those that say what the body is and who may keep it.
	contentType, options, cache string
}

func askServing(t *testing.T, port int, r servingRequest) (servingAnswer, error) {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if r.pair != nil {
		config.Certificates = []tls.Certificate{r.pair.TLS(t)}
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: config, DisableCompression: true}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequest(r.method, fmt.Sprintf("https://127.0.0.1:%d%s", port, r.target), strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return servingAnswer{}, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return servingAnswer{response.StatusCode, string(b), response.Header.Get("Content-Type"), response.Header.Get("X-Content-Type-Options"),
		response.Header.Get("Cache-Control")}, err
}

// The lines of berth's own health checks, and what is of one process only.
var ownOfServing = regexp.MustCompile(`(?m)^\[\+\](event-loop|core|informers) ok\n|^.*name="(event-loop|core|informers)".*\n`)

// Every request is made to kube-scheduler and to berth, which authenticate and authorize by the same API server; the
// answers must be the same.
func TestServing(t *testing.T) {
	harness.NeedsBerth(t)
	ctx := context.Background()
	c := harness.StartCluster(t, harness.Options{Tokens: map[string]string{"nobody-token": "nobody", "reader-token": "metrics-reader"}})
	c.CreateNodes(t, harness.Node("node-000"))
	if _, err := c.Admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "serving-reader"},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"*"}, Verbs: []string{"get", "put", "delete"}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "serving-reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "serving-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "metrics-reader"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// A pod that says all that /metrics/resources knows.
	pod := harness.Pod("first", "", "100m", "")
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "x", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3Mi")}}}}
	c.CreatePods(t, 0, pod)

	kubeconfig := c.Kubeconfig(t, harness.SchedulerUser)
	config := filepath.Join(c.Dir, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q}
leaderElection: {leaderElect: false}
`, kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	files := func(name string, pair harness.Pair) {
		for suffix, content := range map[string][]byte{".crt": pair.Cert, ".key": pair.Key} {
			if err := os.WriteFile(filepath.Join(c.Dir, name+suffix), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	files("scheduler", c.Authority().Server(t, "127.0.0.1"))
	flags := func(port int) []string {
		return []string{"--config", config, fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1",
			"--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
			"--tls-cert-file", filepath.Join(c.Dir, "scheduler.crt"), "--tls-private-key-file", filepath.Join(c.Dir, "scheduler.key")}
	}
	theirs, ours := harness.FreePort(t), harness.FreePort(t)
	harness.Start(t, harness.Command{Name: "kube-scheduler", Dir: c.Dir, Args: append([]string{harness.ControlPlane(t, "kube-scheduler")}, flags(theirs)...)})
	c.WaitBound(t, 30*time.Second, "first")
	harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: append([]string{harness.Berth(t), "run"}, flags(ours)...)})
	for _, port := range []int{theirs, ours} {
		harness.Eventually(t, 30*time.Second, "ready", func() (bool, string) {
			a, err := askServing(t, port, servingRequest{method: "GET", target: "/readyz"})
			return err == nil && a.status == 200, fmt.Sprint(a, err)
		})
	}

	admin := c.Authority().Client(t, "admin", []string{"system:masters"}, time.Hour)
	nobody := c.Authority().Client(t, "nobody", nil, time.Hour)
	expired := c.Authority().Client(t, "admin", []string{"system:masters"}, -time.Hour)
	ofServer := c.Authority().Server(t, "admin")
	stranger := harness.NewAuthority(t, "stranger").Client(t, "admin", []string{"system:masters"}, time.Hour)
	var requests []servingRequest
	get := func(target, token string) {
		requests = append(requests, servingRequest{method: "GET", target: target, token: token})
	}
	for _, target := range []string{"/healthz", "/livez", "/readyz", "/healthz?verbose", "/livez?verbose", "/readyz?verbose",
		"/readyz?verbose&exclude=shutdown&exclude=nothing", "/readyz/shutdown", "/readyz/sched-handler-sync", "/readyz/leaderElection", "/readyz/",
		"/livez/ping", "/healthz/ping", "/metrics", "/metrics/slis", "/metrics/resources", "/metrics/", "/configz", "/flagz", "/statusz",
		"/debug/flags/v", "/debug/flags", "/debug/flags/other", "/debug/pprof/nothing", "/debug", "/", "/api/v1/pods", "/nothing", "//healthz",
		"/healthz/../metrics", "/met%72ics?x=y", "/a<b>&c", "/metrics?pretty=1"} {
		for _, token := range []string{"", "nobody-token", "wrong-token", "reader-token"} {
			get(target, token)
		}
	}
	for _, pair := range []*harness.Pair{&admin, &nobody, &expired, &ofServer, &stranger} {
		for _, target := range []string{"/healthz", "/metrics", "/configz", "/nothing"} {
			requests = append(requests, servingRequest{method: "GET", target: target, pair: pair},
				servingRequest{method: "GET", target: target, pair: pair, token: "reader-token"},
				servingRequest{method: "GET", target: target, pair: pair, token: "wrong-token"})
		}
	}
	for _, header := range []map[string]string{
		{"Authorization": "Basic YWJj"}, {"Authorization": "Bearer "}, {"Authorization": "bearer  nobody-token"}, {"Authorization": "BEARER nobody-token more"},
		{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}, {"User-Agent": "curl/7.88"}, {"Accept": "text/html"}, {"Accept": "application/*"}} {
		requests = append(requests, servingRequest{method: "GET", target: "/metrics", headers: header})
	}
	const json = "application/json;v=v1beta1;g=config.k8s.io;as="
	for _, accept := range []string{"application/json", json + "Flagz", json + "Statusz", "*/*", "text/plain"} {
		requests = append(requests, servingRequest{method: "GET", target: "/flagz", token: "reader-token", headers: map[string]string{"Accept": accept}},
			servingRequest{method: "GET", target: "/statusz", token: "reader-token", headers: map[string]string{"Accept": accept}})
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "HEAD", "PATCH"} {
		for _, target := range []string{"/healthz", "/metrics", "/metrics/slis", "/debug/flags/v", "/nothing"} {
			for _, token := range []string{"", "reader-token"} {
				requests = append(requests, servingRequest{method: method, target: target, token: token, body: "2"})
			}
		}
	}
	requests = append(requests, servingRequest{method: "PUT", target: "/debug/flags/v", token: "reader-token", body: "x"},
		servingRequest{method: "PUT", target: "/debug/flags/v", token: "reader-token", body: "-1"})

	differing := 0
	for _, r := range requests {
		want, wantError := askServing(t, theirs, r)
		got, gotError := askServing(t, ours, r)
		if wantError != nil || gotError != nil {
			if (wantError == nil) != (gotError == nil) {
				t.Errorf("%s %s: kube-scheduler: %v, berth: %v", r.method, r.target, wantError, gotError)
			}
			continue
		}
		path, _, _ := strings.Cut(r.target, "?")
		path, _ = url.PathUnescape(path) // those that cannot be are compared as they are
		switch {
		case path == "/configz" && want.status == 200:
			continue // whoever makes the configuration's JSON tests it
		case strings.HasPrefix(path, "/debug/pprof") && want.status < 400:
			continue
		case path == "/debug/pprof/nothing":
			got.body, want.body = "", "" // 404 on both, in words of their own
		case want.status == 200 && (path == "/metrics" && r.method != "DELETE" || path == "/metrics/slis" || path == "/flagz" || path == "/statusz"):
			// What these show is of each process. That it is written alike is tested below.
			got.body, want.body = "", ""
		}
		got.body = ownOfServing.ReplaceAllString(got.body, "")
		if got != want {
			if differing++; differing <= 20 {
				who := r.token
				if r.pair != nil {
					who += " with a certificate"
				}
				t.Errorf("%s %s %v as %q:\nkube-scheduler: %+v\nberth:          %+v", r.method, r.target, r.headers, who, want, got)
			}
		}
	}
	t.Logf("%d requests, %d answered otherwise", len(requests), differing)

	as := func(target, accept string) (theirBody, ourBody string) {
		r := servingRequest{method: "GET", target: target, token: "reader-token", headers: map[string]string{"Accept": accept}}
		a, err := askServing(t, theirs, r)
		b, ourErr := askServing(t, ours, r)
		if err != nil || ourErr != nil {
			t.Fatal(err, ourErr)
		}
		return a.body, b.body
	}
	// Of each series its name, type and labels.
	series := func(text string) map[string]bool {
		found := map[string]bool{}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				line, _, _ = strings.Cut(line, "} ")
			}
			found[strings.TrimSpace(line)] = true
		}
		return found
	}
	want, got := as("/metrics/slis", "")
	for line := range series(want) {
		if strings.HasPrefix(line, "process_start_time_seconds ") || strings.Contains(line, `status="error"`) {
			continue // the first readyz may or may not have come before the lists
		}
		if !series(got)[line] {
			t.Errorf("/metrics/slis lacks %s", line)
		}
	}
	if want, got := as("/metrics/resources", ""); want != got {
		t.Errorf("/metrics/resources:\nkube-scheduler: %s\nberth: %s", want, got)
	}
	// Before 1.36 the gates of these two pages are off, and both answer 404, which is compared above.
	if !harness.Before136(t) {
		lines := regexp.MustCompile(`(?m)^(Started|Up|Go version|Binary version|Emulation version|Paths)\b`)
		want, got = as("/statusz", "")
		if a, b := lines.FindAllString(want, -1), lines.FindAllString(got, -1); len(a) != 6 || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("/statusz:\nkube-scheduler: %s\nberth: %s", want, got)
		}
		if _, got := as("/flagz", ""); !strings.Contains(got, fmt.Sprintf("\nauthentication-kubeconfig=%s\n", kubeconfig)) &&
			!strings.Contains(got, fmt.Sprintf("authentication-kubeconfig=%s\n", kubeconfig)) {
			t.Errorf("/flagz: %s", got)
		}
	}

	// The serving certificate is replaced while both run.
	next := harness.NewAuthority(t, "next")
	files("scheduler", next.Server(t, "127.0.0.1"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(next.PEM)
	for _, port := range []int{theirs, ours} {
		harness.Eventually(t, 90*time.Second, "the new certificate is shown", func() (bool, string) {
			connection, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{RootCAs: roots})
			if err != nil {
				return false, err.Error()
			}
			connection.Close()
			return true, ""
		})
	}
}

// Whoever is on the port does not hold up the scheduler or a probe: connections that say nothing, and a certificate of
// berth's own making.
func TestServingUnderSilence(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	c.CreateNodes(t, harness.Node("node-000"))
	port := harness.FreePort(t)
	kubeconfig := c.Kubeconfig(t, harness.SchedulerUser)
	berth := harness.Start(t, harness.Command{Name: "berth", Dir: c.Dir, Args: []string{harness.Berth(t), "run", "--kubeconfig", kubeconfig,
		fmt.Sprintf("--secure-port=%d", port), "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig}})
	probe := func() (bool, string) {
		a, err := askServing(t, port, servingRequest{method: "GET", target: "/livez"})
		return err == nil && a.body == "ok", fmt.Sprint(a, err)
	}
	harness.Eventually(t, 20*time.Second, "alive", probe)
	for range 1500 {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	if ok, account := probe(); !ok {
		t.Errorf("beside 1,500 connections that say nothing: %s", account)
	}
	c.CreatePods(t, 0, harness.Pod("first", "", "100m", ""))
	c.WaitBound(t, 10*time.Second, "first")

	// The port is taken: one line, and the end.
	second := harness.Start(t, harness.Command{Name: "second", Dir: c.Dir, MayEnd: true, Args: []string{harness.Berth(t), "run", "--kubeconfig", kubeconfig,
		fmt.Sprintf("--secure-port=%d", port)}})
	if code, ok := second.Wait(20 * time.Second); !ok || code != 1 {
		t.Errorf("on a port that is taken: ended %v with %d", ok, code)
	}
	last := second.Output()
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if !strings.Contains(last, fmt.Sprintf("--secure-port: listen :%d: address already in use", port)) {
		t.Errorf("on a port that is taken: %q", last)
	}

	// Told to end, it says so before it goes; berth has nothing under way, so that this is soon.
	berth.Signal(os.Interrupt)
	if code, ok := berth.Wait(20 * time.Second); !ok || code != 0 {
		t.Errorf("ended %v with %d", ok, code)
	}
}
