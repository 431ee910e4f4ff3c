# SPDX-License-Identifier: Apache-2.0
"""berth run against servers that are down, broken or lying: it says so in one line, tries again ever later, and does what
can be done."""

import collections
import json
import re
import ssl
import subprocess
import time
import unittest

from fake_server import FakeApiServer, FakeServer, fixed, http, listed, one_pod_and_room, status
from support import Api, BerthTest, Certificates, Process, berth_binary, clean_environment, free_port, pod, wait_until

# A failing watch backs off from about 1 s: more lines for one watch in these first seconds mean that there is no
# back-off.
WATCHED_S = 4.0
LINES_MAX = 6


class BadServer(BerthTest):
    def run_against(self, url: str) -> Process:
        # The version is set, because its request has tests of its own (test_kubernetes_version.py).
        return Process(self, "run", "--master", url, "--seed", "1", "--leader-elect=false", "--kubernetes-version=1.36")

    def warnings(self, berth: Process) -> list[str]:
        return [line for line in berth.lines("err") if re.match(r"[WE]\d{4} ", line)]

    def complains(self, berth: Process, *patterns: str) -> None:
        """Checks that one line names the resource, the cause and the time of the next try. If several lists fail for
        the same reason, only the first one logs it."""
        def complaints() -> list:
            return [line for line in self.warnings(berth) if "while listing" in line]
        wait_until(f"berth complains: {self.warnings(berth)}", complaints)
        lines = complaints()
        self.assertRegex(lines[0], r"retry_in=")
        for pattern in patterns:
            self.assertRegex(lines[0], pattern)

    def lives_on(self, berth: Process) -> None:
        """Checks that it has logged little, and ends cleanly."""
        self.assertFalse(berth.has_ended(), berth.lines("err"))
        # Each kind that plugins read has a watch of its own, with log lines of its own.
        kinds = collections.Counter(match.group(1) if (match := re.search(r'resource="([^"]*)"', line)) else ""
                                    for line in self.warnings(berth))
        self.assertLessEqual(max(kinds.values(), default=0), LINES_MAX, berth.lines("err"))
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def watch_all(self, running: list) -> None:
        """`running`: name, process and patterns of each. All are watched during the same time."""
        begin = time.monotonic()
        for name, berth, patterns in running:
            with self.subTest(name):
                self.complains(berth, *patterns)
        # Waits in real time, because the number of lines per time is measured.
        wait_until("some seconds passed", lambda: time.monotonic() > begin + WATCHED_S)
        for name, berth, _ in running:
            with self.subTest(name):
                self.lives_on(berth)

    def test_connection_refused(self):
        port = free_port()
        self.watch_all([("refused", self.run_against(f"http://127.0.0.1:{port}"), ["refused", str(port)])])

    def test_answers_that_are_none(self):
        whole = json.dumps({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": []}).encode()
        cases = [
            ("no HTTP", fixed(b"SSH-2.0-OpenSSH_9.2\r\n"), ["HTTP|http|status|version"]),
            ("noise", fixed(bytes(range(256)) * 8), ["HTTP|http|status|version"]),
            ("closed at once", fixed(b""), ["closed|end of|reset"]),
            ("HTML", fixed(http("200 OK", b"<html><body>Please log in</body></html>", "text/html")), ["html"]),
            ("half an answer", fixed(http("200 OK", whole[:20], length=len(whole))), ["closed|cut|partial|end of|reset"]),
            ("half a document", fixed(http("200 OK", whole[:-10]), True), ["JSON"]),
            ("JSON that is no list", fixed(http("200 OK", b'{"kind":"Node"}'), True), ["no list"]),
            ("a number", fixed(http("200 OK", b"42"), True), ["list"]),
            ("500", fixed(http("500 Internal Server Error", status(500, "InternalError", "etcd is on fire")), True), ["etcd is on fire"]),
            ("500 without a body", fixed(http("500 Internal Server Error", b""), True), ["500"]),
            ("403", fixed(http("403 Forbidden", status(403, "Forbidden", 'nodes is forbidden: User "x" cannot list')), True),
             ["forbidden"]),
            ("429", fixed(http("429 Too Many Requests", status(429, "TooManyRequests", "slow down")), True), ["slow down|429"]),
            ("redirect", fixed(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", True), ["302"]),
        ]
        # In parallel, because each takes several seconds.
        self.watch_all([(name, self.run_against(FakeServer(self, answer).url), patterns) for name, answer, patterns in cases])

    def test_a_credential_that_is_refused(self):
        """One line says whose credential it is and what to do, for every request that gets a 401."""
        folder = self.folder()
        certificates = Certificates(folder)
        certificates.sign("server", "IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        refused = fixed(http("401 Unauthorized", status(401, "Unauthorized", "Unauthorized")), True)
        server = FakeServer(self, refused, context)
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": server.url, "certificate-authority": str(folder / "ca.crt")}}],
            "users": [{"name": "jane", "user": {"token": "old"}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "jane"}}]}))
        # Quotes have backslashes in log lines.
        whose = (rf"401 Unauthorized: the token of user .{{1,2}}jane.{{1,2}} \(kubeconfig {kubeconfig}\) is wrong or has "
                 r"expired; put a new one")
        running = [(name, Process(self, "run", "--kubeconfig", str(kubeconfig), "--seed", "1", *flags)) for name, flags in (
            ("its version is asked for", []),
            ("its objects are listed", ["--kubernetes-version=1.36", "--leader-elect=false"]),
            ("a lease is wanted, too", ["--kubernetes-version=1.36"]))]
        begin = time.monotonic()
        for name, berth in running:
            with self.subTest(name):
                wait_until(f"berth complains: {berth.lines('err')}", lambda: self.warnings(berth))
                self.assertRegex(self.warnings(berth)[0], whose)
        for command in (["explain", "pod", "p"], ["capacity", "--cpu", "1"], ["snapshot", "-o", str(folder / "s")]):
            asking = subprocess.run([berth_binary(), *command, "--kubeconfig", str(kubeconfig)], capture_output=True,
                                    text=True, timeout=60, env=clean_environment(), check=False)
            self.assertNotEqual(asking.returncode, 0, command)
            self.assertEqual(len(asking.stderr.strip().splitlines()), 1, f"{command}: {asking.stderr}")
            self.assertRegex(asking.stderr, whose, command)
        wait_until("some seconds passed", lambda: time.monotonic() > begin + WATCHED_S)
        for name, berth in running:
            with self.subTest(name):
                self.assertEqual(len(self.warnings(berth)), 1, berth.lines("err"))
                self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_a_server_that_never_answers(self):
        server = FakeServer(self, lambda *_: True)
        berth = self.run_against(server.url)
        wait_until("berth asks", lambda: server.seen("GET /api/v1/nodes") and server.seen("GET /api/v1/pods"))
        self.assertFalse(berth.has_ended())
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_what_cannot_be_read_is_set_aside_alone(self):
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}

        def node(name: str, node_status: dict) -> dict:
            return listed(name, {"status": node_status})

        def pending(name: str, **spec) -> dict:
            return listed(name, pod(name, **spec), namespace="default")

        bad_selector = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}}]}}
        bad_affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["many"]}]}]}}}
        nodes = [node("bare", {}), node("odd", {"allocatable": {**room, "cpu": "four"}}), {"metadata": {}}, 7,
                 node("good", {"allocatable": room})]
        pods = [pending("bad-selector", affinity=bad_selector), pending("bad-affinity", affinity=bad_affinity),
                pending("bad-quantity", cpu="lots"), {"metadata": {"name": "text", "namespace": "default"}, "spec": "x"},
                pending("good-pod")]
        server = FakeApiServer(self, {"/api/v1/nodes": nodes, "/api/v1/pods": pods})
        berth = self.run_against(server.url)

        def bindings() -> list[tuple[str, bytes]]:
            return [(request, body) for request, body in server.seen("POST .*/binding") if body.startswith(b"{")]

        bound = wait_until(f"the good pod is bound: {berth.lines('err')}", bindings)
        self.assertIn("/api/v1/namespaces/default/pods/good-pod/binding", bound[0][0])
        body = json.loads(bound[0][1])
        self.assertEqual(body["target"]["name"], "good")
        self.assertEqual(body["metadata"]["uid"], "u-good-pod")
        set_aside = [line for line in self.warnings(berth) if "set aside" in line]
        for name in ("odd", "default/bad-quantity", "default/text"):
            lines = [line for line in set_aside if f'object="{name}"' in line]
            self.assertEqual(len(lines), 1, f"{name}: {berth.lines('err')}")
            self.assertRegex(lines[0], "reason=")
        self.assertRegex([line for line in set_aside if '"odd"' in line][0], "cpu.*four|four.*cpu")
        wait_until("what is wrong with the others is said to their owners",
                   lambda: {name for name in ("bad-selector", "bad-affinity")
                            if server.seen(f"PATCH .*/pods/{name}/status")
                            or [line for line in set_aside if f'object="default/{name}"' in line]} == {"bad-selector", "bad-affinity"})
        self.assertEqual(len(bindings()), 1)
        self.assertEqual(berth.end(), 0, berth.lines("err"))

    def test_certificates(self):
        folder = self.folder()
        certificates = Certificates(folder)
        certificates.sign("good", "IP:127.0.0.1")
        certificates.sign("elsewhere", "DNS:elsewhere.example")
        certificates.sign("expired", "IP:127.0.0.1", is_expired=True)
        other = self.folder()
        Certificates(other)

        def tls(name: str) -> ssl.SSLContext:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
            return context

        def start(name: str, url: str, ca) -> Process:
            path = folder / f"kubeconfig-{name}"
            path.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "k", "cluster": {"server": url, "certificate-authority": str(ca)}}],
                "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
            return Process(self, "run", "--kubeconfig", str(path), "--seed", "1", "--leader-elect=false", "--kubernetes-version=1.36")

        refused = fixed(http("500 Internal Server Error", status(500, "InternalError", "heard you")), True)
        good, elsewhere, expired = (FakeServer(self, refused, tls(name)) for name in ("good", "elsewhere", "expired"))
        _, plain = self.api_server()
        ca = folder / "ca.crt"
        cases = [
            # The control: the connection succeeds, and the error is the server's answer.
            ("good", good.url, ca, ["heard you"]),
            ("unknown-authority", good.url, other / "ca.crt", ["certificate", "issuer|authority|self.signed|unknown"]),
            ("other-name", elsewhere.url, ca, ["certificate", "127.0.0.1|name|address|IP"]),
            ("expired", expired.url, ca, ["certificate", "expired"]),
            ("no-tls-there", plain.url.replace("http:", "https:"), ca, ["TLS|SSL|tls|ssl|version"]),
        ]
        self.watch_all([(name, start(name, url, ca_path), patterns) for name, url, ca_path, patterns in cases])

    def test_kubelets_without_a_server(self):
        port = free_port()
        kubelets = Process(self, "kubelets", "--nodes", "3", "--master", f"http://127.0.0.1:{port}")
        kubelets.wait_for("err", f"127.0.0.1:{port}.*refused|refused.*{port}")
        self.lives_on(kubelets)

    def test_sigterm_while_a_binding_gets_no_answer(self):
        server = FakeApiServer(self, one_pod_and_room(), lambda method, _path: None if method == "GET" else b"")
        berth = self.run_against(server.url)
        wait_until("the binding is under way", lambda: server.seen("POST .*/binding"))
        begin = time.monotonic()
        self.assertEqual(berth.end(), 0, berth.lines("err"))
        # README promises ten seconds; the rest is for a slow machine.
        self.assertLess(time.monotonic() - begin, 14)

    def test_a_server_that_comes_late(self):
        port = free_port()
        berth = self.run_against(f"http://127.0.0.1:{port}")
        berth.wait_for("err", "while listing nodes.*refused")
        server = Process(self, "apiserver", "--listen", f"127.0.0.1:{port}", "--nodes", "1")
        server.wait_for("out", "http://")
        api = Api(f"127.0.0.1:{port}")
        api.create("/api/v1/namespaces/default/pods", pod("p"))
        wait_until("the pod is bound", lambda: api.pods()[0]["spec"].get("nodeName"))
        self.assertEqual(berth.end(), 0, berth.lines("err"))


if __name__ == "__main__":
    unittest.main()
