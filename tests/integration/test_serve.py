# SPDX-License-Identifier: Apache-2.0
"""berth serve: each answer is the command's, on a cluster that changes and on snapshots; who may ask; bounds; and the API's
document (docs/reference/ask-api.yaml) says what the server does."""

import base64
import http.server
import json
import re
import socket
import ssl
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from support import ROOT, Api, BerthTest, Process, berth_binary, clean_environment, free_port, pod, wait_until
from test_capacity import node, pod as placed
from test_explain_port import Reviews, kubeconfig

DOCUMENT = ROOT / "docs/reference/ask-api.yaml"
TIME_LIMIT_S = 60.0
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: CPU}}}]}
"""
ALLOW = ("--authorization-always-allow-paths", "/ask/*", "--authorization-always-allow-paths", "/metrics")
POLICY = ROOT / "examples/rebalance/policy.yaml"
CATALOGUE = ROOT / "examples/buy/catalogue.yaml"
PACKED = ROOT / "examples/simulate/packed.yaml"
FROM_FILE = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Script}]}}
  pluginConfig: [{name: Script, args: {file: /etc/hostname}}]
"""
MANY = FROM_FILE.split("profiles:")[0] + "profiles:\n" + "".join(f"- schedulerName: p{i}\n" for i in range(101))


class Server:
    """A `berth serve` that everybody may ask."""

    def __init__(self, test: BerthTest, *arguments: str):
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.process = Process(test, "serve", "--bind-address", "127.0.0.1", "--secure-port", str(self.port), *arguments)
        wait_until("the cluster has been read", lambda: self.ask("GET", "")[0] == 200 and self.ask("GET", "")[1]["ready"])

    def send(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None):
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers or {})
        try:
            with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=TIME_LIMIT_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()
        except (urllib.error.URLError, ConnectionError):
            return 0, {}, b""

    def ask(self, method: str, question: str, body=None):
        data = None if body is None else json.dumps(body).encode()
        status, _, answer = self.send(method, f"/ask/v1{'/' + question if question else ''}", data)
        return status, json.loads(answer) if answer else {}

    def metric(self, pattern: str) -> float:
        text = self.send("GET", "/metrics")[2].decode()
        return sum(float(value) for value in re.findall(rf"^{pattern} (\S+)$", text, re.M))


class ServeTest(BerthTest):
    """A cluster to ask about."""

    def berth(self, *arguments, statuses=(0, 3)) -> subprocess.CompletedProcess:
        done = subprocess.run([berth_binary(), *map(str, arguments)], capture_output=True, text=True, timeout=TIME_LIMIT_S,
                              env={**clean_environment(), "HOME": "/nonexistent"})
        self.assertIn(done.returncode, statuses, (arguments, done.stdout, done.stderr))
        return done

    def cluster(self) -> Api:
        _, api = self.api_server(0, "--no-controllers")
        for name, cpu in (("a", "4"), ("b", "3"), ("c", "2")):
            api.create("/api/v1/nodes", node(name, cpu))
        owner = ("apps/v1", "ReplicaSet", "db-5c7")
        for index, on in enumerate("aabc"):
            each = placed(f"db-{index}", on, "db", "500m", owner)
            api.create("/api/v1/namespaces/default/pods", each)
            api.call("PATCH", f"/api/v1/namespaces/default/pods/db-{index}/status", {"status": {"phase": "Running"}},
                     Api.MERGE_PATCH)
        api.create("/api/v1/namespaces/default/pods", pod("big", "64"))
        return api


