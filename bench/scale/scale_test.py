#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests invariants of the model of one instance and of the simulation of several."""

import contextlib
import importlib.util
import io
import math
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import one_instance  # noqa: E402
import shards  # noqa: E402

spec = importlib.util.spec_from_file_location("scale", os.path.join(HERE, "scale.py"))
scale = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scale)

SMALL = {"nodes": 100, "room": 20, "seconds": 4.0, "rate": 20.0}
EVERY_DESIGN = [{"design": name} for name in shards.DESIGNS] + [{"prefers_own": True}, {"candidates": 8}]


class OneInstance(unittest.TestCase):
    def test_what_limits(self):
        for name, arguments, want in [
                ("core", dict(core_s=1e-3, io_s=1e-4, io_threads=1, writes_per_s=1e6), (1000, "core")),
                ("one thread of I/O", dict(core_s=1e-5, io_s=1e-4, io_threads=1, writes_per_s=1e6),
                 (10_000, "I/O threads")),
                ("two writes a pod", dict(core_s=1e-5, io_s=1e-4, io_threads=4, writes_per_s=2000),
                 (1000, "API writes")),
                ("a shared machine", dict(core_s=1e-5, io_s=9e-5, io_threads=4, writes_per_s=1e6, api_s=9e-4, cores=4),
                 (4000, "cores")),
        ]:
            with self.subTest(name):
                got = one_instance.limits(**arguments)
                self.assertAlmostEqual(got.pods_per_s, want[0])
                self.assertEqual(got.by, want[1])
        with self.assertRaises(ValueError):
            one_instance.limits(core_s=0, io_s=1, io_threads=1, writes_per_s=1)
        with self.assertRaises(ValueError):
            one_instance.limits(core_s=1, io_s=1, io_threads=0, writes_per_s=1)

    def test_line_through_measured_costs(self):
        fixed, row = one_instance.per_row({1000: 20e-6, 5000: 1.0, 101_000: 1020e-6})
        self.assertAlmostEqual(fixed * 1e6, 10)
        self.assertAlmostEqual(row * 1e9, 10)
        with self.assertRaises(ValueError):
            one_instance.per_row({1000: 1.0})

    def test_threads(self):
        self.assertEqual(one_instance.parallel_gain(1e-3, 5e-6, 1, 35e-6), 1)
        self.assertAlmostEqual(one_instance.parallel_gain(1e-3, 0, 4, 0), 4)
        for threads in (2, 4, 16):
            rows = one_instance.rows_to_break_even(15e-9, threads, 35e-6)
            self.assertAlmostEqual(one_instance.parallel_gain(rows * 15e-9, 5e-6, threads, 35e-6), 1)
        # An incremental cycle touches a handful of rows, so that threads only slow it down.
        self.assertLess(one_instance.parallel_gain(64 * 15e-9, 5e-6, 16, 2e-6), 1)


class Views(unittest.TestCase):
    def test_same_as_a_scan(self):
        chance = random.Random(7)
        free = [chance.randrange(10) for _ in range(50)]
        view = shards.View(free, lambda node: node % 3 == 0)
        out = set()
        for turn in range(2000):
            node, amount = chance.randrange(50), chance.choice((-1, 1))
            if 0 <= free[node] + amount < 10:
                free[node] += amount
                view.change(node, amount)
            if turn % 5 == 0:
                view.leave_out(node, turn + 20)
                out = {at for at in range(50) if at in view.left_out}
            view.caught_up(turn)
            out &= set(view.left_out)
            size = chance.randrange(1, 5)
            fit = sorted((free[at] for at in range(50) if at not in out and free[at] >= size), reverse=True)
            best = view.best(size, 10, chance)
            self.assertEqual(None if best is None else free[best], fit[0] if fit else None)
            self.assertNotIn(best, out)
            many = view.best_many(size, 10, chance, 6)
            self.assertEqual([free[at] for at in many], fit[:6])
            self.assertEqual(len(set(many)), len(many))
            own = [free[at] for at in range(0, 50, 3) if at not in out and free[at] >= size]
            best = view.best_own(size, 10, chance)
            self.assertEqual(None if best is None else free[best], max(own) if own else None)
            self.assertTrue(best is None or best % 3 == 0)


