#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `berth run --record` costs: CPU time a pod of the whole scheduler, with and without it, and bytes a pod.

    recording.py BINARY [--nodes 400] [--pods 20000] [--runs 6] [--deployments 100]
    recording.py BINARY --instructions [--nodes 100] [--pods 1000]

Both run by turns against an embedded API server of their own, whose simulated kubelets run the pods and write their
status. CPU time is the kernel's, of all threads, from the first pod to the last one's Running. --instructions counts
with valgrind what twice as many pods take more, which does not depend on what else the machine does. Exit status 1: more
than 3 %, or something failed.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

RATIO_MAX = 1.03
CLIENTS = 4
PATIENCE_S = 1800
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def pod_body(number, deployments):
    """A pod as a Deployment makes it in a cluster with sidecars."""
    name = f"app-{number % deployments}"
    env = [{"name": f"SETTING_{i}", "value": f"some value {i}"} for i in range(12)]
    mount = [{"name": "config", "mountPath": "/etc/config"}]
    containers = [
        {"name": "main", "image": f"registry.example.com/team/{name}:1.2.3", "env": env, "args": ["serve", "--verbose"],
         "volumeMounts": mount, "ports": [{"containerPort": 8080}],
         "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}}},
        {"name": "sidecar", "image": "registry.example.com/mesh/proxy:2.0", "env": env, "volumeMounts": mount,
         "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}}}]
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"{name}-{number}", "labels": {"app": name, "version": "v1", "pod-template-hash": "6d4cf56db6"},
                     "annotations": {"prometheus.io/scrape": "true", "checksum/config": "0123456789abcdef" * 4}},
        "spec": {"containers": containers, "volumes": [{"name": "config", "configMap": {"name": name}}],
                 "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                                  "tolerationSeconds": 300}],
                 "topologySpreadConstraints": [
                     {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
                      "labelSelector": {"matchLabels": {"app": name}}}]}})


class Server:
    """`berth apiserver` as a process."""

    def __init__(self, binary, nodes):
        self.process = subprocess.Popen([binary, "apiserver", "--listen", "127.0.0.1:0", "--nodes", str(nodes)],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://(127\.0\.0\.1:\d+)", line):
                self.address = found.group(1)
                break
        else:
            raise RuntimeError("berth apiserver does not start")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        wait_for(lambda: sum("Ready" in json.dumps(each["status"].get("conditions", [])) for each in self.list("nodes")) == nodes)

    def list(self, what):
        client = http.client.HTTPConnection(self.address, timeout=60)
        client.request("GET", f"/api/v1/{what}")
        answer = json.loads(client.getresponse().read())
        client.close()
        return answer["items"]

    def create(self, numbers, deployments):
        client = http.client.HTTPConnection(self.address, timeout=60)
        for number in numbers:
            client.request("POST", "/api/v1/namespaces/default/pods", pod_body(number, deployments),
                           {"Content-Type": "application/json"})
            answer = client.getresponse()
            answer.read()
            if answer.status != 201:
                raise RuntimeError(f"creating a pod: status {answer.status}")

    def running(self):
        return sum(each["status"].get("phase") == "Running" for each in self.list("pods"))


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("takes too long")
        time.sleep(0.3)


def cpu_seconds(pid):
    """Of all living threads; berth's threads live until it ends."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        total += int(path.read_text().split()[0])
    return total / 1e9


def run_once(options, pods, recordings, counts_instructions):
    """CPU seconds or instructions, and the size of the recording in bytes."""
    server = Server(options.binary, options.nodes)
    command = [options.binary, "run", "--master", f"http://{server.address}", "--leader-elect=false", "--seed", "1"]
    if recordings:
        command += ["--record", recordings]
    berth = subprocess.Popen((VALGRIND if counts_instructions else []) + command, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(berth.stderr), daemon=True)
    reader.start()
    try:
        server.create([10**9], options.deployments)
        wait_for(lambda: berth.poll() is not None or server.running() == 1)
        before = 0 if counts_instructions else cpu_seconds(berth.pid)
        clients = [threading.Thread(target=server.create, args=(range(i, pods, CLIENTS), options.deployments))
                   for i in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        wait_for(lambda: berth.poll() is not None or server.running() == pods + 1)
        time.sleep(1)
        cost = 0 if counts_instructions else cpu_seconds(berth.pid) - before
        berth.send_signal(signal.SIGTERM)
        if berth.wait(300) != 0:
            raise RuntimeError(f"berth failed: {lines[-3:]}")
        reader.join(10)
    finally:
        for process in (berth, server.process):
            process.kill()
            process.wait()
    if counts_instructions:
        cost = int(re.search(r"I +refs: +([0-9,]+)", "".join(lines)).group(1).replace(",", ""))
    size = sum(path.stat().st_size for path in pathlib.Path(recordings).glob("*.rec")) if recordings else 0
    return cost, size


def recorded_once(options, pods, counts_instructions):
    with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder:
        return run_once(options, pods, folder, counts_instructions)


def measure_cpu(options):
    plain, recorded, sizes = [], [], []
    for i in range(options.runs):
        order = [False, True] if i % 2 == 0 else [True, False]
        for records in order:
            cost, size = recorded_once(options, options.pods, False) if records else run_once(options, options.pods, None, False)
            (recorded if records else plain).append(cost / options.pods * 1e6)
            if records:
                sizes.append(size / options.pods)
        print(f"run {i + 1}: {plain[-1]:.2f} us a pod, recorded {recorded[-1]:.2f}", file=sys.stderr, flush=True)
    return statistics.median(plain), statistics.median(recorded), statistics.median(sizes), "CPU us a pod, median"


def measure_instructions(options):
    costs = {}
    for records in (False, True):
        runs = []
        for pods in (options.pods, 2 * options.pods):
            runs.append(recorded_once(options, pods, True) if records else run_once(options, pods, None, True))
        costs[records] = [(later - first) / options.pods for first, later in zip(*runs)]
        print(f"{'recorded' if records else 'plain'}: {costs[records][0]:.0f} instructions a pod", file=sys.stderr, flush=True)
    return costs[False][0], costs[True][0], costs[True][1], "instructions a pod"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--deployments", type=int, default=100)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    options.nodes = options.nodes or (100 if options.instructions else 400)
    options.pods = options.pods or (1000 if options.instructions else 20_000)
    plain, recorded, size, unit = (measure_instructions if options.instructions else measure_cpu)(options)
    print(f"| {unit} | not recorded | recorded | ratio | bytes of the recording a pod |\n|---|---|---|---|---|")
    print(f"| {options.pods} pods on {options.nodes} nodes | {plain:,.1f} | {recorded:,.1f} | {recorded / plain:.3f} | {size:.0f} |")
    return 0 if recorded <= RATIO_MAX * plain else 1


if __name__ == "__main__":
    sys.exit(main())
