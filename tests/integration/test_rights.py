# SPDX-License-Identifier: Apache-2.0
"""Each mode uses the rights of its role in deploy/ and no others, and reports each right that is taken away. With the
embedded API server behind a proxy that records requests and refuses some as RBAC would. tests/e2e/rights_test.go does
the same with RBAC itself."""

import http.client
import http.server
import json
import re
import subprocess
import threading
import unittest

from support import DEADLINE_S, ROOT, Api, BerthTest, Process, berth_binary, clean_environment, free_port, pod, wait_until

RULE = re.compile(r"apiGroups: \[(.*?)\].*?resources: \[(.*?)\](?:\s+resourceNames: \[.*?\])?.*?verbs: \[(.*?)\]", re.S)
PATH = re.compile(r"^/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)/(?:namespaces/[^/]+/(?=[^/?]+))?(?P<resource>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[^/]+))?)?$")
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]}
"""
CATALOGUE = "shapes: [{name: small, cpu: 2, memory: 8Gi, price: 0.1}]"
POLICY = ROOT / "examples/rebalance/policy.yaml"
COMPARES = "decisions are compared from now on"

Right = tuple[str, str]  # verb, and resource.group


def rights_of(text: str) -> set[Right]:
    """All rights in a file's roles."""
    found = set()
    for groups, resources, verbs in RULE.findall(text):
        for group in groups.split(","):
            for resource in resources.split(","):
                found |= {(verb.strip(), f"{resource.strip()}.{group.strip().strip(chr(34))}".rstrip(".")) for verb in verbs.split(",")}
    return found

# Resources that a scheduler following Kubernetes 1.37 reads; this server is older.
NEWER = {(verb, "devicetaintrules.resource.k8s.io") for verb in ("list", "watch")}
# Resources that a policy based on metrics-server reads.
MEASURED = {("list", f"{resource}.metrics.k8s.io") for resource in ("nodes", "pods")}


def role(name: str) -> set[Right]:
    return rights_of((ROOT / "deploy" / name).read_text())


def right_of(method: str, target: str) -> Right | None:
    """The right that a request needs; None: it is about no resource, and allowed for every user (/version)."""
    path, _, query = target.partition("?")
    match = PATH.match(path)
    if not match:
        return None
    verb = VERBS.get(method) or ("watch" if re.search(r"(^|&)watch=(true|1)", query) else "get" if match["name"] else "list")
    resource = match["resource"] + (f"/{match['sub']}" if match["sub"] else "")
    return verb, f"{resource}.{match['group'] or ''}".rstrip(".")


class Guard:
    """An HTTP proxy that records requests, and refuses those in `refused`. With `streams` a watch may begin with the
    existing objects, as API servers allow since 1.34; otherwise lists are requested."""

    def __init__(self, test: unittest.TestCase, port: int):
        guard = self
        self.streams = True
        self._lock = threading.Lock()
        self._asked: set[Right] = set()
        self.refused: set[Right] = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):  # keeps the test's output clean
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                right = right_of(self.command, self.path)
                if right:
                    guard.record(right)
                    if right in guard.refused:
                        return self.refuse(403, "Forbidden", f'{right[1]} is forbidden: User "nobody" cannot {right[0]} resource "{right[1]}"')
                if "sendInitialEvents=" in self.path and not guard.streams:
                    return self.refuse(422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
                upstream = http.client.HTTPConnection("127.0.0.1", port)
                try:
                    upstream.request(self.command, self.path, body or None, {name: value for name, value in self.headers.items()
                                                                            if name.lower() not in ("host", "content-length")})
                    answer = upstream.getresponse()
                    self.send_response(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                            self.send_header(name, value)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    while piece := answer.read1(1 << 16):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.wfile.flush()
                    self.wfile.write(b"0\r\n\r\n")
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                finally:
                    upstream.close()

            def refuse(self, status: int, reason: str, message: str):
                text = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
                                   "code": status, "message": message}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):  # a client that disconnects
                pass

        server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)

    def record(self, right: Right) -> None:
        with self._lock:
            self._asked.add(right)

    def begin(self, *refused: Right) -> None:
        """Clears the recorded requests, and refuses these from now on."""
        with self._lock:
            self._asked = set()
            self.refused = set(refused)

    def asked(self) -> set[Right]:
        with self._lock:
            return set(self._asked)


