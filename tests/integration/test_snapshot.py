# SPDX-License-Identifier: Apache-2.0
"""berth snapshot with `berth apiserver`, and with a server that does not allow it to read everything."""

import json
import os
import stat
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import Api, BerthTest, berth_binary, clean_environment, pod

TIME_LIMIT_S = 60.0
PODS = "/api/v1/namespaces/default/pods"


class Gate:
    """A proxy for an API server that refuses some paths like an API server without the right."""

    def __init__(self, api: Api, forbidden: dict[str, int]) -> None:
        gate = self
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                gate.asked.append(path)
                if path in forbidden:
                    resource = path.rsplit("/", 1)[1]
                    reason = {403: "Forbidden", 404: "NotFound"}[forbidden[path]]
                    message = f'{resource} is forbidden: User "viewer" cannot list resource "{resource}" at the cluster scope'
                    self.answer(forbidden[path], json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                                             "message": message, "reason": reason, "code": forbidden[path]}))
                else:
                    status, answer = api.call("GET", self.path)
                    self.answer(status, json.dumps(answer))

            def answer(self, status: int, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Snapshot(BerthTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "cluster.zst"

    def berth(self, *arguments, status: int = 0) -> tuple[str, str]:
        done = subprocess.run([berth_binary(), *map(str, arguments)], capture_output=True, text=True, errors="replace",
                              timeout=TIME_LIMIT_S, env=clean_environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout, done.stderr

    def lines(self, path: Path | None = None) -> list[dict]:
        done = subprocess.run(["zstd", "-dc", str(path or self.file)], capture_output=True, text=True, check=True,
                              timeout=TIME_LIMIT_S)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def cluster(self, nodes: int = 3, pods: int = 2) -> Api:
        _, api = self.api_server(nodes)
        for number in range(pods):
            body = pod(f"secretweb-{number}")
            body["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
            status, answer = api.call("POST", PODS, body)
            self.assertEqual(status, 201, answer)
        return api

    def gate(self, api: Api, forbidden: dict[str, int]) -> Gate:
        gate = Gate(api, forbidden)
        self.addCleanup(gate.close)
        return gate

    def test_a_cluster_becomes_a_file(self):
        api = self.cluster()
        out, err = self.berth("snapshot", "-o", self.file, "--master", api.url)
        self.assertRegex(out, r"^\S+/cluster\.zst: 3 nodes, 2 pods, \d+ other objects, Kubernetes v\S+, "
                              r"read \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, \d+ KiB\n$")
        self.assertEqual(err, "")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        header, *objects, end = self.lines()
        self.assertEqual((header["format"], header["version"]), ("berth-snapshot", 1))
        self.assertEqual(end["end"]["source"], api.url)
        self.assertEqual(end["end"]["leftOut"], [])
        self.assertEqual({name: count for name, count in end["end"]["counts"].items() if name in ("Node", "Pod")},
                         {"Node": 3, "Pod": 2})
        self.assertEqual(len(objects), sum(end["end"]["counts"].values()))
        self.assertNotIn("hunter2", json.dumps(objects))
        self.assertNotIn("managedFields", json.dumps(objects))
        self.assertEqual(os.listdir(self.folder), ["cluster.zst"])

    def test_what_is_there_stays(self):
        api = self.cluster(1, 0)
        self.file.write_text("mine")
        _, err = self.berth("snapshot", "-o", self.file, "--master", api.url, status=2)
        self.assertEqual(err, f"berth: {self.file}: is there already; --force writes over it\n")
        self.assertEqual(self.file.read_text(), "mine")
        self.berth("snapshot", "-o", self.file, "--master", api.url, "--force")
        self.assertEqual(self.lines()[-1]["end"]["counts"]["Node"], 1)

    def test_anonymous(self):
        api = self.cluster()
        out, _ = self.berth("snapshot", "-o", self.file, "--master", api.url, "--anonymize")
        self.assertRegex(out, r", anonymous\n$")
        text = json.dumps(self.lines())
        for word in ("secretweb", "127.0.0.1", "hunter2"):
            self.assertNotIn(word, text)
        self.assertIn("kubernetes.io/hostname", text)
        names = [line["object"]["metadata"]["name"] for line in self.lines()[1:-1] if line["kind"] == "Pod"]
        self.assertEqual(len(set(names)), 2)
        self.assertEqual(*[name.rsplit("-", 1)[0] for name in names])
        other = self.folder / "other.zst"
        self.berth("snapshot", "-o", other, "--master", api.url, "--anonymize")
        again = [line["object"]["metadata"]["name"] for line in self.lines(other)[1:-1] if line["kind"] == "Pod"]
        self.assertNotEqual(names, again, "each snapshot has a key of its own")

    def test_a_role_that_may_not_read_everything(self):
        api = self.cluster()
        gate = self.gate(api, {"/apis/storage.k8s.io/v1/csinodes": 403, "/apis/resource.k8s.io/v1/resourceslices": 404})
        out, err = self.berth("snapshot", "-o", self.file, "--master", gate.url)
        self.assertIn("3 nodes, 2 pods", out)
        lines = err.splitlines()
        self.assertEqual(len(lines), 2, err)
        self.assertTrue(lines[0].startswith("berth: warning: not read: csinodes: forbidden: csinodes is forbidden"), err)
        self.assertTrue(lines[1].startswith("berth: warning: not read: resourceslices: not served: "), err)
        self.assertEqual(len(self.lines()[-1]["end"]["leftOut"]), 2)
        self.assertFalse([path for path in gate.asked if "secrets" in path or "configmaps" in path], gate.asked)

    def test_without_nodes_or_a_server_there_is_no_file(self):
        gate = self.gate(self.cluster(1, 0), {"/api/v1/nodes": 403})
        _, err = self.berth("snapshot", "-o", self.file, "--master", gate.url, status=1)
        self.assertRegex(err, r"^berth: reading http://127\.0\.0\.1:\d+: listing nodes: nodes is forbidden: .*; needed is the "
                              r"right to list nodes in the whole cluster: a ClusterRole with verbs \[list\], "
                              r"apiGroups \[\"\"\], resources \[nodes\]\n$")
        self.assertEqual(os.listdir(self.folder), [])
        _, err = self.berth("snapshot", "-o", self.folder / "none" / "x", "--master", gate.url, status=2)
        self.assertEqual(err, f"berth: {self.folder}/none/x: no such file or directory\n")
        _, err = self.berth("snapshot", "--master", gate.url, status=2)
        self.assertEqual(err, "berth: snapshot: which file? -o FILE writes one, --check FILE reads one\n")

    def test_a_file_is_read_again_unless_it_is_bad(self):
        api = self.cluster()
        done = pod("done", scheduler="nobody")
        api.create(PODS, done)
        status, answer = api.call("PATCH", f"{PODS}/done/status", {"status": {"phase": "Succeeded"}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 5})
        gate = self.gate(api, {"/apis/storage.k8s.io/v1/csinodes": 403})
        written, _ = self.berth("snapshot", "-o", self.file, "--master", gate.url)
        out, err = self.berth("snapshot", "--check", self.file)
        self.assertIn(": 3 nodes, 3 pods, ", out)
        self.assertEqual(out, written)
        self.assertTrue(err.startswith("berth: warning: not read: csinodes: forbidden: "), err)

        good, bad = self.file.read_bytes(), self.folder / "bad.zst"
        newer = "\n".join(['{"format":"berth-snapshot","version":9,"berth":"7.0.0"}', "whatever"]) + "\n"
        for name, content, want in [
                ("truncated", good[:-20], "is cut off\n"),
                ("damaged", good[:len(good) // 2] + b"????" + good[len(good) // 2 + 4:], "is damaged: "),
                ("not zstd", b"hello", "is not compressed with zstd"),
                ("empty", b"", "is no snapshot of berth: it is empty"),
                ("something else", self.compressed("{}\n"), "is no snapshot of berth"),
                ("a newer format", self.compressed(newer), "has format 9, written by berth 7.0.0; this berth, "),
        ]:
            with self.subTest(name):
                bad.write_bytes(content)
                out, err = self.berth("snapshot", "--check", bad, status=1)
                self.assertEqual(out, "")
                self.assertTrue(err.startswith(f"berth: {bad}: {want}"), err)
                self.assertEqual(err.count("\n"), 1, err)

    @staticmethod
    def compressed(text: str) -> bytes:
        return subprocess.run(["zstd", "-c"], input=text.encode(), capture_output=True, check=True, timeout=TIME_LIMIT_S).stdout


if __name__ == "__main__":
    unittest.main()
