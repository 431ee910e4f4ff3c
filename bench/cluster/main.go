// SPDX-License-Identifier: Apache-2.0
// bench measures a Kubernetes scheduler from outside, through the API server
// only. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	schedv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

type harness struct {
	ctx       context.Context
	cs        kubernetes.Interface
	w         *workload
	workers   int
	schedName string
	churned   atomic.Int64
}

// rec is one measured pod's times, in ns since the epoch (0: not yet).
type rec struct{ sent, acked, bound atomic.Int64 }

type procReport struct {
	CPU        float64 `json:"cpu_s"`
	User       float64 `json:"user_s"`
	Sys        float64 `json:"sys_s"`
	CPUPer1000 float64 `json:"cpu_s_per_1000_pods"`
	Cores      float64 `json:"cores_busy"`
	Settled    float64 `json:"cpu_s_settled,omitempty"`
	RSS0       float64 `json:"rss_before_mib"`
	Peak       float64 `json:"rss_peak_mib"`
	Threads    int     `json:"threads,omitempty"`
}

type proc struct {
	name   string
	pid    int
	c0, c1 cpuTimes
	rss0   float64
}

func now() int64 { return time.Now().UnixNano() }

func pct(s []float64, p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return s[max(0, int(math.Ceil(float64(len(s))*p/100))-1)]
}

