// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// untilReported waits until all of a namespace's pods that have a name of these report why they wait, by a condition with a
// message or by a FailedScheduling event (both when strict), and counts them.
func (r *run) untilReported(namespace string, names []string, strict bool, limit time.Duration) *reported {
	count := &reported{Of: len(names)}
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		conditions, events := r.conditions(namespace), r.events(namespace, "FailedScheduling")
		count.Reported = 0
		for _, name := range names {
			if strict && conditions[name] && events[name] || !strict && (conditions[name] || events[name]) {
				count.Reported++
			}
		}
		if count.Reported == count.Of || time.Since(began) > limit {
			return count
		}
	}
}

// conditions are the pods that have a node, or a message that says why they have none.
func (r *run) conditions(namespace string) map[string]bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	found := map[string]bool{}
	list, err := r.c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return found
	}
	for i := range list.Items {
		pod := &list.Items[i]
		condition := harness.Condition(pod)
		if pod.Spec.NodeName != "" || condition != nil && condition.Status == corev1.ConditionFalse && condition.Message != "" {
			found[pod.Name] = true
		}
	}
	return found
}

// events are the names of the pods that have an event of this reason.
func (r *run) events(namespace, reason string) map[string]bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	found := map[string]bool{}
	list, err := r.c.Admin.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return found
	}
	for i := range list.Items {
		found[list.Items[i].Regarding.Name] = true
	}
	return found
}

// untilScheduledEvents waits until each bound ordinary pod of a time has its Scheduled event, and counts them.
func (r *run) untilScheduledEvents(from, to time.Time, limit time.Duration) *reported {
	count := &reported{}
	for began := time.Now(); ; time.Sleep(time.Second) {
		events := map[string]bool{}
		for _, namespace := range ordinaryNamespaces {
			for name := range r.events(namespace, "Scheduled") {
				events[name] = true
			}
		}
		*count = reported{}
		for name, pod := range r.stream.created(from, to) {
			if pod.bound.IsZero() {
				continue
			}
			count.Of++
			if events[name] {
				count.Reported++
			}
		}
		if count.Reported == count.Of || time.Since(began) > limit {
			return count
		}
	}
}
