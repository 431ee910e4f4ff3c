# SPDX-License-Identifier: Apache-2.0
"""berth buy and berth buy catalogue; docs/buy.md shows what they print.

BERTH_WRITE_DOCS=1 writes the outputs of that page anew.
"""

import json
import os
import re
import subprocess
import unittest

from support import ROOT, BerthTest, berth_binary, clean_environment

PAGE = ROOT / "docs/buy.md"
BLOCK = re.compile(r"^```console\n\$ (berth [^\n]+)\n(.*?)^```$", re.S | re.M)
TIME_LIMIT_S = 120.0
CATALOGUE = """
shapes:
- {name: small, cpu: 2, memory: 8Gi, pods: 20, price: 0.10, zones: [a, b]}
- {name: large, cpu: 8, memory: 32Gi, pods: 60, price: 0.36, zones: [a, b]}
"""


def deployment(name: str, replicas: int, cpu: str) -> dict:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [
            {"name": "c", "image": "registry/c:1", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}]}}}}


class Buy(BerthTest):
    def berth(self, *arguments, status: int = 0) -> tuple[str, str]:
        """Standard output and standard error."""
        done = subprocess.run([berth_binary(), *map(str, arguments)], capture_output=True, text=True, errors="replace", cwd=ROOT,
                              timeout=TIME_LIMIT_S, env={**clean_environment(), "HOME": "/nonexistent"}, check=False)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def json(self, *arguments, status: int = 0) -> dict:
        return json.loads(self.berth(*arguments, "-o", "json", status=status)[0])

    def test_the_page(self):
        text = PAGE.read_text()
        written = text
        blocks = BLOCK.findall(text)
        self.assertGreaterEqual(len(blocks), 3)
        for command, shown in blocks:
            done = subprocess.run([berth_binary(), *command.split()[1:]], capture_output=True, text=True, cwd=ROOT,
                                  timeout=TIME_LIMIT_S, env={**clean_environment(), "HOME": "/nonexistent"}, check=False)
            self.assertIn(done.returncode, (0, 3), done.stderr)
            out = "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"
            if os.environ.get("BERTH_WRITE_DOCS"):
                written = written.replace(f"$ {command}\n{shown}```", f"$ {command}\n{out}```")
            else:
                self.assertEqual(out, shown, command)
        if written != text:
            PAGE.write_text(written)

    def test_beside_a_cluster(self):
        _, api = self.api_server(0, "--no-controllers")
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "old", "labels": {"kubernetes.io/hostname": "old"}},
                                     "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}}})
        api.create("/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"}, "spec": {
            "containers": [{"name": "c", "image": "registry/c:1", "resources": {"requests": {"cpu": "6"}}}]}})
        catalogue = self.file("catalogue.yaml", CATALOGUE)
        found = self.json("buy", "--catalogue", catalogue, "--master", api.url)
        self.assertEqual((found["price"], found["pods"][0]["origin"], found["pods"][0]["node"]), ("0.36", "pending", "large-new-1"))
        manifest = self.file("web.json", json.dumps(deployment("web", 6, "1")))
        found = self.json("buy", "-f", manifest, "--catalogue", catalogue, "--master", api.url)
        self.assertEqual((found["price"], found["podsOnExistingNodes"] + found["podsOnNewNodes"], found["ignoredPendingPods"]), ("0.10", 6, 1))
        self.assertEqual(len(api.get("/api/v1/nodes")["items"]), 1, "nothing was changed")

    def test_quotas(self):
        """Pods that a ResourceQuota refuses are named, of a cluster and of a snapshot, and the rest is planned."""
        _, api = self.api_server(0, "--no-controllers")
        quotas = "/api/v1/namespaces/default/resourcequotas"
        api.create(quotas, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "cpu"}, "spec": {"hard": {"requests.cpu": "10"}}})
        counted = {**api.get(f"{quotas}/cpu"), "status": {"hard": {"requests.cpu": "10"}, "used": {"requests.cpu": "4"}}}
        self.assertEqual(api.call("PUT", f"{quotas}/cpu/status", counted)[0], 200)
        catalogue = self.file("catalogue.yaml", CATALOGUE)
        manifest = self.file("web.json", json.dumps(deployment("web", 8, "1")))
        snapshot = self.folder() / "cluster.zst"
        self.berth("snapshot", "-o", snapshot, "--master", api.url)
        for cluster in (("--master", api.url), ("--snapshot", snapshot)):
            found = self.json("buy", "-f", manifest, "--catalogue", catalogue, *cluster, status=3)
            self.assertEqual((found["price"], found["podsOnNewNodes"], found["leftPods"], found["refusedPods"]), ("0.30", 6, 0, 2))
            self.assertEqual([(each["workload"]["name"], each["pods"], each["reason"]) for each in found["refused"]], [
                ("web", 2, "exceeded quota: cpu, requested: requests.cpu=1, used: requests.cpu=10, limited: requests.cpu=10")])
        out, _ = self.berth("buy", "-f", manifest, "--catalogue", catalogue, "--master", api.url, status=3)
        self.assertTrue(out.startswith("2 pods of Deployment default/web are refused by the API server: exceeded quota: cpu"), out)
        self.json("buy", "--no-cluster", "-f", manifest, "--catalogue", catalogue)

    def test_the_plan_is_real(self):
        """The nodes of a plan, made, and the pods, created: `berth run` places each."""
        catalogue = self.file("catalogue.yaml", CATALOGUE)
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{i}", "labels": {"app": name}}, "spec": {
            "containers": [{"name": "c", "image": "registry/c:1", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}]}}
                for name, count, cpu in (("small", 9, "700m"), ("wide", 4, "3")) for i in range(count)]
        manifest = self.file("web.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        found = self.json("buy", "--no-cluster", "-f", manifest, "--catalogue", catalogue)
        _, api = self.api_server(0, "--no-controllers")
        for node in found["nodes"]:
            amounts = {"cpu": f"{node['cpu']['allocatableMilli']}m", "memory": str(node["memory"]["allocatableBytes"]), "pods": "60"}
            api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": amounts, "capacity": amounts},
                                         "metadata": {"name": node["name"], "labels": {"kubernetes.io/hostname": node["name"],
                                                                                       "topology.kubernetes.io/zone": node["zone"]}}})
        for pod in pods:
            api.create("/api/v1/namespaces/default/pods", pod)
        self.berth("run", "--once", "--leader-elect=false", "--secure-port=0", "--master", api.url)
        self.assertTrue(all(pod["spec"].get("nodeName") for pod in api.pods()))

    def test_manifests_of_nodes(self):
        catalogue = self.file("catalogue.yaml", CATALOGUE)
        manifest = self.file("web.json", json.dumps(deployment("web", 3, "1")))
        asked = ("buy", "--no-cluster", "-f", manifest, "--catalogue", catalogue)
        out, _ = self.berth(*asked, "--manifests-for", "cluster-api")
        self.assertIn("kind: MachineDeployment", out)
        self.assertIn("replicas: 2", out)
        _, err = self.berth(*asked, "--manifests-for", "karpenter", status=2)
        self.assertIn("nodeClassRef: a NodeClaim needs it", err)

    def test_catalogue_of_nodes(self):
        nodes = self.file("nodes.json", json.dumps({"kind": "List", "items": [
            {"kind": "Node", "metadata": {"name": f"n{i}", "labels": {"node.kubernetes.io/instance-type": "m7.large", "topology.kubernetes.io/zone": zone}},
             "status": {"allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "29"}}} for i, zone in enumerate("ab")]}))
        prices = self.file("prices.csv", "instance_type,price\nm7.large,0.1\n")
        out, err = self.berth("buy", "catalogue", "--nodes", nodes, "--prices", prices)
        self.assertEqual(err, "")
        manifest = self.file("web.json", json.dumps(deployment("web", 3, "1")))
        found = self.json("buy", "--no-cluster", "-f", manifest, "--catalogue", self.file("drawn.yaml", out))
        self.assertEqual((found["price"], len(found["nodes"])), ("0.30", 3))
        out, err = self.berth("buy", "catalogue", "--nodes", nodes)
        self.assertIn("left out, nothing says what they cost: m7.large", err)

    def test_bad_input(self):
        manifest = self.file("web.json", json.dumps(deployment("web", 3, "1")))
        many = self.file("many.json", json.dumps(deployment("web", 1_000_000, "1")))
        catalogue = self.file("catalogue.yaml", CATALOGUE)
        for text, want in (("shapes: [{name: a, cpu: 1, memory: 1Gi, price: -1}]", "shapes[0].price"),
                           ("shapes: [{name: a, cpu: 1, memory: 1GB, price: 1}]", "shapes[0].memory"),
                           ("nodes: []", "it should hold one list, shapes"), ("{", "")):
            _, err = self.berth("buy", "--no-cluster", "-f", manifest, "--catalogue", self.file("bad.yaml", text), status=2)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(want, err)
            self.assertIn("bad.yaml", err)
        for arguments in (("--catalogue", catalogue), ("-f", many, "--catalogue", catalogue), ("-f", manifest, "--catalogue", "/nonexistent"),
                          ("-f", manifest, "--catalogue", catalogue, "--zones", "x"), ("-f", manifest, "--catalogue", catalogue, "--spot-share", "2"),
                          ("-f", manifest, "--catalogue", catalogue, "--pending"), ("-f", manifest)):
            _, err = self.berth("buy", "--no-cluster", *arguments, status=2)
            self.assertLessEqual(len(err.splitlines()), 2, err)  # the second one points to the help
        # What fits nothing is said, and the rest is planned.
        found = self.json("buy", "--no-cluster", "-f", self.file("huge.json", json.dumps(
            {"kind": "List", "apiVersion": "v1", "items": [deployment("web", 2, "1"), deployment("huge", 1, "64")]})), "--catalogue", catalogue, status=3)
        self.assertEqual((found["price"], found["leftPods"], found["left"][0]["fitsNoShape"]), ("0.10", 1, True))
        # Many shapes, most of which take nothing.
        shapes = "shapes:\n" + "".join(f"- {{name: s{i}, cpu: {'100m' if i % 5 else 4}, memory: 4Gi, price: 0.{100 + i % 800}}}\n" for i in range(5000))
        found = self.json("buy", "--no-cluster", "-f", manifest, "--catalogue", self.file("shapes.yaml", shapes))
        self.assertEqual(found["price"], "0.10")
        self.assertTrue(any("take none of these pods: 4000" in note for note in found["notes"]), found["notes"])


if __name__ == "__main__":
    unittest.main()
