#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an answer to a ProvisioningRequest costs, and whether promises hold in contention, with targets.

    promises.py BINARY [--nodes 5000] [--requests 1000] [--instructions]

BINARY is berth-promise-bench. Targets: p99 of an answer within 50 ms of CPU time; the last hundred answers and pods cost at most
1.5 times what the first did; nothing promised is missing or promised twice. Exit status 1: one is missed.
--instructions counts them with valgrind where the kernel has no counter: slow.
"""

import argparse
import re
import subprocess
import sys

COUNTED = 100  # requests: those from this number on to twice of it are counted, when as many promises end as begin


def count(binary, nodes, requests):
    """Instructions of a process that answers so many requests, by valgrind."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", binary,
                           "--part", "answers", "--nodes", str(nodes), "--requests", str(requests)],
                          capture_output=True, text=True, check=False)
    found = re.search(r"I +refs: +([0-9,]+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"promises.py: valgrind failed: {done.stderr[-500:]}")
    return int(found.group(1).replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    status = subprocess.run([options.binary, "--judge", "--nodes", str(options.nodes), "--requests",
                             str(options.requests)], check=False).returncode
    if options.instructions:
        first, second, third = (count(options.binary, options.nodes, k * COUNTED) for k in (1, 2, 3))
        print(f"instructions of a request, with the end of its promise: {(second - first) / COUNTED:,.0f}, "
              f"of the next {COUNTED}: {(third - second) / COUNTED:,.0f}")
    return status


if __name__ == "__main__":
    sys.exit(main())
