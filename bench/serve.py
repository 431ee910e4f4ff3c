#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `berth serve` takes to answer a question while clients ask at once and the cluster changes, and how much memory it
has, with its targets.

    serve.py BINARY [--nodes 5000] [--pods 50000] [--waiting 0] [--waiting-kinds 1] [--question simulate] [--replicas 100]
        [--clients 8] [--rate 200] [--seconds 30] [--pause 0]

The cluster is berth's own API server, filled over HTTP; --waiting pods, of so many kinds, have no node and fit nowhere. So many pods a second
are created, and as many of those that were created before are deleted. Exit status 1: a target is missed. The machine's load
is told beside the figures: clients, API server and `berth serve` share its processors, and a client asks again --pause
seconds after an answer.
"""

import argparse
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

from simulate import DEPLOYMENT, node, pod, post_all, start_server

P99_MS_MAX = 50.0
MEMORY_MIB_MAX = 300.0
READY_TIMEOUT_S = 300


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def memory_mib(pid: int, field: str = "VmRSS") -> float:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


class Changes(threading.Thread):
    """Creates and deletes pods at a rate, until told to stop."""

    def __init__(self, url: str, rate: float, nodes: int):
        super().__init__(daemon=True)
        self.url, self.rate, self.nodes, self.made, self.stopped = url, rate, nodes, 0, threading.Event()

    def run(self):
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        path, began = "/api/v1/namespaces/default/pods", time.monotonic()
        while not self.stopped.wait(max(0.0, began + self.made / self.rate - time.monotonic())):
            each = pod(10_000_000 + self.made, self.nodes)
            connection.request("POST", path, json.dumps(each), {"Content-Type": "application/json"})
            connection.getresponse().read()
            if self.made >= 1000:
                old = pod(10_000_000 + self.made - 1000, self.nodes)["metadata"]["name"]
                connection.request("DELETE", f"{path}/{old}?gracePeriodSeconds=0")
                connection.getresponse().read()
            self.made += 1


def questions(replicas: int) -> dict:
    """By name: the path's last part and the body."""
    manifests = DEPLOYMENT % replicas
    return {"simulate": ("simulate", {"manifests": manifests}),
            "add-nodes": ("simulate", {"manifests": manifests, "addNodes": 10, "nodeLike": "node-7"}),
            "remove-node": ("simulate", {"removeNodes": ["node-7"]}),
            "preempt": ("simulate", {"manifests": manifests.replace("cpu: 100m", "cpu: 15").replace(
                "    spec:\n", "    spec:\n      priorityClassName: system-cluster-critical\n")}),
            "capacity": ("capacity", {"cpu": "500m", "memory": "1Gi", "max": replicas}),
            "can-drain": ("can-drain", {"nodes": ["node-7"], "force": True}),
            "explain": ("explain", {"pending": True})}


def waiting(number: int, kinds: int) -> dict:
    each = pod(number % kinds, 1)
    del each["spec"]["nodeName"]
    each["metadata"]["name"] = f"waiting-{number}"
    each["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(100 + number % kinds)
    return each


def ask(port: int, question: str, body: bytes, until: float, pause: float, times: list, failures: list) -> None:
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=120)
    while time.monotonic() < until:
        began = time.monotonic()
        connection.request("POST", f"/ask/v1/{question}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            failures.append((answer.status, text[:200]))
        times.append(time.monotonic() - began)
        if pause:
            time.sleep(pause)


def loads(port: int) -> float:
    """Copies of the cluster that were loaded so far."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=30)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("berth_ask_cluster_loads_total"))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    for name, default in (("nodes", 5000), ("pods", 50000), ("replicas", 100), ("clients", 8), ("rate", 200), ("seconds", 30),
                          ("workers", 2), ("waiting", 0), ("waiting-kinds", 1)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    arguments.add_argument("--pause", type=float, default=0)
    arguments.add_argument("--question", choices=sorted(questions(1)), default="simulate")
    arguments.add_argument("--snapshot", help="a file of berth snapshot in place of the API server; nothing changes then")
    options = arguments.parse_args()
    port = free_port()
    started, changes = [], None
    where = ["--snapshot", options.snapshot] if options.snapshot else []
    try:
        if not options.snapshot:
            server, url = start_server(options.binary)
            started.append(server)
            post_all(url, "/api/v1/nodes", [node(i) for i in range(options.nodes)])
            post_all(url, "/api/v1/namespaces/default/pods", [pod(i, options.nodes) for i in range(options.pods)])
            post_all(url, "/api/v1/namespaces/default/pods", [waiting(i, options.waiting_kinds) for i in range(options.waiting)])
            where = ["--master", url]
        berth = subprocess.Popen([options.binary, "serve", *where, "--bind-address", "127.0.0.1", "--secure-port", str(port),
                                  "--workers", str(options.workers), "--authorization-always-allow-paths", "/ask/*",
                                  "--authorization-always-allow-paths", "/metrics"],
                                 stderr=subprocess.DEVNULL)
        started.append(berth)
        context, ready, began = ssl._create_unverified_context(), False, time.monotonic()
        while not ready:
            if time.monotonic() - began > READY_TIMEOUT_S or berth.poll() is not None:
                raise SystemExit("berth serve did not become ready")
            try:
                probe = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
                probe.request("GET", "/ask/v1")
                ready = json.loads(probe.getresponse().read())["ready"]
            except OSError:
                pass
            time.sleep(0.2)
        print(f"ready after {time.monotonic() - began:.1f} s, {memory_mib(berth.pid):.0f} MiB")
        if not options.snapshot and options.rate:
            changes = Changes(url, options.rate, options.nodes)
            changes.start()
        path, question = questions(options.replicas)[options.question]
        body = json.dumps(question).encode()
        # The first answers make what is kept between questions.
        ask(port, path, body, time.monotonic() + 1, 0, [], [])
        times, failures, until = [], [], time.monotonic() + options.seconds
        clients = [threading.Thread(target=ask, args=(port, path, body, until, options.pause, times, failures))
                   for _ in range(options.clients)]
        loads_before = loads(port)
        ticks = os.sysconf("SC_CLK_TCK")
        cpu = lambda: sum(map(int, open(f"/proc/{berth.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])) / ticks
        cpu_before = cpu()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        spent = cpu() - cpu_before
        times.sort()
        if not times:
            raise SystemExit("no question was answered")
        p50, p99 = (1000 * times[int(len(times) * share)] for share in (0.5, 0.99))
        memory = memory_mib(berth.pid, "VmHWM")
        print(f"{len(times)} answers to {options.clients} clients in {options.seconds} s, {len(failures)} failed; "
              f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, {1000 * spent / len(times):.1f} ms of CPU each, "
              f"{loads(port) - loads_before:.0f} copies loaded; "
              f"{changes.made / options.seconds if changes else 0:.0f} pods/s; {memory:.0f} MiB at most; "
              f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        for failure in failures[:3]:
            print(failure, file=sys.stderr)
        return int(bool(failures) or p99 > P99_MS_MAX or memory > MEMORY_MIB_MAX)
    finally:
        if changes:
            changes.stopped.set()
        for process in reversed(started):
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    sys.exit(main())
