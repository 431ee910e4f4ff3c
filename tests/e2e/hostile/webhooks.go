// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"berth-e2e/harness"

	admissionreviewv1 "k8s.io/api/admission/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a webhook is asked about.
var (
	onBindings = ruleOn(admissionv1.Create, "pods/binding", "")
	onStatuses = ruleOn(admissionv1.Update, "pods/status", "")
	onEvents   = ruleOn(admissionv1.Create, "events", "", "events.k8s.io")
)

func ruleOn(operation admissionv1.OperationType, resource string, groups ...string) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{operation},
		Rule:       admissionv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}

// webhook makes a webhook of the attacker's namespace, which must be asked, and returns what removes it.
func (r *run) webhook(url string, rules ...admissionv1.RuleWithOperations) func() {
	fail, none, seconds := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(10)
	webhooks := r.c.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := webhooks.Create(context.Background(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: r.tenant},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: r.tenant + ".example.com", FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"}, Rules: rules,
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &url, CABundle: r.c.Authority().PEM},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.tenant}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	removed := false
	remove := func() {
		if !removed {
			removed = true
			_ = webhooks.Delete(context.Background(), r.tenant, metav1.DeleteOptions{}) // goes with the cluster at the latest
		}
	}
	r.Cleanup(remove)
	time.Sleep(2 * time.Second) // kube-apiserver reads it from a watch of its own.
	return remove
}

func (r *run) deadURL() string { return fmt.Sprintf("https://127.0.0.1:%d/", harness.FreePort(r)) }

// server answers webhooks; it ends with the test, and with it whoever waits for an answer.
func (r *run) server(handle func(w http.ResponseWriter, request *http.Request, ended <-chan struct{})) string {
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { handle(w, request, ended) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{r.c.Authority().Server(r, "127.0.0.1").TLS(r)}}
	server.StartTLS()
	r.Cleanup(func() {
		close(ended)
		server.Close()
	})
	return server.URL
}

// hangingURL takes every question and answers none.
func (r *run) hangingURL() string {
	return r.server(func(_ http.ResponseWriter, request *http.Request, ended <-chan struct{}) {
		select {
		case <-ended:
		case <-request.Context().Done():
		}
	})
}

// refusingURL says no after a while.
func (r *run) refusingURL(after time.Duration) string {
	return r.server(func(w http.ResponseWriter, request *http.Request, ended <-chan struct{}) {
		var review admissionreviewv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		select {
		case <-ended:
		case <-time.After(after):
		}
		review.Response = &admissionreviewv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "not now"}}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // who hung up wants no answer
	})
}

// tenantPods makes pods of the attacker's, named with a prefix, that ask for so much CPU.
func (r *run) tenantPods(prefix string, n int, cpu string) (pods []*corev1.Pod, names []string) {
	for i := range n {
		pod := harness.Pod(fmt.Sprintf("%s-%d", prefix, i), r.podsFor, cpu, "")
		pod.Namespace = r.tenant
		pods = append(pods, pod)
		names = append(names, pod.Name)
	}
	return pods, names
}

// Bindings of the tenant's pods fail, or are not answered: the others are bound, and the tenant's are told.
func bindingsAttack(url func(r *run) string, reportWithin time.Duration) func(r *run) {
	return func(r *run) {
		r.begin(options{})
		remove := r.webhook(url(r), onBindings)
		pods, names := r.tenantPods("refused", r.strength, "10m")
		r.under(func(context.Context) { r.c.CreatePods(r, 0, pods...) })
		r.result.Tenant = r.untilReported(r.tenant, names, false, reportWithin)
		remove()
		r.cleared()
	}
}

// Neither the status nor an event of the tenant's pods can be written: others are told all the same.
func silencedAttack(r *run) {
	r.begin(options{})
	remove := r.webhook(r.hangingURL(), onStatuses, onEvents)
	pods, _ := r.tenantPods("silenced", r.strength, "64")
	var others []*corev1.Pod
	var names []string
	for i := range 10 {
		pod := harness.Pod(fmt.Sprintf("%s-others-%d", r.tenant, i), "", "64", "")
		pod.Namespace = ordinaryNamespaces[0]
		others = append(others, pod)
		names = append(names, pod.Name)
	}
	began := time.Now()
	r.under(func(context.Context) {
		r.c.CreatePods(r, 0, pods...)
		time.Sleep(2 * time.Second)
		r.c.CreatePods(r, 0, others...)
	})
	waits := r.untilReported(ordinaryNamespaces[0], names, true, 10*time.Second)
	bound := r.untilScheduledEvents(began, time.Now(), 10*time.Second)
	r.note("%d of %d ordinary pods that fit nowhere have condition and event; %d of %d bound ones their Scheduled event",
		waits.Reported, waits.Of, bound.Reported, bound.Of)
	r.result.Others = &reported{Reported: waits.Reported + bound.Reported, Of: waits.Of + bound.Of}
	none := int64(0)
	for _, name := range names {
		_ = r.c.Admin.CoreV1().Pods(ordinaryNamespaces[0]).Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &none})
	}
	remove()
	r.cleared()
}

// The annotation that gives a pod to the scheduler changes while its binding is refused, late.
func annotationAttack(r *run) {
	const annotation = "scheduler.alpha.kubernetes.io/name"
	r.podsFor = "mine"
	r.begin(options{flags: []string{"--scheduler-name", "mine", "--pods-by-annotation"}})
	r.webhook(r.refusingURL(3*time.Second), onBindings, onStatuses)
	pods, names := r.tenantPods("given", r.strength, "10m")
	for _, pod := range pods {
		pod.Spec.SchedulerName = ""
		pod.Annotations = map[string]string{annotation: "mine"}
	}
	r.under(func(ctx context.Context) {
		r.c.CreatePods(r, 0, pods...)
		for i := range 8 {
			time.Sleep(time.Second)
			for _, name := range names {
				r.patchPod(ctx, name, map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: []string{"other", "mine"}[i%2]}}})
			}
		}
	})
	r.cleared()
}
