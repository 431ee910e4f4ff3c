#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a pod costs with each ready profile, beside the default one: CPU time of the core alone, by berth-bench.

    policies.py BINARY FILE.yaml... [--nodes 5000] [--pods 10000] [--runs 3]

All programs run by turns, and the least CPU time of each counts. The pods are plain ones, and then those of ten
ReplicaSets; nodes have prices, spot labels, measured load. Exit status 1: some profile costs more than three times what
the default one does, or does not place all pods.
"""

import argparse
import json
import os
import subprocess
import sys

RATIO_MAX = 3.0
# The columns, and the options of berth-bench that make their pods.
WORKLOADS = {"plain pods": [], "pods of ten ReplicaSets": ["--deployments", "10"]}
DEFAULT = "default-scheduler"


def run_one(binary, config, arguments, options):
    """CPU time in microseconds per pod, or the error."""
    command = [binary, "--workload", "policies", "--nodes", str(options.nodes), "--pods", str(options.pods), "--json",
               *arguments]
    if config:
        command += ["--config", config]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {options.timeout} s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return json.loads(done.stdout)["cpu_s_per_1000_pods"] * 1000


def measure(binary, configs, options):
    """By name and workload: the minimum of all runs, or the first error."""
    names = [DEFAULT] + [os.path.splitext(os.path.basename(path))[0] for path in configs]
    results = {name: {} for name in names}
    for _ in range(options.runs):
        for name, config in zip(names, [None, *configs]):
            for workload, arguments in WORKLOADS.items():
                result = run_one(binary, config, arguments, options)
                before = results[name].get(workload)
                if isinstance(before, str):
                    continue
                if before is None or isinstance(result, str) or result < before:
                    results[name][workload] = result
    return results


def print_table(results):
    """Prints the table; returns whether all profiles meet the target."""
    all_met = True
    print("| profile |" + "".join(f" {workload}: CPU µs a pod | times the default |" for workload in WORKLOADS))
    print("|---|" + "---|---|" * len(WORKLOADS))
    for name, by_workload in results.items():
        cells = []
        for workload in WORKLOADS:
            cost, default = by_workload[workload], results[DEFAULT][workload]
            if isinstance(cost, str) or isinstance(default, str):
                all_met = False
                cells += [cost if isinstance(cost, str) else f"{cost:.2f}", "-"]
                continue
            ratio = cost / default
            all_met = all_met and ratio <= RATIO_MAX
            cells += [f"{cost:.2f}", f"{ratio:.2f}" + ("" if ratio <= RATIO_MAX else f", above {RATIO_MAX:g}")]
        print(f"| {name} | " + " | ".join(cells) + " |")
    return all_met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("configs", nargs="+", metavar="FILE.yaml")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=900, help="seconds that one run may take")
    options = parser.parse_args()
    return 0 if print_table(measure(options.binary, options.configs, options)) else 1


if __name__ == "__main__":
    sys.exit(main())
