# SPDX-License-Identifier: Apache-2.0
"""berth capacity, can-drain and headroom against `berth apiserver`; docs/capacity.md shows what they print.

BERTH_WRITE_DOCS=1 writes the outputs of that page anew.
"""

import json
import os
import re
import subprocess
import unittest

from support import ROOT, Api, BerthTest, berth_binary, clean_environment, node_of

PAGE = ROOT / "docs/capacity.md"
BLOCK = re.compile(r"^```console\n\$ (berth [^\n]+)\n(.*?)^```$", re.S | re.M)
TIME_LIMIT_S = 60.0
COLUMNS = 100


def node(name: str, cpu: str = "4", memory: str = "8Gi", zone: str = "a", **spec) -> dict:
    amounts = {"cpu": cpu, "memory": memory, "pods": "20"}
    return {"apiVersion": "v1", "kind": "Node", "spec": spec, "status": {"capacity": amounts, "allocatable": amounts},
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}}}


def pod(name: str, on: str, app: str, cpu: str = "1", owner: tuple[str, str, str] | None = None, **spec) -> dict:
    """`owner`: apiVersion, kind and name of the controller."""
    metadata = {"name": name, "labels": {"app": app}}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": f"uid-{owner[2]}",
                                        "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": on, "containers": [{"name": "c", "image": "registry/c:1",
                                                     "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}], **spec}}


def stateful(app: str) -> tuple[str, str, str]:
    return ("apps/v1", "StatefulSet", app)


class Capacity(BerthTest):
    def berth(self, api: Api | None, *arguments, status: int = 0, stdin: str = "") -> tuple[list[str], str]:
        """The lines of standard output, and standard error."""
        where = ["--master", api.url] if api else []
        done = subprocess.run([berth_binary(), *map(str, arguments), *where], capture_output=True, text=True, input=stdin,
                              errors="replace", timeout=TIME_LIMIT_S, env={**clean_environment(), "HOME": "/nonexistent"})
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout.splitlines(), done.stderr

    def json(self, api: Api, *arguments, status: int = 0) -> dict:
        return json.loads("\n".join(self.berth(api, *arguments, "-o", "json", status=status)[0]))

    def run_pods(self, api: Api, *pods: dict, namespace: str = "default") -> None:
        for each in pods:
            path = f"/api/v1/namespaces/{namespace}/pods"
            api.create(path, each)
            self.set_status(api, f"{path}/{each['metadata']['name']}", {"phase": "Running"})

    def example(self) -> Api:
        """The cluster that docs/capacity.md describes. Its pods' owners do not exist as objects."""
        _, api = self.api_server(0, "--no-controllers")
        api.create_all(ROOT / "examples/clusters/capacity.yaml")
        for each in api.pods():
            if node_of(each):
                self.set_status(api, f"/api/v1/namespaces/default/pods/{each['metadata']['name']}", {"phase": "Running"})
        self.set_status(api, "/apis/policy/v1/namespaces/default/poddisruptionbudgets/db", {"disruptionsAllowed": 1})
        return api

    def set_status(self, api: Api, path: str, status: dict) -> None:
        code, answer = api.call("PATCH", f"{path}/status", {"status": status}, Api.MERGE_PATCH)
        self.assertEqual(code, 200, answer)

    def test_capacity(self):
        api = self.example()
        found = self.json(api, "capacity", "--cpu", "1")
        self.assertEqual(found["kind"], "Capacity")
        self.assertEqual((found["nodes"], found["pods"], found["pendingPods"]), (6, 13, 1))
        shape = found["shapes"][0]
        self.assertEqual((shape["name"], shape["fits"], shape["isAtLimit"], shape["nodeCount"]), ("cpu=1", 4, False, 2))
        self.assertEqual({each["name"]: each["pods"] for each in shape["nodes"]}, {"node-5": 3, "node-4": 1})
        self.assertIn("Insufficient cpu", shape["stoppedBy"]["message"])
        self.assertEqual(sum(each["pods"] for each in shape["nodes"]), shape["fits"])
        self.assertTrue(found["cluster"]["source"].startswith("http://127.0.0.1"))
        # The pods that it reports as fitting do fit, and no more: berth itself places them.
        for number in range(shape["fits"] + 1):
            api.create("/api/v1/namespaces/default/pods", {**pod(f"more-{number}", "", "more"), "spec": {
                "containers": [{"name": "c", "image": "registry/c:1", "resources": {"requests": {"cpu": "1"}}}]}})
        self.berth(api, "run", "--once", "--leader-elect=false", "--secure-port=0", status=1)  # two fit nowhere
        placed = [each for each in api.pods() if each["metadata"]["name"].startswith("more-") and each["spec"].get("nodeName")]
        self.assertEqual(len(placed), shape["fits"])

        self.assertEqual(self.json(api, "capacity", "--cpu", "64")["shapes"][0]["fits"], 0)
        self.berth(api, "capacity", "--cpu", "64", "--require", "1", status=3)
        self.berth(api, "capacity", "--memory", "1Mi", "--require", "1")
        limited = self.json(api, "capacity", "--memory", "1Mi", "--max", "2")["shapes"][0]
        self.assertEqual((limited["fits"], limited["isAtLimit"], limited["stoppedBy"]), (2, True, None))
        like = self.json(api, "capacity", "--like", "db-0", "--like", "default/web-0", "--together")
        self.assertEqual([each["name"] for each in like["shapes"]], ["default/db-0", "default/web-0"])
        self.assertTrue(like["together"])
        manifest = json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
            "selector": {"matchLabels": {"app": "shop"}}, "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {
                "containers": [{"name": "c", "image": "registry/c:1", "resources": {"limits": {"cpu": "3"}}}],
                "tolerations": [{"operator": "Exists"}]}}}})
        found = self.json(api, "capacity", "-f", self.file("shop.yaml", manifest))["shapes"]
        self.assertEqual([(each["name"], each["requests"], each["fits"]) for each in found], [("default/shop", {"cpu": "3"}, 2)])
        out, _ = self.berth(api, "capacity", "-f", "-", "-n", "shop", "-o", "json", stdin=manifest)
        self.assertEqual(json.loads(out[0])["shapes"][0]["name"], "shop/shop")
        out, _ = self.berth(api, "capacity", "--cpu", "1", "-o", "yaml")
        self.assertIn("kind: Capacity", out)

    def test_can_drain(self):
        api = self.example()
        found = self.json(api, "can-drain", "node-5")
        self.assertEqual((found["canDrain"], [each["drain"] for each in found["pods"]]), (True, ["ignored"]))
        found = self.json(api, "can-drain", "node-1", status=3)
        said = {each["name"]: each for each in found["pods"]}
        self.assertEqual(said["db-0"]["budget"], "allows")
        self.assertEqual(said["db-0"]["goesTo"], "node-5", "the only one with two CPUs left")
        self.assertEqual(said["web-0"]["budget"], "forbids")
        self.assertEqual(said["agent-1"]["drain"], "ignored")
        self.berth(api, "can-drain", "node-4", status=3)
        forced = self.json(api, "can-drain", "node-4", "--force", status=3)  # web does not allow any eviction
        self.assertEqual({each["name"]: each["drain"] for each in forced["pods"]},
                         {"agent-4": "ignored", "lone": "lost", "web-3": "moves"})
        found = self.json(api, "can-drain", *(f"node-{n}" for n in range(1, 6)), "--force", status=3)
        db = next(each for each in found["pods"] if each["name"] == "db-0")
        self.assertEqual(db["goesTo"], "")
        self.assertIn("were unschedulable", db["refusal"]["message"])
        # The question has changed nothing.
        self.assertFalse(any(each["spec"].get("unschedulable") for each in api.get("/api/v1/nodes")["items"]))
        self.assertEqual(len(api.pods()), 14)

    def test_headroom(self):
        api = self.example()
        found = self.json(api, "headroom")
        self.assertEqual({(each["kind"], each["name"]) for each in found["workloads"]}, {("StatefulSet", "web"), ("StatefulSet", "db")})
        db = next(each for each in found["workloads"] if each["name"] == "db")
        self.assertEqual((db["pods"], db["nodes"], db["isAtLimit"]), (3, 3, False))
        self.assertEqual(len(db["failsWithout"]["nodes"]), db["survives"] + 1)
        self.berth(api, "headroom", "--require", str(db["survives"]))
        self.berth(api, "headroom", "--require", str(db["survives"] + 1), status=3)
        self.assertEqual(self.json(api, "headroom", "-n", "kube-system")["workloads"], [])

    def test_pods_of_other_scheduler_names(self):
        """Without --config the defaults are used for any scheduler name, and a line says so."""
        _, api = self.api_server()
        for name in ("node-1", "node-2"):
            api.create("/api/v1/nodes", node(name))
        self.run_pods(api, pod("web-0", "node-1", "web", owner=stateful("web"), schedulerName="berth"))
        says = 'berth: without --config, kube-scheduler\'s defaults decide for the schedulerName berth\n'
        for arguments in (("can-drain", "node-1"), ("headroom",), ("capacity", "--like", "web-0")):
            with self.subTest(arguments):
                out, err = self.berth(api, *arguments)
                self.assertNotIn("no profile", "\n".join(out))
                self.assertEqual(err, says)
        config = self.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
        out, _ = self.berth(api, "can-drain", "node-1", "--config", config, status=3)
        self.assertIn('no profile is called "berth" (--config gives', "\n".join(out))

    def test_bad_input(self):
        _, api = self.api_server()
        api.create("/api/v1/nodes", node("node-1"))
        self.run_pods(api, pod("web-0", "node-1", "web"))
        broken = self.file("broken.yaml", "kind: [")
        for arguments, status, want in (
                (("can-drain", "node-l"), 2, "berth: node-l: no such node; the nearest name is node-1\n"),
                (("can-drain", "node-1", "x", "y"), 2, "berth: x: no such node; the nearest name is node-1\n"
                                                       "berth: y: no such node; the nearest name is node-1\n"),
                (("can-drain",), 2, "berth: NODE is required (berth --help lists commands and flags)\n"),
                (("capacity", "--like", "web-O"), 2, "berth: --like default/web-O: no such pod; the nearest name is default/web-0\n"),
                (("capacity",), 2, None),
                (("capacity", "--cpu", "lots"), 2, None),
                (("capacity", "-f", broken), 2, None),
                (("capacity", "-f", "/nonexistent.yaml"), 2, None),
                (("capacity", "-f", self.file("pod.yaml", "\n\n{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: []}}")),
                 2, None),
                (("capacity", "--request", "gpu"), 2, None),
                (("capacity", "--cpu", "1", "--request", "cpu=2"), 2, "berth: the request of cpu is given twice\n"),
                (("capacity", "--request", "cpus=2"), 2, 'berth: the request of "cpus": should be cpu, memory, '
                 "ephemeral-storage, hugepages-SIZE or a name with a domain, for example nvidia.com/gpu\n"),
                (("capacity", "--request", "nvidia.com/gpu=0.5"), 2,
                 'berth: the request of "nvidia.com/gpu": "0.5" should be a whole number\n'),
                (("capacity", "--node-selector", "a=b c"), 2, None),
                (("capacity", "--cpu", "1", "--max", "0"), 2, None),
                (("headroom", "--max-losses", "0"), 2, None),
                (("headroom", "-n", "kube-sytem"), 2, None),
                (("headroom", "--config", broken), 2, None),
                (("capacity", "--cpu", "1", "--config", "/nonexistent.yaml"), 2, None),
        ):
            with self.subTest(arguments):
                out, err = self.berth(api, *arguments, status=status)
                self.assertEqual(out, [])
                self.assertTrue(err.startswith("berth: "), err)
                if want is None:
                    self.assertEqual(err.count("\n"), 1, err)
                else:
                    self.assertEqual(err, want)
        _, err = self.berth(None, "capacity", "--cpu", "1", "--master", "http://127.0.0.1:1", status=1)
        self.assertEqual(err.count("\n"), 1, err)

    def test_the_page_shows_what_they_print(self):
        api = self.example()
        page = PAGE.read_text()

        def printed(match: re.Match) -> str:
            command = match.group(1)
            done = subprocess.run([berth_binary(), *command.split()[1:], "--master", api.url], capture_output=True, text=True,
                                  timeout=TIME_LIMIT_S, env=clean_environment(), cwd=ROOT)
            self.assertIn(done.returncode, (0, 3), (command, done.stderr))
            text = done.stdout
            if "-o yaml" in command:
                text = re.sub(r"(?m)^(  source): .*", r"\1: https://10.0.0.1:6443", text)
                text = re.sub(r"(?m)^(  readAt): .*", r'\1: "2026-01-01T00:00:00Z"', text)
            else:
                for line in text.splitlines():
                    self.assertLessEqual(len(line), COLUMNS, line)
            return f"```console\n$ {command}\n{text}```"

        written = BLOCK.sub(printed, page)
        self.assertGreater(len(BLOCK.findall(page)), 3)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        self.assertEqual(page, written, "run this test with BERTH_WRITE_DOCS=1 to write it")


if __name__ == "__main__":
    unittest.main()
