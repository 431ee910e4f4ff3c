#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What questions to a running scheduler cost the pods that are scheduled at the same time, with a target.

    explain.py BINARY [--nodes 5000] [--pods 50000] [--seconds 15] [--clients 2]

berth run works on berth's own API server. Ten ordinary pods a second are created, first without questions, then while
clients ask /explain/pods/NAMESPACE/NAME for a pod that fits nowhere, each again as soon as it has its answer. Prints
the time from each pod's creation to its binding. Exit status 1: more than one pod in a hundred waits longer than the
target.
"""

import argparse
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

from simulate import START_TIMEOUT_S, node, pod, post_all, start_server

P99_MAX_S = 0.05
PODS_PER_S = 10
PODS = "/api/v1/namespaces/default/pods"


def ordinary(name, cpu):
    return {"metadata": {"name": name},
            "spec": {"schedulerName": "default-scheduler",
                     "containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}]}}


class BoundTimes:
    """When each pod got its node, from a watch."""

    def __init__(self, url):
        self.times = {}
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        connection.request("GET", PODS + "?limit=1")
        version = json.load(connection.getresponse())["metadata"]["resourceVersion"]
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self.connection.request("GET", f"{PODS}?watch=true&resourceVersion={version}")
        self.answer = self.connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.answer:
            event = json.loads(line)["object"]
            if event.get("spec", {}).get("nodeName"):
                self.times.setdefault(event["metadata"]["name"], time.monotonic())


class Questions:
    def __init__(self, port, clients):
        self.port = port
        self.answers, self.refused, self.slowest = 0, 0, 0.0
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.ask) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        context = ssl._create_unverified_context()  # the port has a self-signed certificate
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)
        while not self.ends.is_set():
            begin = time.monotonic()
            connection.request("GET", "/explain/pods/default/too-large?nodes=false")
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 200:
                self.answers += 1
                self.slowest = max(self.slowest, time.monotonic() - begin)
            elif answer.status == 429:
                self.refused += 1
                time.sleep(0.02)
            else:
                raise SystemExit(f"/explain: {answer.status} {body[:300]!r}")

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def ordinary_pods(url, bound, prefix, seconds):
    created = {}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    begin = time.monotonic()
    for number in range(seconds * PODS_PER_S):
        time.sleep(max(0.0, begin + number / PODS_PER_S - time.monotonic()))
        name = f"{prefix}-{number}"
        created[name] = time.monotonic()
        connection.request("POST", PODS, json.dumps(ordinary(name, "10m")), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 201:
            raise SystemExit(f"a pod was not created: {answer.status}")
    deadline = time.monotonic() + 30
    while any(name not in bound.times for name in created):
        if time.monotonic() > deadline:
            raise SystemExit("not all ordinary pods were bound")
        time.sleep(0.05)
    waits = sorted(bound.times[name] - at for name, at in created.items())
    return {"p50_ms": round(1000 * waits[len(waits) // 2], 1), "p99_ms": round(1000 * waits[len(waits) * 99 // 100], 1),
            "slowest_ms": round(1000 * waits[-1], 1)}


def start_scheduler(binary, url, under=(), timeout_s=START_TIMEOUT_S):
    """`under`: words before the command, as of valgrind."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tempfile.TemporaryFile("w+")
    berth = subprocess.Popen([*under, binary, "run", "--master", url, f"--secure-port={port}", "--bind-address=127.0.0.1",
                              "--leader-elect=false", "--authorization-always-allow-paths=/*"], stderr=log, text=True)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        log.seek(0)
        if "Serving securely" in log.read():
            return berth, port
        time.sleep(0.1)
    raise SystemExit("berth run does not serve")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--clients", type=int, default=2)
    options = parser.parse_args()
    started = []
    try:
        server, url = start_server(options.binary)
        started.append(server)
        post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
        post_all(url, PODS, [pod(n, options.nodes) for n in range(options.pods)])
        berth, port = start_scheduler(options.binary, url)
        started.append(berth)
        bound = BoundTimes(url)
        post_all(url, PODS, [ordinary("too-large", "1000")])
        ordinary_pods(url, bound, "first", 2)
        calm = ordinary_pods(url, bound, "calm", options.seconds)
        questions = Questions(port, options.clients)
        asked = ordinary_pods(url, bound, "asked", options.seconds)
        questions.end()
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
    print(json.dumps({"calm": calm, "asked": asked, "answers": questions.answers, "refused_for_now": questions.refused,
                      "slowest_answer_ms": round(1000 * questions.slowest)}))
    met = asked["p99_ms"] <= 1000 * P99_MAX_S and questions.answers > 0
    print(f"of a hundred ordinary pods one waits {asked['p99_ms']} ms while {options.clients} clients ask "
          f"({calm['p99_ms']} ms before; at most {1000 * P99_MAX_S:.0f}): {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
