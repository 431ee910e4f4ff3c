#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs berth-bench over the table of workloads, and makes tables and a plot of its JSON lines.

  core.py run BINARY [--nodes 5000] [--runs 1] [--only NAME,...] [--set core|others|bad] [--out FILE]
      each workload in a process of its own; prints a Markdown table, says which targets are met (exit status 1: not all)
      --instructions counts them with valgrind where the kernel has no counter; slow
  core.py compare BEFORE AFTER [--nodes 5000] [--runs 3] [--only NAME,...]
      two programs by turns: medians, their ratio, and the ratio of the lowest times, to which a busy machine adds least
  core.py grow BINARY [--nodes 5000]
      bad input, a quarter of it and all of it: whether cost grows with it and memory is given back
  core.py sweep BINARY --out FILE [--runs 1]
      the workloads of the plot at 100 to 100,000 nodes
  core.py table FILE...
      the table of lines that are there
  core.py plot --core FILE --cluster FILE --out FILE.svg
      cost per pod against nodes: berth-bench's lines, and bench/cluster's for whole programs
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys

# Target for pods per second on one CPU core, by workload: at 5,000 nodes and at 100,000.
TARGETS = {
    "basic": (200_000, 100_000),
    "unique": (30_000, 2_000),
    "defaultspreading": (100_000, 30_000),
    "topologyspreading": (100_000, 50_000),
    "spreadhostname": (100_000, 50_000),
    "podantiaffinity": (50_000, 20_000),
    "antiaffinityns": (50_000, 20_000),
    "podaffinity": (50_000, 20_000),
    "preferredaffinity": (50_000, 20_000),
    "preferredantiaffinity": (50_000, 20_000),
    "preemption": (10_000, 2_000),
    "mixed": (50_000, 10_000),
    # A million pods in 30 s, or in 90 s when interleaved.
    "deployments": (None, 33_334),
    "deployments interleaved": (None, 11_112),
}
RSS_MIB_MAX = {"deployments": 4096, "deployments interleaved": 4096}  # at 100,000 nodes

OTHERS = ["preferredtopologyspreading", "nodeaffinity", "csipv", "matchingantiaffinity", "mixedbase", "preemptionasync",
          "unschedulable", "backlog", "mixedchurn", "daemonset", "daemonseteach", "gated", "gatedaffinity"]
BAD_INPUT = ["hugenode", "manyterms", "manyvalues", "manyclasses", "flapping"]

