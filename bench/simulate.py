#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `berth simulate` takes for a Deployment on a large cluster, and how much memory, with its targets.

    simulate.py BINARY [--nodes 5000] [--pods 50000] [--replicas 1000] [--runs 3] [--snapshot FILE]

The cluster is berth's own API server, filled over HTTP; with --snapshot a file of `berth snapshot` is read in its place.
Two times are told: of everything after the lists have been read (`berth simulate -v 4` tells the first), and of the whole
command. Exit status 1: the best run misses a target, or not all pods got a node.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

SECONDS_MAX = 3.0  # after the lists have been read
MEMORY_MIB_MAX = 300
ZONES = 3
OWNERS = 250  # ReplicaSets of the cluster's pods
CLIENTS = 4
START_TIMEOUT_S = 60

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m, memory: 128Mi}}}]
"""


def node(number):
    name = f"node-{number}"
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                                                  "topology.kubernetes.io/zone": f"zone-{number % ZONES}"}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def owned_by(owner):
    """The metadata of a workload's pod. The owner is of a kind that the API server does not serve: the garbage collector leaves such
    pods alone, and deletes those of a ReplicaSet that there is not."""
    return {"labels": {"app": owner}, "ownerReferences": [
        {"apiVersion": "bench.example/v1", "kind": "Workload", "name": owner, "uid": owner, "controller": True}]}


def pod(number, nodes):
    owner = f"app-{number % OWNERS}"
    return {"metadata": {"name": f"{owner}-{number}", **owned_by(owner)},
            "spec": {"nodeName": f"node-{number % nodes}",
                     "containers": [{"name": "c", "image": "registry/" + owner,
                                     "env": [{"name": "A", "value": "b"}],
                                     "resources": {"requests": {"cpu": f"{100 + number % OWNERS}m", "memory": "256Mi"}}}]}}


def post_all(url, path, objects):
    """Posts over a few connections at a time."""
    def send(share):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
        for each in share:
            connection.request("POST", path, json.dumps(each), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 201:
                raise SystemExit(f"POST {path}: {answer.status} {body[:300]!r}")

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(send, [objects[i::CLIENTS] for i in range(CLIENTS)]))


def start_server(binary):
    server = subprocess.Popen([binary, "apiserver", "--listen", "127.0.0.1:0", "--nodes", "0"], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + START_TIMEOUT_S
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return server, found.group(0)
        if time.monotonic() > deadline:
            break
    raise SystemExit("berth apiserver does not say where it listens")


def measure(command, replicas):
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True)
        _, status, usage = os.wait4(process.pid, 0)
        whole = time.monotonic() - begin
        out.seek(0)
        err.seek(0)
        log = err.read()
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"berth simulate: {log[-1000:]}")
        answer = json.load(out)
    after = re.search(r"Simulated.*seconds=\"?([\d.]+)", log)
    if not after:
        raise SystemExit(f"berth simulate -v does not say how long it took: {log[-1000:]}")
    placed = sum(1 for each in answer["pods"] if each["origin"] == "new" and each["node"])
    return {"seconds": float(after.group(1)), "whole_seconds": round(whole, 3), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
            "memory_mib": usage.ru_maxrss // 1024, "placed": placed, "is_complete": placed == replicas}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--replicas", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--snapshot")
    options = parser.parse_args()
    server = None
    try:
        if options.snapshot:
            where = ["--snapshot", options.snapshot]
        else:
            server, url = start_server(options.binary)
            post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
            post_all(url, "/api/v1/namespaces/default/pods", [pod(n, options.nodes) for n in range(options.pods)])
            where = ["--master", url]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as manifest:
            manifest.write(DEPLOYMENT % options.replicas)
            manifest.flush()
            runs = []
            for _ in range(options.runs):
                runs.append(measure([options.binary, "simulate", "-f", manifest.name, "-o", "json", "-v", "4", *where], options.replicas))
                print(json.dumps(runs[-1]))
    finally:
        if server:
            server.terminate()
            server.wait()
    seconds = min(run["seconds"] for run in runs)
    memory = max(run["memory_mib"] for run in runs)
    is_met = seconds <= SECONDS_MAX and memory <= MEMORY_MIB_MAX and all(run["is_complete"] for run in runs)
    print(f"{options.replicas} replicas: {seconds:.2f} s after the lists have been read (at most {SECONDS_MAX:.0f}), "
          f"{memory} MiB (at most {MEMORY_MIB_MAX}): {'met' if is_met else 'NOT met'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
