#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good and how fast plans for the whole cluster are (docs/benchmarks.md).

    rebalance.py BINARY [--clusters 200] [--seed 1] [--nodes 5000] [--pods 50000] [--only optimum|price|scale]

optimum: Consolidate on random clusters of up to 20 nodes, beside the fewest nodes that the pods fit on, which CBC finds
(Debian's coinor-cbc). CBC asks where the pods could be, not whether moves lead there: it has more freedom than a plan.
A cluster that CBC does not solve in time counts with the best that it has proved impossible.
price: CheaperNode on the same clusters with prices, beside what the pods would cost at least with moves that pay off, if
parts of a pod could be on several nodes (the linear relaxation, solved by CBC): the optimum is no less. A pod costs the
part of its node's price that it takes of the node (docs/rebalance.md).
scale: how long `berth rebalance plan` takes on a large cluster, by one core, in seconds of CPU.
Clusters are files of `berth snapshot`. Exit status 1: a target is missed.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

GAP_MAX = 0.02
SECONDS_MAX = 20.0
CBC_SECONDS = 20
POLICY = """apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: bench
  pluginConfig:
  - {name: Consolidate, args: {nodesPerRound: 1000000}}
  - {name: CheaperNode, args: {minStay: 0s, minSavingPercent: 10, horizon: 24h, restartCost: "0.01"}}
  plugins: {balance: {enabled: [%s]}}
"""
SAVING_MIN, HORIZON_HOURS, RESTART_COST = 0.1, 24, 0.01  # as in the policy


def node(name, cpu, memory, price=None):
    amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "110"}
    return {"metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name},
                         "annotations": {} if price is None else {"berth.dev/price": f"{price:.4f}"}},
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
    begin = os.times()
    process = subprocess.Popen([binary, "rebalance", "plan", "--policy", str(policy), "--snapshot", str(snapshot), "--within-scheduler", "-o", "json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    end = os.times()
    seconds = end.children_user + end.children_system - begin.children_user - begin.children_system
    if process.returncode != 0:
        raise SystemExit(f"berth rebalance plan: {err[-1000:]}")
    return json.loads(out), seconds


class Cluster:
    """Up to 20 nodes, between a third and three quarters full; pods of some owners, placed at random where they fit."""

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
        # Larger nodes cost more; some are old, some spot, some from another contract.
        self.prices = [round(cpu / 4000 * 0.2 * chance.choice((0.35, 0.5, 0.7, 0.85, 1)), 4) for cpu, _ in self.nodes]

    def cost(self, owner, at):
        cpu, memory, _ = owner
        return self.prices[at] * max(cpu / self.nodes[at][0], memory / self.nodes[at][1], 1 / 110)

    def used(self):
        return sorted({at for _, _, places in self.owners for at in places})

    def write(self, path, has_prices=False):
        prices = self.prices if has_prices else [None] * len(self.nodes)
        nodes = [node(f"node-{i:02}", *size, price) for i, (size, price) in enumerate(zip(self.nodes, prices))]
        pods = [pod(f"app-{o}", i, f"node-{at:02}", cpu, memory)
                for o, (cpu, memory, places) in enumerate(self.owners) for i, at in enumerate(places)]
        write_snapshot(path, nodes, pods)

    def fewest(self, folder):
        """The number of nodes that CBC needs. Pods of one owner are alike, so that the variables are numbers of pods
        per node."""
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
        output = cbc(folder, " + ".join(f"y{b}" for b in used), rows,
                   "Generals\n " + "\n ".join(whole) + "\nBinaries\n " + "\n ".join(f"y{b}" for b in used) + "\n")
        best = re.search(r"Objective value: +([\d.]+)", output)
        if "Optimal solution found" in output and best:
            return round(float(best.group(1))), True
        bound = re.search(r"Lower bound: +([\d.]+)", output)
        return math.ceil(float(bound.group(1)) - 1e-6) if bound else 1, False

    def cheapest(self, folder):
        """The minimum cost per hour of all pods, if each pod stays or moves to where that pays off."""
        ways = {}  # (owner, from, to): the cost of a pod there
        for o, owner in enumerate(self.owners):
            for a in set(owner[2]):
                here = self.cost(owner, a)
                for b in range(len(self.nodes)):
                    there = self.cost(owner, b)
                    saves = here - there
                    if a == b or (saves > 0 and saves >= here * SAVING_MIN and saves * HORIZON_HOURS > RESTART_COST):
                        ways[o, a, b] = there
        rows = []
        for o, a in sorted({(o, a) for o, a, _ in ways}):
            rows.append(f" o{o}_{a}: " + " + ".join(f"x{o}_{a}_{b}" for p, c, b in ways if (p, c) == (o, a)) +
                        f" = {self.owners[o][2].count(a)}")
        for b, size in enumerate(self.nodes):
            for name, amount, limit in (("c", 0, size[0]), ("m", 1, size[1]), ("p", None, 110)):
                terms = [f"{1 if amount is None else self.owners[o][amount]} x{o}_{a}_{c}" for o, a, c in ways if c == b]
                if terms:
                    rows.append(f" {name}{b}: " + " + ".join(terms) + f" <= {limit}")
        goal = " + ".join(f"{cost:.9f} x{o}_{a}_{b}" for (o, a, b), cost in ways.items())
        output = cbc(folder, goal, rows, "")
        return float(re.search(r"Optimal objective +([\d.]+)", output).group(1))


def cbc(folder, goal, rows, kinds):
    """The output of CBC for the minimum of the goal."""
    model = folder / "model.lp"
    # The solver does not read long lines.
    text = "\n".join(["Minimize", " obj: " + goal, "Subject To", *rows, kinds + "End"]).replace(" + ", "\n + ")
    model.write_text(text + "\n")
    return subprocess.run(["cbc", str(model), "sec", str(CBC_SECONDS), "solve"], capture_output=True, text=True, check=True).stdout


def optimum(binary, count, seed, folder):
    policy = folder / "policy.yaml"
    policy.write_text(POLICY % "Consolidate")
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


def price(binary, count, seed, folder):
    policy = folder / "policy.yaml"
    policy.write_text(POLICY % "CheaperNode")
    before = after = least = 0.0
    worse = 0
    for i in range(count):
        cluster = Cluster(seed * 1000 + i)
        snapshot = folder / "cluster.zst"
        cluster.write(snapshot, has_prices=True)
        answer, _ = plan(binary, policy, snapshot)
        costs = {f"app-{o}-{n}": cluster.cost(owner, at) for o, owner in enumerate(cluster.owners) for n, at in enumerate(owner[2])}
        before += sum(costs.values())
        for move in answer["moves"]:
            owner = cluster.owners[int(move["name"].split("-")[1])]
            costs[move["name"]] = cluster.cost(owner, int(move["to"].split("-")[1]))
        paid = sum(costs.values())
        best = cluster.cheapest(folder)
        if paid < best * (1 - 1e-6):
            raise SystemExit(f"seed {seed * 1000 + i}: {paid:.4f} an hour, and CBC says that {best:.4f} is the least")
        after += paid
        least += best
        worse += paid > best * (1 + GAP_MAX)
    gap = after / least - 1
    print(f"price: {count} clusters, {before:.3f} an hour before, {after:.3f} after, {least:.3f} at least (CBC, relaxed); {gap:.2%} more; "
          f"{worse} clusters are more than {GAP_MAX:.0%} above", flush=True)
    return gap <= GAP_MAX


def scale(binary, nodes, pods, folder):
    chance = random.Random(1)
    snapshot, policy = folder / "large.zst", folder / "policy.yaml"
    sizes = [(100 + 7 * (i % 50), 128 + 64 * (i % 30)) for i in range(250)]
    prices = [0.2 + 0.1 * chance.randrange(8) for _ in range(nodes)]
    write_snapshot(snapshot, [node(f"node-{i:05}", 16000, 65536, prices[i]) for i in range(nodes)],
                   [pod(f"app-{i % 250}", i, f"node-{chance.randrange(nodes):05}", *sizes[i % 250]) for i in range(pods)])
    good = True
    for strategy in ("Consolidate", "CheaperNode"):
        policy.write_text(POLICY % strategy)
        answer, seconds = plan(binary, policy, snapshot)
        emptied = f" empty {len(answer['emptied'])} nodes" if strategy == "Consolidate" else ""
        print(f"scale: {strategy}, {nodes} nodes, {pods} pods: {len(answer['moves'])} moves{emptied} in {seconds:.1f} s of CPU", flush=True)
        good &= seconds <= SECONDS_MAX
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--only", choices=("optimum", "price", "scale"))
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # pinned to one CPU
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.only in (None, "optimum"):
            good &= optimum(options.binary, options.clusters, options.seed, folder)
        if options.only in (None, "price"):
            good &= price(options.binary, options.clusters, options.seed, folder)
        if options.only in (None, "scale"):
            good &= scale(options.binary, options.nodes, options.pods, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
