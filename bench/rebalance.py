#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good and how fast plans for the whole cluster are (docs/benchmarks.md).

    rebalance.py BINARY [--clusters 200] [--seed 1] [--nodes 5000] [--pods 50000] [--only optimum|scale]

optimum: Consolidate on random clusters of up to 20 nodes, beside the fewest nodes that the pods fit on, which CBC finds
(Debian's coinor-cbc). A cluster that CBC does not solve in time counts with the best that it has proved impossible.
scale: how long `berth rebalance plan` takes on a large cluster, by one core.
Clusters are files of `berth snapshot`. Exit status 1: a target is missed.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

GAP_MAX = 0.02
SECONDS_MAX = 20.0
CBC_SECONDS = 20
POLICY = """apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: bench
  pluginConfig:
  - {name: Consolidate, args: {nodesPerRound: 1000000%s}}
  plugins: {balance: {enabled: [Consolidate]}}
"""


def node(name, cpu, memory):
    amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "110"}
    return {"metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(owner, number, on, cpu, memory):
    name = f"{owner}-{number}"
    return {"metadata": {"namespace": "default", "name": name, "uid": name, "labels": {"app": owner, "pod-template-hash": "x"},
                         "creationTimestamp": "2026-01-01T00:00:00Z",
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner + "-x", "uid": owner, "controller": True}]},
            "spec": {"nodeName": on, "schedulerName": "default-scheduler",
                     "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}}}]},
            "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}


def write_snapshot(path, nodes, pods):
    lines = [{"format": "berth-snapshot", "version": 1, "berth": "0.1.0"}]
    lines += [{"kind": "Node", "object": each} for each in nodes] + [{"kind": "Pod", "object": each} for each in pods]
    lines.append({"end": {"kubernetes": "v1.36.0", "source": "bench", "readAt": "2026-02-01T00:00:00Z", "leftOut": [],
                          "counts": {"Node": len(nodes), "Pod": len(pods)}}})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    subprocess.run(["zstd", "-q", "-f", "-o", str(path)], input=text.encode(), check=True)


def plan(binary, policy, snapshot):
    begin = time.monotonic()
    process = subprocess.Popen([binary, "rebalance", "plan", "--policy", str(policy), "--snapshot", str(snapshot), "--within-scheduler", "-o", "json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        raise SystemExit(f"berth rebalance plan: {err[-1000:]}")
    return json.loads(out), seconds


class Cluster:
    """Up to 20 nodes, between a third and three quarters full; pods of some owners, placed where they fit, by chance."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.nodes = [(chance.choice((4000, 8000, 16000)), chance.choice((16384, 32768, 65536))) for _ in range(chance.randint(5, 20))]
        self.free = [list(size) + [110] for size in self.nodes]
        self.owners = []  # (cpu, memory, [node of each pod])
        target = chance.uniform(0.33, 0.75) * sum(cpu for cpu, _ in self.nodes)
        used = 0
        while used < target:
            cpu, memory = chance.choice((100, 250, 500, 900, 1500, 2500)), chance.choice((128, 512, 1500, 3000, 6000))
            places = []
            for _ in range(chance.randint(2, 12)):
                fits = [i for i, free in enumerate(self.free) if free[0] >= cpu and free[1] >= memory and free[2] > 0]
                if not fits:
                    break
                at = chance.choice(fits)
                for i, amount in enumerate((cpu, memory, 1)):
                    self.free[at][i] -= amount
                places.append(at)
            self.owners.append((cpu, memory, places))
            used += cpu * len(places)
            if not places:
                break

    def used(self):
        return sorted({at for _, _, places in self.owners for at in places})

    def write(self, path):
        nodes = [node(f"node-{i:02}", *size) for i, size in enumerate(self.nodes)]
        pods = [pod(f"app-{o}", i, f"node-{at:02}", cpu, memory)
                for o, (cpu, memory, places) in enumerate(self.owners) for i, at in enumerate(places)]
        write_snapshot(path, nodes, pods)

    def fewest(self, folder):
        """How many nodes CBC needs. Pods of one owner are alike: how many of them are where is what is asked."""
        used = self.used()
        rows = [" count: " + " + ".join(f"y{b}" for b in used) + " >= 1"]
        for o, (_, _, places) in enumerate(self.owners):
            if places:
                rows.append(f" o{o}: " + " + ".join(f"x{o}_{b}" for b in used) + f" = {len(places)}")
        for b in used:
            for name, amount, size in (("c", 0, self.nodes[b][0]), ("m", 1, self.nodes[b][1]), ("p", None, 110)):
                terms = " + ".join(f"{1 if amount is None else owner[amount]} x{o}_{b}" for o, owner in enumerate(self.owners) if owner[2])
                rows.append(f" {name}{b}: {terms} - {size} y{b} <= 0")
        whole = [f"x{o}_{b}" for o, owner in enumerate(self.owners) if owner[2] for b in used]
        model = folder / "model.lp"
        model.write_text("Minimize\n obj: " + " + ".join(f"y{b}" for b in used) + "\nSubject To\n" + "\n".join(rows) +
                         "\nGenerals\n " + "\n ".join(whole) + "\nBinaries\n " + "\n ".join(f"y{b}" for b in used) + "\nEnd\n")
        told = subprocess.run(["cbc", str(model), "sec", str(CBC_SECONDS), "solve"], capture_output=True, text=True, check=True).stdout
        best = re.search(r"Objective value: +([\d.]+)", told)
        if "Optimal solution found" in told and best:
            return round(float(best.group(1))), True
        bound = re.search(r"Lower bound: +([\d.]+)", told)
        return -int(-float(bound.group(1)) // 1) if bound else 1, False


def optimum(binary, count, seed, folder):
    policy = folder / "policy.yaml"
    policy.write_text(POLICY % "")
    before = after = fewest = worse = unsolved = 0
    for i in range(count):
        cluster = Cluster(seed * 1000 + i)
        snapshot = folder / "cluster.zst"
        cluster.write(snapshot)
        answer, _ = plan(binary, policy, snapshot)
        in_use = len(cluster.used()) - len(answer["emptied"])
        best, is_solved = cluster.fewest(folder)
        if in_use < best:
            raise SystemExit(f"seed {seed * 1000 + i}: {in_use} nodes, and CBC says that {best} are needed")
        before += len(cluster.used())
        after += in_use
        fewest += best
        worse += in_use > best
        unsolved += not is_solved
    gap = after / fewest - 1
    print(f"optimum: {count} clusters, {before} nodes in use before, {after} after, {fewest} at least (CBC); {gap:.2%} more; "
          f"{worse} clusters are not at the optimum, {unsolved} were not solved in {CBC_SECONDS} s", flush=True)
    return gap <= GAP_MAX


def scale(binary, nodes, pods, folder):
    chance = random.Random(1)
    snapshot, policy = folder / "large.zst", folder / "policy.yaml"
    policy.write_text(POLICY % "")
    sizes = [(100 + 7 * (i % 50), 128 + 64 * (i % 30)) for i in range(250)]
    write_snapshot(snapshot, [node(f"node-{i:05}", 16000, 65536) for i in range(nodes)],
                   [pod(f"app-{i % 250}", i, f"node-{chance.randrange(nodes):05}", *sizes[i % 250]) for i in range(pods)])
    answer, seconds = plan(binary, policy, snapshot)
    print(f"scale: {nodes} nodes, {pods} pods: {len(answer['emptied'])} nodes emptied by {len(answer['moves'])} moves in {seconds:.1f} s", flush=True)
    return seconds <= SECONDS_MAX


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--only", choices=("optimum", "scale"))
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.only != "scale":
            good &= optimum(options.binary, options.clusters, options.seed, folder)
        if options.only != "optimum":
            good &= scale(options.binary, options.nodes, options.pods, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