class Serve(ServeTest):
    def assert_same(self, server: Server, where: list, command: list, is_timed: bool = True) -> None:
        """The command says the same of the cluster as of the server, in JSON and as a table, and ends alike."""
        for form in ([], ["-o", "wide"], ["-o", "json"]):
            local = self.berth(*command, *where, *form)
            asked = self.berth(*command, "--server", server.url, "--server-insecure-skip-tls-verify", *form,
                               *(where if where[0] == "--snapshot" else []))
            out = [local.stdout, asked.stdout]
            if is_timed:
                out = [re.sub(r'"readAt":"[^"]*"', "", text) for text in out]
            if is_timed and command[:2] == ["explain", "--pending"]:  # how long a pod has waited, and what is padded by it
                out = [re.sub(r" *\b\d+(m\d+)?s\b *|(?<=econds\":)\d+", " AGE ", text) for text in out]
            self.assertEqual(out[0], out[1], (command, form))
            self.assertEqual(local.returncode, asked.returncode, (command, form))

    def commands(self) -> list:
        small, large = self.file("small.yaml", WEB.replace("CPU", "300m")), self.file("large.yaml", WEB.replace("CPU", "9"))
        return [["explain", "pod", "big"], ["explain", "pod", "db-1", "--nodes"], ["explain", "--pending"],
                ["simulate", "-f", small], ["simulate", "-f", large], ["simulate", "--remove-node", "a"],
                ["simulate", "-f", small, "--add-nodes", "2", "--node-like", "a"],
                ["capacity", "--cpu", "1"], ["capacity", "-f", small, "--require", "1000"], ["capacity", "--like", "db-1"],
                ["can-drain", "a"], ["can-drain", "a", "b", "c", "--force"], ["headroom"], ["headroom", "--require", "3"],
                ["rebalance", "plan", "--policy", POLICY],
                ["simulate", "-f", small, "--config", PACKED], ["simulate", "--config", PACKED],
                ["explain", "pod", "big", "--config", PACKED], ["can-drain", "a", "--config", PACKED],
                ["buy", "-f", large, "--pending", "--catalogue", CATALOGUE, "--effort", "1"],
                ["buy", "-f", small, "--catalogue", CATALOGUE, "--zones", "a", "--max-nodes", "2", "--replace", "--effort", "1"]]

    def test_answers_are_the_commands_answers(self):
        api = self.cluster()
        where = ["--master", api.url]
        server = Server(self, *where, *ALLOW)
        for command in self.commands():
            self.assert_same(server, where, command)
        # The cluster changes, and is followed.
        api.create("/api/v1/nodes", node("d", "7"))
        api.call("DELETE", "/api/v1/namespaces/default/pods/db-3?gracePeriodSeconds=0")
        wait_until("the server has heard of it",
                   lambda: server.ask("POST", "capacity", {"cpu": "1"})[1]["nodes"] == 4
                   and server.ask("POST", "explain", {"name": "db-3"})[0] == 404)
        for command in self.commands():
            self.assert_same(server, where, command)
        self.assertGreater(server.metric(r'berth_ask_questions_total\{outcome="yes",question="simulate"\}'), 0)

    def test_snapshots(self):
        api = self.cluster()
        snapshot = self.folder() / "shop.snapshot"
        self.berth("snapshot", "--master", api.url, "-o", snapshot)
        server = Server(self, "--snapshot", str(snapshot))
        for command in self.commands():
            if command[0] != "simulate" or "--remove-node" not in command:
                self.assert_same(server, ["--snapshot", str(snapshot)], command, is_timed=False)
        # One of its own, in place of the server's.
        other = self.folder() / "other.snapshot"
        api.create("/api/v1/nodes", node("e", "9"))
        self.berth("snapshot", "--master", api.url, "-o", other)
        text = base64.b64encode(other.read_bytes()).decode()
        self.assertEqual(server.ask("POST", "capacity", {"cpu": "1"})[1]["nodes"], 3)
        self.assertEqual(server.ask("POST", "capacity", {"cpu": "1", "snapshot": text})[1]["nodes"], 4)

    def test_bad_input(self):
        api = self.cluster()
        server = Server(self, "--master", api.url, *ALLOW)
        for question, body, status, message in (
                ("simulate", {"manifests": WEB.replace("CPU", "1m").replace("replicas: 3", "replicas: 1000000")}, 413, "more than 20000 pods"),
                ("simulate", {"manifests": "kind: ["}, 422, "manifests"),
                ("simulate", {"manifest": "x"}, 422, '"manifest" is no field of this question'),
                ("capacity", {"cpu": "1", "max": 2000000}, 422, "at most 1000000"),
                ("explain", {"name": "nobody"}, 404, "nobody"),
                ("buy", {"catalogue": "shapes: [{name: a, cpu: 1, price: -1}]"}, 422, "catalogue:1"),
                ("headroom", {"configuration": "kind: Pod"}, 422, 'configuration: [apiVersion: must be "kubescheduler.config'),
                ("headroom", {"configuration": FROM_FILE}, 422, "/etc/hostname: no files can be read here"),
                ("headroom", {"configuration": " " * (2 << 20)}, 413, "at most 256 KiB"),
                ("headroom", {"configuration": MANY}, 422, "profiles: at most 100 can be asked about, not 101"),
                ("nothing", {}, 404, "no such question")):
            code, answer = server.ask("POST", question, body)
            self.assertEqual(code, status, (question, answer))
            self.assertIn(message, answer["message"], question)
        self.assertEqual(server.send("POST", "/ask/v1/simulate", b"{")[0], 422)
        wrong = self.berth("headroom", "--server", server.url, "--server-insecure-skip-tls-verify", "--config",
                           self.file("wrong.yaml", "kind: Pod\n"), statuses=(2,))
        self.assertIn('configuration: [apiVersion: must be', wrong.stderr)
        # A hundred megabytes are not even read.
        self.assertIn(server.send("POST", "/ask/v1/simulate", b" " * (100 << 20))[0], (0, 413))
        self.assertEqual(server.ask("POST", "headroom", {})[0], 200)

    def test_a_client_that_hangs_up(self):
        api = self.cluster()
        huge = node("huge", "1000000", "1000Gi")
        huge["status"]["capacity"]["pods"] = huge["status"]["allocatable"]["pods"] = "10000000"
        api.create("/api/v1/nodes", huge)
        server = Server(self, "--master", api.url, *ALLOW, "--workers", "1", "--question-timeout", "10m")
        # It would be counted for many seconds, and another one waits behind it. Nobody waits for either.
        body = json.dumps({"cpu": "1m", "max": 1000000}).encode()
        peers = []
        for _ in range(2):
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=TIME_LIMIT_S)
            peers.append(ssl._create_unverified_context().wrap_socket(plain))
            peers[-1].sendall(b"POST /ask/v1/capacity HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_until("one is answered and one waits", lambda: server.metric("berth_ask_waiting_questions") == 1)
        for peer in peers:
            peer.close()
        self.assertEqual(server.ask("POST", "can-drain", {"nodes": ["a"]})[0], 200)
        wait_until("both are ended",
                   lambda: server.metric(r'berth_ask_questions_total\{outcome="cancelled",question="capacity"\}') == 2)

    def test_traces(self):
        """A question is a part of its client's trace, and what is left is sent at the end."""
        sent = []

        class Collector(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                sent.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        config = self.file("tracing.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"
                           f"endpoint: http://127.0.0.1:{collector.server_port}\nsamplingRatePerMillion: 1\n")
        server = Server(self, "--master", self.cluster().url, *ALLOW, "--tracing-config-file", str(config))
        trace = "0af7651916cd43dd8448eb211c80319c"
        status, _, _ = server.send("POST", "/ask/v1/can-drain", b'{"nodes": ["a"]}', {"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
        self.assertEqual(status, 200)
        server.process.end()
        spans = b"".join(body for path, body in sent if path == "/v1/traces")
        for part in (b"berth-serve", b"question can-drain", bytes.fromhex(trace), b"berth.outcome"):
            self.assertIn(part, spans)
        self.berth("serve", "--master", "http://127.0.0.1:1", "--tracing-config-file", self.file("bad.yaml", "kind: Pod\n"),
                   "--secure-port", free_port(), statuses=(2,))

    def test_who_may_ask(self):
        api = self.cluster()
        reviews = self.file("reviews.json", kubeconfig(Reviews(self, "/ask/v1/headroom", "post").url))
        server = Server.__new__(Server)
        server.port = free_port()
        server.url = f"https://127.0.0.1:{server.port}"
        server.process = Process(self, "serve", "--master", api.url, "--bind-address", "127.0.0.1", "--secure-port", str(server.port),
                                 "--authentication-kubeconfig", str(reviews), "--authorization-kubeconfig", str(reviews))
        wait_until("it is ready", lambda: server.send("GET", "/readyz")[0] == 200)
        jane = {"Authorization": "Bearer jane"}
        self.assertEqual(server.send("POST", "/ask/v1/headroom", b"{}", jane)[0], 200)
        self.assertEqual(server.send("POST", "/ask/v1/capacity", b"{}", jane)[0], 403)
        self.assertEqual(server.send("POST", "/ask/v1/headroom", b"{}")[0], 403, "nobody in particular")
        self.assertEqual(server.send("POST", "/ask/v1/headroom", b"{}", {"Authorization": "Bearer john"})[0], 401)
        snapshot = self.folder() / "shop.snapshot"
        self.berth("snapshot", "--master", api.url, "-o", snapshot)
        refused = self.berth("serve", "--snapshot", snapshot, "--bind-address", "::", "--secure-port", free_port(), statuses=(2,))
        self.assertIn("a snapshot is served on loopback", refused.stderr)

    def test_the_document_says_what_the_server_does(self):
        text = DOCUMENT.read_text()
        paths = re.findall(r"^  /ask/v1/([a-z-]+):$", text, re.M)
        api = self.cluster()
        server = Server(self, "--master", api.url, *ALLOW)
        self.assertEqual(server.ask("GET", "")[1]["questions"], paths)
        for path in paths:
            # The server names its fields when it is given one that it does not have.
            code, answer = server.ask("POST", path, {"nothing": 1})
            self.assertEqual(code, 422)
            fields = answer["message"].split("; it has ")[1].split(", ")
            schema = re.search(rf"^  /ask/v1/{path}:.*?schemas/(\w+)", text, re.M | re.S).group(1)
            block = re.search(rf"^    {schema}:\n(.*?)(?=^    \w|\Z)", text, re.M | re.S).group(1)
            documented = re.findall(r"^        (\w+): ", block, re.M)
            self.assertEqual(sorted(set(documented) - {"snapshot", "snapshotName", "configuration"}), sorted(fields), schema)


if __name__ == "__main__":
    unittest.main()
