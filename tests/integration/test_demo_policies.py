# SPDX-License-Identifier: Apache-2.0
"""berth demo --policy: each policy shows its effect, and its page in docs shows what the demo prints.

BERTH_UPDATE_DOCS=1 writes the pages' output blocks anew; review the difference.
"""

import os
import re
import signal
import unittest
from pathlib import Path

from support import ROOT, Api, BerthTest, Process, free_port, wait_until

POLICIES = ["random", "round-robin", "best-price", "spot-first", "zone-balance", "load-aware", "node-label-match", "topology-distance", "external-health"]
REBALANCING = ["spot-return", "consolidate", "custom-metric"]
ROW = re.compile(r"^(node-\d+) +(.*)$")


class Shown:
    """The output of a demo: a row for each node, before and after, with the policy's column and the pods of each
    workload."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.before = self._table(lines.index("Before:"))
        self.after = self._table(lines.index("After:"))

    def _table(self, at: int) -> dict[str, tuple[str, list[int]]]:
        title = self.lines[at + 1]
        count = len(re.findall(r"PODS(?: OF \S+)?", title))
        rows = {}
        for line in self.lines[at + 2:]:
            match = ROW.match(line)
            if not match:
                break
            words = match.group(2).split()
            rows[match.group(1)] = (" ".join(words[:-count]), [int(word) for word in words[-count:]])
        return rows

    def pods(self, workload: int = 0) -> dict[str, int]:
        return {node: counts[workload] for node, (_, counts) in self.after.items()}

    def by_column(self, workload: int = 0) -> dict[str, int]:
        sums: dict[str, int] = {}
        for shown, counts in self.after.values():
            sums[shown] = sums.get(shown, 0) + counts[workload]
        return sums


class DemoPolicies(BerthTest):
    def demo(self, policy: str, *more: str) -> Shown:
        demo = Process(self, "demo", "--policy", policy, *more)
        self.assertEqual(demo.wait(90), 0, demo.lines("err"))
        self.assertEqual(demo.lines("err"), [])
        shown = Shown(demo.lines("out"))
        self.assertEqual(list(shown.before), list(shown.after))
        if policy in REBALANCING:
            totals = [[sum(column) for column in zip(*(counts for _, counts in table.values()))] for table in (shown.before, shown.after)]
            self.assertEqual(*totals, "each pod that was moved has a replacement")
            return shown
        self.assertFalse(any(sum(counts) for _, counts in shown.before.values()), "pods wait before")
        self.assertNotIn("Not placed:", shown.lines)
        return shown

    def check(self, policy: str) -> Shown:
        """Compares the demo with seed 1 with the policy's page."""
        shown = self.demo(policy, "--seed", "1")
        page = ROOT / "docs" / "policies" / f"{policy}.md"
        command = f"$ berth demo --policy {policy} --seed 1"
        block = "\n".join(["```", command, *shown.lines, "```"])
        pattern = re.compile(r"```\n" + re.escape(command) + r"\n.*?\n```", re.S)
        text = page.read_text()
        if os.environ.get("BERTH_UPDATE_DOCS") == "1":
            if not pattern.search(text):
                text = text.rstrip("\n") + "\n\n## See it\n\n" + block + "\n"
            page.write_text(pattern.sub(lambda _: block, text))
        else:
            found = pattern.search(text)
            self.assertTrue(found, f"{page.name} does not show {command}")
            self.assertEqual(found.group(0), block, f"{page.name} shows something else than the demo prints")
        return shown

    def check_scenario(self, name: str, page: Path) -> Shown:
        """The same for demos without a policy."""
        demo = Process(self, "demo", "--scenario", name, "--seed", "1")
        self.assertEqual(demo.wait(90), 0, demo.lines("err"))
        self.assertEqual(demo.lines("err"), [])
        lines = demo.lines("out")
        command = f"$ berth demo --scenario {name} --seed 1"
        block = "\n".join(["```", command, *lines, "```"])
        pattern = re.compile(r"```\n" + re.escape(command) + r"\n(.*?\n)??```", re.S)
        text = page.read_text()
        self.assertTrue(pattern.search(text), f"{page.name} does not show {command}")
        if os.environ.get("BERTH_UPDATE_DOCS") == "1":
            page.write_text(pattern.sub(lambda _: block, text))
        else:
            self.assertEqual(pattern.search(text).group(0), block, f"{page.name} shows something else than the demo prints")
        return Shown(lines)

    def test_gangs(self):
        shown = self.check_scenario("gangs", ROOT / "docs/pod-groups.md")
        self.assertEqual([sum(shown.pods(i).values()) for i in range(2)], [5, 0], "all of a gang, or none")

    def test_gangs_need_their_release(self):
        demo = Process(self, "demo", "--scenario", "gangs", "--kubernetes-version", "1.36")
        self.assertEqual(demo.wait(20), 2)
        self.assertIn("--scenario gangs: needs --kubernetes-version 1.37", demo.lines("err")[0])

    def test_gpus(self):
        page = ROOT / "docs/policies/README.md"
        shown = self.check_scenario("gpus", page)
        self.assertEqual(sorted(shown.pods(0).values()), [0, 0, 2, 4])
        whole = [node for node, count in shown.pods(1).items() if count]
        self.assertEqual([(len(whole), shown.pods(0)[node]) for node in whole], [(1, 0)])

    def test_random(self):
        counts = self.check("random").pods()
        self.assertEqual(sum(counts.values()), 30)
        self.assertGreater(len(set(counts.values())), 1, "dice would not fall so evenly")
        others = {tuple(self.demo("random", "--seed", str(seed)).pods().values()) for seed in (2, 3)}
        self.assertGreater(len(others | {tuple(counts.values())}), 1, "another seed, another outcome")

    def test_round_robin(self):
        shown = self.check("round-robin")
        both = [shown.pods(0)[f"node-{i}"] + shown.pods(1)[f"node-{i}"] for i in range(1, 6)]
        self.assertEqual(both, [3, 3, 2, 2, 2])

    def test_best_price(self):
        counts = self.check("best-price").pods()
        self.assertEqual(counts, {"node-1": 0, "node-2": 4, "node-3": 0, "node-4": 4, "node-5": 0, "node-6": 2})

    def test_spot_first(self):
        shown = self.check("spot-first")
        spot = {name for name, (capacity, _) in shown.after.items() if capacity.startswith("spot")}
        self.assertEqual(len(spot), 3)
        self.assertEqual({shown.pods(1)[name] for name in spot}, {4}, "spot nodes are full")
        self.assertEqual(sum(shown.pods(1).values()), 14)
        self.assertEqual([shown.pods(0)[name] for name in spot], [0, 0, 0], "who never wants spot is not there")
        self.assertEqual(sum(shown.pods(0).values()), 2)

    def test_zone_balance(self):
        shown = self.check("zone-balance")
        for workload, each in ((0, 2), (1, 4)):
            zones: dict[str, int] = {}
            for zone, count in shown.by_column(workload).items():
                zones[zone.split()[0]] = zones.get(zone.split()[0], 0) + count
            self.assertEqual(zones, {"zone-a": each, "zone-b": each, "zone-c": each // 2})

    def test_load_aware(self):
        counts = self.check("load-aware").pods()
        self.assertEqual((counts["node-1"], counts["node-5"]), (0, 0), "hot nodes get nothing")
        self.assertEqual((counts["node-3"], counts["node-4"], counts["node-2"]), (5, 2, 0), "the idle one first, then what is idle then")

    def test_node_label_match(self):
        shown = self.check("node-label-match")
        self.assertEqual(shown.by_column(0), {"<none>": 0, "raspberry": 6, "server": 0})
        self.assertEqual(shown.by_column(1), {"<none>": 0, "raspberry": 0, "server": 3})

    def test_topology_distance(self):
        shown = self.check("topology-distance")
        for workload in (0, 1):
            used = {where: count for where, count in shown.by_column(workload).items() if count}
            self.assertEqual(sorted(used.values()), [2, 4], "a whole rack, and half of another one")
            self.assertEqual(len({where.split()[0] for where in used}), 1, "of the same block")

    def test_external_health(self):
        shown = self.check("external-health")
        self.assertEqual(shown.by_column(), {"UP": 6, "DOWN": 0})
        self.assertTrue([line for line in shown.lines if "ExternalHealth" in line and "PING CRITICAL - Packet loss = 100%" in line],
                        "the refusal is in Nagios' words")

    def test_spot_return(self):
        shown = self.check("spot-return")
        self.check_example("spot-return")
        self.assertEqual({node: counts[1] for node, (capacity, counts) in shown.before.items() if capacity == "spot"}, {"node-3": 0, "node-4": 0})
        self.assertEqual(shown.by_column(1), {"on-demand": 0, "spot": 5})
        self.assertEqual(shown.by_column(0), {"on-demand": 1, "spot": 0}, "who never wants spot stays")

    def test_consolidate(self):
        shown = self.check("consolidate")
        self.check_example("consolidate")
        used = {when: [node for node, (_, counts) in table.items() if sum(counts)] for when, table in (("before", shown.before), ("after", shown.after))}
        self.assertEqual(len(used["before"]), 6)
        self.assertEqual(len(used["after"]), 2)

    def test_custom_metric(self):
        shown = self.check("custom-metric")
        self.check_example("custom-metric")
        self.assertGreater(shown.before["node-2"][1][0], 0)
        self.assertEqual(sum(shown.after["node-2"][1]), 0)
        pair = [next(node for node, (_, counts) in shown.after.items() if counts[workload]) for workload in (0, 1)]
        self.assertNotEqual(*pair, "a pair is kept apart")

    def check_example(self, policy: str):
        """The page's YAML must be the example without its comment."""
        example = [line for line in (ROOT / "examples" / "rebalance" / f"{policy}.yaml").read_text().splitlines() if not line.startswith("#")]
        self.assertIn("```yaml\n" + "\n".join(example) + "\n```", (ROOT / "docs" / "policies" / f"{policy}.md").read_text())

    def test_a_demo_that_ends_by_itself_serves_nothing(self):
        demo = Process(self, "demo", "--policy", "consolidate", "--serve")
        self.assertEqual(demo.wait(10), 2)
        self.assertIn("--serve: the demo of consolidate ends by itself", "\n".join(demo.lines("err")))

    def test_serve(self):
        address = f"127.0.0.1:{free_port()}"
        demo = Process(self, "demo", "--policy", "best-price", "--serve", "--listen", address)
        demo.wait_for("out", re.escape(f"http://{address}"))
        api = Api(address)
        # node-1 becomes the cheapest, which the next pods see.
        status, answer = api.call("PATCH", "/api/v1/nodes/node-1", {"metadata": {"annotations": {"berth.dev/price": "0.01"}}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        status, answer = api.call("PATCH", "/apis/apps/v1/namespaces/default/deployments/web/scale", {"spec": {"replicas": 13}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        wait_until("three more pods are on node-1",
                   lambda: [p["spec"].get("nodeName") for p in api.pods()].count("node-1") == 3)
        self.assertEqual(demo.end(signal.SIGTERM), 0, demo.lines("err"))

    def test_unknown_policy(self):
        demo = Process(self, "demo", "--policy", "bestprice")
        self.assertEqual(demo.wait(20), 2)
        lines = demo.lines("err")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn('there is no policy "bestprice"; the nearest is best-price, of ' + ", ".join(POLICIES), lines[0])

    def test_the_policy_has_a_cluster_of_its_own(self):
        for flag in ("--nodes", "--replicas"):
            demo = Process(self, "demo", "--policy", "random", flag, "3")
            self.assertEqual(demo.wait(20), 2)
            self.assertIn(flag, demo.lines("err")[0])

    def test_control_c(self):
        demo = Process(self, "demo", "--policy", "random")
        demo.wait_for("out", "^Before:")
        self.assertEqual(demo.end(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main()