# For bad input: a small and a large amount, and the factor between them. `nodes` stands for --nodes.
GROWTH = {
    "hugenode": (lambda nodes: ["--workload", "basic"], lambda nodes: [], 1),
    "manyterms": (lambda nodes: ["--amount", "125"], lambda nodes: ["--amount", "500"], 4),
    "manyvalues": (lambda nodes: ["--amount", "12500"], lambda nodes: ["--amount", "50000"], 4),
    "manyclasses": (lambda nodes: ["--pods", str(nodes // 2)], lambda nodes: ["--pods", str(nodes * 2)], 4),
    "flapping": (lambda nodes: ["--amount", "25"], lambda nodes: ["--amount", "100"], 4),
}
# Tolerance for measurement noise, and the fraction of its peak memory that a process may keep.
GROWTH_NOISE = 1.3
KEPT_PART_MAX, KEPT_MIB_MAX = 0.5, 32

COUNTED_PODS = 1_000  # with valgrind

# The plot: workloads at each number of nodes. 20,000 pods are enough, because the cost of a pod does not depend on
# their number.
SWEEP_PODS_MAX = 20_000
SWEEP_NODES = [100, 1_000, 5_000, 20_000, 100_000]
SWEEP = ["basic", "mixed", "unique"]


def name_of(line):
    return line["workload"] + (" interleaved" if line.get("interleaved") else "")


def arguments_of(name, nodes):
    workload, _, interleaved = name.partition(" ")
    return ["--workload", workload, "--nodes", str(nodes)] + (["--interleaved"] if interleaved else [])


SETS = {"core": list(TARGETS), "others": OTHERS, "bad": BAD_INPUT}


def run_one(binary, name, nodes, timeout, extra=()):
    """Runs one process; returns its JSON line, or a line with the error."""
    command = [binary, *arguments_of(name, nodes), "--json", *extra]
    failed = {"workload": name.split(" ")[0], "interleaved": " " in name, "nodes": nodes}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {**failed, "error": f"not done after {timeout} s"}
    try:
        line = json.loads(done.stdout)
    except ValueError:
        return {**failed, "error": f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[0]}"}
    if done.returncode != 0:
        line["error"] = (done.stderr.strip().splitlines() or ["?"])[-1]
    return line


def count_instructions(binary, name, nodes, timeout):
    """Instructions per pod, by valgrind: the increase when the number of pods doubles. None if it cannot be
    measured."""
    counts = []
    for pods in (COUNTED_PODS, 2 * COUNTED_PODS):
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", binary,
                   *arguments_of(name, nodes), "--pods", str(pods)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
        if not found:
            return None
        counts.append(int(found.group(1).replace(",", "")))
    return (counts[1] - counts[0]) / COUNTED_PODS


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
    return done.stdout.strip()


def append(path, line):
    if path:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def read_lines(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += [json.loads(text) for text in file if text.strip()]
    return lines


def values_of(lines, keys):
    values = []
    for line in lines:
        value = line
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            values.append(value)
    return values


def median(lines, *keys):
    values = values_of(lines, keys)
    return statistics.median(values) if values else None


def lowest(lines, *keys):
    return min(values_of(lines, keys), default=None)


def grouped(lines):
    groups = {}
    for line in lines:
        groups.setdefault((line["nodes"], name_of(line)), []).append(line)
    return groups


def number(value, digits=0):
    return "n/a" if value is None else f"{value:,.{digits}f}"


def size(count):
    return f"{count / 1_000_000:g}M" if count >= 1_000_000 else f"{count:,}"


def print_table(lines):
    """Medians by workload and nodes. Returns whether all targets are met and nothing failed."""
    all_met = True
    # The core is one thread that never waits, so that its CPU time is its speed on an idle machine. On a shared machine
    # the wall clock depends on other processes.
    columns = ["workload", "nodes / existing / pods", "pods per CPU s", "target", "met", "pods/s", "instructions",
               "allocations", "cycle p50 / p99 / max µs", "peak RSS MiB", "cleared", "stddev"]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for (nodes, name), group in grouped(lines).items():
        good = [line for line in group if "pods_per_s" in line]
        errors = sorted({line["error"] for line in group if line.get("error")})
        small, large = TARGETS.get(name, (None, None))
        target = small if nodes == 5_000 else large if nodes == 100_000 else None
        rss_max = RSS_MIB_MAX.get(name) if nodes == 100_000 else None
        if not good:
            all_met = False
            print(f"| {name} | {nodes:,} | - | {number(target) if target else '-'} | no: {'; '.join(errors)} |"
                  + " |" * (len(columns) - 5))
            continue
        pods_s, rss = 1000 / median(good, "cpu_s_per_1000_pods"), median(good, "rss_peak_mib")
        met = "-" if target is None else "yes" if pods_s >= target else f"no, 1/{target / pods_s:.1f}"
        if rss_max is not None and rss > rss_max:
            met = f"no, over {rss_max} MiB"
        if errors:
            met = "no: " + "; ".join(errors)
        all_met = all_met and not met.startswith("no")
        first = good[0]
        cycle = " / ".join(number(median(good, "cycle_us", key), 1) for key in ("p50", "p99", "max"))
        print("| " + " | ".join([
            name, f"{size(nodes)} / {size(first['existing'])} / {size(first['pods'])}", number(pods_s),
            number(target) if target else "-", met, number(median(good, "pods_per_s")),
            number(median(good, "instructions_per_pod")), number(median(good, "allocations_per_pod"), 1), cycle,
            number(rss), number(median(good, "rss_cleared_mib")), number(median(good, "pods_per_node_stddev"), 3),
        ]) + " |")
    return all_met


def command_run(options):
    chosen = options.only.split(",") if options.only else SETS[options.set]
    lines = []
    revision = commit()
    for name in chosen:
        for _ in range(options.runs):
            extra = ["--clear"] if name in BAD_INPUT else []
            extra += ["--verify"] if options.verify else []
            line = run_one(options.binary, name, options.nodes, options.timeout, extra)
            line["commit"] = revision
            if options.instructions and "pods" in line and line["instructions_per_pod"] is None:
                line["instructions_per_pod"] = count_instructions(options.binary, name, options.nodes, options.timeout)
            append(options.out, line)
            lines.append(line)
            outcome = line.get("error") or f"{line['pods_per_s']:,} pods/s"
            print(f"{name}: {outcome}", file=sys.stderr)
    return 0 if print_table(lines) else 1


def command_sweep(options):
    for name in SWEEP:
        for nodes in SWEEP_NODES:
            for _ in range(options.runs):
                pods = min(nodes, SWEEP_PODS_MAX)
                line = run_one(options.binary, name, nodes, options.timeout, ["--pods", str(pods)])
                line["commit"] = commit()
                append(options.out, line)
                print(f"{name}, {nodes} nodes: {line.get('error') or line['pods_per_s']}", file=sys.stderr)
    return 0


def command_compare(options):
    chosen = options.only.split(",") if options.only else SETS["core"]
    print("| workload | pods/s before | after | CPU s per 1,000 before | after | after / before | lowest | "
          "instructions | allocations | peak memory |")
    print("|---" * 10 + "|")
    for name in chosen:
        sides = ([], [])
        sizes = []
        for _ in range(options.runs):
            for lines, binary in zip(sides, (options.after, options.before)):
                lines.append(run_one(binary, name, options.nodes, options.timeout, sizes))
                # An older program may have other defaults.
                if "pods" in lines[-1]:
                    sizes = ["--existing", str(lines[-1]["existing"]), "--pods", str(lines[-1]["pods"])]
        errors = sorted({line["error"] for lines in sides for line in lines if line.get("error")})
        after, before = ([line for line in lines if "pods_per_s" in line] for lines in sides)
        if not before or not after:
            print(f"| {name} | {'; '.join(errors)} |" + " |" * 8, flush=True)
            continue

        def ratio(key, of=median):
            pair = of(before, key), of(after, key)
            return f"{pair[1] / pair[0]:.3f}" if None not in pair and pair[0] else "n/a"

        print("| " + " | ".join([
            name + (": " + "; ".join(errors) if errors else ""), number(median(before, "pods_per_s")),
            number(median(after, "pods_per_s")), number(median(before, "cpu_s_per_1000_pods"), 4),
            number(median(after, "cpu_s_per_1000_pods"), 4), ratio("cpu_s_per_1000_pods"),
            ratio("cpu_s_per_1000_pods", lowest), ratio("instructions_per_pod"), ratio("allocations_per_pod"),
            ratio("rss_peak_mib"),
        ]) + " |", flush=True)
    return 0


def command_grow(options):
    print("| bad input | input | CPU s | CPU s with all of it | times | MiB before | at most | cleared | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    all_well = True
    for name, (small, large, factor) in GROWTH.items():
        lines = []
        for arguments in (small(options.nodes), large(options.nodes)):
            runs = [run_one(options.binary, name, options.nodes, options.timeout, [*arguments, "--clear"])
                    for _ in range(options.runs)]
            lines.append(runs)
        errors = sorted({line["error"] for runs in lines for line in runs if line.get("error")})
        if errors:
            all_well = False
            print(f"| {name} | {'; '.join(errors)} |" + " |" * 7, flush=True)
            continue
        costs = [median(runs, "cpu_s_per_1000_pods") * runs[0]["pods"] / 1000 for runs in lines]
        before, peak, cleared = (median(lines[1], key) for key in ("rss_before_mib", "rss_peak_mib", "rss_cleared_mib"))
        wrong = []
        if costs[1] > GROWTH_NOISE * factor * costs[0]:
            wrong.append("cost outgrows the input")
        if cleared - before > max(KEPT_MIB_MAX, KEPT_PART_MAX * (peak - before)):
            wrong.append("memory is kept")
        all_well = all_well and not wrong
        print("| " + " | ".join([name, f"{factor} times", number(costs[0], 3), number(costs[1], 3),
                                 number(costs[1] / costs[0], 1), number(before), number(peak), number(cleared),
                                 "; ".join(wrong) or "in proportion"]) + " |", flush=True)
    return 0 if all_well else 1


def command_table(options):
    print_table(read_lines(options.files))
    return 0


# --- The plot ---

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 470, 86, 210, 44, 56
COLOURS = ["#326ce5", "#0f9d58", "#b45f06", "#7b3fb5", "#c62828", "#5f6368"]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def power_label(exponent):
    microseconds = 10.0 ** exponent
    return f"{microseconds / 1000:g} ms" if microseconds >= 1000 else f"{microseconds:g} µs"


def series_of(core, cluster):
    """Name, whether it is a whole program, and points of (nodes, CPU µs a pod)."""
    all_series = []
    for label, whole in (("kube-scheduler", True), ("berth", True)):
        points = {}
        for line in cluster:
            process = line.get("scheduler")
            is_berth = "berth" in line.get("label", "")
            if (not isinstance(process, dict) or line["workload"] != "basic" or line.get("rate") or
                    line.get("order") != "live" or is_berth != (label == "berth")):
                continue
            # A start with a full cluster has a figure of its own.
            if line["existing"] > 5 * line["nodes"]:
                continue
            points.setdefault(line["nodes"], []).append(process["cpu_s_per_1000_pods"] * 1000)
        if points:
            name = f"{label}, basic: the whole program"
            all_series.append((name, whole, sorted((n, statistics.median(v)) for n, v in points.items())))
    for workload in SWEEP:
        points = {}
        for line in core:
            if line["workload"] == workload and "cpu_s_per_1000_pods" in line and not line.get("error"):
                points.setdefault(line["nodes"], []).append(line["cpu_s_per_1000_pods"] * 1000)
        if points:
            all_series.append((f"berth, {workload}: the core alone", False,
                               sorted((n, statistics.median(v)) for n, v in points.items())))
    return all_series


def command_plot(options):
    all_series = series_of(read_lines(options.core), read_lines(options.cluster))
    values = [y for _, _, points in all_series for _, y in points]
    if not values:
        print("core.py: nothing to plot", file=sys.stderr)
        return 1
    x_min, x_max = 2.0, 5.0
    y_min, y_max = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    y_max = max(y_max, y_min + 1)

    def x_of(nodes):
        return LEFT + (math.log10(nodes) - x_min) / (x_max - x_min) * (WIDTH - LEFT - RIGHT)

    def y_of(value):
        return HEIGHT - BOTTOM - (math.log10(value) - y_min) / (y_max - y_min) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           f'font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold" fill="#202124">CPU time a pod against the size of '
           'the cluster</text>']
    for exponent in range(y_min, y_max + 1):
        y = y_of(10.0 ** exponent)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e0e0e0"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#5f6368">{power_label(exponent)}</text>')
    for exponent in range(2, 6):
        x = x_of(10 ** exponent)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e0e0e0"/>')
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#5f6368">'
                   f'{10 ** exponent:,}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 14}" text-anchor="middle" fill="#202124">nodes, '
               'every one considered by berth</text>')
    # Labels at the right end of each line, moved apart where they would overlap.
    ends = sorted((y_of(points[-1][1]), i) for i, (_, _, points) in enumerate(all_series))
    label_y, last = {}, -math.inf
    for y, i in ends:
        last = max(y, last + 30)
        label_y[i] = last
    for i, (name, whole, points) in enumerate(all_series):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x_of(n):.1f},{y_of(v):.1f}" for n, v in points)
        dash = "" if whole else ' stroke-dasharray="6 3"'
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for n, v in points:
            out.append(f'<circle cx="{x_of(n):.1f}" cy="{y_of(v):.1f}" r="3.5" fill="{colour}"><title>{escape(name)}: '
                       f'{n:,} nodes, {v:,.1f} µs</title></circle>')
        head, _, tail = name.partition(": ")
        x = WIDTH - RIGHT + 12
        out.append(f'<text x="{x}" y="{label_y[i]:.1f}" fill="{colour}">{escape(head)}'
                   f'<tspan x="{x}" dy="13" fill="#5f6368">{escape(tail)}</tspan></text>')
    out.append("</svg>")
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, function, runs):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("--runs", type=int, default=runs)
        command.add_argument("--timeout", type=int, default=900, help="seconds that one run may take")
        return command

    run = add("run", command_run, 1)
    run.add_argument("binary")
    run.add_argument("--set", choices=list(SETS), default="core")
    run.add_argument("--verify", action="store_true", help="some cycles are evaluated twice; slower")
    run.add_argument("--instructions", action="store_true", help="by valgrind where the kernel does not count them")
    sweep = add("sweep", command_sweep, 1)
    sweep.add_argument("binary")
    grow = add("grow", command_grow, 1)
    grow.add_argument("binary")
    compare = add("compare", command_compare, 3)
    compare.add_argument("before")
    compare.add_argument("after")
    for command in (run, compare, grow):
        command.add_argument("--nodes", type=int, default=5_000)
        command.add_argument("--only", help="names of workloads, with commas between them")
    for command in (run, sweep):
        command.add_argument("--out", help="file to which each run's JSON line is appended")
    table = commands.add_parser("table")
    table.set_defaults(function=command_table)
    table.add_argument("files", nargs="+")
    plot = commands.add_parser("plot")
    plot.set_defaults(function=command_plot)
    plot.add_argument("--core", action="append", required=True)
    plot.add_argument("--cluster", action="append", default=[])
    plot.add_argument("--out", required=True)
    options = parser.parse_args()
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
