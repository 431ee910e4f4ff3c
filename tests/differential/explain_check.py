#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""explain_check.py PROGRAM --seeds A..B: whether `berth explain` is right, as the real kube-scheduler says.

For each pending pod of fresh cases, alone in the cluster as it is: kube-scheduler's answer is compared with the
explanation. For a refused pod, every change that the explanation names is made in the case, as a person who reads the
text would make it, and kube-scheduler must place the pod then. Of changes that have an order it must refuse the next
smaller one. And changes of the same kinds that are not named are tried: none may help that is smaller, or that was said
not to exist. `./dev explain-check` calls this; PROGRAM is berth-explain-check.
"""

import argparse
import copy
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOSTNAME = "kubernetes.io/hostname"
CORDON = "node.kubernetes.io/unschedulable"
NEW_NODE = "berth-explain-new-node"
SKEW_MAX = 1 << 24
TRIES_MAX = 8  # of unnamed pods and nodes, for each explanation
SHOWN_MAX = 20
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class Oracle:
    """The real kube-scheduler of a version: reads cases, writes answers."""

    def __init__(self, kubernetes: str):
        self.program = subprocess.run([HERE / "oracle.sh", "oracle", kubernetes], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self._serve = subprocess.Popen([self.program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def generate(self, families: str, seed: int, count: int, folder: Path) -> list[Path]:
        subprocess.run([self.program, "gen", "-run=false", "-family", families, "-seed", str(seed), "-count", str(count),
                        "-out", str(folder)], check=True)
        return sorted(folder.rglob("*.json"))

    def ask(self, case: dict) -> dict | None:
        """The expected answer; None: there is none, or more than one."""
        self.asked += 1
        self._serve.stdin.write(json.dumps({key: case[key] for key in case if key != "expected"}) + "\n")
        self._serve.stdin.flush()
        answer = json.loads(self._serve.stdout.readline())
        return None if "error" in answer else answer

    def end(self):
        self._serve.stdin.close()
        self._serve.wait()


# Parses explanations and applies the changes that they name.

CONTAINER = re.compile(r"spec(?:\.(initContainers|containers)\[(.+)\])?\.resources\.requests\.(\S+): (\S+) instead of (\S+)")
SKEW = re.compile(r"spec\.topologySpreadConstraints\[(\d+)\]\.maxSkew: (\d+) instead of \d+")
TERM = re.compile(r"without spec\.affinity\.(pod\w+)\.requiredDuringSchedulingIgnoredDuringExecution\[(\d+)\]")


def amount(resource: str, text: str) -> int:
    """Millicores for CPU, otherwise whole units."""
    number, unit = re.fullmatch(r"(\d+)([a-zA-Z]*)", text).groups()
    if resource == "cpu":
        return int(number) if unit == "m" else int(number) * 1000
    return int(number) * UNITS[unit]


def write_amount(resource: str, value: int) -> str:
    return f"{value}m" if resource == "cpu" else str(value)


def node_named(case: dict, name: str) -> dict:
    return next(node for node in case["objects"]["nodes"] if node["metadata"]["name"] == name)


def key_of(pod: dict) -> str:
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"


def requests_at(pod: dict, kind: str | None, name: str | None) -> dict:
    holder = pod["spec"]
    if kind:
        holder = next(c for c in pod["spec"][kind] if c["name"] == name)
    return holder["resources"]["requests"]


def without_taint(node: dict, key: str) -> None:
    spec = node.setdefault("spec", {})
    spec["taints"] = [taint for taint in spec.get("taints") or [] if taint["key"] != key]


def add_new_node(case: dict, like: str) -> None:
    node = copy.deepcopy(node_named(case, like))
    meta = node["metadata"]
    meta["name"], meta["uid"] = NEW_NODE, "uid-" + NEW_NODE
    meta["labels"] = {key: NEW_NODE if value == like or key == HOSTNAME else value
                      for key, value in (meta.get("labels") or {}).items()}
    case["objects"]["nodes"].append(node)


def without_port(pod: dict, port: int) -> None:
    for container in pod["spec"].get("containers", []) + pod["spec"].get("initContainers", []):
        if "ports" in container:
            container["ports"] = [p for p in container["ports"] if p.get("hostPort") != port]


def without_pod(case: dict, key: str) -> None:
    pods = case["objects"]["pods"]
    left = [pod for pod in pods if key_of(pod) != key]
    if len(left) != len(pods) - 1:
        raise ValueError(f"there is no one pod {key}")
    case["objects"]["pods"] = left


def tolerate(pod: dict, taint: str) -> None:
    key, value, effect = re.fullmatch(r"([^=:]+)(?:=([^:]*))?:(\w+)", taint).groups()
    pod["spec"].setdefault("tolerations", []).append(
        {"key": key, "effect": effect, **({"operator": "Equal", "value": value} if value else {"operator": "Exists"})})


def apply(case: dict, what: str) -> None:
    """Applies one change to the case; a line that is no change that a person could make is an error."""
    pod = case["pending"][0]
    if match := CONTAINER.fullmatch(what):
        kind, name, resource, to, before = match.groups()
        requests = requests_at(pod, kind, name)
        if resource not in requests or amount(resource, to) >= amount(resource, before):
            raise ValueError(what)
        requests[resource] = to
    elif match := re.fullmatch(r"a toleration of (\S+)", what):
        tolerate(pod, match[1])
    elif match := re.fullmatch(r"without spec\.nodeSelector\[(.+)\]", what):
        del pod["spec"]["nodeSelector"][match[1]]
    elif what == "without spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution":
        del pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    elif match := TERM.fullmatch(what):
        del pod["spec"]["affinity"][match[1]]["requiredDuringSchedulingIgnoredDuringExecution"][int(match[2])]
    elif match := SKEW.fullmatch(what):
        pod["spec"]["topologySpreadConstraints"][int(match[1])]["maxSkew"] = int(match[2])
    elif match := re.fullmatch(r"without host port (\d+)", what):
        without_port(pod, int(match[1]))
    elif match := re.fullmatch(r"node (\S+): label (\S+?)=(.*)", what):
        node_named(case, match[1])["metadata"].setdefault("labels", {})[match[2]] = match[3]
    elif match := re.fullmatch(r"node (\S+): uncordoned", what):
        node = node_named(case, match[1])
        without_taint(node, CORDON)
        node["spec"].pop("unschedulable", None)
    elif match := re.fullmatch(r"without pod (\S+) \(priority -?\d+\) on \S+", what):
        without_pod(case, match[1])
    elif match := re.fullmatch(r"one more node like (\S+)", what):
        add_new_node(case, match[1])
    else:
        raise ValueError(f"nothing that can be done: {what!r}")


def changed(case: dict, *what: str) -> dict:
    made = copy.deepcopy(case)
    # From the last to the first, so that the indices of elements still to be removed stay valid.
    for each in reversed(what):
        apply(made, each)
    return made


def one_unit_more(what: list[str]) -> list[list[str]]:
    """For each resource in `what`: the same changes with one unit less."""
    made = []
    lines = [CONTAINER.fullmatch(line) for line in what]
    for resource in sorted({match[3] for match in lines if match}):
        of = [i for i, match in enumerate(lines) if match and match[3] == resource]
        # Requests of the pod as a whole replace those of its containers.
        at = next((i for i in of if not lines[i][1]), of[0])
        kind, name, _, to, before = lines[at].groups()
        more = amount(resource, to) + 1
        line = what[at].replace(f": {to} instead", f": {write_amount(resource, more)} instead")
        without = what[:at] + what[at + 1:]
        made.append(without if more == amount(resource, before) else what[:at] + [line] + what[at + 1:])
    return made


def smaller_skew(what: str) -> list[str]:
    """The next smaller skew; [] when that is the pod's present one."""
    match = re.fullmatch(r"(.*maxSkew: )(\d+)( instead of )(\d+)", what)
    skew = int(match[2]) - 1
    return [] if skew == int(match[4]) else [f"{match[1]}{skew}{match[3]}{match[4]}"]


