// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// filler fills API objects at random, whatever their type, with values that both forms on the wire can carry.
type filler struct {
	*rand.Rand
}

// Texts that mean something, by the name of their type. Each has one that means nothing, too.
var meanings = map[string][]string{
	"TaintEffect":                   {"", "NoSchedule", "PreferNoSchedule", "NoExecute", "Odd"},
	"TolerationOperator":            {"", "Equal", "Exists", "Odd"},
	"NodeSelectorOperator":          {"", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"},
	"LabelSelectorOperator":         {"In", "NotIn", "Exists", "DoesNotExist", "Odd"},
	"PreemptionPolicy":              {"Never", "PreemptLowerPriority", "Odd"},
	"UnsatisfiableConstraintAction": {"", "DoNotSchedule", "ScheduleAnyway", "Odd"},
	"NodeInclusionPolicy":           {"Honor", "Ignore", "Odd"},
	"PodPhase":                      {"", "Pending", "Running", "Succeeded", "Failed", "Odd"},
	"PodConditionType":              {"PodScheduled", "DisruptionTarget", "PodResizePending", "Ready", "Initialized"},
	"ContainerRestartPolicy":        {"Always", "OnFailure", "Never"},
	"ContainerRestartRuleAction":    {"Restart", "RestartAllContainers", "Odd"},
	"DeviceAllocationMode":          {"ExactCount", "All", "Odd"},
}

// Types that scheduling passes over: now and then, so that the corpus stays small.
var rare = map[string]bool{
	"Probe": true, "Lifecycle": true, "SecurityContext": true, "PodSecurityContext": true, "EnvVar": true,
	"EnvFromSource": true, "EphemeralContainer": true, "ContainerState": true, "PodTemplateSpec": true,
	"PodDNSConfig": true, "HostAlias": true, "VolumeMount": true, "VolumeMountStatus": true, "ResourceStatus": true,
	"NetworkDeviceData": true, "NodeConfigStatus": true, "PersistentVolumeClaimTemplate": true,
	"PersistentVolumeClaimCondition": true, "VolumeDevice": true, "ContainerUser": true, "ServicePort": true,
	"ContainerResizePolicy": true, "PodIP": true, "HostIP": true, "LocalObjectReference": true, "SecretReference": true,
	"NodeSystemInfo": true, "NodeAddress": true, "AttachedVolume": true, "NodeRuntimeHandler": true, "TokenRequest": true,
	"LoadBalancerStatus": true, "SessionAffinityConfig": true, "StatefulSetUpdateStrategy": true, "ContainerResizeStatus": true,
	"TypedLocalObjectReference": true, "TypedObjectReference": true, "NodeAllocatableResourceClaimStatus": true,
}

// Of these structs exactly one member is set.
var unions = map[string]bool{"VolumeSource": true, "PersistentVolumeSource": true, "DeviceAttribute": true}

var words = []string{
	"a", "b", "zone", "web", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "x-7f9c8d6b5-q2w4e", "", "true",
	"a longer text, with \"quotes\", a \\ and <angles> & more", "Grüße, 世界", "line\nbreak\tand tab", "example.com/gpu", "cpu", "memory",
	"registry.example.com/team/app@sha256:0123456789abcdef", "0", "-1",
}
var quantities = []string{
	"0", "1", "100m", "1Gi", "1.5", "250Mi", "1e3", "12E", "1n", "3u", "0.1", "-5", "9223372036854775807", "500k", "1Ki", "1.5Gi", "64",
}

func pick[T any](f *filler, options []T) T { return options[f.IntN(len(options))] }

func (f *filler) maybe(probability float64) bool { return f.Float64() < probability }

func (f *filler) json() []byte {
	return []byte(pick(f, []string{`{"a":1}`, `{"b":[1,2.5,"<x>",null,true],"c":{"d":"é"}}`, `{}`, `"text"`, `[ 1 , 2 ]`, `{"n":1e30,"m":-0.5}`}))
}

// fill sets `v`; of a struct, most members that scheduling reads and few of the others.
func (f *filler) fill(v reflect.Value, depth int) {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse(pick(f, quantities))
		return
	case *metav1.Time:
		if f.maybe(0.9) {
			*p = metav1.Unix(f.Int64N(4_000_000_000)-10_000_000, 0)
		}
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.UnixMicro(f.Int64N(4_000_000_000_000_000)).UTC())
		return
	case *runtime.RawExtension:
		if f.maybe(0.8) {
			p.Raw = f.json()
		}
		return
	case *metav1.FieldsV1:
		p.Raw = []byte(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`)
		return
	case *intstr.IntOrString:
		*p = pick(f, []intstr.IntOrString{intstr.FromInt32(3), intstr.FromString("50%")})
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth)
	case reflect.Struct:
		f.fillStruct(v, depth)
	case reflect.Slice:
		n := f.IntN(3) + 1
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(4) {
			key := reflect.New(v.Type().Key()).Elem()
			f.fill(key, depth+1)
			item := reflect.New(v.Type().Elem()).Elem()
			f.fill(item, depth+1)
			v.SetMapIndex(key, item)
		}
	case reflect.String:
		options := words
		if known, ok := meanings[v.Type().Name()]; ok {
			options = known
		}
		v.SetString(pick(f, options))
	case reflect.Bool:
		v.SetBool(f.maybe(0.5))
	case reflect.Int32:
		v.SetInt(pick(f, []int64{0, 1, 7, 80, -1, math.MaxInt32, math.MinInt32, f.Int64N(100_000)}))
	case reflect.Int64:
		v.SetInt(pick(f, []int64{0, 1, 7, -1, math.MaxInt64, math.MinInt64, f.Int64N(1 << 40)}))
	}
}

func (f *filler) fillStruct(v reflect.Value, depth int) {
	t := v.Type()
	if unions[t.Name()] {
		f.fill(v.Field(f.IntN(v.NumField())), depth+1)
		return
	}
	for i := range v.NumField() {
		member := t.Field(i)
		of := member.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		probability := 0.6
		if strings.Contains(t.PkgPath(), "/resource/") || strings.Contains(t.PkgPath(), "/storage/") ||
			strings.HasPrefix(t.Name(), "Topology") {
			probability = 0.85 // These nest deeply.
		}
		switch {
		case !member.IsExported() || member.Name == "TypeMeta":
			continue
		case rare[of.Name()]:
			probability = 0.03
		case of.Name() == "ManagedFieldsEntry":
			probability = 0.2
		case member.Name == "Spec" || member.Name == "Status" || member.Name == "ObjectMeta" || member.Anonymous:
			probability = 1
		case strings.HasSuffix(member.Name, "Containers") && depth > 2:
			probability = 0.2
		}
		if f.maybe(probability) {
			f.fill(v.Field(i), depth+1)
		}
	}
}
