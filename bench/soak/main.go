// SPDX-License-Identifier: Apache-2.0

// Soak: berth for an hour on its own API server, both as processes of their own, while pods come and go, nodes change
// and requests fail. What must stay flat is sampled every ten seconds: memory, file descriptors and threads of the
// scheduler, and how long a pod waits. One line of JSON a sample; the exit status is 1 when something grows.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const sampleEvery = 10 * time.Second

func main() {
	minutes := flag.Float64("minutes", 60, "how long pods come and go")
	rate := flag.Int("rate", 500, "pods a second")
	nodes := flag.Int("nodes", 300, "simulated nodes")
	out := flag.String("out", "build/soak", "folder of the samples and the logs")
	plot := flag.String("plot", "", "SVG file to draw the samples into")
	draw := flag.String("draw", "", "draw this file of samples into -plot, and do nothing else")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: soak [flags] BERTH_BINARY")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*minutes, *rate, *nodes, *out, *plot, *draw, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(minutes float64, rate, nodes int, out, plot, draw string, args []string) error {
	if draw != "" {
		samples, err := readSamples(draw)
		if err != nil {
			return err
		}
		return drawPlot(samples, plot)
	}
	if len(args) != 1 || minutes <= 0 || rate < 1 || nodes < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	listen, err := freePort()
	if err != nil {
		return err
	}
	server, err := start(out, "apiserver", args[0], "apiserver", "--listen", listen, "--nodes", fmt.Sprint(nodes))
	if err != nil {
		return err
	}
	defer stop(server)
	if err := waitFor("http://"+listen+"/readyz", 10*time.Second); err != nil {
		return err
	}
	faults, err := startProxy(listen)
	if err != nil {
		return err
	}
	scheduler, err := start(out, "berth", args[0], "run", "--master", "http://"+faults.address, "--seed", "1", "--leader-elect=false")
	if err != nil {
		return err
	}
	defer stop(scheduler)

	load := newLoad("http://"+listen, rate)
	if err := load.begin(); err != nil {
		return err
	}
	samples, err := sample(load, faults, scheduler, server, out, time.Duration(minutes*float64(time.Minute)))
	if err != nil {
		return err
	}
	if plot != "" {
		if err := drawPlot(samples, plot); err != nil {
			return err
		}
	}
	left := load.drain(30 * time.Second)
	return judge(samples, left)
}

// Takes a sample every ten seconds, writes it down, and goes on until the time is over.
func sample(load *load, faults *proxy, scheduler, server *exec.Cmd, out string, length time.Duration) ([]Sample, error) {
	file, err := os.Create(filepath.Join(out, "samples.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var samples []Sample
	began := time.Now()
	for next := began.Add(sampleEvery); next.Before(began.Add(length + sampleEvery/2)); next = next.Add(sampleEvery) {
		time.Sleep(time.Until(next))
		s := Sample{Seconds: time.Since(began).Seconds()}
		if err := s.readProcess(scheduler.Process.Pid); err != nil {
			return samples, fmt.Errorf("the scheduler has ended: %w (see %s)", err, out)
		}
		s.ServerMiB = residentMiB(server.Process.Pid)
		load.fill(&s)
		s.Faults = faults.count.Load()
		line, _ := json.Marshal(s)
		fmt.Fprintln(file, string(line))
		fmt.Println(string(line))
		samples = append(samples, s)
	}
	return samples, nil
}

func start(out, name, binary string, args ...string) (*exec.Cmd, error) {
	log, err := os.Create(filepath.Join(out, name+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		_ = cmd.Process.Kill()
	}
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func waitFor(url string, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if answer, err := http.Get(url); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("no 200 from %s within %v", url, limit)
}
