// SPDX-License-Identifier: Apache-2.0

// A scheduler with Go's library alone, by the calls of 2016: it follows pods without a node below /api/v1/watch, binds each
// to the node with the most CPU left, and posts an Event about it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	name = "go-scheduler"
	pods = 6
)

var (
	api    = os.Getenv("BERTH_URL") + "/api/v1"
	client = http.Client{Timeout: 60 * time.Second}
)

type metadata struct {
	Name      string            `json:"name,omitempty"`
	Generated string            `json:"generateName,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	UID       string            `json:"uid,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

type pod struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		NodeName      string `json:"nodeName,omitempty"`
		SchedulerName string `json:"schedulerName"`
		Containers    []struct {
			Name      string `json:"name"`
			Image     string `json:"image"`
			Resources struct {
				Requests map[string]string `json:"requests"`
			} `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status"`
}

type node struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		Allocatable map[string]string `json:"allocatable"`
	} `json:"status"`
}

type list[T any] struct {
	Items []T `json:"items"`
}

func fail(format string, values ...any) {
	fmt.Printf("scheduler-go: "+format+"\n", values...)
	os.Exit(1)
}

func call(method, path string, body, answer any) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			fail("%v", err)
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, api+path, sent)
	if err != nil {
		fail("%v", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		fail("%v", err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode/100 != 2 {
		fail("%s %s: %d %.200s", method, path, response.StatusCode, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			fail("%s %s: %v", method, path, err)
		}
	}
}

func milli(text string) int64 {
	if number, found := strings.CutSuffix(text, "m"); found {
		value, _ := strconv.ParseInt(number, 10, 64)
		return value
	}
	value, _ := strconv.ParseFloat(text, 64)
	return int64(value * 1000)
}

func request(p pod) (sum int64) {
	for _, container := range p.Spec.Containers {
		sum += milli(container.Resources.Requests["cpu"])
	}
	return sum
}

func chooseNode(p pod) string {
	var nodes list[node]
	call("GET", "/nodes", nil, &nodes)
	best, most := "", int64(-1)
	for _, n := range nodes.Items {
		left := milli(n.Status.Allocatable["cpu"])
		var on list[pod]
		call("GET", "/pods?fieldSelector="+url.QueryEscape("spec.nodeName="+n.Metadata.Name), nil, &on)
		for _, other := range on.Items {
			left -= request(other)
		}
		if left >= request(p) && left > most {
			best, most = n.Metadata.Name, left
		}
	}
	return best
}

func bind(p pod) {
	chosen := chooseNode(p)
	if chosen == "" {
		fail("no node has room for %s", p.Metadata.Name)
	}
	var status struct {
		Status string `json:"status"`
		Code   int    `json:"code"`
	}
	call("POST", "/namespaces/default/pods/"+p.Metadata.Name+"/binding/", map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": metadata{Name: p.Metadata.Name},
		"target": map[string]string{"apiVersion": "v1", "kind": "Node", "name": chosen},
	}, &status)
	if status.Status != "Success" || status.Code != 201 {
		fail("a binding was answered with %+v", status)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	call("POST", "/namespaces/default/events", map[string]any{
		"apiVersion": "v1", "kind": "Event", "count": 1, "type": "Normal", "reason": "Scheduled",
		"message": "bound to " + chosen, "firstTimestamp": now, "lastTimestamp": now,
		"metadata": metadata{Generated: p.Metadata.Name + "-"}, "source": map[string]string{"component": name},
		"involvedObject": map[string]string{"kind": "Pod", "namespace": "default", "name": p.Metadata.Name, "uid": p.Metadata.UID},
	}, nil)
}

func follow() {
	response, err := client.Get(api + "/watch/pods?fieldSelector=" + url.QueryEscape("spec.nodeName="))
	if err != nil {
		fail("%v", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		fail("GET /api/v1/watch/pods: %s", response.Status)
	}
	bound := map[string]bool{}
	for events := json.NewDecoder(response.Body); len(bound) < pods; {
		var event struct {
			Type   string `json:"type"`
			Object pod    `json:"object"`
		}
		if err := events.Decode(&event); err != nil {
			fail("the watch ended after %d of %d pods: %v", len(bound), pods, err)
		}
		if event.Type == "ADDED" && event.Object.Spec.SchedulerName == name {
			bind(event.Object)
			bound[event.Object.Metadata.Name] = true
		}
	}
}

func main() {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		var nodes list[node]
		if call("GET", "/nodes", nil, &nodes); len(nodes.Items) >= 3 {
			break
		}
		if time.Now().After(deadline) {
			fail("the nodes did not come")
		}
	}
	for i := range pods {
		call("POST", "/namespaces/default/pods", map[string]any{
			"metadata": metadata{Name: fmt.Sprintf("go-%d", i), Labels: map[string]string{"by": name}},
			"spec": map[string]any{"schedulerName": name, "containers": []any{map[string]any{
				"name": "c", "image": "nginx", "resources": map[string]any{"requests": map[string]string{"cpu": "1"}}}}},
		}, nil)
	}
	follow()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		var all list[pod]
		call("GET", "/namespaces/default/pods?labelSelector="+url.QueryEscape("by="+name), nil, &all)
		running, on := 0, map[string]int{}
		for _, p := range all.Items {
			on[p.Spec.NodeName]++
			if p.Status.Phase == "Running" {
				running++
			}
		}
		if running == pods {
			if len(on) != 3 {
				fail("the pods are not where they were bound to: %v", on)
			}
			return
		}
		if time.Now().After(deadline) {
			fail("%d of %d pods run", running, pods)
		}
	}
}