class Instances(unittest.TestCase):
    def test_everybody_knows_the_truth_in_the_end(self):
        for options in EVERY_DESIGN:
            for utilisation in (0.6, 0.97):
                with self.subTest(**options, utilisation=utilisation):
                    simulation = shards.Simulation(
                        shards.Options(**{**SMALL, "instances": 5, "utilisation": utilisation, **options}))
                    result = simulation.run()
                    self.assertGreater(result.placed, 50)
                    free = [20] * 100
                    for node, size in simulation.pods:
                        free[node] -= size
                    self.assertEqual(free, simulation.free)
                    for instance, view in enumerate(simulation.views):
                        simulation.catch_up(math.inf, instance)
                        self.assertEqual(view.free, free)
                        self.assertFalse(view.left_out)
                        if simulation.seen_version:
                            self.assertEqual(simulation.seen_version[instance], simulation.version)

    def test_only_without_a_check_nodes_are_overfull(self):
        for options in EVERY_DESIGN:
            with self.subTest(**options):
                simulation = shards.Simulation(
                    shards.Options(**{**SMALL, "instances": 8, "utilisation": 0.97, **options}))
                result = simulation.run()
                if options.get("design") == "unchecked":
                    self.assertGreater(result.overcommitted, 0)
                    self.assertEqual(result.refused, 0)
                else:
                    self.assertEqual(result.overcommitted, 0)
                    self.assertGreaterEqual(min(simulation.free), 0)

    def test_one_instance_has_nobody_to_conflict_with(self):
        for options in ({}, {"candidates": 8}, {"design": "leases"}, {"design": "unchecked"}):
            result = shards.simulate(**SMALL, instances=1, utilisation=0.9, **options)
            self.assertEqual((result.refused, result.overcommitted, result.elsewhere), (0, 0, 0), options)

    def test_same_seed_same_figures(self):
        run = lambda seed: shards.simulate(**SMALL, instances=4, seed=seed)
        self.assertEqual(run(1), run(1))
        self.assertNotEqual(run(1), run(2))

    def test_what_the_record_rests_on(self):
        # A tenth of the 5,000 nodes in scale.py's table.
        busy = {"nodes": 500, "seconds": 20.0, "rate": 5.0, "instances": 8, "utilisation": 0.9}
        plain = shards.simulate(**busy)
        offered = shards.simulate(**busy, candidates=16)
        version = shards.simulate(**busy, design="version")
        quick = shards.simulate(**busy, delay_s=0.001)
        alone = shards.simulate(**{**busy, "instances": 1, "rate": 40.0})
        self.assertGreater(plain.conflict_rate, 5 * offered.conflict_rate)
        self.assertGreater(version.conflict_rate, plain.conflict_rate)
        self.assertGreater(version.refused_with_room, version.refused / 2)
        self.assertLess(quick.conflict_rate, plain.conflict_rate)
        self.assertLess(offered.used_stddev, 1.1 * alone.used_stddev)
        self.assertGreater(version.writes_per_pod("version"), 4)
        self.assertEqual(plain.writes_per_pod("coordinator"), 2)

    def test_refused_options(self):
        for options in ({"design": "hope"}, {"instances": 0}, {"utilisation": 0}, {"utilisation": 1.5},
                        {"design": "leases", "candidates": 2}):
            with self.subTest(**options), self.assertRaises(ValueError):
                shards.simulate(**options)


class Classes(unittest.TestCase):
    def test_shares(self):
        self.assertEqual(shards.shares_by_class(1, 100), 1)
        self.assertGreater(shards.shares_by_class(16, 20), shards.shares_by_class(16, 10_000))

    def test_rules_between_pods(self):
        self.assertEqual(shards.broken_spreads(1), 0)
        self.assertEqual(shards.broken_spreads(8, delay_s=0), 0)
        self.assertGreater(shards.broken_spreads(8, delay_s=0.05), 0.1)


class Program(unittest.TestCase):
    def test_tables(self):
        for arguments, want in [(["one"], "| 100,000 |"), (["parallel"], "ns a row"),
                                (["rest"], "| 16 | 8.25 |"),
                                (["small", "--nodes", "40", "--seconds", "0.5"], "| 16 | version |")]:
            with self.subTest(arguments[0]):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    self.assertEqual(scale.main(arguments), 0)
                self.assertIn(want, out.getvalue())

    def test_how_even_pods_lie_is_reported_of_long_runs_only(self):
        for seconds, columns in ((0.1, 8), (5.0, 9)):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                scale.print_shards("delay_s", (0.01,), ["leases"], nodes=40, rate=20.0, seconds=seconds, instances=2)
            self.assertEqual({line.count("|") for line in out.getvalue().splitlines() if line}, {columns})


if __name__ == "__main__":
    unittest.main()
