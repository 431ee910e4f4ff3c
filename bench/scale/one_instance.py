# SPDX-License-Identifier: Apache-2.0
"""What one instance of berth can bind a second: the slowest of its stages, from measured costs.

A pod passes four stages that work side by side: the core's one thread, the threads that decode and do I/O, the API
server with etcd, and etcd's writes. Where all share one machine, its cores are a fifth limit. Times are CPU seconds.
"""

import collections
import json

# The cost of berth's I/O for a pod: two watch events decoded at 2 us, three requests over TLS at 20 us (binding, event,
# and sometimes a status). A whole process beside a real API server was measured at 190 us with few pods per turn, so
# that this is the lower of two figures; the other one is IO_S_MEASURED.
IO_S = 2 * 2e-6 + 3 * 20e-6
IO_S_MEASURED = 185e-6
# kube-apiserver and etcd together, for a pod that is created, bound and has its event: measured with bench/cluster,
# `basic` live.
API_S = 2.55e-3
WRITES_PER_POD = 2  # binding and event; others create the pod

Limits = collections.namedtuple("Limits", "pods_per_s by")


def read_costs(path):
    """CPU seconds of the core per pod, by workload and number of nodes, from lines of berth-bench --json."""
    costs = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            costs[line["workload"]][line["nodes"]] = line["cpu_s_per_1000_pods"] / 1000
    return costs


def per_row(costs):
    """(fixed seconds, seconds per row) of the line through the smallest and the largest measured cluster."""
    few, many = min(costs), max(costs)
    if few == many:
        raise ValueError("two sizes are needed")
    slope = (costs[many] - costs[few]) / (many - few)
    return max(0.0, costs[few] - slope * few), slope


def limits(core_s, io_s, io_threads, writes_per_s, api_s=0.0, cores=None):
    """Pods per second of one instance, and the stage that limits them.

    `cores` is the number of cores of the machine if the API server runs on it as well; None if that has its own
    machines.
    """
    if io_threads < 1 or min(core_s, io_s, writes_per_s) <= 0:
        raise ValueError("every stage costs something")
    stages = {
        "core": 1 / core_s,
        "I/O threads": io_threads / io_s,
        "API writes": writes_per_s / WRITES_PER_POD,
    }
    if cores is not None:
        stages["cores"] = cores / (core_s + io_s + api_s)
    by = min(stages, key=stages.get)
    return Limits(stages[by], by)


def parallel_gain(pass_s, fixed_s, threads, handover_s):
    """The speed-up of a cycle whose pass over the rows is spread over threads.

    The pass is divided evenly; distributing the ranges and waiting for the last one costs `handover_s` per cycle.
    Memory bandwidth is assumed to be unlimited, which favours many threads.
    """
    before = pass_s + fixed_s
    after = fixed_s + (pass_s / threads + handover_s if threads > 1 else pass_s)
    return before / after


def rows_to_break_even(row_s, threads, handover_s):
    """The number of rows from which on threads are not slower than a single thread."""
    return handover_s / (row_s * (1 - 1 / threads))
