#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where one instance of berth ends, and what several would do to each other: the tables behind docs/adr/0005.

  scale.py one [--costs FILE] [--writes 2000,10000,30000]     stages of one instance, and which of them limits
  scale.py parallel [--costs FILE]                            what threads over ranges of rows would gain
  scale.py small [--nodes 5000] [--seconds 10] [--seed 1]     several active instances at 5,000 nodes, long enough to
                                                              see how evenly pods come to lie
  scale.py full [--nodes 100000] [--seconds 0.5] [--seed 1]   at 100,000 nodes; some minutes
  scale.py rest                                               how even shards of classes are; rules between pods
  scale.py all                                                everything

An instance makes 1,000 decisions a second at 100,000 nodes (a full pass each), and 50 at 5,000. The two are not a
picture of each other: however many nodes there are, few are the best.
`--costs` are lines of berth-bench --json; the default, costs.jsonl, was measured on a busy machine of two cores.
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import one_instance  # noqa: E402
import shards  # noqa: E402

CORES = 16
IO_THREADS = 4  # needed for a cluster of this size; berth has one today
DESIGNS = {
    "unchecked": {"design": "unchecked"},
    "version": {"design": "version"},
    "coordinator": {"design": "coordinator"},
    "coordinator, own first": {"design": "coordinator", "prefers_own": True},
    "coordinator, 16 offered": {"design": "coordinator", "candidates": 16},
    "coordinator, 64 offered": {"design": "coordinator", "candidates": 64},
    "coordinator, 256 offered": {"design": "coordinator", "candidates": 256},
    "leases": {"design": "leases"},
}


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*cells):
    print()
    row(*cells)
    row(*["---"] * len(cells))


def print_one(costs, writes):
    for io_s, said in ((one_instance.IO_S, "summed up"), (one_instance.IO_S_MEASURED, "measured as a whole")):
        print(f"I/O {said}: {io_s * 1e6:.0f} us a pod, {1 / io_s:,.0f} pods/s a thread")
    head("workload", "nodes", "core, us a pod", "core alone, pods/s",
         *[f"{w:,} writes/s elsewhere" for w in writes], f"all on {CORES} cores")
    for workload, by_nodes in sorted(costs.items()):
        for nodes, core_s in sorted(by_nodes.items()):
            cells = []
            for writes_per_s in writes:
                limit = one_instance.limits(core_s, one_instance.IO_S_MEASURED, IO_THREADS, writes_per_s)
                cells.append(f"{limit.pods_per_s:,.0f}: {limit.by}")
            limit = one_instance.limits(core_s, one_instance.IO_S_MEASURED, IO_THREADS, max(writes),
                                        one_instance.API_S, CORES)
            row(workload, f"{nodes:,}", f"{core_s * 1e6:,.1f}", f"{1 / core_s:,.0f}", *cells,
                f"{limit.pods_per_s:,.0f}: {limit.by}")


def print_parallel(costs):
    fixed_s, row_s = one_instance.per_row(costs["unique"])
    print(f"\nA full pass costs {row_s * 1e9:.1f} ns a row, beside {fixed_s * 1e6:.1f} us a cycle.")
    head("hand-over", "threads", "rows to break even", *[f"gain at {n:,}" for n in (1000, 5000, 20_000, 100_000)])
    for handover_s in (2e-6, 35e-6):
        for threads in (2, 4, 8, 16):
            row(f"{handover_s * 1e6:.0f} us", threads,
                f"{one_instance.rows_to_break_even(row_s, threads, handover_s):,.0f}",
                *[f"{one_instance.parallel_gain(row_s * n, fixed_s, threads, handover_s):.2f}"
                  for n in (1000, 5000, 20_000, 100_000)])


def print_shards(what, values, names, **options):
    """Prints a table of designs for each value of an option. If the simulation is long enough to replace a good part of
    the pods, the distribution of pods is compared with that of one instance as fast as all together."""
    is_long = options["seconds"] >= 5
    head(what, "design", "conflicts", "fits nowhere", "bound of decided", "writes a bound pod", "p99 to bound, ms",
         *["stddev, of one instance's"] * is_long)
    for value in values:
        here = {**options, what: value}
        # At least six delays, so that most decisions see the placements of other instances.
        here["seconds"] = max(here["seconds"], 6 * here["delay_s"])
        if is_long:
            alone = shards.simulate(**{**here, "instances": 1, "rate": here["rate"] * here["instances"]})
        for name in names:
            got = shards.simulate(**here, **DESIGNS[name])
            row(value, name, f"{100 * got.conflict_rate:.1f} %",
                f"{100 * (got.unfit + got.refused_nowhere) / got.decisions:.1f} %",
                f"{100 * got.placed / got.decisions:.0f} %", f"{got.writes_per_pod(DESIGNS[name]['design']):.1f}",
                f"{1000 * got.latency_s_p99:.0f}",
                *[f"{got.used_stddev / alone.used_stddev:.2f}" for _ in range(is_long)])
        sys.stdout.flush()


def print_small(nodes, seconds, seed):
    common = {"nodes": nodes, "rate": 50.0, "seconds": seconds, "seed": seed}
    names = [name for name in DESIGNS if name != "coordinator, 256 offered"]
    print_shards("instances", (2, 4, 8, 16), names, utilisation=0.9, delay_s=0.05, **common)
    print_shards("utilisation", (0.5, 0.8, 0.95, 0.99), names, instances=8, delay_s=0.05, **common)


def print_full(nodes, seconds, seed):
    common = {"nodes": nodes, "rate": 1000.0, "seconds": seconds, "seed": seed}
    names = [name for name in DESIGNS if name != "coordinator, own first"]
    print_shards("instances", (2, 4, 8, 16), names, utilisation=0.9, delay_s=0.05, **common)
    print_shards("utilisation", (0.5, 0.8, 0.95, 0.99), names, instances=8, delay_s=0.05, **common)
    print_shards("delay_s", (0.005, 0.02, 0.2), names, instances=8, utilisation=0.9, **common)
    offers = [name for name in names if name.startswith("coordinator")]
    print_shards("delay_s", (0.005,), offers, instances=16, utilisation=0.9, **common)


def print_rest():
    head("instances", "work of the busiest over the mean: 20 classes", "1,000 classes", "100,000 classes",
         "hard spreading broken, pods dealt out singly, 5 ms", "50 ms", "one owner a class")
    for instances in (1, 2, 4, 8, 16):
        row(instances, *[f"{shards.shares_by_class(instances, n):.2f}" for n in (20, 1000, 100_000)],
            *[f"{100 * shards.broken_spreads(instances, delay_s=d):.1f} %" for d in (0.005, 0.05)],
            f"{100 * shards.broken_spreads(1):.1f} %")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["one", "parallel", "small", "full", "rest", "all"])
    parser.add_argument("--costs", default=os.path.join(HERE, "costs.jsonl"))
    parser.add_argument("--writes", default="2000,10000,30000")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    costs = one_instance.read_costs(given.costs)
    if given.what in ("one", "all"):
        print_one(costs, [int(writes) for writes in given.writes.split(",")])
    if given.what in ("parallel", "all"):
        print_parallel(costs)
    if given.what in ("small", "all"):
        print_small(given.nodes or 5000, given.seconds or 10, given.seed)
    if given.what in ("full", "all"):
        print_full(given.nodes or 100_000, given.seconds or 0.5, given.seed)
    if given.what in ("rest", "all"):
        print_rest()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
