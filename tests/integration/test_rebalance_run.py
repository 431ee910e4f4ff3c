# SPDX-License-Identifier: Apache-2.0
"""berth rebalance run with `berth apiserver`, simulated nodes and controllers, and `berth run`. Without --execute it
writes nothing. With it each pod moves once, and then nothing happens. A refusal of the Eviction API, the end of the
process in mid-round and a second process are harmless. With BERTH_WRITE_DOCS=1 the log in docs/rebalance.md is
rewritten."""

import http.client
import http.server
import json
import os
import re
import threading
import time
import unittest
import urllib.request

from support import ROOT, Api, BerthTest, Process, free_port, node_of, pod, wait_until
from test_rebalance import PAGE, ShopTest

NAMESPACE = "/api/v1/namespaces/default"
LEDGER = "/api/v1/namespaces/kube-system/configmaps/berth-rebalancer"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-rebalancer"
LOG = re.compile(r"^```console\n\$ (berth rebalance run[^\n]*)\n(.*?)^```$", re.S | re.M)
EVICTION = re.compile(rf"^{NAMESPACE}/pods/([^/]+)/eviction$")
NODE = re.compile(r"^/api/v1/nodes/([^/?]+)")
# One pod at a time, without pauses.
QUICK = ("--interval", "1s", "--cool-down", "0s", "--moves-per-owner", "1")
ELECTION = ("--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "500ms")


class Refusal:
    """The response of an API server whose PodDisruptionBudgets have changed since they were read."""

    status = 429

    @staticmethod
    def getheaders() -> list[tuple[str, str]]:
        return [("Content-Type", "application/json")]

    @classmethod
    def answer(cls):
        return cls(), json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429,
                                  "message": "Cannot evict pod as it would violate the pod's disruption budget."}).encode()


class Gate:
    """A proxy for a server. `on_eviction(pod, forward)` may replace the handling of evictions; `on_node(node)` is
    called before a node is written."""

    def __init__(self, test: unittest.TestCase, api: Api):
        self.on_eviction = None
        self.on_node = None
        self.missing = None  # paths with this prefix are not served
        self.requests = []  # method and path
        self._lock = threading.Lock()
        gate = self
        upstream = api.url.removeprefix("http://")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with gate._lock:
                    gate.requests.append((self.command, self.path))

                def forward():
                    connection = http.client.HTTPConnection(upstream, timeout=60)
                    headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                    connection.request(self.command, self.path, body, headers)
                    answer = connection.getresponse()
                    data = answer.read()
                    connection.close()
                    return answer, data

                if gate.missing and self.path.startswith(gate.missing):
                    self.send_error(404)
                    return
                if self.command == "GET" and "watch=true" in self.path:
                    self.pass_watch_on()
                    return
                if self.command == "PATCH" and gate.on_node and (node := NODE.match(self.path)):
                    gate.on_node(node.group(1))
                match = EVICTION.match(self.path)
                answered = gate.on_eviction(match.group(1), forward) if match and gate.on_eviction else forward()
                if answered is None:
                    self.close_connection = True
                    return
                answer, data = answered
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def pass_watch_on(self) -> None:
                connection = http.client.HTTPConnection(upstream, timeout=60)
                connection.request("GET", self.path, headers={"Accept": self.headers.get("Accept", "*/*")})
                answer = connection.getresponse()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type", ""))
                self.end_headers()
                self.close_connection = True  # what comes until then is the body
                while data := answer.read1(1 << 16):
                    self.wfile.write(data)
                connection.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

            def log_message(self, *_) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_) -> None:
                pass  # the client was killed

        server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)

    def evictions(self) -> list[str]:
        """The pods, in the order of the requests."""
        with self._lock:
            return [match.group(1) for method, path in self.requests if method == "POST" and (match := EVICTION.match(path))]

    def writes(self) -> list[str]:
        with self._lock:
            return [f"{method} {path}" for method, path in self.requests if method != "GET"]


