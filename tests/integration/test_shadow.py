# SPDX-License-Identifier: Apache-2.0
"""berth shadow beside a scheduler with `berth apiserver`: beside `berth run`, with which it agrees, and beside this
test, which makes mistakes. It only sends GETs. BERTH_WRITE_DOCS=1 rewrites the output in docs/shadow.md."""

import json
import os
import re
import select
import signal
import socket
import threading
import unittest
import urllib.request

from support import ROOT, Api, BerthTest, Process, free_port, node_of, pod, wait_until

PAGE = ROOT / "docs/shadow.md"
CONSOLE = re.compile(r"^```console\n\$ (berth shadow[^\n]*)\n(.*?)^```$", re.S | re.M)
# Parts of the output that differ from run to run.
TIMES = re.compile(r"(?<= in )[\dhms]+(?=, with)|[\d.]+(?= ms)")
NAMESPACE = "/api/v1/namespaces/default"
COLUMNS = 100
LOOKING = "decisions are compared from now on"


def node(name: str, cpu: str) -> dict:
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}}


class Recorder:
    """A proxy for a server that passes everything on, and records the clients' requests."""

    def __init__(self, test: unittest.TestCase, port: int):
        self._port = port
        self._sent = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        test.addCleanup(self._server.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        sent = bytearray()
        self._sent.append(sent)
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    try:
                        data = ready.recv(1 << 16)
                        if ready is client:
                            sent += data
                        (server if ready is client else client).sendall(data)
                    except OSError:
                        return
                    if not data:
                        return

    def requests(self) -> list[str]:
        """The request lines: "GET /api/v1/pods?..."."""
        return [match.decode() for sent in self._sent for match in re.findall(rb"(?m)^([A-Z]+ \S+) HTTP/1\.1\r$", bytes(sent))]


class Shadow(BerthTest):
    def shadow(self, api_url: str, *arguments: str, environment: dict | None = None) -> Process:
        """Starts berth shadow, and waits until it has listed everything."""
        process = Process(self, "shadow", "--master", api_url, *arguments, environment=environment)
        process.wait_for("err", LOOKING)
        return process

    def bind(self, api: Api, name: str, to: str) -> None:
        api.create(f"{NAMESPACE}/pods/{name}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                                                        "target": {"apiVersion": "v1", "kind": "Node", "name": to}})

    def refuse(self, api: Api, name: str, message: str) -> None:
        status, answer = api.call("PATCH", f"{NAMESPACE}/pods/{name}/status", {"status": {"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}}, Api.STRATEGIC_PATCH)
        self.assertEqual(status, 200, answer)

    def report(self, process: Process) -> dict:
        return json.loads("\n".join(process.lines("out")))

    def play(self, api: Api) -> None:
        """Acts as the scheduler of docs/shadow.md: eight decisions."""
        def create(name: str, cpu: str, **spec) -> None:
            api.create(f"{NAMESPACE}/pods", pod(name, cpu, **spec))

        for name in ("web-1", "web-2"):
            create(name, "2")
            self.bind(api, name, "large-1")
        create("api-1", "1")
        self.bind(api, "api-1", "small-1")  # a worse node
        create("too-large", "30")
        self.refuse(api, "too-large", "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 "
                                      "nodes are available: 3 Preemption is not helpful for scheduling.")
        create("lazy", "100m")
        self.refuse(api, "lazy", "0/3 nodes are available: 3 node(s) were asleep.")
        create("bold", "6")
        self.bind(api, "bold", "small-2")  # it does not fit there
        # It is unknown whether late-2, which has a higher priority, was in time to be decided first. It was: otherwise
        # late-1 would have gone to large-1.
        create("late-1", "3")
        create("late-2", "10", priorityClassName="important")
        self.bind(api, "late-1", "small-1")
        self.bind(api, "late-2", "large-1")

    def cluster(self, api: Api) -> None:
        for name, cpu in (("large-1", "16"), ("small-1", "4"), ("small-2", "4")):
            api.create("/api/v1/nodes", node(name, cpu))
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "important"}, "value": 100})

    def test_the_page(self):
        _, api = self.api_server()
        self.cluster(api)
        page = PAGE.read_text()
        match = CONSOLE.search(page)
        process = self.shadow(api.url, *match[1].split()[2:])
        self.play(api)
        self.assertEqual(process.wait(), 3, process.lines("err"))
        out = "".join(line + "\n" for line in process.lines("out"))
        self.assertTrue(all(len(line) <= COLUMNS for line in out.splitlines()), out)
        self.assertNotIn("\x1b", out)
        written = page[:match.start(2)] + out + page[match.end(2):]
        if os.environ.get("BERTH_WRITE_DOCS"):
            PAGE.write_text(written)
        else:
            self.assertEqual(TIMES.sub("N", page), TIMES.sub("N", written), "run with BERTH_WRITE_DOCS=1 to write docs/shadow.md")

    def test_beside_berth_run(self):
        server, api = self.api_server(12)
        recorder = Recorder(self, int(api.url.rsplit(":", 1)[1]))
        metrics = f"127.0.0.1:{free_port()}"
        page = self.folder() / "shadow.html"
        process = self.shadow(recorder.url, "-o", "json", "--page", str(page), "--metrics-bind-address", metrics)
        run = Process(self, "run", "--master", api.url, "--leader-elect=false")
        # The order in which a starting scheduler queues waiting pods is unknown to others.
        api.create(f"{NAMESPACE}/pods", pod("first"))
        wait_until("the scheduler runs", lambda: all(node_of(item) for item in api.pods()))
        count = 120
        for i in range(count):
            spec = {}
            if i % 3 == 1:
                spec["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                                      "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]
            api.create(f"{NAMESPACE}/pods", pod(f"p-{i}", "900" if i % 40 == 39 else f"{50 + i}m", **spec))
        client = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def compared() -> int:
            with client.open(f"http://{metrics}/metrics") as answer:
                return sum(int(value) for value in re.findall(r"(?m)^berth_shadow_decisions_total\{.*\} (\d+)$", answer.read().decode()))

        wait_until("all are compared", lambda: compared() > count)
        self.assertEqual(process.end(signal.SIGINT), 0, process.lines("err"))
        run.end()
        report = self.report(process)
        self.assertEqual(report["decisions"], count + 1, report)
        self.assertEqual(report["agreements"], count + 1, report["differences"])
        self.assertEqual(report["matches"]["sameRefusal"]["count"], count // 40)
        self.assertEqual(report["cost"]["decisions"], count + 1)
        self.assertGreater(report["cost"]["cpuSeconds"], 0)
        shown = re.search(r'<script type="application/json" id="report">(.*?)</script>', page.read_text())
        self.assertEqual(json.loads(shown[1]), report, "the page shows what -o json says")
        requests = recorder.requests()
        self.assertGreater(len(requests), 10)
        self.assertEqual([request for request in requests if not request.startswith("GET ")], [])
        self.assertFalse(server.has_ended())

    def test_what_berth_does_not_have_is_reported(self):
        _, api = self.api_server(1)
        config = self.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                           "profiles:\n- schedulerName: ours\n  plugins: {filter: {enabled: [{name: Ghost}]}}\n- schedulerName: other\n"
                           "extenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n")
        process = self.shadow(api.url, "--config", str(config), "--scheduler-name", "ours", "-o", "json", "--pods", "1")
        for name, scheduler in (("a", "other"), ("b", "default-scheduler"), ("c", "ours")):
            api.create(f"{NAMESPACE}/pods", pod(name, scheduler=scheduler))
            self.bind(api, name, "node-1")
        api.create(f"{NAMESPACE}/pods", pod("d", nodeName="node-1"))
        self.assertEqual(process.wait(), 0)
        report = self.report(process)
        self.assertEqual(report["matches"]["sameNode"]["count"], 1)
        self.assertEqual(report["leftOut"]["otherScheduler"], 2)
        self.assertEqual(report["schedulers"], ["ours"])
        self.assertRegex(report["unknown"][0], 'profile "ours": plugin "Ghost" is unknown here')
        self.assertRegex(report["unknown"][1], "extender http://127.0.0.1:1 is not asked")
        self.assertTrue(process.find("err", 'plugin "Ghost" is unknown here'))

    def test_ends_and_signals(self):
        _, api = self.api_server(1)
        process = self.shadow(api.url)
        os.kill(process.pid, signal.SIGUSR2)
        process.wait_for("err", "Compared:   0 decisions")
        self.assertEqual(process.lines("out"), [])
        self.assertEqual(process.end(signal.SIGTERM), 0)
        self.assertRegex(process.lines("out")[0], "^Compared:   0 decisions of default-scheduler")
        process = Process(self, "shadow", "--master", api.url, "--duration", "1s", "-o", "yaml")
        self.assertEqual(process.wait(), 0)
        self.assertIn("decisions: 0", process.lines("out"))

    def test_bad_input_is_one_line(self):
        _, api = self.api_server(1)
        config = self.file("config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                           "profiles: [{schedulerName: a}, {schedulerName: b}]\n")
        cases = (
            (["--duration", "soon"], 2, '"soon" should be a duration, for example 90s or 24h'),
            (["--duration", "0s"], 2, '"0s" should be a duration'),
            (["--pods", "0"], 2, "--pods"),
            (["--page", "/no/such/folder/x.html"], 2, "--page /no/such/folder/x.html: cannot be written"),
            (["--config", "/no/such.yaml"], 2, "--config /no/such.yaml"),
            (["--config", str(config), "--scheduler-name", "c"], 2, f"--scheduler-name c: --config {config} has no such profile; it has a, b"),
            (["--metrics-bind-address", "here"], 2, "here"),
            (["-o", "xml"], 2, "xml"),
        )
        for arguments, status, pattern in cases:
            with self.subTest(arguments=arguments):
                process = Process(self, "shadow", "--master", api.url, *arguments)
                self.assertEqual(process.wait(), status, process.lines("err"))
                self.assertEqual(process.lines("out"), [])
                self.assertEqual(len(process.lines("err")), 1, process.lines("err"))
                self.assertIn(pattern, process.lines("err")[0])

    def test_without_a_cluster_it_says_what_it_waits_for(self):
        process = Process(self, "shadow", "--master", f"http://127.0.0.1:{free_port()}", "--duration", "1s")
        self.assertEqual(process.wait(), 1)
        self.assertEqual(process.lines("out"), [])
        self.assertRegex(process.lines("err")[-1], "ended before the API server told its version")

    def test_the_role_allows_no_write(self):
        """The role has the kinds of the questions' role without manifests and pod groups, with list and watch only."""
        def rules(name: str) -> tuple[set, set]:
            text = (ROOT / "deploy" / name).read_text()
            kinds = {kind for listed in re.findall(r"resources: \[(.*?)\]", text) for kind in listed.split(", ")}
            return kinds, set(re.findall(r"verbs: \[(.*?)\]", text))

        of_manifests = {"resourceclaimtemplates", "priorityclasses", "runtimeclasses", "resourcequotas", "podgroups", "compositepodgroups"}
        kinds, verbs = rules("shadow-role.yaml")
        self.assertEqual(verbs, {"list, watch"})
        self.assertEqual(kinds, rules("questions-role.yaml")[0] - of_manifests)


if __name__ == "__main__":
    unittest.main()