func r3(x float64) float64 { return math.Round(x*1000) / 1000 }

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	var (
		kubeconfig = flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the API server")
		server     = flag.String("server", "", "API server URL instead of a kubeconfig, e.g. http://127.0.0.1:8080")
		ctype      = flag.String("content-type", "auto", "protobuf, json or auto (protobuf where the server takes it)")
		schedCmd   = flag.String("scheduler-cmd", "", "command that starts the scheduler under test ({kubeconfig} is replaced)")
		schedPid   = flag.Int("scheduler-pid", 0, "pid of a scheduler that already runs (instead of -scheduler-cmd)")
		schedKind  = flag.String("scheduler", "cmd", "cmd, pid, none (one runs elsewhere) or null (blind round-robin binder inside the harness)")
		schedName  = flag.String("scheduler-name", "default-scheduler", "schedulerName of the pods")
		schedLog   = flag.String("scheduler-log", "", "file for the scheduler's output (default: discarded)")
		wname      = flag.String("workload", "basic", "workload (see -list)")
		list       = flag.Bool("list", false, "list the workloads and stop")
		nodes      = flag.Int("nodes", -1, "nodes")
		existing   = flag.Int("existing", -1, "pods that are bound before the run")
		pods       = flag.Int("pods", -1, "measured pods")
		backlog    = flag.Int("backlog", -1, "gated or unschedulable pods that wait during the run")
		zones      = flag.Int("zones", 0, "zones the nodes are spread over (0: the workload's own number, mostly 3)")
		workers    = flag.Int("workers", 32, "parallel clients that create the measured pods")
		rate       = flag.Float64("rate", 0, "create the measured pods at this rate a second (0: as fast as they are taken)")
		order      = flag.String("order", "live", "live: scheduler runs, then pods come; preload: pods are there, then the scheduler starts")
		nullW      = flag.Int("null-workers", 32, "parallel binders of -scheduler null")
		nullEv     = flag.Bool("null-events", false, "-scheduler null also posts one event a pod, as kube-scheduler does")
		timeout    = flag.Duration("timeout", 15*time.Minute, "longest measured phase")
		stall      = flag.Duration("stall", 30*time.Second, "end the phase when no pod was bound for this long after the last was created")
		settle     = flag.Duration("settle", 2*time.Second, "wait after the last binding before the settled CPU figure is taken")
		watchPids  = flag.String("pids", "", "other processes to account for: name=pid,name=pid (e.g. apiserver=12,etcd=11)")
		clean      = flag.Bool("clean", true, "delete what was made")
		quiet      = flag.Duration("quiet", 0, "before starting, wait up to this long until the machine is idle (under 0.2 cores busy for 3 s)")
		label      = flag.String("label", "", "free text copied into the result")
		summary    = flag.Bool("summary", false, "read JSON lines of runs on stdin and print the medians of each label's (see compare.sh)")
	)
	flag.Parse()
	if *summary {
		if err := summarize(os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *list {
		for _, w := range workloads {
			e := strconv.Itoa(w.existing)
			if w.perNode > 0 {
				e = fmt.Sprintf("%d a node", w.perNode)
			}
			fmt.Printf("%-28s nodes %-5d existing %-8s pods %-6d %s\n", w.name, w.nodes, e, w.pods, w.about)
		}
		return
	}
	debug.SetGCPercent(400)
	h := &harness{ctx: context.Background(), workers: *workers, schedName: *schedName}
	for _, w := range workloads {
		if w.name == *wname {
			h.w = w
		}
	}
	if h.w == nil {
		log.Fatalf("no workload %q (see -list)", *wname)
	}
	w := h.w
	pick := func(f *int, d int) int {
		if *f >= 0 {
			return *f
		}
		return d
	}
	N, P := pick(nodes, w.nodes), pick(pods, w.pods)
	M := w.existing
	if w.perNode > 0 {
		M = w.perNode * N
	}
	M = pick(existing, M)
	G := pick(backlog, w.gated+w.backlog)
	Z := 3
	if w.zones > 0 {
		Z = w.zones
	}
	if *zones > 0 {
		Z = *zones
	}
	if w.onlyTgt {
		N = 0
	}
	pinNodes = max(1, N)
	if *schedPid > 0 && *schedKind == "cmd" {
		*schedKind = "pid"
	}
	if *schedKind == "cmd" && *schedCmd == "" {
		log.Fatal("give -scheduler-cmd, -scheduler-pid, or -scheduler null|none")
	}

	var err error
	ct := *ctype
	if ct == "auto" {
		ct = "protobuf"
	}
	h.cs, _, err = newClient(*kubeconfig, *server, ct, *workers+*nullW)
	if err != nil {
		log.Fatal(err)
	}
	if *ctype == "auto" {
		if err := h.createNS(nsProbe); err != nil {
			log.Printf("protobuf refused (%v); using JSON", err)
			ct = "json"
			if h.cs, _, err = newClient(*kubeconfig, *server, ct, *workers+*nullW); err != nil {
				log.Fatal(err)
			}
		}
	}
	waitQuiet(*quiet)
	load0 := loadAvg()
	calib := calibrate()

	// --- the cluster before the run
	must := func(what string, err error) {
		if err != nil {
			log.Fatalf("%s: %v", what, err)
		}
	}
	tSetup := time.Now()
	must("namespaces", h.createNS(nsInit, nsMeasure, nsProbe, nsChurn))
	_, err = h.cs.SchedulingV1().PriorityClasses().Create(h.ctx, &schedv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: prioName}, Value: prioHigh}, metav1.CreateOptions{})
	must("priority class", exists(err))
	var ns []*v1.Node
	for i := 0; i < N; i++ {
		ns = append(ns, makeNode(i, Z))
	}
	if w.target {
		ns = append(ns, makeTarget())
	}
	must("nodes", h.createNodes(ns))
	if w.secret {
		for _, s := range []string{nsInit, nsMeasure} {
			_, err := h.cs.CoreV1().Secrets(s).Create(h.ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}}, metav1.CreateOptions{})
			must("secret", exists(err))
		}
	}
	if w.volumes {
		must("volumes", h.makeVolumes(ns, P))
	}
	bad, err := parallel(M, *workers, func(i int) error {
		p := makePod(nsInit, fmt.Sprintf("init-%06d", i), *schedName, i, w.init)
		p.Spec.NodeName = ns[i%len(ns)].Name
		_, err := h.cs.CoreV1().Pods(nsInit).Create(h.ctx, p, metav1.CreateOptions{})
		return exists(err)
	})
	if bad > 0 {
		log.Fatalf("%d existing pods not created: %v", bad, err)
	}
	if G > 0 {
		fn := w.gatedPod
		if fn == nil {
			fn = tooBig
		}
		bad, err := parallel(G, *workers, func(i int) error {
			_, err := h.cs.CoreV1().Pods(nsChurn).Create(h.ctx, makePod(nsChurn, fmt.Sprintf("wait-%06d", i), *schedName, i, fn), metav1.CreateOptions{})
			return exists(err)
		})
		if bad > 0 {
			log.Fatalf("%d waiting pods not created: %v", bad, err)
		}
	}
	for i := 0; i < w.deletes; i++ { // light pods to be deleted during the run
		p := makePod(nsInit, fmt.Sprintf("light-%06d", i), *schedName, i, light)
		p.Spec.NodeName = targetNode
		_, err := h.cs.CoreV1().Pods(nsInit).Create(h.ctx, p, metav1.CreateOptions{})
		must("light pod", exists(err))
	}
	setupS := time.Since(tSetup).Seconds()
	log.Printf("%s: %d nodes, %d existing, %d waiting made in %.1f s", w.name, len(ns), M, G, setupS)

	// --- the watch on the measured pods
	recs := make([]rec, P)
	var bound, rebound atomic.Int64
	done := make(chan struct{})
	where := make([]string, P)
	var nullQ chan string
	if *schedKind == "null" {
		nullQ = make(chan string, P+16)
	}
	wctx, wstop := context.WithCancel(h.ctx)
	defer wstop()
	started := make(chan struct{})
	queued := make([]bool, P)
	go watchPods(wctx, h.cs, nsMeasure, started, func(t watch.EventType, p *v1.Pod) {
		i, err := strconv.Atoi(strings.TrimPrefix(p.Name, "pod-"))
		if err != nil || i < 0 || i >= P || t == watch.Deleted {
			return
		}
		if p.Spec.NodeName == "" {
			if nullQ != nil && !queued[i] {
				queued[i] = true
				nullQ <- p.Name
			}
			return
		}
		if recs[i].bound.CompareAndSwap(0, now()) {
			where[i] = p.Spec.NodeName
			if bound.Add(1) == int64(P) {
				close(done)
			}
		} else if where[i] != p.Spec.NodeName {
			rebound.Add(1)
		}
	})
	<-started
	probeStarted := make(chan struct{})
	probeBound := make(chan int64, 4)
	pctx, pstop := context.WithCancel(h.ctx)
	var once sync.Once
	go watchPods(pctx, h.cs, nsProbe, probeStarted, func(t watch.EventType, p *v1.Pod) {
		if p.Name == "probe" && p.Spec.NodeName != "" && t != watch.Deleted {
			once.Do(func() { probeBound <- now() })
		}
	})
	<-probeStarted

	createAll := func() (int, error) {
		start := time.Now()
		return parallel(P, *workers, func(i int) error {
			if *rate > 0 {
				if d := time.Until(start.Add(time.Duration(float64(i) / *rate * 1e9))); d > 0 {
					time.Sleep(d)
				}
			}
			p := makePod(nsMeasure, fmt.Sprintf("pod-%06d", i), *schedName, i, w.measure)
			recs[i].sent.CompareAndSwap(0, now())
			_, err := h.cs.CoreV1().Pods(nsMeasure).Create(h.ctx, p, metav1.CreateOptions{})
			if exists(err) == nil {
				recs[i].acked.Store(now())
				return nil
			}
			return err
		})
	}

	// --- the scheduler
	var procs []*proc
	for _, kv := range strings.Split(*watchPids, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			if pid, _ := strconv.Atoi(v); pid > 0 {
				procs = append(procs, &proc{name: k, pid: pid})
			}
		}
	}
	procs = append(procs, &proc{name: "harness", pid: os.Getpid()})
	var cmd *exec.Cmd
	var startupS, startupCPU float64
	begin := func() {
		for _, p := range procs {
			p.c0, _ = procCPU(p.pid)
			p.rss0, _, _ = procMem(p.pid)
		}
	}
	var createErrs int
	var createErr error
	var t0, tCreated int64
	var busy0 float64
	if *order == "preload" {
		t := time.Now()
		createErrs, createErr = createAll()
		log.Printf("preloaded %d pods in %.1f s (%.0f/s)", P, time.Since(t).Seconds(), float64(P)/time.Since(t).Seconds())
		time.Sleep(time.Second)
	}
	if *schedKind != "null" && *schedKind != "none" && *order != "preload" {
		// One pod without requests, to see when the scheduler is up.
		p := makePod(nsProbe, "probe", *schedName, 0, light)
		_, err := h.cs.CoreV1().Pods(nsProbe).Create(h.ctx, p, metav1.CreateOptions{})
		must("probe", exists(err))
	}
	spid := *schedPid
	var sched *proc
	busy0 = machineBusy()
	begin()
	if *schedKind == "cmd" {
		cmd = exec.Command("/bin/sh", "-c", "exec "+strings.ReplaceAll(*schedCmd, "{kubeconfig}", *kubeconfig))
		if *schedLog != "" {
			f, err := os.Create(*schedLog)
			must("scheduler log", err)
			cmd.Stdout, cmd.Stderr = f, f
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		t0 = now()
		must("scheduler", cmd.Start())
		spid = cmd.Process.Pid
	} else {
		t0 = now()
	}
	tStart := t0
	stopSched := func() {
		if cmd == nil {
			return
		}
		cmd.Process.Signal(syscall.SIGTERM)
		ch := make(chan struct{})
		go func() { cmd.Wait(); close(ch) }()
		select {
		case <-ch:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-ch
		}
	}
	if spid > 0 {
		sched = &proc{name: "scheduler", pid: spid}
		procs = append(procs, sched)
	}
	if *order != "preload" && (*schedKind == "cmd" || *schedKind == "pid") {
		select {
		case t := <-probeBound:
			startupS = float64(t-tStart) / 1e9
		case <-time.After(5 * time.Minute):
			stopSched()
			log.Fatal("the scheduler bound no probe pod in five minutes")
		}
		if sched != nil {
			c, _ := procCPU(sched.pid)
			startupCPU = c.total()
		}
		zero := int64(0)
		h.cs.CoreV1().Pods(nsProbe).Delete(h.ctx, "probe", metav1.DeleteOptions{GracePeriodSeconds: &zero})
		log.Printf("scheduler bound its first pod %.2f s after its start (%.2f CPU s)", startupS, startupCPU)
		if G > 0 {
			time.Sleep(5 * time.Second) // let it try the waiting pods
		} else {
			time.Sleep(time.Second)
		}
		begin()
		busy0 = machineBusy()
	}
	pstop()

	// --- measured phase
	stopChurn := make(chan struct{})
	var cwg sync.WaitGroup
	if w.churn != nil {
		cwg.Add(1)
		go func() { defer cwg.Done(); w.churn(h, stopChurn) }()
	}
	if w.deletes > 0 {
		cwg.Add(1)
		go func() {
			defer cwg.Done()
			zero := int64(0)
			every(20*time.Millisecond, stopChurn, func(i int) {
				if i < w.deletes {
					h.cs.CoreV1().Pods(nsInit).Delete(h.ctx, fmt.Sprintf("light-%06d", i), metav1.DeleteOptions{GracePeriodSeconds: &zero})
				}
			})
		}()
	}
	var bindErrs atomic.Int64
	if nullQ != nil {
		var rr atomic.Int64
		for k := 0; k < *nullW; k++ {
			go func() {
				for name := range nullQ {
					n := ns[int(rr.Add(1)-1)%len(ns)].Name
					b := &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: nsMeasure}, Target: v1.ObjectReference{Kind: "Node", Name: n}}
					if err := h.cs.CoreV1().Pods(nsMeasure).Bind(h.ctx, b, metav1.CreateOptions{}); err != nil {
						bindErrs.Add(1)
					} else if *nullEv {
						t := metav1.Now()
						h.cs.CoreV1().Events(nsMeasure).Create(h.ctx, &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: name + ".bound", Namespace: nsMeasure},
							InvolvedObject: v1.ObjectReference{Kind: "Pod", Namespace: nsMeasure, Name: name, APIVersion: "v1"}, Reason: "Scheduled", Type: "Normal",
							Message: "bound by the null scheduler to " + n, FirstTimestamp: t, LastTimestamp: t, Count: 1, Source: v1.EventSource{Component: "null"}}, metav1.CreateOptions{})
					}
				}
			}()
		}
	}
	if *order != "preload" {
		createErrs, createErr = createAll()
	}
	tCreated = now()
	deadline := time.Now().Add(*timeout)
	last, lastAt := int64(-1), time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	aborted := ""
