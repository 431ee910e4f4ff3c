#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers.py BERTH karpenter|autoscaler [...]: `berth buy` beside the programs that it can be asked in the place of, same inputs, one run.

karpenter: Karpenter's scheduler (bench/buy/karpenter, a Go module) answers questions of the kind that its own scheduling benchmark asks,
and berth answers the same: --cases N with --pods each. Fails where berth's price is above Karpenter's, or more pods are left. Karpenter is
stopped after --timeout, and its price does not count then.
autoscaler: cluster-autoscaler's BenchmarkBinpackingEstimate, which `--source FOLDER` has (of kubernetes/autoscaler at
cluster-autoscaler-1.36.1 or newer, where its folder `cluster-autoscaler` is enough: the module is not published as one that can be
required), and the same pods and node for berth.
Seconds of berth, and all seconds of CPU, are those of the whole process: start, reading and printing included.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import shapes

HERE = Path(__file__).resolve().parent


def go(folder: Path, *arguments: str) -> str:
    # The module names the Go that it wants, which may be newer than the one that is there.
    environment = {**os.environ, "GOTOOLCHAIN": "auto"}
    return subprocess.run(["go", *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def timed(*command: str | Path) -> tuple[subprocess.CompletedProcess, float, float]:
    """What the program said, and the seconds and those of CPU that it took."""
    before, begin = os.times(), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, after = time.monotonic() - begin, os.times()
    return done, seconds, after.children_user + after.children_system - before.children_user - before.children_system


def ask(berth: str, folder: Path, effort: int) -> tuple[dict, float, float]:
    done, seconds, cpu = timed(berth, "buy", "--no-cluster", "-f", folder / "pods.json", "--catalogue", folder / "shapes.json", "--placement",
                               "nominated", "--effort", str(effort), "-o", "json")
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return json.loads(done.stdout), seconds, cpu


def karpenter(options: argparse.Namespace, folder: Path) -> int:
    program = folder / "karpenter"
    go(HERE / "karpenter", "build", "-o", str(program), ".")
    bad, ratios = 0, []
    for seed in range(options.seed, options.seed + options.cases):
        done, _, theirs_cpu = timed(program, "-pods", str(options.pods), "-types", str(options.types), "-seed", str(seed), "-into", folder, "-timeout",
                                    f"{options.timeout}s")
        if done.returncode != 0:
            sys.exit(done.stderr)
        theirs = json.loads(done.stdout)
        plan, seconds, cpu = ask(options.berth, folder, options.effort)
        price = float(plan["price"])
        is_bad = (price > theirs["price"] + 1e-6 and not theirs["stopped"]) or plan["leftPods"] > theirs["left"]
        bad += is_bad
        ratios += [] if theirs["stopped"] else [price / theirs["price"]]
        print(f"seed {seed}, {options.pods} pods, {options.types} instance types: berth {price:.2f} for {len(plan['nodes'])} nodes, {plan['leftPods']} "
              f"left, {seconds:.2f} s ({cpu:.2f} of CPU); Karpenter {theirs['price']:.2f} for {theirs['nodes']} nodes, {theirs['left']} left, "
              f"{theirs['seconds']:.2f} s ({theirs_cpu:.2f} of CPU){', stopped then' if theirs['stopped'] else ''}{' WRONG' if is_bad else ''}", flush=True)
    compared = f"berth's price is {min(ratios):.1%} to {max(ratios):.1%} of Karpenter's in {len(ratios)}; " if ratios else ""
    print(f"{options.cases} cases: {compared}{bad} wrong")
    return 1 if bad else 0


def autoscaler(options: argparse.Namespace, folder: Path) -> int:
    source = Path(options.source) / "cluster-autoscaler"
    program = folder / "estimator"
    go(source, "test", "-vet=off", "-c", "-o", str(program), "./estimator")
    done, _, theirs_cpu = timed(program, "-test.run", "^$", "-test.bench", "^BenchmarkBinpackingEstimate$", "-test.benchtime", "1x")
    found = re.search(r"BenchmarkBinpackingEstimate\S*\s+1\s+(\d+) ns/op", done.stdout)
    if not found:
        sys.exit(done.stdout + done.stderr)
    pods, offered = shapes.binpacking()
    (folder / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    (folder / "shapes.json").write_text(json.dumps({"shapes": offered}))
    plan, seconds, cpu = ask(options.berth, folder, options.effort)
    print(f"51,000 pods: berth {len(plan['nodes'])} nodes, {plan['leftPods']} left, {seconds:.2f} s ({cpu:.2f} of CPU); cluster-autoscaler 2595 nodes, "
          f"{int(found[1]) / 1e9:.2f} s ({theirs_cpu:.2f} of CPU)")
    return 0 if len(plan["nodes"]) <= 2595 and plan["leftPods"] == 0 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("berth")
    parser.add_argument("what", choices=["karpenter", "autoscaler"])
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--types", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=int, default=10)
    parser.add_argument("--timeout", type=int, default=3600, help="of karpenter: seconds after which Karpenter is stopped")
    parser.add_argument("--source", help="of autoscaler: a checkout of kubernetes/autoscaler")
    options = parser.parse_args()
    if options.what == "autoscaler" and not options.source:
        parser.error("autoscaler needs --source, a checkout of kubernetes/autoscaler: git clone --depth 1 -b cluster-autoscaler-1.36.1 "
                     "https://github.com/kubernetes/autoscaler")
    options.berth = str(Path(options.berth).resolve())
    with tempfile.TemporaryDirectory() as name:
        return {"karpenter": karpenter, "autoscaler": autoscaler}[options.what](options, Path(name))


if __name__ == "__main__":
    sys.exit(main())