class NodesTest(BerthTest):
    """With three simulated nodes."""

    def setUp(self):
        self.server, self.api = self.api_server(3)

    def deployment(self, name: str, replicas: int, **spec) -> None:
        self.api.create("/apis/apps/v1/namespaces/default/deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": pod(name, **spec)["spec"]}}})
        self.wait_for_ready(replicas, name)

    def ready(self, app: str = "") -> list[dict]:
        return [item for item in self.api.pods() if app in ("", item["metadata"]["labels"]["app"])
                and "deletionTimestamp" not in item["metadata"]
                and any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"].get("conditions", []))]

    def wait_for_ready(self, count: int, app: str = "") -> None:
        wait_until(f"{count} pods of {app} are ready", lambda: len(self.ready(app)) == count)

    def taint(self, node: str, is_tainted: bool = True) -> None:
        taints = [{"key": "maintenance", "effect": "NoSchedule"}] if is_tainted else []
        status, answer = self.api.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, Api.MERGE_PATCH)
        self.assertEqual(status, 200, answer)

    def on(self, node: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.api.pods() if node_of(item) == node)

    def taints_policy(self):
        return self.file("policy.yaml", """apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig: [{name: RemovePodsViolatingNodeTaints}]
  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
""")

    def rounds(self, process: Process, result: str = "") -> int:
        return sum(f'"Round" result="{result}' in line for line in process.lines("err"))

    def wait_for_rounds(self, process: Process, more: int, result: str = "") -> None:
        """Waits for this number of further rounds."""
        before = self.rounds(process, result)
        wait_until(f"{more} more rounds {result}; it says {process.lines('err')[-3:]}",
                   lambda: self.rounds(process, result) >= before + more)

    def metric(self, address: str, pattern: str) -> float:
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
                found = re.search(rf"^{pattern} (\S+)$", answer.read().decode(), re.M)
        except OSError:
            return 0.0  # it is not running yet
        return float(found.group(1)) if found else 0.0


