#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a made-up cluster of any size as a file of `berth snapshot`, to see what the page makes of it.

    page_snapshot.py FILE [--nodes 5000] [--pods 50000] [--pending 200] [--seed 7]

Names, labels and times are as random as those of a real cluster, since they decide how small a frame is compressed.
"""

import argparse
import datetime
import json
import random
import subprocess

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # of which Kubernetes makes the ends of names
WORDS = ("account billing cart catalog checkout delivery discount email events feed gateway image index ledger login mail "
         "media order payment price profile queue rank search session stock stream tax user video").split()
ROLES = ("api", "worker", "web", "cache", "cron", "proxy")
CPU = (50, 100, 100, 250, 250, 500, 500, 1000, 2000)
MEMORY = (64, 128, 256, 256, 512, 512, 1024, 2048, 4096)
NODE_TYPES = (("m7i.4xlarge", 16, 64, 0.8064), ("c7i.8xlarge", 32, 64, 1.428), ("r7i.2xlarge", 8, 64, 0.5292))
PODS_PER_REPLICASET = 20
BEGIN = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)


def time_text(seconds):
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(chance, i):
    kind, cpu, memory, price = NODE_TYPES[i % len(NODE_TYPES)]
    zone = "eu-central-1" + "abc"[i % 3]
    amounts = {"cpu": f"{cpu * 1000 - 80}m", "memory": f"{memory * 1024 - 900}Mi", "pods": "110", "ephemeral-storage": "95Gi"}
    name = f"ip-10-{i // 65536}-{i // 256 % 256}-{i % 256}.eu-central-1.compute.internal"
    is_spot = chance.random() < 0.3
    return {"metadata": {"name": name, "creationTimestamp": time_text(chance.randrange(10_000_000)),
                         "annotations": {"berth.dev/price": str(price)},
                         "labels": {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                                    "node.kubernetes.io/instance-type": kind, "topology.kubernetes.io/region": "eu-central-1",
                                    "topology.kubernetes.io/zone": zone, "karpenter.sh/nodepool": kind.split(".")[0],
                                    "karpenter.sh/capacity-type": "spot" if is_spot else "on-demand"}},
            "spec": {"unschedulable": True} if i % 211 == 5 else {},
            "status": {"allocatable": amounts, "capacity": amounts,
                       "conditions": [{"type": "Ready", "status": "False" if i % 307 == 9 else "True"}]}}


class Owners:
    """ReplicaSets one after the other, each with its name, its namespace and what its pods request."""

    def __init__(self, chance):
        self.chance = chance
        self.left = 0

    def next(self):
        if self.left == 0:
            chance = self.chance
            self.left = chance.randint(1, 2 * PODS_PER_REPLICASET - 1)
            self.app = f"{chance.choice(WORDS)}-{chance.choice(ROLES)}-{chance.randrange(1000)}"
            self.hash = "".join(chance.choice(ALPHABET) for _ in range(10))
            self.namespace = f"team-{chance.randrange(60)}"
            self.born = chance.randrange(10_000_000)
            self.uid = f"{chance.getrandbits(64):016x}"
            self.requests = {"cpu": f"{chance.choice(CPU)}m", "memory": f"{chance.choice(MEMORY)}Mi"}
        self.left -= 1
        return self


def pod(chance, owner, i, node_name):
    set_name = f"{owner.app}-{owner.hash}"
    spec = {"schedulerName": "default-scheduler", "priority": 0,
            "containers": [{"name": "main", "image": f"example.com/{owner.app}", "resources": {"requests": owner.requests}}]}
    status = {"phase": "Pending"}
    if node_name:
        spec["nodeName"] = node_name
        status = {"phase": "Running"}
    else:
        spec["containers"][0]["resources"] = {"requests": {"cpu": "64", "memory": "1Gi"}}
    return {"metadata": {"name": f"{set_name}-{''.join(chance.choice(ALPHABET) for _ in range(5))}", "namespace": owner.namespace,
                         "uid": f"pod-{i}", "creationTimestamp": time_text(owner.born + chance.randrange(86400)),
                         "labels": {"app": owner.app, "pod-template-hash": owner.hash},
                         "ownerReferences": [{"kind": "ReplicaSet", "name": set_name, "apiVersion": "apps/v1", "controller": True,
                                              "uid": owner.uid}]},
            "spec": spec, "status": status}


def write_snapshot(path, nodes, pods, pending, seed):
    chance = random.Random(seed)
    with open(path, "wb") as out, subprocess.Popen(["zstd", "-q", "-1", "-c"], stdin=subprocess.PIPE, stdout=out, text=True) as zstd:
        def line(value):
            zstd.stdin.write(json.dumps(value, separators=(",", ":")) + "\n")

        line({"format": "berth-snapshot", "version": 1, "berth": "0.1.0"})
        names = []
        for i in range(nodes):
            one = node(chance, i)
            names.append(one["metadata"]["name"])
            line({"kind": "Node", "object": one})
        owners = Owners(chance)
        for i in range(pods):
            line({"kind": "Pod", "object": pod(chance, owners.next(), i, chance.choice(names) if i >= pending else "")})
        line({"end": {"kubernetes": "v1.36.3", "source": "https://made-up.example.com", "readAt": time_text(11_000_000),
                      "leftOut": [], "counts": {"Node": nodes, "Pod": pods}}})
        zstd.stdin.close()
        if zstd.wait() != 0:
            raise SystemExit("zstd has failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--pending", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    write_snapshot(options.file, options.nodes, options.pods, options.pending, options.seed)


if __name__ == "__main__":
    main()
