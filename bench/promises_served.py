#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a ProvisioningRequest waits for its answer, as its client sees it, with its target; or whether promises hold.

    promises_served.py BERTH [--nodes 5000] [--pods 50000] [--requests 300] [--rate 10]
    promises_served.py BERTH --contend [--nodes 100] [--requests 1000]

`berth run --provisioning-requests` on berth's own API server. A request is for a driver and 50 workers; each begins with
the POST and ends when a watch shows Provisioned=True. They come at --rate a second, and each is deleted when 50 others
have come. Told are all waits, and the CPU time of the scheduler per request. Exit status 1: p99 is over 50 ms, or a
request was refused.

With --contend requests for a driver and 9 workers come all at once, for several times of what there is, and pods that name
none want the same room: some with the requests, then more than there is. The scheduler is killed and starts anew; then the
promised pods come. Exit status 1: one of them is not bound, a node has more pods than it holds, or a request has no answer
that says why.
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
PODS = "/api/v1/namespaces/default/pods"
CONTENDING_WORKERS = 9
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


def request(name, templates=None, workers=WORKERS):
    templates = templates or name
    return {"apiVersion": f"{GROUP}/v1", "kind": "ProvisioningRequest", "metadata": {"name": name},
            "spec": {"provisioningClassName": f"check-capacity.{GROUP}", "parameters": {"processorInstance": "bench"},
                     "podSets": [{"count": 1, "podTemplateRef": {"name": f"{templates}-driver"}},
                                 {"count": workers, "podTemplateRef": {"name": f"{templates}-workers"}}]}}


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


def wait_for(condition, seconds, what, pause=0.01):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(what)
        time.sleep(pause)


def get(url, path):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"GET {path}: {answer.status} {content[:300]!r}")
    return json.loads(content)["items"]


def condition(shown, kind):
    conditions = shown.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {"status": "", "message": ""})


def rival(number, cpu_milli):
    return {"metadata": {"name": f"rival-{number}"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu_milli}m"}}}]}}


def comer(of, number):
    """A pod of the request: the driver or a worker, as its template is, or a smaller one that lacks the request for memory."""
    part, cpu = ("workers", "500m") if number else ("driver", "1")
    made = template(f"job-{part}", cpu)["template"]
    made["metadata"].update({"name": f"{of}-{number}", "annotations": {f"{GROUP}/consume-provisioning-request": of}})
    if int(of.removeprefix("job-")) % 2:
        del made["spec"]["containers"][0]["resources"]["requests"]["memory"]
    return made


def cpu_milli_of(each):
    text = each["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def contend(options, url, started):
    """What went wrong, one line each."""
    names = [f"job-{n}" for n in range(options.requests)]
    post_all(url, "/api/v1/namespaces/default/podtemplates", [template("job-driver", "1"), template("job-workers", "500m")])
    berth, log = start_scheduler(options.binary, url)
    started.append(berth)
    # A quarter of the cluster, beside the requests.
    early = threading.Thread(target=post_all, args=(url, PODS, [rival(n, 1000) for n in range(4 * options.nodes)]))
    early.start()
    post_all(url, REQUESTS, [request(name, "job", CONTENDING_WORKERS) for name in names])
    early.join()
    answered = lambda: all(condition(each, "Provisioned")["status"] for each in get(url, REQUESTS))
    wait_for(answered, 300, "not all requests were answered", 0.5)
    promised = [each["metadata"]["name"] for each in get(url, REQUESTS) if condition(each, "Provisioned")["status"] == "True"]
    # More than the rest of it.
    post_all(url, PODS, [rival(10**6 + n, 1000) for n in range(8 * options.nodes)])
    decided = lambda: all(each["spec"].get("nodeName") or condition(each, "PodScheduled")["status"] == "False" for each in get(url, PODS))
    wait_for(decided, 300, "not all other pods were decided", 0.5)
    spent = cpu_s(berth)
    berth.kill()
    berth.wait()
    started.remove(berth)
    berth, log = start_scheduler(options.binary, url)
    started.append(berth)
    # Workers may come before their driver, and others in between.
    post_all(url, PODS, [each for n in reversed(range(CONTENDING_WORKERS + 1)) for each in
                         [*(comer(name, n) for name in promised), *(rival(2 * 10**6 + 1000 * n + i, 100) for i in range(options.nodes // 5))]])
    comers = lambda: [each for each in get(url, PODS) if each["metadata"]["name"].startswith("job-")]
    wrong = []
    try:
        wait_for(lambda: all(each["spec"].get("nodeName") for each in comers()), 120, "", 0.5)
    except SystemExit:
        late = [each for each in comers() if not each["spec"].get("nodeName")]
        wrong.append(f"{len(late)} promised pods are not bound, as {late[0]['metadata']['name']}: {condition(late[0], 'PodScheduled')['message']}")
    used = {}
    for each in get(url, PODS):
        if each["spec"].get("nodeName"):
            milli, pods = used.get(each["spec"]["nodeName"], (0, 0))
            used[each["spec"]["nodeName"]] = milli + cpu_milli_of(each), pods + 1
    wrong += [f"{name} has {pods} pods for {milli}m CPU" for name, (milli, pods) in used.items() if milli > 16_000 or pods > 110]
    for each in get(url, REQUESTS):
        name, answer = each["metadata"]["name"], condition(each, "Provisioned")
        if name in promised:
            if answer["status"] != "True" or condition(each, "CapacityRevoked")["status"]:
                wrong.append(f"{name}: the promise was broken: {condition(each, 'CapacityRevoked')['message']}")
        elif answer["status"] == "True":
            wrong.append(f"{name}: it got room that was not free: {answer}")
        elif "Insufficient cpu" not in answer["message"]:
            wrong.append(f"{name}: it does not say why it has no room: {answer}")
    if not 0 < len(promised) < options.requests:
        wrong.append(f"nothing was contended: {len(promised)} of {options.requests} requests have room")
    others = sum(1 for each in get(url, PODS) if each["metadata"]["name"].startswith("rival-") and each["spec"].get("nodeName"))
    print(json.dumps({"requests": options.requests, "promised": len(promised), "promised_pods": len(comers()), "other_pods_bound": others,
                      "cpu_milli_used": sum(milli for milli, _ in used.values()), "cpu_milli": 16_000 * options.nodes,
                      "cpu_s_until_all_were_answered": round(spent, 2)}))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--requests", type=int)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--contend", action="store_true")
    options = parser.parse_args()
    options.nodes = options.nodes or (100 if options.contend else 5000)
    options.requests = options.requests or (1000 if options.contend else 300)
    started = []
    try:
        server, url = start_server(options.binary)
        started.append(server)
        post_all(url, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", [DEFINITION])
        post_all(url, "/api/v1/nodes", [node(n) for n in range(options.nodes)])
        if options.contend:
            wrong = contend(options, url, started)
            for line in wrong[:10]:
                print(line, file=sys.stderr)
            return int(bool(wrong))
        post_all(url, PODS, [pod(n, options.nodes) for n in range(options.pods)])
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