class RebalanceRun(NodesTest):
    def setUp(self):
        super().setUp()
        self.gate = Gate(self, self.api)
        Process(self, "run", "--master", self.api.url, "--leader-elect=false")

    def run_rebalance(self, *arguments: str) -> Process:
        return Process(self, "rebalance", "run", "--policy", str(self.taints_policy()), "--master", self.gate.url, *arguments)

    def test_without_execute_nothing_is_written(self):
        self.deployment("web", 6)
        self.taint("node-1")
        address = f"127.0.0.1:{free_port()}"
        process = self.run_rebalance(*QUICK, "--metrics-bind-address", address)
        process.wait_for("err", r'"Would evict" pod="default/web-')
        self.wait_for_rounds(process, 2, "would_move")
        self.assertEqual(self.gate.writes(), [])
        self.assertEqual(len(self.on("node-1")), 2)
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=30) as answer:
            self.assertEqual(answer.read(), b"ok")
        self.assertGreaterEqual(self.metric(address, r'berth_rebalance_rounds_total{result="would_move"}'), 2)
        self.assertEqual(self.metric(address, "berth_rebalance_planned_moves"), 1)
        self.assertEqual(self.metric(address, r'berth_rebalance_held_pods{reason="per_owner"}'), 1)
        self.assertEqual(process.end(), 0)

    def test_pods_move_and_then_it_is_quiet(self):
        self.deployment("web", 6)
        self.taint("node-1")
        before = self.on("node-1")
        address = f"127.0.0.1:{free_port()}"
        process = self.run_rebalance("--execute", *QUICK, *ELECTION, "--metrics-bind-address", address)
        wait_until("node-1 is empty", lambda: not self.on("node-1"))
        self.wait_for_ready(6)
        self.wait_for_rounds(process, 3, "quiet")
        self.assertEqual(sorted(self.gate.evictions()), before, "each pod once, and no other")
        self.assertEqual(self.metric(address, r'berth_rebalance_evictions_total{result="evicted",strategy="[^"]*"}'), 2)
        self.assertEqual(self.metric(address, r'berth_rebalance_outcomes_total{outcome="as_proved"}'), 2)
        moves = json.loads(self.api.get(LEDGER)["data"]["moves"])["moves"]
        self.assertEqual(sorted(move["pod"] for move in moves), [f"default/{name}" for name in before])

        def events():
            return [item for item in self.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
                    if item["reason"] == "Rebalanced"]

        wait_until("events tell of both, on the pod and on its owner", lambda: len(events()) == 4)
        self.assertEqual(sorted(item["regarding"]["kind"] for item in events()), ["Pod", "Pod", "ReplicaSet", "ReplicaSet"])
        note = next(item["note"] for item in events() if item["regarding"].get("name") == before[0])
        self.assertRegex(note, r"^RemovePodsViolatingNodeTaints: it does not tolerate the taint maintenance:NoSchedule of its "
                               r"node \(1 violation fewer\)\. Evicted from node-1; its replacement was proved to go to node-[23]( or node-[23], which is as good)?$")
        process.end()
        self.assertEqual(self.api.get(LEASE)["spec"]["holderIdentity"], "", "it gave the lease back")

    def test_the_eviction_api_refuses_for_a_while(self):
        self.deployment("web", 3)
        self.deployment("db", 3)
        refuses = True
        self.gate.on_eviction = lambda name, forward: Refusal.answer() if refuses and name.startswith("web") else forward()
        self.taint("node-1")
        process = self.run_rebalance("--execute", *QUICK, "--leader-elect=false")
        process.wait_for("err", r'"The API server refused an eviction" pod="default/web-.*disruption budget')
        wait_until("the others move", lambda: [name[:3] for name in self.on("node-1")] == ["web"])
        self.wait_for_rounds(process, 3)
        self.assertEqual(sum(name.startswith("web") for name in self.gate.evictions()), 1, "it is not asked again at once")
        refuses = False
        wait_until("it moves after the pause", lambda: not self.on("node-1"), 90)
        self.assertEqual(sum(name.startswith("web") for name in self.gate.evictions()), 2)

    def test_killed_in_mid_round_it_evicts_nothing_twice(self):
        for name in ("web", "db", "api"):
            self.deployment(name, 3)
        self.taint("node-1")
        victims = self.on("node-1")
        self.assertEqual(len(victims), 3)
        done = []

        def kill_at_second(name: str, forward):
            if len(done) == 1:
                forward()  # the eviction takes effect, but its answer is lost
                done.append(name)
                process.kill()
                return None
            done.append(name)
            return forward()

        self.gate.on_eviction = kill_at_second
        process = self.run_rebalance("--execute", *QUICK, "--leader-elect=false")
        wait_until("the process has been killed", process.has_ended)
        self.assertEqual(len(done), 2)
        moves = json.loads(self.api.get(LEDGER)["data"]["moves"])["moves"]
        self.assertEqual({move["state"] for move in moves}, {"Intended"}, "the round had just begun")

        again = self.run_rebalance("--execute", *QUICK, "--leader-elect=false")
        wait_until("node-1 is empty", lambda: not self.on("node-1"))
        self.wait_for_ready(9)
        self.wait_for_rounds(again, 2, "quiet")
        self.assertEqual(sorted(self.gate.evictions()), victims, "each pod once")
        self.assertEqual(sum("An eviction that had no answer took effect" in line for line in again.lines("err")), 2)
        self.assertEqual(sum("An eviction did not take effect" in line for line in again.lines("err")), 1)

    def test_of_two_processes_one_acts(self):
        self.deployment("web", 3)
        processes = {f"127.0.0.1:{free_port()}": None for _ in range(2)}
        for address in processes:
            processes[address] = self.run_rebalance("--execute", *QUICK, *ELECTION, "--metrics-bind-address", address)
        leading = 'leader_election_master_status{name="berth-rebalancer"}'

        def leaders():
            return [address for address in processes if self.metric(address, leading) == 1]

        leader, = wait_until("one of them leads", leaders)
        other, = set(processes) - {leader}
        self.taint("node-1")
        wait_until("node-1 is empty", lambda: not self.on("node-1"))
        self.wait_for_rounds(processes[leader], 2, "quiet")
        self.assertEqual(self.rounds(processes[other]), 0)
        self.assertEqual(len(self.gate.evictions()), 1)
        processes[leader].kill()
        self.taint("node-1", False)
        # Not the node to which the pod has moved, which it would not leave for the same reason.
        next_node, = [node for node in ("node-2", "node-3") if len(self.on(node)) == 1]
        self.taint(next_node)
        wait_until("the other one takes over", lambda: not self.on(next_node))
        self.assertIn('"Evicted"', "\n".join(processes[other].lines("err")))
        self.wait_for_ready(3)

    def test_bad_input(self):
        policy = str(self.taints_policy())
        cases = (
            ([], "--policy is required"),
            (["--policy", policy, "--interval", "10"], r'--interval: "10" should be a duration from 1s to 24h0m0s, for example 90s'),
            (["--policy", policy, "--cool-down", "2h"], r'--cool-down: "2h" should be a duration from 0s to 1h0m0s'),
            (["--policy", policy, "--moves-per-owner", "0%"],
             r'--moves-per-owner: "0%" should be a number of pods or a percentage, for example 25%'),
            (["--policy", policy, "--execute", "--leader-elect-renew-deadline", "1m"], r"leaderElection: leaseDuration must be greater"),
            (["--policy", "/no/such.yaml"], r"--policy /no/such\.yaml: no such file or directory"),
        )
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                process = Process(self, "rebalance", "run", *arguments, "--master", self.api.url)
                self.assertEqual(process.wait(), 2)
                self.assertRegex("\n".join(process.lines("err")), message)
                self.assertEqual(len(process.lines("err")), 1, process.lines("err"))
                self.assertEqual(process.lines("out"), [])


