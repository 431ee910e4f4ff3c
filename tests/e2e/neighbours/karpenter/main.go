// SPDX-License-Identifier: Apache-2.0

// Reads a PodList as JSON, and prints of each pod what Karpenter makes of it: "name provisionable" where it would make a
// node for it, else "name ignored".
package main

import (
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/utils/pod"
)

func main() {
	var list corev1.PodList
	if err := json.NewDecoder(os.Stdin).Decode(&list); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := range list.Items {
		verdict := "ignored"
		if pod.IsProvisionable(&list.Items[i]) {
			verdict = "provisionable"
		}
		fmt.Println(list.Items[i].Name, verdict)
	}
}
