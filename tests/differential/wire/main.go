// SPDX-License-Identifier: Apache-2.0
// wire writes objects of all kinds that berth reads both as JSON and as protobuf, and reads what berth writes.
//
//	go run . objects > objects.jsonl               one object a line: {"kind", "json", "protobuf"}
//	go run . read < lines_of_hex > written.jsonl   what berth encoded, and Go's JSON of it
//
// src/berth/api/decode_protobuf_test.cc decodes both forms of objects.jsonl and compares, and holds what is encoded
// against written.jsonl.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/utils/ptr"
)

// A pod as clusters have them, first among the objects: what decoding costs is measured with it.
//
//go:embed sample.json
var sample []byte

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, eventsv1.AddToScheme,
		policyv1.AddToScheme, resourcev1.AddToScheme, storagev1.AddToScheme} {
		must(add(s))
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}()
var serializer = protobuf.NewSerializer(scheme, scheme)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

type line struct {
	Kind     string          `json:"kind"`
	JSON     json.RawMessage `json:"json"`
	Protobuf string          `json:"protobuf"`
}

func encode(object runtime.Object) []byte {
	var out bytes.Buffer
	must(serializer.Encode(object, &out))
	return out.Bytes()
}

// put writes one line; `wire` is the object in protobuf.
func put(kind string, object any, wire []byte) {
	text, err := json.Marshal(object)
	must(err)
	out, err := json.Marshal(line{kind, text, base64.StdEncoding.EncodeToString(wire)})
	must(err)
	fmt.Println(string(out))
}

func setKind(object runtime.Object) string {
	kinds, _, err := scheme.ObjectKinds(object)
	must(err)
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return kinds[0].Kind
}

func objects() {
	kinds := []struct {
		count int
		new   func() runtime.Object
	}{
		{10, func() runtime.Object { return &corev1.Pod{} }},
		{8, func() runtime.Object { return &corev1.Node{} }},
		{5, func() runtime.Object { return &corev1.PersistentVolume{} }},
		{6, func() runtime.Object { return &corev1.PersistentVolumeClaim{} }},
		{3, func() runtime.Object { return &corev1.Namespace{} }},
		{4, func() runtime.Object { return &corev1.Service{} }},
		{3, func() runtime.Object { return &corev1.ReplicationController{} }},
		{3, func() runtime.Object { return &appsv1.ReplicaSet{} }},
		{3, func() runtime.Object { return &appsv1.StatefulSet{} }},
		{4, func() runtime.Object { return &policyv1.PodDisruptionBudget{} }},
		{5, func() runtime.Object { return &storagev1.StorageClass{} }},
		{5, func() runtime.Object { return &storagev1.CSINode{} }},
		{4, func() runtime.Object { return &storagev1.CSIDriver{} }},
		{4, func() runtime.Object { return &storagev1.CSIStorageCapacity{} }},
		{5, func() runtime.Object { return &storagev1.VolumeAttachment{} }},
		{5, func() runtime.Object { return &resourcev1.ResourceSlice{} }},
		{6, func() runtime.Object { return &resourcev1.DeviceClass{} }},
		{6, func() runtime.Object { return &resourcev1.ResourceClaim{} }},
	}
	pod := &corev1.Pod{}
	must(json.Unmarshal(sample, pod))
	put(setKind(pod), pod, encode(pod))

	f := &filler{rand.New(rand.NewPCG(1, 36))}
	for _, kind := range kinds {
		for i := range kind.count {
			object := kind.new()
			if i > 0 { // The first is as empty as an object can be.
				f.fill(reflect.ValueOf(object).Elem(), 0)
			}
			object.(metav1.Object).SetName(fmt.Sprintf("object-%d", i))
			name := setKind(object)
			put(name, object, encode(object))
		}
	}
	// A volume of each source.
	for i := range reflect.TypeFor[corev1.VolumeSource]().NumField() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i)}}
		volume := corev1.Volume{Name: "v"}
		source := reflect.ValueOf(&volume.VolumeSource).Elem().Field(i)
		if source.Type() == reflect.TypeFor[*corev1.EphemeralVolumeSource]() {
			volume.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
		} else {
			f.fill(source, 0)
		}
		pod.Spec.Volumes = []corev1.Volume{volume}
		put(setKind(pod), pod, encode(pod))
	}
	for i := range reflect.TypeFor[corev1.PersistentVolumeSource]().NumField() {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i)}}
		f.fill(reflect.ValueOf(&volume.Spec.PersistentVolumeSource).Elem().Field(i), 0)
		put(setKind(volume), volume, encode(volume))
	}
	for i := range reflect.TypeFor[resourcev1.DeviceAttribute]().NumField() {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attribute-%d", i)}}
		var attribute resourcev1.DeviceAttribute
		f.fill(reflect.ValueOf(&attribute).Elem().Field(i), 0)
		slice.Spec.Devices = []resourcev1.Device{{Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a": attribute}}}
		put(setKind(slice), slice, encode(slice))
	}
	frames(f)
}

// frames writes what stands around objects.
func frames(f *filler) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "4711", Continue: "token", RemainingItemCount: ptr.To[int64](12)}}
	for i := range 3 {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Namespace: "default", UID: "u", ResourceVersion: "9"}}
		list.Items = append(list.Items, pod)
	}
	put(setKind(list), list, encode(list))
	empty := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "8"}}
	put(setKind(empty), empty, encode(empty))

	status := &metav1.Status{Status: "Failure", Code: 429, Reason: metav1.StatusReasonTooManyRequests, Message: "slow down",
		Details: &metav1.StatusDetails{Name: "x", RetryAfterSeconds: 7}}
	status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	put("Status", status, encode(status))

	bookmark := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "4712",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true", "z": "true"}}}
	setKind(bookmark)
	for _, event := range []struct {
		kind   string
		object runtime.Object
	}{{"BOOKMARK", bookmark}, {"ERROR", status}, {"ADDED", &list.Items[0]}} {
		wire := &metav1.WatchEvent{Type: event.kind, Object: runtime.RawExtension{Raw: encode(event.object)}}
		bytes, err := wire.Marshal()
		must(err)
		put("WatchEvent", map[string]any{"type": event.kind, "object": event.object}, bytes)
	}
}

func read() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		wire, err := hex.DecodeString(input.Text())
		must(err)
		object, kind, err := serializer.Decode(wire, nil, nil)
		must(err)
		put(kind.Kind, object, wire)
	}
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "objects":
		objects()
	case len(os.Args) == 2 && os.Args[1] == "read":
		read()
	default:
		fmt.Fprintln(os.Stderr, "usage: wire objects | read")
		os.Exit(2)
	}
}
