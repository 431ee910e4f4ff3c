// SPDX-License-Identifier: Apache-2.0

// A CI job that refuses a rollout which would not fit: ends with 1 and says what would stay pending and why.
//
//	BERTH_URL=https://... BERTH_TOKEN=... BERTH_CA=ca.crt rollout-gate web.yaml db.yaml
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/berth-scheduler/berth/clients/go/ask"
)

func main() {
	fits, err := gate(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollout-gate:", err)
		os.Exit(2)
	}
	if !fits {
		os.Exit(1)
	}
}

func gate(ctx context.Context, names []string) (bool, error) {
	options := ask.Options{Token: os.Getenv("BERTH_TOKEN"), Insecure: os.Getenv("BERTH_INSECURE") == "1"}
	if name := os.Getenv("BERTH_CA"); name != "" {
		pem, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		options.CA = pem
	}
	berth, err := ask.New(os.Getenv("BERTH_URL"), options)
	if err != nil {
		return false, err
	}
	var files []ask.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		files = append(files, ask.File{Name: name, Text: string(text)})
	}
	reply, err := berth.Simulate(ctx, ask.SimulateQuestion{Files: &files})
	if err != nil {
		return false, err
	}
	for _, pod := range reply.Pending() {
		fmt.Printf("%v would stay pending: %v\n", pod["name"], pod["reason"])
	}
	if reply.IsYes() {
		fmt.Println("The rollout fits.")
	}
	return reply.IsYes(), nil
}
