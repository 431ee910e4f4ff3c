// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"berth-e2e/harness"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	ordinaryRate = 10              // pods a second
	ordinaryStay = 3 * time.Second // from when a pod was seen bound until it is deleted
	streamLabel  = "stream"
	inFlightMax  = 200
)

// Where ordinary pods live. No attack touches these.
var ordinaryNamespaces = []string{"ordinary-1", "ordinary-2", "ordinary-3"}

// stream is a stream of ordinary pods: each asks for a little CPU and goes some seconds after it was bound. It notes
// when each was created and when it was seen with a node.
type stream struct {
	c         *harness.Cluster
	name      string
	scheduler string
	cancel    context.CancelFunc
	tasks     sync.WaitGroup

	mu     sync.Mutex
	paused bool
	pods   map[string]*ordinaryPod
}

type ordinaryPod struct {
	namespace string
	sent      time.Time // the request that created it
	acked     time.Time // its answer; zero while there is none
	seen      time.Time // by a watch of ours; zero while it has not been
	bound     time.Time // zero while no node has been seen
}

// startStream starts a stream of its own name; its pods name the given scheduler ("" for the default one).
func startStream(c *harness.Cluster, name, scheduler string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{c: c, name: name, scheduler: scheduler, cancel: cancel, pods: map[string]*ordinaryPod{}}
	s.tasks.Go(func() { s.observe(ctx) })
	s.tasks.Go(func() { s.create(ctx) })
	return s
}

// create creates pods at the stream's rate, however long each creation takes.
func (s *stream) create(ctx context.Context) {
	ticker := time.NewTicker(time.Second / ordinaryRate)
	defer ticker.Stop()
	slots := make(chan struct{}, inFlightMax)
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		paused := s.paused
		s.mu.Unlock()
		if paused {
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			continue // the API server does not answer
		}
		s.tasks.Go(func() {
			defer func() { <-slots }()
			s.createOne(ctx, i)
		})
	}
}

func (s *stream) createOne(ctx context.Context, i int) {
	pod := harness.Pod(fmt.Sprintf("%s-%d", s.name, i), s.scheduler, "10m", "")
	pod.Namespace = ordinaryNamespaces[i%len(ordinaryNamespaces)]
	pod.Labels = map[string]string{streamLabel: s.name}
	note := &ordinaryPod{namespace: pod.Namespace}
	for ctx.Err() == nil {
		s.mu.Lock()
		note.sent = time.Now()
		s.pods[pod.Name] = note
		s.mu.Unlock()
		_, err := s.c.Admin.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			s.mu.Lock()
			note.acked = time.Now()
			s.mu.Unlock()
			return
		}
		// The API server is away: what counts is the creation that succeeds.
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// observe notes who has a node, with a watch that is made again whenever it ends.
func (s *stream) observe(ctx context.Context) {
	options := metav1.ListOptions{LabelSelector: streamLabel + "=" + s.name}
	for ctx.Err() == nil {
		list, err := s.c.Admin.CoreV1().Pods("").List(ctx, options)
		if err == nil {
			for i := range list.Items {
				s.see(ctx, &list.Items[i])
			}
			options := options
			options.ResourceVersion = list.ResourceVersion
			if events, err := s.c.Admin.CoreV1().Pods("").Watch(ctx, options); err == nil {
				for event := range events.ResultChan() {
					if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != watch.Deleted {
						s.see(ctx, pod)
					}
				}
				events.Stop()
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *stream) see(ctx context.Context, pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := s.pods[pod.Name]
	if note == nil || !note.bound.IsZero() {
		return
	}
	if note.seen.IsZero() {
		note.seen = time.Now()
	}
	if pod.Spec.NodeName == "" {
		return
	}
	note.bound = time.Now()
	namespace, name := pod.Namespace, pod.Name
	s.tasks.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(ordinaryStay):
			none := int64(0)
			_ = s.c.Admin.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &none}) // close deletes what is left
		}
	})
}

// pause ends the creation of pods.
func (s *stream) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
}

// created are copies of the pods whose creation was sent in a time, by name.
func (s *stream) created(from, to time.Time) map[string]ordinaryPod {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]ordinaryPod{}
	for name, pod := range s.pods {
		if !pod.sent.Before(from) && pod.sent.Before(to) && !pod.acked.IsZero() {
			found[name] = *pod
		}
	}
	return found
}

// close ends the stream and deletes its pods.
func (s *stream) close() {
	s.cancel()
	s.tasks.Wait()
	none := int64(0)
	for _, namespace := range ordinaryNamespaces {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		// What stays does not matter: the next stream has another name.
		_ = s.c.Admin.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &none},
			metav1.ListOptions{LabelSelector: streamLabel + "=" + s.name})
		cancel()
	}
}
