// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_37

package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The families of what is new, or newly on by default, in v1.37.

// ---- StorageCapacityScoring

// pendingClaim makes a claim that waits to be provisioned or bound.
func (g *gen) pendingClaim(name, class, size string) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pvc-" + name)}}
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	c.Spec.StorageClassName = ref(class)
	c.Spec.Resources.Requests = rl("storage", size)
	c.Status.Phase = v1.ClaimPending
	g.c.Objects.PersistentVolumeClaims = append(g.c.Objects.PersistentVolumeClaims, c)
	return c
}

func claimVolume(p *v1.Pod, claim string) {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: fmt.Sprintf("v%d", len(p.Spec.Volumes)),
		VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
}

func genStorageCapacity(g *gen) {
	o := &g.c.Objects
	nodes := g.addNodes(g.between(3, 9))
	drivers := []string{"fast.csi.example.com", "slow.csi.example.com"}
	for _, d := range drivers {
		o.CSIDrivers = append(o.CSIDrivers, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: d}, Spec: storagev1.CSIDriverSpec{StorageCapacity: ref(g.chance(85))}})
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	classes := []string{"fast", "fast2", "slow"}
	g.volumeClass("fast", wait, drivers[0])
	g.volumeClass("fast2", wait, drivers[0])
	g.volumeClass("slow", wait, drivers[1])
	g.volumeClass("local", wait, "kubernetes.io/no-provisioner")
	// One capacity at most for a class and node: which of several counts is random.
	for _, class := range classes {
		byZone := g.chance(40)
		if byZone {
			for _, z := range g.zones {
				g.capacity(class, zoneKey, z)
			}
			continue
		}
		for _, n := range nodes {
			if g.chance(85) {
				g.capacity(class, hostKey, n.Name)
			}
		}
	}
	// Static volumes, of distinct sizes.
	for i := range g.between(0, 5) {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("free%d", i)}}
		pv.Spec.Capacity = rl("storage", fmt.Sprintf("%dGi", 3*i+2))
		pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		pv.Spec.StorageClassName = pick(g, "local", "local", "fast")
		pv.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimRetain
		pv.Spec.Local = &v1.LocalVolumeSource{Path: "/mnt/d"}
		pv.Spec.NodeAffinity = inZone(pick(g, g.zones...))
		if g.chance(50) {
			pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: hostKey, Operator: v1.NodeSelectorOpIn, Values: []string{g.node().Name}}}}}}}
		}
		pv.Status.Phase = v1.VolumeAvailable
		o.PersistentVolumes = append(o.PersistentVolumes, pv)
	}
	g.addBound(g.between(0, 6), nil)
	g.addPending(g.between(5, 12), func(p *v1.Pod) {
		for i := range pick(g, 0, 1, 1, 1, 2, 2, 3) {
			class := pick(g, classes...)
			if g.chance(12) {
				class = "local"
			}
			name := fmt.Sprintf("%s-c%d", p.Name, i)
			g.pendingClaim(name, class, pick(g, "1Gi", "2Gi", "5Gi", "7500Mi", "10Gi", "33Gi", "1500M"))
			claimVolume(p, name)
		}
	})
	args := map[string]any{}
	switch g.IntN(4) {
	case 0:
		args["shape"] = []map[string]any{{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}}
	case 1:
		args["shape"] = []map[string]any{{"utilization": 0, "score": g.between(0, 10)}, {"utilization": g.between(20, 80), "score": g.between(0, 10)}, {"utilization": 100, "score": g.between(0, 10)}}
	case 2:
		args["bindTimeoutSeconds"] = 300
	default:
		return
	}
	profile := profileWithArgs(pluginArgs("VolumeBinding", args))
	if g.chance(40) {
		profile["plugins"] = map[string]any{"score": map[string]any{
			"enabled":  []map[string]any{{"name": "VolumeBinding", "weight": g.between(2, 9)}},
			"disabled": []map[string]any{{"name": "VolumeBinding"}}}}
	}
	g.config(profile)
}

