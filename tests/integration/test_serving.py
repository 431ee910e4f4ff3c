# SPDX-License-Identifier: Apache-2.0
"""The secure port of berth run under attack: pods are still scheduled, and one line reports the problem."""

import gzip
import json
import re
import resource
import socket
import ssl
import threading
import unittest
import urllib.error
import urllib.request

from fake_server import FakeApiServer, FakeServer, http, one_pod_and_room, status
from support import Api, BerthTest, Process, free_port, node_of, pod, wait_until

PODS = "/api/v1/namespaces/default/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SILENT = 1000
UNREAD = 64


def unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class SecurePort:
    def __init__(self, test: BerthTest, master: str, *arguments: str, leads: bool = True, open_to_all: bool = True):
        self.port = free_port()
        more = ["--leader-elect=false"] if leads else []
        if open_to_all:
            more.append("--authorization-always-allow-paths=/*")
        self.berth = Process(test, "run", "--master", master, f"--secure-port={self.port}", "--bind-address=127.0.0.1", *more,
                             *arguments)
        self.berth.wait_for("err", "Serving securely")

    def ask(self, path: str, method: str = "GET", token: str = "", data: bytes | None = None) -> tuple[int, str]:
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method, data=data)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified()))
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


class Serving(BerthTest):
    def bind(self, api: Api, name: str) -> None:
        api.create(PODS, pod(name, cpu="10m"))
        wait_until(f"{name} is bound", lambda: node_of(api.get(f"{PODS}/{name}")))

    def lines(self, berth: Process, pattern: str) -> list[str]:
        return [line for line in berth.lines("err") if re.search(pattern, line)]

    def test_gates_and_fields_that_close_paths(self):
        _, api = self.api_server()
        begin = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\n"
        quiet = str(self.file("quiet.yaml", begin + "enableProfiling: false\nparallelism: 3\nenableContentionProfiling: false\n"))
        cases = [
            ("as it is", [], {"/flagz": 200, "/statusz": 200, "/debug/flags/v": 406}),
            ("gates", ["--feature-gates=ComponentFlagz=false,ComponentStatusz=false"], {"/flagz": 404, "/statusz": 404}),
            ("one gate", ["--feature-gates=ComponentFlagz=false"], {"/flagz": 404, "/statusz": 200}),
            ("before they were on", ["--emulated-version=1.35"], {"/flagz": 404, "/statusz": 404}),
            ("no profiling", ["--config", quiet], {"/flagz": 200, "/statusz": 200, "/debug/flags/v": 404}),
        ]
        for name, arguments, wanted in cases:
            with self.subTest(name):
                port = SecurePort(self, api.url, *arguments)
                self.assertEqual({path: port.ask(path)[0] for path in wanted}, wanted)
                shown = port.ask("/statusz")[1] if wanted["/statusz"] == 200 else ""
                self.assertEqual("/flagz" in shown, wanted["/flagz"] == 200 and shown != "", shown)
                on = port.ask("/metrics")[1]
                value = 1 if wanted["/flagz"] == 200 else 0
                self.assertRegex(on, rf'kubernetes_feature_enabled{{name="ComponentFlagz",stage="(BETA|ALPHA)"}} {value}\n')
                for field in ("parallelism", "enableContentionProfiling"):
                    self.assertEqual(len(self.lines(port.berth, f"{field} has no effect: ")), 1 if name == "no profiling" else 0)
                self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_which_metrics_are_served(self):
        _, api = self.api_server(1)
        labels = self.file("labels.yaml", "scheduler_pending_pods,queue: active,gated\n")
        port = SecurePort(self, api.url, "--disabled-metrics=scheduler_pod_scheduling_attempts,nobody_knows",
                          "--allow-metric-labels-manifest", str(labels))
        self.bind(api, "p")
        text = port.ask("/metrics")[1]
        self.assertNotIn("scheduler_pod_scheduling_attempts", text)
        self.assertIn("disabled_metrics_total 2\n", text)
        self.assertEqual(set(re.findall(r'scheduler_pending_pods{queue="(\w+)"}', text)), {"active", "gated", "unexpected"})
        # Compressed if the client accepts it.
        request = urllib.request.Request(f"https://127.0.0.1:{port.port}/metrics", headers={"Accept-Encoding": "gzip"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified()))
        with opener.open(request, timeout=60) as answer:
            self.assertEqual(answer.headers["Content-Encoding"], "gzip")
            packed = answer.read()
        self.assertIn("scheduler_pending_pods", gzip.decompress(packed).decode())
        self.assertLess(len(packed), len(text) / 3)
        # DELETE resets the counters.
        attempts = re.compile(r'^scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} (\d+)$', re.MULTILINE)
        self.assertEqual(attempts.findall(text), ["1"])
        self.assertEqual(port.ask("/metrics", "DELETE"), (200, "metrics reset\n"))
        self.assertEqual(attempts.findall(port.ask("/metrics")[1]), [])
        self.bind(api, "q")
        self.assertEqual(attempts.findall(port.ask("/metrics")[1]), ["1"])
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_verbosity_can_be_put(self):
        _, api = self.api_server(1)
        port = SecurePort(self, api.url)
        for level, name, wanted in (("3", "a", 1), ("0", "b", 0), ("2147483648", "c", 1)):
            self.assertEqual(port.ask("/debug/flags/v", "PUT", data=level.encode()),
                             (200, f"successfully set klog.logging.verbosity to {level}\n"))
            self.bind(api, name)
            # The log is written asynchronously.
            line = f'Attempting to schedule pod" pod="default/{name}"'
            if wanted:
                port.berth.wait_for("err", line)
            self.assertEqual(len(self.lines(port.berth, line)), wanted)
        self.assertEqual(port.ask("/debug/flags/v", "PUT", data=b"-1")[0], 400)
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_cipher_suites_that_http2_cannot_do_with(self):
        """As in kube-scheduler, berth does not start with these cipher suites unless HTTP/2 is disabled."""
        _, api = self.api_server()
        old = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
        berth = Process(self, "run", "--master", api.url, "--leader-elect=false", "--bind-address=127.0.0.1",
                        f"--secure-port={free_port()}", old)
        self.assertEqual(berth.wait(), 2)
        self.assertIn("error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required",
                      berth.lines("err")[-1])
        for allowed in (["--disable-http2-serving"], ["--tls-min-version=VersionTLS13"]):
            port = SecurePort(self, api.url, old, *allowed)
            self.assertEqual(port.ask("/livez")[0], 200)
            self.assertEqual(port.berth.end(), 0)

    def test_a_kind_that_may_not_be_listed(self):
        forbidden = {"persistentvolumes"}

        def forbid(method: str, path: str) -> bytes | None:
            kind = path.rpartition("/")[2]
            if method != "GET" or kind not in forbidden:
                return None
            return http("403 Forbidden", status(
                403, "Forbidden", f'{kind} is forbidden: User "berth" cannot list resource "{kind}" in API group "" at the '
                                  "cluster scope"))

        server = FakeApiServer(self, one_pod_and_room(), forbid)
        port = SecurePort(self, server.url)
        wait_until("all other kinds are there", lambda: "handlers are not fully synchronized: persistentvolumes (Forbidden)"
                   in port.ask("/readyz?verbose")[1])
        code, body = port.ask("/readyz?verbose")
        self.assertEqual(code, 500)
        self.assertIn("[-]sched-handler-sync failed: handlers are not fully synchronized: persistentvolumes (Forbidden)\n", body)
        self.assertIn("[-]sched-handler-sync failed: reason withheld\n", port.ask("/readyz")[1])
        self.assertIn('persistentvolumes is forbidden: User "berth" cannot list', port.ask("/readyz/sched-handler-sync")[1])
        self.assertEqual(port.ask("/livez")[0], 200)
        wait_until("it has been tried four times", lambda: len(server.seen("GET /api/v1/persistentvolumes[?]limit")) >= 4)
        logged = self.lines(port.berth, "does not let us list and watch this kind: grant the verbs list and watch")
        self.assertEqual(len(logged), 1, port.berth.lines("err"))
        self.assertRegex(logged[0], r'resource="persistentvolumes" path="/api/v1/persistentvolumes" err=".*cannot list resource')
        self.assertEqual(self.lines(port.berth, "persistentvolumes"), logged)
        self.assertFalse(server.seen("POST .*/binding"), "as upstream, nothing is decided before all is known")
        forbidden.clear()
        wait_until("the pod is bound", lambda: server.seen("POST .*/pods/p/binding"))
        self.assertEqual(port.ask("/readyz")[0], 200)
        self.assertEqual(len(self.lines(port.berth, "lets us read this kind now.*persistentvolumes")), 1)
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_a_token_review_that_hangs(self):
        hanging = FakeServer(self, lambda *_: True)
        kubeconfig = self.file("reviews", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": hanging.url}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
        _, api = self.api_server(1)
        port = SecurePort(self, api.url, f"--authentication-kubeconfig={kubeconfig}", "--authentication-skip-lookup")
        answers = []
        askers = [threading.Thread(target=lambda number=number: answers.append(port.ask("/metrics", token=f"t{number}")[0]))
                  for number in range(3)]
        for asker in askers:
            asker.start()
        wait_until("the reviews hang", lambda: len(hanging.seen("POST .*/tokenreviews")) == 3)
        self.assertEqual(port.ask("/livez"), (200, "ok"))
        self.bind(api, "p")
        for asker in askers:
            asker.join(60)
        self.assertEqual(answers, [401] * 3)
        logged = self.lines(port.berth, "the API server does not say who asks")
        self.assertEqual(len(logged), 1, port.berth.lines("err"))
        self.assertIn("tokenreviews", logged[0])
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_peers_that_say_nothing_and_peers_that_do_not_read(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = SILENT + UNREAD + 200
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        _, api = self.api_server(1)
        port = SecurePort(self, api.url)
        self.bind(api, "before")
        logged = self.lines(port.berth, r"^[WE]\d{4} ")
        connections = []

        def close() -> None:
            for connection in connections:
                connection.close()

        self.addCleanup(close)
        # Scrapes whose responses are not read: small windows, and many requests on each connection.
        for _ in range(UNREAD):
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.settimeout(30)
            plain.connect(("127.0.0.1", port.port))
            scrape = unverified().wrap_socket(plain)
            scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            connections.append(scrape)
        for _ in range(SILENT):
            connections.append(socket.create_connection(("127.0.0.1", port.port), timeout=30))
        self.assertEqual(port.ask("/livez"), (200, "ok"))
        code, text = port.ask("/metrics")
        self.assertEqual(code, 200)
        self.assertIn('scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1\n', text)
        self.bind(api, "beside")
        self.assertEqual(self.lines(port.berth, r"^[WE]\d{4} "), logged, "peers do not fill the log")
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))

    def test_a_port_that_is_taken(self):
        _, api = self.api_server(1)
        first = SecurePort(self, api.url)
        second = Process(self, "run", "--master", api.url, "--leader-elect=false", f"--secure-port={first.port}",
                         "--bind-address=127.0.0.1")
        self.assertEqual(second.wait(), 1)
        self.assertRegex(second.lines("err")[-1], f"--secure-port: listen 127.0.0.1:{first.port}: address already in use")
        self.bind(api, "p")
        self.assertEqual(first.berth.end(), 0, first.berth.lines("err"))

    def test_a_port_that_two_processes_share(self):
        _, api = self.api_server(1)
        first = SecurePort(self, api.url, "--permit-port-sharing")
        arguments = ["run", "--master", api.url, "--leader-elect=false", f"--secure-port={first.port}", "--bind-address=127.0.0.1",
                     "--authorization-always-allow-paths=/*"]
        alone = Process(self, *arguments)
        self.assertEqual(alone.wait(), 1, "it does not permit it")
        self.assertRegex(alone.lines("err")[-1], f"--secure-port: listen 127.0.0.1:{first.port}: address already in use")
        second = Process(self, *arguments, "--permit-port-sharing")
        second.wait_for("err", "Serving securely")

        def started() -> str:
            return re.search(r"^process_start_time_seconds (.*)$", first.ask("/metrics")[1], re.MULTILINE)[1]

        seen = {started()}
        wait_until("both answer", lambda: seen.add(started()) or len(seen) == 2)
        self.assertEqual(first.berth.end(), 0, first.berth.lines("err"))
        self.assertEqual(first.ask("/healthz"), (200, "ok"), "the other one still answers")
        self.assertEqual(second.end(), 0, second.lines("err"))

    def test_a_lease_in_a_strangers_hands(self):
        _, api = self.api_server(1)
        api.create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kube-scheduler"},
                            "spec": {"holderIdentity": "stranger", "leaseDurationSeconds": 3600, "leaseTransitions": 7,
                                     "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z"}})
        port = SecurePort(self, api.url, leads=False)
        port.berth.wait_for("err", 'Standing by: another holds the lease.*kube-system/kube-scheduler.*holder="stranger"')
        api.create(PODS, pod("p"))
        self.assertEqual(port.ask("/healthz")[0], 200)
        standing_by = r'leader_election_master_status{name="kube-scheduler"} 0\n'
        self.assertRegex(port.ask("/metrics")[1], standing_by)
        self.assertRegex(port.ask("/metrics")[1], r'leader_election_slowpath_total{name="kube-scheduler"} 0\n')
        looked = len(self.lines(port.berth, "lease"))
        self.assertEqual(node_of(api.get(f"{PODS}/p")), "")
        # The other holder releases the lease.
        code, _ = api.call("PATCH", f"{LEASES}/kube-scheduler", {"spec": {"holderIdentity": ""}}, Api.MERGE_PATCH)
        self.assertEqual(code, 200)
        wait_until("the pod is bound", lambda: node_of(api.get(f"{PODS}/p")))
        self.assertEqual(len(self.lines(port.berth, "Standing by")), 1)
        self.assertGreater(len(self.lines(port.berth, "lease")), looked)
        self.assertRegex(port.ask("/metrics")[1], standing_by.replace(" 0", " 1"))
        self.assertEqual(port.berth.end(), 0, port.berth.lines("err"))


if __name__ == "__main__":
    unittest.main()