wait:
	for P > 0 {
		select {
		case <-done:
			break wait
		case <-tick.C:
			if b := bound.Load(); b != last {
				last, lastAt = b, time.Now()
			}
			if time.Since(lastAt) > *stall {
				aborted = "stalled"
				break wait
			}
			if time.Now().After(deadline) {
				aborted = "timeout"
				break wait
			}
			if sched != nil {
				if _, err := procCPU(sched.pid); err != nil {
					aborted = "the scheduler ended"
					break wait
				}
			}
		}
	}
	tick.Stop()
	for _, p := range procs {
		p.c1, _ = procCPU(p.pid)
	}
	busy1 := machineBusy()
	tEnd := now()
	close(stopChurn)
	cwg.Wait()

	// --- figures
	var firstSent, lastBound, firstBound int64 = math.MaxInt64, 0, math.MaxInt64
	var lat, ack, at []float64
	for i := range recs {
		s, a, b := recs[i].sent.Load(), recs[i].acked.Load(), recs[i].bound.Load()
		if s > 0 {
			firstSent = min(firstSent, s)
		}
		if b == 0 {
			continue
		}
		lastBound, firstBound = max(lastBound, b), min(firstBound, b)
		at = append(at, float64(b)/1e9)
		lat = append(lat, float64(b-s)/1e6)
		ack = append(ack, max(0, float64(b-a)/1e6))
	}
	from := firstSent
	if *order == "preload" {
		from = tStart
	}
	sort.Float64s(lat)
	sort.Float64s(ack)
	sort.Float64s(at)
	nb := len(at)
	window := float64(lastBound-from) / 1e9
	samples := sample(at)
	stats := func(s []float64) map[string]float64 {
		if len(s) == 0 {
			return nil
		}
		t := 0.0
		for _, x := range s {
			t += x
		}
		return map[string]float64{"n": float64(len(s)), "avg": r3(t / float64(len(s))), "min": r3(s[0]), "p50": r3(pct(s, 50)), "p90": r3(pct(s, 90)), "p95": r3(pct(s, 95)), "p99": r3(pct(s, 99)), "max": r3(s[len(s)-1])}
	}
	out := map[string]any{
		"label": *label, "workload": w.name, "scheduler": *schedKind, "scheduler_name": *schedName, "order": *order, "rate": *rate,
		"content_type": ct, "workers": *workers, "nodes": len(ns), "existing": M, "waiting": G, "pods": P, "setup_s": r3(setupS),
		"bound": nb, "unbound": P - nb, "create_errors": createErrs, "bind_errors": bindErrs.Load(), "rebound": rebound.Load(), "churned": h.churned.Load(),
		"throughput_pods_s": 0.0, "window_s": r3(window), "throughput_samples": stats(samples),
		"create_to_bound_ms": stats(lat), "acked_to_bound_ms": stats(ack),
		"machine": map[string]any{"cpus": runtime.NumCPU(), "cpu": cpuModel(), "load1_before": load0, "calibration_ms": calib},
	}
	if aborted != "" {
		out["aborted"] = aborted
	}
	if createErr != nil {
		out["first_create_error"] = createErr.Error()
	}
	if nb > 0 {
		out["throughput_pods_s"] = r3(float64(nb) / window)
	}
	if nb > 1 && lastBound > firstBound {
		out["throughput_first_to_last_bound"] = r3(float64(nb-1) / (float64(lastBound-firstBound) / 1e9))
	}
	if *order == "preload" {
		startupS = float64(firstBound-tStart) / 1e9
	} else {
		cs := float64(tCreated-firstSent) / 1e9
		out["create_s"] = r3(cs)
		out["create_pods_s"] = r3(float64(P) / cs)
	}
	if startupS > 0 {
		out["startup_first_bind_s"] = r3(startupS)
		out["startup_cpu_s"] = r3(startupCPU)
	}
	time.Sleep(*settle)
	wall := float64(tEnd-from) / 1e9
	accounted := 0.0
	for _, p := range procs {
		d := p.c1.sub(p.c0)
		if p == sched && *order == "preload" {
			d = p.c1
		}
		_, hwm, th := procMem(p.pid)
		pr := procReport{CPU: r3(d.total()), User: r3(d.user), Sys: r3(d.sys), Cores: r3(d.total() / wall), RSS0: r3(p.rss0), Peak: r3(hwm), Threads: th}
		if nb > 0 {
			pr.CPUPer1000 = r3(d.total() / float64(nb) * 1000)
		}
		if c2, err := procCPU(p.pid); err == nil && p == sched {
			pr.Settled = r3(c2.sub(p.c0).total())
		}
		accounted += d.total()
		out[p.name] = pr
	}
	m := out["machine"].(map[string]any)
	m["busy_cpu_s"] = r3(busy1 - busy0)
	m["other_cpu_s"] = r3(busy1 - busy0 - accounted)
	m["cores_busy"] = r3((busy1 - busy0) / wall)
	if v, err := h.verify(); err == nil {
		out["verify"] = v
	} else {
		out["verify_error"] = err.Error()
	}
	wstop()
	stopSched()
	if *clean {
		t := time.Now()
		h.cleanup()
		log.Printf("cleaned up in %.1f s", time.Since(t).Seconds())
	}
	b, _ := json.Marshal(out)
	fmt.Println(string(b))
	if nb < P {
		os.Exit(3)
	}
}

