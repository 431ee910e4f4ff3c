// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	namespace = "default"
	// How long a pod stays after it was bound, and one that fits nowhere after it was made.
	stay    = 5 * time.Second
	waitMax = 30 * time.Second
	// How often a node is tainted, or a tainted one is not any more.
	flapEvery = 100 * time.Millisecond
)

// The pods that come and go, and the nodes that change.
type load struct {
	server string
	client *http.Client
	rate   int
	stop   chan struct{}

	mutex   sync.Mutex
	pods    map[string]*pod // those that are there
	waits   []float64       // of those bound since the last sample, in milliseconds
	created int64
	bound   int64
	errors  int64
}

type pod struct {
	made  time.Time // the API server's answer
	fits  bool
	bound bool
}

func newLoad(server string, rate int) *load {
	return &load{
		server: server,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		rate:   rate,
		stop:   make(chan struct{}),
		pods:   map[string]*pod{},
	}
}

func (l *load) begin() error {
	nodes, err := l.nodes()
	if err != nil {
		return err
	}
	watching := make(chan error, 1)
	go l.watch(watching)
	if err := <-watching; err != nil {
		return err
	}
	jobs := make(chan int, l.rate)
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		defer close(jobs)
		began := time.Now()
		for i := 0; ; {
			select {
			case <-l.stop:
				return
			case <-ticker.C:
			}
			for due := int(time.Since(began).Seconds() * float64(l.rate)); i < due; i++ {
				jobs <- i
			}
		}
	}()
	for range 16 {
		go func() {
			for i := range jobs {
				l.create(i)
			}
		}()
	}
	go l.flap(nodes)
	return nil
}

// Twenty applications; one pod in ten spreads over zones, one in ten keeps away from its like, one in five hundred fits
// nowhere.
func manifest(i int) string {
	app, cpu, rules := i%20, "10m", ""
	switch {
	case i%500 == 499:
		cpu = "1000"
	case app == 18:
		rules = `"topologySpreadConstraints":[{"maxSkew":5,"topologyKey":"topology.kubernetes.io/zone",` +
			`"whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"a18"}}}],`
	case app == 19:
		rules = `"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,` +
			`"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"a19"}}}}]}},`
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d","labels":{"app":"a%d"}},"spec":{%s`+
		`"containers":[{"name":"c","image":"pause","resources":{"requests":{"cpu":"%s","memory":"16Mi"}}}]}}`,
		i, app, rules, cpu)
}

func (l *load) create(i int) {
	name := fmt.Sprintf("p%d", i)
	l.mutex.Lock()
	l.pods[name] = &pod{made: time.Now(), fits: i%500 != 499}
	l.mutex.Unlock()
	status := l.send(http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", "application/json", manifest(i))
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if status != http.StatusCreated {
		l.errors++
		delete(l.pods, name)
		return
	}
	l.created++
	if p := l.pods[name]; p != nil && !p.fits {
		time.AfterFunc(waitMax, func() { l.remove(name) })
	}
}

func (l *load) remove(name string) {
	status := l.send(http.MethodDelete, "/api/v1/namespaces/"+namespace+"/pods/"+name, "application/json",
		`{"gracePeriodSeconds":0}`)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if status != http.StatusOK && status != http.StatusNotFound {
		l.errors++
	}
	delete(l.pods, name)
}

// 0: no answer.
func (l *load) send(method, path, contentType, body string) int {
	request, err := http.NewRequest(method, l.server+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", contentType)
	answer, err := l.client.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// Sees the pods being bound; starts over when the watch ends.
func (l *load) watch(began chan<- error) {
	for first := true; ; first = false {
		answer, err := l.client.Get(l.server + "/api/v1/namespaces/" + namespace + "/pods?watch=true")
		if first {
			began <- err
		}
		if err == nil {
			l.read(answer.Body)
			answer.Body.Close()
		}
		select {
		case <-l.stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (l *load) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		var event struct {
			Object struct {
				Metadata struct{ Name string }
				Spec     struct{ NodeName string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Object.Spec.NodeName == "" {
			continue
		}
		name := event.Object.Metadata.Name
		l.mutex.Lock()
		if p := l.pods[name]; p != nil && !p.bound {
			p.bound = true
			l.bound++
			l.waits = append(l.waits, float64(time.Since(p.made).Microseconds())/1000)
			time.AfterFunc(stay, func() { l.remove(name) })
		}
		l.mutex.Unlock()
	}
}

func (l *load) nodes() ([]string, error) {
	answer, err := l.client.Get(l.server + "/api/v1/nodes")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return nil, err
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no nodes")
	}
	return names, nil
}

// At any time a twentieth of the nodes is tainted; which, changes ten times a second.
func (l *load) flap(nodes []string) {
	var tainted []string
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(flapEvery):
		}
		if len(tainted) > 0 && len(tainted) >= len(nodes)/20 {
			l.taint(tainted[0], "[]")
			tainted = tainted[1:]
			continue
		}
		node := nodes[rand.IntN(len(nodes))]
		l.taint(node, `[{"key":"node.kubernetes.io/unreachable","effect":"NoSchedule"}]`)
		tainted = append(tainted, node)
	}
}

func (l *load) taint(node, taints string) {
	l.send(http.MethodPatch, "/api/v1/nodes/"+node, "application/merge-patch+json", `{"spec":{"taints":`+taints+`}}`)
}

// What happened since the last sample.
func (l *load) fill(s *Sample) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s.Created, s.Bound, s.Errors, s.Pods = l.created, l.bound, l.errors, len(l.pods)
	for _, p := range l.pods {
		if p.fits && !p.bound && time.Since(p.made) > 10*time.Second {
			s.Late++
		}
	}
	slices.Sort(l.waits)
	if n := len(l.waits); n > 0 {
		s.P50, s.P99, s.Slowest = l.waits[n/2], l.waits[n*99/100], l.waits[n-1]
	}
	l.waits = l.waits[:0]
}

// Ends the load, and waits for what fits to be bound. Returns how many are not.
func (l *load) drain(limit time.Duration) int {
	close(l.stop)
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		left := 0
		l.mutex.Lock()
		for _, p := range l.pods {
			if p.fits && !p.bound {
				left++
			}
		}
		l.mutex.Unlock()
		if left == 0 || time.Now().After(end) {
			return left
		}
	}
}
