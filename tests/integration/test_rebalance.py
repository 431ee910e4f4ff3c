# SPDX-License-Identifier: Apache-2.0
"""berth rebalance plan with `berth apiserver`: its output for a cluster and for a snapshot of it, and that it writes
nothing.

With BERTH_WRITE_DOCS=1 the outputs of docs/rebalance.md are rewritten.
"""

import json
import os
import re
import shlex
import subprocess
import unittest

from support import ROOT, Api, BerthTest, berth_binary, clean_environment, pod

PODS = "/api/v1/namespaces/default/pods"
TIME_LIMIT_S = 120.0
PAGE = ROOT / "docs/rebalance.md"
POLICY = ROOT / "examples/rebalance/policy.yaml"
CONSOLE = re.compile(r"^```console\n\$ (berth rebalance plan[^\n]*)\n(.*?)^```$", re.S | re.M)


class ShopTest(BerthTest):
    """Makes the cluster of docs/rebalance.md."""

    def set_status(self, api: Api, name: str, **status) -> None:
        code, answer = api.call("PATCH", f"{PODS}/{name}/status", {"status": status}, Api.MERGE_PATCH)
        self.assertEqual(code, 200, answer)

    def shop(self, api: Api) -> None:
        """node-2 has a new taint; node-4 and node-5 are new."""
        api.create_all(ROOT / "examples/clusters/rebalance.yaml")
        for each in api.pods():
            self.set_status(api, each["metadata"]["name"], phase="Running")


class Rebalance(ShopTest):
    def run_plan(self, *arguments, status: int = 0):
        """Standard output, and standard error."""
        done = subprocess.run([berth_binary(), "rebalance", "plan", *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIME_LIMIT_S, env=clean_environment(), cwd=ROOT)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def versions(self, api: Api) -> dict[str, str]:
        """The versions that any write would change."""
        return {kind: {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in api.get(path)["items"]}
                for kind, path in (("pods", "/api/v1/pods"), ("nodes", "/api/v1/nodes"), ("events", "/api/v1/events"))}

    def test_a_plan_of_a_cluster_and_of_its_snapshot(self):
        _, api = self.api_server(0, "--no-controllers")
        self.shop(api)
        api.create(PODS, pod("failed", nodeName="node-1"))
        self.set_status(api, "failed", phase="Failed", reason="Evicted")
        before = self.versions(api)
        policy = self.file("policy.yaml", POLICY.read_text() + """
- name: failed
  pluginConfig:
  - {name: RemoveFailedPods, args: {minPodLifetimeSeconds: 0, reasons: [Evicted]}}
  - {name: DefaultEvictor, args: {evictFailedBarePods: true}}
  plugins: {deschedule: {enabled: [RemoveFailedPods]}}
""")
        out, err = self.run_plan("--policy", policy, "--master", api.url, "-o", "json")
        self.assertEqual(err, "")
        self.assertEqual(self.versions(api), before, "nothing was written")
        plan = json.loads(out)
        moves = {item["name"]: item for item in plan["moves"]}
        self.assertEqual(moves["failed"]["to"], "")
        self.assertEqual(moves["web-3"]["strategy"], "RemovePodsViolatingNodeTaints")
        self.assertNotIn(moves["web-3"]["to"], ("node-2", ""))
        self.assertEqual({item["name"]: item["why"] for item in plan["staying"]}["cart-0"],
                         "PodDisruptionBudget cart allows no eviction now")
        snapshot = self.folder() / "cluster.zst"
        subprocess.run([berth_binary(), "snapshot", "--master", api.url, "-o", str(snapshot)], check=True, timeout=TIME_LIMIT_S,
                       env=clean_environment(), capture_output=True)
        of_snapshot = json.loads(self.run_plan("--policy", policy, "--snapshot", snapshot, "-o", "json")[0])
        for each in (plan, of_snapshot):
            del each["cluster"]
        self.assertEqual(of_snapshot, plan)

    def test_bad_input(self):
        _, api = self.api_server(1)
        head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
        cases = (
            ([], r"--policy is required"),
            (["--policy", "/no/such.yaml"], r"--policy /no/such\.yaml: no such file or directory"),
            (["--policy", self.file("a.yaml", "a: [\n")], r"--policy .*a\.yaml: .*line \d"),
            (["--policy", self.file("b.yaml", head + "profilez: []\n")], r"--policy .*b\.yaml:\d+: profilez: unknown field"),
            (["--policy", self.file("c.yaml", head + "profiles: [{name: p, pluginConfig: [{name: PodLifetime}]}]\n")],
             r'profiles\[0\]\.pluginConfig\[0\]\.name: "PodLifetime" is no plugin .*; the nearest is PodLifeTime;'),
            (["--policy", self.file("d.yaml", head + "profiles: [{name: p, pluginConfig: [{name: LowNodeUtilization, args: "
                                    "{thresholds: {cpu: 101}, targetThresholds: {cpu: 101}}}]}]\n")],
             r"args\.thresholds\[cpu\]: 101 is not in the range from 0 to 100"),
            (["--policy", self.file("e.yaml", head + "profiles: [{name: p, pluginConfig: [{name: DefaultEvictor, args: "
                                    "{priorityThreshold: {name: high}}}]}]\n")],
             r"priorityThreshold\.name: no pod of the cluster has the priority class high"),
        )
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                out, err = self.run_plan(*arguments, "--master", api.url, status=2)
                self.assertEqual(out, "")
                self.assertRegex(err, message)
                self.assertEqual(err.count("\n"), 1, err)
        _, err = self.run_plan("--policy", POLICY, "--master", "http://127.0.0.1:1", status=1)
        self.assertRegex(err, r"refused")

    def test_the_page(self):
        _, api = self.api_server(0, "--no-controllers")
        self.shop(api)
        page = PAGE.read_text()
        self.assertGreater(len(CONSOLE.findall(page)), 0)
        policy = POLICY.read_text()
        self.assertIn(f"```yaml\n{policy[policy.index('apiVersion'):]}```", page)

        def real(match: re.Match) -> str:
            out, err = self.run_plan(*shlex.split(match.group(1))[3:], "--master", api.url)
            self.assertEqual(err, "")
            self.assertTrue(all(len(line) <= 100 for line in out.splitlines()), out)
            return f"```console\n$ {match.group(1)}\n{out}```"

        written = CONSOLE.sub(real, page)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(page, written, "run with BERTH_WRITE_DOCS=1 to write docs/rebalance.md")


if __name__ == "__main__":
    unittest.main()
