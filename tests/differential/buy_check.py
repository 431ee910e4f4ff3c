#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""buy_check.py PROGRAM --seeds A..B: whether the plans of `berth buy` hold, as the real kube-scheduler says.

For each seed a random demand, catalogue and cluster. The nodes of the plan are made real, and kube-scheduler schedules the pods: those
that are told their nodes (--placement nominated), and those that are not. No more pods may stay pending than the plan leaves, unless it
says that this depends on how ties are broken: where no further node can be bought, nothing else may be had. kube-scheduler breaks
ties by the smallest name here, berth by chance. `./dev buy-check` calls this; PROGRAM is berth.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
TIME_LIMIT_S = 300
SHOWN_MAX = 10
ROUNDS_MAX = 20
BY_CHANCE = "the scheduler takes one of equally good nodes by chance"


def rule(chance: random.Random, app: str) -> dict:
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"

    def spread(key: str, skew: int) -> dict:
        return {"topologySpreadConstraints": [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **selector}]}
    return chance.choice([
        lambda: {}, lambda: {}, lambda: {},
        lambda: spread(ZONE, 1),
        lambda: spread(HOSTNAME, 2),
        lambda: {"affinity": {"podAntiAffinity": {required: [{"topologyKey": HOSTNAME, **selector}]}}},
        lambda: {"affinity": {"podAntiAffinity": {required: [{"topologyKey": ZONE, **selector}]}}},
        lambda: {"affinity": {"podAffinity": {required: [{"topologyKey": ZONE, **selector}]}}},
        lambda: {"nodeSelector": {"disk": "ssd"}},
        lambda: {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    ])()


def question(seed: int) -> tuple[list[dict], list[dict], list[dict]]:
    """Nodes that are there, pods, shapes."""
    chance = random.Random(seed)
    nodes = [{"apiVersion": "v1", "kind": "Node",
              "metadata": {"name": f"old-{i}", "uid": f"node-old-{i}", "labels": {HOSTNAME: f"old-{i}", ZONE: chance.choice("ab")}},
              "status": {"allocatable": {"cpu": str(chance.randint(1, 6)), "memory": f"{chance.randint(4, 32)}Gi", "pods": "30"}}}
             for i in range(chance.randint(0, 3))]
    pods = []
    for number in range(chance.randint(1, 6)):
        app = f"app-{number}"
        spec = rule(chance, app)
        amounts = {"cpu": f"{250 * chance.randint(1, 12)}m", "memory": f"{256 * chance.randint(1, 16)}Mi"}
        for i in range(chance.randint(1, 15)):
            pods.append({"apiVersion": "v1", "kind": "Pod",
                         "metadata": {"name": f"{app}-{i}", "namespace": "default", "uid": f"uid-default-{app}-{i}", "labels": {"app": app}},
                         "spec": {"schedulerName": "default-scheduler", **spec,
                                  "containers": [{"name": "c", "image": "images.example/app:1", "resources": {"requests": amounts}}]}})
    shapes = []
    for number in range(chance.randint(2, 8)):
        cpu = chance.choice([2, 4, 8, 16])
        shapes.append({"name": f"shape-{number}", "cpu": cpu, "memory": f"{cpu * chance.randint(2, 8)}Gi", "pods": 30,
                       "price": round(cpu * 0.05 * chance.uniform(0.8, 1.25), 4), "zones": chance.choice([["a", "b"], ["a", "b", "c"]]),
                       **({"labels": {"disk": "ssd"}} if chance.random() < 0.3 else {}),
                       **({"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]} if chance.random() < 0.2 else {}),
                       **({"max": 1} if chance.random() < 0.15 else {})})
    return nodes, pods, shapes


def made(node: dict, shapes: list[dict]) -> dict:
    shape = next(each for each in shapes if each["name"] == node["shape"])
    return {"metadata": {"name": node["name"], "uid": f"node-{node['name']}",
                         "labels": {HOSTNAME: node["name"], ZONE: node["zone"], "node.kubernetes.io/instance-type": shape["name"],
                                    "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", **shape.get("labels", {})}},
            "spec": {"taints": shape.get("taints", [])},
            "status": {"allocatable": {"cpu": str(shape["cpu"]), "memory": shape["memory"], "pods": str(shape["pods"])}}}


class Oracle:
    def __init__(self, kubernetes: str):
        program = subprocess.run([HERE / "oracle.sh", "oracle", kubernetes], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self._serve = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, case: dict) -> dict:
        self._serve.stdin.write(json.dumps(case) + "\n")
        self._serve.stdin.flush()
        return json.loads(self._serve.stdout.readline())

    def end(self) -> None:
        self._serve.stdin.close()
        self._serve.wait()


def check(program: str, oracle: Oracle, seed: int, placement: str, folder: Path) -> tuple[str, dict]:
    """What is wrong, empty: nothing; and the plan."""
    nodes, pods, shapes = question(seed)
    manifests, catalogue = folder / "m.json", folder / "c.json"
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes + pods}))
    catalogue.write_text(json.dumps({"shapes": shapes}))
    done = subprocess.run([program, "buy", "--no-cluster", "-f", manifests, "--catalogue", catalogue, "--placement", placement, "-o", "json"],
                          capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    if done.returncode not in (0, 3):
        return f"berth ended with {done.returncode}: {done.stderr}", {}
    plan = json.loads(done.stdout)
    where = {pod["name"]: pod["node"] for pod in plan["pods"]}
    asked = json.loads(json.dumps(pods))
    if placement == "nominated":
        for pod in asked:
            if where[pod["metadata"]["name"]]:
                pod["status"] = {"nominatedNodeName": where[pod["metadata"]["name"]]}
    # A pod that fits nowhere at its turn is tried again when others have been placed, as kube-scheduler's queue does it.
    running, bound = [], set()
    for _ in range(ROUNDS_MAX):
        answer = oracle.ask({"name": f"buy-{seed}", "objects": {"nodes": nodes + [made(node, shapes) for node in plan["nodes"]], "pods": running,
                                                                "namespaces": [{"metadata": {"name": "default"}}]}, "pending": asked})
        if "error" in answer:
            return f"kube-scheduler has no answer: {answer['error']}", plan
        placed = {attempt["pod"].split("/")[1]: attempt["bound"] for attempt in answer["attempts"] if attempt["result"] == "scheduled"}
        running += [{**pod, "spec": {**pod["spec"], "nodeName": placed[pod["metadata"]["name"]]}, "status": {"phase": "Running"}}
                    for pod in asked if pod["metadata"]["name"] in placed]
        asked = [pod for pod in asked if pod["metadata"]["name"] not in placed]
        bound |= placed.keys()
        if not placed or not asked:
            break
    pending = sorted(name for name, node in where.items() if node and name not in bound)
    if len(where) - len(bound) > plan["leftPods"] and not any(note.startswith(BY_CHANCE) for note in plan["notes"]):
        return f"{len(where) - len(bound)} pods are pending, the plan leaves {plan['leftPods']}: {', '.join(pending[:5])}", plan
    if plan["lowerBound"] is not None and float(plan["lowerBound"]) > float(plan["price"]) + 1e-9:
        return f"the lower bound {plan['lowerBound']} is above the price {plan['price']}", plan
    return "", plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", default="1..250", help="A..B, each with both placements")
    parser.add_argument("--kubernetes", default="1.36")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    oracle = Oracle(options.kubernetes)
    wrong, cases, nodes, left, by_chance, price, bound = [], 0, 0, 0, 0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as name:
        for seed in seeds:
            for placement in ("scheduler", "nominated"):
                cases += 1
                problem, plan = check(options.program, oracle, seed, placement, Path(name))
                nodes += len(plan.get("nodes", []))
                left += plan.get("leftPods", 0)
                by_chance += any(note.startswith(BY_CHANCE) for note in plan.get("notes", []))
                if plan.get("lowerBound") is not None:
                    price += float(plan["price"])
                    bound += float(plan["lowerBound"])
                if problem:
                    wrong.append(f"seed {seed}, {placement}: {problem}")
    oracle.end()
    for line in wrong[:SHOWN_MAX]:
        print(line)
    print(f"{cases} plans with {nodes} new nodes, {left} pods that stay pending by plan, {by_chance} plans that say they depend on chance, "
          f"{len(wrong)} plans that do not hold; "
          f"prices {price:.2f}, their lower bounds {bound:.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