class Check:
    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.counts = Counter()
        self.unnamed = Counter()  # refused pods for which nothing is named, by refusing plugins
        self.problems = []

    def problem(self, case: dict, text: str) -> None:
        self.problems.append((case, text))

    def is_placed(self, case: dict) -> tuple[bool, dict] | None:
        """None: kube-scheduler fails, or a pod that fits is refused by a Reserve plugin."""
        answer = self.oracle.ask(case)
        attempt = answer["attempts"][0] if answer else {}
        if not attempt or attempt["result"] == "error" or "reserve" in attempt:
            self.counts["without a verdict"] += 1
            return None
        return attempt["result"] == "scheduled", attempt

    def must_refuse(self, case: dict, made: dict, what: str) -> None:
        self.counts["not named, or smaller: tried"] += 1
        answer = self.is_placed(made)
        if answer and answer[0]:
            self.problem(case, f"{what}: kube-scheduler places it")

    def change(self, case: dict, change: dict) -> None:
        what = change["what"]
        self.counts[f"change: {change['kind']}"] += 1
        try:
            made = changed(case, *what)
        except (ValueError, KeyError, IndexError, StopIteration) as error:
            self.problem(case, f"{what}: cannot be done: {error!r}")
            return
        answer = self.is_placed(made)
        if not answer:
            return
        placed, attempt = answer
        if not placed:
            self.problem(case, f"{what}: kube-scheduler still refuses it: {attempt['result']} {attempt.get('message')}")
            return
        fits = [name for name, node in attempt.get("nodes", {}).items() if node["filter"] == "ok"]
        if len(fits) != change["nodeCount"]:
            self.problem(case, f"{what}: {change['nodeCount']} nodes are said to fit, for kube-scheduler it is {len(fits)}")
        if not set(change["nodes"]) <= set(attempt["best"]):
            self.problem(case, f"{what}: {change['nodes']} should be of the best, which are {attempt['best']}")
        self.smaller(case, change)

    def smaller(self, case: dict, change: dict) -> None:
        what = change["what"]
        for less in one_unit_more(what):
            self.must_refuse(case, changed(case, *less), f"{what} is not the least: one unit more")
        if SKEW.fullmatch(what[0]):
            less = smaller_skew(what[0])
            if less:
                self.must_refuse(case, changed(case, *less), f"{what} is not the least: {less}")
        if len(what) > 1 and change["kind"] == "together":
            # A pod's requests must be consistent with those of its containers, or the pod is invalid.
            parts = [(match[3] if (match := CONTAINER.fullmatch(line)) else line) for line in what]
            for part in sorted(set(parts)):
                fewer = [line for line, of in zip(what, parts) if of != part]
                self.must_refuse(case, changed(case, *fewer), f"{what} is not the least: without {part}")
        if change["kind"] == "podLess":
            key = re.match(r"without pod (\S+)", what[0])[1]
            named = next(pod for pod in case["objects"]["pods"] if key_of(pod) == key)
            lesser = [pod for pod in tenants(case) if rank(pod) < rank(named)]
            for pod in lesser[:TRIES_MAX]:
                made = copy.deepcopy(case)
                without_pod(made, key_of(pod))
                self.must_refuse(case, made, f"{what} is not the least: without {key_of(pod)}")

    def not_named(self, case: dict, said: dict) -> None:
        """Changes that the explanation does not name although its search was complete must not help."""
        named = said.get("changes") or []
        lines = {line for change in named for line in change["what"]}
        kinds = {change["kind"] for change in named}
        pod = case["pending"][0]
        spec = pod["spec"]
        tries = {}
        for node in case["objects"].get("nodes") or []:
            for taint in node.get("spec", {}).get("taints") or []:
                if taint["effect"] != "PreferNoSchedule":
                    value = f"={taint['value']}" if taint.get("value") else ""
                    tries[f"a toleration of {taint['key']}{value}:{taint['effect']}"] = None
        for key in spec.get("nodeSelector") or {}:
            tries[f"without spec.nodeSelector[{key}]"] = None
        affinity = spec.get("affinity") or {}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if (affinity.get("nodeAffinity") or {}).get(required):
            tries[f"without spec.affinity.nodeAffinity.{required}"] = None
        for kind in ("podAffinity", "podAntiAffinity"):
            for i in range(len((affinity.get(kind) or {}).get(required) or [])):
                tries[f"without spec.affinity.{kind}.{required}[{i}]"] = None
        for i, constraint in enumerate(spec.get("topologySpreadConstraints") or []):
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and not any(f"Constraints[{i}].maxSkew" in l for l in lines):
                tries[f"spec.topologySpreadConstraints[{i}].maxSkew: {SKEW_MAX} instead of {constraint['maxSkew']}"] = None
        for container in spec.get("containers", []) + spec.get("initContainers", []):
            for port in container.get("ports") or []:
                if port.get("hostPort"):
                    tries[f"without host port {port['hostPort']}"] = None
        for what in sorted(set(tries) - lines):
            self.must_refuse(case, changed(case, what), f"not named: {what}")
        self.requests_not_named(case, lines)
        if "podLess" not in kinds:
            for other in tenants(case)[:TRIES_MAX]:
                made = copy.deepcopy(case)
                without_pod(made, key_of(other))
                self.must_refuse(case, made, f"not named: without {key_of(other)}")
        if "newNode" not in kinds:
            nodes = [node for node in case["objects"].get("nodes") or [] if not node.get("spec", {}).get("unschedulable")]
            for node in nodes[:TRIES_MAX]:
                made = copy.deepcopy(case)
                add_new_node(made, node["metadata"]["name"])
                self.must_refuse(case, made, f"not named: one more node like {node['metadata']['name']}")
        if "node" not in kinds:
            for node in [n for n in case["objects"].get("nodes") or [] if n.get("spec", {}).get("unschedulable")][:TRIES_MAX]:
                name = node["metadata"]["name"]
                self.must_refuse(case, changed(case, f"node {name}: uncordoned"), f"not named: {name} uncordoned")

    def requests_not_named(self, case: dict, lines: set[str]) -> None:
        spec = case["pending"][0]["spec"]
        holders = [spec, *spec.get("containers", []), *spec.get("initContainers", [])]
        resources = {name for holder in holders for name in (holder.get("resources") or {}).get("requests") or {}}
        for resource in sorted(resources - {match[3] for line in lines if (match := CONTAINER.fullmatch(line))}):
            made = copy.deepcopy(case)
            pod = made["pending"][0]["spec"]
            for holder in [pod, *pod.get("containers", []), *pod.get("initContainers", [])]:
                requests = (holder.get("resources") or {}).get("requests") or {}
                if resource in requests:
                    requests[resource] = "0"
            self.must_refuse(case, made, f"not named: no request for {resource}")

    def pod(self, case: dict, said: dict) -> None:
        self.counts[f"pods: {said['state']}"] += 1
        if said["state"] != "Refused":
            return
        if "askedProfile" in said:
            self.counts["refused pods that kube-scheduler would leave alone"] += 1
            return
        for change in said.get("changes") or []:
            self.change(case, change)
        if not said.get("changes"):
            self.counts["refused pods for which nothing is named"] += 1
            self.unnamed[" + ".join(sorted({step["plugin"] for step in said["funnel"]})) or said["message"]] += 1
        if said.get("changesComplete", True):
            self.not_named(case, said)


