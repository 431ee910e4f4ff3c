#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cluster_capacity.py BERTH CLUSTER_CAPACITY [--nodes N] [--limit SECONDS]: the same question to `berth capacity` and to
cluster-capacity (github.com/kubernetes-sigs/cluster-capacity), about a cluster of `BERTH apiserver`: how many pods of
500m and 1Gi fit into N nodes of 4 CPUs and 32Gi. Prints pods, seconds, CPU seconds and memory of each.

cluster-capacity is built in a clone of its repository:
  GOTOOLCHAIN=local GOFLAGS=-mod=vendor go build ./cmd/cluster-capacity
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPE = {"cpu": "500m", "memory": "1Gi"}


def run(limit: float, *command: str) -> tuple[str | None, float, float, int]:
    """Returns standard output (None if it exceeded the limit or failed), seconds, CPU seconds and peak memory in
    MiB."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=complaints)
        while time.monotonic() - began < limit:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.01)
        else:
            process.kill()
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        out.seek(0)
        complaints.seek(0)
        said = out.read()
        # cluster-capacity prints its version before the answer, and exits with status 0 even if it fails.
        answer = re.search(r"(?m)^\{.*\}\s*\Z", said, re.DOTALL)
        text = answer[0] if process.returncode == 0 and answer else None
        if text is None:
            print(f"{command[0]} ended with {process.returncode}: {said[-500:]}{complaints.read()[-500:]}", file=sys.stderr)
        return text, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("berth")
    parser.add_argument("cluster_capacity")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--limit", type=float, default=1800, help="seconds that each may take (1800)")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    berth = os.path.abspath(options.berth)
    with tempfile.TemporaryDirectory(prefix="berth-capacity.") as folder:
        server = subprocess.Popen([berth, "apiserver", "--listen", "127.0.0.1:0", "--nodes", str(options.nodes)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = next(match[0] for line in server.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+", line)))
            kubeconfig = Path(folder) / "kubeconfig"
            kubeconfig.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": url}}], "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
            shape = Path(folder) / "pod.json"
            shape.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shape"},
                "spec": {"containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "resources": {"requests": SHAPE, "limits": SHAPE}}],
                         "restartPolicy": "Always", "dnsPolicy": "Default", "terminationGracePeriodSeconds": 30}}))
            wait_for_nodes(berth, str(kubeconfig), options.nodes)
            ours = run(options.limit, berth, "capacity", "--kubeconfig", str(kubeconfig), "-f", str(shape), "--max", "10000000",
                       "-o", "json")
            theirs = run(options.limit, options.cluster_capacity, "--kubeconfig", str(kubeconfig), "--podspec", str(shape),
                         "-o", "json")
        finally:
            server.terminate()
            server.wait()
    print(f"{'':18}{'pods':>8}{'seconds':>10}{'CPU s':>9}{'MiB':>7}")
    fits = []
    for name, (text, seconds, cpu, memory), count in (
            ("berth capacity", ours, lambda answer: answer["shapes"][0]["fits"]),
            ("cluster-capacity", theirs, lambda answer: answer["status"]["replicas"])):
        fits.append(count(json.loads(text)) if text else None)
        print(f"{name:18}{'-' if fits[-1] is None else fits[-1]:>8}{seconds:10.1f}{cpu:9.1f}{memory:7}")
    return 0 if fits[0] is not None and fits[0] == fits[1] else 1


def wait_for_nodes(berth: str, kubeconfig: str, nodes: int) -> None:
    """Waits until the nodes exist and have lost their initial taints."""
    for _ in range(600):
        done = subprocess.run([berth, "capacity", "--kubeconfig", kubeconfig, "--cpu", "4", "--max", "1000000", "-o", "json"],
                              capture_output=True, text=True)
        if done.returncode == 0 and json.loads(done.stdout)["shapes"][0]["nodeCount"] == nodes:
            return
        time.sleep(0.5)
    raise SystemExit(f"there are no {nodes} nodes")


if __name__ == "__main__":
    sys.exit(main())
