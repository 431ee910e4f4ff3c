# SPDX-License-Identifier: Apache-2.0
"""berth explain pod against `berth apiserver`, and docs/explain.md, whose outputs are these. BERTH_WRITE_DOCS=1 writes the
page's outputs anew."""

import json
import os
import re
import shlex
import socket
import subprocess
import threading
import unittest

from outside import QuietHandler, QuietServer
from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, free_port, pod

PAGE = ROOT / "docs/explain.md"
ROLE = ROOT / "deploy/questions-role.yaml"
TIME_LIMIT_S = 60.0
COLUMNS = 100
SHOP = "/api/v1/namespaces/shop/pods"


def shop_cluster(api: Api) -> None:
    """The cluster of docs/explain.md."""
    api.create_all(ROOT / "examples/clusters/explain.yaml")


def rights() -> set[tuple[str, str, str]]:
    """(group, resource, verb) of the role's rules."""
    text = ROLE.read_text()
    rules = re.findall(r"apiGroups: \[(.*?)\]\n +resources: \[(.*?)\]\n +verbs: \[(.*?)\]", text)
    if len(rules) != text.count("- apiGroups:"):
        raise AssertionError(f"{ROLE.name} is not read rightly")
    return {(group.strip('"'), resource, verb) for group, resources, verbs in rules
            for resource in resources.split(", ") for verb in verbs.split(", ")}


