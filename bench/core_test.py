#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of core.py with recorded lines, and with programs that fail."""

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
BASELINE = os.path.join(HERE, "cluster", "baseline-kube-scheduler-1.36.3-2core.jsonl")


def load(name, *path):
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, *path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


core = load("core", "core.py")
cluster_table = load("cluster_table", "cluster", "table.py")


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

    def test_failures_are_reported(self):
        for text, want in [("echo oh >&2; exit 3", "exit status 3: oh"), ("sleep 9", "not done after 1 s"),
                           (f"echo '{json.dumps(line())}'; echo 'a rule' >&2; exit 1", "a rule"),
                           (f"echo '{json.dumps(line())}'", None)]:
            with self.subTest(text):
                self.assertEqual(core.run_one(self.program(text), "basic", 10, 1).get("error"), want)

    def test_arguments(self):
        self.assertEqual(core.arguments_of("deployments interleaved", 7),
                         ["--workload", "deployments", "--nodes", "7", "--interleaved"])


class Grow(unittest.TestCase):
    def grow(self, cpu, cleared):
        def run_one(_, name, nodes, __, arguments):
            large = arguments[:2] != core.GROWTH[name][0](nodes)[:2]
            return line(name, nodes, cpu if large else 0.001, pods=1000, rss_before_mib=20, rss_peak_mib=120,
                        rss_cleared_mib=cleared)

        real, core.run_one = core.run_one, run_one
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                status = core.command_grow(type("Options", (), {"binary": "", "nodes": 100, "timeout": 1, "runs": 1}))
        finally:
            core.run_one = real
        return status, out.getvalue()

    def test_verdicts(self):
        self.assertEqual(self.grow(0.001, 30)[0], 0)
        status, text = self.grow(0.007, 30)
        self.assertEqual((status, text.count("cost outgrows the input")), (1, 5))
        status, text = self.grow(0.001, 90)
        self.assertEqual((status, text.count("memory is kept")), (1, 5))


class Plot(unittest.TestCase):
    def test_series_and_picture(self):
        cluster = core.read_lines([BASELINE])
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


class ClusterTable(unittest.TestCase):
    """The recorded runs of kube-scheduler, and a scheduler that needs a fraction of its figures."""

    def lines(self, cpu_part, rss_part=10, wrong=0):
        lines = []
        for recorded in core.read_lines([BASELINE]):
            if not recorded["label"].startswith("ks-"):
                continue
            lines.append({**recorded, "label": "kube-scheduler"})
            process = dict(recorded["scheduler"])
            process["cpu_s_per_1000_pods"] /= cpu_part
            process["rss_peak_mib"] /= rss_part
            lines.append({**recorded, "label": "berth", "scheduler": process, "unbound": wrong,
                          "startup_first_bind_s": recorded["startup_first_bind_s"] / 4})
        return lines

    def missed(self, lines):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            met = cluster_table.print_table(lines)
        rows = out.getvalue().splitlines()[2:]
        return met, {row.split(" ")[1]: row.split(" | ")[-1].rstrip(" |") for row in rows}

    def test_every_row_is_recorded_once(self):
        _, missed = self.missed(self.lines(40))
        self.assertEqual(sorted(missed), sorted(cluster_table.ROWS))

    def test_targets(self):
        _, missed = self.missed(self.lines(40))
        self.assertEqual({name: text for name, text in missed.items() if text != "nothing"},
                         {"preload": "pods/s below 90% of the blind binder's"})
        _, missed = self.missed(self.lines(16, 7))
        self.assertEqual(missed["basic"], "nothing")
        self.assertEqual(missed["start"], "rss above 1/8")
        self.assertEqual(missed["podaffinity"], "cpu above 1/30")
        met, missed = self.missed(self.lines(40, wrong=1))
        self.assertFalse(met)
        self.assertEqual(missed["basic"], "wrong placements")

    def test_the_blind_binder(self):
        lines = self.lines(40)
        for blind in core.read_lines([BASELINE]):
            if blind["label"] == "null-preload":
                lines.append({**blind, "label": "null", "throughput_pods_s": 300})
        self.assertTrue(self.missed(lines)[0])


if __name__ == "__main__":
    unittest.main()
