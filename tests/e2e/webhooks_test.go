// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const tenant = "tenant"

// A tenant's admission webhooks that fail or hang hold up the tenant, and nobody else. What the tenant's pods wait for,
// they are told; when the webhook is gone they are bound.
func TestWebhooksOfATenant(t *testing.T) {
	harness.NeedsBerth(t)
	c := harness.StartCluster(t, harness.Options{})
	var nodes []*corev1.Node
	for i := range 20 {
		nodes = append(nodes, harness.Node(fmt.Sprintf("node-%03d", i)))
	}
	c.CreateNodes(t, nodes...)
	namespaces := c.Admin.CoreV1().Namespaces()
	if _, err := namespaces.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.StartScheduler(t, harness.Scheduler{Kubeconfig: c.Kubeconfig(t, harness.SchedulerUser), Dir: c.Dir})
	hanging := hangingServer(t, c)
	// Codes that mean something else when the API server says them by itself: an earlier try took effect, come back later.
	conflict, later := denyingServer(t, c, http.StatusConflict), denyingServer(t, c, http.StatusServiceUnavailable)

	cases := []struct {
		name     string
		url      string
		rule     admissionv1.RuleWithOperations
		cpu      string // of the tenant's pods
		reported string // part of what a pod's condition says; empty: it is not known
		within   time.Duration
	}{
		{"bindings-dead", fmt.Sprintf("https://127.0.0.1:%d/", harness.FreePort(t)), rule(admissionv1.Create, "pods/binding", ""), "10m",
			"failed calling webhook", 20 * time.Second},
		{"bindings-hang", hanging.URL, rule(admissionv1.Create, "pods/binding", ""), "10m", "failed calling webhook", 40 * time.Second},
		{"bindings-conflict", conflict.URL, rule(admissionv1.Create, "pods/binding", ""), "10m", "denied the request: no", 20 * time.Second},
		{"bindings-later", later.URL, rule(admissionv1.Create, "pods/binding", ""), "10m", "denied the request: no", 20 * time.Second},
		{"statuses-hang", hanging.URL, rule(admissionv1.Update, "pods/status", ""), "64", "", 0},
		{"events-hang", hanging.URL, rule(admissionv1.Create, "events", "", "events.k8s.io"), "10m", "", 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			remove := createWebhook(t, c, tc.name, tc.url, tc.rule)
			defer deleteAllPods(t, c)
			var victims []*corev1.Pod
			for i := range 64 {
				pod := harness.Pod(fmt.Sprintf("%s-%d", tc.name, i), "", tc.cpu, "")
				pod.Namespace = tenant
				victims = append(victims, pod)
			}
			c.CreatePods(t, 0, victims...)
			time.Sleep(2 * time.Second) // The attack is under way.

			var names []string
			for i := range 60 {
				names = append(names, fmt.Sprintf("ordinary-%s-%d", tc.name, i))
			}
			took := createAndTime(t, c, names)
			slices.Sort(took)
			t.Logf("ordinary pods were bound in %v (median), %v (slowest)", took[len(took)/2], took[len(took)-1])
			if slowest := took[len(took)-1]; slowest > time.Second {
				t.Errorf("an ordinary pod was bound after %v, while a webhook of another namespace did not work; %d of %d took over a second",
					slowest, len(slices.DeleteFunc(took, func(d time.Duration) bool { return d <= time.Second })), len(names))
			}
			harness.Eventually(t, 20*time.Second, "each ordinary pod has its Scheduled event", func() (bool, string) {
				seen := map[string]bool{}
				for _, event := range c.Events(t, "") {
					if event.Reason == "Scheduled" && strings.HasPrefix(event.Regarding.Name, "ordinary-"+tc.name) {
						seen[event.Regarding.Name] = true
					}
				}
				return len(seen) == len(names), fmt.Sprintf("%d of %d", len(seen), len(names))
			})
			if tc.reported != "" {
				awaitReported(t, c, len(victims), tc.reported, tc.within)
			}
			remove()
			if tc.cpu != "64" {
				harness.Eventually(t, 90*time.Second, "the tenant's pods are bound when the webhook is gone", func() (bool, string) {
					bound := 0
					for _, pod := range tenantPods(t, c) {
						if pod.Spec.NodeName != "" {
							bound++
						}
					}
					return bound == len(victims), fmt.Sprintf("%d of %d", bound, len(victims))
				})
			}
		})
	}
}

