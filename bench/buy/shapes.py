#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shapes.py BERTH [binpacking|karpenter] [--pods N] [--placement P]: how long `berth buy` takes on what others measure themselves by.

binpacking: the numbers of cluster-autoscaler's BenchmarkBinpackingEstimate, 51,000 pods of two shapes and nodes of one.
karpenter: the numbers of Karpenter's scheduling benchmark: 20,000 pods in five parts (plain, spread over zones, spread over hosts, together in a
zone, one a host) and 400 instance types at their fake provider's prices, in three zones. Karpenter spreads by random labels, which may be other pods'.
Prints the plan's price, its lower bound and the seconds that the process took, start and reading included.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def deployment(name: str, replicas: int, cpu: str, memory: str, labels: dict, spec: dict | None = None) -> dict:
    labels = {**labels, "of": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"of": name}},
        "template": {"metadata": {"labels": labels}, "spec": {**(spec or {}), "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}}}


def binpacking() -> tuple[list[dict], list[dict]]:
    pods = [deployment("estimatee", 50_000, "50m", "100Mi", {}), deployment("larger", 1_000, "95m", "190Mi", {})]
    return pods, [{"name": "template", "cpu": 1, "memory": "5000Mi", "pods": 100, "price": 1}]


def karpenter(count: int) -> tuple[list[dict], list[dict]]:
    chance = random.Random(42)
    values = "abcdefg"
    parts: dict[tuple, int] = {}
    for part in ("plain", ZONE, HOSTNAME, "together", "apart"):
        for _ in range(count // 5):
            label, by = chance.choice(values), chance.choice(values)
            amounts = (f"{chance.choice([100, 250, 500, 1000, 1500])}m", f"{chance.choice([100, 256, 512, 1024, 2048, 4096])}Mi")
            key = (part, label, by if part in (ZONE, HOSTNAME) else "", *amounts)
            parts[key] = parts.get(key, 0) + 1
    pods = []
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    for number, ((part, label, by, cpu, memory), replicas) in enumerate(sorted(parts.items())):
        labels, spec = {"my-label": label}, {}
        if part in (ZONE, HOSTNAME):
            spec = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": part, "whenUnsatisfiable": "DoNotSchedule",
                                                   "labelSelector": {"matchLabels": {"my-label": by}}}]}
        elif part == "together":
            labels = {"my-affinity": label}
            spec = {"affinity": {"podAffinity": {required: [{"topologyKey": ZONE, "labelSelector": {"matchLabels": labels}}]}}}
        elif part == "apart":
            labels = {"app": "nginx"}
            spec = {"affinity": {"podAntiAffinity": {required: [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}]}}}
        pods.append(deployment(f"d{number}", replicas, cpu, memory, labels, spec))
    shapes = []
    for i in range(1, 401):
        price = round(0.1 * i + 0.1 * i * 2 * 2**30 / 1e9, 6)
        amounts = {"cpu": f"{1000 * i - 100}m", "memory": f"{2048 * i - 10}Mi", "pods": 10 * i, "price": f"{price:.6f}"}
        shapes.append({"name": f"fake-it-{i - 1}", **amounts, "capacityType": "spot", "zones": ["test-zone-1", "test-zone-2"]})
        shapes.append({"name": f"fake-it-{i - 1}", **amounts, "capacityType": "on-demand", "zones": ["test-zone-1", "test-zone-2", "test-zone-3"]})
    return pods, shapes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("berth")
    parser.add_argument("what", choices=["binpacking", "karpenter"])
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--placement", default="nominated", choices=["nominated", "scheduler"])
    parser.add_argument("--effort", type=int, default=1)
    options = parser.parse_args()
    pods, shapes = binpacking() if options.what == "binpacking" else karpenter(options.pods)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        (folder / "shapes.json").write_text(json.dumps({"shapes": shapes}))
        begin = time.monotonic()
        done = subprocess.run([options.berth, "buy", "--no-cluster", "-f", folder / "pods.json", "--catalogue", folder / "shapes.json",
                               "--placement", options.placement, "--effort", str(options.effort), "-o", "json"], capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    if done.returncode not in (0, 3):
        print(done.stderr, file=sys.stderr)
        return 1
    plan = json.loads(done.stdout)
    print(f"{options.what}: {len(plan['pods'])} pods, {len(plan['nodes'])} new nodes, price {plan['price']}, bound {plan['lowerBound']}, "
          f"{plan['leftPods']} left, {seconds:.2f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
