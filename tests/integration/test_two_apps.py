# SPDX-License-Identifier: Apache-2.0
"""examples/two-apps on the embedded cluster, as in its README: each app is placed on one node, by the rule in C++ and
in Lua."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT, Api, BerthTest, Process, clean_environment, node_of, wait_until

EXAMPLE = ROOT / "examples" / "two-apps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def run(*arguments: str) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=clean_environment(), check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(arguments)}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")


class TwoApps(BerthTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory(prefix="berth-two-apps-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.example = Path(cls.temporary.name) / "two-apps"
        shutil.copytree(EXAMPLE, cls.example)

    def create_apps(self, api: Api) -> None:
        """Like kubectl apply -f apps.yaml, for machines without kubectl."""
        text = (self.example / "apps.yaml").read_text()
        apps = re.findall(r"metadata: \{name: (\w+), labels: \{app: (\w+)\}\}", text)
        self.assertEqual(apps, [("red", "red"), ("blue", "blue")])
        self.assertEqual(text.count("schedulerName: two-apps"), 2)
        replicas = [int(n) for n in re.findall(r"replicas: (\d+)", text)]
        self.assertEqual(replicas, [4, 4])
        for (name, app), count in zip(apps, replicas):
            template = {"metadata": {"labels": {"app": app}}, "spec": {"schedulerName": "two-apps", "containers": [
                {"name": "app", "image": "nginx:1.27", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}}
            api.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
                "replicas": count, "selector": {"matchLabels": {"app": app}}, "template": template}})

    def nodes_by_app(self, api: Api) -> dict[str, list[str]]:
        nodes: dict[str, list[str]] = {}
        for pod in api.pods():
            nodes.setdefault(pod["metadata"]["labels"]["app"], []).append(node_of(pod))
        return nodes

    def check(self, *arguments: str) -> None:
        _, api = self.api_server(nodes=4)
        berth = Process(self, "run", "--master", api.url, *arguments)
        berth.wait_for("err", "Starting")
        self.create_apps(api)
        nodes = wait_until("all eight pods have a node", lambda: (n := self.nodes_by_app(api)) and sorted(
            len([node for node in of if node]) for of in n.values()) == [4, 4] and n)
        self.assertEqual({app: len(set(of)) for app, of in nodes.items()}, {"red": 1, "blue": 1}, nodes)
        self.assertNotEqual(nodes["red"][0], nodes["blue"][0])

    def test_in_lua(self) -> None:
        self.check("--config", str(self.example / "profile-lua.yaml"))

    def test_in_cpp(self) -> None:
        prefix = Path(self.temporary.name) / "prefix"
        run("cmake", "--install", os.environ["BERTH_BUILD"], "--prefix", str(prefix))
        build = self.example / "build"
        run("cmake", "-S", str(self.example), "-B", str(build), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['BERTH_CXX']}", "-DCMAKE_CXX_FLAGS=-O1 -Wall -Wextra -Werror")
        run("cmake", "--build", str(build))
        self.check("--config", str(self.example / "profile.yaml"), "--plugin-dir", str(build))

    def test_the_second_app_waits_for_a_node(self) -> None:
        _, api = self.api_server(nodes=1)
        berth = Process(self, "run", "--master", api.url, "--config", str(self.example / "profile-lua.yaml"))
        berth.wait_for("err", "Starting")
        self.create_apps(api)

        def waiting():
            pods = [pod for pod in api.pods() if not node_of(pod)]
            said = {c["message"] for pod in pods for c in pod.get("status", {}).get("conditions", []) if c["type"] == "PodScheduled"}
            return len(pods) == 4 and len(said) == 1 and said.pop()
        message = wait_until("the four pods of one app wait", waiting)
        self.assertTrue(message.startswith("0/1 nodes are available: 1 node(s) run another app."), message)


if __name__ == "__main__":
    unittest.main(verbosity=2)