class WithinRun(NodesTest):
    def test_a_place_that_is_kept_counts_more_than_the_scheduler_s_liking(self):
        scheduler = Process(self, "run", "--master", self.api.url, "--leader-elect=false")
        home = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}]}}]}}
        elsewhere = [{"maxSkew": 5, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                      "labelSelector": {"matchLabels": {"app": "nobody"}}}]
        self.deployment("web", 2, affinity=home, topologySpreadConstraints=elsewhere)
        self.assertEqual(len(self.on("node-1")), 2)
        policy = str(self.file("duplicates.yaml", """apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig: [{name: RemoveDuplicates}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
"""))
        plan = Process(self, "rebalance", "plan", "--policy", policy, "--master", self.api.url, "-o", "json")
        self.assertEqual(plan.wait(), 0)
        plan = json.loads("\n".join(plan.lines("out")))
        self.assertEqual([plan["moves"], plan["staying"][0]["why"]], [[], "the scheduler would put it back on node-1"])
        scheduler.end()

        address = f"127.0.0.1:{free_port()}"
        process = Process(self, "run", "--master", self.api.url, *ELECTION, "--rebalance", policy, "--rebalance-execute",
                          "--rebalance-interval", "1s", "--metrics-bind-address", address)
        process.wait_for("err", r'"Evicted" pod="default/web-.* from="node-1" to="node-[23]"')
        process.wait_for("err", "The replacement is ready where it was proved to go")
        self.wait_for_ready(2)
        self.assertEqual(len(self.on("node-1")), 1)
        self.wait_for_rounds(process, 2, "quiet")
        self.assertEqual(self.metric(address, r'berth_rebalance_outcomes_total{outcome="as_proved"}'), 1)
        self.assertEqual(process.end(), 0)


    def test_an_eviction_without_an_answer_does_not_hold_up_the_end(self):
        """A Deployment of berth gives its pods 20 seconds to end."""
        scheduler = Process(self, "run", "--master", self.api.url, "--leader-elect=false")
        self.deployment("web", 3)
        scheduler.end()
        self.taint("node-1")
        gate = Gate(self, self.api)
        policy = str(self.taints_policy())
        for command in (["rebalance", "run", "--policy", policy, "--execute", *QUICK],
                        ["run", "--rebalance", policy, "--rebalance-execute", "--rebalance-interval", "1s"]):
            with self.subTest(command=command):
                has_begun, may_end = threading.Event(), threading.Event()
                self.addCleanup(may_end.set)

                def hang(_name, _forward, has_begun=has_begun, may_end=may_end):
                    has_begun.set()
                    may_end.wait(60)

                gate.on_eviction = hang
                process = Process(self, *command, "--master", gate.url, "--leader-elect=false")
                self.assertTrue(has_begun.wait(60), process.lines("err"))
                began = time.monotonic()
                self.assertEqual(process.end(timeout=60), 0, process.lines("err"))
                self.assertLess(time.monotonic() - began, 10)
                may_end.set()


class Page(ShopTest):
    def test_the_page(self):
        """The log of a round, on the cluster of the plan."""
        _, api = self.api_server(0, "--no-controllers")
        self.shop(api)
        page = PAGE.read_text()
        match = LOG.search(page)
        words = [str(ROOT / word) if word.startswith("examples/") else word for word in match.group(1).split()[1:]]
        process = Process(self, *words, "--master", api.url)
        process.wait_for("err", '"Round" result')
        lines = [line for line in process.lines("err") if " rebalance_cluster.cc:" in line]
        text = "".join(re.sub(r' uid="[^"]*"', "", re.sub(r"^.*? rebalance_cluster\.cc:\d+\] ", "", line)) + "\n" for line in lines)
        text = re.sub(r'took="[^"]*"', 'took="40ms"', text)
        written = page[:match.start(2)] + text + page[match.end(2):]
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(page, written, "run with BERTH_WRITE_DOCS=1 to write docs/rebalance.md")

if __name__ == "__main__":
    unittest.main()