// sample gives the rate of each second as scheduler_perf does: the first
// partial second is left out; a second without bindings takes the rate of the
// interval it is part of. at is sorted, in seconds.
func sample(at []float64) []float64 {
	var s []float64
	if len(at) == 0 {
		return nil
	}
	t0 := at[0]
	edge := t0 + 1
	k := sort.SearchFloat64s(at, edge)
	lastEdge, skipped := edge, 0
	for k < len(at) {
		edge += 1
		e := sort.SearchFloat64s(at, edge)
		if e == k {
			skipped++
			continue
		}
		if edge > at[len(at)-1]+1e-9 { // the last, partial second
			d := at[len(at)-1] - lastEdge
			if d < 0.5 {
				break
			}
			s = append(s, float64(e-k)/d)
			break
		}
		r := float64(e-k) / (edge - lastEdge)
		for i := 0; i <= skipped; i++ {
			s = append(s, r)
		}
		k, lastEdge, skipped = e, edge, 0
	}
	sort.Float64s(s)
	return s
}

// makeVolumes makes one pre-bound PV and PVC for each measured pod and a
// CSINode with 39 places for each node.
func (h *harness) makeVolumes(ns []*v1.Node, n int) error {
	cnt := int32(39)
	bad, err := parallel(len(ns), h.workers, func(i int) error {
		_, err := h.cs.StorageV1().CSINodes().Create(h.ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: ns[i].Name},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: csiDriver, NodeID: ns[i].Name, Allocatable: &storagev1.VolumeNodeResources{Count: &cnt}}}}}, metav1.CreateOptions{})
		return exists(err)
	})
	if bad > 0 {
		return err
	}
	mode := []v1.PersistentVolumeAccessMode{v1.ReadOnlyMany}
	bad, err = parallel(n, h.workers, func(i int) error {
		pvN, pvcN, none := fmt.Sprintf("pv-%06d", i), fmt.Sprintf("pvc-%06d", i), ""
		pvc, err := h.cs.CoreV1().PersistentVolumeClaims(nsMeasure).Create(h.ctx, &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: pvcN, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "true"}},
			Spec: v1.PersistentVolumeClaimSpec{AccessModes: mode, VolumeName: pvN, StorageClassName: &none,
				Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: q("1Gi")}}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		pvc.Status.Phase = v1.ClaimBound
		if _, err = h.cs.CoreV1().PersistentVolumeClaims(nsMeasure).UpdateStatus(h.ctx, pvc, metav1.UpdateOptions{}); err != nil {
			return err
		}
		pv, err := h.cs.CoreV1().PersistentVolumes().Create(h.ctx, &v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: pvN, Labels: map[string]string{"bench": "yes"}},
			Spec: v1.PersistentVolumeSpec{AccessModes: mode, Capacity: v1.ResourceList{v1.ResourceStorage: q("1Gi")},
				PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: nsMeasure, Name: pvcN, UID: pvc.UID},
				PersistentVolumeSource:        v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: pvN}}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		pv.Status.Phase = v1.VolumeBound
		_, err = h.cs.CoreV1().PersistentVolumes().UpdateStatus(h.ctx, pv, metav1.UpdateOptions{})
		return err
	})
	if bad > 0 {
		return fmt.Errorf("%d volumes: %w", bad, err)
	}
	return nil
}
