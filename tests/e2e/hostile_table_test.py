#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of hostile_table.py with recorded lines."""

import importlib.util
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("hostile_table", os.path.join(HERE, "hostile_table.py"))
hostile_table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hostile_table)


def line(**fields):
    usual = {"attack": "calm", "strength": 0, "unit": "nothing", "scheduler": "berth", "version": "berth 1", "date": "2026-01-02T03:04:05Z",
             "cores": 2, "load": [0.5, 1.5], "seconds": 12, "pods": 120, "p50_s": 0.012, "p99_s": 0.5, "own_p99_s": 0.4, "slowest_s": 12.3,
             "never_bound": 0, "create_p99_s": 0.1, "before_mib": 30, "peak_mib": 40, "after_mib": 31, "cpu_s": 0.4}
    return {**usual, **fields}


class HostileTable(unittest.TestCase):
    def read(self, *lines):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("".join(json.dumps(one) + "\n" for one in lines))
            file.flush()
            return hostile_table.read([file.name])

    def test_the_last_line_counts_and_attacks_stand_in_their_order(self):
        lines = self.read(line(attack="flood", strength=9), line(p99_s=9.0), line(scheduler="kube-scheduler"), line(p99_s=0.1))
        self.assertEqual([(one["attack"], one["scheduler"], one["p99_s"]) for one in lines],
                         [("calm", "berth", 0.1), ("calm", "kube-scheduler", 0.5), ("flood", "berth", 0.5)])

    def test_a_row_says_what_did_not_hold(self):
        cells = hostile_table.row(line(attack="bindings-dead", strength=1200, unit="pods", never_bound=3, faults=["a", "b"],
                                       told_tenant={"told": 1, "of": 2}))
        self.assertEqual(cells, ["webhook on bindings, dead URL", "1,200 pods", "berth", "0.01 s", "0.50 s", "0.40 s", "12 s", "3 of 120",
                                 "1 of 2", "30 / 40 / 31", "0.4 s", "**no**: a; b"])
        self.assertEqual(len(cells), len(hostile_table.HEAD))

    def test_what_was_not_tried_has_no_figures(self):
        cells = hostile_table.row(line(not_tried="it has no such thing"))
        self.assertEqual(cells[3:11], ["-"] * 8)
        self.assertEqual(cells[11], "not tried: it has no such thing")

    def test_the_table_says_where_and_when(self):
        text = hostile_table.table([line(), line(scheduler="kube-scheduler", version="Kubernetes v1", date="2026-02-02T00:00:00Z")])
        self.assertIn("from 2026-01-02 to 2026-02-02; 2 cores, load average 0.5 to 1.5.", text)
        self.assertIn("kube-scheduler (Kubernetes v1)", text)

    def test_it_goes_between_the_marks(self):
        document = f"before\n{hostile_table.BEGIN}\nold\n{hostile_table.END}\nafter\n"
        self.assertEqual(hostile_table.put(document, "new\n"), f"before\n{hostile_table.BEGIN}\nnew\n{hostile_table.END}\nafter\n")
        with self.assertRaises(ValueError):
            hostile_table.put("no marks", "new\n")

    def test_each_attack_has_its_words(self):
        with open(os.path.join(HERE, "hostile", "hostile_test.go"), encoding="utf-8") as file:
            names = re.findall(r'^\t\{name: "([^"]+)"', file.read(), re.M)
        self.assertEqual(names, list(hostile_table.MEANING))


if __name__ == "__main__":
    unittest.main()
