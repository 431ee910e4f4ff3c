#!/usr/bin/env python3
"""What core.py makes of recorded lines, and of programs that fail."""

import contextlib
import importlib.util
import io
import json
import os
import stat
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("core", os.path.join(HERE, "core.py"))
core = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(core)


def line(workload="basic", nodes=5000, cpu=0.004, **more):
    return {"workload": workload, "nodes": nodes, "existing": nodes, "pods": 2 * nodes, "interleaved": False,
            "pods_per_s": 1000 / cpu, "cpu_s_per_1000_pods": cpu, "instructions_per_pod": None,
            "allocations_per_pod": 9.5, "cycle_us": {"p50": 1, "p99": 2, "max": 3}, "rss_peak_mib": 30,
            "rss_cleared_mib": None, "pods_per_node_stddev": 0, **more}


def table(lines):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        met = core.print_table(lines)
    return met, out.getvalue().splitlines()[2:]


class Table(unittest.TestCase):
    def test_targets(self):
        for name, lines, want_met, want in [
                ("met", [line(cpu=0.004)], True, "| yes |"),
                ("missed", [line(cpu=0.010)], False, "| no, 1/2.0 |"),
                ("the median counts", [line(cpu=0.010), line(cpu=0.004), line(cpu=0.004)], True, "| yes |"),
                ("without a target", [line(nodes=1000)], True, "| - | - |"),
                ("an error", [line(error="2 pods unbound")], False, "2 pods unbound"),
                ("no figures", [{"workload": "basic", "nodes": 5000, "error": "not done"}], False, "not done"),
                ("too much memory", [line("deployments", 100_000, 0.02, rss_peak_mib=5000)], False, "over 4096 MiB"),
        ]:
            with self.subTest(name):
                met, rows = table(lines)
                self.assertEqual(met, want_met)
                self.assertIn(want, rows[0])

    def test_a_row_for_each_workload_and_size(self):
        _, rows = table([line(), line("deployments"), line("deployments", interleaved=True), line(nodes=100_000), line()])
        self.assertEqual(len(rows), 4)


class Run(unittest.TestCase):
    def program(self, text):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        self.addCleanup(lambda: (os.remove(path), os.rmdir(folder)))
        return path

    def test_failures_are_told(self):
        for text, want in [("echo oh >&2; exit 3", "exit status 3: oh"), ("sleep 9", "not done after 1 s"),
                           (f"echo '{json.dumps(line())}'; echo 'a rule' >&2; exit 1", "a rule"),
                           (f"echo '{json.dumps(line())}'", None)]:
            with self.subTest(text):
                self.assertEqual(core.run_one(self.program(text), "basic", 10, 1).get("error"), want)

    def test_arguments(self):
        self.assertEqual(core.arguments_of("deployments interleaved", 7),
                         ["--workload", "deployments", "--nodes", "7", "--interleaved"])


class Plot(unittest.TestCase):
    def test_series_and_picture(self):
        cluster = core.read_lines([os.path.join(HERE, "cluster", "baseline-kube-scheduler-1.36.3-2core.jsonl")])
        lines = [line(nodes=n, cpu=c) for n, c in ((100, 0.002), (100_000, 0.008))]
        series = core.series_of(lines, cluster)
        self.assertEqual([name for name, _, _ in series],
                         ["kube-scheduler, basic: the whole program", "berth, basic: the core alone"])
        self.assertEqual([n for n, _ in series[0][2]], [100, 1000, 5000])
        self.assertEqual(series[1][2], [(100, 2), (100_000, 8)])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "core.jsonl")
            for item in lines:
                core.append(path, item)
            options = type("Options", (), {"core": [path], "cluster": [], "out": os.path.join(folder, "plot.svg")})
            self.assertEqual(core.command_plot(options), 0)
            root = xml.etree.ElementTree.parse(options.out).getroot()
            self.assertEqual(len(root.findall("{*}circle")), 2)


if __name__ == "__main__":
    unittest.main()