def rank(pod: dict) -> int:
    return pod["spec"].get("priority") or 0


def tenants(case: dict) -> list[dict]:
    """Pods whose room could be freed, in ascending order of priority."""
    nodes = {node["metadata"]["name"] for node in case["objects"].get("nodes") or []}

    def can_go(pod):
        owners = [o["kind"] for o in pod["metadata"].get("ownerReferences") or [] if o.get("controller")]
        return pod["spec"].get("nodeName") in nodes and not {"DaemonSet", "Node"} & set(owners) \
            and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")

    return sorted((pod for pod in case["objects"].get("pods") or [] if can_go(pod)), key=rank)


def alone(case: dict, index: int) -> dict:
    """The case with only one pending pod."""
    objects = dict(case["objects"])
    objects["pods"] = (objects.get("pods") or []) + [pod for i, pod in enumerate(case["pending"]) if i != index]
    return {"name": f"{case['name']}-{index:02}", **{key: case[key] for key in ("config", "gates") if case.get(key)},
            "objects": objects, "pending": [case["pending"][index]]}


def numbers(text: str) -> range:
    match = re.fullmatch(r"(\d{1,6})(?:\.\.(\d{1,6}))?", text)
    if not match or not 1 <= int(match[1]) <= int(match[2] or match[1]):
        raise argparse.ArgumentTypeError("want A..B, as in 1..20")
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev explain-check", description=__doc__.split("\n\n")[1])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", type=numbers, default=range(1, 3), help="the generator's seeds, first and last (1..2)")
    parser.add_argument("--kubernetes", default="1.36", choices=("1.34", "1.35", "1.36", "1.37", "1.38"),
                        help="the version of the kube-scheduler that is asked (1.36)")
    parser.add_argument("--families", default="all", help="which kinds of cases (all of them)")
    parser.add_argument("--pods", type=int, default=4, help="of each case so many pods at most, from the first (4)")
    parser.add_argument("--keep", type=Path, help="a folder for the cases in which something is wrong")
    parser.add_argument("--verbose", action="store_true", help="also which plugins refuse the pods for which nothing is named")
    options = parser.parse_args()

    began = time.monotonic()
    oracle = Oracle(options.kubernetes)
    check = Check(oracle)
    with tempfile.TemporaryDirectory(prefix="berth-explain-check.") as work:
        folder = Path(work)
        cases = {}
        for path in oracle.generate(options.families, options.seeds.start, len(options.seeds), folder):
            whole = json.loads(path.read_text())
            if whole["objects"].get("podGroups"):  # members are not decided one by one
                continue
            for index in range(min(options.pods, len(whole["pending"]))):
                case = alone(whole, index)
                case["expected"] = oracle.ask(case)
                if case["expected"] is None:
                    check.counts["cases without an answer"] += 1
                    continue
                file = path.with_name(f"{path.stem}-{index:02}.json")
                file.write_text(json.dumps(case))
                cases[str(file)] = case
        # In batches, because the command line is limited in length.
        files = list(cases)
        for start in range(0, len(files), 200):
            done = subprocess.run([options.program, *files[start:start + 200]], check=True, stdout=subprocess.PIPE, text=True)
            for line in done.stdout.splitlines():
                said = json.loads(line)
                case = cases[said["case"]]
                if "error" in said:
                    check.problem(case, said["error"])
                    continue
                for difference in said["differences"]:
                    check.problem(case, difference)
                check.pod(case, said["explanation"])
    oracle.end()
    for what, count in sorted(check.counts.items()):
        print(f"{what:52} {count:6}")
    if options.verbose:
        for plugins, count in check.unnamed.most_common():
            print(f"  nothing is named: {plugins:70} {count:6}")
    for case, text in check.problems[:SHOWN_MAX]:
        print(f"{case['name']}: {text}"[:600])
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        for case, _ in check.problems:
            (options.keep / f"{case['name']}.json").write_text(json.dumps(case, indent=1))
    changes = sum(count for what, count in check.counts.items() if what.startswith("change: "))
    print(f"{len(cases)} pods, {check.counts['pods: Refused']} of them refused, {changes} changes named for these, {oracle.asked} questions to kube-scheduler {options.kubernetes} in {time.monotonic() - began:.0f} s: "
          f"{len(check.problems)} problems")
    return 1 if check.problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