class Guard:
    """A proxy for an API server that passes requests which the rights allow, and /version. Records refused requests."""

    def __init__(self, test: unittest.TestCase, api: Api, allowed: set[tuple[str, str, str]]):
        self.refused = []
        outer = self

        class Handler(QuietHandler):
            def do_GET(self):
                path = self.path.partition("?")[0]
                match = re.fullmatch(r"/(?:api|apis/([^/]+))/[^/]+/([a-z]+)", path)
                if path != "/version" and not (match and (match[1] or "", match[2], "list") in allowed):
                    outer.refused.append(path)
                    what = match[2] if match else path
                    self.answer(403, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden",
                                      "message": f'{what} is forbidden: User "u" cannot list resource "{what}"'})
                    return
                self.answer(*api.call("GET", self.path))

            def write(self):
                outer.refused.append(f"{self.command} {self.path}")
                self.answer(403, {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"})

            do_POST = do_PUT = do_PATCH = do_DELETE = write

            def answer(self, status: int, body) -> None:
                self.reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())

        server = QuietServer(Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        server.start(test, threading.Event())


class Explain(BerthTest):
    def run_explain(self, url: str | None, *arguments: str, status: int = 0) -> tuple[str, str]:
        where = ["--master", url] if url else []
        done = subprocess.run([berth_binary(), "explain", *arguments, *where], capture_output=True, text=True, errors="replace",
                              timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def shop(self) -> Api:
        _, api = self.api_server()
        shop_cluster(api)
        return api

    def json_of(self, api: Api, name: str, status: int = 0) -> dict:
        out, err = self.run_explain(api.url, "pod", name, "-o", "json", status=status)
        self.assertEqual(err, "")
        return json.loads(out)

    def test_the_page_shows_what_is_printed(self):
        """Each block of docs/explain.md that begins with "$ berth explain" is the command's output.
        test_explain_port.py tests those with --scheduler."""
        api = self.shop()
        text = PAGE.read_text()
        blocks = re.findall(r"(?ms)^```console\n(\$ berth (explain [^\n]*)\n(.*?))^```", text)
        blocks = [block for block in blocks if "--scheduler" not in block[1]]
        self.assertGreaterEqual(len(blocks), 4)
        statuses = {"checkout": 3, "later": 3}
        for block, command, printed in blocks:
            words = shlex.split(command)[1:]
            name = next(word for word in words if word.startswith("shop/")).removeprefix("shop/")
            out, err = self.run_explain(api.url, *words, status=statuses.get(name, 0))
            self.assertEqual(err, "")
            if os.environ.get("BERTH_WRITE_DOCS"):
                text = text.replace(block, f"$ berth {command}\n{out}")
                continue
            with self.subTest(command):
                self.assertEqual(printed, out)
                for line in out.splitlines():
                    if not line.startswith("Refused:"):  # the scheduler's own text
                        self.assertLessEqual(len(line), COLUMNS, line)
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(text)

    def test_a_refused_pod(self):
        api = self.shop()
        said = self.json_of(api, "shop/checkout", status=3)
        self.assertEqual((said["pod"], said["state"], said["node"]), ("shop/checkout", "Refused", ""))
        self.assertEqual((said["nodeCount"], said["feasibleCount"]), (6, 0))
        self.assertEqual(sum(step["refused"] for step in said["funnel"]), 6)
        kinds = {change["kind"]: change for change in said["changes"]}
        self.assertEqual(kinds["request"]["what"], ["spec.containers[c].resources.requests.cpu: 1500m instead of 3"])
        self.assertEqual(kinds["toleration"]["what"], ["a toleration of gpu=true:NoSchedule"])
        self.assertEqual(kinds["toleration"]["nodes"], ["gpu-1"])
        self.assertEqual(kinds["node"]["what"], ["node old-1: uncordoned"])
        both = next(one for one in said["nodes"] if one["name"] == "gpu-2")
        self.assertEqual([refusal["plugin"] for refusal in both["refusals"]], ["TaintToleration", "NodeResourcesFit"])
        self.assertEqual(said["preemption"]["node"], "b-1")
        self.assertTrue(said["wokenBy"])
        out, _ = self.run_explain(api.url, "pod", "-n", "shop", "checkout", "-o", "yaml", status=3)
        self.assertIn("state: Refused\n", out)
        # Applies the change that the explanation names.
        status, answer = api.call("PATCH", "/api/v1/nodes/old-1", {"spec": {"unschedulable": None}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        said = self.json_of(api, "shop/checkout")
        self.assertEqual((said["state"], said["node"], said["feasibleCount"]), ("Fits", "old-1", 1))

    def test_placed_gated_and_fitting_pods(self):
        api = self.shop()
        said = self.json_of(api, "shop/batch-2")
        self.assertEqual((said["state"], said["node"]), ("Placed", "b-1"))
        self.assertGreaterEqual(said["rank"], 1)
        self.assertEqual(said["feasibleCount"], 3)
        for one in said["nodes"][:3]:
            self.assertEqual(sum(score["weighted"] for score in one["scores"]), one["total"])
        said = self.json_of(api, "shop/report")
        self.assertEqual(said["state"], "Fits")
        self.assertIn(said["node"], [one["name"] for one in said["nodes"][:said["bestCount"]]])
        said = self.json_of(api, "shop/later", status=3)
        self.assertEqual(said["state"], "Gated")
        self.assertIn("example.com/quota", said["message"])

    def test_another_schedulers_pod(self):
        api = self.shop()
        api.create(SHOP, pod("foreign", "1", scheduler="elsewhere"))
        said = self.json_of(api, "shop/foreign", status=3)
        self.assertEqual((said["state"], said["askedProfile"]), ("Waits", "default-scheduler"))
        self.assertIn('it waits for the scheduler "elsewhere"', said["message"])

    def test_several_pods_and_all_that_waits(self):
        api = self.shop()
        out, _ = self.run_explain(api.url, "pod/shop/checkout", "pod/shop/batch-2", status=3)
        self.assertEqual(re.findall(r"(?m)^Pod: +(\S+)", out), ["shop/checkout", "shop/batch-2"])
        names = self.file("names", "pod/batch-1\npod/batch-2\n")
        out, _ = self.run_explain(api.url, "-n", "shop", "-f", str(names), "-o", "json")
        self.assertEqual([one["pod"] for one in json.loads(out)["items"]], ["shop/batch-1", "shop/batch-2"])
        _, err = self.run_explain(api.url, "deployment/shop/none", status=1)
        self.assertEqual(err, "berth: the cluster has no pod of Deployment shop/none\n")
        _, err = self.run_explain(api.url, "checkout", status=2)
        self.assertIn("should be KIND/NAME", err)
        self.run_explain(api.url, status=2)
        out, _ = self.run_explain(api.url, "--pending", status=3)
        self.assertRegex(out, r"(?m)\A3 pods wait for a node\.$")
        self.assertRegex(out, r"(?m)^3 Insufficient cpu, 2 node\(s\) had untolerated taint\(s\), 1 node\(s\) were unschedulable$")
        self.assertRegex(out, r"(?m)^  Pod shop/checkout +1 ")
        self.assertRegex(out, r"(?m)^Gated: ")
        out, _ = self.run_explain(api.url, "--pending", "-n", "other", "-o", "json")
        self.assertEqual(json.loads(out)["pods"], 0)

    def test_a_pod_that_has_ended_is_there(self):
        api = self.shop()
        done = api.create(SHOP, pod("done", "1", nodeName="a-1"))
        status, answer = api.call("PUT", SHOP + "/done/status", {**done, "status": {"phase": "Succeeded"}})
        self.assertEqual(status, 200, answer)
        said = self.json_of(api, "shop/done")
        self.assertEqual((said["state"], said["node"]), ("Ended", "a-1"))

    def test_the_namespace_is_that_of_the_kubeconfig(self):
        api = self.shop()
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
                  "contexts": [{"name": "x", "context": {"cluster": "x", "namespace": "shop"}}],
                  "clusters": [{"name": "x", "cluster": {"server": api.url}}]}
        path = str(self.file("kubeconfig", json.dumps(config)))
        out, _ = self.run_explain(None, "pod", "web-1", "--kubeconfig", path)
        self.assertIn("shop/web-1", out)

    def test_a_configuration_decides(self):
        api = self.shop()
        path = str(self.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                             "profiles:\n- plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}\n"))
        out, _ = self.run_explain(api.url, "pod", "shop/checkout", "--config", path, "-o", "json")
        self.assertEqual(json.loads(out)["node"], "gpu-1")

    def test_what_berth_does_not_have_is_reported(self):
        api = self.shop()
        path = str(self.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                             "profiles:\n- plugins: {filter: {enabled: [{name: Ghost}]}}\n"
                             "extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n"))
        _, err = self.run_explain(api.url, "pod", "shop/checkout", "--config", path, status=3)
        self.assertEqual(len(err.splitlines()), 2, err)
        self.assertRegex(err, 'plugin "Ghost" is unknown here')
        self.assertRegex(err, "extender http://127.0.0.1:1 is not asked")

    def test_the_role_is_enough(self):
        """deploy/questions-role.yaml has exactly the rights that are needed."""
        api = self.shop()
        guard = Guard(self, api, rights())
        with_role, err = self.run_explain(guard.url, "pod", "shop/checkout", "-o", "json", status=3)
        self.assertEqual((err, guard.refused), ("", []))
        self.assertEqual(with_role, self.run_explain(api.url, "pod", "shop/checkout", "-o", "json", status=3)[0])
        self.assertEqual({verb for _, _, verb in rights()}, {"list"})

    def test_without_a_right(self):
        api = self.shop()
        guard = Guard(self, api, rights() - {("storage.k8s.io", "csinodes", "list")})
        out, err = self.run_explain(guard.url, "pod", "shop/checkout", status=3)
        self.assertIn("Refused:", out)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertRegex(err, "berth: warning: not read: csinodes: forbidden")
        for resource in ("nodes", "pods"):
            with self.subTest(resource):
                guard = Guard(self, api, rights() - {("", resource, "list")})
                out, err = self.run_explain(guard.url, "pod", "shop/checkout", status=1)
                self.assertEqual(out, "")
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertRegex(err, f"the right to list {resource}")

    def test_what_is_wrong_is_one_line(self):
        api = self.shop()
        cases = [
            (1, "no such pod", ["pod", "shop/chekout"], 'no pod "chekout" in namespace "shop"; did you mean "checkout"'),
            (1, "another namespace", ["pod", "checkout"], 'in namespace "default"; there is one in namespace "shop"'),
            (1, "no such namespace", ["pod", "shpo/x"], 'there is no pod "x" in namespace "shpo"'),
            (2, "no pod", ["pod"], "POD"),
            (2, "not the name of a namespace", ["pod", "-n", "A_B", "x"], '"A_B" should be the name of a namespace'),
            (2, "no such output", ["pod", "x", "-o", "xml"], "xml"),
            (2, "no such file", ["pod", "x", "--config", "/nowhere/c.yaml"], "--config /nowhere/c.yaml"),
            (2, "not a configuration", ["pod", "x", "--config", str(self.file("c.yaml", "kind: Pod\n"))], "--config .*c.yaml"),
        ]
        for status, name, arguments, pattern in cases:
            with self.subTest(name):
                out, err = self.run_explain(api.url, *arguments, status=status)
                self.assertEqual(out, "")
                self.assertEqual(len(err.splitlines()), 1, err)
                self.assertRegex(err, pattern)
        with self.subTest("nothing"):
            self.assertRegex(self.run_explain(None, status=2)[1], "pod NAME, KIND/NAME, -l SELECTOR or --pending")
        with self.subTest("no server"):
            _, err = self.run_explain(f"http://127.0.0.1:{free_port()}", "pod", "shop/checkout", status=1)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertRegex(err, "reading http://127.0.0.1")

    def test_watching_answers_again_when_the_answer_changes(self):
        api = self.shop()
        watch = Process(self, "explain", "--watch", "pod/shop/checkout", "--master", api.url)
        watch.wait_for("out", r"^Refused: ")
        self.assertFalse(watch.has_ended())
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "large"},
                                     "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}})
        watch.wait_for("out", r"^Fits: .*it would go to large")
        self.assertEqual(watch.wait(), 0, watch.lines("err"))  # nothing waits any more
        self.assertEqual(sum(line.startswith("Refused: ") for line in watch.lines("out")), 1, "only a change is told")

    def test_it_can_be_interrupted(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            explain = Process(self, "explain", "pod", "x", "--master", f"http://127.0.0.1:{silent.getsockname()[1]}")
            connection, _ = silent.accept()
            with connection:
                connection.recv(1)  # the client has sent its request, and would wait for long
                self.assertEqual(explain.end(), 1)
        self.assertEqual(len(explain.lines("err")), 1, explain.lines("err"))


if __name__ == "__main__":
    unittest.main()
