# SPDX-License-Identifier: Apache-2.0
"""berth explain podgroup against `berth apiserver`.

With BERTH_WRITE_DOCS=1 its outputs in docs/pod-groups.md are written anew."""

import json
import os
import re
import shlex
import subprocess
import unittest

from support import ROOT, Api, BerthTest, berth_binary, clean_environment

TIME_LIMIT_S = 120.0
PAGE = ROOT / "docs/pod-groups.md"
CONSOLE = re.compile(r"^```console\n\$ (berth explain podgroup [^\n]*)\n(.*?)^```$", re.S | re.M)
BY_GROUPS = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")
COLUMNS = 100


def node(name: str, cpu: str) -> dict:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


class ExplainPodGroup(BerthTest):
    def run_explain(self, api: Api, *arguments: str, status: int = 0) -> tuple[str, str]:
        done = subprocess.run([berth_binary(), "explain", "podgroup", *arguments, "--master", api.url], capture_output=True, text=True,
                              timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def training(self) -> Api:
        """The cluster of docs/pod-groups.md: room for three of four workers."""
        _, api = self.api_server(0, "--no-controllers")
        api.create_all(ROOT / "examples/clusters/pod-groups.yaml")
        return api

    def test_the_page(self):
        api = self.training()
        page = PAGE.read_text()
        self.assertGreaterEqual(len(CONSOLE.findall(page)), 1)

        def real(match: re.Match) -> str:
            out, err = self.run_explain(api, *shlex.split(match.group(1))[3:], status=3)
            self.assertEqual(err, "")
            self.assertTrue(all(len(line) <= COLUMNS for line in out.splitlines()), out)
            return f"```console\n$ {match.group(1)}\n{out}```"

        written = CONSOLE.sub(real, page)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(page, written, "run with BERTH_WRITE_DOCS=1 to write docs/pod-groups.md")

    def test_answers(self):
        api = self.training()
        said = json.loads(self.run_explain(api, "default/training-1", *BY_GROUPS, "-o", "json", status=3)[0])
        self.assertEqual((said["state"], said["policy"], said["minCount"], said["fitting"]), ("Refused", "gang", 4, 3))
        self.assertEqual([each["name"] for each in said["pods"]], [f"training-1-{number}" for number in range(4)])
        self.assertEqual(said["cluster"]["leftOut"], [])
        self.assertIn("state: Refused\n", self.run_explain(api, "training-1", *BY_GROUPS, "-o", "yaml", status=3)[0])
        wide = self.run_explain(api, "training-1", *BY_GROUPS, "-o", "wide", status=3)[0]
        self.assertIn("0/2 nodes are available: 2 Insufficient cpu.", wide)
        api.create("/api/v1/nodes", node("large-3", "4"))
        said = json.loads(self.run_explain(api, "training-1", *BY_GROUPS, "-o", "json")[0])
        self.assertEqual((said["state"], said["fitting"]), ("Fits", None))
        self.assertEqual({each["node"] for each in said["pods"]}, {"large-1", "large-2", "large-3"})

    def test_what_is_wrong_is_one_line(self):
        api = self.training()
        for arguments, status, message in (
                (("trainng-1", *BY_GROUPS), 1, 'there is no PodGroup "trainng-1" in namespace "default"; did you mean "training-1"?'),
                (("other/training-1", *BY_GROUPS), 1, 'in namespace "other"; there is one in namespace "default"'),
                (("training-1",), 2, "pods are scheduled one by one here: pod groups need --kubernetes-version 1.37 and "
                                     "--feature-gates GenericWorkload=true, or the plugin PodGroupAnnotations in --config"),
                (("training-1", "--kubernetes-version", "1.33"), 2, "1.33 not in {auto,1.34,1.35,1.36,1.37,1.38}"),
                ((), 2, "PODGROUP is required")):
            with self.subTest(arguments):
                out, err = self.run_explain(api, *arguments, status=status)
                self.assertEqual(out, "")
                self.assertIn(message, err)
                self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
