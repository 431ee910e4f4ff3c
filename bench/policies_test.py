#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of policies.py with recorded lines, and with programs that fail."""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("policies", os.path.join(HERE, "policies.py"))
policies = importlib.util.module_from_spec(spec)
spec.loader.exec_module(policies)


def table(costs):
    """The table of profiles by name, each with one cost for all workloads."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        met = policies.print_table({name: dict.fromkeys(policies.WORKLOADS, cost) for name, cost in costs.items()})
    return met, out.getvalue().splitlines()[2:]


class Table(unittest.TestCase):
    def test_ratios(self):
        met, rows = table({"default-scheduler": 5.0, "random": 15.0})
        self.assertTrue(met)
        self.assertEqual(rows[1], "| random | 15.00 | 3.00 | 15.00 | 3.00 |")
        met, rows = table({"default-scheduler": 5.0, "random": 15.1})
        self.assertFalse(met)
        self.assertIn("3.02, above 3", rows[1])

    def test_failures(self):
        met, rows = table({"default-scheduler": 5.0, "random": "7 pods unbound"})
        self.assertFalse(met)
        self.assertIn("7 pods unbound", rows[1])


class Measure(unittest.TestCase):
    def program(self, text):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        self.addCleanup(lambda: [os.remove(os.path.join(folder, name)) for name in os.listdir(folder)]
                        and os.rmdir(folder))
        return path

    def measure(self, text, runs=1):
        options = types.SimpleNamespace(nodes=5, pods=5, runs=runs, timeout=1)
        return policies.measure(self.program(text), ["some/random.yaml"], options)

    def test_the_profile_is_handed_over(self):
        line = json.dumps({"cpu_s_per_1000_pods": 0.004})
        results = self.measure(f"case \"$*\" in *some/random.yaml*) echo '{line}' ;; *) echo oh >&2; exit 1 ;; esac")
        self.assertEqual(results, {"default-scheduler": dict.fromkeys(policies.WORKLOADS, "oh"),
                                   "random": dict.fromkeys(policies.WORKLOADS, 4.0)})

    def test_the_least_counts_and_failures_stay(self):
        count = 'echo x >>"$0.calls"; n=$(wc -l <"$0.calls")\n'
        results = self.measure(count + 'echo "{\\"cpu_s_per_1000_pods\\": 0.0$((100 - n))}"', runs=2)
        self.assertEqual([cost for by in results.values() for cost in by.values()], [95, 94, 93, 92])
        results = self.measure(count + '[ $n -lt 5 ] || { echo late >&2; exit 1; }\necho "{\\"cpu_s_per_1000_pods\\": 1}"', 2)
        self.assertEqual({cost for by in results.values() for cost in by.values()}, {"late"})
        self.assertEqual(self.measure("sleep 9")["random"]["plain pods"], "not done after 1 s")


if __name__ == "__main__":
    unittest.main()
