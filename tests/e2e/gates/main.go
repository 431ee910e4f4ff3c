// SPDX-License-Identifier: Apache-2.0

// gates prints the feature gates of the kube-scheduler that go.mod pins, as rows of
// src/berth/core/config/feature_gate_table.cc: the name, and from which version on it had which stage and default.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func stage(spec featuregate.FeatureSpec) string {
	text := strings.ToLower(cmp.Or(string(spec.PreRelease), "GA"))
	if spec.Default {
		text += " on"
	} else {
		text += " off"
	}
	if spec.LockToDefault {
		text += " locked"
	}
	if spec.MinCompatibilityVersion != nil {
		text += " min " + spec.MinCompatibilityVersion.String()
	}
	return spec.Version.String() + " " + text
}

func main() {
	app.NewSchedulerCommand() // registers the gates of all that it is linked with
	gates := utilfeature.DefaultMutableFeatureGate
	known := gates.GetAllVersioned()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		var stages []string
		for _, spec := range known[name] {
			stages = append(stages, stage(spec))
		}
		fmt.Printf("{\"%s\", \"%s\"},\n", name, strings.Join(stages, ", "))
	}
	dependencies := gates.Dependencies()
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		if len(dependencies[name]) == 0 {
			continue
		}
		var needed []string
		for _, each := range dependencies[name] {
			needed = append(needed, string(each))
		}
		slices.Sort(needed)
		fmt.Printf("{\"%s\", \"%s\"},\n", name, strings.Join(needed, " "))
	}
}
