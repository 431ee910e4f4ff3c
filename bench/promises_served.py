#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a ProvisioningRequest waits for its answer, as its client sees it, with its target.

    promises_served.py BERTH [--nodes 5000] [--pods 50000] [--requests 300] [--rate 10]

`berth run --provisioning-requests` on berth's own API server. A request is for a driver and 50 workers; each begins with
the POST and ends when a watch shows Provisioned=True. They come at --rate a second, and each is deleted when 50 others
have come. Told are all waits, and the CPU time of the scheduler per request. Exit status 1: p99 is over 50 ms, or a
request was refused.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

from simulate import node, pod, post_all, start_server

P99_MAX_MS = 50
KEPT = 50
WORKERS = 50
START_TIMEOUT_S = 90
GROUP = "autoscaling.x-k8s.io"
REQUESTS = f"/apis/{GROUP}/v1/namespaces/default/provisioningrequests"
HEADERS = {"Content-Type": "application/json"}

DEFINITION = {
    "metadata": {"name": f"provisioningrequests.{GROUP}",
                 "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"}},
    "spec": {"group": GROUP, "scope": "Namespaced",
             "names": {"plural": "provisioningrequests", "singular": "provisioningrequest", "kind": "ProvisioningRequest",
                       "listKind": "ProvisioningRequestList"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def template(name, cpu):
    return {"metadata": {"name": name},
            "template": {"metadata": {"labels": {"job": name}},
                         "spec": {"restartPolicy": "Never",
                                  "containers": [{"name": "c", "image": "registry.example/training:1",
                                                  "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]}}}


def request(name):
    return {"apiVersion": f"{GROUP}/v1", "kind": "ProvisioningRequest", "metadata": {"name": name},
            "spec": {"provisioningClassName": f"check-capacity.{GROUP}", "parameters": {"processorInstance": "bench"},
                     "podSets": [{"count": 1, "podTemplateRef": {"name": f"{name}-driver"}},
                                 {"count": WORKERS, "podTemplateRef": {"name": f"{name}-workers"}}]}}


class Answers:
    """When a watch showed the answer of each request."""

    def __init__(self, url):
        self.times, self.refused = {}, set()
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        self.connection.request("GET", REQUESTS + "?watch=1&resourceVersion=0")
        self.answer = self.connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while line := self.answer.readline():
                shown = json.loads(line)["object"]
                for condition in shown.get("status", {}).get("conditions", []):
                    if condition["type"] != "Provisioned":
                        continue
                    if condition["status"] == "True":
                        self.times.setdefault(shown["metadata"]["name"], time.monotonic())
                    else:
                        self.refused.add(shown["metadata"]["name"])
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # the server has ended


def start_scheduler(binary, url):
    log = tempfile.TemporaryFile("w+")
    berth = subprocess.Popen([binary, "run", "--master", url, "--secure-port=0", "--leader-elect=false",
                              "--provisioning-requests", "bench"], stderr=log, text=True)
    return berth, log


def cpu_s(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def send(connection, method, path, body=None):
    connection.request(method, path, json.dumps(body) if body else None, HEADERS)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status not in (200, 201):
        raise SystemExit(f"{method} {path}: {answer.status} {content[:300]!r}")


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(what)
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--rate", type=float, default=10)
    options = parser.parse_args()
    started = []
    try:
        server, url = start_server(options.binary)
        started.append(server)
        post_all(url, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", [DEFINITION])
        post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
        post_all(url, "/api/v1/namespaces/default/pods", [pod(n, options.nodes) for n in range(options.pods)])
        names = [f"job-{n}" for n in range(-1, options.requests)]
        post_all(url, "/api/v1/namespaces/default/podtemplates",
                 [template(f"{name}-{part}", cpu) for name in names for part, cpu in (("driver", "1"), ("workers", "100m"))])
        answers = Answers(url)
        berth, log = start_scheduler(options.binary, url)
        started.append(berth)
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        send(connection, "POST", REQUESTS, request(names[0]))
        wait_for(lambda: names[0] in answers.times, START_TIMEOUT_S, "berth run answers no ProvisioningRequest")
        sent, before, begin = {}, cpu_s(berth), time.monotonic()
        for number, name in enumerate(names[1:]):
            time.sleep(max(0.0, begin + number / options.rate - time.monotonic()))
            sent[name] = time.monotonic()
            send(connection, "POST", REQUESTS, request(name))
            if number >= KEPT:
                send(connection, "DELETE", f"{REQUESTS}/{names[number + 1 - KEPT]}")
        wait_for(lambda: all(name in answers.times for name in sent), 60, "not all requests were answered")
        spent = cpu_s(berth) - before
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
    waits = sorted(1000 * (answers.times[name] - at) for name, at in sent.items())
    p99 = waits[len(waits) * 99 // 100]
    print(json.dumps({"requests": len(waits), "p50_ms": round(waits[len(waits) // 2], 1), "p99_ms": round(p99, 1),
                      "slowest_ms": round(waits[-1], 1), "cpu_ms_per_request": round(1000 * spent / len(waits), 2),
                      "refused_first": len(answers.refused)}))
    is_met = p99 <= P99_MAX_MS and not answers.refused
    print(f"of a hundred requests one waits {p99:.0f} ms (at most {P99_MAX_MS}): {'met' if is_met else 'missed'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