func (g *gen) capacity(class, key, value string) {
	o := &g.c.Objects
	c := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cap%d", len(o.CSIStorageCapacities)), Namespace: "kube-system"}, StorageClassName: class}
	c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	// kube-scheduler v1.37.2 panics (nil pointer in VolumeBinding's Score) when an object
	// with a maximumVolumeSize has no capacity.
	if g.chance(8) {
		o.CSIStorageCapacities = append(o.CSIStorageCapacities, c)
		return
	}
	c.Capacity = ref(qty(pick(g, "0", "5Gi", "10Gi", "20Gi", "50Gi", "100Gi", "12345M", "1Ti")))
	if g.chance(20) {
		c.MaximumVolumeSize = ref(qty(pick(g, "3Gi", "8Gi", "40Gi")))
	}
	o.CSIStorageCapacities = append(o.CSIStorageCapacities, c)
}

// ---- VolumeLimitScaling

func genVolumeLimits137(g *gen) {
	o := &g.c.Objects
	nodes := g.addNodes(g.between(3, 9))
	// optin and plain: the former refuses nodes without the driver, the latter does not.
	// unlisted has no CSIDriver object.
	drivers := []string{"optin.csi.example.com", "plain.csi.example.com", "unlisted.csi.example.com"}
	o.CSIDrivers = append(o.CSIDrivers,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: drivers[0]}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ref(true)}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: drivers[1]}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: pick(g, nil, ref(false))}})
	for _, n := range nodes {
		if g.chance(15) {
			continue // a node without a CSINode
		}
		c := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		for _, d := range some(g, 60, drivers...) {
			nd := storagev1.CSINodeDriver{Name: d, NodeID: n.Name}
			if g.chance(75) {
				nd.Allocatable = &storagev1.VolumeNodeResources{}
				if g.chance(90) {
					nd.Allocatable.Count = ref(int32(pick(g, 0, 1, 2, 3, 8)))
				}
			}
			c.Spec.Drivers = append(c.Spec.Drivers, nd)
		}
		o.CSINodes = append(o.CSINodes, c)
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	for i, d := range drivers {
		g.volumeClass([]string{"optin", "plain", "unlisted"}[i], wait, d)
	}
	classes := []string{"optin", "optin", "plain", "unlisted"}
	var bound []string
	for i := range g.between(4, 12) {
		k := g.IntN(3)
		class := []string{"optin", "plain", "unlisted"}[k]
		c := g.pendingClaim(fmt.Sprintf("bound%d", i), class, "1Gi")
		c.Spec.VolumeName = fmt.Sprintf("vol%d", i)
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		c.Status.Phase = v1.ClaimBound
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}}
		pv.Spec.Capacity = rl("storage", "1Gi")
		pv.Spec.AccessModes = c.Spec.AccessModes
		pv.Spec.StorageClassName = class
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: c.Name, UID: c.UID}
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: drivers[k], VolumeHandle: c.Spec.VolumeName}
		pv.Status.Phase = v1.VolumeBound
		o.PersistentVolumes = append(o.PersistentVolumes, pv)
		bound = append(bound, c.Name)
	}
	use := func(p *v1.Pod) {
		for i := range pick(g, 0, 1, 1, 2, 3) {
			if g.chance(60) {
				claimVolume(p, pick(g, bound...))
				continue
			}
			name := fmt.Sprintf("%s-c%d", p.Name, i)
			g.pendingClaim(name, pick(g, classes...), "1Gi")
			claimVolume(p, name)
		}
		if g.chance(12) {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "inline", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: pick(g, drivers...)}}})
		}
	}
	g.addBound(g.between(1, 9), func(p *v1.Pod) {
		if g.chance(70) {
			for range g.between(1, 2) {
				claimVolume(p, pick(g, bound...))
			}
		}
	})
	g.addPending(g.between(6, 14), use)
	for i := range g.between(0, 4) {
		name := pick(g, bound...)
		o.VolumeAttachments = append(o.VolumeAttachments, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("att%d", i)},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: pick(g, drivers...), NodeName: g.node().Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ref("vol" + name[len("bound"):])}}})
	}
}