class Rights(BerthTest):
    def stage(self, nodes: int = 2) -> tuple[Api, Guard]:
        _, api = self.api_server(nodes)
        return api, Guard(self, int(api.url.rsplit(":", 1)[1]))

    def berth(self, guard: Guard, *arguments: str) -> str:
        """The complete output of a berth command that ends by itself; exit statuses other than 0 are allowed."""
        done = subprocess.run([berth_binary(), *arguments, "--master", guard.url], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False, env=clean_environment())
        return done.stdout + done.stderr

    def test_the_chart_gives_a_shadow_what_its_role_gives(self):
        def resources(path: str) -> set[str]:
            lists = re.findall(r"resources: \[(.*?)\]", (ROOT / path).read_text())
            return {each.strip() for text in lists for each in text.split(",")}

        for path in ("deploy/kustomize/shadow/berth.yaml", "deploy/chart/templates/rbac.yaml"):
            self.assertEqual(resources("deploy/shadow-role.yaml") - resources(path), set(), path)

    def test_the_chart_gives_questions_what_their_role_gives(self):
        def rules(path: str) -> set[tuple[str, ...]]:
            text = (ROOT / path).read_text()
            lists = re.findall(r"apiGroups: (\[.*?\])[,\s]+resources: \[(.*?)\],?\s+verbs: (\[.*?\])", text)
            return {(group, each.strip(), verbs) for group, names, verbs in lists for each in names.split(",")}

        self.assertEqual(rules("deploy/serve-role.yaml"), rules("deploy/chart/templates/questions.yaml"))
        asks = re.compile(r"nonResourceURLs: (\[.*?\]),?\s+verbs: (\[.*?\])")
        self.assertEqual(asks.findall((ROOT / "deploy/ask-role.yaml").read_text()),
                         asks.findall((ROOT / "deploy/chart/templates/questions.yaml").read_text()))

    def test_the_roles_are_read(self):
        self.assertIn(("list", "pods"), role("questions-role.yaml"))
        self.assertIn(("create", "pods/eviction"), role("rebalance-role.yaml"))
        self.assertIn(("update", "leases.coordination.k8s.io"), role("lease-role.yaml"))
        self.assertEqual(right_of("GET", "/apis/apps/v1/replicasets?watch=true"), ("watch", "replicasets.apps"))
        self.assertEqual(right_of("POST", "/api/v1/namespaces/a/pods/p/binding"), ("create", "pods/binding"))
        self.assertEqual(right_of("GET", "/api/v1/namespaces/a"), ("get", "namespaces"))
        self.assertIsNone(right_of("GET", "/version"))

    def test_questions(self):
        api, guard = self.stage()
        api.create("/api/v1/namespaces/default/pods", pod("waits", "90"))
        manifest = str(self.file("web.yaml", WEB))
        by_groups = ("--kubernetes-version", "1.37", "--feature-gates",
                     "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true")
        asks = [("explain", "pod", "waits"), ("simulate", "-f", manifest, *by_groups), ("capacity", "-f", manifest), ("can-drain", "node-1"),
                ("headroom",), ("snapshot", "-o", str(self.folder() / "cluster"))]
        buys = ("buy", "-f", manifest, "--catalogue", str(self.file("catalogue.yaml", CATALOGUE)))
        guard.begin()
        for ask in asks:
            self.berth(guard, *ask)
        self.assertEqual(guard.asked(), role("questions-role.yaml"))
        guard.begin()
        self.berth(guard, *buys)
        groups = {("list", f"{kind}.scheduling.k8s.io") for kind in ("podgroups", "compositepodgroups")}
        self.assertEqual(guard.asked() - groups, role("questions-role.yaml") - groups)
        for right in sorted(role("questions-role.yaml")):
            with self.subTest(right):
                guard.begin(right)
                said = "".join(self.berth(guard, *ask) for ask in [*asks[:3], buys])
                self.assertIn(right[1].split(".")[0], said)

    def test_serve(self):
        _, guard = self.stage()
        guard.begin()
        serve = Process(self, "serve", "--master", guard.url, "--bind-address", "127.0.0.1", "--secure-port", str(free_port()))
        serve.wait_for("err", "The cluster has been read")
        # How the secure port knows who asks: extension-apiserver-authentication-reader gives this.
        given = role("serve-role.yaml") | {("list", "configmaps"), ("watch", "configmaps")}
        self.assertEqual(guard.asked() - given, set(), "it asks for nothing else")
        groups = {"podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io"}  # this cluster's release has none
        self.assertEqual({right[1] for right in guard.asked()}, {right[1] for right in given} - groups, "of each kind")
        serve.end()
        # Without one of the kinds that may be left out, the answers say so.
        guard.begin(("watch", "csinodes.storage.k8s.io"), ("list", "csinodes.storage.k8s.io"))
        port = free_port()
        serve = Process(self, "serve", "--master", guard.url, "--bind-address", "127.0.0.1", "--secure-port", str(port),
                        "--authorization-always-allow-paths", "/ask/*")
        serve.wait_for("err", "The cluster has been read")
        said = subprocess.run([berth_binary(), "headroom", "--server", f"https://127.0.0.1:{port}", "-o", "json",
                               "--server-insecure-skip-tls-verify"], capture_output=True, text=True, timeout=DEADLINE_S,
                              check=True, env=clean_environment()).stdout
        self.assertIn("csinodes: forbidden", " ".join(json.loads(said)["cluster"]["leftOut"]))

    def test_rebalance_plan(self):
        _, guard = self.stage()
        reads = {right for right in role("rebalance-role.yaml") if right[0] == "list"} - MEASURED
        guard.begin()
        self.berth(guard, "rebalance", "plan", "--policy", str(POLICY))
        self.assertEqual(guard.asked(), reads)
        for right in sorted(reads):
            with self.subTest(right):
                guard.begin(right)
                self.assertIn(right[1].split(".")[0], self.berth(guard, "rebalance", "plan", "--policy", str(POLICY)))

    def test_shadow(self):
        _, guard = self.stage()
        given = role("shadow-role.yaml") - NEWER

        def compares(streams: bool, wanted: set[Right]) -> None:
            guard.streams = streams
            guard.begin()
            process = Process(self, "shadow", "--master", guard.url)
            process.wait_for("err", COMPARES)
            wait_until("all is asked for", lambda: guard.asked() >= wanted)
            self.assertEqual(guard.asked(), wanted)
            process.kill()

        compares(True, {right for right in given if right[0] == "watch"})
        compares(False, given)
        for right in sorted(given):
            with self.subTest(right):
                guard.begin(right)
                process = Process(self, "shadow", "--master", guard.url)
                wait_until("it is asked for", lambda: right in guard.asked())  # pylint: disable=cell-var-from-loop
                process.wait_for("err", f'"{right[1].split(".")[0]}|{right[1].split(".")[0]} ')
                if right[0] == "list":
                    self.assertIsNone(process.find("err", COMPARES))
                process.kill()

    def test_run(self):
        """A pod that fits, one that does not, and one that preempts another, with leader election."""
        api, guard = self.stage(1)
        guard.streams = False
        spaces = "/api/v1/namespaces/default/pods"
        guard.begin()
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
        api.create(spaces, pod("victim", "3", "other"))
        api.create(f"{spaces}/victim/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "victim"},
                                                "target": {"kind": "Node", "name": "node-1"}})
        api.create(spaces, pod("fits", scheduler="berth"))
        api.create(spaces, pod("huge", "90", "berth"))
        api.create(spaces, pod("preemptor", "3", "berth", priorityClassName="high"))
        process = Process(self, "run", "--kubernetes-version=1.37", "--master", guard.url, "--scheduler-name", "berth")
        writes = {("create", "pods/binding"), ("patch", "pods/status"), ("delete", "pods"), ("create", "events.events.k8s.io"),
                  ("create", "leases.coordination.k8s.io"), ("get", "leases.coordination.k8s.io"), ("update", "leases.coordination.k8s.io"),
                  ("create", "events")}
        wait_until("all of it was written", lambda: writes <= guard.asked())
        self.assertEqual(process.end(), 0)
        asked = {right for right in guard.asked() if right[0] not in ("list", "watch")}
        # Patches are only needed for repeated events and for the status of nominated pods.
        self.assertLessEqual(asked - writes, {("patch", "events.events.k8s.io")})
        self.assertEqual(role("lease-role.yaml"), {right for right in writes if "leases" in right[1] or right == ("create", "events")})
        reads = {right for right in guard.asked() if right[0] in ("list", "watch")}
        self.assertEqual(reads, role("shadow-role.yaml"), "a scheduler reads what a shadow reads")
        # Without read rights nothing is placed, and the log names each missing right.
        guard.begin(*reads)
        process = Process(self, "run", "--kubernetes-version=1.37", "--master", guard.url, "--scheduler-name", "berth", "--leader-elect=false")
        for right in sorted(reads):
            process.wait_for("err", right[1].split(".")[0])
        self.assertFalse({right for right in guard.asked() if right[0] not in ("list", "watch")})


if __name__ == "__main__":
    unittest.main()