func rule(operation admissionv1.OperationType, resource string, groups ...string) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{operation},
		Rule:       admissionv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}

// Takes every question and answers none until the test ends.
func hangingServer(t *testing.T, c *harness.Cluster) *httptest.Server {
	t.Helper()
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{c.Authority().Server(t, "127.0.0.1").TLS(t)}}
	server.StartTLS()
	t.Cleanup(func() {
		close(done)
		server.Close()
	})
	return server
}

// Denies every request with this code.
func denyingServer(t *testing.T, c *harness.Cluster, code int32) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionapi.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Code: code, Message: "no"}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{c.Authority().Server(t, "127.0.0.1").TLS(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// Webhooks of the tenant's namespace, which must be asked. Returns what removes them.
func createWebhook(t *testing.T, c *harness.Cluster, name, url string, rule admissionv1.RuleWithOperations) func() {
	t.Helper()
	fail, none, seconds := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(10)
	webhooks := c.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(context.Background(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: name + ".example.com", FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"}, Rules: []admissionv1.RuleWithOperations{rule},
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &url, CABundle: c.Authority().PEM},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tenant}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // kube-apiserver reads it from a watch of its own.
	return func() {
		if err := webhooks.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Every pod of the tenant's says why it is not scheduled, and one of them in these words.
func awaitReported(t *testing.T, c *harness.Cluster, want int, words string, limit time.Duration) {
	t.Helper()
	var messages map[string]int
	for began := time.Now(); time.Since(began) < limit; time.Sleep(500 * time.Millisecond) {
		messages = map[string]int{}
		reported, inWords := 0, false
		for _, pod := range tenantPods(t, c) {
			condition := harness.Condition(&pod)
			if condition == nil || condition.Status != corev1.ConditionFalse {
				messages["nothing"]++
				continue
			}
			reported++
			messages[condition.Message]++
			inWords = inWords || strings.Contains(condition.Message, words)
		}
		if reported == want && inWords {
			return
		}
	}
	t.Errorf("not all of the tenant's %d pods are told why they wait, one of them with %q, within %v: %v", want, words, limit, messages)
}

func deleteAllPods(t *testing.T, c *harness.Cluster) {
	t.Helper()
	none := int64(0)
	for _, namespace := range []string{tenant, metav1.NamespaceDefault} {
		options := metav1.DeleteOptions{GracePeriodSeconds: &none}
		if err := c.Admin.CoreV1().Pods(namespace).DeleteCollection(context.Background(), options, metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func tenantPods(t *testing.T, c *harness.Cluster) []corev1.Pod {
	t.Helper()
	list, err := c.Admin.CoreV1().Pods(tenant).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// Creates small pods of the default namespace, ten a second, and returns how long after its creation each was seen with
// a node; those that never were count as 30 seconds.
func createAndTime(t *testing.T, c *harness.Cluster, names []string) []time.Duration {
	t.Helper()
	const limit = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Duration(len(names))*100*time.Millisecond)
	defer cancel()
	pods := c.Admin.CoreV1().Pods(metav1.NamespaceDefault)
	stream, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	type sight struct {
		name string
		at   time.Time
	}
	bound := make(chan sight, len(names))
	go func() {
		seen := map[string]bool{}
		for event := range stream.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || event.Type == watch.Deleted || pod.Spec.NodeName == "" || seen[pod.Name] {
				continue
			}
			seen[pod.Name] = true
			bound <- sight{pod.Name, time.Now()}
		}
	}()
	created := map[string]time.Time{}
	for _, name := range names {
		created[name] = time.Now()
		if _, err := pods.Create(ctx, harness.Pod(name, "", "10m", ""), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(created[name].Add(100 * time.Millisecond)))
	}
	var took []time.Duration
	for len(took) < len(names) {
		select {
		case one := <-bound:
			if at, ok := created[one.name]; ok {
				took = append(took, one.at.Sub(at))
			}
		case <-ctx.Done():
			for len(took) < len(names) {
				took = append(took, limit)
			}
		}
	}
	return took
}
