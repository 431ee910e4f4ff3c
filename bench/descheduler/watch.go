// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const (
	// What a container takes to be ready, and to end.
	startLatency = 3 * time.Second
	endLatency   = time.Second
	// A replacement that is bound to the old pod's node so long after the eviction has come back.
	cameBackMax = time.Minute
)

// observer watches pods, and is the kubelets: it makes bound pods ready after a while, and finishes their deletion. From
// the moment at which it learns of it measures.
type observer struct {
	client kubernetes.Interface
	made   *shape

	mu     sync.Mutex
	owners map[string]*ownerState
	pods   map[types.UID]*podState
	measure
}

type podState struct {
	name     string
	owner    *ownerState
	node     string
	created  time.Time // when this program saw it first
	isReady  bool
	isEnding bool
	evicted  bool
}

type ownerState struct {
	*owner
	ready    int
	breaking bool // fewer pods are ready than the budget asks for
	left     []departure
}

// departure is an eviction whose replacement has not been seen on the same node.
type departure struct {
	node string
	at   time.Time
}

// measure is what was seen since `began`.
type measure struct {
	began         time.Time
	lastChange    time.Time
	lastEviction  time.Time
	evictions     int
	cameBack      int
	budgetsBroken int
	missing       float64 // replicas that were not ready, times seconds
	without       float64 // owners without a ready pod, times seconds
	pendingWaits  float64 // pods without a node, times seconds
	deletions     int     // that were no evictions
}

func observe(ctx context.Context, client kubernetes.Interface, made *shape) *observer {
	o := &observer{client: client, made: made, owners: map[string]*ownerState{}, pods: map[types.UID]*podState{}}
	for _, of := range made.owners {
		o.owners[of.name] = &ownerState{owner: of}
	}
	go func() {
		for ctx.Err() == nil {
			if err := o.follow(ctx); err != nil && ctx.Err() == nil {
				time.Sleep(200 * time.Millisecond)
			}
		}
	}()
	return o
}

// follow lists, then watches until the stream ends.
func (o *observer) follow(ctx context.Context) error {
	pods := o.client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	listed := map[types.UID]bool{}
	for i := range list.Items {
		listed[list.Items[i].UID] = true
		o.see(ctx, &list.Items[i], false)
	}
	o.forget(listed)
	stream, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type == watch.Error {
			return fmt.Errorf("the watch has ended: %v", event.Type)
		}
		o.see(ctx, pod, event.Type == watch.Deleted)
	}
	return nil
}

func (o *observer) forget(listed map[types.UID]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for uid, p := range o.pods {
		if !listed[uid] {
			p.setReady(false)
			delete(o.pods, uid)
		}
	}
}

func (o *observer) see(ctx context.Context, pod *corev1.Pod, isGone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.owners[pod.Labels[ownerLabel]]
	if of == nil {
		return
	}
	now := time.Now()
	o.integrate(now)
	p := o.pods[pod.UID]
	if p == nil {
		if isGone {
			return
		}
		p = &podState{name: pod.Name, owner: of, created: now}
		o.pods[pod.UID] = p
	}
	if p.node == "" && pod.Spec.NodeName != "" {
		p.node = pod.Spec.NodeName
		o.onBound(p, now)
		if pod.DeletionTimestamp == nil && !isReady(pod) {
			uid := pod.UID
			time.AfterFunc(startLatency, func() { o.makeReady(ctx, uid, p.name) })
		}
	}
	if pod.DeletionTimestamp != nil && !p.isEnding {
		p.isEnding = true
		if !isGone && p.node != "" {
			uid := pod.UID
			time.AfterFunc(endLatency, func() { _ = deletePod(ctx, o.client, p.name, uid) })
		}
	}
	if (p.isEnding || isGone) && !p.evicted {
		p.evicted = true
		o.onEnding(p, wasEvicted(pod), now)
	}
	p.setReady(isReady(pod) && !p.isEnding && !isGone)
	o.checkBudget(of)
	if isGone {
		delete(o.pods, pod.UID)
	}
}

