#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole comparison of berth with kube-scheduler on a real API server: every workload with its sizes, by turns.

  table.py run BERTH_BINARY [--runs 3] [--only NAME,...] [--out build/bench/table.jsonl]
      runs compare.sh for each row, then prints the table; hours rather than minutes with three runs of everything
  table.py table FILE...      the table of lines that are there
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# name: workload, nodes, existing, pods, other settings of compare.sh, and limits: figure -> at most this fraction of
# kube-scheduler's.
ROWS = {
    "basic": ("basic", 5000, 1000, 10000, {}, {"cpu": 1 / 15}),
    "steady": ("basic", 5000, 5000, 2000, {"RATE": "100"}, {"cpu": 1 / 15, "p50": 1, "p99": 1}),
    "start": ("basic", 5000, 50000, 2000, {}, {"rss": 1 / 8, "first_bind": 1 / 3}),
    "preload": ("basic", 1000, 1000, 5000, {"ORDER": "preload", "NULL": "1"}, {"of_null": 0.9}),
    "podantiaffinity": ("podantiaffinity", 1000, 200, 800, {}, {"cpu": 1 / 30}),
    "podaffinity": ("podaffinity", 1000, 1000, 2000, {}, {"cpu": 1 / 30}),
    "preferredaffinity": ("preferredaffinity", 1000, 1000, 2000, {}, {"cpu": 1 / 30}),
    "preferredantiaffinity": ("preferredantiaffinity", 1000, 1000, 2000, {}, {"cpu": 1 / 30}),
    "topologyspreading": ("topologyspreading", 1000, 1000, 2000, {}, {"cpu": 1 / 30}),
    "preferredtopologyspreading": ("preferredtopologyspreading", 1000, 1000, 2000, {}, {"cpu": 1 / 20}),
    "mixed": ("mixed", 1000, 1000, 2000, {}, {"cpu": 1 / 20}),
    "preemption": ("preemption", 500, 2000, 500, {}, {"cpu": 1 / 20}),
    "nodeaffinity": ("nodeaffinity", 1000, 1000, 2000, {}, {}),
    "csipv": ("csipv", 1000, 0, 1000, {}, {}),
    "unschedulable": ("unschedulable", 1000, 10, 2000, {}, {}),
    "daemonset": ("daemonset", 1000, 0, 2000, {}, {"cpu": 1 / 5}),
    "gated": ("gated", 0, 0, 2000, {}, {"cpu": 1 / 5}),
}


def key_of(line):
    return (line["workload"], line["pods"], line["existing"], line["order"], float(line.get("rate") or 0))


def row_key(name):
    workload, _, existing, pods, settings, _ = ROWS[name]
    return workload, pods, existing, settings.get("ORDER", "live"), float(settings.get("RATE", 0))


def figures(lines):
    """Medians of one scheduler's runs."""

    def median(get):
        values = [value for value in map(get, lines) if value is not None]
        return statistics.median(values) if values else None

    def process(name):
        return lambda line: line["scheduler"].get(name) if isinstance(line["scheduler"], dict) else None

    return {
        "runs": len(lines),
        "pods_s": median(lambda line: line["throughput_pods_s"]),
        "cpu": median(process("cpu_s_per_1000_pods")),
        "rss": median(process("rss_peak_mib")),
        "p50": median(lambda line: line["create_to_bound_ms"]["p50"]),
        "p99": median(lambda line: line["create_to_bound_ms"]["p99"]),
        "first_bind": median(lambda line: line.get("startup_first_bind_s") or None),
        "stddev": median(lambda line: line["verify"]["pods_per_node_stddev"]),
        "wrong": sum(line["unbound"] + line["verify"]["rule_violations"] + line["verify"]["overcommitted_nodes"]
                     + line["verify"]["unknown_node"] for line in lines),
    }


def ratio(a, b):
    if not a or not b:
        return "-"
    return f"1/{b / a:.1f}" if a < b else f"{a / b:.2f}"


def judge(wanted, ours, peer, null):
    """The limits that are exceeded, as text; empty: none."""
    missed = []
    for figure, limit in wanted.items():
        if figure == "of_null":
            if not null or ours["pods_s"] < limit * null["pods_s"]:
                missed.append(f"pods/s below {limit:.0%} of the blind binder's")
        elif ours[figure] is None or peer[figure] is None or ours[figure] > limit * peer[figure]:
            missed.append(f"{figure} above " + (f"1/{1 / limit:.0f}" if limit < 1 else "kube-scheduler's"))
    if ours["wrong"]:
        missed.append("wrong placements")
    if ours["stddev"] > peer["stddev"] + 0.1:
        missed.append("less even")
    return missed


def number(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"


def print_table(lines):
    groups = {}
    for line in lines:
        groups.setdefault(key_of(line), {}).setdefault(line["label"], []).append(line)
    print("| workload (nodes / existing / pods) | runs | pods/s berth, kube-scheduler | CPU s per 1,000 | ratio | peak RSS "
          "MiB | ratio | p50, p99 ms | first bind s | stddev | missed |")
    print("|" + "---|" * 11)
    all_met = True
    for name in ROWS:
        by_label = groups.get(row_key(name), {})
        if "berth" not in by_label or "kube-scheduler" not in by_label:
            continue
        ours, peer = figures(by_label["berth"]), figures(by_label["kube-scheduler"])
        null = figures(by_label["null"]) if "null" in by_label else None
        missed = judge(ROWS[name][5], ours, peer, null)
        all_met = all_met and not missed
        first = by_label["berth"][0]

        def both(figure, digits):
            return f"{number(ours[figure], digits)} · {number(peer[figure], digits)}"

        rate = f" ({number(null['pods_s'], 0)} blindly)" if null else ""
        print("| " + " | ".join([
            f"{name} ({first['nodes']:,} / {first['existing']:,} / {first['pods']:,})", str(ours["runs"]),
            both("pods_s", 0) + rate, both("cpu", 3), ratio(ours["cpu"], peer["cpu"]), both("rss", 0),
            ratio(ours["rss"], peer["rss"]), both("p50", 1) + "; " + both("p99", 1), both("first_bind", 2),
            both("stddev", 3), "; ".join(missed) or "nothing",
        ]) + " |")
    return all_met


def read_lines(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(text) for text in file if text.strip()]
    return lines


def run(options):
    out = os.path.abspath(options.out)
    for name in options.only.split(",") if options.only else ROWS:
        workload, nodes, existing, pods, settings, _ = ROWS[name]
        environment = {**os.environ, "RUNS": str(options.runs), "WORKLOAD": workload, "NODES": str(nodes),
                       "EXISTING": str(existing), "PODS": str(pods), "OUT": out, **settings}
        print(f"== {name}", file=sys.stderr, flush=True)
        done = subprocess.run([os.path.join(HERE, "compare.sh"), options.binary], env=environment, check=False)
        if done.returncode != 0:
            print(f"{name}: compare.sh ended with status {done.returncode}", file=sys.stderr)
    return 0 if print_table(read_lines([out])) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("binary")
    one.add_argument("--runs", type=int, default=3)
    one.add_argument("--only", help="names of rows, with commas between them")
    one.add_argument("--out", default=os.path.join(HERE, "..", "..", "build", "bench", "table.jsonl"))
    table = commands.add_parser("table")
    table.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.command == "run":
        return run(options)
    print_table(read_lines(options.files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