func (p *podState) setReady(is bool) {
	switch {
	case is && !p.isReady:
		p.owner.ready++
	case !is && p.isReady:
		p.owner.ready--
	}
	p.isReady = is
}

// integrate counts what has been missing since the last event.
func (o *observer) integrate(now time.Time) {
	if o.began.IsZero() {
		return
	}
	seconds := now.Sub(o.lastChange).Seconds()
	o.lastChange = now
	for _, of := range o.owners {
		o.missing += float64(max(0, of.replicas-of.ready)) * seconds
		if of.ready == 0 {
			o.without += seconds
		}
	}
	for _, p := range o.pods {
		if p.node == "" && !p.isEnding {
			o.pendingWaits += seconds
		}
	}
}

func (o *observer) onBound(p *podState, now time.Time) {
	for i, left := range p.owner.left {
		if left.node == p.node && now.Sub(left.at) <= cameBackMax && p.created.After(left.at.Add(-time.Second)) {
			p.owner.left = append(p.owner.left[:i], p.owner.left[i+1:]...)
			o.cameBack++
			return
		}
	}
}

func (o *observer) onEnding(p *podState, wasEvicted bool, now time.Time) {
	switch {
	case o.began.IsZero():
	case wasEvicted:
		o.evictions++
		o.lastEviction = now
		if p.node != "" {
			p.owner.left = append(p.owner.left, departure{p.node, now})
		}
	default:
		o.deletions++
	}
}

func (o *observer) checkBudget(of *ownerState) {
	if o.began.IsZero() {
		return
	}
	// The budget that asks for all pods is broken by nothing else.
	isBreaking := of.ready < of.healthyMin()
	if isBreaking && !of.breaking {
		o.budgetsBroken++
	}
	of.breaking = isBreaking
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func wasEvicted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			return c.Reason == "EvictionByEvictionAPI"
		}
	}
	return false
}

const readyStatus = `{"metadata":{"uid":%q},"status":{"phase":"Running","startTime":%q,"conditions":[
{"type":"Initialized","status":"True","lastTransitionTime":%[2]q},{"type":"ContainersReady","status":"True","lastTransitionTime":%[2]q},
{"type":"Ready","status":"True","lastTransitionTime":%[2]q}],"containerStatuses":[{"name":"main","ready":true,"started":true,
"image":"main","imageID":"main","restartCount":0,"state":{"running":{"startedAt":%[2]q}}}]}}`

// makeReady is tried again until the pod is ready or gone.
func (o *observer) makeReady(ctx context.Context, uid types.UID, name string) {
	body := fmt.Appendf(nil, readyStatus, uid, time.Now().UTC().Format(time.RFC3339))
	for ctx.Err() == nil {
		_, err := o.client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		o.mu.Lock()
		p := o.pods[uid]
		isOver := err == nil || p == nil || p.isEnding
		o.mu.Unlock()
		if isOver {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// begin measures from now on.
func (o *observer) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.measure = measure{began: now, lastChange: now}
	for _, of := range o.owners {
		of.left, of.breaking = nil, of.ready < of.healthyMin()
	}
}

// taken is what was measured up to now.
func (o *observer) taken() measure {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.integrate(time.Now())
	return o.measure
}

// settled says whether all pods are there and ready, and what is missing.
func (o *observer) settled() (bool, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing, ending, pending := 0, 0, 0
	for _, of := range o.owners {
		missing += max(0, of.replicas-of.ready)
	}
	for _, p := range o.pods {
		if p.isEnding {
			ending++
		} else if p.node == "" {
			pending++
		}
	}
	return missing == 0 && ending == 0 && pending == 0, fmt.Sprintf("%d replicas are not ready, %d pods have no node, %d are ending", missing, pending, ending)
}

// look is the cluster now, without pods that are ending.
func (o *observer) look() *view {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := newView(o.made)
	on := map[string]*place{}
	for _, n := range v.nodes {
		on[n.name] = n
	}
	for uid, p := range o.pods {
		switch {
		case p.isEnding:
		case p.node == "":
			v.pending++
		case on[p.node] != nil:
			v.add(string(uid), p.owner.owner, on[p.node])
		}
	}
	v.sort()
	return v
}
